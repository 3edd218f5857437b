# SPDX-License-Identifier: Apache-2.0
"""The functions of URScript as rows for people and programs: the one table, and which of them run here."""

from __future__ import annotations

from typing import Any

from armwright.errors import InputError
from armwright.lab.script.script_library import RUNS
from armwright.syntax.tree_parser import meant
from armwright.urscript import BUILTINS
from armwright.urscript.urscript_builtins import Builtin


def list_functions(name: str = "") -> list[dict[str, Any]]:
    """Return the functions of the language, one dictionary each, by name.

    Args:
        name: of the only one that is wanted; empty for all.

    Returns:
        ``name``; ``call`` as it is written, with defaults, ``…`` where the function knows what to take; ``parameters``
        and ``defaults``; these three are None where the table knows a function by its name only; ``units`` of those
        parameters that have some; ``returns``, the kind of its value, empty for none;
        ``does``, a key of `TREATMENTS`; ``waits``, whether the thread may have to; ``since``, the first software of the
        e-Series that has it, empty for all; ``runs``, whether the virtual controller runs it.

    Raises:
        InputError: no function has that name.
    """
    if name and name not in BUILTINS:
        raise InputError(f"no function of URScript is called {name!r}{meant(name, BUILTINS)}")
    return [_row(BUILTINS[key]) for key in sorted([name] if name else BUILTINS)]


def _row(row: Builtin) -> dict[str, Any]:
    defaults = {p.partition("=")[0]: p.partition("=")[2] for p in row.parameters if "=" in p}
    return {
        "name": row.name,
        "call": f"{row.name}({', '.join(p + '…' * p.endswith('=') for p in row.parameters)})" if row.told else None,
        "parameters": list(row.names) if row.told else None,
        "defaults": defaults if row.told else None,
        "units": row.units,
        "returns": row.returns,
        "does": row.does,
        "waits": row.waits,
        "since": row.since,
        "runs": row.name in RUNS,
    }
