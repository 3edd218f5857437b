# SPDX-License-Identifier: Apache-2.0
"""Closed-form inverse kinematics of the UR family: axes 2, 3, 4 parallel, axes 5 and 6 meeting in a point.

With G = T·M⁻¹ = e1 (e2 e3 e4) e5 e6 the middle factor P turns about one direction w and keeps every component along it:

    joint 1   w · e1⁻¹ G c = w · c             c = the point where axes 5 and 6 meet (their turns leave it alone)
    joint 5   angle of w to axis 6             w is invariant under P, hence R6 (Gᵀ R1 w) = R5ᵀ w
    joint 6   the turn that carries Gᵀ R1 w to R5ᵀ w
    joints 2, 3, 4   P = e1⁻¹ G e6⁻¹ e5⁻¹ is a planar motion of three parallel axes
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.kinematics.ik_branches import (
    Branch,
    Branches,
    across,
    checked,
    each,
    length,
    level,
    onto,
    planar_elbow,
    rotate,
    slant,
    turn_about,
)
from armwright.spatial.poses import inverse

if TYPE_CHECKING:
    from armwright.kinematics.ik_classification import HomeAxes
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def _wrist(home: HomeAxes, R: Traced, branch: Branch) -> list[Branch]:
    """Joints 5 and 6 of a branch that has joint 1; where axis 6 is parallel to axes 2, 3, 4, joint 6 is the seed's."""
    w = home.w
    side = R.T @ rotate(w[0], branch.q[0], w[1])
    bent = branch.split(4, slant(w[4], w[1], w[5], side), -1.0)
    return [new.put_one(5, onto(w[5], side, rotate(w[4], -new.q[4], w[1]))) for new in bent]


def _planar(home: HomeAxes, G: Traced, branch: Branch) -> list[Branch]:
    """Joints 3, 2, 4 of a branch that has joints 1, 5, 6: a planar elbow to axis 4, and the turn that is left."""
    w, r, size = home.w, home.r, home.size
    q1, q5, q6 = branch.q[0], branch.q[4], branch.q[5]
    probe = across(w[1], np.cross(w[1], w[4]))
    turned = rotate(w[0], -q1, G[:3, :3] @ rotate(w[5], -q6, rotate(w[4], -q5, probe)))
    total = onto(w[1], probe, turned).angle
    centre4 = G[:3, :3] @ turn_about(w[5], r[5], -q6, turn_about(w[4], r[4], -q5, r[3])) + G[:3, 3]
    u = turn_about(w[0], r[0], -q1, centre4) - r[1]
    s3, s4 = (1.0 if w[k] @ w[1] > 0.0 else -1.0 for k in (2, 3))
    out = []
    for bent in branch.split(2, planar_elbow(w[2], r[2] - r[1], r[3] - r[1], length(across(w[1], u)), size)):
        reached = turn_about(w[2], r[2], bent.q[2], r[3]) - r[1]
        raised = bent.put_one(1, onto(w[1], reached, u, size))
        out.append(raised.put(3, s4 * (total - raised.q[1] - s3 * raised.q[2])))
    return out


def ur_branches(arm: Robot | Tree, T: Traced, seed: Traced, home: HomeAxes, body: int | None) -> Branches:
    """Return every branch for the target T (4, 4); seed (6,) decides what geometry leaves free."""
    G = T @ inverse(home.M)
    w, r, c = home.w, home.r, home.meet
    centre = G[:3, :3] @ c + G[:3, 3]
    shoulder = level(w[0], centre - r[0], w[1], float(w[1] @ (c - r[0])), home.size)
    branches = Branch(seed, {}).split(0, shoulder, -1.0)
    branches = each(branches, lambda branch: _wrist(home, G[:3, :3], branch))
    return checked(arm, body, T, each(branches, lambda branch: _planar(home, G, branch)))
