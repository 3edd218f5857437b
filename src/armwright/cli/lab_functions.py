# SPDX-License-Identifier: Apache-2.0
"""``armwright lab functions``: the functions of URScript, from the table by which programs are checked and run."""

from __future__ import annotations

from typing import Annotated

import typer

from armwright.cli.failures import guarded
from armwright.cli.option_words import Json
from armwright.cli.output import say, say_json, table


@guarded
def functions(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Of one function; all without it.")] = "",
    json: Json = False,
) -> None:
    """List the functions of URScript: parameters, units, what they give, since when, whether they run here."""
    from armwright.lab.script.function_listing import list_functions
    from armwright.urscript.urscript_builtins import TREATMENTS

    found = list_functions(name)
    if json:
        say_json(found)
        return
    rows = [
        [
            row["call"] or row["name"],
            row["units"],
            row["returns"],
            row["since"],
            "yes" if row["runs"] else "no",
            row["does"],
        ]
        for row in found
    ]
    table("URScript", ["function", "units", "gives", "since", "runs", "does"], rows, left=6)
    for word in TREATMENTS:
        if any(row["does"] == word for row in found):
            say(f" {TREATMENTS[word]}", lead=word)
