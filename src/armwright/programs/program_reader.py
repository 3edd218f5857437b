# SPDX-License-Identifier: Apache-2.0
"""`read_program` and `write_program`: from a file or a text to a `Program` and back, in any of the languages.

`check_program` says whether a program can be meant for an arm at all: as many joints, and targets in its world.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright import choices
from armwright.arguments import names_culprit
from armwright.errors import InputError, ProgramError
from armwright.files import read_regular
from armwright.kinematics.extent import reach
from armwright.programs.languages import LANGUAGES, Language
from armwright.programs.program import Joints, Move, Pose, Program

if TYPE_CHECKING:
    from armwright.robot.model import Robot

LARGEST_REACH_FACTOR = 100.0  # times the reach of the arm with its tool: beyond, another unit must have been meant


@names_culprit
def check_program(program: Program, robot: Robot) -> None:
    """Raise `ProgramError` at the first move that cannot be meant for `robot`.

    That is a joint target with more joints than the arm has, or a place beyond a hundred times its reach, which means
    millimetres in place of metres. Whether a target can be reached is another question, for the planner.

    Example:
        >>> check_program(read_program("examples/programs/ur5_pick.script"), aw.load("ur5"))
    """
    size = robot.memo("reach", reach)
    for number, move in enumerate(program.moves, 1):
        if isinstance(move.target, Joints) and move.target.q.size > robot.n:
            raise _error(
                program,
                move,
                f"move {number} speaks of {move.target.q.size} joints, {robot.name!r} has {robot.n}: for another arm?",
                f"at most {robot.n} joints",
            )
        tool = 0.0 if move.T_flange_tool is None else float(np.linalg.norm(move.T_flange_tool[:3, 3]))
        for target in (move.target, move.via):
            if isinstance(target, Pose):
                away = float(np.linalg.norm((move.T_base_frame @ target.T)[:3, 3]))
                if away > LARGEST_REACH_FACTOR * (size + tool):
                    raise _error(
                        program,
                        move,
                        f"move {number} leads {away:.4g} m away, "
                        f"more than {LARGEST_REACH_FACTOR:g} times the reach of {robot.name!r} "
                        f"({size + tool:.3g} m); millimetres where metres are meant?",
                        "targets within the arm's reach",
                    )


def _error(program: Program, move: Move, message: str, valid: str) -> ProgramError:
    return ProgramError(message, file=program.file, line=move.line, valid=valid)


MAX_BYTES = 8_000_000


@names_culprit
def read_program(source: str | Path, language: str | None = None) -> Program:
    """Read a robot program.

    Args:
        source: a file's path, or the text of a program (a string of more than one line).
        language: ``l-irl``, ``urscript``, ``rapid``, ``krl`` or ``g-code``. If omitted, the file's suffix tells
            (``.irl``; ``.script``, ``.urscript``; ``.mod``, ``.modx``, ``.prg``; ``.src``, ``.krl``; ``.nc``,
            ``.ngc``, ``.gcode``, ``.tap``), else the look of the text; if neither is clear, an error asks.

    Returns:
        The program in SI units, with notes on what was assumed.

    Raises:
        ProgramError: with file, line, column, word, and what would be valid there.

    Example:
        >>> len(read_program("examples/programs/ur5_pick.script").moves)
    """
    if not isinstance(source, str | Path):
        raise InputError(f"read_program: expected a path or the text of a program, got {type(source).__name__}")
    if isinstance(source, str) and "\n" in source:
        text, file, suffix = source, "", ""
        if len(text) > MAX_BYTES:
            raise ProgramError(f"{len(text)} characters; at most {MAX_BYTES} are read", valid="a shorter program")
    else:
        path = Path(source)
        text, file, suffix = _content(path), str(path), path.suffix.lower()
    _check_text(text, file)
    return _reader(language, suffix, text, file).read(text.replace("\r\n", "\n"), file)


@names_culprit
def write_program(program: Program, language: str) -> str:
    """Return a program's text in one of the languages of `read_program`.

    Raises:
        NotSupportedError: where the language cannot say what the program does; the message says which move and why.

    Example:
        >>> print(write_program(program, "rapid"))
    """
    return _language(language).write(program)


def _content(path: Path) -> str:
    try:
        return read_regular(path, MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProgramError(f"the file is not UTF-8 text: {error}", file=str(path), valid="a text file") from None
    except (OSError, ValueError) as error:
        size = f"at most {MAX_BYTES} bytes" if getattr(error, "errno", None) == errno.EFBIG else "a readable file"
        reason = getattr(error, "strerror", None) or error
        raise ProgramError(f"cannot read: {reason}", file=str(path), valid=size) from None


def _check_text(text: str, file: str) -> None:
    bad = re.search(r"[\x00-\x08\x0e-\x1f\x7f]", text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        column = bad.start() - text.rfind("\n", 0, bad.start())
        raise ProgramError("this is not text", file=file, line=line, column=column, word=bad[0], valid="a text file")
    if not text.strip():
        raise ProgramError("the program is empty", file=file, valid="at least one move")


def _language(name: str) -> Language:
    found: Language = choices.LANGUAGES.find(
        name, lambda valid: InputError(f"language: expected one of {valid}, got {name!r}")
    )
    return found


def _reader(name: str | None, suffix: str, text: str, file: str) -> Language:
    if name is not None:
        return _language(name)
    for language in LANGUAGES:
        if suffix in language.suffixes:
            return language
    likely = [language for language in LANGUAGES if language.look.search(text)]
    if len(likely) == 1:
        return likely[0]
    names = ", ".join(language.name for language in likely) or choices.LANGUAGES.listed()
    raise ProgramError(
        "which language is this? Neither the file's suffix nor its text tells",
        file=file,
        valid=f"language = one of {names}",
    )
