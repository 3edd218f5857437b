# SPDX-License-Identifier: Apache-2.0
"""Lines of sight on a grid, exact: the cells that a segment touches, what sees what, corners that can be cut.

A segment between floats is a segment between dyadic rationals, so all comparisons are made in whole numbers: a cell
counts as touched if the segment meets its **closed** box, a single corner point included. A segment whose cells are all
free therefore keeps off every blocked cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Mask = NDArray[np.bool_]

Cell = tuple[int, ...]


def segment_cells(a: Sequence[float], b: Sequence[float]) -> Iterator[Cell]:
    """Yield every cell whose closed box the segment from a to b meets, in order from a; some may come twice.

    Args:
        a: first end in cell coordinates, whole or real: cell c is the box c ± ½.
        b: other end.

    >>> sorted(set(segment_cells((0, 0), (2, 0))))
    [(0, 0), (1, 0), (2, 0)]
    """
    ends = [[_ratio(x) for x in end] for end in (a, b)]
    if len(ends[0]) != len(ends[1]):
        raise InputError(f"segment: ends have {len(ends[0])} and {len(ends[1])} coordinates; they must agree")
    scale = 2 * max(d for end in ends for _, d in end)  # powers of two: the largest is a common denominator
    half = scale // 2
    p, q = ([n * (scale // d) for n, d in end] for end in ends)
    delta = [y - x for x, y in zip(p, q, strict=True)]
    common = lcm(*(abs(x) for x in delta if x)) if any(delta) else 1
    here: list[int] = []
    both: list[tuple[int, ...]] = []  # of axes without motion: the cells they stand in
    events: dict[int, list[int]] = {}
    for k, (x, y, dx) in enumerate(zip(p, q, delta, strict=True)):
        upper, rest = divmod(x + half, scale)
        lower = upper - 1 if rest == 0 else upper  # on a boundary: both closed cells
        here.append(lower if dx > 0 else upper)
        both.append((lower, upper) if dx == 0 and rest == 0 else ())
        sign = (dx > 0) - (dx < 0)
        edge = here[k] * scale + sign * half
        while sign and sign * (y - edge) >= 0:
            events.setdefault((edge - x) * (common // dx), []).append(k)
            edge += sign * scale

    def touched(crossing: Sequence[int]) -> Iterator[Cell]:
        return product(
            *(both[k] or ((c, c + (1 if delta[k] > 0 else -1)) if k in crossing else (c,)) for k, c in enumerate(here))
        )

    yield from touched(())
    for time in sorted(events):
        yield from touched(events[time])
        for k in events[time]:
            here[k] += 1 if delta[k] > 0 else -1


def _ratio(x: float) -> tuple[int, int]:
    try:
        return (int(x), 1) if isinstance(x, (int, np.integer)) else float(x).as_integer_ratio()
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"segment: coordinates must be finite numbers, got {x!r}") from error


def sees(blocked: Mask, a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether the segment a–b (array coordinates) touches free cells of the grid only; outside is not free.

    >>> sees(np.zeros((5, 5), bool), (0, 0), (4, 2))
    True
    """
    shape = blocked.shape
    for cell in segment_cells(a, b):
        for c, s in zip(cell, shape, strict=True):
            if not 0 <= c < s:
                return False
        if blocked[cell]:
            return False
    return True


@names_culprit
def cut_corners(blocked: ArrayLike, path: Sequence[Sequence[float]]) -> list[int]:
    """Return which points of a path to keep so that neighbours among them see each other.

    The staircase that 000's author disliked becomes straight legs. Each leg is proved free by `sees`, except a step
    that the path itself took and that brushes a corner (a diagonal squeeze): it is kept as it is.

    Args:
        blocked: mask.
        path: points in array coordinates (cells from 0; the first may be real-valued).

    Returns:
        Indices of the kept points, first and last included: the shorter result of working forwards and backwards.

    >>> cut_corners(np.zeros((5, 5), bool), [(0, 0), (0, 1), (1, 1), (1, 2)])
    [0, 3]
    """
    mask = np.asarray(blocked, dtype=bool)
    points = [tuple(x for x in p) for p in path]
    if len(points) < 3:
        return list(range(len(points)))
    ahead = _greedy(mask, points)
    back = [len(points) - 1 - i for i in _greedy(mask, points[::-1])][::-1]

    def length(keep: list[int]) -> float:
        array = np.array([points[i] for i in keep], dtype=np.float64)
        return float(np.linalg.norm(np.diff(array, axis=0), axis=1).sum())

    return ahead if length(ahead) <= length(back) else back


def _greedy(blocked: Mask, points: list[tuple[float, ...]]) -> list[int]:
    keep, i, last = [0], 0, len(points) - 1
    while i < last:
        j = i + 1
        while j < last and sees(blocked, points[i], points[j + 1]):
            j += 1
        keep.append(j)
        i = j
    return keep
