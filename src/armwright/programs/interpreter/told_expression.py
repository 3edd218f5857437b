# SPDX-License-Identifier: Apache-2.0
"""The text of an option (``--define p1=[[…],…]``) as an expression of the program's language."""

from __future__ import annotations

from armwright.errors import ProgramError
from armwright.syntax.program_tree import Node
from armwright.syntax.tree_parser import Syntax, TreeParser


def told_expression(parser: type[TreeParser], text: str, option: str) -> Node:
    """Return what a user wrote behind an option; a text that is not one whole value is refused by the option's name."""
    try:
        words = parser(text, option)
        node = words.expression()
        if words.word.kind != "end" and words.word.key.strip():
            raise Syntax("this is behind the value's end", words.word, "one value")
    except Syntax as error:
        word = "" if error.at.kind == "end" else error.at.text.strip()
        raise ProgramError(str(error), file=option, word=word, valid=error.valid or "a value") from None
    return node
