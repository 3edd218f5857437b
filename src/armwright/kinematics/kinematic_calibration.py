# SPDX-License-Identifier: Apache-2.0
"""Kinematic calibration: where an arm's joint axes really are, from its flange's poses or from touches of points.

Each joint gets a small displacement behind its nominal frame, T_parent_joint exp(δᵢ), δᵢ = (mm, mrad); the base has one
in the tracker's frame, the tool's point one on the tool. The displacements that are likeliest,

    minimise  Σ |p(q, δ) − p_measured|²/σ²  +  Σ (δ/width)²,

are found by Gauss–Newton. How far arms of one type differ is the prior (`width`); it decides where measurements do not:
positions alone cannot tell a joint's zero from a turn of the base. So single displacements stay uncertain to the width
of the prior, while positions that follow from them become known; trust the positions, and their interval.

With touches the points are unknown, too: only that the tool's tip was at the same point again counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError, NotSupportedError
from armwright.spatial import exp_se3

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

    Residuals = Callable[[Array], tuple[Array, Array]]

MOST_NEWTON_STEPS_OF_PLACES = 30
STEP_DONE = 1e-12
"""[m, rad] A Gauss–Newton step below this ends the search."""
LEAST_NOISE = 1e-6
"""[m] Better than any tracker."""
SMALL_TOOL_WIDTH = 5e-3
"""[m] A point on the tool that is known less well is found before everything else."""
MOST_ALTERNATIONS = 3000
FEWEST_PER_JOINT = 1
"""Measured places needed for every joint of the arm, and three more."""


@dataclass(frozen=True)
class CalibrationWidths:
    """How far arms differ from their description: one standard deviation.

    Attributes:
        length, angle: of each joint's frame [m, rad]. tool: of the measured point on the tool [m].
        base_length, base_angle: of the base in the measuring frame, after both were aligned [m, rad].
    """

    length: float = 0.5e-3
    angle: float = 2e-3
    tool: float = 0.5e-3
    base_length: float = 10e-3
    base_angle: float = 10e-3

    def __post_init__(self) -> None:
        """Refuse what is no width."""
        for name in ("length", "angle", "tool", "base_length", "base_angle"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise InputError(f"calibration: width {name} must be finite and > 0, got {value}")


@dataclass(frozen=True, eq=False)
class CalibratedArm:
    """What a calibration found.

    Attributes:
        robot: the arm with the displacements in its frames.
        displacements: (n, 6) of the joints' frames, [m] then [rad], in their own axes. deviations: (n, 6) of them.
        base: 4×4 pose of the arm's base in the measuring frame; the identity for touches.
        tool: (3,) displacement of the measured point, tool axes [m].
        points: (g, 3) touched points in the base frame [m]; empty for poses.
        noise: standard deviation of a measured coordinate, as found or as given [m].
        before, after: rms distance of the measured places from the nominal and from the calibrated arm [m].
        covariance: of all unknowns: 6 per joint, 6 of the base, 3 of the tool, 3 per point.
    """

    robot: Robot
    displacements: Array
    deviations: Array
    base: Array
    tool: Array
    points: Array
    noise: float
    before: float
    after: float
    covariance: Array
    nominal: Robot

    def deviation_at(self, q: ArrayLike) -> Array:
        """Return the standard deviation (..., 3) of the measured point at configurations (..., n) [m]."""
        batch = np.asarray(q, dtype=np.float64).reshape(-1, self.nominal.n)
        x = np.concatenate([self.displacements.ravel(), np.zeros(6), self.tool])
        size = len(x)
        _, J, _ = _places(self.nominal, batch, x, self.base)
        spread = np.sqrt(np.maximum(np.einsum("mij,jk,mik->mi", J, self.covariance[:size, :size], J), 0.0))
        return np.asarray(spread.reshape(*np.shape(q)[:-1], 3))

    def place(self, q: ArrayLike) -> Array:
        """Return where the measured point is (..., 3), in the measuring frame [m]."""
        batch = np.asarray(q, dtype=np.float64).reshape(-1, self.nominal.n)
        x = np.concatenate([self.displacements.ravel(), np.zeros(6), self.tool])
        return np.asarray(_places(self.nominal, batch, x, self.base)[0].reshape(*np.shape(q)[:-1], 3))


@names_culprit
def calibrate(
    robot: Robot,
    q: ArrayLike,
    measured: ArrayLike | None = None,
    *,
    touched: Sequence[int] | NDArray[np.int64] | None = None,
    noise: float | None = None,
    widths: CalibrationWidths | None = None,
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> CalibratedArm:
    """Find where an arm's joint axes are.

    Args:
        robot: the arm as described; a serial chain.
        q: (m, n) joint coordinates at which it stood [rad, m].
        measured: (m, 3) places of a point on the tool in the tracker's frame [m], or (m, 4, 4) poses, whose rotations
            are used, too; None for touches.
        touched: (m,) which of some fixed points the tool's tip touched, as numbers from 0.
        noise: standard deviation of a measured coordinate [m]; from what is left by default.
        widths: of the prior.
        point: the measured point on the tool, tool frame [m].

    Raises:
        InputError: too few measurements, or what does not fit together.

    Example:
        >>> found = calibrate(robot, q, places)
        >>> found.before, found.after  # [m]
    """
    chain(robot)
    prior = widths or CalibrationWidths()
    batch = np.asarray(q, dtype=np.float64)
    if batch.ndim != 2 or batch.shape[1] != robot.n or not np.isfinite(batch).all():
        raise InputError(f"calibrate: q must be (m, {robot.n}) finite numbers, got shape {batch.shape}")
    if (measured is None) == (touched is None):
        raise InputError("calibrate: give measured places, or which points were touched")
    need = FEWEST_PER_JOINT * robot.n + 3
    if len(batch) < need:
        raise InputError(f"calibrate: {len(batch)} places measured; at least {need} are needed, 30 are usual")
    nominal = _with_point(robot, np.asarray(point, dtype=np.float64))
    if measured is None:
        return _from_touches(nominal, batch, np.asarray(touched), noise, prior)
    target = np.asarray(measured, dtype=np.float64)
    poses = target.shape == (len(batch), 4, 4)
    if (not poses and target.shape != (len(batch), 3)) or not np.isfinite(target).all():
        raise InputError(f"calibrate: measured must be ({len(batch)}, 3) or ({len(batch)}, 4, 4), got {target.shape}")
    return _from_places(nominal, batch, target, noise, prior)


def chain(robot: Robot) -> None:
    """Refuse an arm that is no chain of its own joints."""
    serial = all(body.parent == i - 1 and body.joint == i for i, body in enumerate(robot.bodies))
    if not serial or robot.tip != robot.n - 1:
        raise NotSupportedError(
            f"calibrate: {robot.name!r} must be a serial chain up to its tool; cut one with base= and tip="
        )


def _with_point(robot: Robot, point: Array) -> Robot:
    if point.shape != (3,) or not np.isfinite(point).all():
        raise InputError(f"calibrate: point must be three finite numbers [m], got {point.tolist()}")
    T = np.array(robot.T_tip_tool)
    T[:3, 3] += T[:3, :3] @ point
    return replace(robot, T_tip_tool=T)


def _moved(kind: str, axis: Array, q: Array) -> Array:
    from armwright.spatial import axis_angle

    out = np.tile(np.eye(4), (len(q), 1, 1))
    for k, value in enumerate(q):
        if kind == "revolute":
            out[k, :3, :3] = axis_angle(axis, value)
        else:
            out[k, :3, 3] = value * axis
    return out


def _places(robot: Robot, q: Array, x: Array, base: Array) -> tuple[Array, Array, Array]:
    """Return places (m, 3), their derivative (m, 3, 6 n + 9) and rotations' (m, 3, 6 n + 9) by the unknowns.

    Unknowns: 6 per joint, 6 of the base (on top of `base`), 3 of the tool.
    """
    n, m = robot.n, len(q)
    T = np.tile(base @ exp_se3(x[6 * n : 6 * n + 6]) @ robot.T_base_root, (m, 1, 1))
    first = np.tile(base, (m, 1, 1))
    frames = []
    for i, body in enumerate(robot.bodies):
        T = T @ body.T_parent_joint
        frames.append(T)
        T = T @ exp_se3(x[6 * i : 6 * i + 6])
        T = T @ _moved(robot.joints[i].kind, body.axis, body.ratio * q[:, i] + body.offset) @ body.T_joint_link
    T = T @ robot.T_tip_tool
    place = T[:, :3, 3] + np.einsum("mij,j->mi", T[:, :3, :3], x[6 * n + 6 :])
    J, W = np.zeros((m, 3, 6 * n + 9)), np.zeros((m, 3, 6 * n + 9))
    for i, F in enumerate([*frames, first]):
        R, lever = F[:, :3, :3], place - F[:, :3, 3]
        J[:, :, 6 * i : 6 * i + 3] = R
        for k in range(3):
            J[:, :, 6 * i + 3 + k] = np.cross(R[:, :, k], lever)
            W[:, :, 6 * i + 3 + k] = R[:, :, k]
    J[:, :, 6 * n + 6 :] = T[:, :3, :3]
    return place, J, W


def _rotations(robot: Robot, q: Array, x: Array, base: Array) -> Array:
    """Return the tool's rotations (m, 3, 3)."""
    n = robot.n
    R = np.tile((base @ exp_se3(x[6 * n : 6 * n + 6]) @ robot.T_base_root)[:3, :3], (len(q), 1, 1))
    for i, body in enumerate(robot.bodies):
        R = R @ body.T_parent_joint[:3, :3] @ exp_se3(x[6 * i : 6 * i + 6])[:3, :3]
        turn = _moved(robot.joints[i].kind, body.axis, body.ratio * q[:, i] + body.offset)[:, :3, :3]
        R = R @ turn @ body.T_joint_link[:3, :3]
    return np.asarray(R @ robot.T_tip_tool[:3, :3])


