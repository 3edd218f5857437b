# SPDX-License-Identifier: Apache-2.0
"""The steps of `own_steps.py` as LLVM instructions: what strict loops are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.graph.emit.own_functions import DOUBLE
from armwright.graph.emit.own_steps import OwnArithmetic

if TYPE_CHECKING:
    from armwright.graph.emit.llvm_math import LaneWriter


class LaneArithmetic(OwnArithmetic[str]):
    """Operations on registers of all lanes."""

    def __init__(self, w: LaneWriter) -> None:
        """Write with `w`."""
        self.w, self.format = w, DOUBLE

    def _two(self, name: str, a: str, b: str) -> str:
        return self.w.emit(f"{name} {self.w.type} {a}, {b}")

    def number(self, value: float) -> str:
        """Return a literal."""
        return self.w.literal(value)

    def plus(self, a: str, b: str) -> str:
        """Return a + b."""
        return self._two("fadd", a, b)

    def minus(self, a: str, b: str) -> str:
        """Return a − b."""
        return self._two("fsub", a, b)

    def times(self, a: str, b: str) -> str:
        """Return a·b."""
        return self._two("fmul", a, b)

    def over(self, a: str, b: str) -> str:
        """Return a/b."""
        return self._two("fdiv", a, b)

    def negative(self, a: str) -> str:
        """Return −a."""
        return self.w.emit(f"fneg {self.w.type} {a}")

    def magnitude(self, a: str) -> str:
        """Return |a|."""
        return self.w.intrinsic("fabs", a)

    def if_less(self, a: str, b: str, yes: str, no: str) -> str:
        """Return `yes` where a < b, else `no`."""
        w = self.w
        truth = w.emit(f"fcmp olt {w.type} {a}, {b}")
        return w.emit(f"select {w.truth_type} {truth}, {w.type} {yes}, {w.type} {no}")

    def power_of_two(self, k: str) -> str:
        """Return 2ᵏ: k, moved to where the exponent stands."""
        w, f = self.w, self.format
        bits = w.emit(f"bitcast {w.type} {self.plus(k, self.number(f.round + f.bias))} to {w.integer}")
        return w.emit(f"bitcast {w.integer} {w.emit(f'shl {w.integer} {bits}, {w.literal(f.shift)}')} to {w.type}")
