# SPDX-License-Identifier: Apache-2.0
"""A friction model by its name, with the robot's own friction where nothing else is said."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit, numbers
from armwright.choices import FRICTIONS
from armwright.dynamics import mass_matrix
from armwright.errors import InputError
from armwright.robot.tree import tree_of
from armwright.simulation.bristle_friction import STEEPEST

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.simulation.friction_models import FrictionModel
    from armwright.types import Array

STRIBECK_SPEED = 0.1  # rad/s: where friction has fallen from its static level, as identification looks for it
PRESLIDING = 2e-4  # rad: way of a gear before it slides, as found on a UR10e's logs (Dahl's δ)


@names_culprit
def friction_of(robot: Robot, name: str, q: ArrayLike | None = None, **values: Any) -> FrictionModel:
    """Return the friction model of this name (`FRICTIONS`) with the robot's own friction where nothing is given.

    Args:
        robot: its viscous and Coulomb friction are taken for `viscous`, `sigma2` and `coulomb`.
        name: "none", "stribeck", "karnopp", "lugre", "dahl", or what a plug-in adds.
        q: posture (n,) whose inertia scales the damping of bristles; zero by default.
        **values: parameters of the model, each a number or (n,), in place of the robot's own and of these: `static` as
            large as `coulomb` (no Stribeck effect), `stribeck_speed` 0.1 rad/s, `sigma0` so that a joint gives way by
            0.2 mrad, `sigma1` half of critical, `damping_speed` as large as passivity allows.

    Raises:
        InputError: the name or a value is unknown, or the robot has none of the friction that the model needs.

    >>> friction_of(load("ur5"), "lugre", coulomb=[6, 8, 5, 1, 1, 1], static=[9, 12, 7, 1.5, 1.5, 1.5])
    """
    make: Callable[..., FrictionModel] = FRICTIONS.find(
        name, lambda valid: InputError(f"friction_of: friction {name!r:.60} is unknown; valid are {valid}")
    )
    takes = inspect.signature(make).parameters
    strange = sorted(set(values) - set(takes))
    if strange:
        raise InputError(
            f"friction_of: friction {name!r} has no value {', '.join(strange)}; it takes {', '.join(takes) or 'none'}"
        )
    given: dict[str, Any] = {key: _value(robot, key, value) for key, value in values.items()}
    known = _Known(robot, given, q)
    for key in takes:
        if key not in given and hasattr(known, key):
            given[key] = getattr(known, key)()
    return make(**given)


def _value(robot: Robot, key: str, value: ArrayLike) -> Array:
    """A number or one per joint."""
    array = numbers(value, f"friction_of: {key}")
    if array.shape not in ((), (robot.n,)):
        raise InputError(f"friction_of: {key} must be a number or ({robot.n},) for {robot.name!r}, got {array.shape}")
    return array


class _Known:
    """Values of a model that follow from the robot and from each other, by their names."""

    def __init__(self, robot: Robot, given: dict[str, Any], q: ArrayLike | None) -> None:
        self.robot, self.given, self.tree = robot, given, tree_of(robot)
        self.q = np.zeros(robot.n) if q is None else numbers(q, "friction_of: q")

    def _of(self, key: str) -> Array:
        return np.asarray(self.given[key] if key in self.given else getattr(self, key)(), dtype=np.float64)

    def viscous(self) -> Array:
        diagonal = np.diag(np.diag(self.tree.viscous))
        if np.abs(self.tree.viscous - diagonal).max() > 0.0:
            raise InputError(
                f"friction_of: the motors of {self.robot.name!r} couple the viscous friction of its joints, which a "
                "friction model cannot; give viscous=… (sigma2=… for lugre), a number or one per joint"
            )
        return np.diag(self.tree.viscous).copy()

    def sigma2(self) -> Array:
        return self.viscous()

    def coulomb(self) -> Array:
        if not (self.tree.coulomb > 0.0).all():
            without = [joint.name for joint in self.robot.joints if joint.friction.coulomb <= 0.0]
            raise InputError(
                f"friction_of: {self.robot.name!r} has no Coulomb friction of its own at {', '.join(without)}; give "
                "coulomb=…, a number or one per joint [N m]"
            )
        return self.tree.coulomb.copy()

    def static(self) -> Array:
        return self._of("coulomb")

    def stribeck_speed(self) -> float:
        return STRIBECK_SPEED

    def sigma0(self) -> Array:
        return self._of("static") / PRESLIDING

    def sigma1(self) -> Array:
        return np.sqrt(self._of("sigma0") * np.diag(mass_matrix(self.robot, self.q)))

    def damping_speed(self) -> Array:
        least = 4.0 * np.minimum(self._of("coulomb"), self._of("static"))
        sigma1 = self._of("sigma1")
        return np.where(sigma1 > 0.0, least * STEEPEST / np.where(sigma1 > 0.0, sigma1, 1.0), np.inf)
