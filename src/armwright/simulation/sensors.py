# SPDX-License-Identifier: Apache-2.0
"""What the controller sees: sampled, delayed, noisy, quantised positions and velocities; other sensors after the run.

In the loop the law reads measured q and qd, and the wrench at the wrist (`wrist`). Force/torque sensor, accelerometer
and motor current (`Drive.current`) are functions of the recorded motion; a `Sensor` makes real readings of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit, numbers
from armwright.errors import InputError
from armwright.kinematics import acceleration, fk

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Traced

MOST_TICKS = 10_000  # of delay: each is kept in the loop's memory


@dataclass(frozen=True, eq=False)
class JointSensors:
    """Encoders. Noise is white, standard deviation per sample; resolution 0 means no quantisation.

    Attributes:
        position_noise, velocity_noise: [rad], [rad/s]; scalars or (n,).
        position_resolution, velocity_resolution: quantisation steps.
        delay: control ticks between a measurement and its use.
        every: control ticks between new measurements (a slower sensor holds its value).
    """

    position_noise: Any = 0.0
    velocity_noise: Any = 0.0
    position_resolution: Any = 0.0
    velocity_resolution: Any = 0.0
    delay: int = 0
    every: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        for name in ("position_noise", "velocity_noise", "position_resolution", "velocity_resolution"):
            value = numbers(getattr(self, name), f"sensors: {name}")
            if not np.isfinite(value).all() or (value < 0.0).any():
                raise InputError(f"sensors: {name} must be finite and ≥ 0, got {value}")
        for name, least in (("delay", 0), ("every", 1)):
            ticks = numbers(getattr(self, name), f"sensors: {name}")
            if ticks.ndim or ticks != np.floor(ticks) or not least <= ticks <= MOST_TICKS:
                span = f"from {least} to {MOST_TICKS}"
                raise InputError(f"sensors: {name} must be a whole number of ticks {span}, got {ticks}")
            object.__setattr__(self, name, int(ticks))

    def __eq__(self, other: object) -> bool:
        """Sensors of equal numbers are equal: a loop that was traced for one of them serves the other."""
        if type(self) is JointSensors and type(other) is JointSensors:
            return self._numbers() == other._numbers()
        return self is other  # what a subclass reads is not known here

    def __hash__(self) -> int:
        """Return a hash that equal sensors share."""
        return hash(self._numbers()) if type(self) is JointSensors else object.__hash__(self)

    def _numbers(self) -> tuple[Any, ...]:
        arrays = (np.asarray(value, dtype=np.float64) for value in vars(self).values())
        return tuple((array.shape, array.tobytes()) for array in arrays)

    @property
    def noisy(self) -> bool:
        """Whether random numbers are needed."""
        return bool(np.any(np.asarray(self.position_noise)) or np.any(np.asarray(self.velocity_noise)))

    def read(self, q: Traced, qd: Traced, noise: Traced) -> tuple[Traced, Traced]:
        """Return measured q and qd (n,) from true ones and standard normal noise (2n,) (traced)."""
        n = len(q)
        q = q + np.asarray(self.position_noise) * noise[:n]
        qd = qd + np.asarray(self.velocity_noise) * noise[n:]
        return _quantised(q, self.position_resolution), _quantised(qd, self.velocity_resolution)


def _quantised(x: Traced, resolution: Traced) -> Traced:
    steps = np.broadcast_to(np.asarray(resolution, dtype=np.float64), (len(x),))
    return np.array([np.floor(x[k] / steps[k] + 0.5) * steps[k] if steps[k] else x[k] for k in range(len(x))])


@names_culprit
def accelerometer(
    robot: Robot, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, T_tool_sensor: ArrayLike | None = None
) -> Traced:
    """Specific force (..., 3) in sensor axes [m/s²] at the tool: f = Rᵀ(a − g) (004 §3.11, sign corrected).

    At rest it reads +9.81 upwards. The lever arm counts: a = a_tool + α × r + ω × (ω × r).
    """
    T = np.eye(4) if T_tool_sensor is None else np.asarray(T_tool_sensor, dtype=np.float64)
    carrier = robot.with_tool(robot.T_tip_tool @ T)
    R = fk(carrier, q)[..., :3, :3]
    a = acceleration(carrier, q, qd, qdd)[..., :3] - robot.gravity
    return np.einsum("...ji,...j->...i", R, a)


@names_culprit
def force_sensor(robot: Robot, q: ArrayLike, wrench: ArrayLike) -> Traced:
    """Reading (..., 6) of a wrist sensor in tool axes, of the world's wrench (..., 6) at the tool in base axes."""
    R = fk(robot, q)[..., :3, :3]
    w = numbers(wrench, "force_sensor: wrench")
    if w.shape[-1:] != (6,):
        raise InputError(f"force_sensor: wrench must have shape (..., 6), got {w.shape}")
    parts = [np.einsum("...ji,...j->...i", R, w[..., :3]), np.einsum("...ji,...j->...i", R, w[..., 3:])]
    return np.concatenate(parts, axis=-1)
