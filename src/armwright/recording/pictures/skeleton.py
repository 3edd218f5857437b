# SPDX-License-Identifier: Apache-2.0
"""The arm as pictures show it: capsules along its joint axes and links, and a camera that projects them.

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
    from armwright.types import Array

RADIUS_SHARE = 0.06  # of the link's length: the sheets hold no shapes
_ROUND = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 13)


@dataclass(frozen=True)
class Capsules:
    """A posed arm as capsules, for one configuration or a batch of them.

    Attributes:
        start, end: (..., k, 3) [m], z up.
        radius: (k,) [m].
        body: (k,) index of the body that carries it, -1 for the base.
        joint: (k,) True for a joint's housing, False for a link.
        tool: (..., 4, 4) pose of the tool.
        base: (3,) origin of the root link.
    """

    start: Array
    end: Array
    radius: Array
    body: NDArray[np.int64]
    joint: NDArray[np.bool_]
    tool: Array
    base: Array


def joint_frames(robot: Robot, q: ArrayLike) -> Array:
    """Return the undisplaced joint frames T_base_joint, (..., nb, 4, 4), z on the joint's axis, for q (..., n)."""
    links = fk_all(robot, q)
    out = np.empty_like(links)
    for i, body in enumerate(robot.bodies):
        parent = robot.T_base_root if body.parent < 0 else links[..., body.parent, :, :]
        out[..., i, :, :] = parent @ body.T_parent_joint
        out[..., i, :3, 2] = np.einsum("...ij,j->...i", out[..., i, :3, :3], body.axis)
    return out


def upright(robot: Robot) -> Array:
    """Return the rotation (4, 4) that turns the base frame so that gravity points down the z axis."""
    T = np.eye(4)
    size = float(np.linalg.norm(robot.gravity))
    if size > 0.0:
        up = -robot.gravity / size
        across = np.cross(up, [0.0, 0.0, 1.0])
        sine, cosine = float(np.linalg.norm(across)), float(up[2])
        if sine > 1e-12:
            K = np.array([[0, -across[2], across[1]], [across[2], 0, -across[0]], [-across[1], across[0], 0]]) / sine
            T[:3, :3] = np.eye(3) + sine * K + (1.0 - cosine) * K @ K
        elif cosine < 0.0:
            T[:3, :3] = np.diag([1.0, -1.0, -1.0])
    return T


def capsules(robot: Robot, q: ArrayLike) -> Capsules:
    """Return the arm's capsules for q (..., n), turned so that gravity points down.

    A link runs from its joint along the joint's axis to the foot of the next joint, and from there straight to it, as
    arms are built. Radii are 6 % of a link's length, within bounds set by the whole arm.
    """
    q = np.asarray(q, dtype=np.float64)
    turn = upright(robot)
    joints, tool = turn @ joint_frames(robot, q), turn @ fk(robot, q)
    lead = q.shape[:-1]
    T_root = turn @ robot.T_base_root
    base = np.broadcast_to(T_root[:3, 3], (*lead, 3))
    ends: dict[int, list[Array]] = {i: [] for i in range(-1, len(robot.bodies))}
    for i, body in enumerate(robot.bodies):
        ends[body.parent].append(joints[..., i, :3, 3])
    ends[robot.tip].append(tool[..., :3, 3])
    pieces: list[tuple[Array, Array, int]] = []
    for i in range(-1, len(robot.bodies)):
        for target in ends[i]:
            if i < 0:
                origin, axis = base, np.broadcast_to(T_root[:3, 2], (*lead, 3))
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
    start, end = np.stack(starts, -2), np.stack(stops, -2)
    return Capsules(start, end, np.array(radii), np.array(bodies), np.array(flags), tool, T_root[:3, 3])


@dataclass(frozen=True)
class Camera:
    """Parallel projection, seen from azimuth and elevation [deg]; z points up."""

    azimuth: float = -55.0
    elevation: float = 18.0

    @property
    def axes(self) -> Array:
        """Rows: right, up, towards the viewer."""
        a, e = np.radians(self.azimuth), np.radians(self.elevation)
        toward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        return np.stack([right, np.cross(toward, right), toward])

    def project(self, points: ArrayLike) -> Array:
        """Return (..., 3): right, up and depth (larger is nearer) of points (..., 3)."""
        return np.asarray(points, dtype=np.float64) @ self.axes.T


def camera_for(robot: Robot) -> Camera:
    """Return a camera that shows the arm well: an arm that moves in one upright plane is seen from its side."""
    axes = (upright(robot) @ joint_frames(robot, np.zeros(robot.n)))[:, :3, 2]
    level = len(axes) > 0 and bool((np.abs(axes[:, 2]) < 1e-6).all())
    if level and bool((np.linalg.norm(np.cross(axes, axes[0]), axis=1) < 1e-6).all()):
        return Camera(float(np.degrees(np.arctan2(axes[0, 1], axes[0, 0]))) - 20.0, 12.0)
    return Camera()


def band(a: Array, b: Array, radius: float) -> Array:
    """Return the outline (26, 2) of a flat band with round ends from a to b (2,)."""
    along = b - a
    angle = float(np.arctan2(along[1], along[0]))
    ends = []
    for centre, turn in ((b, angle), (a, angle + np.pi)):
        ends.append(centre + radius * np.stack([np.cos(_ROUND + turn), np.sin(_ROUND + turn)], axis=-1))
    return np.concatenate(ends)
