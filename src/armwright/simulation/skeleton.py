"""The arm as a picture sees it: capsules along its joint axes and links, and a camera that projects them.

Under parallel projection the outline of a capsule is exactly a band with round ends, so capsules are drawn as flat
polygons, far ones first. That is sharper and far faster than meshes, and stays a vector graphic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.kinematics.forward import fk, fk_all

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot

    Array = NDArray[np.float64]

RADIUS_SHARE = 0.06  # of the link's length: the sheets hold no shapes
_ROUND = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 13)


@dataclass(frozen=True)
class Capsules:
    """A posed arm as capsules, for one configuration or a batch of them.

    Attributes:
        start, end: (..., k, 3) in the base frame [m].
        radius: (k,) [m].
        body: (k,) index of the body that carries it, -1 for the base.
        joint: (k,) True for a joint's housing, False for a link.
        tool: (..., 4, 4) pose of the tool.
    """

    start: Array
    end: Array
    radius: Array
    body: NDArray[np.int64]
    joint: NDArray[np.bool_]
    tool: Array


def joint_frames(robot: Robot, q: ArrayLike) -> Array:
    """Return the undisplaced joint frames T_base_joint, (..., nb, 4, 4), z on the joint's axis, for q (..., n)."""
    links = fk_all(robot, q)
    out = np.empty_like(links)
    for i, body in enumerate(robot.bodies):
        parent = robot.T_base_root if body.parent < 0 else links[..., body.parent, :, :]
        out[..., i, :, :] = parent @ body.T_parent_joint
        out[..., i, :3, 2] = np.einsum("...ij,j->...i", out[..., i, :3, :3], body.axis)
    return out


def capsules(robot: Robot, q: ArrayLike) -> Capsules:
    """Return the arm's capsules for q (..., n).

    A link runs from its joint along the joint's axis to the foot of the next joint, and from there straight to it, which is
    how arms are built. Radii are 6 % of a link's length, within bounds set by the whole arm.
    """
    q = np.asarray(q, dtype=np.float64)
    joints, tool = joint_frames(robot, q), fk(robot, q)
    lead = q.shape[:-1]
    base = np.broadcast_to(robot.T_base_root[:3, 3], (*lead, 3))
    ends: dict[int, list[Array]] = {i: [] for i in range(-1, len(robot.bodies))}
    for i, body in enumerate(robot.bodies):
        ends[body.parent].append(joints[..., i, :3, 3])
    ends[robot.tip].append(tool[..., :3, 3])
    pieces: list[tuple[Array, Array, int]] = []
    for i in range(-1, len(robot.bodies)):
        for target in ends[i]:
            if i < 0:
                origin, axis = base, np.broadcast_to(robot.T_base_root[:3, 2], (*lead, 3))
            else:
                origin, axis = joints[..., i, :3, 3], joints[..., i, :3, 2]
                if robot.joints[robot.bodies[i].joint].kind == "prismatic":
                    pieces.append((origin, target, i))
                    continue
            foot = origin + axis * np.sum(axis * (target - origin), axis=-1, keepdims=True)
            pieces += [(origin, foot, i), (foot, target, i)]
    lengths = np.array([np.max(np.linalg.norm(b - a, axis=-1), initial=0.0) for a, b, _ in pieces])
    extent = max(float(lengths.sum()), 1e-9)
    longest = {i: max(lengths[k] for k, piece in enumerate(pieces) if piece[2] == i) for i in ends if ends[i]}
    radius_of = {i: float(np.clip(RADIUS_SHARE * size, 0.014 * extent, 0.032 * extent)) for i, size in longest.items()}
    keep = [k for k, size in enumerate(lengths) if size > 1e-6 * extent]
    starts, stops = [pieces[k][0] for k in keep], [pieces[k][1] for k in keep]
    radii, bodies = [radius_of[pieces[k][2]] for k in keep], [pieces[k][2] for k in keep]
    flags = [False] * len(keep)
    for i, body in enumerate(robot.bodies):
        radius = 1.25 * max(radius_of.get(i, 0.0), min(radius_of.get(body.parent, 0.0), 1.4 * radius_of.get(i, np.inf)))
        middle, axis = joints[..., i, :3, 3], joints[..., i, :3, 2]
        starts.append(middle - 0.55 * radius * axis)
        stops.append(middle + 0.55 * radius * axis)
        radii.append(radius)
        bodies.append(i)
        flags.append(True)
    if not starts:
        raise InputError(f"robot {robot.name!r} has neither joints nor a tool away from its base: nothing to draw")
    return Capsules(np.stack(starts, -2), np.stack(stops, -2), np.array(radii), np.array(bodies), np.array(flags), tool)


@dataclass(frozen=True)
class Camera:
    """Parallel projection, seen from azimuth and elevation [deg]; z of the base frame points up."""

    azimuth: float = -55.0
    elevation: float = 18.0

    @property
    def axes(self) -> Array:
        """Rows: right, up, towards the viewer (base frame)."""
        a, e = np.radians(self.azimuth), np.radians(self.elevation)
        toward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        return np.stack([right, np.cross(toward, right), toward])

    def project(self, points: ArrayLike) -> Array:
        """Return (..., 3): right, up and depth (larger is nearer) of points (..., 3)."""
        return np.asarray(points, dtype=np.float64) @ self.axes.T


def band(a: Array, b: Array, radius: float) -> Array:
    """Return the outline (26, 2) of a flat band with round ends from a to b (2,)."""
    along = b - a
    angle = float(np.arctan2(along[1], along[0]))
    ends = []
    for centre, turn in ((b, angle), (a, angle + np.pi)):
        ends.append(centre + radius * np.stack([np.cos(_ROUND + turn), np.sin(_ROUND + turn)], axis=-1))
    return np.concatenate(ends)
