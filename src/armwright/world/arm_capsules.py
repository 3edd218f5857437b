# SPDX-License-Identifier: Apache-2.0
"""The links of an arm as capsules: joint-to-joint segments in link frames, radii from the inertia or the arm's size.

`link_capsules` makes one `LinkCapsule` after the other; `LinkCapsules` holds them as arrays and `link_ends` says where
they are, for code that looks at all of them at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import frozen_numbers, names_culprit
from armwright.errors import InputError
from armwright.world.segments import segment_point
from armwright.world.shapes import Vector, vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

THIN_RADIUS_SHARE, DEFAULT_RADIUS_SHARE, THICK_RADIUS_SHARE = 0.03, 0.045, 0.07
"""Radii as fractions of the stretched arm: bounds of what the inertia suggests, and the value without inertia."""
SHORT_SEGMENT_SHARE = 0.02
"""Segments shorter than this fraction of the stretched length are covered by their neighbours."""


@dataclass(frozen=True)
class LinkCapsule:
    """All points within `radius` of a segment fixed to a link; its round ends reach that far beyond `start` and `end`.

    Attributes:
        body: index of the link in `Robot.bodies`.
        link: its name.
        start, end: ends of the axis in the link frame [m].
        radius: [m]; 0 for a point or a line.
    """

    body: int
    link: str
    start: Vector
    end: Vector
    radius: float

    def __post_init__(self) -> None:
        """Refuse values that make no capsule."""
        for what in ("start", "end"):
            object.__setattr__(self, what, vector(getattr(self, what), f"capsule of {self.link!r}: {what}"))
        if not (np.isfinite(self.radius) and self.radius >= 0.0):
            raise InputError(f"capsule of {self.link!r}: radius must be finite and ≥ 0, got {self.radius}")

    @property
    def length(self) -> float:
        """Length of the axis [m]."""
        return float(np.linalg.norm(np.subtract(self.end, self.start)))


def _segments(robot: Robot) -> list[tuple[int, Array, Array]]:
    """Body, start and end (link frame) of the pieces a link consists of.

    A link runs from its joint along the joint's axis to the foot of the next joint, and from there straight to it.
    """
    out: list[tuple[int, Array, Array]] = []
    for i, body in enumerate(robot.bodies):
        T_link_joint = np.linalg.inv(body.T_joint_link)
        origin: Array = np.asarray(T_link_joint[:3, 3], dtype=np.float64)
        axis = T_link_joint[:3, :3] @ body.axis
        ends = [child.T_parent_joint[:3, 3] for child in robot.bodies if child.parent == i]
        if robot.tip == i:
            ends.append(robot.T_tip_tool[:3, 3])
        for end in ends:
            foot = np.asarray(origin + axis * float(axis @ (end - origin)), dtype=np.float64)
            if robot.joints[body.joint].kind == "prismatic":
                foot = origin
            out += [(i, origin, foot), (i, foot, end)]
    return out


def _suggested(robot: Robot, body: int, along: Array) -> float | None:
    """Radius of the solid cylinder along a direction that has the body's moment of inertia: ½ m r² = uᵀ I u."""
    part = robot.bodies[body]
    size = float(np.linalg.norm(along))
    if part.mass <= 0.0 or size == 0.0:
        return None
    u = along / size
    moment = float(u @ part.inertia @ u)
    return float(np.sqrt(2.0 * moment / part.mass)) if moment > 0.0 else None


def has_extent(robot: Robot) -> bool:
    """Return whether the links lie apart, so that `link_capsules` can cover them; a bare gantry's frames coincide."""
    return any(np.linalg.norm(b - a) > 0.0 for _, a, b in _segments(robot))


@names_culprit
def link_capsules(
    robot: Robot, radius: float | Sequence[float] | Mapping[str, float] | None = None
) -> tuple[LinkCapsule, ...]:
    """Cover every link with capsules along its joint-to-joint segments.

    A capsule covers a cylinder with flat ends only if its round ends reach one radius further. So the last one, whose
    axis ends at the tool point, lies that far beyond the tool frame: `beyond_tool` says how far, ``armwright show``
    prints it, and a smaller `radius` for that link makes it less.

    Args:
        robot: the arm. The axis of the last link's capsule ends at the tool point.
        radius: one for all links, one per link (nb), or by link name (the others as by default) [m]. By default that of
            the solid cylinder with the link's mass and moment about the segment, within 3 … 7 % of the stretched
            arm's length; 4.5 % for links without inertia.

    Returns:
        One or more capsules per link, in link order; links without extent (spherical wrists) have none unless they are
        the last, which then is a ball.

    >>> link_capsules(robot, radius=0.05)  # every capsule with a radius of 5 cm
    """
    segments = _segments(robot)
    lengths = [float(np.linalg.norm(b - a)) for _, a, b in segments]
    extent = sum(lengths)
    if extent <= 0.0:
        raise InputError(
            f"robot {robot.name!r} has links without any extent: give LinkCapsule objects by hand, or let only the "
            "tool touch (tool_point; contact='tool' where an arm explores)"
        )
    given = _given(robot, radius)
    longest = {
        i: max((size, k) for k, (size, part) in enumerate(zip(lengths, segments, strict=True)) if part[0] == i)[1]
        for i in {part[0] for part in segments}
    }
    out = []
    for k, (i, a, b) in enumerate(segments):
        if lengths[k] < SHORT_SEGMENT_SHARE * extent and not (
            k == longest[i] and (i == robot.tip or lengths[k] > 1e-3 * extent)
        ):
            continue
        r = given[i]
        if r is None:
            main = segments[longest[i]]
            suggested = _suggested(robot, i, main[2] - main[1])
            r = (
                DEFAULT_RADIUS_SHARE * extent
                if suggested is None
                else float(np.clip(suggested, THIN_RADIUS_SHARE * extent, THICK_RADIUS_SHARE * extent))
            )
        out.append(LinkCapsule(i, robot.bodies[i].name, vector(a, "start"), vector(b, "end"), r))
    return tuple(out)


