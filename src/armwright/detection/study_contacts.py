# SPDX-License-Identifier: Apache-2.0
"""What an arm does and meets in a detection study: random moves at a given tool speed, a wall or a push.

`Wall` and `StudyPush` are the contacts; six numbers per lane say where and when. `tool_moves` makes the moves,
`study_law` the law that follows them with wrong friction, `ur5_sensors` the sensors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.control.law import Law, as_law
from armwright.dynamics.newton_euler import rnea
from armwright.dynamics.terms import friction_torque
from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.kinematics.jacobians import frame_jacobian, pose_jacobian
from armwright.motion import Trajectory, quintic
from armwright.robot.configurations import random_configuration, sampling_range
from armwright.robot.kernels import kernel
from armwright.robot.tree import as_tree
from armwright.simulation.sensors import JointSensors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.detection.varied_arms import TouchedTree
    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


@dataclass(frozen=True)
class Wall:
    """A plane across the tool's way, met at the trajectory's highest tool speed: F = stiffness · depth, no friction."""

    stiffness: float = 1e5

    def __post_init__(self) -> None:
        """Refuse what is no wall."""
        if not (np.isfinite(self.stiffness) and self.stiffness > 0.0):
            raise InputError(f"wall: stiffness must be positive [N/m], got {self.stiffness}")


@dataclass(frozen=True)
class StudyPush:
    """A force in a random direction: rises linearly within `rise` seconds and stays. `StudyPush(40, 2)`: 20 N/s.

    Attributes:
        force: [N].
        rise: [s].
        link: body whose link frame's origin is pushed, from 0; the tool if None.
        at_rest: pushed while the arm stands at the end of its move (`resting`), not while it moves.
    """

    force: float = 30.0
    rise: float = 0.01
    link: int | None = None
    at_rest: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no push."""
        if not (np.isfinite(self.force) and self.force > 0.0 and np.isfinite(self.rise) and self.rise > 0.0):
            raise InputError(f"push: force [N] and rise [s] must be positive, got {self.force} and {self.rise}")
        if self.link is not None and self.link < 0:
            raise InputError(f"push: link must be the number of a body, from 0; got {self.link}")


Contact = Wall | StudyPush
LATE = 0.05  # [s] after the planned time, by which an arm that lags must have met its wall


def walling(arm: TouchedTree, q: Traced) -> Traced:
    """Return the wrench function of a wall: (6,) at the tool."""
    normal, offset, stiffness = arm.contact[:3], arm.contact[3], arm.contact[4]
    depth = offset - normal @ pose_jacobian(arm, q)[0][:3, 3]
    force = stiffness * np.maximum(depth, 0.0)
    return np.concatenate([force * normal, np.zeros(3)])


def late_walling(arm: TouchedTree, t: Traced, q: Traced) -> Traced:
    """Return the wrench function of a wall that is put there at a time, the last of its numbers."""
    return np.where(t >= arm.contact[5], walling(arm, q), 0.0)


def _share(arm: TouchedTree, t: Traced) -> Traced:
    return np.minimum(np.maximum((t - arm.contact[3]) * arm.contact[4], 0.0), 1.0)


def _push(arm: TouchedTree, t: Traced) -> Traced:
    return np.concatenate([_share(arm, t) * arm.contact[:3], np.zeros(3)])


@lru_cache(maxsize=64)
def pushing(link: int | None) -> Callable[..., Any]:
    """Return the wrench function of a push: (6,) at the tool, or (nb, 6) with one row that is not zero."""
    if link is None:
        return _push

    def push(arm: TouchedTree, t: Traced) -> Traced:
        if link >= arm.nb:
            raise InputError(f"push: link {link} of an arm with {arm.nb} bodies (counted from 0)")
        rows = [np.zeros(6)] * arm.nb
        rows[link] = _push(arm, t)
        return np.array(rows)

    return push


def ur5_sensors() -> JointSensors:
    """Return the joint sensors of a UR5: positions in steps of 1e-5 rad, velocities with 1e-3 rad/s of noise.

    Example:
        >>> simulate(robot, law, path, sensors=ur5_sensors())
    """
    return JointSensors(position_resolution=1e-5, velocity_noise=1e-3)


def _feedforward(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced) -> Traced:
    a = ref.qdd + kp * (ref.q - q) + kd * (ref.qd - qd)
    return rnea(arm, q, qd, a, friction=False) + friction_torque(as_tree(arm), ref.qd)


