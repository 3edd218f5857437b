# SPDX-License-Identifier: Apache-2.0
"""The arm as the recursions see it: canonical frames, ten inertial parameters per body.

`Robot` keeps the frames of its document; the recursions need frames in which most numbers are 0 or ±1.
`tree_of` re-expresses a robot in modified Denavit–Hartenberg frames wherever the geometry allows it:

    T_parent_body(q) = [R0 | p0] · Rz(ratio·q + offset)          revolute
    T_parent_body(q) = [R0 | p0] · Tz(ratio·q + offset)          prismatic

with R0 = Rx(alpha), p0 = (a, −d sin alpha, d cos alpha) for most chains, any constant pose for branches and for axes
that are nearly parallel (see `canonical_frames`). The choice of frames affects how much folds away when the recursion
is traced, never the result.

`regroup` moves the part of each body's inertia that its own joint cannot show to the parent (base inertial
parameters): exact for tau, M and qdd, **not** for joint reaction wrenches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.robot.canonical_frames import CanonicalFrames, frames_of, snap, snap_pose
from armwright.robot.model import Robot
from armwright.spatial import inverse

if TYPE_CHECKING:
    from armwright.robot.parts import Actuators, Frame
    from armwright.types import Array, Traced

CANONICAL, REGROUPED = "tree", "regrouped tree"  # where a robot keeps its two trees
ROBOT_FIELDS = tuple(part.name for part in fields(Robot) if part.init)


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Arrays of one arm, body-indexed (nb bodies, n coordinates), parents first.

    Attributes:
        parent: parent body, -1 for the root frame.
        revolute: True for revolute, False for prismatic.
        joint, ratio, offset: displacement of body i is ``ratio[i]·q[joint[i]] + offset[i]``.
        R0, p0: constant pose of the joint in the parent frame, (nb, 3, 3) and (nb, 3).
        m, h, J: mass, first moment m·c and inertia about the **frame origin**, in body axes: (nb,), (nb, 3), (nb, 3,
            3).
        gravity: in root axes (3,).
        armature: rotor inertia at the joints Kᵀ I_a K, (n, n). viscous: friction matrix (n, n), joint and motor side.
        coulomb, dead_zone: Coulomb friction and its dead zone (n,).
        T_base_root: pose of the root frame in the base frame. T_body_link: link frame of the robot in each body frame.
        tip, T_tip_tool: body that carries the tool (-1: root) and the tool's pose in that **body** frame.
        frames: carrier (-1: root) and pose in that **body** frame of the robot's named frames, in their order.
        parts: fields of the robot that it was made of; None for an arm of symbols. The tree is that robot's only as
            long as no number was replaced: see `robot_of`. (The robot itself would be kept alive by its own tree.)
    """

    n: int
    parent: tuple[int, ...]
    revolute: tuple[bool, ...]
    joint: tuple[int, ...]
    ratio: Array
    offset: Array
    R0: Array
    p0: Array
    m: Any
    h: Any
    J: Any
    gravity: Array
    armature: Array
    viscous: Array
    coulomb: Array
    dead_zone: Array
    T_base_root: Array
    T_body_link: Array
    tip: int
    T_tip_tool: Array
    frames: tuple[tuple[int, Array], ...] = ()
    parts: dict[str, Any] | None = field(default=None, repr=False)

    @property
    def nb(self) -> int:
        """Number of moving bodies."""
        return len(self.parent)

    def ancestors(self, i: int) -> list[int]:
        """Bodies on the way from body i (included) to the root, tip first."""
        path = []
        while i >= 0:
            path.append(i)
            i = self.parent[i]
        return path


def as_tree(arm: Robot | Tree) -> Tree:
    """Return the tree of a robot (unregrouped), or the tree itself."""
    return arm if isinstance(arm, Tree) else arm.tree


