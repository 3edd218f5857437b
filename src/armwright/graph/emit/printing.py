# SPDX-License-Identifier: Apache-2.0
"""Printing of programs as infix text: which nodes get a name, what they are called, and how each is written.

A target is a table for `Printer`: one rule per operation, and how constants look. `named_nodes` finds the nodes that
deserve a name of their own, by how often they are used and how long they live; `Namer`, `signature` and `local_name`
choose identifiers for inputs, outputs and intermediate values.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.graph.ops import BOOLEAN, LEAVES, TRIGONOMETRIC, Op
from armwright.graph.traced_program import Node, ProgramSignal, TracedProgram

LONGEST_SUM = 12
MOST_NESTING = 100  # nesting of one expression; printers recurse


def is_boolean(node: Node) -> bool:
    """Return whether a node is a truth value."""
    return node.op in BOOLEAN or isinstance(node.value, bool)


def last_uses(program: TracedProgram) -> list[int]:
    """Return for every node the number of the last node that reads it; outputs live to the end (``len(nodes)``)."""
    last = list(range(len(program.nodes)))
    for k, node in enumerate(program.nodes):
        for a in node.args:
            last[a] = k
    for result in program.results:
        for k in result:
            last[k] = len(program.nodes)
    return last


def used_inputs(program: TracedProgram) -> list[tuple[int, int]]:
    """Return the (input number, element) pairs that the program reads, in order."""
    return sorted(node.value for node in program.nodes if node.op is Op.INPUT)


def operands(node: Node, nodes: tuple[Node, ...]) -> tuple[int, ...]:
    """Return the operands in printing order: a constant factor comes first, a constant summand last."""
    if node.op is Op.MUL and nodes[node.args[1]].op is Op.CONST:
        return node.args[::-1]
    if node.op is Op.ADD and nodes[node.args[0]].op is Op.CONST:
        return node.args[::-1]
    return node.args


def named_nodes(
    program: TracedProgram,
    *,
    limit: int,
    keep: Collection[Op] = TRIGONOMETRIC,
    squares: bool = False,
    share: bool = True,
    whole: Collection[int] = (),
) -> list[int]:
    """Choose the nodes that are written as definitions; all others are written where they are used.

    Shared nodes are named, and those of the kinds in `keep`. A sign change is always written in place.

    Args:
        program: what is printed.
        limit: most operations in one written expression; longer ones are cut into definitions.
        keep: operations that are named even if used once.
        squares: whether ``x*x`` is written as a power, so that x occurs once.
        share: whether a node that is used several times is named for that reason.
        whole: nodes that are written as one piece; their operands do not appear.
    """
    nodes = program.nodes
    occurrences = [0] * len(nodes)
    for result in program.results:
        for k in result:
            occurrences[k] += 1
    named = [False] * len(nodes)
    for k in range(len(nodes) - 1, -1, -1):
        op, args, _ = nodes[k]
        if op in LEAVES:
            continue
        named[k] = op in keep or (share and occurrences[k] > 1 and op is not Op.NEG)
        times = 1 if named[k] else occurrences[k]
        if k in whole:
            continue
        for a in set(args) if squares and op is Op.MUL else args:
            occurrences[a] += times
    size = [0] * len(nodes)
    depth = [0] * len(nodes)
    for k, (op, args, _) in enumerate(nodes):
        if op in LEAVES or k in whole:
            continue
        inner = sorted({a for a in args if not named[a] and nodes[a].op not in LEAVES}, key=lambda a: -size[a])
        while inner and (1 + sum(size[a] for a in inner) > limit or depth[inner[0]] >= MOST_NESTING):
            named[inner.pop(0)] = True
        size[k] = 1 + sum(size[a] for a in inner)
        depth[k] = 1 + max((depth[a] for a in inner), default=0)
    return [k for k in range(len(nodes)) if named[k]]


def angle_elements(program: TracedProgram, k: int) -> list[tuple[int, int]] | None:
    """Return the input elements whose plain sum node k is, each once and of one input; None if it is anything else."""
    nodes = program.nodes
    found: list[tuple[int, int]] = []
    stack = [k]
    while stack:
        node = nodes[stack.pop()]
        if len(found) == LONGEST_SUM:
            return None
        if node.op is Op.INPUT:
            found.append(node.value)
        elif node.op is Op.ADD:
            stack.extend(node.args)
        else:
            return None
    distinct = sorted(set(found))
    return distinct if len(distinct) == len(found) and len({signal for signal, _ in distinct}) == 1 else None


LARGEST_DENOMINATOR = 24


def renamed(program: TracedProgram, *, name: str | None = None, outputs: Sequence[str] | None = None) -> TracedProgram:
    """Return the program under another name, or with other names for its outputs.

    Raises:
        InputError: if a name is no identifier, or the number of output names differs.
    """
    for word in (*(outputs or ()), *([name] if name is not None else [])):
        if not (word.isidentifier() and word.isascii()):
            raise InputError(f"{word!r} cannot name generated code; use letters, digits and underscores")
    if outputs is None:
        signals = program.outputs
    elif len(outputs) != len(program.outputs):
        raise InputError(f"{program.name} has {len(program.outputs)} outputs, {len(outputs)} names were given")
    else:
        signals = tuple(
            ProgramSignal(label, signal.shape) for label, signal in zip(outputs, program.outputs, strict=True)
        )
    return replace(program, name=name or program.name, outputs=signals)


class Namer:
    """Hands out identifiers, each once; a word that is taken gets underscores."""

    def __init__(self, reserved: Iterable[str]) -> None:
        """Start with the words the target language keeps for itself."""
        self._taken = set(reserved)

    def __call__(self, wish: str) -> str:
        """Return `wish`, or the nearest identifier that is free."""
        while wish in self._taken:
            wish += "_"
        self._taken.add(wish)
        return wish


def signature(program: TracedProgram, namer: Namer) -> tuple[str, list[str], list[str]]:
    """Name the function, its inputs and its outputs; an output named as the function becomes ``out``."""
    name = namer(program.name)
    inputs = [namer(signal.name) for signal in program.inputs]
    outputs = [namer("out" if signal.name == program.name else signal.name) for signal in program.outputs]
    return name, inputs, outputs


def position(signal: ProgramSignal, element: int, base: int = 0) -> tuple[int, ...]:
    """Return the index of a row-major element, counted from `base`; () for a scalar."""
    return tuple(int(k) + base for k in np.unravel_index(element, signal.shape)) if signal.shape else ()


def local_name(program: TracedProgram, k: int, inputs: Sequence[str], base: int = 0) -> str:
    """Suggest a name for node k: ``sin_q1`` or ``cos_q1_q2`` for angles that are inputs, ``t17`` for the rest."""
    node = program.nodes[k]
    if node.op in TRIGONOMETRIC:
        elements = angle_elements(program, node.args[0])
        if elements:
            words = [element_name(program.inputs[s], inputs[s], e, base) for s, e in elements]
            return "_".join(["sin" if node.op is Op.SIN else "cos", *words])
    return f"t{k}"


def element_name(signal: ProgramSignal, name: str, element: int, base: int = 0) -> str:
    """Return an identifier for one element of an input: ``q1``, ``T_0_3``; the plain name for a scalar."""
    index = position(signal, element, base)
    return f"{name}{index[0]}" if len(index) == 1 else "_".join([name, *map(str, index)])


def number(value: float | bool, *, true: str, false: str, infinity: str, nan: str) -> str:
    """Print a constant so that reading it back gives the same double."""
    if isinstance(value, bool):
        return true if value else false
    if math.isnan(value):
        return nan
    if math.isinf(value):
        return infinity if value > 0 else f"-{infinity}"
    return repr(float(value))


def simple_fraction(value: float | bool) -> Fraction | None:
    """Return the whole number or fraction with a small denominator that a number is but for rounding, or None."""
    if isinstance(value, bool) or not math.isfinite(value):
        return None
    fraction = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    return fraction if abs(float(fraction) - value) <= 1e-15 * abs(value) else None


def shape_text(signal: ProgramSignal) -> str:
    """Return the shape in words: ``6``, ``4 x 4, row by row``, ``scalar``."""
    if not signal.shape:
        return "scalar"
    return " x ".join(map(str, signal.shape)) + (", row by row" if len(signal.shape) > 1 else "")


def remark(text: str) -> str:
    """Return a text from outside, such as a joint's name, so that it ends no comment and no string of any language."""
    return "".join(c if c.isprintable() and c not in "\"'\\*<>&" else "?" for c in text)


