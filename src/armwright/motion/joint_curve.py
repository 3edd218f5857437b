# SPDX-License-Identifier: Apache-2.0
"""Joints along a tool path of many segments: q(σ) on one branch of inverse kinematics, as quintic pieces.

All knots are solved in one call, all branches at once; the branch is followed by continuity, and a check afterwards
asks whether the joints really moved continuously. Everything is arrays: no step by step along the path. Only arms
without a closed form go step by step (`path_continuation`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import NotSupportedError
from armwright.kinematics import fk, ik, ik_class, jacobian, jacobian_dot
from armwright.kinematics.extent import full_rank, weights
from armwright.kinematics.ik_limits import TURN, turning
from armwright.motion.cartesian_motion import CLOSED_FORMS
from armwright.motion.cartesian_path import PathPoint
from armwright.motion.path_continuation import Slopes, continued, spared_slopes
from armwright.motion.path_error import check_limits, refuse_jump, refuse_reach, refuse_singular
from armwright.motion.point_to_point import quintic_coefficients
from armwright.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.motion.tool_path import ToolPath
    from armwright.robot.model import Robot
    from armwright.types import Array

KNOT_SPACING = 0.01  # between knots [m]
LEAST_KNOTS = 3  # intervals between neighbouring breaks, at least
STEP_DISAGREEMENT = 0.1  # a step that differs this much from what the slopes say is a jump [rad or m]
SINGULAR_VALUE_RATIO = 1e-3  # ratio of singular values of the weighted Jacobian
CURVE_DEVIATION = 1e-8  # deviation between the knots [m, rad]
UNEVEN = 1e-3  # of the tool's travel per travelled length between the knots
STRETCH_FRACTIONS = np.array([0.2, 0.5, 0.8])  # of a stretch between knots: where a cubic that is off is off the most
# for lengths of the short stretches between knots; six points are exact for polynomials of degree 11
GAUSS = (0.5 + 0.5 * np.polynomial.legendre.leggauss(6)[0], 0.5 * np.polynomial.legendre.leggauss(6)[1])
CLOSEST = 1e-5  # a jump between knots this close is a real one [m]
REFUSAL_HALVINGS = 16  # of the stretch in which a refusal looks for its place: 1e-5 of it
POSES_AT_ONCE = 1024  # poses solved in one call: more would only fill the memory


class JointCurve(NamedTuple):
    """Joints along a tool path: a trajectory over the travelled length ℓ [m], and the path's σ at its breaks."""

    motion: Trajectory
    sigma: Array


def closed_form(robot: Robot) -> bool:
    """Return whether the arm's inverse kinematics has all branches in closed form."""
    return robot.memo("closed form", _closed_form)


def _closed_form(robot: Robot) -> bool:
    return ik_class(robot).name in CLOSED_FORMS


def slopes(robot: Robot, q: Array, point: PathPoint, offset: Array) -> Slopes:
    """Derivatives of joints q (N, 6) by the path parameter; `offset` (3,): tool point in the arm's own tool frame."""
    w = weights(robot)
    A = jacobian(robot, q, point=offset) * w[:, None]
    size = np.linalg.norm(A, axis=(1, 2))
    sign, log = np.linalg.slogdet(A)
    # σ_min ≥ |det|/(‖A‖/√5)⁵: only what that bound does not clear is decomposed
    ratio = np.exp(log) / (size / np.sqrt(5.0)) ** 5 / size
    close = ratio < SINGULAR_VALUE_RATIO
    if close.any():
        sigma = np.linalg.svd(A[close], compute_uv=False)
        ratio[close] = sigma[:, -1] / sigma[:, 0]
    lost = ratio < 1e-9  # solved as if next to the singularity; refused later
    inverse = np.linalg.inv(np.where(lost[:, None, None], np.eye(6), A))
    dq = np.einsum("nij,nj->ni", inverse, w * point.dX)
    dA = jacobian_dot(robot, q, dq, point=offset) * w[:, None]
    ddq = np.einsum("nij,nj->ni", inverse, w * point.ddX - np.einsum("nij,nj->ni", dA, dq))
    return Slopes(dq, ddq, ratio, sign)


def follow_branch(robot: Robot, T: Array, q_start: Array) -> tuple[Array, int]:
    """Follow the branch of q_start (n,) through tool poses T (N, 4, 4) that lie close together.

    Returns:
        q (reached, n) and how many leading poses were reached.
    """
    parts, reached = [np.zeros((0, robot.n))], 0
    for first in range(0, T.shape[0], POSES_AT_ONCE):
        q, count = _follow(robot, T[first : first + POSES_AT_ONCE], q_start)
        parts.append(q)
        reached += count
        if count < min(POSES_AT_ONCE, T.shape[0] - first):
            break
        q_start = q[-1]
    return np.concatenate(parts), reached


