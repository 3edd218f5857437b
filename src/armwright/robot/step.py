# SPDX-License-Identifier: Apache-2.0
"""One step of the recursion: from a parent frame to a body frame and back, the joint's displacement included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from armwright.robot.tree import Tree
    from armwright.types import Scalar, Traced

QUARTER = 0.5 * np.pi


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Pose of a body in its parent at a given displacement: rotation R0·Rz(c, s), origin p (parent axes).

    Vectors are turned in two stages, Rz then R0, so that constant right-angle twists cost nothing once traced.
    """

    R0: Any
    c: Any
    s: Any
    p: Any
    revolute: bool

    def down(self, v: Traced) -> Traced:
        """Turn a vector from parent axes to body axes: Rzᵀ R0ᵀ v."""
        x, y, z = self.R0.T @ v
        if not self.revolute:
            return np.array([x, y, z])
        return np.array([x * self.c + y * self.s, y * self.c - x * self.s, z])

    def up(self, v: Traced) -> Traced:
        """Turn a vector from body axes to parent axes: R0 Rz v."""
        x, y, z = v
        if not self.revolute:
            return self.R0 @ v
        return self.R0 @ np.array([x * self.c - y * self.s, x * self.s + y * self.c, z])

    def up_symmetric(self, S: Traced) -> Traced:
        """Turn a symmetric 3×3 tensor from body to parent axes: R S Rᵀ, with the symmetry used."""
        if self.revolute:
            c, s = self.c, self.s
            xx, xy, xz, yy, yz, zz = S[0, 0], S[0, 1], S[0, 2], S[1, 1], S[1, 2], S[2, 2]
            difference = xx - yy
            t = s * (s * difference + 2.0 * (c * xy))
            nxy = s * c * difference + (c * c - s * s) * xy
            nxz, nyz = c * xz - s * yz, s * xz + c * yz
            S = np.array([[xx - t, nxy, nxz], [nxy, yy + t, nyz], [nxz, nyz, zz]])
        return self.R0 @ S @ self.R0.T

    @property
    def R(self) -> Traced:
        """Rotation matrix R_parent_body, 3×3."""
        if not self.revolute:
            return self.R0
        zero = 0.0 * self.c
        return self.R0 @ np.array([[self.c, -self.s, zero], [self.s, self.c, zero], [zero, zero, zero + 1.0]])


def turn(angle: Scalar, offset: float) -> tuple[Traced, Traced]:
    """Return cos and sin of ``angle + offset``; offsets by quarter turns are exchanged exactly, not added."""
    quarters = round(offset / QUARTER)
    rest = offset - quarters * QUARTER
    if abs(rest) > 1e-14:
        return np.cos(angle + offset), np.sin(angle + offset)
    c, s = np.cos(angle), np.sin(angle)
    return ((c, s), (-s, c), (-c, -s), (s, -c))[quarters % 4]


def steps(tree: Tree, q: Traced) -> list[Step]:
    """Return the step of every body at joint coordinates q (n,)."""
    out = []
    for i in range(tree.nb):
        displacement = tree.ratio[i] * q[tree.joint[i]]
        if tree.revolute[i]:
            c, s = turn(displacement, float(tree.offset[i]))
            out.append(Step(tree.R0[i], c, s, tree.p0[i], True))
        else:
            along = displacement + tree.offset[i]
            out.append(Step(tree.R0[i], 1.0, 0.0, tree.p0[i] + tree.R0[i][:, 2] * along, False))
    return out
