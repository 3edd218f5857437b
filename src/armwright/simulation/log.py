# SPDX-License-Identifier: Apache-2.0
"""The rows that a session records, in blocks that the compiled loop writes into and a recording looks into: no copies.

Beside the rows (of every lane) stands what all lanes were given at that tick: time and references.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.recording.memory import empty

if TYPE_CHECKING:
    from armwright.types import Array

GROWTH = 4096  # rows of a new block at most, if fewer are asked for: many short runs share one


@dataclass(eq=False)
class _Block:
    rows: Array  # (B, capacity, columns)
    given: Array  # (capacity, given)
    count: int = 0

    @property
    def room(self) -> int:
        return int(self.rows.shape[1]) - self.count


class Log:
    """Rows of a run, oldest first.

    Attributes:
        first: number of the oldest row that is still kept.
    """

    def __init__(self, lanes: int, columns: int, given: int) -> None:
        """Begin empty: `columns` numbers a row of each lane, `given` numbers a row for all lanes."""
        self._shape = (lanes, columns, given)
        self._blocks: list[_Block] = []
        self.first = 0

    @property
    def count(self) -> int:
        """Number of rows recorded so far, those that were forgotten included."""
        return self.first + sum(block.count for block in self._blocks)

    def reserve(self, rows: int) -> None:
        """Make room for so many more rows in one piece; the system gives the memory when it is written to."""
        lanes, columns, given = self._shape
        if not self._blocks or self._blocks[-1].room < rows:
            size = max(rows, min(self.count, GROWTH))
            self._blocks.append(_Block(empty((lanes, size, columns)), empty((size, given))))

    def tail(self, rows: int) -> tuple[Array, Array]:
        """Room for the next rows, (B, rows, columns) and (rows, given), to be filled and then kept by `commit`."""
        self.reserve(rows)
        block = self._blocks[-1]
        end = slice(block.count, block.count + rows)
        return block.rows[:, end], block.given[end]

    def commit(self, rows: int) -> None:
        """Keep the first rows of the tail."""
        self._blocks[-1].count += rows

    def seal(self) -> None:
        """Write no more into the last block: somebody looks into it and at the row after its last."""
        if self._blocks:
            block = self._blocks[-1]
            block.rows, block.given = block.rows[:, : block.count], block.given[: block.count]

    def rows(self, since: int = 0) -> Array:
        """Rows (B, T, columns) from number `since` on; a view where they lie in one block."""
        return self._pick("rows", since, 1)

    def given(self, since: int = 0) -> Array:
        """What all lanes were given, (T, given), from row number `since` on; a view where it lies in one block."""
        return self._pick("given", since, 0)

    def forget(self, before: int) -> None:
        """Drop whole blocks of rows with numbers below `before`."""
        while self._blocks and self.first + self._blocks[0].count <= before and self._blocks[0].count:
            self.first += self._blocks.pop(0).count

    def _pick(self, part: str, since: int, axis: int) -> Array:
        pieces, start = [], self.first
        for block in self._blocks:
            skip = max(since - start, 0)
            if skip < block.count:
                values: Array = getattr(block, part)
                pieces.append(values[:, skip : block.count] if axis else values[skip : block.count])
            start += block.count
        if len(pieces) == 1:
            return pieces[0]
        lanes, columns, given = self._shape
        empty = np.zeros((lanes, 0, columns)) if axis else np.zeros((0, given))
        return np.concatenate(pieces, axis=axis) if pieces else empty