def _follow(robot: Robot, T: Array, q_start: Array) -> tuple[Array, int]:
    batch: Any = ik(robot, T, method="closed", seed=q_start, limits=False, restarts=0)
    reached = int(np.argmax(batch.count == 0)) if (batch.count == 0).any() else T.shape[0]
    if reached == 0:
        return np.zeros((0, robot.n)), 0
    may_turn = turning(robot)
    found, count = batch.solutions[:reached], batch.count[:reached]
    absent = np.arange(found.shape[1]) >= count[:, None]

    def apart(a: Array, b: Array) -> Array:
        d = a - b
        d = np.where(may_turn, d - TURN * np.round(d / TURN), d)
        return np.asarray(np.einsum("...i,...i->...", d, d))

    step = apart(found[1:, None, :, :], found[:-1, :, None, :])  # (N−1, here, next)
    following = np.argmin(np.where(absent[1:, None, :], np.inf, step), axis=2).tolist()
    here = int(np.argmin(np.where(absent[0], np.inf, apart(found[0], q_start))))
    branch = [here]
    for row in following:
        here = row[here]
        branch.append(here)
    q = found[np.arange(reached), branch]
    move = np.diff(q, axis=0, prepend=q_start[None])
    move = np.where(may_turn, move - TURN * np.round(move / TURN), move)
    return q_start + np.cumsum(move, axis=0), reached


def along(
    robot: Robot, path: ToolPath, q_start: Array, T_flange_tool: Array, *, spacing: float = KNOT_SPACING
) -> JointCurve:
    """Return the joints along a tool path from the branch of q_start (n,).

    Args:
        robot: an arm with six joints or more; those with closed-form inverse kinematics are the faster ones.
        path: where its tool shall go.
        q_start: joints at σ = 0, or near them: the nearest solution is taken, or the one that Newton steps arrive at.
        T_flange_tool: (4, 4) the tool in the frame that the robot calls its tool.
        spacing: spacing of the knots between the path's own breaks [m]; more are added where they are needed.

    Raises:
        PathError: out of reach, singular, outside the joint limits, or a jump to another branch.

    >>> path = join([segment_of(line(aw.fk(robot, q), aw.fk(robot, q + 0.1)))], [])
    >>> along(robot, path, q, np.eye(4)).motion
    """
    closed = closed_form(robot)
    if not closed and full_rank(robot, None, 6) < 6:
        raise NotSupportedError(
            f"{robot.name!r} cannot turn and place its tool freely ({robot.n} joints): tool paths of programs name "
            "both. Joint moves work"
        )
    rates = slopes if closed else spared_slopes
    flange: Array = np.linalg.inv(T_flange_tool).astype(np.float64)
    offset = T_flange_tool[:3, 3]
    s = _grid(path, spacing)
    bad = np.zeros(1, dtype=bool)
    for _ in range(REFUSAL_HALVINGS):
        here, there = path.at(s[:-1]), path.at(s[1:], before=True)  # each interval sees its own ends
        if closed:
            q, reached = follow_branch(robot, np.concatenate([here.T, there.T[-1:]]) @ flange, q_start)
        else:
            q, reached = continued(robot, path, s, T_flange_tool, q_start)
        if reached == 0:
            refuse_reach(robot, path, flange, 0.0, 0.0, q_start)
        m = reached - 1  # intervals with both ends in reach
        a = rates(robot, q[:m], PathPoint(*(part[:m] for part in here)), offset)
        b = rates(robot, q[1:], PathPoint(*(part[:m] for part in there)), offset)
        h = np.diff(s[:reached])
        odd = np.abs(np.diff(q, axis=0) - 0.5 * h[:, None] * (a.dq + b.dq)).max(axis=1, initial=0.0) > STEP_DISAGREEMENT
        odd |= a.sign * b.sign < 0.0
        _refuse_singular(robot, s, q, a, b, odd)
        if not (closed or odd.any()) and reached < s.size and s[m + 1] - s[m] > CLOSEST:
            s = np.sort(np.append(s, 0.5 * (s[m] + s[m + 1])))  # a shorter step may arrive
            continue
        if not odd.any() and reached < s.size:
            refuse_reach(robot, path, flange, float(s[m]), float(s[m + 1]), q[m])
        if (odd & (h < CLOSEST)).any():
            k = int(np.argmax(odd & (h < CLOSEST)))
            refuse_jump(robot, float(s[k]), q[k], q[k + 1])
        if odd.any():
            s = np.sort(np.concatenate([s, (s[: reached - 1] + h * 0.5)[odd], (s[: reached - 1] + h * 0.25)[odd]]))
            continue
        motion = Trajectory(s, quintic_coefficients(h, q[:-1], q[1:], a.dq, b.dq, a.ddq, b.ddq))
        curve = _by_length(path, motion, q, a, b, here, there)
        bad = _deviation(robot, path, motion, flange) > CURVE_DEVIATION
        bad |= _unevenness(robot, curve.motion, offset) > UNEVEN
        if not bad.any():
            check_limits(robot, motion)
            return curve
        s = np.sort(np.concatenate([s, (0.5 * (s[1:] + s[:-1]))[bad]]))
    refuse_jump(robot, float(s[np.argmax(bad)]), q[np.argmax(bad)], q[np.argmax(bad) + 1])