def link_names(tree: Tree) -> tuple[str, ...]:
    """Return the names of the bodies and then of the named frames, in their order; nothing for an arm of symbols."""
    parts = tree.parts or {"bodies": (), "frames": ()}
    return tuple(item.name for item in (*parts["bodies"], *parts["frames"]))


def robot_of(tree: Tree) -> Robot | None:
    """Return the robot whose tree, regrouped or not, this is; None where numbers of it were replaced since."""
    if tree.parts is None:
        return None
    robot = Robot(**tree.parts)  # equal to the one it was made of, so it knows what that one knows
    return robot if any(robot.known.get(key) is tree for key in (REGROUPED, CANONICAL)) else None


def present(values: Traced) -> bool:
    """Return whether some entry is not zero, or is a symbol, which may be anything."""
    return any(not isinstance(value, (int, float)) or value != 0.0 for value in np.ravel(values).tolist())


def tree_of(robot: Robot, *, regroup: bool = False) -> Tree:
    """Express `robot` in canonical frames; with `regroup`, in base inertial parameters (see the module text).

    Computed once per robot.
    """
    return robot.memo(REGROUPED, _regrouped) if regroup else robot.memo(CANONICAL, _canonical)


def trees_of(robots: Sequence[Robot]) -> list[Tree]:
    """Return the regrouped trees of many robots; arms of one geometry are done together, with the same bits."""
    new: dict[int, list[Robot]] = {}
    for robot in robots:
        if REGROUPED not in robot.known:
            new.setdefault(id(frames_of(robot)), []).append(robot)
    for alike in new.values():
        for robot, tree in zip(alike, _trees(alike, regroup=True), strict=True):
            robot.memo(REGROUPED, lambda _, tree=tree: tree)
    return [tree_of(robot, regroup=True) for robot in robots]


def _regrouped(robot: Robot) -> Tree:
    return _trees([robot], regroup=True)[0]


def _canonical(robot: Robot) -> Tree:
    return _trees([robot], regroup=False)[0]


def _trees(robots: Sequence[Robot], *, regroup: bool) -> list[Tree]:
    """Trees of robots of one geometry."""
    frames = frames_of(robots[0])
    inertias = _inertias(robots, frames)
    if regroup:
        inertias = _regroup(frames, *inertias)
    return [_tree(robot, frames, *own) for robot, *own in zip(robots, *inertias, strict=True)]


def _tree(robot: Robot, frames: CanonicalFrames, m: Array, h: Array, J: Array) -> Tree:
    T_base_root = snap_pose(robot.T_base_root @ frames.root, frames.size)
    g = T_base_root[:3, :3].T @ robot.gravity
    rotors, viscous = _motors_at_joints(robot.actuators)
    return Tree(
        n=robot.n,
        parent=frames.parent,
        revolute=frames.revolute,
        joint=frames.joint,
        ratio=frames.ratio,
        offset=frames.offset,
        R0=frames.R0,
        p0=frames.p0,
        m=m,
        h=h,
        J=J,
        gravity=snap(g, max(1e-3, float(np.abs(g).max(initial=0.0)) * 0.25)),
        armature=rotors,
        viscous=np.diag([joint.friction.viscous for joint in robot.joints]) + viscous,
        coulomb=np.array([joint.friction.coulomb for joint in robot.joints]),
        dead_zone=np.array([joint.friction.dead_zone for joint in robot.joints]),
        T_base_root=T_base_root,
        T_body_link=frames.T_body_link,
        tip=robot.tip,
        T_tip_tool=snap_pose(frames.T_tip_link @ robot.T_tip_tool, frames.size),
        frames=tuple((frame.parent, _placed(frame, frames)) for frame in robot.frames),
        parts={name: getattr(robot, name) for name in ROBOT_FIELDS},
    )


def _placed(frame: Frame, frames: CanonicalFrames) -> Array:
    """Pose of a named frame in the body frame of its carrier."""
    T_body_link = frames.T_body_link[frame.parent] if frame.parent >= 0 else inverse(frames.root)
    return snap_pose(T_body_link @ frame.T_parent_frame, frames.size)


