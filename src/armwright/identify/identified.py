# SPDX-License-Identifier: Apache-2.0
"""`Identified`: the result of a fit, a model that predicts currents, how far to trust each number, what stays unknown.

`Estimate` is one number with its deviation, `PayloadEstimate` a payload found in a log. `Bands` says how much external
torque does not count as contact, joint by joint, at rest and in motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.html_text import html_table
from armwright.identify.gear_friction import TERMS, GearFriction
from armwright.identify.position_friction import PositionFriction

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

RESTING_BAND_FACTOR = 1.4
"""Band of a resting joint, in Coulomb bands."""


@dataclass(frozen=True, eq=False)
class Bands:
    """External torque of contact-free motion: bands that do not count as contact.

    Attributes:
        sigma: (n,) rms of the observer's residual while a joint moves [N m]; NaN for joints that never did.
        largest: (n,) the largest seen [N m].
        motion: (n,) band of moving joints [N m].
        rest: band of resting joints, in Coulomb bands.
        seconds: length of the logs that it was learned from.
    """

    sigma: Array
    largest: Array
    motion: Array
    rest: float = RESTING_BAND_FACTOR
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse bands that no detector can use."""
        motion = np.asarray(self.motion, dtype=np.float64)
        if motion.ndim != 1 or not (np.isfinite(motion) & (motion > 0.0)).all():
            raise InputError(f"bands: motion must be (n,), finite and > 0, got {motion.tolist()}")
        if not (np.isfinite(self.rest) and self.rest > 0.0):
            raise InputError(f"bands: rest must be > 0, got {self.rest}")


@dataclass(frozen=True)
class Estimate:
    """One number of a fit: value and standard deviation; both None where the logs leave it undetermined.

    `assumed` marks a number that was not seen in the logs; its deviation is a guess, too. `ratio` is the deviation of a
    gain as the controller's own ratio, which says what its model believes; `deviation` is that of the drive.
    `deviation` holds on other days, too; `within` is that of the day of the logs, where it is told apart.
    """

    name: str
    value: float | None
    deviation: float | None
    unit: str = ""
    assumed: bool = False
    ratio: float | None = None
    within: float | None = None

    @property
    def cell(self) -> str:
        """Return the number as a table shows it: with two deviations, a bound if it may be 0, a dash if left out."""
        if self.value is None or self.deviation is None:
            return "undetermined"
        if self.assumed:
            return f"{self.value:.4g} (assumed, ±{200.0 * self.deviation / abs(self.value):.0f} %)"
        if self.deviation == 0.0 and self.value == 0.0:
            return "–"
        if self.deviation == 0.0:
            return f"{self.value:.4g} (given)"
        if abs(self.value) <= 2.0 * self.deviation:
            return f"within ±{abs(self.value) + 2.0 * self.deviation:.2g} of 0"
        ratio = "" if self.ratio is None else f" (controller's ratio ± {2.0 * self.ratio:.2g})"
        return f"{self.value:.4g} ± {2.0 * self.deviation:.2g}{ratio}"

    def __str__(self) -> str:
        """Return ``name: cell unit``."""
        return f"{self.name}: {self.cell} {self.unit if self.value is not None else ''}".rstrip()


@dataclass(frozen=True, eq=False)
class Load:
    """A payload that a log carries; all of it is estimated, except a mass that is given [kg]."""

    mass: float | None = None

    def __post_init__(self) -> None:
        """Refuse an impossible mass."""
        if self.mass is None:
            return
        number = isinstance(self.mass, (int, float, np.number)) and not isinstance(self.mass, bool)
        if not (number and np.isfinite(self.mass) and self.mass > 0.0):
            raise InputError(f"load: mass must be finite and > 0 kg, or None to be estimated, got {self.mass!r}")


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """A payload found in one log, in the frame of the link that carries the tool.

    Attributes:
        log: name of the log.
        mass: [kg], with its deviation; known if that is 0.
        com: centre of mass, three numbers [m], link frame.
        parameters: (10,) m, mc, I about the link origin.
        covariance: (10, 10) of them.
    """

    log: str
    mass: Estimate
    com: tuple[Estimate, Estimate, Estimate]
    parameters: Array
    covariance: Array


