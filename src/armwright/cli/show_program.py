# SPDX-License-Identifier: Apache-2.0
"""``armwright show-program``: a robot program as it was understood."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.output import Json, say, say_json, table

if TYPE_CHECKING:
    from armwright.programs import Blend, Program, Speed, Target

LanguageName = Annotated[
    str | None,
    typer.Option("--language", help="l-irl, urscript, rapid, krl or g-code; by the file's suffix or look if omitted."),
]


def show_program(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Robot program: L-IRL, URScript, RAPID, KRL or G-code.")],
    language: LanguageName = None,
    json: Json = False,
) -> None:
    """Show the moves of a robot program as they were understood, and what was assumed."""
    from armwright.programs import read_program

    program = read_program(file, language)
    if json:
        say_json(description(program))
    else:
        print_program(program)


def description(program: Program) -> dict[str, Any]:
    """Return the program for JSON, in SI units."""
    return {
        "name": program.name,
        "language": program.language,
        "file": program.file,
        "robot": program.robot,
        "start_q": program.start_q,
        "moves": [{**_plain(move), "number": number} for number, move in enumerate(program.moves, 1)],
        "notes": [{"line": note.line, "message": note.message} for note in program.notes],
    }


def _plain(value: Any) -> Any:
    """Turn frozen data into dictionaries; alternatives carry their class's name as ``type``."""
    if dataclasses.is_dataclass(value):
        named = {} if type(value).__name__ == "Move" else {"type": type(value).__name__}
        return named | {part.name: _plain(getattr(value, part.name)) for part in dataclasses.fields(value)}
    return value


def print_program(program: Program) -> None:
    """Print the table of moves and the notes."""
    robot = f" for {program.robot}" if program.robot else ""
    rows = [
        [
            str(number),
            str(move.line),
            move.kind,
            _where(move.target),
            _speed(move.speed),
            _blend(move.blend),
            move.orientation,
        ]
        for number, move in enumerate(program.moves, 1)
    ]
    title = f"{program.name or program.file} ({program.language}){robot}"
    table(title, ["#", "line", "move", "target [mm, °]", "speed", "at its end", "orientation"], rows, left=7)
    for note in program.notes:
        say(note.message, lead=f"line {note.line}: ")


def _where(target: Target | None) -> str:
    import numpy as np

    from armwright.programs import Joints
    from armwright.spatial import euler_from_rotation

    if target is None:
        return "–"
    name = f"{target.name}: " if target.name else ""
    if isinstance(target, Joints):
        angles = [f"{np.degrees(q):.5g}" if known else "kept" for q, known in zip(target.q, target.known, strict=True)]
        return f"{name}joints {', '.join(angles)}"
    place = ", ".join(f"{1e3 * x:.5g}" for x in target.T[:3, 3])
    if not target.oriented:
        return f"{name}{place}"
    angles = [f"{a:.4g}" for a in np.degrees(euler_from_rotation(target.T[:3, :3], "zyx").angles)]
    return f"{name}{place}; zyx {', '.join(angles)}"


def _speed(speed: Speed) -> str:
    from armwright.programs import Duration, Fraction, LeadingAxis

    if isinstance(speed, Fraction):
        return f"{100 * speed.value:.4g} %"
    if isinstance(speed, LeadingAxis):
        return f"{speed.value:.4g} rad/s"
    if isinstance(speed, Duration):
        return f"{speed.seconds:.4g} s"
    return f"{1e3 * speed.linear:.4g} mm/s"


def _blend(blend: Blend) -> str:
    from armwright.programs import BySpeed, Distance, Share, Stop

    if isinstance(blend, Stop):
        return "stop"
    if isinstance(blend, Distance):
        return f"round {1e3 * blend.position:.4g} mm"
    if isinstance(blend, Share):
        return f"round {100 * blend.value:.4g} % of half"
    if isinstance(blend, BySpeed):
        return f"round at {100 * blend.value:.4g} % speed"
    return "pass"