def _motors_at_joints(motors: Actuators) -> tuple[Array, Array]:
    K = motors.gear
    return K.T @ np.diag(motors.rotor_inertia) @ K, K.T @ np.diag(motors.viscous) @ K


def _skew(v: Array) -> Array:
    """Cross-product matrices (…, 3, 3) of vectors (…, 3)."""
    out = np.zeros((*v.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = v[..., 2], -v[..., 1], v[..., 0]
    return out


def _largest(J: Array) -> Array:
    """Largest magnitude in each matrix: (…, 3, 3) → (…)."""
    largest: Array = np.abs(J).max(axis=(-2, -1), initial=0.0)
    return largest


def _inertias(robots: Sequence[Robot], frames: CanonicalFrames) -> tuple[Array, Array, Array]:
    """Masses m (B, nb), h (B, nb, 3) and J (B, nb, 3, 3), about the origins and in the axes of the body frames."""
    shape, bodies = (len(robots), len(frames.parent)), [body for robot in robots for body in robot.bodies]
    m = np.array([body.mass for body in bodies]).reshape(shape)
    com = np.array([body.com for body in bodies]).reshape(*shape, 3)
    inertia = np.array([body.inertia for body in bodies]).reshape(*shape, 3, 3)
    R, p = frames.T_body_link[:, :3, :3], frames.T_body_link[:, :3, 3]
    com = (R @ com[..., None])[..., 0] + p
    S = _skew(com)
    J = R @ inertia @ R.swapaxes(-1, -2) - (m[..., None, None] * S) @ S
    J = 0.5 * (J + J.swapaxes(-1, -2))
    h = snap(m[..., None] * com, np.maximum(1e-6, m * frames.size)[..., None])
    return m, h, snap(J, np.maximum(1e-9, 0.1 * _largest(J))[..., None, None])


def _regroup(frames: CanonicalFrames, m: Array, h: Array, J: Array) -> tuple[Array, Array, Array]:
    """Move to each parent the inertia that the body's own joint cannot show (performance study §3), for B robots.

    Revolute about z: m, h_z and a multiple of diag(1, 1, 0) are invariant under Rz(q), leaving m = h_z = J_yy = 0.
    Prismatic: the body turns with its parent, so all of J's rotation is the parent's; m and h stay.
    """
    m, h, J = m.copy(), h.copy(), J.copy()
    for i in range(len(frames.parent) - 1, -1, -1):
        m_up, h_up, J_up = np.zeros_like(m[:, i]), np.zeros_like(h[:, i]), J[:, i].copy()
        if frames.revolute[i]:
            m_up, J_up = m[:, i].copy(), np.zeros_like(J_up)
            h_up[:, 2] = h[:, i, 2]
            J_up[:, 0, 0] = J_up[:, 1, 1] = J[:, i, 1, 1]
        m[:, i] -= m_up
        h[:, i] -= h_up
        J[:, i] -= J_up
        p = frames.parent[i]
        if p >= 0:
            R, t = frames.R0[i], frames.p0[i]
            h_up, J_up = (R @ h_up[..., None])[..., 0], R @ J_up @ R.T
            if frames.revolute[i]:
                across, arm = _skew(t), _skew(h_up)
                J_up = J_up - across @ arm - arm @ across - (m_up[:, None, None] * across) @ across
                h_up = h_up + m_up[:, None] * t
            scale = np.maximum(1e-12, np.maximum(_largest(J[:, p]), _largest(J_up)))
            m[:, p] += m_up
            reach = np.abs(h[:, p]).max(axis=-1) + np.abs(h_up).max(axis=-1)
            h[:, p] = snap(h[:, p] + h_up, np.maximum(1e-9, reach)[:, None])
            J[:, p] = snap(J[:, p] + J_up, 0.5 * scale[:, None, None])
    return m, h, J