def payload_parameters(payload: PayloadEstimate | ArrayLike) -> Array:
    """Return the ten parameters of a payload, given as a `PayloadEstimate` or as numbers; refuse anything else."""
    given = payload.parameters if isinstance(payload, PayloadEstimate) else payload
    try:
        p = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        p = np.zeros(0)
    if p.shape != (10,) or not np.isfinite(p).all():
        raise InputError(
            "payload must be a PayloadEstimate, or its 10 finite parameters (m, mc, I about the link's origin), got "
            f"{given!r:.80}; payload(model, log) weighs what a log carries"
        )
    return p


@dataclass(frozen=True, eq=False)
class Identified:
    """An identified arm.

    Attributes:
        robot: with physically consistent bodies and rotors, joint friction (its viscous and Coulomb part) and torque
            constants; the model that predicts.
        gains: (n,) drive gains [N m/A at the joint].
        friction: of the gears, with hysteresis and load.
        sigma: (n,) rms of the residual currents of the training logs, moving joints [A].
        base: estimates of the base parameters by least squares.
        gain_estimates, friction_estimates: of the others; a gain that was given has no deviation.
        hidden: parameters of single links that no motion of the joints can show by themselves.
        payloads: of the loaded logs.
        logs: names of the training logs.
        remarks: sentences about what was noticed, assumed or dropped.
        condition: condition number of the scaled normal matrix' square root.
        bands: what does not count as contact; None until `learn_bands`.
        misfit: growth of the residual's sum of squares by physical consistency, relative.
        position: friction that depends on where a joint stands; None until `fit_position_friction`.
    """

    robot: Robot
    gains: Array
    friction: GearFriction
    sigma: Array
    base: tuple[Estimate, ...]
    gain_estimates: tuple[Estimate, ...]
    friction_estimates: tuple[Estimate, ...]
    hidden: tuple[str, ...] = ()
    payloads: tuple[PayloadEstimate, ...] = ()
    logs: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    condition: float = np.nan
    misfit: float = 0.0
    bands: Bands | None = None
    position: PositionFriction | None = None

    @cached_property
    def undetermined(self) -> tuple[str, ...]:
        """Return the names of the estimates that the logs leave open."""
        return tuple(e.name for e in (*self.base, *self.gain_estimates, *self.friction_estimates) if e.value is None)

    @cached_property
    def beta(self) -> Array:
        """Return the base parameters (rank,) of the consistent robot."""
        from armwright.identify.identifiable import structure

        model = structure(self.robot)
        return np.asarray(model.base.regrouping @ model.sheet())

    @property
    def n(self) -> int:
        """Return the number of joints."""
        return self.robot.n

    def vectors(self, beta: Array | None = None) -> Array:
        """Return v (n, m) with î − i = C_j v_j (`accumulate`), for base parameters `beta`."""
        b = self.beta if beta is None else beta
        kappa = 1.0 / self.gains
        phi = self.friction.coefficients * kappa[:, None]
        motors = kappa[:, None] * self.friction.of_motors.ravel()
        return np.concatenate([kappa[:, None] * b, phi, motors, -np.ones((self.n, 1))], axis=1)

    def motor_torque(self, q: Array, qd: Array, current: Array) -> Array:
        """Return the torque (..., n) [N m] of currents (..., n) [A], less what depends on the position alone."""
        tau = current * self.gains
        return tau if self.position is None else tau - self.position.torque(q, qd)

    def __repr__(self) -> str:
        open_ = f", {len(self.undetermined)} undetermined" if self.undetermined else ""
        return f"Identified({self.robot.name!r} from {', '.join(self.logs)}: {len(self.base)} base parameters{open_})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: a row per joint."""
        from armwright.identify.fit_report import joint_rows

        return html_table(repr(self), ("joint", "gain [N m/A]", *TERMS, "residual [A]"), joint_rows(self))


def friction_names(robot: Robot) -> list[str]:
    """Return the names of the friction coefficients, joint by joint in the order of `TERMS`."""
    return [f"{joint.name}.{term}" for joint in robot.joints for term in TERMS]
