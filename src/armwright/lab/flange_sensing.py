# SPDX-License-Identifier: Apache-2.0
"""What sensors on the flange measure, as one traced kernel, and what real devices add: noise, bias, bandwidth.

Mounting of 004, axes of the flange: force/torque sensor at (0, 0, 28.6) mm (6.10), inertial unit at (17.35, 6.05,
9.5) mm (5.9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.graph import compile_function
from armwright.kinematics.frame_motion import point_jacobian_dot
from armwright.kinematics.jacobians import pose_jacobian

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from armwright.graph import Kernel
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

FT_AT = np.array([0.0, 0.0, 0.0286])
IMU_AT = np.array([0.01735, 0.00605, 0.0095])
EARTH = np.array([0.3, 0.0, -0.45])
"""Magnetic field, base axes [arbitrary units, 1 at full size about Central Europe]."""


class FeltWrench(NamedTuple):
    """Truth at the sensors: wrench of tool and world on the sensor (6,) in its axes; specific force, rate, field."""

    wrench: Array
    acceleration: Array
    rate: Array
    field: Array


def felt_kernel(robot: Robot, surroundings: Callable[..., Traced], inputs: tuple[str, ...]) -> Kernel:
    """Return (q, qd, qdd, push, load) → `FeltWrench`; load (4,): mass [kg] and centre in the flange's frame [m].

    A sensor at the flange feels what acts beyond it: the last body's contacts and pushes, and the load's weight and
    inertia. The last body itself counts as the robot's side.
    """
    n, nb, tip = robot.n, len(robot.bodies), robot.tip

    def feel(q: Traced, qd: Traced, qdd: Traced, push: Traced, load: Traced) -> FeltWrench:
        given = {"arm": robot, "t": 0.0, "q": q, "qd": qd, "push": push}
        acting = surroundings(**{name: given[name] for name in inputs})[tip]
        T, J = pose_jacobian(robot, q)
        link, _ = pose_jacobian(robot, q, tip)
        R = T[:3, :3]
        spin, rate = J[3:] @ qd, point_jacobian_dot(robot, q, qd, np.zeros(3))
        linear, turn = J[:3] @ qdd + rate[:3] @ qd, J[3:] @ qdd + rate[3:] @ qd

        def moved(at: Traced) -> Traced:
            r = R @ at
            return linear + np.cross(turn, r) + np.cross(spin, np.cross(spin, r))

        carried = load[0] * (np.asarray(robot.gravity) - moved(load[1:]))
        force = acting[:3] + carried
        origin = T[:3, 3] + R @ FT_AT
        centre = T[:3, 3] + R @ load[1:]
        moment = acting[3:] + np.cross(link[:3, 3] - origin, acting[:3]) + np.cross(centre - origin, carried)
        wrench = np.concatenate([R.T @ force, R.T @ moment])
        return FeltWrench(wrench, R.T @ (moved(IMU_AT) - robot.gravity), R.T @ spin, R.T @ EARTH)

    shapes: dict[str, tuple[int, ...]] = {"q": (n,), "qd": (n,), "qdd": (n,), "push": (nb, 6), "load": (4,)}
    return compile_function(feel, shapes, name="lab felt", check_finite=False)


@dataclass(frozen=True)
class DeviceClock:
    """A device's own time: t_device = offset + (1 + drift)·t, with t the controller's time [s]."""

    offset: float = 0.0
    drift: float = 0.0

    def __post_init__(self) -> None:
        """Refuse clocks that do not run forward."""
        if not (np.isfinite(self.offset) and abs(self.drift) < 0.01):
            raise InputError(f"device clock: a drift below 1 % needed, got {self.drift}")

    def at(self, t: float) -> float:
        """Return the device time [s] at controller time t."""
        return self.offset + (1.0 + self.drift) * t


class Imperfect:
    """A first-order low-pass, a bias and white noise on a vector; the same seed gives the same readings."""

    def __init__(self, size: int, *, noise: ArrayLike, bias: ArrayLike, bandwidth: float, seed: int) -> None:
        """Take noise, the standard deviation of a sample, one for all or one each, and bandwidth [Hz], 0 for none."""
        self._noise = np.broadcast_to(np.asarray(noise, dtype=np.float64), (size,))
        self._bias = np.broadcast_to(np.asarray(bias, dtype=np.float64), (size,))
        self._bandwidth, self._random = bandwidth, np.random.default_rng(seed)
        self._state: Array | None = None

    def __call__(self, true: Array, dt: float) -> Array:
        """Return a reading, dt [s] after the last."""
        if self._state is None or self._bandwidth <= 0.0:
            self._state = np.array(true)
        else:
            self._state = self._state + (1.0 - np.exp(-2.0 * np.pi * self._bandwidth * dt)) * (true - self._state)
        noise = self._noise * self._random.standard_normal(len(self._state)) if self._noise.any() else 0.0
        return self._state + self._bias + noise
