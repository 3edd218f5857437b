# SPDX-License-Identifier: Apache-2.0
"""A program multiplied out: sums of products of inputs and of exponentials e^{ik·q} of its angles.

In this form equal functions have equal terms. Every trigonometric identity is an addition of exponents: c₂c₃ − s₂s₃ and
cos(q₂ + q₃) expand to the same two terms, c² + s² to the number 1. A term is one integer, its exponents the digits to
the base 64, so that a product of terms is a sum of integers. `collect` writes the result for people and compilers.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import NamedTuple

from armwright.graph.expr import Expr, Graph, rebuilt
from armwright.graph.ops import Op
from armwright.graph.traced_program import TracedProgram

BITS = 6
HALF = 1 << (BITS - 1)  # exponents are digits -HALF < e < HALF
VANISHES = 1e-14  # share of its terms below which a sum is 0 but for rounding
MOST_PRODUCTS = 500_000

Poly = dict[int, complex]
"""Coefficients by term; real functions have conjugate coefficients at k and −k."""


class TooLongError(Exception):
    """The program multiplied out is too long to read."""


class Atom(NamedTuple):
    """What an exponent belongs to: a factor `node`, or e^{i node} where it is an angle."""

    node: Expr
    is_angle: bool


class Expansion(NamedTuple):
    """Atoms in the order of their digits, and the polynomial of every element of every output."""

    atoms: list[Atom]
    results: list[list[Poly]]


def exponents(term: int) -> list[int]:
    """Return the digits of a term, one per atom; trailing zeros are left out."""
    out = []
    while term:
        digit = ((term + HALF) & (2 * HALF - 1)) - HALF
        out.append(digit)
        term = (term - digit) >> BITS
    return out


def expand(program: TracedProgram, graph: Graph) -> Expansion:
    """Multiply a program out.

    Inputs are atoms; so is all but sums and products (a root, a quotient, the sine of anything but a sum of inputs).
    The nodes of atoms are made in `graph`.

    Raises:
        TooLongError: after `MOST_PRODUCTS` products of terms, or where an exponent needs more than a digit.
    """
    return _Expander(program, graph).run()


class _Expander:
    def __init__(self, program: TracedProgram, graph: Graph) -> None:
        self.program, self.graph = program, graph
        self.atoms: list[Atom] = []
        self.digits: dict[tuple[int, bool], int] = {}
        self.work = 0
        self.copies = _copied(program, graph, self.is_opaque)

    def run(self) -> Expansion:
        polys: list[Poly] = []
        degrees: list[int] = []
        for k, (op, args, value) in enumerate(self.program.nodes):
            operands = [polys[a] for a in args]
            degree = max((degrees[a] for a in args), default=1)
            match op:
                case Op.CONST if not isinstance(value, bool):
                    poly, degree = ({0: value} if value else {}), 0
                case Op.ADD:
                    poly = add(*operands)
                case Op.SUB:
                    poly = add(operands[0], {term: -c for term, c in operands[1].items()})
                case Op.NEG:
                    poly = {term: -c for term, c in operands[0].items()}
                case Op.MUL:
                    poly, degree = self.product(*operands), degrees[args[0]] + degrees[args[1]]
                case Op.SIN | Op.COS if (angle := self.angle(args[0])) is not None:
                    poly, degree = self.wave(op, *angle), max((abs(c) for c in angle[0].values()), default=0)
                case _:
                    poly, degree = {self.digit(self.copies[k], False): 1.0}, 1
            if degree >= HALF:
                raise TooLongError
            polys.append(poly)
            degrees.append(degree)
        return Expansion(self.atoms, [[polys[k] for k in result] for result in self.program.results])

    def is_opaque(self, k: int) -> bool:
        op, args, value = self.program.nodes[k]
        if op in (Op.SIN, Op.COS):
            return self.angle(args[0]) is None
        return op not in (Op.ADD, Op.SUB, Op.NEG, Op.MUL) and not (op is Op.CONST and not isinstance(value, bool))

    def digit(self, node: Expr, is_angle: bool) -> int:
        """Return the term that is one atom alone."""
        key = (node.index, is_angle)
        if key not in self.digits:
            self.digits[key] = 1 << (BITS * len(self.atoms))
            self.atoms.append(Atom(node, is_angle))
        return self.digits[key]

    def product(self, a: Poly, b: Poly) -> Poly:
        self.work += len(a) * len(b)
        if self.work > MOST_PRODUCTS:
            raise TooLongError
        out: Poly = {}
        largest: dict[int, float] = {}  # of the products that met in one term
        for x, c in a.items():
            for y, d in b.items():
                term, value = x + y, c * d
                known = out.get(term)
                if known is None:
                    out[term] = value
                else:
                    largest[term] = max(largest.get(term, abs(known)), abs(value))
                    out[term] = known + value
        for term, size in largest.items():
            if abs(out[term]) <= VANISHES * size:
                del out[term]
        return out

    def angle(self, k: int) -> tuple[dict[tuple[int, int], int], float] | None:
        """Write node k as whole-number multiples of inputs and a constant; None if it is anything else."""
        parts: dict[tuple[int, int], int] = {}
        constant, stack = 0.0, [(k, 1.0)]
        while stack:
            index, factor = stack.pop()
            op, args, value = self.program.nodes[index]
            if op is Op.CONST:
                constant += factor * value
            elif op is Op.INPUT and factor.is_integer() and abs(factor) < HALF:
                parts[value] = parts.get(value, 0) + int(factor)
            elif op in (Op.ADD, Op.SUB):
                stack += [(args[0], factor), (args[1], factor if op is Op.ADD else -factor)]
            elif op is Op.NEG:
                stack.append((args[0], -factor))
            elif op is Op.MUL and self.program.nodes[args[0]].op is Op.CONST:
                stack.append((args[1], factor * self.program.nodes[args[0]].value))
            elif op is Op.MUL and self.program.nodes[args[1]].op is Op.CONST:
                stack.append((args[0], factor * self.program.nodes[args[1]].value))
            else:
                return None
        return parts, constant

    def wave(self, op: Op, parts: dict[tuple[int, int], int], constant: float) -> Poly:
        """Return cos x = (e^{ix} + e^{−ix})/2 or sin x = (e^{ix} − e^{−ix})/2i."""
        term = sum(c * self.digit(self.graph.input(*element), True) for element, c in parts.items())
        turn = cmath.exp(1j * constant)
        if term == 0:
            return {0: turn.real if op is Op.COS else turn.imag}
        half = 0.5 * turn if op is Op.COS else -0.5j * turn
        return {term: half, -term: half.conjugate()}


def add(a: Poly, b: Poly) -> Poly:
    """Return a + b; terms that cancel but for rounding vanish."""
    out = dict(a)
    for term, c in b.items():
        known = out.get(term)
        if known is None:
            out[term] = c
        elif abs(known + c) <= VANISHES * abs(c):
            del out[term]
        else:
            out[term] = known + c
    return out


def _copied(program: TracedProgram, graph: Graph, is_opaque: Callable[[int], bool]) -> dict[int, Expr]:
    """Make the nodes that are atoms, and all that they are computed from, in another graph."""
    nodes = program.nodes
    atoms = [k for k in range(len(nodes)) if is_opaque(k)]
    needed, stack = set[int](), list(atoms)
    while stack:
        k = stack.pop()
        if k not in needed:
            needed.add(k)
            stack.extend(nodes[k].args)
    made: dict[int, Expr] = {}
    for k in sorted(needed):
        made[k] = rebuilt(graph, nodes[k].op, [made[a] for a in nodes[k].args], nodes[k].value)
    return made
