# SPDX-License-Identifier: Apache-2.0
"""What joint friction takes, as an observer believes it: the sheet's, none, or a user's own function of q̇."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.terms import friction_torque
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.robot.tree import Tree
    from armwright.types import Traced

Losses = bool | Callable[[Any], Any]
"""True: the robot's own friction. False: none. A function: friction torque (n,) at q̇ (n,), traced."""


def lost(tree: Tree, qd: Traced, friction: Losses) -> Traced:
    """Friction torque (n,) at qd (n,)."""
    if callable(friction):
        return friction(qd)
    return friction_torque(tree, qd) if friction else np.zeros(tree.n)


@dataclass(frozen=True)
class DeadZoneFriction:
    """Viscous and Coulomb friction with a dead zone (004 eq. 3.12, 6.4): ν_v q̇ + ν_c sgn(q̇), no dry part for |q̇| ≤ δ.

    Attributes:
        coulomb: ν_c [N m], one per joint.
        viscous: ν_v [N m s/rad], one per joint.
        dead_zone: δ [rad/s].
        smoothing: where > 0, sgn is replaced by tanh((|q̇| − δ)/smoothing): measured velocities are noisy.
    """

    coulomb: tuple[float, ...]
    viscous: tuple[float, ...]
    dead_zone: float = 0.02
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        """Refuse negative and non-finite values."""
        for name in ("coulomb", "viscous"):
            values = tuple(float(x) for x in np.ravel(np.asarray(getattr(self, name), dtype=np.float64)))
            object.__setattr__(self, name, values)
            if not np.isfinite(values).all() or min(values, default=0.0) < 0.0:
                raise InputError(f"friction: {name} must be finite and ≥ 0, got {values}")
        if len(self.coulomb) != len(self.viscous):
            raise InputError(f"friction: {len(self.coulomb)} Coulomb and {len(self.viscous)} viscous coefficients")
        if not (self.dead_zone >= 0.0 and self.smoothing >= 0.0 and np.isfinite(self.dead_zone + self.smoothing)):
            raise InputError("friction: dead_zone and smoothing must be finite and ≥ 0")

    def __call__(self, qd: Traced) -> Traced:
        """Friction torque (n,)."""
        if len(qd) != len(self.coulomb):
            raise InputError(f"friction: coefficients for {len(self.coulomb)} joints, the arm has {len(qd)}")
        out = []
        for k, (dry, viscous) in enumerate(zip(self.coulomb, self.viscous, strict=True)):
            past = np.abs(qd[k]) - self.dead_zone
            level = np.tanh(past / self.smoothing) if self.smoothing else 1.0
            out.append(viscous * qd[k] + np.where(past > 0.0, dry * level, 0.0) * np.sign(qd[k]))
        return np.array(out)
