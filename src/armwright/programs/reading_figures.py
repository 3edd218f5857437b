# SPDX-License-Identifier: Apache-2.0
"""How far a program was read, as plain data for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armwright.programs.program import Program


def reading_figures(program: Program) -> dict[str, Any]:
    """Return how far a program was read, for JSON: of a reader that does not tell, its moves and notes."""
    reading = program.reading
    if reading is None:
        count = sum(move.kind != "wait" for move in program.moves)
        nothing: dict[str, Any] = {name: [] for name in ("gaps", "unread", "set_aside", "idle")}
        return {
            "whole": True,
            "moves": count,
            **nothing,
            "assumed": [{"line": note.line, "message": note.message} for note in program.notes],
            "lines_not_run": [],
            "undecided": [],
            "files": [program.file] if program.file else [],
            "entry": "",
            "routines": [],
        }
    return {
        "whole": reading.whole,
        "moves": reading.reached,
        "gaps": [{"line": gap.line, "text": gap.text, "reason": gap.reason} for gap in reading.gaps],
        **{
            name: [{"line": note.line, "message": note.message} for note in getattr(reading, name)]
            for name in ("unread", "set_aside", "idle", "assumed")
        },
        "lines_not_run": [{"first": first, "last": last, "needs": needs} for first, last, needs in reading.not_run],
        "undecided": [
            {"line": one.key[1], "depends": one.depends, "ways": list(one.ways), "taken": one.ways[one.taken]}
            for one in reading.undecided
        ],
        "files": list(reading.files),
        "entry": reading.entry,
        "routines": list(reading.routines),
    }
