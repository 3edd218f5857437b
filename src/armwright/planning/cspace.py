"""Workspace obstacles seen from configuration space: where the whole arm is free, how far from touching, and proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.kinematics.forward import link_poses
from armwright.planning.capsules import LinkCapsules, Obstacles
from armwright.planning.distances import segment_box, segment_segment
from armwright.planning.grid import frozen_numbers, grid_shape
from armwright.planning.worlds import contact_capsules
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

PAIRS_AT_ONCE = 500_000
FAR = 1e3  # of an arm without capsules, or of what no link concerns [m]
FINEST = 1e-4


@dataclass(frozen=True, eq=False)
class WholeArm:
    """An arm among obstacles.

    Attributes:
        robot: the arm.
        obstacles: see `Obstacles`; from `obstacles_of(world)`, `cells_as_boxes(map)`, `spheres`, `vertical_cylinders`,
            `floor`, joined with +.
        capsules: the links; those of the contact model by default, see `contact_capsules` and `link_capsules`.
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

    def clearance(self, q: ArrayLike) -> Array:
        """Return the smallest distance (...,) [m] between arm and obstacles for q (..., n), less `margin`.

        Negative where capsules overlap (then it is the depth towards an axis, not a separation distance); inf without
        obstacles.
        """
        Q = np.asarray(q, dtype=np.float64)
        if Q.ndim == 0 or Q.shape[-1] != self.robot.n:
            raise InputError(f"q: expected shape (..., {self.robot.n}), got {Q.shape}")
        flat = Q.reshape(-1, self.robot.n)
        block = max(1, PAIRS_AT_ONCE // max(1, len(self.obstacles)))
        out = [self._block(flat[i : i + block]) for i in range(0, len(flat), block)]
        return (np.concatenate(out) if out else np.zeros(0)).reshape(Q.shape[:-1])

    def __call__(self, q: ArrayLike) -> Mask:
        """Return whether the arm collides, (...,) for q (..., n): the collision function of sampling planners."""
        return np.asarray(self.clearance(q) <= 0.0)

    def _block(self, Q: Array) -> Array:
        o, least = self.obstacles, np.full(len(Q), np.inf)
        rows = Q[:, None]
        options: dict[str, Any] = {"regroup": False, "links": self._links}
        if len(o.a):
            k = kernel(self.robot, capsule_gap, shapes={"a": 3, "b": 3, "radius": ()}, **options)
            least = np.minimum(least, k(rows, o.a, o.b, o.radius).min(axis=1))
        if len(o.centre):
            k = kernel(self.robot, box_gap, shapes={"centre": 3, "half": 3, "R": (3, 3)}, **options)
            least = np.minimum(least, k(rows, o.centre, o.half, o.R).min(axis=1))
        if len(o.planes):
            k = kernel(self.robot, plane_gap, shapes={"plane": 4}, ignore=self.ignore_planes, **options)
            least = np.minimum(least, k(rows, o.planes).min(axis=1))
        if self.pairs:
            least = np.minimum(least, kernel(self.robot, self_gap, pairs=self.pairs, **options)(Q))
        return least - self.margin

    @cached_property
    def levers(self) -> Array:
        """Bound (n,) on the way of any point of the arm per unit of each joint: none moves more than levers·|Δq|."""
        return _levers(self.robot, self._links)

    def motion_free(self, q0: ArrayLike, q1: ArrayLike, *, finest: float = FINEST) -> bool:
        """Return whether the straight joint motion q0 → q1 is **proved** free, between all samples too.

        A piece is free if the clearance at its middle exceeds what any point can move within half of it; else it is
        halved. Pieces over which no point moves more than `finest` [m] without proof count as touching.
        """
        a, b = (np.asarray(x, dtype=np.float64)[None] for x in (q0, q1))
        share = 2.0 if self.pairs else 1.0  # two links may approach each other
        while len(a):
            moved = share * 0.5 * np.abs(b - a) @ self.levers
            middle = 0.5 * (a + b)
            clear = self.clearance(middle)
            open_ = clear <= moved
            if (clear <= 0.0).any() or (moved[open_] < finest).any():
                return False
            a, b, middle = a[open_], b[open_], middle[open_]
            a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
        return True


def link_ends(arm: Any, q: Any, links: LinkCapsules) -> list[tuple[Any, Any]]:
    """Ends of all capsules in the base frame at one configuration, floats or symbols."""
    poses = link_poses(arm, q)
    out = []
    for i, a, b in zip(links.body, links.a, links.b, strict=True):
        R, p = poses[i][:3, :3], poses[i][:3, 3]
        out.append((R @ a + p, R @ b + p))
    return out


def _least(values: list[Any]) -> Any:
    least: Any = FAR
    for value in values:
        least = np.minimum(least, value)
    return least


def capsule_gap(arm: Any, q: Any, a: Any, b: Any, radius: Any, links: LinkCapsules) -> Any:
    """Return the gap between the arm and one capsule a–b, at one configuration."""
    ends = link_ends(arm, q, links)
    return _least([segment_segment(x, y, a, b) - r - radius for (x, y), r in zip(ends, links.radius, strict=True)])


def box_gap(arm: Any, q: Any, centre: Any, half: Any, R: Any, links: LinkCapsules) -> Any:
    """Return the gap between the arm and one box, at one configuration."""
    ends = [(R.T @ (x - centre), R.T @ (y - centre)) for x, y in link_ends(arm, q, links)]
    return _least([segment_box(x, y, half) - r for (x, y), r in zip(ends, links.radius, strict=True)])


def plane_gap(arm: Any, q: Any, plane: Any, links: LinkCapsules, ignore: tuple[int, ...]) -> Any:
    """Return the gap between the arm (without the bodies `ignore`) and one half-space, at one configuration."""
    n, c = plane[:3], plane[3]
    parts = zip(link_ends(arm, q, links), links.body, links.radius, strict=True)
    return _least([np.minimum(n @ x, n @ y) - c - r for (x, y), i, r in parts if int(i) not in ignore])


def self_gap(arm: Any, q: Any, links: LinkCapsules, pairs: tuple[tuple[int, int], ...]) -> Any:
    """Return the smallest gap between pairs of the arm's own capsules, at one configuration."""
    ends, r = link_ends(arm, q, links), links.radius
    return _least([segment_segment(*ends[i], *ends[j]) - r[i] - r[j] for i, j in pairs])


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
def configuration_map(test: WholeArm, q: ArrayLike, joints: Sequence[int], lower: ArrayLike, upper: ArrayLike,
                      shape: Sequence[int]) -> tuple[Mask, list[Array]]:  # fmt: skip
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
