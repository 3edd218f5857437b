# SPDX-License-Identifier: Apache-2.0
"""Equations as authors write them: multiplied out, simplified by the theorems of angles, and collected.

An entry becomes a sum over products of rates (q̇₁q̇₂, q̈₁, …), each with its coefficient; a coefficient is a sum of
products of parameters and of sines and cosines, with common factors in front: m₂(l₁² + r₂² + 2 l₁ r₂ c₂).

`real_sums` goes from exponentials back to sines and cosines. Angles of parallel axes stay together
(c₂₃ = cos(q₂ + q₃)), those of other axes are multiplied (c₁ c₂₃). Which are which is seen in the terms: q₂ and q₃ are
parallel if no term has q₂ + q₃ while another has q₂ − q₃. Twice an angle is written by products, as it arose: s₂²,
c₂c₂₃.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from armwright.graph.expand import Atom, Expansion, Poly, TooLongError, expand, exponents
from armwright.graph.expr import Expr, Graph
from armwright.graph.ops import Op
from armwright.graph.products import (
    COORDINATE,
    OTHER,
    PARAMETER,
    RATE,
    SAME_NUMBER_DIFFERENCE,
    WAVE,
    Factor,
    Product,
    place,
    ratio,
    taken_out,
)
from armwright.graph.traced_program import TracedProgram, finish
from armwright.graph.whole_squares import Square, whole_squares

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
    if abs(known + value) <= SAME_NUMBER_DIFFERENCE * abs(value):
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
            left = next((way for way in ways if math.isclose(way, beside, rel_tol=SAME_NUMBER_DIFFERENCE)), value)
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


MOST_EXPONENTIALS = 4_000  # exponentials of a program that is still readable
ANY_DEPTH = 99  # a depth that no equation has


class OrderedGraph(Graph):
    """A graph that keeps the order in which factors, and with `to_read` summands, were given."""

    def __init__(self, *, to_read: bool) -> None:
        """Start empty."""
        super().__init__()
        self.to_read = to_read

    def add(self, x: Expr, y: Expr) -> Expr:
        """Sum; −x + y stays in this order where it is read."""
        keep = self.to_read and x.op is Op.NEG and y.op is not Op.NEG and not y.is_zero
        return self.apply(Op.ADD, x, y) if keep else super().add(x, y)

    def apply(self, op: Op, *operands: Expr) -> Expr:
        """Build an operation; fold constants."""
        if all(x.is_constant for x in operands):
            return super().apply(op, *operands)
        return self.node(op, tuple([x.index for x in operands]))


def collect(program: TracedProgram, *, to_read: bool = True) -> TracedProgram | None:
    """Return an equal program with collected outputs; None if they would be too long.

    Args:
        program: what to simplify. Elements of vectors among its inputs, angles apart, are what is collected by;
            scalars are parameters.
        to_read: order sums by their parameters, and take factors out of them once; else out of what is left in
            parentheses as well, and begin sums at their far end, where those of the outputs agree: fewer operations.
    """
    graph = OrderedGraph(to_read=to_read)
    try:
        expansion = expand(program, graph)
    except TooLongError:
        return None
    if sum(len(poly) for result in expansion.results for poly in result) > MOST_EXPONENTIALS:
        return None
    writer = _TermWriter(graph, program, expansion.atoms, to_read)
    outputs = []
    for signal, sums in zip(program.outputs, real_sums(expansion), strict=True):
        cells = np.empty(signal.size, dtype=object)
        cells[:] = [writer.entry(total) for total in sums]
        outputs.append((signal.name, cells.reshape(signal.shape)))
    return finish(graph, program.name, program.inputs, outputs, single=program.single)


class _TermWriter:
    """Writes sums of terms as nodes, in the order of the inputs."""

    def __init__(self, graph: Graph, program: TracedProgram, atoms: list[Atom], to_read: bool) -> None:
        self.graph, self.atoms, self.to_read = graph, atoms, to_read
        self.depth = 1 if to_read else ANY_DEPTH
        self.vectors = {k for k, signal in enumerate(program.inputs) if signal.shape}
        # q of an arm that turns and slides: its lengths are no rates to collect by
        self.coordinates = {atom.node.value[0] for atom in atoms if atom.is_angle}
        self.known: dict[Factor, Expr] = {}
        self.order = [self._rank(atom) for atom in atoms]

    def _rank(self, atom: Atom) -> Factor:
        """Parameters first, rates last, each as the program takes them."""
        rank: Factor = (OTHER, (atom.node.index,))
        if atom.node.op is Op.INPUT:
            signal = atom.node.value[0]
            vector = COORDINATE if signal in self.coordinates else RATE
            rank = (vector if signal in self.vectors else PARAMETER, atom.node.value)
        if not atom.is_angle:
            self.known[rank] = atom.node
        return rank

    def _wave(self, wave: Wave) -> Factor:
        """Return the sine or cosine as a factor: shorter sums of angles first."""
        angle = sorted((self.order[k], e) for k, e in wave.angle)
        flat = [value for (_, place), e in angle for value in (*place, e)]
        rank: Factor = (WAVE, (len(angle), *flat, wave.is_sine))
        if rank not in self.known:
            g = self.graph
            total = g.constant(0.0)
            for k, e in sorted(wave.angle, key=lambda part: (part[1] < 0, self.order[part[0]])):
                total = g.add(total, g.multiply(g.constant(float(e)), self.atoms[k].node))
            self.known[rank] = g.sine(total) if wave.is_sine else g.cosine(total)
        return rank

    def entry(self, total: Sum) -> Expr:
        """Write one element of an output: Σ coefficient · (Σ rates)."""
        coefficients: dict[tuple[Factor, ...], list[Product]] = {}
        for (powers, waves), number in total.items():
            factors = [self.order[k] for k, e in powers for _ in range(e)]
            rates = tuple(sorted(factor for factor in factors if factor[0] == RATE))
            rest = sorted([*(factor for factor in factors if factor[0] != RATE), *map(self._wave, waves)])
            coefficients.setdefault(rates, []).append(Product(number, tuple(rest)))
        groups: list[tuple[list[Product], list[Product]]] = []
        # accelerations before velocities, squares before mixed products, what moves before what stands
        for rates in sorted(coefficients, key=lambda rates: (not rates, [(-k[1][0], k[1][1]) for k in rates])):
            coefficient = sorted(coefficients[rates], key=place)
            for first, motions in groups:
                times = ratio(coefficient, first) if rates and motions[0].factors else None
                if times is not None:
                    motions.append(Product(times, rates))
                    break
            else:
                groups.append((coefficient, [Product(1.0, rates)]))
        out = self.graph.constant(0.0)
        for coefficient, motions in groups:
            out = self.graph.add(out, self._scaled(coefficient, motions))
        return out

    def _scaled(self, coefficient: list[Product], motions: list[Product]) -> Expr:
        g = self.graph
        least = min(abs(motion.number) for motion in motions)  # 2 q̇₁q̇₂ + q̇₂², not q̇₁q̇₂ + q̇₂²/2
        motions = [Product(motion.number / least, motion.factors) for motion in motions]
        coefficient = [Product(product.number * least, product.factors) for product in coefficient]
        if len(motions) == 1 and len(coefficient) == 1:
            return self.product(Product(coefficient[0].number, coefficient[0].factors + motions[0].factors))
        motion = self.plain_sum(motions)
        if len(coefficient) > 1:
            return g.multiply(self.sum(coefficient, self.depth), motion)
        number, factors = coefficient[0]
        return g.multiply(g.constant(number), g.multiply(self.product(Product(1.0, factors)), motion))

    def product(self, product: Product) -> Expr:
        """Multiply factors from the left, the number last: what products share is computed once."""
        out = self.graph.constant(1.0)
        for factor in product.factors:
            out = self.graph.multiply(out, self.known[factor])
        return self.graph.multiply(self.graph.constant(product.number), out)

    def plain_sum(self, products: Sequence[Product]) -> Expr:
        """Add products, to read one with a plus first; squares of sums are written as such where they are read."""
        squares, rest = whole_squares(products) if self.to_read else ([], list(products))
        parts = [(product, self.product(product)) for product in rest]
        parts += [(square.first, self._square(square)) for square in squares]
        if squares:
            parts.sort(key=lambda part: place(part[0]))
        lead = next((k for k, (product, _) in enumerate(parts) if product.number > 0.0), 0) if self.to_read else 0
        out = self.graph.constant(0.0)
        for _, node in (parts[lead], *parts[:lead], *parts[lead + 1 :]):
            out = self.graph.add(out, node)
        return out

    def _square(self, square: Square) -> Expr:
        g = self.graph
        total = g.constant(0.0)
        for sign, factors in square.roots:
            total = g.add(total, self.product(Product(sign, factors)))
        return g.multiply(g.constant(square.first.number), g.multiply(total, total))

    def sum(self, products: list[Product], depth: int) -> Expr:
        """Add products with common factors in front of all, and of groups of them."""
        if depth == 0 or len(products) == 1:
            return self.plain_sum(products)
        g = self.graph
        front, rest = taken_out(products)
        number = min((product.number for product in products), key=abs)
        if any(abs(p.number / number - round(p.number / number)) > SAME_NUMBER_DIFFERENCE for p in products):
            number = 1.0
        rest = [Product(product.number / number, product.factors) for product in rest]
        squares, rest = whole_squares(rest) if self.to_read else ([], rest)
        parts: list[list[Product]] = []
        while rest:
            counts = Counter(factor for product in rest for factor in set(product.factors))
            shared = [factor for factor, count in counts.items() if count > 1]
            if not shared:
                parts += [[product] for product in rest]
                break
            # to read: by the masses, as they come; else what saves most
            by_name = self.to_read and min(shared)[0] == PARAMETER
            factor = min(shared) if by_name else min(shared, key=lambda factor: (-counts[factor], factor))
            parts.append([product for product in rest if factor in product.factors])
            rest = [product for product in rest if factor not in product.factors]
        nodes = [(place(part[0]), self.group(part, depth - 1)) for part in parts]
        nodes += [(place(square.first), self._square(square)) for square in squares]
        out = g.constant(0.0)
        for _, node in sorted(nodes, key=lambda node: node[0], reverse=not self.to_read):
            out = g.add(out, node)
        return g.multiply(g.constant(number), g.multiply(self.product(Product(1.0, front)), out))

    def group(self, products: list[Product], depth: int) -> Expr:
        """Add products that have factors in common."""
        if len(products) == 1:
            return self.product(products[0])
        front, rest = taken_out(products)
        return self.graph.multiply(self.product(Product(1.0, front)), self.sum(rest, depth))
