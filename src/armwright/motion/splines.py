# SPDX-License-Identifier: Apache-2.0
"""Motions through waypoints: quintic splines with continuous acceleration, and the piecewise scheme of 000."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.motion.motion_inputs import numbers, optional_vector, positive, waypoint_rows
from armwright.motion.point_to_point import quintic_coefficients
from armwright.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array


def waypoint_times(Q: Array, times: ArrayLike) -> Array:
    """Return instants (N,) from 0: as given, or a total duration shared out by the largest joint step."""
    if np.ndim(times) == 0:
        total = positive(times, "times")  # type: ignore[arg-type]
        steps = np.abs(np.diff(Q, axis=0)).max(axis=1)
        t = np.concatenate([[0.0], np.cumsum(steps)])
        return np.asarray(t * (total / t[-1]))
    t = numbers(times, "times", 1, f"a total duration or {Q.shape[0]} instants")
    if t.shape != (Q.shape[0],):
        raise InputError(f"times: expected a total duration or one instant a waypoint ({Q.shape[0]}), got {t.size}")
    if t[0] != 0.0 or (np.diff(t) <= 0.0).any():
        raise InputError(f"times: must increase from 0, got {t.tolist()}")
    return t


def central_velocities(Q: Array, t: Array, qd0: Array, qd1: Array) -> Array:
    """Velocities (N, n): (Q[i+1] − Q[i−1])/(t[i+1] − t[i−1]) inside, as given at the ends."""
    inner = (Q[2:] - Q[:-2]) / (t[2:] - t[:-2])[:, None]
    return np.concatenate([qd0[None], inner, qd1[None]])


def hermite(t: Array, q: Array, qd: Array, qdd: Array) -> Trajectory:
    """Return the quintic pieces through q, qd, qdd (N, n) at instants t (N,) from 0: continuous acceleration."""
    c = quintic_coefficients(np.diff(t), q[:-1], q[1:], qd[:-1], qd[1:], qdd[:-1], qdd[1:])
    return Trajectory(t, c)


def _smooth_jerk(t: Array, Q: Array, v: Array, a0: Array, a1: Array) -> Array:
    """Accelerations (N, n) that make the jerk continuous at inner waypoints of given velocities.

    Jerk at the ends of a piece of length h: 60Δ/h³ − (36v0 + 24v1)/h² − (9a0 − 3a1)/h and, mirrored,
    60Δ/h³ − (24v0 + 36v1)/h² + (9a1 − 3a0)/h. Equal at each inner waypoint: tridiagonal, diagonally dominant.
    """
    from scipy.linalg import solve_banded

    if t.size == 2:
        return np.stack([a0, a1])
    h = np.diff(t)[:, None]
    D = np.diff(Q, axis=0)
    left = 60.0 * D / h**3 - (24.0 * v[:-1] + 36.0 * v[1:]) / h**2
    right = 60.0 * D / h**3 - (36.0 * v[:-1] + 24.0 * v[1:]) / h**2
    rhs = right[1:] - left[:-1]
    rhs[0] += 3.0 * a0 / h[0]
    rhs[-1] += 3.0 * a1 / h[-1]
    band = np.zeros((3, t.size - 2))
    band[0, 1:] = band[2, :-1] = -3.0 / h[1:-1, 0]
    band[1] = 9.0 * (1.0 / h[:-1, 0] + 1.0 / h[1:, 0])
    inner = np.asarray(solve_banded((1, 1), band, rhs), dtype=np.float64)
    return np.concatenate([a0[None], inner, a1[None]])


def _smoothest(t: Array, Q: Array, ends: list[Array]) -> Trajectory:
    """The C4 quintic spline: knots at the waypoints, velocity and acceleration given at both ends."""
    from scipy.interpolate import make_interp_spline

    v0, v1, a0, a1 = ends
    ends_given: Any = ([(1, v0), (2, a0)], [(1, v1), (2, a1)])
    spline = make_interp_spline(t, Q, k=5, bc_type=ends_given)
    qd, qdd = (np.array(spline(t, k)) for k in (1, 2))
    qd[0], qd[-1], qdd[0], qdd[-1] = v0, v1, a0, a1  # exact where asked for
    return hermite(t, Q, qd, qdd)


@names_culprit
def quintic_spline(
    waypoints: ArrayLike,
    times: ArrayLike,
    *,
    velocities: ArrayLike | str = "smooth",
    accelerations: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    qd1: ArrayLike | None = None,
    qdd0: ArrayLike | None = None,
    qdd1: ArrayLike | None = None,
) -> Trajectory:
    """Return a quintic spline through waypoints, velocity and acceleration continuous.

    Args:
        waypoints: (N, n), neighbours different.
        times: instants (N,) from 0 [s], or one total duration, shared out by the largest joint step.
        velocities: at the waypoints: "smooth" (chosen so that even jerk and snap are continuous: C4), "central"
            (central differences), or (N, n) as given.
        accelerations: at the waypoints (N, n), for "central" or given velocities; by default chosen so that the jerk is
            continuous (C3).
        qd0: start velocity (n,), default rest; like the next three, not together with arrays that already contain it.
        qd1: end velocity (n,).
        qdd0: start acceleration (n,).
        qdd1: end acceleration (n,).

    >>> quintic_spline([[0.0, 0.0], [1.0, 0.5], [0.5, 1.0]], 3.0).continuity()
    4
    """
    Q = waypoint_rows(waypoints)
    t, n = waypoint_times(Q, times), Q.shape[1]
    given = ((qd0, "qd0"), (qd1, "qd1"), (qdd0, "qdd0"), (qdd1, "qdd1"))
    v0, v1, a0, a1 = ends = [optional_vector(value, name, n) for value, name in given]
    if isinstance(velocities, str):
        if velocities not in ("smooth", "central"):
            raise InputError(f"velocities must be 'smooth', 'central' or an array (N, n), got {velocities!r}")
        if velocities == "smooth":
            if accelerations is not None:
                raise InputError("accelerations: a 'smooth' spline chooses them; give velocities too, or 'central'")
            return _smoothest(t, Q, ends)
        v = central_velocities(Q, t, v0, v1)
    else:
        v = _rows(velocities, "velocities", Q.shape, (qd0, qd1))
    if accelerations is None:
        return hermite(t, Q, v, _smooth_jerk(t, Q, v, a0, a1))
    return hermite(t, Q, v, _rows(accelerations, "accelerations", Q.shape, (qdd0, qdd1)))


def _rows(value: ArrayLike, what: str, shape: tuple[int, ...], ends: tuple[ArrayLike | None, ...]) -> Array:
    array = numbers(value, what, 2, f"an array of shape {shape}")
    if array.shape != shape:
        raise InputError(f"{what}: expected shape {shape}, one row a waypoint, got {array.shape}")
    if any(end is not None for end in ends):
        raise InputError(f"{what}: the ends are part of this array; do not give them a second time")
    return array


@names_culprit
def piecewise_quintic(
    waypoints: ArrayLike, duration: float | None = None, *, qd0: ArrayLike | None = None
) -> Trajectory:
    """Return the waypoint motion of 000 C.2.2: equal time per segment, zero acceleration at every waypoint.

    Args:
        waypoints: (N, n) joint rows, the first where the arm is; neighbours different.
        duration: total [s]; the document's round(N/2) s if omitted.
        qd0: velocity (n,) the arm already has; the motion takes it over without a jump.

    Inner velocities are central differences and the end is at rest, the document's routine for them being unlisted.

    >>> piecewise_quintic([[0.0], [1.0], [0.5]]).duration  # the document's round(N/2) s
    2.0
    """
    Q = waypoint_rows(waypoints)
    N, n = Q.shape
    T = float(np.floor(0.5 * N + 0.5)) if duration is None else positive(duration, "duration")
    t = np.linspace(0.0, T, N)
    v = central_velocities(Q, t, optional_vector(qd0, "qd0", n), np.zeros(n))
    return hermite(t, Q, v, np.zeros_like(Q))
