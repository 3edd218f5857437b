# SPDX-License-Identifier: Apache-2.0
"""Motor current as the torque source (004 §3.8–3.10): tau = k i + b, in place of the commanded torque.

004 defines F as the wrench that the robot exerts on its surroundings, F̂ = J⁻ᵀ(k i + b − tau_model − tau_friction). Here
tau_ext is what the world does to the arm, the same with the opposite sign: feed the torque below to any observer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.observers.losses import DeadZoneFriction
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class CurrentMap:
    """Joint torque from motor current, element by element: tau = k i + b (004 eq. 6.6).

    Attributes:
        k: [N m/A] at the joint, (n,), not zero.
        b: [N m], (n,).
    """

    k: Array
    b: Array

    def __post_init__(self) -> None:
        """Refuse what cannot be a map."""
        k, b = np.array(self.k, dtype=np.float64), np.array(self.b, dtype=np.float64)
        if k.ndim != 1 or k.shape != b.shape or not np.isfinite([k, b]).all() or (k == 0.0).any():
            raise InputError(
                f"current map: k and b must be finite, (n,) each, k ≠ 0; got {k.tolist()} and {b.tolist()}"
            )
        for name, value in (("k", k), ("b", b)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def torque(self, current: ArrayLike) -> Array:
        """Joint torque (..., n) [N m] of motor currents (..., n) [A]."""
        return self._rows(current, "current") * self.k + self.b

    def current(self, tau: ArrayLike) -> Array:
        """Motor currents (..., n) [A] that give joint torques (..., n) [N m]."""
        return (self._rows(tau, "tau") - self.b) / self.k

    def _rows(self, value: ArrayLike, what: str) -> Array:
        array = np.asarray(value, dtype=np.float64)
        if array.shape[-1:] != self.k.shape or not np.isfinite(array).all():
            raise InputError(
                f"current map: {what} must be (..., {len(self.k)}) finite numbers, got shape {array.shape}"
            )
        return array


def ur5_current_map() -> CurrentMap:
    """The map that 004 fitted to its UR5 (eq. 6.6)."""
    return CurrentMap(np.array([7.5, 6.8, 7.1, 2.8, 3.2, 3.4]), np.array([-0.61, 16.0, 4.5, 0.84, 0.064, 0.099]))


def ur5_friction(*, smoothing: float = 0.0) -> DeadZoneFriction:
    """The friction that 004 fitted to its UR5 (eq. 6.2, 6.4): ν_c and ν_v share their numbers, δ = 0.02 rad/s."""
    values = (7.2, 5.5, 5.7, 0.7, 0.7, 0.65)
    return DeadZoneFriction(values, values, 0.02, smoothing)
