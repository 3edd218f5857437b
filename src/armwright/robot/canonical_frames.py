# SPDX-License-Identifier: Apache-2.0
"""Frames in which an arm's constants fold away: modified Denavit–Hartenberg where the axes allow it.

Frame i has its z on axis i, and where possible its x on the common normal with the next axis and its origin at that
normal's foot. Two axes that are nearly parallel have their common normal far away: a tilt of 1 mrad between axes
0.3 m apart puts it 300 m from the arm, and inertias about an origin that far lose (300 m / 1 m)², five digits. So a
foot is taken only within `NEAR_EXTENTS` extents of the arm. Otherwise the origin stays next to the previous one, the
small rotation is kept as it is, and the step has one constant more. No arm is ill-conditioned by the choice of its
frames.

`CanonicalFrames` holds everything that lengths and axes decide, and no mass or friction. Arms that differ in loads and
friction only have the same frames. They are found once for all of them, as long as one of those arms lives: a batch of
a thousand payloads pays for one arm's geometry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.robot.model import make_once, memo_of
from armwright.robot.tables.common_normal import frame_at, perpendicular
from armwright.spatial import inverse

if TYPE_CHECKING:
    from collections.abc import Hashable

    from armwright.robot.model import Robot
    from armwright.types import Array

# A frame this many extents of the arm away costs 2·log10(NEAR) ≈ 1 digit of the inertias, which 1e-10 can spare.
NEAR_EXTENTS = 3.0
# Angle between axes [rad] below which they are parallel but for rounding: products of a dozen rotations err by 1e-15.
PARALLEL_SINE = 1e-13
# Distance between parallel axes below which they are one line, in extents of the arm.
COINCIDENT_SHARE = 1e-9


def canonical_frames(robot: Robot, homes: list[Array]) -> list[Array]:
    """Home pose (in the root link's frame) of a canonical frame for each body; `homes` are the joint frames at q = 0.

    A body with several children is given the frame that suits the first.
    """
    axes = [home[:3, :3] @ body.axis for home, body in zip(homes, robot.bodies, strict=True)]
    points = [home[:3, 3] for home in homes]
    slides = [robot.joints[body.joint].kind == "prismatic" for body in robot.bodies]
    extent = max([1e-3] + [float(np.linalg.norm(point - points[0])) for point in points])
    child: dict[int, int] = {}
    for i, body in enumerate(robot.bodies):
        child.setdefault(body.parent, i)
    frames: list[Array] = []
    for i, body in enumerate(robot.bodies):
        z, p = axes[i], points[i]
        before = frames[body.parent] if body.parent >= 0 else np.eye(4)
        x_before, o_before = before[:3, 0], before[:3, 3]
        origin = p + ((o_before - p) @ z) * z  # on the axis, nearest to the previous origin: d = 0
        x = perpendicular(z, x_before)
        c = child.get(i)
        if c is not None:
            zc, between = axes[c], points[c] - p
            tilt = zc - (zc @ z) * z
            sine = float(np.linalg.norm(tilt))
            if sine > PARALLEL_SINE:
                # z × tilt, not z × zc: orthogonal to both axes to rounding, however small the angle between them
                x = np.cross(z, perpendicular(z, tilt / sine))
                if not slides[c] and not slides[i]:
                    along = float(between @ (z - (z @ zc) * zc)) / sine**2
                    if abs(along) <= NEAR_EXTENTS * extent:
                        origin = p + along * z
            elif not slides[c]:
                across = between - (between @ z) * z
                distance = float(np.linalg.norm(across))
                if distance > COINCIDENT_SHARE * extent:
                    x = perpendicular(z, across / distance)
            if slides[i] and not slides[c]:
                origin = points[c]  # the line of a prismatic axis is free: put it through the next axis
        if x @ x_before < 0.0:
            x = -x
        frames.append(frame_at(z, x, origin))
    return frames


_OF_BODY = ("parent", "joint", "T_parent_joint", "axis", "T_joint_link", "ratio", "offset")


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalFrames:
    """Constants of the joints, as in `armwright.robot.tree.Tree`, and what the tool and the base are mounted on.

    Attributes:
        parent, revolute, joint, ratio, offset, R0, p0, T_body_link: see `Tree`.
        root: pose of the tree's root frame in the robot's root link, (4, 4).
        T_tip_link: pose of the tip's link frame in the tip's body frame, (4, 4), not rounded.
        size: largest coordinate of the arm at home [m]; what is small against it is rounding.
    """

    parent: tuple[int, ...]
    revolute: tuple[bool, ...]
    joint: tuple[int, ...]
    ratio: Array
    offset: Array
    R0: Array
    p0: Array
    T_body_link: Array
    root: Array
    T_tip_link: Array
    size: float


def snap(values: Array, size: float | Array) -> Array:
    """Round entries to 0 that differ from it only by rounding; `size` is what they are small against."""
    return np.where(np.abs(values) < 4e-15 * size, 0.0, values)


def snap_rotation(R: Array) -> Array:
    """Round entries to 0 and ±1 that differ from them only by rounding."""
    out = snap(R, 1.0)
    for one in (1.0, -1.0):
        out[np.abs(out - one) < 4e-15] = one
    return out


def snap_pose(T: Array, size: float) -> Array:
    """Round a pose of an arm of that size."""
    out = np.array(T)
    out[:3, :3], out[:3, 3] = snap_rotation(T[:3, :3]), snap(T[:3, 3], size)
    return out


def frames_of(robot: Robot) -> CanonicalFrames:
    """Return the frames of a robot's tree, shared by all robots of the same geometry."""
    _, frames = robot.memo("frames", _shared)
    return frames


def _shared(robot: Robot) -> tuple[Any, CanonicalFrames]:
    """Look under the geometry alone; the memo is returned too, so that it lives as long as the robot."""
    of_bodies = tuple(tuple(_hashable(getattr(body, name)) for name in _OF_BODY) for body in robot.bodies)
    kinds = tuple(joint.kind for joint in robot.joints)
    memo = memo_of(("frames", kinds, of_bodies, robot.tip, robot.T_base_root.tobytes()))
    return memo, make_once(memo.known, "frames", lambda: _frames(robot))


def _hashable(value: object) -> Hashable:
    return value.tobytes() if isinstance(value, np.ndarray) else value


def _split_turn(R: Array) -> tuple[Array, float]:
    """Write a constant rotation as Rx(alpha)·Rz(theta) if it has that form, else (R, 0)."""
    if R[0, 2] != 0.0:
        return R, 0.0
    theta = float(np.arctan2(-R[0, 1], R[0, 0]))
    Rx = np.array([[1.0, 0.0, 0.0], [0.0, R[2, 2], R[1, 2]], [0.0, -R[1, 2], R[2, 2]]])
    return Rx, theta


def _frames(robot: Robot) -> CanonicalFrames:
    links: list[Array] = []
    homes: list[Array] = []
    for body in robot.bodies:
        T_root_parent = links[body.parent] if body.parent >= 0 else np.eye(4)
        homes.append(T_root_parent @ body.T_parent_joint)
        links.append(homes[-1] @ body.T_joint_link)
    size = max([1e-3] + [float(np.abs(T[:3, 3]).max()) for T in links + homes])
    frames = canonical_frames(robot, homes)
    root = np.eye(4)
    if frames:
        R_base = robot.T_base_root[:3, :3]
        vertical = np.abs(R_base @ frames[0][:3, 2] - [0.0, 0.0, 1.0]).max() < 1e-14
        root[:3, :3] = R_base.T if vertical else frames[0][:3, :3]
        root[:3, 3] = frames[0][:3, 3]
    R0, p0, offset, T_body_link = [], [], [], []
    for i, body in enumerate(robot.bodies):
        before = frames[body.parent] if body.parent >= 0 else root
        step = inverse(before) @ frames[i]
        R = snap_rotation(step[:3, :3])
        turn = 0.0
        if robot.joints[body.joint].kind == "revolute":
            R, turn = _split_turn(R)
        R0.append(R)
        p0.append(snap(step[:3, 3], size))
        offset.append(body.offset + turn)
        T_body_link.append(snap_pose(inverse(frames[i]) @ links[i], size))
    nb = len(robot.bodies)
    return CanonicalFrames(
        parent=tuple(body.parent for body in robot.bodies),
        revolute=tuple(robot.joints[body.joint].kind == "revolute" for body in robot.bodies),
        joint=tuple(body.joint for body in robot.bodies),
        ratio=np.array([body.ratio for body in robot.bodies]),
        offset=np.array(offset),
        R0=np.array(R0).reshape(nb, 3, 3),
        p0=np.array(p0).reshape(nb, 3),
        T_body_link=np.array(T_body_link).reshape(nb, 4, 4),
        root=root,
        T_tip_link=inverse(frames[robot.tip]) @ links[robot.tip] if robot.tip >= 0 else inverse(root),
        size=size,
    )
