# SPDX-License-Identifier: Apache-2.0
"""From exponentials back to the sines and cosines that authors write.

Angles of parallel axes stay together (c₂₃ = cos(q₂ + q₃)), those of other axes are multiplied (c₁ c₂₃). Which are which
is seen in the terms: q₂ and q₃ are parallel if no term has q₂ + q₃ while another has q₂ − q₃. Twice an angle is written
by products, as it arose: s₂², c₂c₂₃.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from armwright.graph.expand import Expansion, Poly, exponents

SAME = 1e-12  # numbers that differ by rounding only
Angles = tuple[tuple[int, int], ...]
"""An angle: (atom, whole-number multiple), atoms ascending."""


COSINES, SINES, SINE_COSINE, COSINE_SINE = (False, False), (True, True), (True, False), (False, True)
"""Products cos A cos B, sin A sin B, … of which sums of angles consist: whether each factor is a sine."""


class Wave(NamedTuple):
    """The cosine or sine of an angle whose first multiple is positive."""

    angle: Angles
    is_sine: bool


class Term(NamedTuple):
    """What a number is multiplied by: (atom, exponent) ascending, and waves, sorted; a wave may occur twice."""

    powers: tuple[tuple[int, int], ...]
    waves: tuple[Wave, ...]


Sum = dict[Term, float]


def real_sums(expansion: Expansion) -> list[list[Sum]]:
    """Return every element of every output as a sum of real terms."""
    angles = [k for k, atom in enumerate(expansion.atoms) if atom.is_angle]
    groups = _parallel(angles, (exponents(t) for result in expansion.results for poly in result for t in poly))
    group_of = {k: number for number, group in enumerate(groups) for k in group}
    return [[_lowered(_real(poly, expansion, group_of)) for poly in result] for result in expansion.results]


def _parallel(angles: Sequence[int], terms: Iterable[list[int]]) -> list[list[int]]:
    """Gather angles that occur together with one pair of signs only."""
    signs: dict[tuple[int, int], set[bool]] = {}
    known = set(angles)
    for digits in terms:
        present = [(k, e) for k, e in enumerate(digits) if e and k in known]
        for (i, a), (j, b) in itertools.combinations(present, 2):
            signs.setdefault((i, j), set()).add(a * b > 0)
    groups: list[list[int]] = []
    for k in angles:
        seen = [[signs.get((min(k, j), max(k, j)), set()) for j in group] for group in groups]
        fits = [all(len(s) < 2 for s in row) and any(row) for row in seen]
        if True in fits:
            groups[fits.index(True)].append(k)
        else:
            groups.append([k])
    return groups


def _real(poly: Poly, expansion: Expansion, group_of: dict[int, int]) -> Sum:
    """Sum 2 Re(c e^{ik·q}) over the terms with a positive first multiple: products over the groups of cos + i sin."""
    out: Sum = {}
    for term, c in poly.items():
        powers, parts = [], dict[int, list[tuple[int, int]]]()
        for k, e in enumerate(exponents(term)):
            if e and expansion.atoms[k].is_angle:
                parts.setdefault(group_of[k], []).append((k, e))
            elif e:
                powers.append((k, e))
        angles = [tuple(part) for part in parts.values()]
        first = min((angle[0] for angle in angles), default=(0, 1))
        if first[1] < 0:
            continue  # the conjugate of another term
        value = complex(c) * (2.0 if angles else 1.0)
        for sines in itertools.product((False, True), repeat=len(angles)):
            factor = value * 1j ** sum(sines)
            waves = []
            for angle, is_sine in zip(angles, sines, strict=True):
                wave, sign = oriented(angle, is_sine)
                waves.append(wave)
                factor *= sign
            if factor.real != 0.0:
                accumulate(out, Term(tuple(powers), tuple(sorted(waves))), factor.real)
    return out


def oriented(angle: Angles, is_sine: bool) -> tuple[Wave, int]:
    """Return the wave of ±angle whose first multiple is positive, and its sign."""
    if angle[0][1] > 0:
        return Wave(angle, is_sine), 1
    return Wave(tuple((k, -e) for k, e in angle), is_sine), -1 if is_sine else 1


def accumulate(out: Sum, term: Term, value: float) -> None:
    """Add a term to a sum; what cancels but for rounding vanishes."""
    known = out.get(term, 0.0)
    if abs(known + value) <= SAME * abs(value):
        out.pop(term, None)
    else:
        out[term] = known + value


def _order(wave: Wave) -> int:
    return sum(abs(e) for _, e in wave.angle) if any(abs(e) > 1 for _, e in wave.angle) else 0


def _lowered(total: Sum) -> Sum:
    """Write waves of multiple angles as products: cos(A + B) = 2 cos A cos B − cos(A − B) = cos(A − B) − 2 sin A sin B.

    Of the two ways the one is taken that removes the wave of A − B, so I/2 − I/2 cos 2q becomes I sin² q; where there
    is none, half of both: cos A cos B − sin A sin B.
    """
    out = dict(total)
    high = [(max(map(_order, term.waves), default=0), term) for term in out]
    while high := sorted((order, term) for order, term in high if order and term in out):
        _, term = high.pop()
        value = out.pop(term)
        wave = max(term.waves, key=_order)
        rest = list(term.waves)
        rest.remove(wave)
        A = tuple((k, int(math.copysign((abs(e) + 1) // 2, e))) for k, e in wave.angle)
        B = tuple((k, int(math.copysign(abs(e) // 2, e))) for k, e in wave.angle if abs(e) > 1)
        halves = dict(B)
        difference = tuple((k, e - halves.get(k, 0)) for k, e in A if e != halves.get(k, 0))
        partner, sign = _partner(rest, difference, wave.is_sine)
        beside = 0.0 if partner is None else sign * out.get(Term(term.powers, partner), 0.0)
        first, second = (SINE_COSINE, COSINE_SINE) if wave.is_sine else (COSINES, SINES)
        ways = {-value: [(second, 2.0)], value: [(first, 2.0)], 0.0: [(first, 1.0), (second, 1.0)]}
        if partner is None:  # sin 2A
            left, pairs = 0.0, [(first, 2.0)]
        else:
            left = next((way for way in ways if math.isclose(way, beside, rel_tol=SAME)), value)
            pairs = ways[left]
        new = []
        for pair, factor in pairs:
            factor *= -value if pair is SINES else value
            waves = list(rest)
            for angle, is_sine in zip((A, B), pair, strict=True):
                turned, flip = oriented(angle, is_sine)
                waves.append(turned)
                factor *= flip
            new.append((Term(term.powers, tuple(sorted(waves))), factor))
        if partner is not None:
            new.append((Term(term.powers, partner), -sign * left))
        for item, number in new:
            if number != 0.0:
                accumulate(out, item, number)
            high.append((max(map(_order, item.waves), default=0), item))
    return out


def _partner(rest: list[Wave], difference: Angles, is_sine: bool) -> tuple[tuple[Wave, ...] | None, int]:
    """Return the waves of the term with A − B, and its sign; None if that wave is sin 0."""
    if not difference:
        return (None, 1) if is_sine else (tuple(rest), 1)
    wave, sign = oriented(difference, is_sine)
    return tuple(sorted([*rest, wave])), sign
