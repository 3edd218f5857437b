# SPDX-License-Identifier: Apache-2.0
"""`read_program` and `write_program`: from a file or a text to a `Program` and back, in any of the languages.

`check_program` says whether a program can be meant for an arm at all: as many joints, and targets in its world.
"""

from __future__ import annotations

import errno
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright import choices
from armwright.arguments import names_culprit
from armwright.errors import InputError, ProgramError
from armwright.files import read_regular
from armwright.kinematics.extent import reach
from armwright.programs.interpreter.program_files import MAX_BYTES, decoded
from armwright.programs.interpreter.program_folder import SEVERAL, main_file
from armwright.programs.languages import LANGUAGES, Language
from armwright.programs.languages.gcode_options import gcode_options
from armwright.programs.languages.krl_factory import FACTORY
from armwright.programs.program import Joints, Move, Pose, Program
from armwright.programs.reading import MOST_STATEMENTS, BranchKey, Note, ReadOptions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

GCODE_ONLY = ("dialect", "part", "tool_axis", "machine_home", "machine_frame")
ANY_CODE = (*SEVERAL, *choices.LANGUAGES["g-code"].suffixes)  # files that may be cp1252
MOST_MOVES_ASKED = 2_000_000  # some gigabytes
STATEMENTS_A_MOVE = 4
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


@names_culprit
def read_program(
    source: str | Path,
    language: str | None = None,
    *,
    more: Sequence[str | Path] = (),
    config: str | Path | None = None,
    inputs: Mapping[str, Any] | None = None,
    waits: Mapping[str, float] | None = None,
    choose: Mapping[BranchKey, int] | None = None,
    define: Mapping[str, Any] | None = None,
    assume_frames: bool = False,
    lock_external: bool = False,
    passes: int = 1,
    most_moves: int | None = None,
    entry: str | None = None,
    dialect: str | None = None,
    part: ArrayLike | None = None,
    tool_axis: Sequence[float] | None = None,
    spin: float = 0.0,
    machine_home: Sequence[float] | None = None,
    machine_frame: ArrayLike | None = None,
    robot: Robot | None = None,
    start_q: ArrayLike | None = None,
) -> Program:
    """Read a robot program.

    Args:
        source: a file's path, or the text of a program (a string of more than one line); for RAPID and KRL also a
            folder or a ``.zip`` of them.
        language: ``l-irl``, ``urscript``, ``rapid``, ``krl`` or ``g-code``. If omitted, the file's suffix tells
            (``.irl``; ``.script``, ``.urscript``; ``.mod``, ``.modx``, ``.prg``; ``.src``, ``.krl``; ``.nc``,
            ``.ngc``, ``.gcode``, ``.tap``, ``.cnc``, ``.gco``), else the look of the text; if neither is clear, an
            error asks.
        more: further files of the program; RAPID and KRL files beside `source` are found when a name is missing.
        config: the controller's own data, KRL's ``$config.dat`` (or the folder that has it); ``factory`` for the
            speeds, accelerations and corners that the maker ships, where no such file is at hand.
        inputs: values of inputs by name; a list is used up reading by reading. Inputs that nobody tells are off.
        waits: how long waiting for an input takes [s], by its name (of G-code: M0, M1 and their like); 0 s if omitted.
        choose: which way tests go that depend on what is not known, by `Undecided.key`; see `read_branches`.
        define: values of names that no file declares (tools, frames, positions), as texts of the language.
        assume_frames: take tools and frames that no file has for the flange and the arm's base.
        lock_external: take external axes that move for axes that do not carry the arm.
        passes: how often loops without an end are run.
        most_moves: after how many moves a program is refused as one without an end; 100,000 if omitted, and fewer where
            a short text makes them by loops.
        entry: routine to run, if the file does not tell.
        dialect: of G-code: linuxcnc, grbl, marlin or fanuc; guessed from its words if omitted, and a note says so.
        part: (4, 4) where G-code's G54 lies in the arm's base; there itself if omitted.
        tool_axis: (3,) direction of the tool's z axis in the part, for G-code, which says none; kept if omitted.
        spin: turn of the tool about that axis [rad].
        machine_home: (3,) [m] where G28 leads, in the machine's axes; such a move is a gap if omitted.
        machine_frame: (4, 4) the machine's axes in the arm's base, for G53; such a move is a gap if omitted.
        robot: the arm; with it RAPID, KRL and URScript programs know the place of their tool after a move to joints
            (CRobT, $POS_ACT, get_actual_tcp_pose, targets that leave coordinates out), as planned and not as measured.
        start_q: (n,) where its joints stand at first [rad]; a program that asks for that has a gap if omitted.

    Returns:
        The program in SI units, with notes on what was assumed; ``program.reading`` tells how far it was read: moves
        that are not known are `Gap`, and `ProgramReading.whole` is False then.

    Raises:
        ProgramError: with file, line, column, word, and what would be valid there.

    Example:
        >>> len(read_program("examples/programs/ur5_pick.script").moves)
    """
    if not isinstance(source, str | Path):
        raise InputError(f"read_program: expected a path or the text of a program, got {type(source).__name__}")
    told = ReadOptions(
        inputs=dict(inputs or {}),
        waits=_waits(waits or {}),
        choose=dict(choose or {}),
        define=dict(define or {}),
        config=None if config is None else Path(config),
        assume_frames=assume_frames,
        lock_external=lock_external,
        passes=passes,
        entry=entry,
        more=tuple(Path(path) for path in more),
        **_work(most_moves),
        robot=robot,
        start_q=_start(start_q, robot),
        **gcode_options(dialect, part, tool_axis, spin, machine_home, machine_frame),
    )
    if told.config is not None and told.config != Path(FACTORY) and not told.config.exists():
        valid = f"the controller's own data, or the word {FACTORY}"
        raise ProgramError("cannot read: no such file or folder", file=str(config), valid=valid)
    if passes < 1:
        raise InputError(f"read_program: passes: expected 1 or more, got {passes}")
    western = False
    if isinstance(source, str) and "\n" in source:
        text, file, suffix = source, "", ""
        if len(text) > MAX_BYTES:
            raise ProgramError(f"{len(text)} characters; at most {MAX_BYTES} are read", valid="a shorter program")
    else:
        path = Path(source)
        if path.is_dir() or path.suffix.lower() == ".zip":
            path, told = main_file(path, told)
        text, western = told.texts[str(path)] if str(path) in told.texts else _content(path)
        file, suffix = str(path), path.suffix.lower()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if suffix not in ANY_CODE:
        western = False
    _check_text(text, file)
    reader = _reader(language, suffix, text, file)
    if not reader.told:
        if replace(told, robot=None, start_q=None) != ReadOptions():
            raise InputError(f"read_program: {reader.name} programs take no inputs, definitions, files or entry")
        return replace(reader.read(text, file), text=text)
    if reader.name != "g-code" and any(getattr(told, name) is not None for name in GCODE_ONLY):
        raise InputError(f"read_program: {', '.join(GCODE_ONLY)} are of G-code, not of {reader.name}")
    program = replace(reader.read(text, file, told), text=text)
    if western:
        note = Note(0, "the file is no UTF-8 text: read as cp1252")
        program = replace(program, notes=(note, *program.notes))
    return program


