# SPDX-License-Identifier: Apache-2.0
"""The travelled length as a function of time, for a whole program: sections between stops, and the waits there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.motion.scaling import time_scaled
from armwright.motion.smooth_law import averaged, over_time
from armwright.motion.speed_profile import Profile
from armwright.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.programs.pace import Pace
    from armwright.programs.route import Route
    from armwright.types import Array

LOOK = np.array([1e-6, 0.25, 0.5, 0.75, 1.0 - 1e-6])  # at the very ends another move's limits may count


def clock(
    route: Route, law: Profile, *, window: Array | None = None, pace: Pace | None = None, override: float = 1.0
) -> Trajectory:
    """Return ℓ(t), one coordinate, each section slowed down until a pace is kept between the law's grid points, too.

    Args:
        route: the way.
        law: along it.
        window: (sections,) [s] over which the law is averaged; None for none.
        pace: None to take the law as it is.
        override: how many times as fast everything runs in the end, but for the waits.
    """
    breaks, pieces, now = [np.zeros(1)], [], 0.0

    def add(part: Trajectory) -> None:
        nonlocal now
        breaks.append(now + part.breaks[1:])
        pieces.append(np.pad(part.coefficients, ((0, 0), (0, 4 - part.coefficients.shape[1]), (0, 0))))
        now = float(breaks[-1][-1])

    if route.waits[0] > 0.0:
        add(_rest(0.0, route.waits[0]))
    cut = np.searchsorted(law.origin, [first for first, _ in route.sections] + [route.owner.size])
    for k, (first, last) in enumerate(route.sections):
        at = slice(cut[k], cut[k + 1])
        part = over_time(Profile(law.s[cut[k] : cut[k + 1] + 1], law.x[cut[k] : cut[k + 1] + 1], law.origin[at]))
        if window is not None:
            part = averaged(part, float(window[k]))
        part = part if pace is None else _kept(route, pace, part, first, last)
        add(part if override == 1.0 else time_scaled(part, 1.0 / override))
        if route.waits[last] > 0.0:
            add(_rest(float(route.curve.breaks[last]), route.waits[last]))
    return Trajectory(np.concatenate(breaks), np.concatenate(pieces))


def joints_at(route: Route, time: Trajectory, t: Array) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    """Joints, their derivatives (..., n) and the move under way (...) at times t (...)."""
    s, sd, sdd = (part[..., 0] for part in time.evaluate(t))
    s = np.clip(s, 0.0, route.curve.duration)
    piece = np.searchsorted(route.curve.breaks[1:-1], s, side="right")
    q, dq, ddq = route.curve.on_pieces(piece, s - route.curve.breaks[piece])
    # standing at a stop is still part of the move that led there
    behind = np.maximum(np.searchsorted(route.curve.breaks, s - 1e-12 * route.curve.duration, side="right") - 1, 0)
    owner = np.where(sd == 0.0, route.owner[np.minimum(behind, route.owner.size - 1)], route.owner[piece])
    return q, dq * sd[..., None], ddq * sd[..., None] ** 2 + dq * sdd[..., None], owner


def when(route: Route, time: Trajectory) -> Array:
    """First time (m+1,) [s] at which each break of the route is reached."""
    t, s = time.breaks, np.append(time.coefficients[:, 0, 0], time.end.q[0])
    target = route.curve.breaks
    near = 1e-12 * s[-1]
    k = np.minimum(np.searchsorted(s, target - near, side="left"), s.size - 1)
    met = np.abs(s[k] - target) <= near  # a break of the law, all stops among them
    low, high = t[np.maximum(k - 1, 0)].copy(), t[k].copy()
    for _ in range(60 if not met.all() else 0):  # s(t) rises inside the piece
        middle = 0.5 * (low + high)
        below = time.evaluate(middle).q[:, 0] < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(np.where(met, t[k], high))


def _rest(s: float, seconds: float) -> Trajectory:
    return Trajectory(np.array([0.0, seconds]), np.array([[[s]]]))


def _kept(route: Route, pace: Pace, part: Trajectory, first: int, last: int) -> Trajectory:
    """The same law slowed down until caps, pushes and joint accelerations of a pace are kept at five places a piece."""
    s, sd, sdd = (value[..., 0] for value in part.within(LOOK))
    curve, s = route.part(first, last), s - route.curve.breaks[first]
    piece = np.searchsorted(curve.breaks[1:-1], s, side="right")
    _, dq, ddq = curve.on_pieces(piece, s - curve.breaks[piece])
    cap, push, weight = (limit[first:last][piece] for limit in (pace.cap, pace.push, pace.weight))
    qdd = dq * sdd[..., None] + ddq * sd[..., None] ** 2
    use = max(
        float((sd / np.sqrt(cap)).max()) ** 2,
        float((np.abs(sdd) / push).max()),
        float(np.abs(qdd * weight).max(initial=0.0)),
    )
    if use <= 1.0 + 1e-9:
        return part
    return time_scaled(part, float(np.sqrt(use)))