def _given(robot: Robot, radius: float | Sequence[float] | Mapping[str, float] | None) -> list[float | None]:
    names = [body.name for body in robot.bodies]
    if radius is None:
        return [None] * len(names)
    if isinstance(radius, Mapping):
        unknown = sorted(set(radius) - set(names))
        if unknown:
            raise InputError(f"link_capsules: no link {unknown[0]!r}; valid: {', '.join(names)}")
        return [float(radius[name]) if name in radius else None for name in names]
    values = np.asarray(radius, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 1 and values.shape != (len(names),)):
        raise InputError(
            f"link_capsules: radius must be one number, {len(names)} numbers or a mapping; got shape {values.shape}"
        )
    return [float(r) for r in np.broadcast_to(values, (len(names),))]


@names_culprit
def beyond_tool(robot: Robot, capsules: Sequence[LinkCapsule] | None = None) -> float:
    """Return how far the capsules of the tool's link reach beyond the tool point [m]; below 0 they end before it.

    It is the depth of the tool point beneath their surface: a contact is felt that much before the tool arrives.

    Args:
        robot: the arm.
        capsules: capsules of the links; `link_capsules(robot)` by default.

    >>> beyond_tool(robot)  # [m]
    """
    parts = link_capsules(robot) if capsules is None else capsules
    tool = robot.T_tip_tool[:3, 3]
    depth = -np.inf
    for part in parts:
        if part.body == robot.tip:
            gap = segment_point(np.asarray(part.start), np.asarray(part.end), tool)
            depth = max(depth, part.radius - float(gap))
    return float(depth)


@names_culprit
def tool_point(robot: Robot, radius: float = 0.0) -> LinkCapsule:
    """Return the tool point alone as a capsule without length: a ball of `radius` [m] on the tool's link.

    >>> contact_wrench(robot, world, capsules=(tool_point(robot, 0.02),))  # only the tool touches
    """
    if robot.tip < 0:
        raise InputError(f"robot {robot.name!r} has no moving link that carries the tool")
    p = vector(robot.T_tip_tool[:3, 3], "tool point")
    return LinkCapsule(robot.tip, robot.bodies[robot.tip].name, p, p, radius)


def fixed_column(robot: Robot, capsules: Sequence[LinkCapsule]) -> tuple[LinkCapsule, ...]:
    """Return the capsules that no joint can move: those whose axis lies on the axis of a revolute joint of the root."""
    out = []
    for capsule in capsules:
        body = robot.bodies[capsule.body]
        if body.parent >= 0 or robot.joints[body.joint].kind != "revolute":
            continue
        T_link_joint = np.linalg.inv(body.T_joint_link)
        origin, axis = T_link_joint[:3, 3], T_link_joint[:3, :3] @ body.axis
        off = [np.linalg.norm(np.cross(axis, np.asarray(p) - origin)) for p in (capsule.start, capsule.end)]
        if max(off) < 1e-9:
            out.append(capsule)
    return tuple(out)


@dataclass(frozen=True, slots=True, eq=False)
class LinkCapsules:
    """Capsules fixed to links: body (m,) index, ends a, b (m, 3) in the link's frame, radius (m,) [m]."""

    body: NDArray[np.int64]
    a: Array
    b: Array
    radius: Array

    def __post_init__(self) -> None:
        """Check and freeze."""
        body = np.array(self.body, dtype=np.int64).reshape(-1)
        m = body.size
        object.__setattr__(self, "body", body)
        for name, shape in (("a", (m, 3)), ("b", (m, 3)), ("radius", (m,))):
            object.__setattr__(self, name, frozen_numbers(getattr(self, name), shape, f"capsules.{name}"))
        if (self.radius < 0.0).any():
            raise InputError(f"capsules.radius: must be ≥ 0 [m], got {self.radius.tolist()}")

    def _content(self) -> tuple[bytes, ...]:
        return tuple(np.asarray(getattr(self, name)).tobytes() for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        """Compare by value, so that equal capsules share their compiled tests."""
        return isinstance(other, LinkCapsules) and self._content() == other._content()

    def __hash__(self) -> int:
        """Hash by value."""
        return hash(self._content())


def link_ends(poses: Traced, links: LinkCapsules) -> Traced:
    """Return the ends of the capsules in the base frame [m], floats or symbols.

    Args:
        poses: poses of all links, T_base_link (..., nb, 4, 4): from `fk_all`, or from `link_poses` where traced.
        links: the capsules, m of them.

    Returns:
        (..., m, 2, 3): start and end of every axis.
    """
    T = poses[..., links.body, :, :]
    ends = np.stack([links.a, links.b], axis=1)  # (m, 2, 3)
    return ends @ np.swapaxes(T[..., :3, :3], -1, -2) + T[..., None, :3, 3]
