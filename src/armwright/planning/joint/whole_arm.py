# SPDX-License-Identifier: Apache-2.0
"""The whole arm among obstacles, seen from configuration space: where it is free, how far from touching, and proofs.

`records` describes the links at one configuration, the ``…_gap`` functions their distances to obstacles; traced and
compiled together (`armwright.graph.pair_minimum`), one configuration against all obstacles is one call. `WholeArm`
answers with these for known obstacles. `KnownArm` plans among what the arm has felt: spheres at felt places, and
configurations that are known to touch something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import frozen_numbers, names_culprit
from armwright.errors import InputError
from armwright.graph.pair_minimum import LeastKernel, Pairs
from armwright.kinematics.forward import link_poses
from armwright.pickling import Rebuilt
from armwright.planning.grid.grid import grid_shape
from armwright.planning.obstacles import SEAM, Obstacles, contact_capsules
from armwright.world.arm_capsules import LinkCapsules, link_ends
from armwright.world.segments import segment_box, segment_point, segment_segment

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.graph.pair_minimum import Least
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Scalar, Traced

UNCONCERNED_HEIGHT = 1e3  # height [m] above half-spaces of links that half-spaces do not concern


def records(
    q: Traced,
    arm: Robot | Tree,
    links: LinkCapsules,
    own: tuple[tuple[int, int], ...],
    ignore: tuple[int, ...],
    levers: tuple[float, ...],
) -> tuple[Traced, Traced, Traced]:
    """Return the records of one configuration.

    Returns:
        Links (m, 8): both ends of the axis, radius, height above half-spaces that do not concern it. Gaps between
        pairs `own` of the arm's capsules (p, 1). The configuration in the metric of `levers` (1, n).
    """
    ends = link_ends(link_poses(arm, q), links)
    rows = [
        np.concatenate([x, y, [r, UNCONCERNED_HEIGHT if int(i) in ignore else 0.0]])
        for (x, y), r, i in zip(ends, links.radius, links.body, strict=True)
    ]
    gaps = [[segment_segment(*ends[i], *ends[j]) - links.radius[i] - links.radius[j]] for i, j in own]
    return (
        np.array(rows).reshape(len(rows), 8),
        np.array(gaps).reshape(len(gaps), 1),
        (q * np.asarray(levers)).reshape(1, -1),
    )


def ball_gap(record: Traced, item: Traced) -> Scalar:
    """Gap between a link and a ball: centre, radius (4,)."""
    return segment_point(record[:3], record[3:6], item[:3]) - record[6] - item[3]


def capsule_gap(record: Traced, item: Traced) -> Scalar:
    """Gap between a link and a capsule: ends, radius (7,)."""
    return segment_segment(record[:3], record[3:6], item[:3], item[3:6]) - record[6] - item[6]


def box_gap(record: Traced, item: Traced) -> Scalar:
    """Gap between a link and a box: centre, half edges, R by rows, rounding, half diagonal (17,)."""
    R = item[6:15].reshape(3, 3)
    a, b = R.T @ (record[:3] - item[:3]), R.T @ (record[3:6] - item[:3])
    return segment_box(a, b, item[3:6]) - record[6] - item[15]


def box_bound(record: Traced, item: Traced) -> Scalar:
    """Return a lower bound of `box_gap`: the gap between a link and the ball around a box."""
    return segment_point(record[:3], record[3:6], item[:3]) - item[16] - record[6] - item[15]


def plane_gap(record: Traced, item: Traced) -> Scalar:
    """Gap between a link and a half-space: normal, offset (4,)."""
    n = item[:3]
    return np.minimum(n @ record[:3], n @ record[3:6]) - item[3] - record[6] + record[7]


def own_gap(record: Traced, item: Traced) -> Scalar:
    """Gap between two links, less a distance to keep (1,)."""
    return record[0] - item[0]


def configuration_gap(record: Traced, item: Traced) -> Scalar:
    """Σ levers |q − p| less its reach, for a configuration p times the levers, and the reach (n + 1,)."""
    away: Any = 0.0
    for k in range(len(record)):
        away = away + np.abs(record[k] - item[k])
    return away - item[len(record)]


def gap_kernel(
    robot: Robot,
    links: LinkCapsules,
    own: tuple[tuple[int, int], ...],
    ignore: tuple[int, ...],
    levers: tuple[float, ...],
) -> LeastKernel:
    """Return the compiled gaps of an arm, made once for the same arguments; levers are those of `configuration_gap`."""
    found: LeastKernel = robot.memo(("gaps", links, own, ignore, levers), _made, links, own, ignore, levers)
    return found


def _made(
    robot: Robot,
    links: LinkCapsules,
    own: tuple[tuple[int, int], ...],
    ignore: tuple[int, ...],
    levers: tuple[float, ...],
) -> LeastKernel:
    kinds = (
        Pairs(0, 4, ball_gap),
        Pairs(0, 7, capsule_gap),
        Pairs(0, 17, box_gap, box_bound),
        Pairs(0, 4, plane_gap),
        Pairs(1, 1, own_gap),
        Pairs(2, robot.n + 1, configuration_gap),
    )
    constants = {"arm": robot, "links": links, "own": own, "ignore": ignore, "levers": levers}
    return LeastKernel(records, robot.n, kinds, constants)


def obstacle_items(obstacles: Obstacles, margin: float) -> tuple[Array, Array, Array, Array]:
    """Return balls (., 4), other capsules (., 7), boxes (., 17) and half-spaces (., 4), each larger by `margin`."""
    o = obstacles
    points = (o.a == o.b).all(axis=1)
    radius = o.radius[:, None] + margin
    turned, diagonal = o.R.reshape(-1, 9), np.linalg.norm(o.half, axis=1)[:, None]
    return (
        np.hstack([o.a, radius])[points],
        np.hstack([o.a, o.b, radius])[~points],
        np.hstack([o.centre, o.half, turned, np.full_like(diagonal, margin), diagonal]),
        o.planes + np.array([0.0, 0.0, 0.0, margin]),
    )


if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.graph.pair_minimum import Least
    from armwright.robot.model import Robot
    from armwright.types import Array

    Mask = NDArray[np.bool_]

PROOF_DISTANCE = 1e-4  # [m] of motion within which freedom is proved or given up
TEST_DISTANCE = 1e-3  # [m] gaps beyond this are not measured by a collision test


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
        """The smallest gap as one compiled function: ``gaps(q, most)`` stops where all gaps exceed `most`."""
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
        return np.asarray(self.gaps(q, TEST_DISTANCE) <= SEAM)

    @cached_property
    def levers(self) -> Array:
        """Bound (n,) on the motion of any point of the arm per unit of each joint: none moves more than levers·|Δq|."""
        return _levers(self.robot, self._links)

    def free_until(self, q0: ArrayLike, q1: ArrayLike, *, finest: float = PROOF_DISTANCE, whole: bool = False) -> Array:
        """Return how much (...,) of the straight joint motions q0 → q1 (..., n) is **proved** free from q0 on.

        Between all samples too: a piece is free if the clearance at its middle exceeds what any point can move within
        half of it; else it is halved (`graph.pair_minimum.proved_way`). Pieces over which no point moves more than
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

    def motion_free(self, q0: ArrayLike, q1: ArrayLike, *, finest: float = PROOF_DISTANCE) -> Mask:
        """Return whether straight joint motions q0 → q1 are proved free, bool (...,); see `free_until`."""
        return np.asarray(self.free_until(q0, q1, finest=finest, whole=True) >= 1.0)

    @cached_property
    def _bounds(self) -> Array:
        """Levers of the smallest gap: two links may approach each other."""
        return np.ascontiguousarray((2.0 if self.pairs else 1.0) * self.levers)


