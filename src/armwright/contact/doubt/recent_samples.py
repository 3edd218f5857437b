# SPDX-License-Identifier: Apache-2.0
"""The last samples of several signals, and their means over spans of the past, kept by two additions each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from armwright.types import Array


class PastSpan(NamedTuple):
    """Samples of the past: `length` of them, the newest of which is `ago` samples old."""

    ago: int
    length: int

    @property
    def end(self) -> int:
        """Samples that must have come before the span is full."""
        return self.ago + self.length


class RecentSamples:
    """Rings of the last samples of signals of shapes (count, ...), and sums over spans of them.

    Attributes:
        spans: what means are kept of. longest: samples that are remembered. samples: that have come.
    """

    def __init__(self, spans: Sequence[PastSpan], count: int, shapes: Sequence[tuple[int, ...]]) -> None:
        """Begin without samples."""
        self.spans, self.samples = tuple(spans), 0
        self.longest = max(span.end for span in spans)
        # one place more: a sample is put in before the one that leaves the longest span is taken out
        self._rings = [np.zeros((self.longest + 1, count, *shape)) for shape in shapes]
        self._sums = [np.zeros((len(self.spans), count, *shape)) for shape in shapes]

    def keep(self, *values: Array) -> None:
        """Take a sample of every signal."""
        size = self.longest + 1
        anew = self.samples % size == self.longest  # rounding errors of running sums do not pile up
        for ring, total, value in zip(self._rings, self._sums, values, strict=True):
            ring[self.samples % size] = value
            for k, span in enumerate(self.spans):
                if anew:
                    total[k] = ring[self._places(span.ago, span.length, 1)].sum(axis=0)
                else:
                    total[k] += ring[(self.samples - span.ago) % size] - ring[(self.samples - span.end) % size]
        self.samples += 1

    def _places(self, ago: int, length: int, coming: int = 0) -> list[int]:
        """Return the places of samples in the rings, newest first; `coming` is 1 before the newest is counted."""
        newest = self.samples - 1 + coming
        return [(newest - k) % (self.longest + 1) for k in range(ago, ago + length)]

    def means(self) -> list[Array]:
        """Return the mean over every span (spans, count, ...), of every signal."""
        length = np.array([span.length for span in self.spans], dtype=np.float64)
        return [total / length.reshape(-1, *[1] * (total.ndim - 1)) for total in self._sums]

    def full(self) -> Array:
        """Return whether enough samples have come, for every span (spans,)."""
        return np.array([span.end <= self.samples for span in self.spans])

    def past(self, signal: int, ago: int, length: int) -> Array:
        """Return samples of a signal (length, count, ...), newest first."""
        return np.asarray(self._rings[signal][self._places(ago, length)])

    def newest(self, signal: int) -> Array:
        """Return the newest sample of a signal (count, ...)."""
        return np.asarray(self._rings[signal][(self.samples - 1) % (self.longest + 1)])

    def clear(self) -> None:
        """Forget all samples."""
        for held in (*self._rings, *self._sums):
            held[...] = 0.0
        self.samples = 0
