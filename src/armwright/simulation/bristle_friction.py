# SPDX-License-Identifier: Apache-2.0
"""Friction with memory of the way: bristles that bend before they slide (LuGre), and Dahl's hysteresis of a gear.

Both have one state z a joint that follows the motion over a way ℓ: ż = v − |v| z/ℓ. The rate |v|/ℓ is thousands a
second and the bristles are as stiff as springs of 1e5 N m/rad, so an explicit step of 1 ms cannot follow. The
semi-implicit integrator takes z and v at the end of the step and only the rate at a speed w that it knows,

    z⁺ = (z + h v⁺)/(1 + a),   a = h |w|/ℓ(w),

which is linear in v⁺: a solve with M + h·slope, stable for every stiffness. w is the speed at the beginning of the
step, then v⁺ as it was found, again (`integrators.BRISTLE_ROUNDS`). With v⁺ and z⁺ at the end of the step,

    h τ v⁺ − ½σ0 (z⁺² − z²) ≥ h (σ0 α z⁺² − σ1 α z⁺ v⁺ + (σ1 + σ2) v⁺²),   α = σ0 |w|/s(w),   σ1 = σ1(w),

so that no step gives energy back, whatever w is, if σ1(w)|w| ≤ 4 s(w): the same condition as for the differential
equation (`LuGre.passive`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import numbers
from armwright.errors import InputError
from armwright.simulation.friction_models import FrictionModel, Solved, check_positive, stribeck_curve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Traced

STEEPEST = float(np.sqrt(2.0 * np.e))  # 1/max of x·exp(−x²)


@dataclass(frozen=True, eq=False)
class LuGre(FrictionModel):
    """Bristles that bend: presliding, stiction and the Stribeck effect in one state a joint.

    ż = v − σ0 |v| z / s(v),   τ = σ0 z + σ1(v) ż + σ2 v,   s = `stribeck_curve` (Canudas de Wit et al. 1995).

    σ1(v) = sigma1·exp(−(v/damping_speed)²): the bristles' damping fades with speed; constant by default. See `passive`.
    """

    sigma0: Any
    sigma1: Any
    sigma2: Any
    coulomb: Any
    static: Any
    stribeck_speed: Any
    damping_speed: Any = np.inf
    state_names = ("bristle",)
    is_solved = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_positive(self, sigma0=True, sigma1=False, sigma2=False, coulomb=True, static=True, stribeck_speed=True)
        speed = numbers(self.damping_speed, "LuGre: damping_speed")
        if not (speed > 0.0).all():
            raise InputError(f"LuGre: damping_speed must be > 0 (inf for damping that does not fade), got {speed}")
        object.__setattr__(self, "damping_speed", speed)

    @property
    def passive(self) -> NDArray[np.bool_]:
        """Where the model can never give back more energy than it was given; a scalar or (n,).

        Sufficient are σ2 ≥ σ1 (F_s − F_c)/F_c (Barabanov and Ortega 2000), or damping that fades fast enough,
        σ1(v)|v| ≤ 4 s(v), which holds at every speed if sigma1·damping_speed/√(2e) ≤ 4 min(F_c, F_s) (after Olsson
        1996). Otherwise a motion can be found that draws energy from the bristles' damping.
        """
        near = 1.0 + 1e-9  # a speed that was computed from this condition meets it
        enough = near * self.sigma2 * self.coulomb >= self.sigma1 * (self.static - self.coulomb)
        finite = np.where(np.isfinite(self.damping_speed), self.damping_speed, 0.0)
        fades = np.isfinite(self.damping_speed) & (
            self.sigma1 * finite / STEEPEST <= near * 4.0 * np.minimum(self.coulomb, self.static)
        )
        return np.asarray(enough | fades | (self.sigma1 == 0.0))

    def _parts(self, qd: Traced) -> tuple[Traced, Traced]:
        """Rate of the bristles σ0|v|/s(v) [1/s] and their damping σ1(v), (n,) each."""
        level = stribeck_curve(qd, self.coulomb, self.static, self.stribeck_speed)
        damping = self.sigma1 + 0.0 * qd
        if np.isfinite(self.damping_speed).any():
            speed = np.where(np.isfinite(self.damping_speed), self.damping_speed, 1e9)  # a graph has no infinity
            damping = damping * np.exp(-((qd / speed) ** 2))
        return self.sigma0 * np.abs(qd) / level, damping

    def torque(self, qd: Traced, states: Mapping[str, Any], *, dry: bool = True) -> tuple[Traced, dict[str, Traced]]:
        """See the class."""
        z = states["bristle"]
        if not dry:
            return 0.0 * qd, {"bristle": 0.0 * z}
        rate, damping = self._parts(qd)
        zd = qd - rate * z
        return self.sigma0 * z + damping * zd + self.sigma2 * qd, {"bristle": zd}

    def solved(self, qd: Traced, states: Mapping[str, Any], h: Traced) -> Solved:
        """z⁺ = (z + h v⁺)/(1 + a), τ = σ0 z⁺ + σ1 (z⁺ − z)/h + σ2 v⁺."""
        z = states["bristle"]
        rate, damping = self._parts(qd)
        share = 1.0 / (1.0 + h * rate)
        stiffness = self.sigma0 + damping / h
        constant = stiffness * share * z - damping / h * z
        return Solved(constant, stiffness * share * h + self.sigma2, lambda speed: {"bristle": share * (z + h * speed)})


@dataclass(frozen=True, eq=False)
class Dahl(FrictionModel):
    """Friction of a gear as identification finds it: viscous, degressive, and Coulomb friction with memory of the way.

    ḣ = (v − |v| h)/δ,   τ = viscous·v + degressive·v|v| + coulomb·h + offset (Dahl 1968). What grows with load is not
    in it: a friction model sees speeds only. |v|/δ is a rate of thousands a second: take "semi-implicit", "rodas3", or
    a larger δ.
    """

    viscous: Any
    coulomb: Any
    degressive: Any = 0.0
    offset: Any = 0.0
    dahl: Any = 2e-4
    state_names = ("hysteresis",)
    is_solved = True

    def __post_init__(self) -> None:
        """Check the parameters; the degressive part and the offset may have any sign."""
        check_positive(self, viscous=False, coulomb=False, dahl=True)
        for name in ("degressive", "offset"):
            value = numbers(getattr(self, name), f"Dahl: {name}")
            if not np.isfinite(value).all():
                raise InputError(f"Dahl: {name} must be finite, got {value}")
            object.__setattr__(self, name, value)

    def _smooth(self, qd: Traced) -> Traced:
        return self.viscous * qd + self.degressive * qd * np.abs(qd) + self.offset

    def torque(self, qd: Traced, states: Mapping[str, Any], *, dry: bool = True) -> tuple[Traced, dict[str, Traced]]:
        """See the class."""
        h = states["hysteresis"]
        if not dry:
            return self._smooth(qd), {"hysteresis": 0.0 * h}
        return self._smooth(qd) + self.coulomb * h, {"hysteresis": (qd - np.abs(qd) * h) / self.dahl}

    def solved(self, qd: Traced, states: Mapping[str, Any], h: Traced) -> Solved:
        """The hysteresis at the end of the step, as z/δ of the bristles; what is smooth stays where it was."""
        bent = states["hysteresis"]
        share = 1.0 / (1.0 + h * np.abs(qd) / self.dahl)
        reach = h / self.dahl
        return Solved(
            self.coulomb * share * bent,
            self.coulomb * share * reach,
            lambda speed: {"hysteresis": share * (bent + reach * speed)},
        )