def _widths(n: int, prior: CalibrationWidths) -> Array:
    joint = [prior.length] * 3 + [prior.angle] * 3
    return np.array(joint * n + [prior.base_length] * 3 + [prior.base_angle] * 3 + [prior.tool] * 3)


def aligned(places: Array, targets: Array) -> Array:
    """Return the 4×4 pose that brings places (m, 3) nearest to targets (m, 3): Kabsch 1976."""
    a, b = places.mean(axis=0), targets.mean(axis=0)
    U, _, Vt = np.linalg.svd((targets - b).T @ (places - a))
    R = U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))]) @ Vt
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = R, b - R @ a
    return out


def _from_places(robot: Robot, q: Array, target: Array, noise: float | None, prior: CalibrationWidths) -> CalibratedArm:
    n = robot.n
    poses = target.ndim == 3
    goal = target[:, :3, 3] if poses else target
    zero = np.zeros(6 * n + 9)
    if prior.tool > SMALL_TOOL_WIDTH:
        robot = _with_point(robot, _tool_point(robot, q, goal))
    start = _places(robot, q, zero, np.eye(4))[0]
    base = aligned(start, goal)
    before = _rms(start @ base[:3, :3].T + base[:3, 3] - goal)

    def residual(x: Array) -> tuple[Array, Array]:
        place, J, W = _places(robot, q, x, base)
        if not poses:
            return (place - goal).ravel(), J.reshape(-1, J.shape[2])
        from armwright.spatial import log_so3

        R = _rotations(robot, q, x, base)
        turned = np.array([log_so3(a @ b.T) for a, b in zip(R, target[:, :3, :3], strict=True)])
        reach = float(np.linalg.norm(start, axis=1).mean()) or 1.0  # [m] an angle counts as much as at arm's length
        return (
            np.concatenate([(place - goal).ravel(), reach * turned.ravel()]),
            np.concatenate([J.reshape(-1, J.shape[2]), reach * W.reshape(-1, W.shape[2])]),
        )

    x, covariance, sigma = _gauss_newton(residual, zero, _widths(n, prior), noise)
    after = _rms(_places(robot, q, x, base)[0] - goal)
    return _found(robot, x, covariance, sigma, before, after, base, np.zeros((0, 3)))


