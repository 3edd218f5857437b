# SPDX-License-Identifier: Apache-2.0
"""The joint servo of the virtual controller, and the eye that watches it: both know the load they are told.

    a = q̈_r + k_p e + k_d ė + z,     ż = k_i e  outside a dead band, |z| ≤ z_max
    τ = M(q) a + C q̇ + g + ν_v q̇_r + ν_c tanh(q̇_r/v_0 + e/(e_0 (1 + (q̇/v_1)²))),  limited to what joints can give

Dry friction is fed forward in the direction of the *reference*, and for an arm at rest in that of the error, so that it
does not stick short of its goal; never more than there is, so it cannot drive the arm by itself. An arm that moves
does not stick: there the error's part would only be a gain that ticks of 2 ms cannot hold. The integral takes what
the model does not know (a load it was not told), and rests within a dead band, so that nothing hunts. Triple pole at
30 rad/s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.detectors.joints import joint_detector
from armwright.contact.monitor import Monitor
from armwright.contact.observers.momentum import momentum_observer
from armwright.control.law import Law
from armwright.dynamics.newton_euler import rnea
from armwright.graph.by_name import call_by_name
from armwright.lab.body import carrying
from armwright.robot.tree import as_tree

if TYPE_CHECKING:
    from armwright.motion.reference import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

POLE = 30.0  # [rad/s]
DEAD_BAND = 5e-5  # [rad]
CLOSE = 3e-5  # e_0 [rad]
MOST = 60.0  # of the integral [rad/s²]
SMOOTH = 0.01  # v_0 [rad/s]
STICKING = 0.05  # v_1 [rad/s]: faster than that an arm does not stick
OBSERVER = 50.0  # gain of the observer [1/s]
LARGE_JOINTS, SMALL_JOINTS = 45.0, 12.0  # thresholds [N m] where the effort limit is above 100 N m, and below


def servo(robot: Robot) -> Law:
    """The law above, for an arm with friction and effort limits of its own; memory: integral (n,), load (4,)."""
    most = np.array([joint.limits.effort for joint in robot.joints])

    def torque(
        arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, dt: Traced, integral: Traced, load: Traced
    ) -> tuple[Traced, dict[str, Traced]]:
        tree = as_tree(arm)
        e = ref.q - q
        a = ref.qdd + 3.0 * POLE**2 * e + 3.0 * POLE * (ref.qd - qd) + integral
        tau = rnea(carrying(tree, load), q, qd, a, friction=False)
        stuck = e / (CLOSE * (1.0 + (qd / STICKING) ** 2))
        tau = tau + tree.viscous @ ref.qd + tree.coulomb * np.tanh(ref.qd / SMOOTH + stuck)
        grown = integral + dt * POLE**3 * np.where(np.abs(e) > DEAD_BAND, e, 0.0 * e)
        tau = np.array(
            [np.minimum(np.maximum(tau[k], -m), m) if np.isfinite(m) else tau[k] for k, m in enumerate(most)]
        )
        return tau, {"integral": np.minimum(np.maximum(grown, -MOST), MOST), "load": load}

    return Law("lab servo", torque, {}, {"integral": 0.0, "load": np.zeros(4)})


def watch(robot: Robot, *, sensitivity: float = 1.0) -> tuple[Monitor, Monitor]:
    """Observer of external torque and detector of collisions; the observer's memory holds the load it is told.

    Args:
        robot: the arm.
        sensitivity: divides the thresholds of 45 N m (12 N m for joints that give less than 100 N m).
    """
    inner = momentum_observer(OBSERVER)

    def observe(
        arm: Robot | Tree,
        dt: float,
        q: Traced,
        qd: Traced,
        tau: Traced,
        gain: Traced,
        r: Traced,
        carry: Traced,
        started: Traced,
        load: Traced,
    ) -> dict[str, Traced]:
        signals = {"dt": dt, "q": q, "qd": qd, "tau": tau, "gain": gain, "r": r, "carry": carry, "started": started}
        seen: dict[str, Traced] = call_by_name(inner.function, {"arm": carrying(as_tree(arm), load), **signals})
        return seen | {"load": load}

    observer = Monitor("momentum", observe, inner.gains, {**inner.memory, "load": np.zeros(4)}, inner.outputs)
    return observer, joint_detector(thresholds(robot) / sensitivity)


def thresholds(robot: Robot) -> Array:
    """Thresholds of the collision detector (n,) [N m]."""
    effort = np.array([joint.limits.effort for joint in robot.joints])
    return np.where(effort > 100.0, LARGE_JOINTS, SMALL_JOINTS)
