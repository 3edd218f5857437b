# SPDX-License-Identifier: Apache-2.0
"""No torque at all: the arm moves by itself (002 §5.1, the open-loop runs)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.control.law import Law
from armwright.dynamics.energy import energy

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def zero_torque(q: Traced) -> Traced:
    """Tau = 0 (n,)."""
    return 0.0 * q


def mechanical_energy(arm: Robot | Tree, q: Traced, qd: Traced) -> Traced:
    """V = ½ q̇ᵀM q̇ + P(q) [J], up to a constant where the arm is regrouped."""
    return energy(arm, q, qd).total


def zero() -> Law:
    """Zero torque: tau = 0.

    Storage: the mechanical energy V = ½q̇ᵀMq̇ + P. Claim: V̇ = −q̇·friction; constant without friction.
    """
    return Law("zero torque", zero_torque, storage=mechanical_energy, doc=zero.__doc__ or "")
