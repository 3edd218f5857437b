# SPDX-License-Identifier: Apache-2.0
"""Motor current as the torque source (004 eq. 6.6–6.9): tau = k i + b, in place of the commanded torque.

004 defines F as the wrench that the robot exerts on its surroundings, F̂ = J⁻ᵀ(k i + b − tau_model − tau_friction). Here
tau_ext is what the world does to the arm, the same with the opposite sign: feed the torque below to any observer.

What joint friction takes, as an observer believes it: the sheet's, none, or a user's own function of q̇.

Follows friction that drifts with warmth, load and age: a factor a joint, learned slowly while the arm moves.

Friction that has grown by the share s leaves tau_ext = −s φ, φ the model's friction at the desired speed. With
e = tau_ext + s φ, what s does not explain yet,

    ṡ = −rate · clip(e/φ, −1, 1)   where |q̇_ref| ≥ standstill and |e| ≤ |φ|,   |s| ≤ largest,

and s φ is added to tau_ext for the detectors that follow. What is larger than friction itself is no drift: it is left
alone. Errors of gravity average out over moves there and back.

The trade-off: in a second at most rate·φ is taken for drift, 2 % of the friction by default. A contact that grows more
slowly than that, always against the motion, is swallowed, up to largest·φ; one of 10 N m/s loses about 1 %. Drift
that is faster than `rate` is not followed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.monitor import Monitor
from armwright.control.tick_function import gain as checked
from armwright.dynamics.terms import friction_torque
from armwright.errors import InputError
from armwright.robot.measured import catalogue_drives
from armwright.robot.parts import CurrentMap
from armwright.robot.tree import as_tree

if TYPE_CHECKING:
    from armwright.robot.model import Robot
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


def _follow(
    arm: Robot | Tree,
    tau_ext: Traced,
    dt: float,
    qd_ref: Traced,
    rate: Traced,
    largest: Traced,
    standstill: Traced,
    drift: Traced,
) -> dict[str, Traced]:
    tree = as_tree(arm)
    dry = tree.coulomb * np.minimum(np.maximum(qd_ref / standstill, -1.0), 1.0)
    friction = np.array([dry[k] + tree.viscous[k, k] * qd_ref[k] for k in range(tree.n)])
    left = tau_ext + drift * friction
    moving = (np.abs(qd_ref) >= standstill) & (np.abs(left) <= np.abs(friction))
    share = left / np.where(moving, friction, 1.0)
    drift = drift - np.where(moving, rate * dt, 0.0) * np.minimum(np.maximum(share, -1.0), 1.0)
    drift = np.minimum(np.maximum(drift, -largest), largest)
    return {"tau_ext": left, "drift": drift, "friction_drift": drift}


def friction_drift(rate: float = 0.02, *, largest: float = 0.6, standstill: float = 0.1) -> Monitor:
    """Takes drifted friction out of tau_ext; stands between an observer and its detector. See the module text.

    Keep its memory from one motion to the next: it learns within a minute of motion, not within one move.

    Args:
        rate: largest change of a joint's factor [1/s], ≥ 0.
        largest: bound of the factor, < 1.
        standstill: desired speed below which nothing is learned [rad/s].

    Outputs: ``tau_ext`` (n,); ``friction_drift`` (n,), the share s by which friction has grown.
    """
    if not 0.0 < largest < 1.0:
        raise InputError(f"friction drift: largest must lie in (0, 1), got {largest}")
    gains = {
        "rate": checked(rate, "rate", size=1).reshape(()),
        "largest": largest,
        "standstill": checked(standstill, "standstill", size=1, positive=True).reshape(()),
    }
    outputs = ("tau_ext", "friction_drift")
    return Monitor("friction drift", _follow, gains, {"drift": 0.0}, outputs, friction_drift.__doc__ or "")


def ur5_current_map() -> CurrentMap:
    """The map that 004 fitted to its UR5 (eq. 6.6), from the UR5's sheet."""
    return catalogue_drives("ur5").current


def ur5_friction(*, smoothing: float = 0.0) -> DeadZoneFriction:
    """The friction that 004 fitted to its UR5 (eq. 6.2, 6.4), from the UR5's sheet."""
    joints = catalogue_drives("ur5").friction
    viscous, coulomb = (tuple(getattr(joint, key) for joint in joints) for key in ("viscous", "coulomb"))
    return DeadZoneFriction(coulomb, viscous, joints[0].dead_zone, smoothing)