def cost_text(program: TracedProgram) -> str:
    """Return the operation counts in one line."""
    c = program.counts
    return (
        f"{c.mul} multiplications, {c.add} additions, {c.div} divisions, "
        f"{c.trig} sines and cosines, {c.neg} sign changes, {c.other} others"
    )


# How tightly a text binds; an operand that binds less than its place requires gets parentheses.
LOOSE, OR, AND, TRUTH, SUM, PRODUCT, FACTOR, ATOM = range(8)


class Rule(NamedTuple):
    """Template with one ``{}`` per operand, how tightly the result binds, and what each operand must at least bind."""

    template: str
    level: int
    needs: tuple[int, ...]


def call(name: str, arity: int = 1) -> Rule:
    """Return the rule of a function call."""
    return Rule(f"{name}({', '.join(['{}'] * arity)})", ATOM, (LOOSE,) * arity)


# Right operands need one level more: the order of rounding stays that of the graph.
ARITHMETIC: dict[Op, Rule] = {
    Op.ADD: Rule("{} + {}", SUM, (SUM, PRODUCT)),
    Op.SUB: Rule("{} - {}", SUM, (SUM, PRODUCT)),
    Op.MUL: Rule("{}*{}", PRODUCT, (PRODUCT, FACTOR)),
    Op.DIV: Rule("{}/{}", PRODUCT, (PRODUCT, FACTOR)),
    Op.NEG: Rule("-{}", SUM, (PRODUCT,)),
}


