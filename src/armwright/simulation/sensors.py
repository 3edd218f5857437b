# SPDX-License-Identifier: Apache-2.0
"""What the controller sees: sampled, delayed, noisy, quantised positions and velocities; other sensors after the run.

In the loop the law reads measured q and qd (`JointSensors`), and the wrench of the world on the tool at the wrist.
Force/torque sensor, accelerometer and motor current (`Drive.current`) are functions of the recorded motion; a `Sensor`
makes readings of them, with its own rate, delay, bias, noise, resolution and range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit, numbers
from armwright.errors import InputError
from armwright.graph import compile_function
from armwright.graph.by_name import call_by_name
from armwright.kinematics import acceleration, fk
from armwright.kinematics.forward import frame_pose, tool_pose
from armwright.recording.signals import Signal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.recording.recording import Recording
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced


@dataclass(frozen=True, eq=False)
class Sensor:
    """How a recorded quantity (current, force, acceleration, …) is read.

    The value of a moment `delay` ago, bias and white noise added, rounded to the resolution and cut to the range, is
    taken `rate` times a second and held until the next.

    Attributes:
        rate: samples per second; inf for one at every recorded instant.
        delay: [s].
        bias, noise: offset and standard deviation per sample; scalars or one a component.
        resolution: smallest step; 0 for none. largest: size beyond which it saturates.
    """

    rate: float = np.inf
    delay: float = 0.0
    bias: Any = 0.0
    noise: Any = 0.0
    resolution: Any = 0.0
    largest: Any = np.inf

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not self.rate > 0.0:
            raise InputError(f"sensor: rate must be > 0 samples per second, got {self.rate}")
        for name in ("delay", "noise", "resolution"):
            value = np.asarray(getattr(self, name), dtype=np.float64)
            if not np.isfinite(value).all() or (value < 0.0).any():
                raise InputError(f"sensor: {name} must be finite and ≥ 0, got {value}")
        if not np.isfinite(np.asarray(self.bias, dtype=np.float64)).all():
            raise InputError(f"sensor: bias must be finite, got {self.bias}")
        if not (np.asarray(self.largest, dtype=np.float64) > 0.0).all():
            raise InputError(f"sensor: largest must be > 0 (inf for no limit), got {self.largest}")

    def read(self, time: ArrayLike, values: ArrayLike, *, seed: int = 0) -> Array:
        """Return what is read at every instant, (T, ...).

        Args:
            time: (T,) [s], not falling.
            values: the true quantity (T, ...); between its samples it is linear.
            seed: of the noise.
        """
        t, x = np.asarray(time, dtype=np.float64), np.asarray(values, dtype=np.float64)
        if t.ndim != 1 or len(t) == 0 or x.shape[:1] != t.shape or not np.isfinite(t).all() or (np.diff(t) < 0.0).any():
            raise InputError(
                f"sensor: time must be (T,), finite and not falling, and values (T, ...); got {t.shape} and {x.shape}"
            )
        if np.isfinite(self.rate):
            sample = np.floor((t - t[0]) * self.rate + 1e-9).astype(np.int64)  # number of the sample held at t
            _, first, held = np.unique(sample, return_index=True, return_inverse=True)
            taken = t[0] + sample[first] / self.rate
        else:
            taken, held = t, np.arange(len(t))
        flat = x.reshape(len(t), -1)
        at = np.clip(taken - self.delay, t[0], t[-1])
        true = np.stack([np.interp(at, t, column) for column in flat.T], axis=-1).reshape(len(at), *x.shape[1:])
        seen = true + self.bias + np.asarray(self.noise) * np.random.default_rng(seed).standard_normal(true.shape)
        step = np.broadcast_to(np.asarray(self.resolution, dtype=np.float64), seen.shape)
        seen = np.where(step > 0.0, np.floor(seen / np.where(step > 0.0, step, 1.0) + 0.5) * step, seen)
        return np.asarray(np.clip(seen, -np.asarray(self.largest), self.largest)[held])


MOST_DELAY_TICKS = 10_000  # of delay: each is kept in the loop's memory


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
            if ticks.ndim or ticks != np.floor(ticks) or not least <= ticks <= MOST_DELAY_TICKS:
                span = f"from {least} to {MOST_DELAY_TICKS}"
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
    """Specific force (..., 3) in sensor axes [m/s²] at the tool: f = Rᵀ(a − g) (004 eq. 5.11, sign corrected).

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


AXES = ("fx", "fy", "fz", "mx", "my", "mz")


def wrench_function(wrench: object) -> Callable[..., Any] | None:
    """Return the wrench of `simulate` as a function; a constant one, (6,) at the tool or (nb, 6), gives itself."""
    if wrench is None:
        return None
    if callable(wrench):
        function: Callable[..., Any] = wrench
        return function
    constant = np.asarray(wrench, dtype=np.float64)
    if constant.shape[-1:] != (6,) or constant.ndim > 2 or not np.isfinite(constant).all():
        raise InputError(
            f"simulate: wrench must be (6,) or (nb, 6) finite numbers, or a function; got shape {constant.shape}"
        )
    return lambda: constant


def tool_wrench(function: Callable[..., Any], arm: Robot | Tree, t: Traced, q: Traced, qd: Traced) -> Traced:
    """World's wrench (6,) on the tool's link at the tool, base axes, from a wrench function of `simulate` (traced).

    A function that gives (nb, 6), one wrench a link at its origin, leaves out what touches the other links: a sensor
    between the arm and its tool does not feel that.
    """
    w = call_by_name(function, {"arm": arm, "t": t, "q": q, "qd": qd})
    if np.ndim(w) == 1:
        return w
    tip = arm.tip
    f, m = w[tip][:3], w[tip][3:]
    lever = frame_pose(arm, q, tip)[:3, 3] - tool_pose(arm, q)[:3, 3]
    return np.concatenate([f, m + np.cross(lever, f)])


@names_culprit
def with_wrench(recording: Recording, wrench: object) -> Recording:
    """Add the world's wrench on the tool (T, 6) [N, N m], base axes, at the tool, along a run.

    Args:
        recording: with q and qd, and its robot.
        wrench: what `simulate` was given: (6,), (nb, 6) or a function of (arm, t, q, qd).
    """
    robot = recording.robot
    if robot is None:
        raise InputError("with_wrench: the recording does not know its robot")
    function = wrench_function(wrench)
    if function is None:
        raise InputError("with_wrench: no wrench given")

    def felt(t: Traced, q: Traced, qd: Traced) -> Traced:
        return np.array(tool_wrench(function, robot, t, q, qd))

    kernel = compile_function(felt, {"t": (), "q": (robot.n,), "qd": (robot.n,)}, name="tool_wrench")
    values = kernel(recording.time, recording["q"], recording["qd"])
    return recording.with_signals(wrench=Signal(values, "", AXES))
