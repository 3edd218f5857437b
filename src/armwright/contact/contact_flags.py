# SPDX-License-Identifier: Apache-2.0
"""What a run must not keep to itself: a surface that was pushed through, a link that sank into a solid.

*pushed through*: a point (the tool, or a point on the axis of a link) went in on one side and came out on another
(`passages`). *sunk*: the axis of a link lies inside a solid, deeper than its radius; the sum of the forces of the
shapes is right outside of them only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.contact.passages import passages
from armwright.kinematics.forward import fk_all
from armwright.world.arm_capsules import LinkCapsule, fixed_column, link_capsules
from armwright.world.shapes import Mesh
from armwright.world.solid_clusters import beyond

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.world import World

AXIS_SPACING = 0.02
"""Distance of the points on the axis of a link at which it is looked at [m]: half the radius of a UR5's wrist."""


class ContactFlag(NamedTuple):
    """Something that contact should have prevented.

    Attributes:
        time: when [s]. kind: "pushed through" or "sunk".
        link, shape: names of both. depth: largest depth [m].
    """

    time: float
    kind: str
    link: str
    shape: str
    depth: float

    @property
    def words(self) -> str:
        """What happened, for the list of events: "pushed through 'wall': 'wrist_3', 3.0 mm deep"."""
        return f"{self.kind} {self.shape!r}: {self.link!r}, {1e3 * self.depth:.1f} mm deep"


def contact_flags(
    robot: Robot, world: World, time: Array, q: Array, capsules: Sequence[LinkCapsule] | None = None
) -> tuple[ContactFlag, ...]:
    """Return what surfaces did not hold back on a motion q (T, n) at times (T,) [s], in order of time.

    Args:
        robot: the arm.
        world: the shapes; meshes are left out.
        time: of the rows. The motion is taken as straight between them: give every step of a simulation.
        q: joint coordinates.
        capsules: what can touch, as in `contact_wrench`; `link_capsules(robot)` by default.

    Returns:
        At most one flag of a kind for every link and shape: the first.

    >>> contact_flags(robot, world, run.time, run["q"])  # () if every surface held
    """
    parts = link_capsules(robot) if capsules is None else tuple(capsules)
    still = fixed_column(robot, parts)
    finite = np.isfinite(q).all(axis=1)
    q, time = np.asarray(q)[finite], np.asarray(time)[finite]
    if len(q) < 2 or not world.shapes:
        return ()
    T = np.asarray(fk_all(robot, q))
    found: dict[tuple[str, str, str], ContactFlag] = {}
    for part in parts:
        if part in still:
            continue
        R, p = T[:, part.body, :3, :3], T[:, part.body, :3, 3]
        for local in _axis_points(part):
            for flag in _flags_of_point(world, part, time, p + R @ local):
                key = (flag.kind, flag.link, flag.shape)
                if key not in found or flag.time < found[key].time:
                    found[key] = flag
    return tuple(sorted(found.values(), key=lambda flag: flag.time))


def _axis_points(part: LinkCapsule) -> Array:
    """Return points (m, 3) along the axis of a capsule, link frame [m]."""
    if part.length == 0.0:
        return np.array([part.start])
    count = math.ceil(part.length / AXIS_SPACING) + 1
    start, end = np.array(part.start), np.array(part.end)
    return np.asarray(start + np.linspace(0.0, 1.0, count)[:, None] * (end - start))


def _flags_of_point(world: World, part: LinkCapsule, time: Array, X: Array) -> list[ContactFlag]:
    """Return the flags of one point of a capsule on its path X (T, 3)."""
    step, out, near = np.linalg.norm(np.diff(X, axis=0), axis=1), list[ContactFlag](), False
    for shape in world.shapes:
        if isinstance(shape, Mesh):
            continue
        far = beyond(shape, X)
        near = near or bool((far[1:] + far[:-1] < step).any())
        if far.min() < 0.0 and part.radius > 0.0:  # a point or a line has no depth but that of its contact
            k = int(np.argmax(far < 0.0))
            out.append(ContactFlag(float(time[k]), "sunk", part.link, shape.name, part.radius - float(far.min())))
    for passage in passages(world, X) if near else ():
        out.append(ContactFlag(float(time[passage.row]), "pushed through", part.link, passage.shape, passage.depth))
    return out


def world_of(wrench: Callable[..., Any] | None) -> tuple[World, tuple[LinkCapsule, ...] | None] | None:
    """Return world and capsules behind a function of `contact_wrench`; None for any other."""
    return getattr(wrench, "contact", None)
