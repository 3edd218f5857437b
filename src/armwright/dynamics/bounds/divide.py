# SPDX-License-Identifier: Apache-2.0
"""Branch and bound over boxes: discard the boxes that provably hold nothing beyond a threshold, halve the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armwright.errors import NotSupportedError
from armwright.types import Array

BLOCK = 16_384


class Tested(NamedTuple):
    """Per box (N,): whether it is proved free, which coordinate to halve, and the quantity at its centre."""

    free: NDArray[np.bool_]
    axis: NDArray[np.int64]
    value: Array


def divide(
    lower: Array, upper: Array, test: Callable[[Array, Array], Tested], beyond: Callable[[Array], bool], *, most: int
) -> tuple[int, Array | None]:
    """Examine boxes depth first until all are free.

    Args:
        lower: (n,) corner of the domain.
        upper: (n,) the other corner.
        test: of centres and half-widths (N, n).
        beyond: whether the values (N,) at the centres hold one that refutes the threshold.
        most: boxes to examine before giving up.

    Returns:
        The number of boxes examined, and None if all are free, or the centre that refutes the threshold.
    """
    centre, half = 0.5 * (upper + lower)[None], 0.5 * (upper - lower)[None]
    stack = [(centre, half)]
    seen = 0
    while stack:
        c, h = stack.pop()
        if len(c) > BLOCK:
            stack.append((c[BLOCK:], h[BLOCK:]))
            c, h = c[:BLOCK], h[:BLOCK]
        seen += len(c)
        if seen > most:
            raise NotSupportedError(f"the bound was not proved with {most} boxes; ask for a larger tolerance")
        found = test(c, h)
        if beyond(found.value):
            return seen, c[_extreme(found.value, beyond)]
        left = np.flatnonzero(~found.free)
        if not left.size:
            continue
        rows, axis = np.arange(left.size), found.axis[left]
        c, h = c[left], h[left].copy()
        h[rows, axis] *= 0.5
        step = np.zeros_like(h)
        step[rows, axis] = h[rows, axis]
        stack.append((np.concatenate([c - step, c + step]), np.concatenate([h, h])))
    return seen, None


def _extreme(values: Array, beyond: Callable[[Array], bool]) -> int:
    """Index of the value that refutes the threshold most: the largest or the smallest."""
    high, low = int(np.argmax(values)), int(np.argmin(values))
    return high if beyond(values[high : high + 1]) else low
