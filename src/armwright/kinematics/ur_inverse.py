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

from armwright.kinematics.branches import Branches
from armwright.kinematics.subproblems import level, onto, planar_elbow, rotate, slant, turn_about

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.kinematics.ik_geometry import HomeAxes

    Array = NDArray[np.float64]

# where axes 2, 3, 4, 6 are all parallel, joint 6 is free as long as joints 2, 3, 4 reach: values tried around the seed
TRIALS = np.array([0.0, *(sign * k * np.pi / 24.0 for k in range(1, 25) for sign in (1.0, -1.0))])


def _shoulder_and_wrist(home: HomeAxes, G: Array, seed: Array) -> Branches:
    w, r, c = home.w, home.r, home.meet
    centre = G[:, :3, :3] @ c + G[:, :3, 3]
    rows = Branches.start(G.shape[0])
    offset = np.full(G.shape[0], float(w[1] @ (c - r[0])))
    rows, _ = rows.split(0, level(w[0], centre - r[0], w[1], offset, home.size), seed, -1.0)
    side = np.einsum("nji,nj->ni", G[rows.target, :3, :3], rotate(w[0], rows.q[:, 0], w[1]))
    rows, back = rows.split(4, slant(w[4], w[1], w[5], side), seed, -1.0)
    return rows.put_one(5, onto(w[5], side[back], rotate(w[4], -rows.q[:, 4], w[1])), seed)


def _spread(rows: Branches) -> tuple[Branches, NDArray[np.int64], NDArray[np.int64]]:
    """Copy the branches with a free joint 6 over the trial angles; return copies, parent branch, and trial number."""
    count = np.where(rows.free, TRIALS.size, 1)
    parent = np.repeat(np.arange(rows.target.size), count)
    trial = np.arange(parent.size) - np.repeat(np.cumsum(count) - count, count)
    out = rows.pick(parent)
    out.q[:, 5] += TRIALS[trial]
    return out, parent, trial


def solve_ur(home: HomeAxes, G: Array, seed: Array) -> Branches:
    """Return every branch for the motions G = T·M⁻¹ (B, 4, 4); seed (B, 6) decides what geometry leaves free."""
    w, r, size = home.w, home.r, home.size
    rows, parent, trial = _spread(_shoulder_and_wrist(home, G, seed))
    probe = np.cross(w[1], w[4])

    def middle(x: Array, turn_only: bool) -> Array:
        """Apply P, or its rotation alone, to one point or vector (3,) for every branch."""
        zero, q, g = np.zeros(3), rows.q, G[rows.target]
        at5, at6, at1 = (zero, zero, zero) if turn_only else (r[4], r[5], r[0])
        y = turn_about(w[4], at5, -q[:, 4], np.broadcast_to(x, (q.shape[0], 3)))
        y = np.einsum("nij,nj->ni", g[:, :3, :3], turn_about(w[5], at6, -q[:, 5], y))
        return turn_about(w[0], at1, -q[:, 0], y if turn_only else y + g[:, :3, 3])

    total = onto(w[1], probe, middle(probe, True)).angle
    u = middle(r[3], False) - r[1]
    across = np.linalg.norm(u - (u @ w[1])[:, None] * w[1], axis=-1)
    rows, back = rows.split(2, planar_elbow(w[2], r[2] - r[1], r[3] - r[1], across, size), seed)
    total, u, parent, trial = total[back], u[back], parent[back], trial[back]
    side = (np.diff(back, prepend=-1) == 0).astype(int)  # the second of a pair follows the first
    reached = turn_about(w[2], r[2], rows.q[:, 2], np.broadcast_to(r[3], (rows.target.size, 3))) - r[1]
    rows = rows.put_one(1, onto(w[1], reached, u, size), seed)
    s3, s4 = (1.0 if w[k] @ w[1] > 0.0 else -1.0 for k in (2, 3))
    rows = rows.put(3, s4 * (total - rows.q[:, 1] - s3 * rows.q[:, 2]))
    # of the trials of one branch keep the first that reached
    order = np.lexsort((trial, side, parent))
    _, first = np.unique(np.stack([parent[order], side[order]]), axis=1, return_index=True)
    return rows.pick(order[first])