def _tool_point(robot: Robot, q: Array, goal: Array) -> Array:
    """Return the point on the tool (3,), tool axes, whose places fit best, with the base anywhere."""
    zero, point = np.zeros(6 * robot.n + 9), np.zeros(3)
    start, J, _ = _places(robot, q, zero, np.eye(4))
    turn = J[:, :, -3:]  # the tool's rotations
    for _ in range(MOST_ALTERNATIONS):
        base = aligned(start + turn @ point, goal)
        left = (goal - base[:3, 3]) @ base[:3, :3] - start
        step = np.einsum("mji,mj->i", turn, left) / len(q) - point
        point = point + step
        if np.abs(step).max() < 1e-9:
            break
    return point


def _from_touches(
    robot: Robot, q: Array, touched: Array, noise: float | None, prior: CalibrationWidths
) -> CalibratedArm:
    n = robot.n
    if touched.shape != (len(q),) or not np.issubdtype(touched.dtype, np.integer) or touched.min(initial=0) < 0:
        raise InputError(f"calibrate: touched must be ({len(q)},) whole numbers from 0: which point each touch was of")
    names, which = np.unique(touched, return_inverse=True)
    counts = np.bincount(which)
    if counts.min() < 2 or len(q) < len(names) * 3:
        raise InputError("calibrate: every point must be touched from several postures, three or more on average")
    start = _places(robot, q, np.zeros(6 * n + 9), np.eye(4))[0]
    points = np.stack([start[which == g].mean(axis=0) for g in range(len(names))])
    before = _rms(start - points[which])
    fixed = np.arange(6 * n, 6 * n + 6)  # touches do not see the base

    def residual(x: Array) -> tuple[Array, Array]:
        own = x[: 6 * n + 9].copy()
        own[fixed] = 0.0
        place, J, _ = _places(robot, q, own, np.eye(4))
        J[:, :, fixed] = 0.0
        at = points[which] + x[6 * n + 9 :].reshape(-1, 3)[which]
        P = np.zeros((len(q), 3, 3 * len(names)))
        for g in range(len(names)):
            P[which == g, :, 3 * g : 3 * g + 3] = -np.eye(3)
        return (place - at).ravel(), np.concatenate([J, P], axis=2).reshape(3 * len(q), -1)

    widths = np.concatenate([_widths(n, prior), np.full(3 * len(names), 1.0)])
    x, covariance, sigma = _gauss_newton(residual, np.zeros(len(widths)), widths, noise)
    after = _rms(residual(x)[0].reshape(-1, 3))
    points = points + x[6 * n + 9 :].reshape(-1, 3)
    return _found(robot, x, covariance, sigma, before, after, np.eye(4), points)


