# SPDX-License-Identifier: Apache-2.0
"""Workspace obstacles seen from configuration space: where the whole arm is free, how far from touching, and proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import frozen_numbers, names_culprit
from armwright.errors import InputError
from armwright.pickling import Rebuilt
from armwright.planning.grid.grid import grid_shape
from armwright.planning.joint.capsules import Obstacles
from armwright.planning.joint.gaps import gap_kernel, obstacle_items
from armwright.planning.obstacles import SEAM, contact_capsules
from armwright.world.capsule_arrays import LinkCapsules

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.graph.least import Least
    from armwright.robot.model import Robot
    from armwright.types import Array

    Mask = NDArray[np.bool_]

FINEST = 1e-4  # [m] of motion within which freedom is proved or given up
TOUCH = 1e-3  # [m] beyond which a collision test does not look


@dataclass(frozen=True, eq=False)
class WholeArm(Rebuilt):
    """An arm among obstacles.

    Attributes:
        robot: the arm.
        obstacles: see `Obstacles`; from `obstacles_of(world)`, `cells_as_boxes(map)`, `spheres`, `vertical_cylinders`,
            `floor`, joined with +.
        capsules: the links; those of the contact model by default, see `contact_capsules`.
        margin: distance to keep [m].
        pairs: capsules of the arm itself to be kept apart, as index pairs.
        ignore_planes: bodies that half-spaces do not concern (the one that stands on the floor).
    """

    robot: Robot
    obstacles: Obstacles
    capsules: LinkCapsules | None = None
    margin: float = 0.0
    pairs: tuple[tuple[int, int], ...] = ()
    ignore_planes: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        """Fill in the capsules and check the options."""
        if self.capsules is None:
            object.__setattr__(self, "capsules", contact_capsules(self.robot))
        if not (np.isfinite(self.margin) and self.margin >= 0.0):
            raise InputError(f"margin: must be finite and ≥ 0 [m], got {self.margin!r}")
        bodies = len(self.robot.bodies)
        if self._links.body.size and not (self._links.body.min() >= 0 and self._links.body.max() < bodies):
            raise InputError(f"capsules.body: indices must lie in 0…{bodies - 1}")

    @property
    def _links(self) -> LinkCapsules:
        assert self.capsules is not None
        return self.capsules

    @cached_property
    def gaps(self) -> Least:
        """The smallest gap as one compiled function: ``gaps(q, most)`` stops looking where all gaps exceed `most`."""
        return self._gaps((0.0,) * self.robot.n, np.zeros((0, self.robot.n + 1)))

    def _gaps(self, levers: tuple[float, ...], configurations: Array) -> Least:
        kernel = gap_kernel(self.robot, self._links, self.pairs, self.ignore_planes, levers)
        own = np.full((min(1, len(self.pairs)), 1), self.margin)
        return kernel.over(*obstacle_items(self.obstacles, self.margin), own, configurations)

    def clearance(self, q: ArrayLike) -> Array:
        """Return the smallest distance (...,) [m] between arm and obstacles for q (..., n), less `margin`.

        Negative where capsules overlap (then it is the depth towards an axis, not a separation distance); inf without
        obstacles.
        """
        return np.asarray(self.gaps(q))

    def __call__(self, q: ArrayLike) -> Mask:
        """Return whether the arm collides, (...,) for q (..., n): the collision function of sampling planners."""
        return np.asarray(self.gaps(q, TOUCH) <= SEAM)

    @cached_property
    def levers(self) -> Array:
        """Bound (n,) on the way of any point of the arm per unit of each joint: none moves more than levers·|Δq|."""
        return _levers(self.robot, self._links)

    def free_until(self, q0: ArrayLike, q1: ArrayLike, *, finest: float = FINEST, whole: bool = False) -> Array:
        """Return how much (...,) of the straight joint motions q0 → q1 (..., n) is **proved** free from q0 on.

        Between all samples too: a piece is free if the clearance at its middle exceeds what any point can move within
        half of it; else it is halved (`armwright.graph.least.proved_way`). Pieces over which no point moves more than
        `finest` [m] without proof count as touching.

        Args:
            q0: (..., n).
            q1: (..., n).
            finest: [m].
            whole: motions that are not free to their end may be given up sooner.
        """
        n = self.robot.n
        a, b = np.broadcast_arrays(np.asarray(q0, dtype=np.float64), np.asarray(q1, dtype=np.float64))
        found = self.gaps.ways(a.reshape(-1, n), b.reshape(-1, n), self._bounds, finest, whole=whole)
        return np.asarray(found.reshape(a.shape[:-1]))

    def motion_free(self, q0: ArrayLike, q1: ArrayLike, *, finest: float = FINEST) -> Mask:
        """Return whether straight joint motions q0 → q1 are proved free, bool (...,); see `free_until`."""
        return np.asarray(self.free_until(q0, q1, finest=finest, whole=True) >= 1.0)

    @cached_property
    def _bounds(self) -> Array:
        """Levers of the smallest gap: two links may approach each other."""
        return np.ascontiguousarray((2.0 if self.pairs else 1.0) * self.levers)


def _levers(robot: Robot, links: LinkCapsules) -> Array:
    """Longest possible arm from each joint to the farthest point of a capsule; 1 for sliding joints."""
    out = np.zeros(robot.n)
    prismatic_reach = np.zeros(len(robot.bodies))
    for i, link in enumerate(robot.bodies):
        joint = robot.joints[link.joint]
        if joint.kind == "prismatic":
            span = max(abs(joint.limits.lower), abs(joint.limits.upper)) * abs(link.ratio) + abs(link.offset)
            prismatic_reach[i] = span
    # reach[i]: from joint i's origin to the farthest point that hangs on it
    reach = np.zeros(len(robot.bodies))
    for i in range(len(robot.bodies) - 1, -1, -1):
        link = robot.bodies[i]
        own = -link.T_joint_link[:3, :3].T @ link.T_joint_link[:3, 3]
        far = [0.0]
        for k in np.flatnonzero(links.body == i):
            far += [np.linalg.norm(end[k] - own) + links.radius[k] for end in (links.a, links.b)]
        for c, child in enumerate(robot.bodies):
            if child.parent == i:
                far.append(np.linalg.norm(child.T_parent_joint[:3, 3] - own) + reach[c])
        reach[i] = max(float(x) for x in far) + prismatic_reach[i]
        lever = abs(link.ratio) * (1.0 if robot.joints[link.joint].kind == "prismatic" else reach[i])
        out[link.joint] += lever
    if not np.isfinite(out).all():
        raise InputError(f"robot {robot.name!r}: a sliding joint without limits has no bound on its reach")
    return out


@names_culprit
def configuration_map(
    test: WholeArm, q: ArrayLike, joints: Sequence[int], lower: ArrayLike, upper: ArrayLike, shape: Sequence[int]
) -> tuple[Mask, list[Array]]:
    """Map the obstacles into a grid over some joints: blocked where the whole arm collides.

    The grid planners, the Hopfield network among them, then plan in configuration space.

    Args:
        test: arm and obstacles.
        q: configuration (n,) that the other joints keep.
        joints: indices of the d joints that span the grid.
        lower: first value of each, (d,).
        upper: last value of each, (d,).
        shape: cells along each.

    Returns:
        Mask of `shape`, and the joint values along each axis.
    """
    sizes = grid_shape(shape)
    if len(sizes) != len(joints) or len(set(joints)) != len(joints) or not all(0 <= j < test.robot.n for j in joints):
        raise InputError(f"joints: expected {len(sizes)} different indices below {test.robot.n}, got {list(joints)}")
    low, high = (frozen_numbers(x, (len(sizes),), name) for x, name in ((lower, "lower"), (upper, "upper")))
    axes = [np.linspace(a, b, s) for a, b, s in zip(low, high, sizes, strict=True)]
    Q = np.broadcast_to(frozen_numbers(q, (test.robot.n,), "q"), (*sizes, test.robot.n)).copy()
    for j, values in zip(joints, np.meshgrid(*axes, indexing="ij"), strict=True):
        Q[..., j] = values
    return test(Q), axes