def _by_length(
    path: ToolPath, motion: Trajectory, q: Array, a: Slopes, b: Slopes, here: PathPoint, there: PathPoint
) -> JointCurve:
    """Return the same joints by the length really travelled: ℓ′ = |p′|, where the tool travels at all."""
    s = motion.breaks
    rate = np.linalg.norm(path.at((s[:-1, None] + np.diff(s)[:, None] * GAUSS[0]).reshape(-1)).dX[:, :3], axis=1)
    rate = rate.reshape(-1, GAUSS[0].size)
    still = rate.max(axis=1) < 1e-12
    h = np.where(still, 1.0, rate @ GAUSS[1]) * np.diff(s)
    ends = []
    for slope, point in ((a, here), (b, there)):
        v = np.linalg.norm(point.dX[:, :3], axis=1)
        # where travel only begins, as in a blend from a turn on the spot, σ itself has to serve
        slow = v < 1e-6
        v = np.where(slow, 1.0, v)[:, None]
        dv = np.where(slow, 0.0, np.einsum("ni,ni->n", point.dX[:, :3], point.ddX[:, :3]))[:, None] / v
        ends.append((slope.dq / v, (slope.ddq - slope.dq * dv / v) / v**2))
    (d0, dd0), (d1, dd1) = ends
    length = np.concatenate([[0.0], np.cumsum(h)])
    return JointCurve(Trajectory(length, quintic_coefficients(h, q[:-1], q[1:], d0, d1, dd0, dd1)), s)


def _grid(path: ToolPath, spacing: float) -> Array:
    """Return the knots (N+1,): every break of the path, and evenly spaced ones between."""
    at = np.unique(np.concatenate([path.breaks, path.turn_breaks, path.corners]))
    at = at[np.concatenate([[True], np.diff(at) > 1e-9 * path.length])]
    at[-1] = path.length
    count = np.maximum(np.ceil(np.diff(at) / spacing), LEAST_KNOTS).astype(np.int64)
    start, width = np.repeat(at[:-1], count), np.repeat(np.diff(at) / count, count)
    inside = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.concatenate([start + inside * width, at[-1:]])


def _deviation(robot: Robot, path: ToolPath, motion: Trajectory, flange: Array) -> Array:
    """Largest distance [m] or angle [rad] (N,) between tool and path inside each piece."""
    s = motion.breaks[:-1, None] + np.diff(motion.breaks)[:, None] * STRETCH_FRACTIONS
    q = motion.within(STRETCH_FRACTIONS).q
    goal, T = path.at(s.reshape(-1)).T @ flange, fk(robot, q.reshape(-1, robot.n))
    R = goal[:, :3, :3] @ np.swapaxes(T[:, :3, :3], -1, -2)
    # R is near the identity: its skew part is the angle to first order
    skew = 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=-1)
    off = np.maximum(np.linalg.norm(goal[:, :3, 3] - T[:, :3, 3], axis=-1), np.linalg.norm(skew, axis=-1))
    return np.asarray(off.reshape(s.shape).max(axis=1))


def _unevenness(robot: Robot, motion: Trajectory, offset: Array) -> Array:
    """How far (N,) the tool's travel per ℓ is from 1 inside each piece; none where it does not travel."""
    q, dq, _ = motion.within(STRETCH_FRACTIONS)
    J = jacobian(robot, q, point=offset)[..., :3, :]
    travel = np.linalg.norm((J @ dq[..., None])[..., 0], axis=-1)
    return np.asarray(np.where(travel.max(axis=1) < 1e-9, 0.0, np.abs(travel - 1.0).max(axis=1)))


def _refuse_singular(robot: Robot, s: Array, q: Array, a: Slopes, b: Slopes, odd: NDArray[np.bool_]) -> None:
    """Raise at the first singular knot that comes before any jump."""
    ratio = np.append(a.ratio, b.ratio[-1:])
    ratio[1:] = np.minimum(ratio[1:], b.ratio)
    first = int(np.argmax(ratio < SINGULAR_VALUE_RATIO)) if (ratio < SINGULAR_VALUE_RATIO).any() else ratio.size
    if first < ratio.size and not odd[: max(first - 1, 0)].any():
        refuse_singular(robot, float(s[first]), q[first], float(ratio[first]))