def _gauss_newton(residual: Residuals, x: Array, widths: Array, noise: float | None) -> tuple[Array, Array, float]:
    """Return the likeliest unknowns, their covariance, and the noise."""
    sigma = noise if noise is not None else max(LEAST_NOISE, _rms(residual(x)[0]) * 0.1)
    for _ in range(MOST_NEWTON_STEPS_OF_PLACES):
        r, J = residual(x)
        H = J.T @ J / sigma**2 + np.diag(widths**-2)
        step = np.linalg.solve(H, J.T @ r / sigma**2 + x / widths**2)
        x = x - step
        r, J = residual(x)
        old = sigma
        if noise is None:  # noise of what is left, with as many unknowns as the measurements decide
            A = J.T @ J / sigma**2
            decided = float(np.trace(np.linalg.solve(A + np.diag(widths**-2), A)))
            sigma = max(LEAST_NOISE, float(np.sqrt(r @ r / max(1.0, len(r) - decided))))
        if np.abs(step).max() < STEP_DONE and abs(sigma - old) < 1e-6 * sigma:
            break
    covariance: Array = np.linalg.inv(J.T @ J / sigma**2 + np.diag(widths**-2)).astype(np.float64)
    return x, covariance, float(sigma)


def _found(
    robot: Robot, x: Array, covariance: Array, sigma: float, before: float, after: float, base: Array, points: Array
) -> CalibratedArm:
    n = robot.n
    moved = x[: 6 * n].reshape(n, 6)
    bodies = tuple(
        replace(body, T_parent_joint=_sharp(body.T_parent_joint @ exp_se3(d)))
        for body, d in zip(robot.bodies, moved, strict=True)
    )
    tool = np.array(robot.T_tip_tool)
    tool[:3, 3] += tool[:3, :3] @ x[6 * n + 6 : 6 * n + 9]
    spread = np.sqrt(np.maximum(np.diag(covariance)[: 6 * n], 0.0)).reshape(n, 6)
    whole = base @ exp_se3(x[6 * n : 6 * n + 6])
    return CalibratedArm(
        replace(robot, bodies=bodies, T_tip_tool=tool),
        moved,
        spread,
        whole,
        x[6 * n + 6 : 6 * n + 9],
        points,
        sigma,
        before,
        after,
        covariance,
        robot,
    )


def _sharp(T: Array) -> Array:
    """Return a pose whose rotation is one to the last digit."""
    U, _, Vt = np.linalg.svd(T[:3, :3])
    out = np.array(T)
    out[:3, :3] = U @ Vt
    return out


def _rms(r: Array) -> float:
    return float(np.sqrt((r**2).sum() / max(1, len(r)))) if r.ndim == 2 else float(np.sqrt(np.mean(r**2)))
