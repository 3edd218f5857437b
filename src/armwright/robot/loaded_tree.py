# SPDX-License-Identifier: Apache-2.0
"""An arm with a load at its tool, whose ten numbers may be symbols.

    payload = (mass, x, y, z, I_xx, I_yy, I_zz, I_xy, I_xz, I_yz)

mass [kg], centre of mass in the tool frame [m], inertia about that centre in tool axes [kg m²], entries of the matrix.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import NotSupportedError
from armwright.spatial import skew

if TYPE_CHECKING:
    from armwright.robot.tree import Tree
    from armwright.types import Traced

PAYLOAD_SIZE = 10


def loaded(tree: Tree, payload: Traced) -> Tree:
    """Return the tree with the load joined to its tip; exact for tau, M and qdd of a regrouped tree, too."""
    tip = tree.tip
    if tip < 0:
        raise NotSupportedError("payload: the tool is on the fixed root link; no joint feels it")
    R, p = tree.T_tip_tool[:3, :3], tree.T_tip_tool[:3, 3]
    m = payload[0]
    xx, yy, zz, xy, xz, yz = (payload[k] for k in range(4, PAYLOAD_SIZE))
    c = R @ payload[1:4] + p
    I_c = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    J = I_c - m * (skew(c) @ skew(c))
    J = np.array([[J[max(i, j), min(i, j)] for j in range(3)] for i in range(3)])  # one expression for both halves
    masses, moments, tensors = list(tree.m), list(tree.h), list(tree.J)
    masses[tip], moments[tip], tensors[tip] = masses[tip] + m, moments[tip] + m * c, tensors[tip] + J
    return replace(tree, m=masses, h=moments, J=tensors)
