# SPDX-License-Identifier: Apache-2.0
"""Motions from one configuration to another: cubic, quintic, synchronised trapezoid, jerk-limited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError, NotSupportedError
from armwright.motion.motion_inputs import bounds, joint_vector, optional_vector, positive
from armwright.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from ruckig import InputParameter

    from armwright.types import Array

DURATION_ROUNDING = 1e-12
"""Durations [s], and shares of a duration, below this are rounding: 1 ps, 5000 units in the last place of a second."""


def cubic_coefficients(h: float | Array, q0: Array, q1: Array, qd0: Array, qd1: Array) -> Array:
    """Coefficients (..., 4, n) of the cubic over [0, h], h (...), that meets positions and velocities (..., n)."""
    h = np.asarray(h, dtype=np.float64)[..., None]
    D = q1 - q0
    rows = np.broadcast_arrays(q0, qd0, (3.0 * D / h - 2.0 * qd0 - qd1) / h, (qd0 + qd1 - 2.0 * D / h) / h**2)
    return np.stack(rows, axis=-2)


def quintic_coefficients(
    h: float | Array, q0: Array, q1: Array, qd0: Array, qd1: Array, qdd0: Array, qdd1: Array
) -> Array:
    """Coefficients (..., 6, n) of the quintic over [0, h] that meets q, qd, qdd at both ends.

    With s = t/h, v = qd·h, a = qdd·h²: for a0 = a1 = 0 these are 10Δ − 6v0 − 4v1, −15Δ + 8v0 + 7v1, 6Δ − 3(v0 + v1)
    (000 eq. 6.14).
    """
    h = np.asarray(h, dtype=np.float64)[..., None]
    D = q1 - q0
    v0, v1, a0, a1 = qd0 * h, qd1 * h, qdd0 * h**2, qdd1 * h**2
    rows = np.broadcast_arrays(
        q0,
        qd0,
        0.5 * qdd0,
        (10.0 * D - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1) / h**3,
        (-15.0 * D + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1) / h**4,
        (6.0 * D - 3.0 * (v0 + v1) - 0.5 * a0 + 0.5 * a1) / h**5,
    )
    return np.stack(rows, axis=-2)


def _ends(q0: ArrayLike, q1: ArrayLike) -> tuple[Array, Array]:
    start = joint_vector(q0, "q0")
    return start, joint_vector(q1, "q1", start.size)


@names_culprit
def cubic(
    q0: ArrayLike, q1: ArrayLike, duration: float, *, qd0: ArrayLike | None = None, qd1: ArrayLike | None = None
) -> Trajectory:
    """Return the cubic from q0 (n,) to q1 (n,) in `duration` [s]; end velocities (n,) default to rest.

    >>> cubic([0.0], [1.0], 2.0).peaks().qd  # 1.5 |Δ|/T
    array([0.75])
    """
    start, goal = _ends(q0, q1)
    T, n = positive(duration, "duration"), start.size
    c = cubic_coefficients(T, start, goal, optional_vector(qd0, "qd0", n), optional_vector(qd1, "qd1", n))
    return Trajectory(np.array([0.0, T]), c[None])


@names_culprit
def quintic(
    q0: ArrayLike,
    q1: ArrayLike,
    duration: float,
    *,
    qd0: ArrayLike | None = None,
    qd1: ArrayLike | None = None,
    qdd0: ArrayLike | None = None,
    qdd1: ArrayLike | None = None,
) -> Trajectory:
    """Return the quintic from q0 (n,) to q1 (n,) in `duration` [s] (000 eq. 6.14, 003 eqs. 16 and 17).

    End velocities and accelerations (n,) default to rest; then r = 10s³ − 15s⁴ + 6s⁵ with peaks 15/(8T), 10/(√3T²).

    >>> quintic([0.0, 0.0], [1.0, 0.5], 2.0).evaluate(1.0).q
    array([0.5 , 0.25])
    """
    start, goal = _ends(q0, q1)
    T, n = positive(duration, "duration"), start.size
    given = ((qd0, "qd0"), (qd1, "qd1"), (qdd0, "qdd0"), (qdd1, "qdd1"))
    ends = [optional_vector(value, name, n) for value, name in given]
    return Trajectory(np.array([0.0, T]), quintic_coefficients(T, start, goal, *ends)[None])


@names_culprit
def trapezoid_law(speed: float, acceleration: float) -> Trajectory:
    """Return s(t) from 0 to 1 (n = 1) with bounded ṡ and s̈: ramp, cruise, ramp; a triangle where 1 is too short.

    >>> trapezoid_law(1.0, 2.0).duration
    1.5
    """
    top = min(speed, float(np.sqrt(acceleration)))
    ramp = top / acceleration
    cruise = max((1.0 - top * ramp) / top, 0.0)
    s1 = 0.5 * top * ramp
    pieces = [(ramp, [0.0, 0.0, 0.5 * acceleration]), (ramp, [1.0 - s1, top, -0.5 * acceleration])]
    if cruise > DURATION_ROUNDING * ramp:
        pieces.insert(1, (cruise, [s1, top, 0.0]))
    breaks = np.concatenate([[0.0], np.cumsum([length for length, _ in pieces])])
    return Trajectory(breaks, np.array([c for _, c in pieces])[:, :, None])


@names_culprit
def trapezoid(
    q0: ArrayLike, q1: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike, *, duration: float | None = None
) -> Trajectory:
    """Return the synchronised trapezoid: all joints follow one law s(t), straight in joint space.

    Args:
        q0: start (n,).
        q1: goal (n,).
        velocity: limits, scalar or (n,).
        acceleration: limits, scalar or (n,). Both are kept by every joint; the law is the fastest that does so.
        duration: [s] to take longer than the limits ask for.

    >>> trapezoid([0.0, 0.0], [1.0, 0.5], velocity=1.0, acceleration=2.0).duration
    1.5
    """
    start, goal = _ends(q0, q1)
    n, D = start.size, goal - start
    v, a = bounds(velocity, "velocity", n), bounds(acceleration, "acceleration", n)
    if not D.any():
        raise InputError("trapezoid: q0 and q1 coincide, so there is no shortest motion; use `hold` to wait")
    with np.errstate(divide="ignore"):
        fastest, hardest = float((v / np.abs(D)).min()), float((a / np.abs(D)).min())
    if not np.isfinite(hardest):
        raise InputError("trapezoid: at least one moving joint needs a finite acceleration limit")
    law = trapezoid_law(fastest, hardest)
    breaks, c = law.breaks, law.coefficients
    if duration is not None:
        T = positive(duration, "duration")
        k = T / law.duration
        if k < 1.0 - DURATION_ROUNDING:
            raise InputError(f"duration: the limits need at least {law.duration:.9g} s, got {T:.9g} s")
        breaks, c = breaks * k, c / (k ** np.arange(3))[:, None]
    q = c * D
    q[:, 0] += start
    return Trajectory(breaks, q)


@names_culprit
def jerk_limited(
    q0: ArrayLike,
    q1: ArrayLike,
    velocity: ArrayLike,
    acceleration: ArrayLike,
    jerk: ArrayLike,
    *,
    qd0: ArrayLike | None = None,
    qd1: ArrayLike | None = None,
    qdd0: ArrayLike | None = None,
    qdd1: ArrayLike | None = None,
    duration: float | None = None,
) -> Trajectory:
    """Return the time-optimal motion under velocity, acceleration and jerk limits, all joints ending together.

    Ruckig finds the switching times (extra ``[time]``); the result is its profile as cubic pieces, exact.

    Args:
        q0: start (n,).
        q1: goal (n,).
        velocity: limits, scalar or (n,).
        acceleration: limits, scalar or (n,).
        jerk: limits, scalar or (n,), finite.
        qd0: start velocity (n,); the motion brakes first where it exceeds the limit.
        qd1: end velocity (n,), within the limits.
        qdd0: start acceleration (n,).
        qdd1: end acceleration (n,), within the limits.
        duration: [s] least duration to take.

    >>> jerk_limited([0.0], [1.0], velocity=1.0, acceleration=2.0, jerk=10.0).duration
    """
    try:
        import ruckig
    except ImportError as error:
        raise NotSupportedError(
            "jerk_limited needs ruckig, which is not installed: pip install 'armwright[time]'; "
            "`trapezoid` and `quintic` work without it"
        ) from error
    start, goal = _ends(q0, q1)
    n = start.size
    ask = ruckig.InputParameter(n)
    ask.current_position, ask.target_position = start.tolist(), goal.tolist()
    ask.current_velocity = optional_vector(qd0, "qd0", n).tolist()
    ask.current_acceleration = optional_vector(qdd0, "qdd0", n).tolist()
    ask.target_velocity = optional_vector(qd1, "qd1", n).tolist()
    ask.target_acceleration = optional_vector(qdd1, "qdd1", n).tolist()
    for name, value in (("max_velocity", velocity), ("max_acceleration", acceleration), ("max_jerk", jerk)):
        limit = bounds(value, name[4:], n)
        if not np.isfinite(limit).all():
            raise InputError(f"{name[4:]}: jerk_limited needs finite limits, got {limit.tolist()}")
        setattr(ask, name, limit.tolist())
    if duration is not None:
        ask.minimum_duration = positive(duration, "duration")
    found = ruckig.Trajectory(n)
    try:
        result = ruckig.Ruckig(n).calculate(ask, found)
    except (RuntimeError, getattr(ruckig, "RuckigError", RuntimeError)) as error:
        raise InputError(f"jerk_limited: {str(error).strip()}") from error
    if result not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise InputError(
            f"jerk_limited: ruckig finds no motion ({result}); check that end states are within the limits"
        )
    if not found.duration > 0.0:
        raise InputError("jerk_limited: start and goal coincide, so there is no shortest motion; use `hold` to wait")
    return _from_ruckig(found, ask)


def _from_ruckig(found: Any, ask: InputParameter) -> Trajectory:
    """Union of all joints' switching times; each joint's constant jerks integrated exactly from its start."""
    T = float(found.duration)
    switches: list[Array] = []
    jerks: list[Array] = []
    for profile in found.profiles[0]:
        lengths = np.array([*profile.brake.t, *profile.t])
        switches.append(np.cumsum(lengths))
        jerks.append(np.array([*profile.brake.j, *profile.j, 0.0]))
    inner = np.unique(np.concatenate(switches))
    inner = inner[(inner > DURATION_ROUNDING) & (inner < T - DURATION_ROUNDING)]
    breaks = np.concatenate([[0.0], inner[np.diff(inner, prepend=-1.0) > DURATION_ROUNDING], [T]])
    middle = 0.5 * (breaks[1:] + breaks[:-1])
    j = np.stack([jerk[np.searchsorted(at, middle)] for at, jerk in zip(switches, jerks, strict=True)], axis=1)
    q, v, a = (np.array(x) for x in (ask.current_position, ask.current_velocity, ask.current_acceleration))
    c = np.zeros((middle.size, 4, q.size))
    for i, h in enumerate(np.diff(breaks)):
        c[i] = q, v, 0.5 * a, j[i] / 6.0
        q, v, a = q + h * (v + h * (0.5 * a + h * j[i] / 6.0)), v + h * (a + 0.5 * h * j[i]), a + h * j[i]
    return Trajectory(breaks, c)
