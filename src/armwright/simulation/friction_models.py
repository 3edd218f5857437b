# SPDX-License-Identifier: Apache-2.0
"""Friction models of the joints, beyond the viscous and Coulomb friction that a robot carries itself.

Each model gives the torque that opposes the motion, as a traced function of speed and of its own states. The
semi-implicit integrator does not evaluate what is set-valued or stiff at rest, it solves for it: up to `dry_bound` a
joint really sticks (karnopp_friction.py adds a zone of speeds that count as rest), and bristles bend with the speed at
the end of the step (`solved`, bristle_friction.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import numbers
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.types import Traced


class Solved(NamedTuple):
    """Friction over one step as a linear function of the speed v⁺ at its end: constant + slope·v⁺, n values each.

    `after` gives the friction's states at the end of the step from v⁺ (n,).
    """

    constant: Traced
    slope: Traced
    after: Callable[[Any], dict[str, Any]]


class FrictionModel(ABC):
    """Torque lost in the joints. Parameters are scalars or (n,).

    Attributes:
        state_names: states of the model, n numbers each. has_dry_part: set-valued at rest, up to `dry_bound`.
        is_solved: the semi-implicit integrator solves for the states, see `solved`.
        only_held: the model says what holds a joint at rest and not how it creeps: semi-implicit integrator only.
    """

    state_names: tuple[str, ...] = ()
    has_dry_part: bool = False
    is_solved: bool = False
    only_held: bool = False

    @abstractmethod
    def torque(self, qd: Traced, states: Mapping[str, Any], *, dry: bool = True) -> tuple[Traced, dict[str, Traced]]:
        """Return friction torque (n,) and the derivatives of the states; if `dry` is False without what is solved for.

        That is the part up to `dry_bound`, and all of a model that `is_solved`.
        """

    def dry_bound(self, qd: Traced) -> Traced:
        """Largest dry friction torque (n,) at speed qd."""
        return np.zeros(len(qd))

    def stick_zone(self, count: int) -> Traced | None:
        """Speeds (n,) below which the joints count as standing (Karnopp); None where only rest is rest."""
        return None

    def solved(self, qd: Traced, states: Mapping[str, Any], h: Traced) -> Solved:
        """Return the friction over a step h from speed qd as a function of the speed at its end."""
        raise NotImplementedError(type(self).__name__)


def check_positive(model: FrictionModel, **positive: bool) -> None:
    """Take the parameters as arrays; refuse negative or non-finite ones. Those marked True must be > 0."""
    for name, strict in positive.items():
        value = numbers(getattr(model, name), f"{type(model).__name__}: {name}")
        object.__setattr__(model, name, value)
        wrong = value <= 0.0 if strict else value < 0.0
        if not np.isfinite(value).all() or wrong.any():
            raise InputError(
                f"{type(model).__name__}: {name} must be finite and {'> 0' if strict else '≥ 0'}, got {value}"
            )


def stribeck_curve(speed: Traced, coulomb: Traced, static: Traced, stribeck_speed: Traced) -> Traced:
    """F_c + (F_s − F_c) exp(−(v/v_s)²): the level of dry friction at |v|."""
    return coulomb + (static - coulomb) * np.exp(-((speed / stribeck_speed) ** 2))


@dataclass(frozen=True, eq=False)
class Frictionless(FrictionModel):
    """No friction at all, whatever the robot's sheet says."""

    def torque(self, qd: Traced, states: Mapping[str, Any], *, dry: bool = True) -> tuple[Traced, dict[str, Traced]]:
        """Zero."""
        return 0.0 * qd, {}


@dataclass(frozen=True, eq=False)
class Stribeck(FrictionModel):
    """Viscous friction and dry friction that falls from `static` to `coulomb` with speed.

    τ = viscous·v + s(v)·tanh(v/smoothing), s = `stribeck_curve`. The smoothing makes it integrable by any method; it
    creeps at rest. With the semi-implicit integrator the dry part is solved for instead, and holds.
    """

    viscous: Any
    coulomb: Any
    static: Any
    stribeck_speed: Any
    smoothing: Any = 1e-3
    has_dry_part = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_positive(self, viscous=False, coulomb=False, static=False, stribeck_speed=True, smoothing=True)

    def torque(self, qd: Traced, states: Mapping[str, Any], *, dry: bool = True) -> tuple[Traced, dict[str, Traced]]:
        """See the class."""
        smooth = self.viscous * qd
        if not dry:
            return smooth, {}
        level = stribeck_curve(qd, self.coulomb, self.static, self.stribeck_speed)
        return smooth + level * np.tanh(qd / self.smoothing), {}

    def dry_bound(self, qd: Traced) -> Traced:
        """Stribeck level at the present speed."""
        return stribeck_curve(qd, self.coulomb, self.static, self.stribeck_speed) + 0.0 * qd
