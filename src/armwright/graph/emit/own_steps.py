# SPDX-License-Identifier: Apache-2.0
"""The steps of `own_functions.py` for languages that write one operation at a time, each rounded by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from armwright.graph.emit.own_functions import Format
from armwright.graph.ops import Op

V = TypeVar("V")  # what stands for a value: a register, the number of a local variable, a name


class OwnArithmetic(ABC, Generic[V]):
    """Operations of a language on its values.

    Attributes:
        format: of its numbers.
    """

    format: Format

    @abstractmethod
    def number(self, value: float) -> V:
        """Return a constant."""

    @abstractmethod
    def plus(self, a: V, b: V) -> V:
        """Return a + b."""

    @abstractmethod
    def minus(self, a: V, b: V) -> V:
        """Return a − b."""

    @abstractmethod
    def times(self, a: V, b: V) -> V:
        """Return a·b."""

    @abstractmethod
    def over(self, a: V, b: V) -> V:
        """Return a/b."""

    @abstractmethod
    def negative(self, a: V) -> V:
        """Return −a."""

    @abstractmethod
    def magnitude(self, a: V) -> V:
        """Return |a|."""

    @abstractmethod
    def if_less(self, a: V, b: V, yes: V, no: V) -> V:
        """Return `yes` where a < b (never for NaN), else `no`."""

    @abstractmethod
    def power_of_two(self, k: V) -> V:
        """Return 2ᵏ for whole k within the exponents of the format."""

    def whole(self, a: V) -> V:
        """Return the nearest whole number."""
        shift = self.number(self.format.round)
        return self.minus(self.plus(a, shift), shift)

    def horner(self, z: V, coefficients: tuple[float, ...]) -> V:
        """Return the polynomial at z."""
        result = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = self.plus(self.times(z, result), self.number(c))
        return result


def exponential(a: OwnArithmetic[V], x: V) -> V:
    """Return eˣ."""
    f = a.format
    x = a.if_less(a.number(f.high), x, a.number(f.high), x)
    x = a.if_less(x, a.number(f.low), a.number(f.low), x)
    k = a.whole(a.times(x, a.number(f.log2e)))
    high, low = a.minus(x, a.times(k, a.number(f.ln2[0]))), a.times(k, a.number(f.ln2[1]))
    r = a.minus(high, low)
    z = a.times(r, r)
    c = a.minus(r, a.times(z, a.horner(z, f.exponential)))
    share = a.over(a.times(r, c), a.minus(a.number(2.0), c))
    y = a.minus(a.number(1.0), a.minus(a.minus(low, share), high))
    first = a.whole(a.times(k, a.number(0.5)))
    return a.times(a.times(y, a.power_of_two(first)), a.power_of_two(a.minus(k, first)))


def hyperbolic_tangent(a: OwnArithmetic[V], x: V) -> V:
    """Return tanh x."""
    f = a.format
    size, z = a.magnitude(x), a.times(x, x)
    ratio = a.over(a.horner(z, f.tangent), a.horner(z, f.divisor))
    near = a.plus(x, a.times(a.times(x, z), ratio))
    grown = exponential(a, a.plus(size, size))
    far = a.minus(a.number(1.0), a.over(a.number(2.0), a.plus(grown, a.number(1.0))))
    signed = a.if_less(x, a.number(0.0), a.negative(far), far)
    return a.if_less(size, a.number(f.small), near, signed)


def reduced_sincos(a: OwnArithmetic[V], x: V) -> tuple[V, V, V]:
    """Return a number whose lowest bits count the quarter turns in x, and sine and cosine of what is left of x."""
    f = a.format
    shifted = a.plus(a.times(x, a.number(f.two_over_pi)), a.number(f.round))
    k = a.minus(shifted, a.number(f.round))
    r = x
    for part in f.pi_half:
        r = a.plus(a.times(k, a.number(-part)), r)
    z = a.times(r, r)
    sine = a.plus(a.times(a.times(r, z), a.horner(z, f.sine)), r)
    inner = a.plus(a.times(z, a.horner(z, f.cosine)), a.number(-0.5))
    cosine = a.plus(a.times(z, inner), a.number(1.0))
    return shifted, sine, cosine


OWN: dict[Op, Callable[[OwnArithmetic[Any], Any], Any]] = {Op.EXP: exponential, Op.TANH: hyperbolic_tangent}
