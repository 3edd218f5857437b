# SPDX-License-Identifier: Apache-2.0
"""What a test needs to hold, in words: ``di3 = 1`` where it is a plain one, else the names that it speaks of."""

from __future__ import annotations

from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Node

OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
SAME_SIGN = {"==": "=", "!=": "<>"}


def written(node: Node) -> str:
    """Return a plain expression as text; empty where it is not plain."""
    if isinstance(node, tree.Literal):
        value = node.value
        return str(value).upper() if isinstance(value, bool) else f"{value:g}" if _number(value) else str(value)
    if isinstance(node, tree.Name):
        return node.at.text
    if isinstance(node, tree.Index):
        base, indices = written(node.base), [written(index) for index in node.indices]
        return f"{base}[{','.join(indices)}]" if base and all(indices) else ""
    if isinstance(node, tree.FunctionCall):
        parts = [written(argument.value) for argument in node.arguments]
        return f"{node.at.text}({','.join(parts)})" if all(parts) else ""
    return ""


def needed(test: Node, *, holds: bool = True, truths: tuple[str, str] = ("0", "1")) -> str:
    """Return what makes a test hold, or not hold, with words for false and true; empty where it is not plain."""
    if isinstance(test, tree.Unary) and test.sign.lower() == "not":
        return needed(test.operand, holds=not holds, truths=truths)
    if isinstance(test, tree.Binary):
        sign = SAME_SIGN.get(test.sign, test.sign)
        left, right = written(test.left), written(test.right)
        if sign not in OPPOSITE or not left or not right:
            return ""
        return f"{left} {sign if holds else OPPOSITE[sign]} {right}"
    plain = "" if isinstance(test, tree.Literal) else written(test)
    return f"{plain} = {truths[holds]}" if plain else ""


def _number(value: object) -> bool:
    return isinstance(value, int | float)