@dataclass
class Printer:
    """Text of the nodes of a program.

    Attributes:
        program: what is printed.
        rules: one rule per operation.
        constant: text of a number or truth value.
        symbols: text of inputs and of named nodes; grows as definitions are made.
    """

    program: TracedProgram
    rules: Mapping[Op, Rule]
    constant: Callable[[float | bool], str]
    symbols: dict[int, str] = field(default_factory=dict)

    parentheses: ClassVar[tuple[str, str]] = ("(", ")")

    def text(self, k: int) -> str:
        """Return node k as an expression of symbols."""
        return self.render(k)[0]

    def definition(self, k: int) -> str:
        """Return node k spelled out, even if it has a symbol."""
        return self._spell(self.program.nodes[k])[0]

    def enclose(self, text: str) -> str:
        """Return the text in parentheses."""
        return text.join(self.parentheses)

    def render(self, k: int) -> tuple[str, int]:
        """Return node k as text, and how tightly its outermost operation binds."""
        return (self.symbols[k], ATOM) if k in self.symbols else self._spell(self.program.nodes[k])

    def _number(self, value: float | bool) -> tuple[str, int]:
        text = self.constant(value)
        return text, SUM if text.startswith("-") else ATOM

    def _spell(self, node: Node) -> tuple[str, int]:
        if node.op is Op.CONST:
            return self._number(node.value)
        args = operands(node, self.program.nodes)
        rule = self.rules[node.op]
        parts = [self.render(a) for a in args]
        last = self.program.nodes[args[-1]]
        if node.op in (Op.ADD, Op.SUB) and last.op is Op.CONST and last.value < 0.0:
            rule = self.rules[Op.SUB if node.op is Op.ADD else Op.ADD]  # a + (−c) is a − c, exactly
            parts[-1] = self._number(-last.value)
        texts = [
            text if level >= need else self.enclose(text) for (text, level), need in zip(parts, rule.needs, strict=True)
        ]
        return rule.template.format(*texts), rule.level


def wrap(text: str, *, indent: str, width: int = 110, joint: str = "") -> str:
    """Break a statement at spaces; `joint` is what the language needs at the end of a broken line."""
    lines = textwrap.wrap(
        text,
        width - len(joint),
        break_long_words=False,
        break_on_hyphens=False,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
    )
    return f"{joint}\n".join(lines)
