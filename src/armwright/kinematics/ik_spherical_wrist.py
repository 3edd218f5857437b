# SPDX-License-Identifier: Apache-2.0
"""Closed-form inverse kinematics of 6R arms whose last three axes meet: position first, orientation second (Pieper).

Everything is solved on the joint axes at home, so that convention, base and tool do not matter. With the product of
exponentials G = T·M⁻¹ = e1 e2 e3 e4 e5 e6 and the wrist centre c, which e4, e5, e6 leave alone: G c = e1 e2 e3 c.
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


def _parallel23(home: HomeAxes, goal: Traced, start: Branch) -> list[Branch]:
    """Shoulder, then a planar elbow (PUMA, IRB 140, RL15, CEA): e2 e3 keep the component along axis 2."""
    w, r, c, size = home.w, home.r, home.meet, home.size

    def elbow(branch: Branch) -> list[Branch]:
        u = turn_about(w[0], r[0], -branch.q[0], goal) - r[1]
        out = []
        for bent in branch.split(2, planar_elbow(w[2], r[2] - r[1], c - r[1], length(across(w[1], u)), size)):
            reached = turn_about(w[2], r[2], bent.q[2], c) - r[1]
            out.append(bent.put_one(1, onto(w[1], reached, u, size)))
        return out

    shoulder = level(w[0], goal - r[0], w[1], float(w[1] @ (c - r[0])), size)
    return each(start.split(0, shoulder, -1.0), elbow)


def _meet12(home: HomeAxes, goal: Traced, start: Branch) -> list[Branch]:
    """Axes 1 and 2 meet in o: joint 3 sets the distance |G c − o|, joints 1 and 2 the direction (subproblem 2)."""
    w, r, c, size = home.w, home.r, home.meet, home.size
    v, fore, arm = goal - r[0], c - r[2], r[2] - r[0]

    def direction(branch: Branch) -> list[Branch]:
        u = turn_about(w[2], r[2], branch.q[2], c) - r[0]
        pointed = branch.split(1, level(w[1], u, w[0], v @ w[0], size))
        return [new.put_one(0, onto(w[0], rotate(w[1], new.q[1], u), v, size)) for new in pointed]

    distance = level(w[2], fore, arm, 0.5 * (v @ v - float(arm @ arm) - float(fore @ fore)), size * size)
    return each(start.split(2, distance), direction)


def _parallel12(home: HomeAxes, goal: Traced, start: Branch) -> list[Branch]:
    """Axes 1 and 2 are parallel: joint 3 sets the height along them, joints 1 and 2 are a planar elbow."""
    w, r, c, size = home.w, home.r, home.meet, home.size
    v = goal - r[0]

    def elbow(branch: Branch) -> list[Branch]:
        x = turn_about(w[2], r[2], branch.q[2], c) - r[0]
        out = []
        for bent in branch.split(1, planar_elbow(w[1], r[1] - r[0], x, length(across(w[0], v)), size)):
            reached = turn_about(w[1], r[1] - r[0], bent.q[1], x)
            out.append(bent.put_one(0, onto(w[0], reached, v, size)))
        return out

    return each(start.split(2, level(w[2], c - r[2], w[0], (goal - r[2]) @ w[0], size)), elbow)


POSITION = {"parallel23": _parallel23, "meet12": _meet12, "parallel12": _parallel12}


def _wrist(home: HomeAxes, R: Traced, branch: Branch) -> list[Branch]:
    """Solve R4 R5 R6 = (R1 R2 R3)ᵀR: joint 5 from the angle between axes 4 and 6, then joint 4, then joint 6.

    Where axes 4 and 6 line up, only one combination of joints 4 and 6 is determined: joint 4 is then the seed's.
    """
    w4, w5, w6 = home.w[3:]

    def back(v: Traced) -> Traced:
        for joint in range(3):
            v = rotate(home.w[joint], -branch.q[joint], v)
        return v

    pointing, probe = back(R @ w6), np.cross(w6, w5)
    out = []
    for bent in branch.split(4, slant(w5, w6, w4, pointing)):
        turned = bent.put_one(3, onto(w4, rotate(w5, bent.q[4], w6), pointing))
        # joint 6 from what is left, so that noise in joint 4 near the singularity is compensated
        left = rotate(w4, turned.q[3], rotate(w5, turned.q[4], probe))
        for joint in (2, 1, 0):
            left = rotate(home.w[joint], turned.q[joint], left)
        out.append(turned.put_one(5, onto(w6, R.T @ left, probe)))
    return out


def spherical_wrist_branches(arm: Robot | Tree, T: Traced, seed: Traced, home: HomeAxes, body: int | None) -> Branches:
    """Return every branch for the target T (4, 4); seed (6,) decides what geometry leaves free."""
    G = T @ inverse(home.M)
    start = Branch(seed, {})
    branches = POSITION[home.kind](home, G[:3, :3] @ home.meet + G[:3, 3], start)
    return checked(arm, body, T, each(branches, lambda branch: _wrist(home, G[:3, :3], branch)))
