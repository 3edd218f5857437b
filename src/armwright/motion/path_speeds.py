# SPDX-License-Identifier: Apache-2.0
"""The largest path speeds under linear limits on every grid interval: reachability analysis, backwards and forwards.

With x_i = ṡ² at the grid points and s̈ constant between them, limits on an interval are linear in (x_i, x_{i+1}). Going
backwards, the controllable speeds at i are an interval found by a linear program in two variables; going forwards, the
largest next speed that is controllable is taken. This is the method of TOPP-RA (Pham and Pham, 2018). The program in
two variables is solved exactly: the room left for x_{i+1} is a concave, piecewise linear function of x_i, whose zero
Newton's method reaches in a few steps.

`largest_speeds_toppra` hands the same problem to toppra, an independent solver (extra ``[time]``). Measured with toppra
0.6.10: its two-variable solver works with absolute tolerances and calls feasible problems infeasible when speeds are
large numbers, so time is rescaled first; importing it imports matplotlib. That is why it is the second solver here.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import InputError, NotSupportedError

if TYPE_CHECKING:
    from armwright.types import Array

UNLIMITED_SPEED_SQUARED = 1e12
"""ṡ² [1/s²] that stands for "not limited": a million path lengths per second."""
MOST_EDGE_STEPS = 60
"""Most steps to find an edge of the feasible set: each settles one of the lines, and an arm of 12 joints has 48."""
WALL_SLOPE_SHARE = 1e-12
"""Slopes by u below this fraction of those by x are walls at a constant x; 1e4 times rounding."""
SUM_ROUNDING = 1e-14
"""Share of the summands by which a sum of four may miss zero: 50 times the rounding of one."""


class SpeedInterval(NamedTuple):
    """Limits on (x, y) = (x_i, x_{i+1}): y above every line lower, below every line upper, x in [least, most].

    A line is offset + slope·x; both are arrays.
    """

    lower: tuple[Array, Array]
    upper: tuple[Array, Array]
    least: float
    most: float


def _intervals(h: Array, a: Array, b: Array, c: Array) -> list[SpeedInterval]:
    """Turn a u + b x + c ≤ 0 (N, k) into lines, with u = (y − x)/(2h); rows of the other kind are lines at infinity."""
    alpha = a / (2.0 * h)[:, None]
    beta = b - alpha
    flat = np.abs(alpha) <= WALL_SLOPE_SHARE * np.maximum(np.abs(beta), np.finfo(float).tiny)
    with np.errstate(divide="ignore", invalid="ignore"):
        offset, slope = -c / alpha, -beta / alpha
        at = -c / beta
    lines = []
    for rows, none in ((~flat & (alpha < 0.0), -np.inf), (~flat & (alpha > 0.0), np.inf)):
        lines.append((np.where(rows, offset, none), np.where(rows, slope, 0.0)))
    right, left = flat & (beta > 0.0), flat & (beta < 0.0)
    least = np.where(left, at, 0.0).max(axis=1, initial=0.0)
    most = np.where(right, at, UNLIMITED_SPEED_SQUARED).min(axis=1, initial=UNLIMITED_SPEED_SQUARED)
    most[(flat & (beta == 0.0) & (c > 0.0)).any(axis=1)] = -1.0  # broken at every speed
    (low, low_slope), (high, high_slope) = lines
    walls = zip(least.tolist(), most.tolist(), strict=True)
    return [SpeedInterval((low[i], low_slope[i]), (high[i], high_slope[i]), *wall) for i, wall in enumerate(walls)]


Line = tuple[float, float]


def _room(interval: SpeedInterval, low: float, high: float, x: float) -> tuple[Line, Line]:
    """Return the lines (offset, slope) that bound y from below and above at x; y in [low, high] as well."""
    bottom, top = (low, 0.0), (high, 0.0)
    offset, slope = interval.lower
    values = offset + slope * x
    k = int(values.argmax())
    if values[k] > low:
        bottom = float(offset[k]), float(slope[k])
    offset, slope = interval.upper
    values = offset + slope * x
    k = int(values.argmin())
    if values[k] < high:
        top = float(offset[k]), float(slope[k])
    return bottom, top


def _edge(interval: SpeedInterval, low: float, high: float, x: float, direction: float) -> float | None:
    """Move x in `direction` (−1 from the right, +1 from the left) to the first point with room, None without."""
    for _ in range(MOST_EDGE_STEPS):
        bottom, top = _room(interval, low, high, x)
        offset, slope = top[0] - bottom[0], top[1] - bottom[1]
        size = abs(bottom[0]) + abs(top[0]) + abs(x) * (abs(bottom[1]) + abs(top[1]))
        if offset + slope * x >= -SUM_ROUNDING * size:
            return x
        if slope * direction <= 0.0:
            return None
        # the line lies above the room everywhere, so no feasible point is passed over; from its own coefficients,
        # because x may be so far off that a step from there would lose all digits
        x = -offset / slope
        if not interval.least <= x <= interval.most:
            return None
    return None


def largest_speeds(s: Array, a: Array, b: Array, c: Array, *, start: float = 0.0, end: float = 0.0) -> Array:
    """Return x = ṡ² (N+1,), largest everywhere, given at both ends, with a u + b x + c ≤ 0 on every interval.

    Args:
        s: grid (N+1,).
        a: coefficients of u = s̈ (N, k).
        b: coefficients of x at the interval's start (N, k).
        c: constants (N, k).
        start: x at the first grid point; 0 is rest.
        end: x at the last one.

    Raises:
        InputError: no speed profile between these ends exists; the message names s.
    """
    N = s.size - 1
    h = np.diff(s)
    cells = _intervals(h, a, b, c)
    K = np.zeros((N + 1, 2))
    K[N] = end
    for i in range(N - 1, -1, -1):
        low, high = K[i + 1]
        cell = cells[i]
        most = _edge(cell, low, high, cell.most, -1.0) if cell.most >= cell.least else None
        least = _edge(cell, low, high, cell.least, 1.0) if most is not None else None
        if most is None or least is None:
            raise InputError(
                f"path: at s = {s[i]:.6g} no speed keeps the limits and can still be brought to {_ending(end)}"
            )
        K[i] = least, max(most, least)
    if not K[0, 0] <= start <= K[0, 1] * (1.0 + 1e-12):
        raise InputError(
            f"path: it cannot be started with speed {np.sqrt(start):.6g} within the limits; valid is "
            f"{np.sqrt(K[0, 0]):.6g} to {np.sqrt(K[0, 1]):.6g}"
            if start > 0.0
            else "path: it cannot be started from rest within the limits"
        )
    if K[1:-1, 1].max(initial=0.0) >= UNLIMITED_SPEED_SQUARED:
        raise InputError("path: nothing limits the speed somewhere on it; give finite limits")
    x = np.zeros(N + 1)
    x[0] = start
    for i in range(N):
        _, (offset, slope) = _room(cells[i], K[i + 1, 0], K[i + 1, 1], x[i])
        x[i + 1] = min(max(offset + slope * x[i], K[i + 1, 0]), K[i + 1, 1])
        if not x[i] + x[i + 1] > 0.0:
            raise InputError(f"path: the arm cannot leave s = {s[i]:.6g} from rest within the limits")
    return x


def _ending(end: float) -> str:
    return f"speed {np.sqrt(end):.6g} at the end" if end > 0.0 else "rest"


def largest_speeds_toppra(s: Array, a: Array, b: Array, c: Array) -> Array:
    """Return x = ṡ² (N+1,) as `armwright.motion.path_speeds.largest_speeds` does, by toppra.

    Args:
        s: grid (N+1,).
        a: coefficients of u = s̈ (N, k).
        b: coefficients of x at the interval's start (N, k).
        c: constants (N, k).

    Raises:
        InputError: no speed profile from rest to rest exists.
        NotSupportedError: toppra is not installed.
    """
    try:
        import toppra.algorithm as algorithm
        from toppra.constraint import LinearConstraint
    except ImportError as error:
        raise NotSupportedError(
            f"solver 'toppra' needs toppra and what it imports ({error}): pip install 'armwright[time,plot]'; "
            "the default solver 'reachability' works without it"
        ) from error
    # in this unit of time limits are of the order of one at speeds of the order of one
    unit = 1.0 / float(np.median(np.maximum(np.abs(a), np.abs(b)).max(axis=1)))
    logging.getLogger("toppra").setLevel(logging.ERROR)  # failures are reported by the exception below

    class Given(LinearConstraint):  # type: ignore[misc]
        """Limits computed beforehand, interval by interval; the last grid point repeats the last interval."""

        def __init__(self) -> None:
            super().__init__()
            self.identical = True

        def get_dof(self) -> int:
            return 1

        def compute_constraint_params(self, path: Any, gridpoints: Any, *args: Any, **kwargs: Any) -> Any:
            last = (np.concatenate([value, value[-1:]]) for value in (unit * a, unit * b, c))
            k = a.shape[1]
            return *last, np.eye(k), np.zeros(k), None, None

    class Parameter:
        """A stand-in for a geometric path: toppra only reads its interval."""

        dof = 1
        path_interval = np.array([s[0], s[-1]])
        duration = float(s[-1] - s[0])

    problem = algorithm.TOPPRA([Given()], Parameter(), gridpoints=s.copy(), solver_wrapper="seidel")
    _, sd, _ = problem.compute_parameterization(0.0, 0.0)
    if sd is None or not np.isfinite(sd).all() or not (np.maximum(sd[1:], sd[:-1]) > 0.0).all():
        raise InputError("no speed profile from rest to rest exists on this grid")
    x = unit * np.asarray(sd, dtype=np.float64) ** 2
    x[0] = x[-1] = 0.0
    return x
