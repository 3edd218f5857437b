# SPDX-License-Identifier: Apache-2.0
"""A load on the tool that the model does not know, from the external torques of an arm at rest.

At rest the load's weight is all that the model misses: tau_ext = −Y(q) π with π = (m, m c) and Y the columns of the
regressor (`body_regressor`) of the body that carries the tool. Y depends on the configuration, π does not: several
add up.

What gravity does not tell is, in one configuration, how high along gravity the centre lies. The estimate is Gaussian
with a wide prior, so that what is not seen keeps the prior's spread. Friction holds an arm at rest as weight does: take
`std` as large as the Coulomb friction of the joints unless it was broken loose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.regressor import body_regressor
from armwright.errors import InputError, NotSupportedError
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

PRIOR = np.array([10.0, 2.0, 2.0, 2.0])
"""Standard deviation before anything is measured [kg, kg m]: what small arms carry, 0.2 m from the flange. It decides
only what the torques do not show."""
LOAD_DEVIATIONS = 3.0
"""Standard deviations above which a load counts as present: 1 of 370 arms without one would seem to carry it."""


class LoadEstimate(NamedTuple):
    """A load beyond the model's, as far as the torques tell.

    Attributes:
        mass: [kg], negative where the model carries too much. mass_std: its standard deviation.
        moment: m·c (3,) in the tool frame [kg m]. moment_std: of each entry.
        covariance: (4, 4) of (mass, moment).
        misfit: root mean square of what is left of tau_ext, in `std`s: well above 1 where it is no load at rest.
    """

    mass: float
    mass_std: float
    moment: Array
    moment_std: Array
    covariance: Array
    misfit: float

    @property
    def centre(self) -> Array:
        """Centre c (3,) in the tool frame [m]: moment over mass; NaN where no mass is clearly present."""
        return self.moment / self.mass if self.mass > LOAD_DEVIATIONS * self.mass_std else np.full(3, np.nan)

    def added_to(self, robot: Robot) -> Robot:
        """Return the model with this load as a point mass on its tool; the model itself without a clear load."""
        return robot.with_payload(self.mass, self.centre) if self.mass > LOAD_DEVIATIONS * self.mass_std else robot

    def warning(self) -> str | None:
        """Return one sentence where a load is clearly present, or missing; None otherwise."""
        if abs(self.mass) <= LOAD_DEVIATIONS * self.mass_std:
            return None
        more = "more" if self.mass > 0.0 else "less"
        return (
            f"thresholds were learned with another load: the arm at rest carries {abs(self.mass):.2f} ± "
            f"{self.mass_std:.2f} kg {more} than its model; add it (with_payload) or learn again"
        )


def estimate_load(robot: Robot, q: ArrayLike, tau_ext: ArrayLike, std: ArrayLike) -> LoadEstimate:
    """Estimate the load on the tool from an observer's torques at rest, in one configuration or several.

    Args:
        robot: the observer's model.
        q: configurations (n,) or (k, n).
        tau_ext: external torque in each of them, settled: means over some time at rest; as q [N m].
        std: standard deviation of each entry of tau_ext by noise, errors of the model and friction at rest; > 0, scalar
            or (n,) [N m].

    >>> estimate_load(robot, q, tau_ext, std=2.0).mass  # [kg]
    """
    n = robot.n
    configurations, torque = (np.atleast_2d(np.asarray(x, dtype=np.float64)) for x in (q, tau_ext))
    if configurations.ndim != 2 or configurations.shape[1] != n or torque.shape != configurations.shape:
        raise InputError(
            f"load: q and tau_ext must both be ({n},) or (k, {n}), got {configurations.shape}, {torque.shape}"
        )
    spread = np.broadcast_to(np.asarray(std, dtype=np.float64), (n,)) if np.ndim(std) <= 1 else np.zeros(n)
    if not (np.isfinite(configurations).all() and np.isfinite(torque).all()) or not (spread > 0.0).all():
        raise InputError("load: q and tau_ext must be finite, std positive, a scalar or one per joint")
    if robot.tip < 0:
        raise NotSupportedError(f"load: the tool of {robot.name!r} is on its fixed root link; no joint feels it")
    Y = np.array([_tool_columns(robot, configuration) for configuration in configurations])
    A = (-Y / spread[:, None]).reshape(-1, 4)
    b = (torque / spread).ravel()
    covariance: Array = np.asarray(np.linalg.inv(A.T @ A + np.diag(PRIOR**-2)), dtype=np.float64)
    found = covariance @ (A.T @ b)
    misfit = float(np.sqrt(np.mean((b - A @ found) ** 2)))
    error = np.sqrt(np.diag(covariance))
    return LoadEstimate(float(found[0]), float(error[0]), found[1:], error[1:], covariance, misfit)


def _tool_columns(robot: Robot, q: Array) -> Array:
    """Return the torque (n, 4) that holds a unit of mass and of each moment m·c in the tool frame at rest."""
    still = np.zeros(robot.n)
    every: Any = kernel(robot, body_regressor)(q, still, still)
    link = np.asarray(every)[:, 10 * robot.tip : 10 * robot.tip + 4]
    # moments about the link frame: h_link = R h_tool + m p
    T = robot.T_tip_tool
    return np.concatenate([link[:, :1] + link[:, 1:] @ T[:3, 3:], link[:, 1:] @ T[:3, :3]], axis=1)
