# SPDX-License-Identifier: Apache-2.0
"""Loops and branches whose course is known from the text alone: carried out while reading, never left for later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from armwright.programs.languages.cursor import Cursor
from armwright.programs.languages.draft import Draft
from armwright.programs.languages.lexer import Token


@dataclass(frozen=True)
class Blocks:
    """Which words open a block of statements and which close one."""

    openers: tuple[str, ...]
    closers: tuple[str, ...]
    lines: bool = True  # they open a block only at the beginning of a line

    def skip(self, cursor: Cursor, opening: Token, *wanted: str) -> None:
        """Go to the next of `wanted` on this level, without taking it."""
        depth = 0
        while not (depth == 0 and cursor.at(*wanted)):
            if cursor.word.kind == "end":
                cursor.fail(
                    f"the block that begins here is never closed by {wanted[-1]!r}",
                    at=opening,
                    valid=f"{wanted[-1]!r} at the end of the block",
                )
            begins = not self.lines or cursor.words[cursor.index - 1].kind == "newline"
            if begins and cursor.at(*self.openers):
                depth += 1
            elif cursor.at(*self.closers):
                depth -= 1
            cursor.take()


class BreakLoop(Exception):  # noqa: N818 - not an error: the loop around it ends
    """The statement that leaves a loop was reached."""


def repeat(
    draft: Draft,
    opening: Token,
    state: dict[str, Any],
    test: Callable[[], bool],
    body: Callable[[], None],
    leave: Callable[[], None],
) -> None:
    """Carry out a loop.

    Args:
        draft: counts the steps.
        opening: the word that opens the loop.
        state: the variables; a pass that changes none of them would repeat for ever.
        test: reads the condition (called with the cursor behind `opening`) and returns whether the body runs.
        body: carries out the statements up to the closing word, not taking it.
        leave: goes from anywhere inside the body behind the closing word.
    """
    cursor = draft.cursor
    start, depth = cursor.index, cursor.depth
    while True:
        cursor.index = start
        before = dict(state)
        draft.step(opening)
        if not test():
            break
        inside = cursor.index
        try:
            body()
        except BreakLoop:
            cursor.index, cursor.depth = inside, depth
            break
        if state.keys() == before.keys() and all(_same(state[name], value) for name, value in before.items()):
            cursor.fail(
                "endless loop: nothing that its condition depends on changes",
                at=opening,
                valid="a loop with a known number of passes",
            )
    leave()


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    return type(a) is type(b) and bool(a == b)
