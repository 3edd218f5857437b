# SPDX-License-Identifier: Apache-2.0
"""A program while it is being read: its moves and notes so far, and the checks that all languages share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ProgramError
from armwright.programs.languages.unit_limits import LIMITS, UNITS
from armwright.programs.program import Joints, Move, Pose, Program, Target
from armwright.programs.reading import MOST_MOVES, Note
from armwright.spatial import pose, rotation_from_euler, rotation_from_wxyz
from armwright.syntax.scanner import MOVE_WORK, Cursor, Token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.programs.reading import ProgramReading
    from armwright.types import Array

FEWER = "a shorter program, or --most-moves with as many as it makes"
MAX_STEPS = 100_000  # statements carried out, loops included
NEAR_DISTANCE = 0.01  # m; targets of a whole program that all lie so near suggest metres where millimetres are read
MM, DEG, PERCENT = 1000.0, math.pi / 180.0, 100.0  # lengths and shares are divided by these: 350 mm is 0.35 m


class Draft:
    """A program read so far; `cursor` gives the places."""

    def __init__(self, cursor: Cursor, language: str) -> None:
        """Begin without moves."""
        self.cursor = cursor
        self.language = language
        self.moves: list[Move] = []
        self.notes: dict[tuple[int, str], Note] = {}
        self.steps = 0
        self.most_moves = MOST_MOVES
        self.name = ""
        self.robot: str | None = None

    def note(self, line: int, message: str, *, once: bool = False) -> None:
        """Remember what was assumed; `once` keeps only the first line of each message."""
        self.notes.setdefault((0 if once else line, message), Note(line, message))

    def step(self, at: Token) -> None:
        """Count a statement that is carried out; loops that do not end are found by this."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.cursor.fail(
                f"endless loop? more than {MAX_STEPS} statements were carried out",
                at=at,
                valid="a loop that ends after a known number of passes",
            )

    def add(self, at: Token, **parts: Any) -> None:
        """Add a move that was read at `at`; contradictions in it become errors there."""
        if len(self.moves) >= self.most_moves:
            self.cursor.fail(f"more than {self.most_moves} moves", at=at, valid=FEWER)
        self.cursor.count(MOVE_WORK)
        for target in (parts.get("target"), parts.get("via")):
            self.check_units(target, at)
        if parts["kind"] == "wait" and self.moves:  # while waiting the arm carries the load of the last move
            last = self.moves[-1]
            parts |= {n: getattr(last, n) for n in ("T_base_frame", "T_flange_tool", "payload")}
        text = self.cursor.text_of(at.line)
        self.moves.append(self.cursor.located(at, Move, line=at.line, text=text, **parts))

    def check_units(self, target: Target | None, at: Token) -> None:
        """Refuse targets that are so far away that another unit must have been meant."""
        if isinstance(target, Pose):
            what = "target" if self.language == "urscript" else "far target"
            self.check_amount(what, max(map(abs, target.T[:3, 3].tolist())), at)
        elif isinstance(target, Joints):
            self.check_amount("turns", float(np.abs(target.q).max()) / (2.0 * math.pi), at)

    def check_amount(self, what: str, value: float, at: Token) -> None:
        """Refuse an amount, in the unit of its row of `LIMITS`, that only a slip of the unit explains."""
        limit = LIMITS[what]
        if limit.most < value < math.inf:
            units = UNITS[self.language]
            self.cursor.fail(limit.words(value), at=at, valid=f"{limit.valid}; {self.language} counts in {units}")

    def all_near(self) -> bool:
        """Return whether there are targets in the arm's base, and all of them lie within `NEAR_DISTANCE` of it."""
        at_base: dict[int, bool] = {}  # moves share their frames
        found = False
        for move in self.moves:
            if isinstance(move.target, Pose):
                frame = move.T_base_frame
                if id(frame) not in at_base:
                    at_base[id(frame)] = np.array_equal(frame, np.eye(4))
                if at_base[id(frame)]:
                    found = True
                    if not max(map(abs, move.target.T[:3, 3].tolist())) < NEAR_DISTANCE:
                        return False
        return found

    def finish(self, reading: ProgramReading | None = None) -> Program:
        """Return the program; one without a move is an error unless it is told how far it was read."""
        if reading is None and not any(move.kind != "wait" for move in self.moves):
            raise ProgramError("the program moves nowhere", file=self.cursor.file, valid="at least one move")
        if self.all_near():
            self.note(
                self.moves[0].line,
                f"all targets lie within 10 mm of the base: {self.language} counts in "
                f"{UNITS[self.language]}; were metres written?",
            )
        notes = tuple(sorted(self.notes.values(), key=lambda note: note.line))
        return Program(
            tuple(self.moves),
            robot=self.robot,
            name=self.name,
            language=self.language,
            file=self.cursor.file,
            notes=notes,
            reading=reading,
        )


def joints_deg(degrees: Sequence[float], known: tuple[bool, ...] = (), name: str = "") -> Joints:
    """Return a joint target given in degrees."""
    return Joints(np.asarray(degrees, dtype=np.float64) * DEG, known, name)


def pose_abc(xyz_mm: Sequence[float], abc_deg: Sequence[float]) -> Array:
    """Return T (4, 4) from millimetres and the angles A, B, C in degrees: R = Rz(A) Ry(B) Rx(C) (L-IRL, KRL)."""
    R = rotation_from_euler(np.asarray(abc_deg) * DEG, "zyx")
    T: Array = pose(R, np.asarray(xyz_mm) / MM)
    return T


def pose_wxyz(cursor: Cursor, at: Token, xyz_mm: Sequence[float], wxyz: Sequence[float]) -> Array:
    """Return T (4, 4) from millimetres and a quaternion w, x, y, z, which must have unit length to 1e-3."""
    length = math.sqrt(math.fsum(c * c for c in wxyz))
    if not abs(length - 1.0) <= 1e-3:
        cursor.fail(
            f"a quaternion of length {length:.6g}; the order is w, x, y, z",
            at=at,
            valid="four numbers whose squares add up to 1",
        )
    T: Array = pose(rotation_from_wxyz(np.asarray(wxyz) / length), np.asarray(xyz_mm) / MM)
    return T
