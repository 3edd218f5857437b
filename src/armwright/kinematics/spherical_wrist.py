"""Closed-form inverse kinematics of 6R arms whose last three axes meet: position first, orientation second (Pieper).

Everything is solved on the joint axes at home, so that convention, base and tool do not matter. With the product of
exponentials G = T·M⁻¹ = e1 e2 e3 e4 e5 e6 and the wrist centre c, which e4, e5, e6 leave alone: G c = e1 e2 e3 c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.kinematics.branches import Branches
from armwright.kinematics.subproblems import level, onto, planar_elbow, rotate, slant, turn_about

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.kinematics.ik_geometry import HomeAxes

    Array = NDArray[np.float64]


def _parallel23(home: HomeAxes, goal: Array, seed: Array) -> Branches:
    """Shoulder, then a planar elbow (PUMA, IRB 140, RL15, CEA): e2 e3 keep the component along axis 2."""
    w, r, c, size = home.w, home.r, home.meet, home.size
    rows = Branches.start(goal.shape[0])
    offset = np.full(goal.shape[0], float(w[1] @ (c - r[0])))
    rows, _ = rows.split(0, level(w[0], goal - r[0], w[1], offset, size), seed, -1.0)
    u = turn_about(w[0], r[0], -rows.q[:, 0], goal[rows.target]) - r[1]
    across = np.linalg.norm(u - (u @ w[1])[:, None] * w[1], axis=-1)
    rows, back = rows.split(2, planar_elbow(w[2], r[2] - r[1], c - r[1], across, size), seed)
    reached = turn_about(w[2], r[2], rows.q[:, 2], np.broadcast_to(c, (rows.target.size, 3))) - r[1]
    return rows.put_one(1, onto(w[1], reached, u[back], size), seed)


def _meet12(home: HomeAxes, goal: Array, seed: Array) -> Branches:
    """Axes 1 and 2 meet in o: joint 3 sets the distance |G c − o|, joints 1 and 2 the direction (subproblem 2)."""
    w, r, c, size = home.w, home.r, home.meet, home.size
    o, v = r[0], goal - r[0]
    fore, arm = c - r[2], r[2] - o
    rows = Branches.start(goal.shape[0])
    d = 0.5 * ((v * v).sum(axis=-1) - arm @ arm - fore @ fore)
    rows, _ = rows.split(2, level(w[2], np.broadcast_to(fore, v.shape), arm, d, size * size), seed)
    u = turn_about(w[2], r[2], rows.q[:, 2], np.broadcast_to(c, (rows.target.size, 3))) - o
    rows, back = rows.split(1, level(w[1], u, w[0], v[rows.target] @ w[0], size), seed)
    return rows.put_one(0, onto(w[0], rotate(w[1], rows.q[:, 1], u[back]), v[rows.target], size), seed)


def _parallel12(home: HomeAxes, goal: Array, seed: Array) -> Branches:
    """Axes 1 and 2 are parallel: joint 3 sets the height along them, joints 1 and 2 are a planar elbow."""
    w, r, c, size = home.w, home.r, home.meet, home.size
    rows = Branches.start(goal.shape[0])
    fore = np.broadcast_to(c - r[2], goal.shape)
    rows, _ = rows.split(2, level(w[2], fore, w[0], (goal - r[2]) @ w[0], size), seed)
    x = turn_about(w[2], r[2], rows.q[:, 2], np.broadcast_to(c, (rows.target.size, 3))) - r[0]
    v = goal[rows.target] - r[0]
    across = np.linalg.norm(v - (v @ w[0])[:, None] * w[0], axis=-1)
    rows, back = rows.split(1, planar_elbow(w[1], r[1] - r[0], x, across, size), seed)
    reached = turn_about(w[1], r[1] - r[0], rows.q[:, 1], x[back])
    return rows.put_one(0, onto(w[0], reached, goal[rows.target] - r[0], size), seed)


POSITION = {"parallel23": _parallel23, "meet12": _meet12, "parallel12": _parallel12}


def _wrist(home: HomeAxes, rows: Branches, R: Array, seed: Array) -> Branches:
    """Solve R4 R5 R6 = R (N, 3, 3): joint 5 from the angle between axes 4 and 6, then joint 4, then joint 6.

    Where axes 4 and 6 line up, only one combination of joints 4 and 6 is determined: joint 4 is then the seed's.
    """
    w4, w5, w6 = home.w[3:]
    pointing = R @ w6
    rows, back = rows.split(4, slant(w5, w6, w4, pointing), seed)
    R, pointing = R[back], pointing[back]
    rows = rows.put_one(3, onto(w4, rotate(w5, rows.q[:, 4], w6), pointing), seed)
    # joint 6 from what is left, so that noise in joint 4 near the singularity is compensated
    probe = np.cross(w6, w5)
    left = np.einsum("nji,nj->ni", R, rotate(w4, rows.q[:, 3], rotate(w5, rows.q[:, 4], probe)))
    return rows.put_one(5, onto(w6, left, np.broadcast_to(probe, left.shape)), seed)


def solve_spherical_wrist(home: HomeAxes, G: Array, seed: Array) -> Branches:
    """Return every branch for the motions G = T·M⁻¹ (B, 4, 4); seed (B, 6) decides what geometry leaves free."""
    goal = G[:, :3, :3] @ home.meet + G[:, :3, 3]
    rows = POSITION[home.kind](home, goal, seed)
    R = G[rows.target, :3, :3]
    columns = [R[:, :, k] for k in range(3)]
    for joint in range(3):
        columns = [rotate(home.w[joint], -rows.q[:, joint], column) for column in columns]
    return _wrist(home, rows, np.stack(columns, axis=-1), seed)
