# SPDX-License-Identifier: Apache-2.0
"""Friction models of the joints, beyond the viscous and Coulomb friction that a robot carries itself.

Each model gives the torque that opposes the motion, as a traced function of speed and of its own states. `dry_bound`
is the largest torque it can hold at rest; the semi-implicit integrator uses it to let a joint really stick.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import numbers
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.types import Traced


class FrictionModel(ABC):
    """Torque lost in the joints. Parameters are scalars or (n,)."""

    state_names: tuple[str, ...] = ()
    has_dry_part: bool = False

    @abstractmethod
    def torque(self, qd: Traced, states: Mapping[str, Any], *, dry: bool = True) -> tuple[Traced, dict[str, Traced]]:
        """Return friction torque (n,) and the derivatives of the states; without its dry part if `dry` is False."""

    def dry_bound(self, qd: Traced) -> Traced:
        """Largest dry friction torque (n,) at speed qd."""
        return np.zeros(len(qd))


def _checked(model: FrictionModel, **positive: bool) -> None:
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
    creeps at rest. With the
    semi-implicit integrator the dry part is solved for instead, and holds.
    """

    viscous: Any
    coulomb: Any
    static: Any
    stribeck_speed: Any
    smoothing: Any = 1e-3
    has_dry_part = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        _checked(self, viscous=False, coulomb=False, static=False, stribeck_speed=True, smoothing=True)

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


@dataclass(frozen=True, eq=False)
class LuGre(FrictionModel):
    """Bristles that bend: presliding, stiction and the Stribeck effect in one state a joint.

    ż = v − σ0 |v| z / s(v),   τ = σ0 z + σ1 ż + σ2 v,   s = `stribeck_curve` (Canudas de Wit et al. 1995).
    """

    sigma0: Any
    sigma1: Any
    sigma2: Any
    coulomb: Any
    static: Any
    stribeck_speed: Any
    state_names = ("bristle",)

    def __post_init__(self) -> None:
        """Check the parameters."""
        _checked(self, sigma0=True, sigma1=False, sigma2=False, coulomb=True, static=True, stribeck_speed=True)

    def torque(self, qd: Traced, states: Mapping[str, Any], *, dry: bool = True) -> tuple[Traced, dict[str, Traced]]:
        """See the class."""
        z = states["bristle"]
        level = stribeck_curve(qd, self.coulomb, self.static, self.stribeck_speed)
        zd = qd - self.sigma0 * np.abs(qd) / level * z
        return self.sigma0 * z + self.sigma1 * zd + self.sigma2 * qd, {"bristle": zd}


@dataclass(frozen=True, eq=False)
class Dahl(FrictionModel):
    """Friction of a gear as identification finds it: viscous, degressive, and Coulomb friction with memory of the way.

    ḣ = (v − |v| h)/δ,   τ = viscous·v + degressive·v|v| + coulomb·h + offset (Dahl 1968). What grows with load is not
    in it: a friction model sees speeds only. |v|/δ is a rate of thousands a second: take "rodas3", or a larger δ.
    """

    viscous: Any
    coulomb: Any
    degressive: Any = 0.0
    offset: Any = 0.0
    dahl: Any = 2e-4
    state_names = ("hysteresis",)

    def __post_init__(self) -> None:
        """Check the parameters; the degressive part and the offset may have any sign."""
        _checked(self, viscous=False, coulomb=False, dahl=True)
        for name in ("degressive", "offset"):
            value = numbers(getattr(self, name), f"Dahl: {name}")
            if not np.isfinite(value).all():
                raise InputError(f"Dahl: {name} must be finite, got {value}")
            object.__setattr__(self, name, value)

    def torque(self, qd: Traced, states: Mapping[str, Any], *, dry: bool = True) -> tuple[Traced, dict[str, Traced]]:
        """See the class."""
        h = states["hysteresis"]
        hd = (qd - np.abs(qd) * h) / self.dahl
        smooth = self.viscous * qd + self.degressive * qd * np.abs(qd) + self.offset
        return smooth + self.coulomb * h, {"hysteresis": hd}
