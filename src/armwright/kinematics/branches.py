"""Bookkeeping of closed-form branches: many targets at once, each with a growing set of partial solutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.kinematics.subproblems import One, Two

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """Partial solutions: `target` (N,) index, `q` (N, 6) angles found so far, `free` (N,) whether one was chosen."""

    target: NDArray[np.int64]
    q: Array
    free: Mask

    @staticmethod
    def start(count: int) -> Branches:
        """One empty branch a target."""
        return Branches(np.arange(count), np.zeros((count, 6)), np.zeros(count, dtype=bool))

    def pick(self, rows: Mask | NDArray[np.int64]) -> Branches:
        """Keep some branches."""
        return Branches(self.target[rows], self.q[rows], self.free[rows])

    def put(self, joint: int, angle: Array) -> Branches:
        """Set one angle of every branch."""
        q = self.q.copy()
        q[:, joint] = angle
        return Branches(self.target, q, self.free)

    def put_one(self, joint: int, one: One, seed: Array, sign: float = 1.0) -> Branches:
        """Set one angle; where it is free, take it from the seed (B, 6) and remember that."""
        angle = np.where(one.free, seed[self.target, joint], sign * one.angle)
        out = self.put(joint, angle)
        return Branches(out.target, out.q, self.free | one.free)

    def split(self, joint: int, two: Two, seed: Array, sign: float = 1.0) -> tuple[Branches, NDArray[np.int64]]:
        """Double every branch by the two angles of one joint; drop what has no solution; free ones stay single.

        Returns the new branches and, for each, the number of the branch it came from.
        """
        n = self.target.size
        rows = np.repeat(np.arange(n), 2)
        free = two.free[rows]
        angle = np.where(free, seed[self.target[rows], joint], sign * two.angles.reshape(-1))
        second = np.tile([False, True], n)
        keep = two.ok[rows] & ~(second & free)
        out = self.pick(rows)
        out.q[:, joint] = angle
        return Branches(out.target, out.q, out.free | free).pick(keep), rows[keep]
