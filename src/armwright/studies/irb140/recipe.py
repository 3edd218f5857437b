# SPDX-License-Identifier: Apache-2.0
"""A.2 carried out: the symbolic Newton–Euler recursion of the thesis, combined and collected as its Maple sheet says.

After ``combine(…, trig)`` every expression is a sum of coefficient × monomial × cos or sin of a sum of angles. Such a
sum is kept here as {(monomial, multiples of the angles): complex coefficient}, real part for the cosine, imaginary part
for the sine. Coefficients that should cancel do so only in exact arithmetic; Maple's ten decimal digits leave many
behind, and each is an operation of the generated code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from armwright.spatial import cylinder_inertia
from armwright.studies.irb140.setting import CYLINDERS, MASSES

Term = tuple[tuple[int, ...], tuple[int, ...]]
Sum = dict[Term, complex]
Vector = list[Sum]
NONE = (0,) * 6
DUST = 1e-12  # what exact arithmetic would cancel; the smallest real coefficient is above 1e-5
GRAVITY_SYMBOL, ACCELERATION = 20, 10  # velocities are 1…6, accelerations 11…16 in a monomial
TURN = ((1, 0, 0), (0, 0, -1), (0, 1, 0))
STRAIGHT = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
FRAMES = (TURN, STRAIGHT, TURN, TURN, TURN, STRAIGHT)
"""Constant factor of R_{i−1}^i = Rz(q_i)·…, as printed."""
AXES = (1, 2, 1, 1, 1, 2)
"""Which axis of frame i joint i turns about: b_i."""
ENDS = ((0.070, -0.352, 0.0), (0.360, 0.0, 0.0), None, (0.0, 0.380, 0.0), None, (0.0, 0.0, 0.065))
CENTRES = ((0.014, -0.264, 0.067), (0.201, 0.0, -0.070), None, (0.0, 0.080, 0.0), None, (0.0, 0.0, 0.029))
"""(3.35)–(3.46) [m]; links 3 and 5 have neither length nor mass."""
LINK_AXES = {1: "y", 2: "x", 4: "y", 6: "z"}


class Tally(NamedTuple):
    """Terms of some expressions, operations in the arguments of their sines, factors of their monomials."""

    terms: int
    arguments: int
    factors: int


class Algebra:
    """Sums of terms with coefficients of so many decimal digits; exact (but for double precision) without a number."""

    def __init__(self, digits: int | None) -> None:
        """Fix the precision."""
        self.digits = digits

    def _kept(self, found: dict[Term, complex]) -> Sum:
        if self.digits is None:
            return {key: c for key, c in found.items() if abs(c) > DUST}
        form = f".{self.digits - 1}e"
        rounded = {key: complex(float(format(c.real, form)), float(format(c.imag, form))) for key, c in found.items()}
        return {key: c for key, c in rounded.items() if c != 0.0}

    def add(self, *sums: Sum) -> Sum:
        """Sum of sums."""
        found: dict[Term, complex] = defaultdict(complex)
        for one in sums:
            for key, c in one.items():
                found[key] += c
        return self._kept(found)

    def times(self, a: Sum, b: Sum) -> Sum:
        """Product, products of sines and cosines turned into sums."""
        found: dict[Term, complex] = defaultdict(complex)
        for (m, k), c in a.items():
            for (n, h), d in b.items():
                found[tuple(sorted(m + n)), tuple(x + y for x, y in zip(k, h, strict=True))] += c * d
        return self._kept(found)

    def by(self, factor: float, a: Sum) -> Sum:
        """Multiple."""
        return self._kept({key: factor * c for key, c in a.items()})

    def rate(self, a: Sum) -> Sum:
        """Derivative by time."""
        found: dict[Term, complex] = defaultdict(complex)
        for (m, k), c in a.items():
            for j in np.flatnonzero(k):
                found[tuple(sorted((*m, int(j) + 1))), k] += 1j * k[j] * c
            for i, v in enumerate(m):
                found[tuple(sorted((*m[:i], v + ACCELERATION, *m[i + 1 :]))), k] += c
        return self._kept(found)

    def dot(self, rows: Sequence[Vector], v: Vector) -> Vector:
        """Matrix times vector."""
        return [self.add(*(self.times(x, y) for x, y in zip(row, v, strict=True))) for row in rows]

    def plus(self, *vectors: Vector) -> Vector:
        """Sum of vectors."""
        return [self.add(*parts) for parts in zip(*vectors, strict=True)]

    def cross(self, a: Vector, b: Vector) -> Vector:
        """Cross product."""
        pairs = ((1, 2), (2, 0), (0, 1))
        return [self.add(self.times(a[i], b[j]), self.by(-1.0, self.times(a[j], b[i]))) for i, j in pairs]


def number(x: float) -> Sum:
    """A constant."""
    return {((), NONE): complex(x)} if x else {}


def symbol(name: int) -> Sum:
    """A velocity, an acceleration or g."""
    return {((name,), NONE): 1.0 + 0.0j}


def _vector(values: Sequence[float] | None) -> Vector:
    return [number(x) for x in values or (0.0, 0.0, 0.0)]


def _rotation(algebra: Algebra, i: int) -> list[Vector]:
    up, down = (tuple(s * int(j == i) for j in range(6)) for s in (1, -1))
    cosine: Sum = {((), up): 0.5, ((), down): 0.5}
    sine: Sum = {((), up): -0.5j, ((), down): 0.5j}
    Rz = [[cosine, algebra.by(-1.0, sine), {}], [sine, cosine, {}], [{}, {}, number(1.0)]]
    columns = [algebra.dot(Rz, [number(row[j]) for row in FRAMES[i]]) for j in range(3)]
    return _transposed(columns)


def _transposed(rows: Sequence[Vector]) -> list[Vector]:
    return [list(column) for column in zip(*rows, strict=True)]


def torques(digits: int | None) -> list[Sum]:
    """The six joint torques as sums of terms, link by link as the sheet has them."""
    o = Algebra(digits)
    R = [_rotation(o, i) for i in range(6)]
    zero = _vector(None)
    w, alpha, a_end = zero, zero, zero
    down: Vector = [{}, {}, o.by(-1.0, symbol(GRAVITY_SYMBOL))]
    spins, spin_rates, pulls = [], [], []
    for i in range(6):
        back = _transposed(R[i])
        axis = [number(float(k == AXES[i])) for k in range(3)]
        turn = [o.times(x, symbol(i + 1)) for x in axis]
        w = o.plus(o.dot(back, w), turn)
        alpha = o.plus(o.dot(back, alpha), [o.times(x, symbol(i + 1 + ACCELERATION)) for x in axis], o.cross(w, turn))
        w_rate, a_centre, before = [o.rate(x) for x in w], zero, o.dot(back, a_end)
        ends: list[Vector] = []
        for r in (ENDS[i], CENTRES[i]):
            arm = _vector(r)
            ends.append(o.plus(before, o.cross(w_rate, arm), o.cross(w, o.cross(w, arm))) if r else before)
        a_end, a_centre = ends
        down = o.dot(back, down)
        m = MASSES.get(i + 1, 0.0)
        pulls.append([o.by(m, o.add(a, o.by(-1.0, g))) for a, g in zip(a_centre, down, strict=True)] if m else zero)
        spins.append(w)
        spin_rates.append(alpha)
    f, tau = zero, zero
    out: list[Sum] = []
    for i in reversed(range(6)):
        link = i + 1
        if i < 5:
            f, tau = o.dot(R[i + 1], f), o.dot(R[i + 1], tau)
        onward, f = f, o.plus(f, pulls[i])
        if link in MASSES:
            J = cylinder_inertia(MASSES[link], *CYLINDERS[link], LINK_AXES[link])
            rows = [[number(float(x)) for x in row] for row in J]
            rest = np.subtract(CENTRES[i], ENDS[i])  # type: ignore[arg-type]
            tau = o.plus(
                tau,
                o.dot(rows, spin_rates[i]),
                o.cross(spins[i], o.dot(rows, spins[i])),
                o.cross(_vector(CENTRES[i]), f),
                o.cross(onward, _vector([float(x) for x in rest])),
            )
        out.insert(0, tau[AXES[i]])
    return out


def _tally(sums: Sequence[Sum]) -> Tally:
    terms = arguments = factors = 0
    for one in sums:
        for (monomial, k), c in one.items():
            if k < NONE:
                continue  # the other half of a cosine or sine
            copies = (c.real != 0.0) + (c.imag != 0.0 and k != NONE)
            angles = [x for x in k if x]
            terms += copies
            arguments += copies * (max(len(angles) - 1, 0) + sum(abs(x) > 1 for x in angles))
            factors += copies * len(monomial)
    return Tally(terms, arguments, factors)


@cache
def recipe_counts(digits: int | None) -> dict[str, Tally]:
    """Counts of what A.2 exports: 36 entries of M, six of g, six of C q̇."""
    tau = torques(digits)

    def part(chosen: Callable[[tuple[int, ...]], bool], *, bare: bool = False) -> Tally:
        found = [{(() if bare else m, k): c for (m, k), c in one.items() if chosen(m)} for one in tau]
        return _tally(found)

    entries = [part(lambda m, j=j: m == (j + 1 + ACCELERATION,), bare=True) for j in range(6)]  # type: ignore[misc]
    return {
        "M": Tally(*(sum(x) for x in zip(*entries, strict=True))),
        "g": part(lambda m: m == (GRAVITY_SYMBOL,)),
        "C q̇": part(lambda m: len(m) == 2),
    }


def operations(digits: int | None) -> float:
    """All operations: each term a product and a sum, its sine, the argument of that, the factors of its monomial."""
    return float(sum(3 * x.terms + x.arguments + x.factors for x in recipe_counts(digits).values()))
