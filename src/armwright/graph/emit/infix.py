# SPDX-License-Identifier: Apache-2.0
"""Printing nodes as infix text. A target is a table: one rule per operation, and how constants look."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from armwright.graph.emit.walk import operands
from armwright.graph.ops import Op
from armwright.graph.program import Node, Program

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

    program: Program
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
    """Break a statement at spaces; `joint` is what the language wants at the end of a broken line."""
    lines = textwrap.wrap(
        text,
        width - len(joint),
        break_long_words=False,
        break_on_hyphens=False,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
    )
    return f"{joint}\n".join(lines)
