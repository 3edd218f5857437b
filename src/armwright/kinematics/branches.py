# SPDX-License-Identifier: Apache-2.0
"""Bookkeeping of closed-form branches: partial solutions that double with every two-valued joint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.kinematics.forward import frame_pose
from armwright.kinematics.subproblems import One, Two, length

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


class Branches(NamedTuple):
    """Closed-form solutions of one target, a fixed number K of slots.

    q (K, 6); ok, free (K,) marks 1.0 or 0.0 (soluble; an angle was taken from the seed); errors (K,) of the pose that
    forward kinematics gives [m], [rad]; gauge (K,), proportional to det J, zero at singularities.
    """

    q: Any
    ok: Any
    free: Any
    position: Any
    rotation: Any
    gauge: Any


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One partial solution: angles found so far by joint index, its marks, and the seed (6,) for free angles."""

    seed: Any
    q: dict[int, Any]
    ok: Any = 1.0
    free: Any = 0.0
    gauge: Any = 1.0

    def put(self, joint: int, angle: Traced) -> Branch:
        """Set one angle."""
        return Branch(self.seed, {**self.q, joint: angle}, self.ok, self.free, self.gauge)

    def put_one(self, joint: int, one: One) -> Branch:
        """Set one angle; where it is free, take it from the seed."""
        angle = np.where(one.free > 0.5, self.seed[joint], one.angle)
        return Branch(self.seed, {**self.q, joint: angle}, self.ok, np.maximum(self.free, one.free), self.gauge)

    def split(self, joint: int, two: Two, sign: float = 1.0) -> list[Branch]:
        """Double by the two angles of one joint; where any angle serves, one branch stays, with the seed's."""
        out = []
        for angle, ok in ((two.first, two.ok), (two.second, two.ok * (1.0 - two.free))):
            chosen = np.where(two.free > 0.5, self.seed[joint], sign * angle)
            free, gauge = np.maximum(self.free, two.free), self.gauge * two.gauge
            out.append(Branch(self.seed, {**self.q, joint: chosen}, self.ok * ok, free, gauge))
        return out


def each(branches: list[Branch], step: Callable[[Branch], list[Branch]]) -> list[Branch]:
    """Apply a splitting step to every branch."""
    return [new for branch in branches for new in step(branch)]


def checked(arm: Robot | Tree, body: int | None, T: Traced, branches: list[Branch]) -> Branches:
    """Gather the branches and measure each by forward kinematics against the target T (4, 4)."""
    position, rotation = [], []
    for branch in branches:
        reached = frame_pose(arm, np.array([branch.q[i] for i in range(6)]), body)
        R = T[:3, :3] @ reached[:3, :3].T
        v = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        position.append(length(T[:3, 3] - reached[:3, 3]))
        rotation.append(np.arctan2(length(v), R[0, 0] + R[1, 1] + R[2, 2] - 1.0))
    return Branches(
        q=np.stack([np.array([branch.q[i] for i in range(6)]) for branch in branches]),
        ok=np.array([branch.ok for branch in branches]),
        free=np.array([branch.free for branch in branches]),
        position=np.array(position),
        rotation=np.array(rotation),
        gauge=np.array([branch.gauge for branch in branches]),
    )
