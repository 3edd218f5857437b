# SPDX-License-Identifier: Apache-2.0
"""`WireLimits`: where and how fast an arm on the wire may go, and `TimedMotion`: a motion that keeps to it.

Every target is tested before anything moves, on a fine grid, and once more when it is sent. A motion that is too fast
is not refused but followed more slowly: its own clock s advances by ds = rate(s) · dt, rate ≤ 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.kinematics.forward import link_poses, tool_pose
from armwright.kinematics.jacobians import frame_jacobian
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.motion.trajectory import Trajectory
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

USUAL_TOOL_SPEED, MOST_TOOL_SPEED = 0.05, 0.1  # [m/s]
MOST_JOINT_SPEED = 0.5  # [rad/s]
USUAL_FORCE, MOST_FORCE = 60.0, 100.0  # [N] at the tool: more is given way to at once
GRID_STEP = 0.004  # [s] between tested places of a motion: at 100 mm/s 0.4 mm
SLOWING = 3.0  # [1/s] change of the rate: from full speed to rest in 0.33 s
ELBOW = 2  # joint whose origin is the elbow


@dataclass(frozen=True, eq=False)
class Fence:
    """Where an arm may be: a box for the tool, low and high (3,) [m], base frame; heights of the elbow [m]."""

    low: Array
    high: Array
    elbow: tuple[float, float] = (-np.inf, np.inf)

    def __post_init__(self) -> None:
        """Refuse a box that holds nothing."""
        low, high = (np.asarray(x, dtype=np.float64) for x in (self.low, self.high))
        if low.shape != (3,) or high.shape != (3,) or not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
            raise InputError(f"fence: low and high must be three finite numbers each, low < high; got {low}, {high}")
        if not self.elbow[0] < self.elbow[1]:
            raise InputError(f"fence: the elbow's heights must rise, got {self.elbow}")


@dataclass(frozen=True, eq=False)
class WireLimits:
    """What may not be exceeded.

    Attributes:
        fence: where the arm may be.
        tool_speed: [m/s], 0.1 at most. joint_speed: [rad/s], 0.5 at most.
        force: at the tool [N] that is given way to at once, whatever the bands say.
        torque: (n,) external torque of a joint that is given way to at once [N m]; infinite where nothing is known yet.
    """

    fence: Fence
    tool_speed: float = USUAL_TOOL_SPEED
    joint_speed: float = MOST_JOINT_SPEED
    force: float = USUAL_FORCE
    torque: Array | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, unit, most in (
            ("tool_speed", "m/s", MOST_TOOL_SPEED),
            ("joint_speed", "rad/s", MOST_JOINT_SPEED),
            ("force", "N", MOST_FORCE),
        ):
            value = getattr(self, name)
            if not 0.0 < value <= most:
                raise InputError(f"wire: {name} must lie in (0, {most:g}] {unit}, got {value}")


def where(arm: Robot | Tree, q: Traced) -> Traced:
    """Return the tool's place and the elbow's height (4,) [m], base frame."""
    return np.append(tool_pose(arm, q)[:3, 3], link_poses(arm, q)[ELBOW, 2, 3])


class Watchman:
    """Tests places of one arm against limits, one by one or many at once."""

    def __init__(self, robot: Robot, limits: WireLimits) -> None:
        """Compile what every sample needs."""
        if robot.n < ELBOW + 1:
            raise InputError(f"wire: an arm with an elbow is needed, {robot.name!r} has {robot.n} joints")
        self.robot, self.limits = robot, limits
        self._where, self._jacobian = kernel(robot, where), kernel(robot, frame_jacobian)
        fence = limits.fence
        self._low = np.append(fence.low, fence.elbow[0])
        self._high = np.append(fence.high, fence.elbow[1])
        self._where(np.zeros(robot.n))

    def allows(self, q: Array) -> bool:
        """Return whether the arm may be at q (n,)."""
        at = self._where(q)
        return bool((at >= self._low).all() and (at <= self._high).all())

    def outside(self, q: Array, room: float = 0.0) -> NDArray[np.bool_]:
        """Return which rows (T, n) are outside, or nearer than `room` [m] to the fence from within, (T,) of bool."""
        at = np.asarray(self._where(q))
        return np.asarray(((at < self._low + room) | (at > self._high - room)).any(axis=-1))

    def place(self, q: Array) -> Array:
        """Return the tool's places (..., 3) [m]."""
        return np.asarray(self._where(q))[..., :3]

    def check(self, q: Array) -> None:
        """Refuse rows (T, n) of which one is outside; the sentence says which and where."""
        if not np.isfinite(q).all():
            raise InputError("wire: a motion holds numbers that are not finite; nothing was sent")
        robot = self.robot
        out = (q < robot.lower) | (q > robot.upper)
        if out.any():
            j = int(np.argmax(out.any(axis=0)))
            raise InputError(f"wire: the motion leaves the range of joint {robot.joints[j].name}; nothing was sent")
        at = np.asarray(self._where(q))
        outside = (at < self._low) | (at > self._high)
        if outside.any():
            k = int(np.argmax(outside.any(axis=1)))
            where_ = ", ".join(f"{x:.3f}" for x in at[k, :3])
            what = "the elbow" if outside[k, 3] and not outside[k, :3].any() else "the tool"
            raise InputError(
                f"wire: {what} would leave the fence (tool at ({where_}) m, elbow {at[k, 3]:.3f} m high; the fence is "
                f"{np.round(self._low[:3], 3).tolist()} to {np.round(self._high[:3], 3).tolist()} m); nothing was sent"
            )

    def speeds(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the tool's speed [m/s] and the fastest joint's [rad/s] in rows (T, n)."""
        J = np.asarray(self._jacobian(q))[..., :3, :]
        return np.linalg.norm(np.einsum("...ij,...j->...i", J, qd), axis=-1), np.abs(qd).max(axis=-1)


class TimedMotion:
    """A motion on a fine grid of its own clock s, with the rate at which that clock may advance.

    Attributes:
        length: of its own clock [s]. slowest: least rate in it.
    """

    def __init__(self, motion: Trajectory, watchman: Watchman) -> None:
        """Test and tabulate; refuse what leaves fence or ranges."""
        self.length = float(motion.duration)
        self._count = max(1, int(np.ceil(self.length / GRID_STEP)))
        self._step = self.length / self._count
        at = motion.evaluate(np.linspace(0.0, self.length, self._count + 1))
        self._q, self._qd = np.array(at.q, dtype=np.float64), np.array(at.qd, dtype=np.float64)
        watchman.check(self._q)
        tool, joint = watchman.speeds(self._q, self._qd)
        limits = watchman.limits
        with np.errstate(divide="ignore"):
            rate = np.minimum(1.0, np.minimum(limits.tool_speed / tool, limits.joint_speed / joint))
        # no quicker change than SLOWING: the lower envelope of cones around every sample
        grid = np.arange(len(rate)) * self._step * SLOWING
        forward = np.minimum.accumulate(rate - grid) + grid
        backward = (np.minimum.accumulate((rate + grid)[::-1]))[::-1] - grid
        self._rate = np.minimum(forward, backward)
        self.slowest = float(self._rate.min())

    def rate(self, s: float) -> float:
        """Return how fast its clock may advance at s."""
        return float(self._rate[min(int(s / self._step), self._count)])

    def q(self, s: float) -> Array:
        """Return where it is at s (n,), its end after it."""
        k = int(s / self._step)
        if k >= self._count:
            return np.array(self._q[-1])
        at: Array = self._q[k] + (s / self._step - k) * (self._q[k + 1] - self._q[k])
        return at

    def qd(self, s: float) -> Array:
        """Return its velocity at s (n,), in its own clock; zero after its end."""
        k = int(s / self._step)
        return np.zeros(self._qd.shape[1]) if k >= self._count else np.array(self._qd[k])
