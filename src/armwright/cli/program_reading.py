# SPDX-License-Identifier: Apache-2.0
"""What a user says about a program that its text does not, and how far it was read, for ``run program``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.failures import fail
from armwright.cli.option_words import LanguageName, numbers
from armwright.cli.output import WRONG, say

if TYPE_CHECKING:
    from armwright.programs import Program
    from armwright.programs.reading import Note

PARTIAL = 3
"""Exit code of a program that is feasible as far as it was read."""
MOST_SHOWN = 12  # gaps, calls and lines that the terminal lists


@dataclass(frozen=True)
class ReadingOptions:
    """How a program is read."""

    language: LanguageName = None
    more: Annotated[
        list[Path] | None, typer.Option("--more", metavar="FILE", help="Further file of the program; repeat it.")
    ] = None
    input: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE", help="Value of an input, or 1,0,1 by reading; repeat it."),
    ] = None
    define: Annotated[
        list[str] | None,
        typer.Option("--define", metavar="NAME=TEXT", help="Value of a name that no file has; repeat it."),
    ] = None
    wait: Annotated[
        list[str] | None,
        typer.Option("--wait", metavar="NAME=SECONDS", help="How long waiting for an input takes; repeat it."),
    ] = None
    branches: Annotated[
        str, typer.Option(metavar="ONE|ALL", help="all: every branch that the text does not decide, one at a time.")
    ] = "one"
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="KRL's $config.dat, or the word factory.")
    ] = None
    assume_frames: Annotated[
        bool, typer.Option("--assume-frames", help="Tools and frames that no file has: flange and base.")
    ] = False
    lock_external: Annotated[bool, typer.Option("--lock-external", help="External axes carry no arm.")] = False
    passes: Annotated[int, typer.Option("--passes", metavar="N", min=1, help="Of loops without an end.")] = 1
    most_moves: Annotated[
        int | None, typer.Option("--most-moves", metavar="N", help="A program with more is refused; 100000.")
    ] = None
    entry: Annotated[str | None, typer.Option("--entry", metavar="NAME", help="Routine to run.")] = None
    strict: Annotated[bool, typer.Option("--strict", help="A program that is not read whole is an error.")] = False

    def said(self) -> dict[str, Any]:
        """Return what `read_program` is told, without what it would do anyway."""
        told = {
            "more": tuple(self.more or ()),
            "inputs": {name: _value(text) for name, text in _pairs(self.input, "--input")},
            "waits": {name: _seconds(name, text) for name, text in _pairs(self.wait, "--wait")},
            "define": dict(_pairs(self.define, "--define")),
            "config": self.config,
            "assume_frames": self.assume_frames,
            "lock_external": self.lock_external,
            "passes": self.passes if self.passes != 1 else None,
            "entry": self.entry,
        }
        said = {name: value for name, value in told.items() if value}
        return said if self.most_moves is None else {**said, "most_moves": self.most_moves}

    def ending(self, program: Program) -> int:
        """Return the exit code of a program that can be followed: 0, or 3 if it was not read whole (2 if strict)."""
        if program.reading is None or program.reading.whole:
            return 0
        return WRONG if self.strict else PARTIAL


@dataclass(frozen=True)
class GcodeOptions(ReadingOptions):
    """How a program is read, with what G-code does not say about itself."""

    dialect: Annotated[
        str | None, typer.Option("--dialect", metavar="NAME", help="Of G-code: linuxcnc, grbl, marlin or fanuc.")
    ] = None
    part: Annotated[
        str | None, typer.Option("--part", metavar="X,Y,Z,RX,RY,RZ", help="G54 in the arm's base: metres, degrees.")
    ] = None
    tool_axis: Annotated[
        str | None, typer.Option("--tool-axis", metavar="X,Y,Z", help="Direction of the tool's z axis in the part.")
    ] = None
    spin: Annotated[float, typer.Option("--spin", metavar="DEGREES", help="Turn of the tool about --tool-axis.")] = 0.0
    machine_home: Annotated[
        str | None, typer.Option("--machine-home", metavar="X,Y,Z", help="Where G28 leads, in the machine: metres.")
    ] = None
    machine_frame: Annotated[
        str | None, typer.Option("--machine-frame", metavar="X,Y,Z,RX,RY,RZ", help="The machine in the arm's base.")
    ] = None

    def said(self) -> dict[str, Any]:
        """Return what `read_program` is told, without what it would do anyway."""
        told = {
            "dialect": self.dialect,
            "part": _frame(self.part, "--part"),
            "tool_axis": _numbers(self.tool_axis, "--tool-axis"),
            "spin": math.radians(self.spin) or None,
            "machine_home": _numbers(self.machine_home, "--machine-home"),
            "machine_frame": _frame(self.machine_frame, "--machine-frame"),
        }
        return super().said() | {name: value for name, value in told.items() if value is not None}


def _numbers(text: str | None, option: str) -> list[float] | None:
    return None if text is None else [float(value) for value in numbers(text, f"{option} {text!r}")]


def _frame(text: str | None, option: str) -> Any:
    """Read x,y,z [m] and turns about x, y, z [deg], R = Rz(rz) Ry(ry) Rx(rx), as a pose (4, 4)."""
    if text is None:
        return None
    import numpy as np

    from armwright.spatial import pose, rotation_from_euler

    values = _numbers(text, option) or []
    if len(values) not in (3, 6):
        fail(f"{option} {text}: expected x,y,z in metres, or x,y,z,rx,ry,rz with angles in degrees")
    angles = np.radians([*values[3:], 0.0, 0.0, 0.0][:3])
    return pose(rotation_from_euler(angles[::-1], "zyx"), np.array(values[:3]))


def _pairs(words: Sequence[str] | None, option: str) -> list[tuple[str, str]]:
    found = []
    for word in words or ():
        name, sign, value = word.rpartition("=") if option == "--wait" else word.partition("=")
        if not sign or not name or not value:
            fail(f"{option} {word}: expected NAME=VALUE")
        found.append((name, value))
    return found


def _seconds(name: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds < math.inf:
        fail(f"--wait {name}={text}: expected seconds, 0 or more")
    return seconds


def _value(text: str) -> object:
    """Return an input's value: a number, true or false, or several by reading."""
    if re.match(r"\s*p?\s*\[", text):
        return text  # one value with parts, read by the language
    if "," in text:
        return [_value(part) for part in text.split(",")]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text


def say_nothing_moves(program: Program) -> None:
    """Say what a file has that moves nowhere."""
    reading = program.reading
    assert reading is not None
    names, more = reading.routines[:MOST_SHOWN], len(reading.routines) - MOST_SHOWN
    routines = f"; its routines: {', '.join(names)}{f' and {more} more' if more > 0 else ''}" if names else ""
    say(f"{program.name or program.file}: {reading.words} are known{routines}")
    for note in program.notes[:MOST_SHOWN]:
        say_note(note)


def say_note(note: Note) -> None:
    """Print a note with its line; one about the whole program has none."""
    say(note.message, lead=f"line {note.line}: " if note.line else "note: ")