def study_law(kp: ArrayLike, kd: ArrayLike) -> Law:
    """Return computed torque that feeds friction forward at the desired velocity.

    Cancelling it at the measured velocity is unstable where friction is overestimated and the link light: held over a
    tick, a wrist of 1e-4 kg m² with 0.65 N m s/rad gains speed by the ratio of believed to true friction.

    Example:
        >>> law = study_law(kp=225.0, kd=30.0)
    """
    return as_law(_feedforward, name="computed torque, friction fed forward", kp=kp, kd=kd)


STRAIGHT = 8.0  # condition number of the tool's Jacobian, at most: away from singularities
WIDEST = 2.0  # [rad], [m] from 0, or from the middle of a range that leaves 0 out: where moves begin
JOINT_TRAVEL = 1.0  # [rad], [m] that a joint goes in a move


def tool_moves(
    robot: Robot, count: int, *, speed: float = 0.25, travel: float = 0.15, seed: int = 0
) -> list[Trajectory]:
    """Return random point-to-point moves with a given highest tool speed, away from singularities and within limits.

    An arm whose tool can move along one or two directions only (one or two joints, a planar arm) moves along those.

    Args:
        robot: the arm.
        count: how many.
        speed: highest tool speed [m/s].
        travel: of the tool, roughly [m].
        seed: of the configurations.

    Example:
        >>> moves = tool_moves(aw.load("ur5"), count=8, speed=0.25, travel=0.3)
    """
    if not (count >= 1 and speed > 0.0 and travel > 0.0):
        raise InputError(f"tool moves: count, speed and travel must be positive, got {count}, {speed}, {travel}")
    rng, moves = np.random.default_rng(seed), []
    J = kernel(robot, frame_jacobian)
    lower, upper = sampling_range(robot)
    middle = np.where((lower < 0.0) & (upper > 0.0), 0.0, 0.5 * (lower + upper))
    lower, upper = np.maximum(lower, middle - WIDEST), np.minimum(upper, middle + WIDEST)
    freedoms = _freedoms(robot)
    if freedoms == 0:
        raise InputError(f"tool moves: no joint of {robot.name!r} moves its tool, so nothing can be met")
    for _ in range(1000 * count):
        q0, direction = rng.uniform(lower, upper), rng.normal(size=robot.n)
        v, sizes = J(q0)[:3] @ direction, np.linalg.svd(J(q0)[:3], compute_uv=False)
        if np.linalg.norm(v) < 1e-6 or sizes[0] > STRAIGHT * sizes[freedoms - 1]:
            continue
        q1 = q0 + direction * travel / np.linalg.norm(v)
        if np.abs(q1 - q0).max() > JOINT_TRAVEL or (q1 < robot.lower).any() or (q1 > robot.upper).any():
            continue
        s = quintic(q0, q1, 1.0).evaluate(np.linspace(0.0, 1.0, 101))
        highest = float(np.linalg.norm(np.einsum("tij,tj->ti", J(s.q)[:, :3], s.qd), axis=1).max())
        moves.append(quintic(q0, q1, highest / speed))
        if len(moves) == count:
            return moves
    raise InputError(
        f"tool moves: found only {len(moves)} of {count} moves of {robot.name!r} away from singularities and within "
        f"its limits that take the tool {travel:g} m; change travel"
    )


def _freedoms(robot: Robot) -> int:
    """In how many directions the tool moves, in general."""
    q = random_configuration(robot, 2, 16)
    return int(np.linalg.matrix_rank(np.asarray(kernel(robot, frame_jacobian)(q))[:, :3], tol=1e-6).max())


def reach(robot: Robot) -> float:
    """Return how far the tool gets from the middle of where it gets, over random configurations [m]."""
    p = fk(robot, random_configuration(robot, 3, 256))[:, :3, 3]
    return float(np.linalg.norm(p - p.mean(axis=0), axis=1).max())


def resting(move: Trajectory, seconds: float) -> Trajectory:
    """Return the move, after which the arm stands for some seconds.

    Example:
        >>> resting(tool_moves(robot, 1)[0], 2.0).duration
    """
    if not (np.isfinite(seconds) and seconds > 0.0):
        raise InputError(f"resting: seconds must be positive, got {seconds}")
    still = np.zeros_like(move.coefficients[:1])
    still[0, 0] = move.evaluate(move.duration).q
    return Trajectory(np.append(move.breaks, move.duration + seconds), np.concatenate([move.coefficients, still]))