def _start(start_q: ArrayLike | None, robot: Robot | None) -> Array | None:
    if start_q is None:
        return None
    q = np.asarray(start_q, dtype=np.float64)
    if q.ndim != 1 or not np.isfinite(q).all() or (robot is not None and q.size != robot.n):
        size = "(n,)" if robot is None else f"({robot.n},)"
        raise InputError(f"start_q: expected {size} finite joint values, got {start_q!r}")
    return q


def _work(most_moves: int | None) -> dict[str, Any]:
    if most_moves is None:
        return {}
    if isinstance(most_moves, bool) or not isinstance(most_moves, int) or not 1 <= most_moves <= MOST_MOVES_ASKED:
        valid = f"a whole number from 1 to {MOST_MOVES_ASKED}"
        raise InputError(f"most_moves: expected {valid}, got {most_moves!r}")
    return {"moves": most_moves, "moves_told": True, "statements": max(MOST_STATEMENTS, STATEMENTS_A_MOVE * most_moves)}


def _waits(waits: Mapping[str, float]) -> dict[str, float]:
    for name, seconds in waits.items():
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0.0 <= seconds < math.inf:
            raise InputError(f"waits: {name}: expected seconds, 0 or more, got {seconds!r}")
    return {name: float(seconds) for name, seconds in waits.items()}


@names_culprit
def write_program(program: Program, language: str) -> str:
    """Return a program's text in one of the languages of `read_program`.

    Raises:
        NotSupportedError: where the language cannot say what the program does; the message says which move and why.

    Example:
        >>> print(write_program(program, "rapid"))
    """
    return _language(language).write(program)


def _content(path: Path) -> tuple[str, bool]:
    try:
        text, western = decoded(read_regular(path, MAX_BYTES), str(path))
    except ProgramError:
        raise
    except (OSError, ValueError) as error:
        size = f"at most {MAX_BYTES} bytes" if getattr(error, "errno", None) == errno.EFBIG else "a readable file"
        reason = getattr(error, "strerror", None) or error
        raise ProgramError(f"cannot read: {reason}", file=str(path), valid=size) from None
    if western and path.suffix.lower() not in ANY_CODE:
        raise ProgramError("the file is not UTF-8 text", file=str(path), valid="a text file")
    return text, western


def _check_text(text: str, file: str) -> None:
    template = re.search(r"\{\{.*?\}\}|\{%.*?%\}", text)
    if template:
        line = text.count("\n", 0, template.start()) + 1
        raise ProgramError(
            "this is a template, no program", file=file, line=line, word=template[0][:40], valid="a filled-in program"
        )
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
