# SPDX-License-Identifier: Apache-2.0
"""Mass properties from <inertial>: what is impossible is refused, bodies welded together become one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.robot.check_bodies import body_findings
from armwright.robot.urdf.values import MAX_INERTIA, MAX_MASS, number, pose_of
from armwright.robot.urdf.xml_safe import Node
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array

TINY = 1e-15  # kg m², a gram at a micrometre: what is left of zero when axes are turned and bodies joined
TRIANGLE_SLACK = 0.01  # figures in files are rounded: I1 + I2 ≥ (1 − slack)·I3


@dataclass(frozen=True, slots=True, eq=False)
class RigidMass:
    """Mass [kg], centre of mass [m] and inertia about it [kg m²], all in one frame's axes."""

    mass: float
    com: Array
    inertia: Array

    @staticmethod
    def zero() -> RigidMass:
        """Nothing."""
        return RigidMass(0.0, np.zeros(3), np.zeros((3, 3)))

    def seen_from(self, T_a_b: Array) -> RigidMass:
        """The same mass, known in frame b, expressed in frame a."""
        R = T_a_b[:3, :3]
        inertia = R @ self.inertia @ R.T
        return RigidMass(self.mass, R @ self.com + T_a_b[:3, 3], 0.5 * (inertia + inertia.T))

    def welded(self, other: RigidMass) -> RigidMass:
        """Both as one rigid body, in the same axes (parallel axis theorem)."""
        mass = self.mass + other.mass
        inertia = self.inertia + other.inertia
        if self.mass == 0.0 or other.mass == 0.0:
            return RigidMass(mass, other.com if self.mass == 0.0 else self.com, inertia)
        S = skew(other.com - self.com)
        com = self.com + (other.mass / mass) * (other.com - self.com)
        return RigidMass(mass, com, inertia - (self.mass * other.mass / mass) * S @ S)


def read_inertial(node: Node) -> RigidMass:
    """Read <inertial> and rotate it to link axes; refuse negative mass."""
    element = node.need("mass")
    mass = number(element, "value", MAX_MASS)
    if mass < 0.0:
        element.fail(f"mass = {mass:g} kg is negative; it must be ≥ 0", "mass-positive")
    element = node.need("inertia")
    xx, xy, xz, yy, yz, zz = (number(element, name, MAX_INERTIA) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return RigidMass(mass, np.zeros(3), inertia).seen_from(pose_of(node))


def negative_moment(mass: RigidMass) -> str | None:
    """Reason if a principal moment of inertia is negative, None if all are positive or zero."""
    principal = np.linalg.eigvalsh(mass.inertia)
    if principal[0] >= -max(1e-9 * np.abs(principal).max(), TINY):
        return None
    return f"principal moments of inertia {_listed(principal)} kg m²: none may be negative"


def implausible(
    mass: RigidMass, *, joint: Array, axis: Array | None, ends: list[Array], extent: float
) -> tuple[str, str] | None:
    """Reason and rule if no real body has these mass properties, None if one might.

    Sizes are judged as `armwright check` judges them (`armwright.robot.check_bodies`), its errors only.

    Args:
        mass: of the link, in link axes.
        joint: a point of the joint's axis in the link frame [m].
        axis: direction of the link's revolute joint; None for a prismatic or fixed one.
        ends: points of the joints that the link carries [m].
        extent: diameter of what is drawn of it, 0 if unknown [m].
    """
    principal = np.linalg.eigvalsh(mass.inertia)
    low, middle, high = (float(value) for value in principal)
    if low + middle < (1.0 - TRIANGLE_SLACK) * high - TINY:
        return (
            f"principal moments of inertia {_listed(principal)} kg m² break the triangle inequality: "
            "the largest may not exceed the sum of the others",
            "inertia-triangle",
        )
    for finding in body_findings(
        "", mass.mass, mass.com, mass.inertia, joint=joint, axis=axis, ends=ends, extent=extent
    ):
        if finding.severity == "error" and finding.rule not in ("triangle inequality", "inertia positive definite"):
            return finding.reason, finding.rule.replace(" ", "-")
    return None


def _listed(values: NDArray[np.floating[Any]]) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"