def _levers(robot: Robot, links: LinkCapsules) -> Array:
    """Return the longest possible lever from each joint to the farthest point of a capsule; 1 for sliding joints."""
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

    >>> blocked, axes = configuration_map(arm, q, joints=(0, 1), lower=(-1, -2), upper=(1, 0), shape=(20, 20))
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


@dataclass(frozen=True, eq=False)
class KnownArm(WholeArm):
    """A `WholeArm` that also keeps away from configurations in which it touched something.

    A configuration q is too near to a blocked one p if no point of the arm can have moved farther than `reach` between
    them: Σ_j levers_j |q_j − p_j| ≤ reach. That distance changes no faster than any point of the arm can move, so
    proofs that a motion is free hold for these too.

    Attributes:
        configurations: (k, n). reach: (k,) [m].
    """

    configurations: Array = field(default_factory=lambda: np.zeros((0, 0)))
    reach: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Check the shapes."""
        super().__post_init__()
        k = len(self.configurations)
        if k and (self.configurations.shape != (k, self.robot.n) or np.shape(self.reach) != (k,)):
            raise InputError(
                f"configurations and reach: expected shapes ({k}, {self.robot.n}) and ({k},), "
                f"got {self.configurations.shape} and {np.shape(self.reach)}"
            )

    @cached_property
    def gaps(self) -> Least:
        """The smallest gap as in `WholeArm`, and how far q is from the configurations."""
        configurations = self.configurations.reshape(-1, self.robot.n)
        rows = np.hstack([configurations * self.levers, np.asarray(self.reach).reshape(-1, 1)])
        return self._gaps(tuple(self.levers.tolist()), rows)

    def wider(self, by: float) -> KnownArm:
        """Return the same with every distance to keep larger by `by` [m]."""
        return replace(self, margin=self.margin + by, reach=np.asarray(self.reach) + by)

    def away(self, q: ArrayLike) -> Array:
        """Return the bound (..., k) [m] on how far any point of the arm moves from q (..., n) to the configurations."""
        Q = np.asarray(q, dtype=np.float64)
        return np.asarray(np.abs(Q[..., None, :] - self.configurations) @ self.levers)
