# SPDX-License-Identifier: Apache-2.0
"""What all program writers share: numbers as text, poses as numbers, and the refusal of what a language cannot say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from armwright.errors import NotSupportedError
from armwright.programs.languages.program_draft import DEG, MM
from armwright.programs.program import Distance, Move, Payload, Pose, Program, ToolRate
from armwright.spatial import euler_from_rotation
from armwright.types import Array


def amount(value: float) -> str:
    """Write a number with 15 digits, which reads back to 1e-15 of itself."""
    return f"{value + 0.0:.15g}"  # -0 becomes 0


def amounts(values: Iterable[float], separator: str = ", ") -> str:
    """Write several numbers."""
    return separator.join(amount(float(value)) for value in values)


def millimetres(p: Array) -> str:
    """Write a position [m] in millimetres."""
    return amounts(p * MM)


def abc(R: Array) -> Array:
    """Return A, B, C in degrees with R = Rz(A) Ry(B) Rx(C)."""
    angles: Array = euler_from_rotation(R, "zyx").angles / DEG
    return angles


def in_base(move: Move, target: Pose) -> Array:
    """Return T_base_tool of a target, for languages without frames."""
    T: Array = move.T_base_frame @ target.T
    return T


def is_identity(T: Array | None) -> bool:
    """Return whether a frame is the identity."""
    return T is None or bool(np.array_equal(T, np.eye(4)))


def same(a: Array | None, b: Array | None) -> bool:
    """Return whether two frames are the same, bit for bit."""
    return a is b or (a is not None and b is not None and bool(np.array_equal(a, b)))


def diagonal(load: Payload) -> Array | None:
    """Return the three moments of a load's inertia, zeros for a point; None if it has products of inertia."""
    if load.inertia is None:
        return np.zeros(3)
    moments = np.diag(load.inertia)
    return moments if np.array_equal(load.inertia, np.diag(moments)) else None


class ProgramWriter:
    """Goes through a program; `language` and the number of the move stand in refusals."""

    language = ""

    def __init__(self, program: Program) -> None:
        """Begin before the first move."""
        self.program = program
        self.number = 0
        self.lines: list[str] = []

    def refuse(self, reason: str) -> NoReturn:
        """Raise an error: the language cannot say this move."""
        line = self.program.moves[self.number - 1].line if self.number else 0
        where = f"move {self.number}" + (f" (line {line})" if line else "") if self.number else "the program"
        raise NotSupportedError(f"{self.language} cannot say this: {where}: {reason}")

    def need(self, holds: object, reason: str) -> None:
        """Refuse unless something holds."""
        if not holds:
            self.refuse(reason)

    def tool_rate(self, rate: object, what: str) -> float:
        """Return the linear part of a tool's speed or acceleration that says nothing about turning [m/s, m/s²]."""
        if not isinstance(rate, ToolRate) or rate.angular is not None:
            self.refuse(f"the {what} {rate}; only that of the tool point can be said")
        return rate.linear

    def corner(self, blend: Distance) -> float:
        """Return the size of a rounded corner that says nothing of the orientation [m]."""
        self.need(
            blend.orientation is None and blend.angle is None, "a blend with a zone of its own for the orientation"
        )
        return blend.position

    def word(self) -> str:
        """Return the program's name as a word that every language accepts."""
        name = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in self.program.name)
        return name if name[:1].isalpha() else f"p{name}"

    def write(self) -> str:
        """Return the text."""
        self.begin()
        for number, move in enumerate(self.program.moves, 1):
            self.number = number
            self.need(move.wrench is None, "a wrench on the tool")
            self.need(not any(getattr(move.target, "free", ())), "a coordinate that counts from where the tool is")
            self.move(move)
        self.number = 0
        self.end()
        return "\n".join(self.lines) + "\n"

    def begin(self) -> None:
        """Write what comes before the moves."""

    def move(self, move: Move) -> None:
        """Write one move."""

    def end(self) -> None:
        """Write what comes after the moves."""
