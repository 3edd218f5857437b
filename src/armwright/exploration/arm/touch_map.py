# SPDX-License-Identifier: Apache-2.0
"""`TouchMap`: what an arm knows after contacts: felt places, touching configurations, and the space it swept free."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from armwright.kinematics import fk_all
from armwright.planning.grid.grid_map import FELT, FREE, UNKNOWN
from armwright.planning.joint.whole_arm import KnownArm
from armwright.planning.obstacles import SEAM, contact_capsules, spheres
from armwright.world.arm_capsules import LinkCapsules
from armwright.world.segments import segment_segment

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.planning.obstacles import Obstacles
    from armwright.robot.model import Robot
    from armwright.types import Array

Trust = Literal["all", "likely", "sure", "confirmed"]
RADIUS = 0.015  # [m] radius of the ball at a felt place: half of a sure place's error (3 cm)
BLOCKS = 0.02  # share of the reach: motion blocked about a configuration that touched; 2 cm on a UR5, about `RADIUS`
LARGEST_WAY_SHARE, LEAST_REACH_SHARE = (
    0.5,
    1e-3,
)  # `BLOCKS` is at most half of the way driven, and at least this share of the reach (1 mm)
REPEAT_FACTOR = (
    2.0  # times the blocked motion if a configuration within it touched again: doubling ends after a few contacts
)
CROWD_REACH_SHARE = (
    0.15  # share of the reach: motion within which configurations are one crowd; a link's width on a UR5
)
CROWDED = 1.5  # times the blocked motion for every configuration of the crowd: five of them reach `CROWD_REACH_SHARE`
SAME_PLACE_DISTANCE = (
    0.04  # [m] within which one place explains what was felt at another: both may be off by `RADIUS` and more
)
LIKELY = 0.5  # share of the probability from which a place was likelier than not
PASSED_DEPTH = (
    0.004  # [m] inside a link that passed: a surface just scratched by is not free space; links yield by a few mm
)
THROUGH = RADIUS  # [m] inside a link that passed: what was assumed there is not there
GOAL_DEPTH = 0.01  # [m] inside the arm at the goal: a place this deep blocks the goal, in spite of its error
AGREED = 4  # contacts that must agree on a place if none was sure: twice as many as of sure ones
CONFIGURATIONS_AT_ONCE = 200  # configurations looked at together: a few megabytes at a time


@dataclass(frozen=True, eq=False)
class TouchMap:
    """Knowledge of the surroundings.

    Attributes:
        robot: the arm. links: its capsules. pairs: capsules of its own that it keeps apart.
        points: (m, 3) where something was felt, base frame [m]. sure: (m,) whether that is the place, or only one of
            several that explain what was felt. share: (m,) of the probability when it was felt. contact: (m,) which
            contact told.
        configurations: (k, n) in which something touched. reach: (k,) [m], see `KnownArm`. crowd: (k,) [m] the same
            where many touched: steps get larger as long as there is a way.
        swept: (r, n) configurations driven without contact: what their links filled is free.
    """

    robot: Robot
    links: LinkCapsules
    pairs: tuple[tuple[int, int], ...]
    points: Array
    sure: NDArray[np.bool_]
    share: Array
    contact: NDArray[np.int64]
    configurations: Array
    reach: Array
    crowd: Array
    swept: Array

    def arm(self, *, margin: float, trust: Trust = "all", radius: float = RADIUS, crowded: bool = True) -> KnownArm:
        """Return the arm among what is known, as planners see it.

        Args:
            margin: to keep to felt places [m].
            trust: which places count: "all" that may have been touched, as few as are "likely" to explain everything,
                those that are "sure", or those that are sure and were felt by another contact as well: "confirmed".
            radius: of a felt place [m].
            crowded: whether to keep farther away from configurations where many touched.
        """
        chosen = self.points[np.ones_like(self.sure) if trust == "all" else getattr(self, trust)]
        known: Obstacles = spheres(chosen.reshape(-1, 3), radius) if len(chosen) else spheres(np.zeros((0, 3)), 0.0)
        return KnownArm(
            self.robot,
            known,
            self.links,
            margin,
            self.pairs,
            configurations=self.configurations,
            reach=np.maximum(self.reach, self.crowd) if crowded else self.reach,
        )

    @cached_property
    def likely(self) -> NDArray[np.bool_]:
        """Return (m,) the sure places, and of the others as few as explain all contacts: one may explain several."""
        out = self.sure.copy()
        if not len(self.points):
            return out
        near = np.linalg.norm(self.points[:, None] - self.points, axis=-1) <= SAME_PLACE_DISTANCE
        left = set(self.contact[~self.sure].tolist())
        explains = [set(self.contact[row].tolist()) for row in near]
        for k in np.flatnonzero(self.sure).tolist():
            left -= explains[k]
        while left:
            best = max(range(len(self.points)), key=lambda k: (len(explains[k] & left), -k))
            out[best] = True
            left -= explains[best]
        return out

    @cached_property
    def confirmed(self) -> NDArray[np.bool_]:
        """Return (m,) the sure places where another contact was likely, too: no verdict hangs on a single one."""
        near = np.linalg.norm(self.points[:, None] - self.points, axis=-1) <= SAME_PLACE_DISTANCE
        near &= self.sure | (self.share >= LIKELY)
        another = (near & (self.contact[:, None] != self.contact)).any(axis=1)
        return np.asarray(self.sure & another)

    @cached_property
    def _witnesses(self) -> NDArray[np.int64]:
        """Return (m,) how many contacts each place would explain."""
        near = np.linalg.norm(self.points[:, None] - self.points, axis=-1) <= SAME_PLACE_DISTANCE
        return np.array([len(set(self.contact[row].tolist())) for row in near], dtype=np.int64)

    def shut(self, goals: Array) -> bool:
        """Return whether places that several contacts agree on block the arm in all configurations (m, n).

        Sure places count from two contacts on, likely ones from `AGREED`; each has to lie well inside the arm there.
        """
        blocks = self.confirmed | (self.likely & (self._witnesses >= AGREED))
        places = self.points[blocks]
        return all((depth_in(self.robot, self.links, q[None], places) > GOAL_DEPTH).any() for q in goals)

    def with_contact(self, points: Array, share: Array, sure: bool, contact: int, q: Array, trail: Array) -> TouchMap:
        """Return the map with one more contact.

        Args:
            points: places (m, 3) that explain it.
            share: (m,) of the probability.
            sure: whether that is the place.
            contact: its number.
            q: the configuration (n,) that touched.
            trail: configurations (r, n) driven without contact: some of them stay free.
        """
        m = len(points)
        arm = self.arm(margin=0.0)
        span = float(arm.levers.max())
        configurations, reach, crowd = self.configurations, np.array(self.reach), np.array(self.crowd)
        away = arm.away(q) if len(configurations) else np.zeros(0)
        if (away < reach).any():  # known already: more of what is around it has to be avoided
            reach[int(np.argmin(away - reach))] *= REPEAT_FACTOR
        else:
            count = 0 if sure else int((away < CROWD_REACH_SHARE * span).sum())
            far = LARGEST_WAY_SHARE * float((np.abs(trail - q) @ arm.levers).max(initial=0.0))
            configurations, reach = (
                np.vstack([configurations, q]),
                np.append(reach, np.clip(far, LEAST_REACH_SHARE * span, BLOCKS * span)),
            )
            crowd = np.append(crowd, min(BLOCKS * CROWDED**count, CROWD_REACH_SHARE) * span)
        return replace(
            self,
            points=np.vstack([self.points, points.reshape(m, 3)]),
            sure=np.append(self.sure, np.full(m, sure)),
            share=np.append(self.share, share),
            contact=np.append(self.contact, np.full(m, contact)),
            configurations=configurations,
            reach=reach,
            crowd=crowd,
        )

    def with_swept(self, rows: Array) -> TouchMap:
        """Return the map with more configurations (r, n) driven without contact; places that they passed through go.

        Those that were sure go if the arm passed well through them.
        """
        if not len(rows):
            return self
        grown = replace(self, swept=np.vstack([self.swept, rows]))
        if not len(self.points):
            return grown
        keep = depth_in(self.robot, self.links, rows, self.points) <= np.where(self.sure, THROUGH, PASSED_DEPTH)
        kept = {name: getattr(self, name)[keep] for name in ("points", "sure", "share", "contact")}
        return replace(grown, **kept)

    def belief(self, points: ArrayLike) -> NDArray[np.int8]:
        """Return FELT, FREE or UNKNOWN (...,) for places (..., 3)."""
        P = np.asarray(points, dtype=np.float64)
        flat = P.reshape(-1, 3)
        out = np.full(len(flat), UNKNOWN, dtype=np.int8)
        out[depth_in(self.robot, self.links, self.swept, flat) > PASSED_DEPTH] = FREE
        if len(self.points):
            out[(np.linalg.norm(flat[:, None] - self.points, axis=-1) <= RADIUS).any(axis=1)] = FELT
        return out.reshape(P.shape[:-1])


def empty_map(robot: Robot, q: Array, goals: Array, margin: float = 0.0) -> TouchMap:
    """Return the map of an arm that knows nothing but itself, at configuration q (n,).

    Links three or more joints apart are kept apart where they are so at q and at the goals (m, n), by more than the
    margin [m] that plans keep: where an arm may stand is not for its own links to forbid.
    """
    links = contact_capsules(robot)
    ends, r, m = ends_at(robot, links, np.vstack([q, goals])), links.radius, len(links.body)
    pairs = []
    for i in range(m):
        for j in range(i + 1, m):
            if abs(int(links.body[i]) - int(links.body[j])) >= 3 and all(
                segment_segment(*row[i], *row[j]) > r[i] + r[j] + margin + SEAM for row in ends
            ):
                pairs.append((i, j))
    n = robot.n
    return TouchMap(
        robot,
        links,
        tuple(pairs),
        np.zeros((0, 3)),
        np.zeros(0, dtype=bool),
        np.zeros(0),
        np.zeros(0, dtype=np.int64),
        np.zeros((0, n)),
        np.zeros(0),
        np.zeros(0),
        np.zeros((0, n)),
    )


def ends_at(robot: Robot, links: LinkCapsules, q: ArrayLike) -> Array:
    """Return the ends (..., m, 2, 3) of the links' capsules at q (..., n), base frame [m]."""
    T = fk_all(robot, q)[..., links.body, :, :]
    ends = np.stack([links.a, links.b], axis=1)
    return np.asarray(np.einsum("...mij,mkj->...mki", T[..., :3, :3], ends) + T[..., None, :3, 3])


