# SPDX-License-Identifier: Apache-2.0
"""Every command that loads an arm takes --implausible, --base and --tip."""

from __future__ import annotations

import typer

from armwright.cli.app import app


def leaves(command, name=""):
    for label, inner in getattr(command, "commands", {}).items():
        yield from leaves(inner, f"{name} {label}".strip())
    if not hasattr(command, "commands"):
        yield name, {parameter.name: getattr(parameter, "help", "") or "" for parameter in command.params}


def test_every_command_about_an_arm_can_read_imperfect_files_and_cut_chains():
    every = dict(leaves(typer.main.get_command(app)))
    found = {name: words for name, words in every.items() if "robot" in words}
    assert {"show", "check", "simulate", "identify", "run collision", "lab serve"} <= set(found)
    for name, words in found.items():
        assert {"implausible", "base", "tip"} <= set(words), name
