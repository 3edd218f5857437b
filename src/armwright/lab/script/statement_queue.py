# SPDX-License-Identifier: Apache-2.0
"""`StatementQueue`: statements of interpreter mode that wait, and the one under way.

A statement is compiled when it comes and refused there if it does not fit; those that fit are carried out in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.lab.script.script_values import ScriptValue

MOST_STATEMENTS = 512  # that wait
Statement = Callable[[], Generator[object, None, "ScriptValue"]]


class StatementQueue:
    """Statements that wait; see `StatementTaker` of the wire.

    Attributes:
        last_interpreted, last_executed, last_cleared: numbers of statements, 0 for none.
        leaving: whether the mode is to end.
    """

    def __init__(self, prepare: Callable[[str, int], Statement]) -> None:
        """Take what compiles a statement, given its number."""
        self._prepare = prepare
        self._waiting: deque[tuple[int, Statement]] = deque()
        self.last_interpreted = self.last_executed = self.last_cleared = 0
        self.leaving = self.aborted = False

    @property
    def unexecuted(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    def accept(self, statement: str) -> int:
        """Take a statement; return its number.

        Raises:
            ArmwrightError: it does not fit, or too many wait.
        """
        if len(self._waiting) >= MOST_STATEMENTS:
            raise InputError(f"{MOST_STATEMENTS} statements are waiting already")
        made = self._prepare(statement, self.last_interpreted + 1)
        self.last_interpreted += 1
        self._waiting.append((self.last_interpreted, made))
        return self.last_interpreted

    def skip(self) -> int:
        """Forget what has not begun; return the number of the last statement that was forgotten."""
        if self._waiting:
            self.last_cleared = self._waiting[-1][0]
            self._waiting.clear()
        return self.last_cleared

    def clear(self) -> None:
        """Count what has been carried out as cleared; what waits is kept."""
        self.last_cleared = self.last_executed + 1  # that of the call itself

    def abort(self) -> int:
        """End the statement under way, the arm brakes; those that wait are kept. Return the last one's number."""
        self.aborted = True
        return self.last_interpreted

    def run(self) -> Generator[object, None, None]:
        """Carry out statements until the mode is left."""
        while not self.leaving:
            self.aborted = False
            if not self._waiting:
                yield None
                continue
            number, statement = self._waiting.popleft()
            code = statement()
            for said in code:
                yield said
                if self.aborted:
                    code.close()
                    break
            self.last_executed = number