def depth_in(robot: Robot, links: LinkCapsules, rows: Array, points: Array) -> Array:
    """Return the largest depth (k,) [m] of points (k, 3) in links at configurations (r, n); negative if outside."""
    best = np.full(len(points), -np.inf)
    if not len(points):
        return best
    for begin in range(0, len(rows), CONFIGURATIONS_AT_ONCE):
        ends = ends_at(robot, links, rows[begin : begin + CONFIGURATIONS_AT_ONCE])
        a, d = ends[:, :, 0, :, None], (ends[:, :, 1] - ends[:, :, 0])[..., None]
        w = [points[:, i] - a[:, :, i] for i in range(3)]  # (r, m, k) each: a last axis of three is slow
        along = w[0] * d[:, :, 0] + w[1] * d[:, :, 1] + w[2] * d[:, :, 2]
        s = np.clip(along / np.maximum(np.sum(d * d, axis=2), 1e-30), 0.0, 1.0)
        away = [w[i] - s * d[:, :, i] for i in range(3)]
        gap = links.radius[:, None] - np.sqrt(away[0] ** 2 + away[1] ** 2 + away[2] ** 2)
        best = np.maximum(best, gap.max(axis=(0, 1)))
    return best


def thinned(robot: Robot, links: LinkCapsules, rows: Array, step: float) -> Array:
    """Return rows (r, n) of a motion, thinned so that no link's end moves more than about `step` [m] between them."""
    if len(rows) < 2:
        return rows
    ends = ends_at(robot, links, rows).reshape(len(rows), -1, 3)
    kept = [0]
    for k in range(1, len(rows)):
        if np.linalg.norm(ends[k] - ends[kept[-1]], axis=-1).max() >= step:
            kept.append(k)
    return rows[kept]
