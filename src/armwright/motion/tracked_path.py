# SPDX-License-Identifier: Apache-2.0
"""`TrackedPath`: what came of following a path of the tool: joints, errors, margins to the limits, secondary cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.kinematics.ik_goal import AXES
from armwright.kinematics.ik_limits import SLACK
from armwright.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class TrackedPath:
    """A path of the tool as the joints followed it; leading axes (...) where a batch was asked for.

    Attributes:
        t: (T,) instants of the samples [s].
        q, qd: (..., T, n) joints, and the velocity that was asked of them there.
        error: (..., T, m) what is missing to the path along `axes`, in the axes of the target [m, rad].
        axes: names of the axes followed.
        margin: (..., T, n) distance of every joint to its nearer limit [rad, m]; negative beyond it, inf without one.
        cost: (..., T) H of the secondary task, None without one or where only its gradient is known.
        nearness: (..., T) at most the smallest singular value of the task's Jacobian, metres over half the reach.
        damping: value of `nearness` below which the inverse was damped.
        joints: names of the joints.
    """

    t: Array
    q: Array
    qd: Array
    error: Array
    axes: tuple[str, ...]
    margin: Array
    cost: Array | None
    nearness: Array
    damping: float
    joints: tuple[str, ...]

    @property
    def position_error(self) -> Array:
        """Distance to the path (..., T) [m]; 0 if no position was asked for."""
        return np.asarray(np.linalg.norm(self.error[..., [a in AXES[:3] for a in self.axes]], axis=-1))

    @property
    def rotation_error(self) -> Array:
        """Angle to the path (..., T) [rad]; 0 if no rotation was asked for."""
        return np.asarray(np.linalg.norm(self.error[..., [a in AXES[3:] for a in self.axes]], axis=-1))

    @property
    def within_limits(self) -> NDArray[np.bool_]:
        """Whether all joints stay within their limits (...,); touching one is staying."""
        return np.asarray((self.margin >= -SLACK).all(axis=(-1, -2)))

    @property
    def damped(self) -> NDArray[np.bool_]:
        """Where the inverse was damped, near a singularity (..., T): there the tool need not keep to the path."""
        return np.asarray(self.nearness < self.damping)

    @property
    def trajectory(self) -> Trajectory:
        """The motion as cubics through q and qd of the samples, for `simulate` and `torque_use`; of one path."""
        if self.q.ndim != 2:
            raise InputError(f"trajectory: of one path, this is a batch of shape {self.q.shape[:-2]}")
        h = np.diff(self.t)[:, None]
        a, b, u, v = self.q[:-1], self.q[1:], self.qd[:-1], self.qd[1:]
        square, cube = (3.0 * (b - a) / h - 2.0 * u - v) / h, (u + v - 2.0 * (b - a) / h) / h**2
        return Trajectory(self.t, np.stack([a, u, square, cube], axis=1))

    def __repr__(self) -> str:
        """Return one line: how many samples, how far off, and what the limits say."""
        lead = f"{self.q.shape[:-2]} paths of " if self.q.ndim > 2 else ""
        off = f"{1e3 * self.position_error.max():.3g} mm, {self.rotation_error.max():.3g} rad off"
        worst = self.margin.reshape(-1, self.q.shape[-1]).min(axis=0)
        j = int(np.argmin(worst))
        kept = "limits kept" if self.within_limits.all() else f"{self.joints[j]} beyond its limit by {-worst[j]:.3g}"
        near = f", damped at {int(self.damped.sum())} samples" if self.damped.any() else ""
        return f"TrackedPath({lead}{len(self.t)} samples, {self.t[-1]:.6g} s: at most {off}, {kept}{near})"
