# SPDX-License-Identifier: Apache-2.0
"""The arm as the recursions see it: canonical frames, ten inertial parameters per body.

`Robot` keeps the frames of its document; the recursions want frames in which most numbers are 0 or ±1.
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

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.robot.canonical_frames import canonical_frames
from armwright.spatial import inverse, skew

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array


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


def present(values: Any) -> bool:
    """Whether some entry is not zero, or a symbol that may be anything (no array of symbols can be asked)."""
    return any(not isinstance(value, (int, float)) or value != 0.0 for value in np.ravel(values).tolist())


def _snap(values: Array, size: float) -> Array:
    """Round entries that differ from 0 (and ±1 for rotations, size 1) only by rounding."""
    out = np.array(values, dtype=np.float64)
    tolerance = 4e-15 * size
    out[np.abs(out) < tolerance] = 0.0
    if size == 1.0:
        for one in (1.0, -1.0):
            out[np.abs(out - one) < tolerance] = one
    return out


def _split_turn(R: Array) -> tuple[Array, float]:
    """Write a constant rotation as Rx(alpha)·Rz(theta) if it has that form, else (R, 0)."""
    if R[0, 2] != 0.0:
        return R, 0.0
    theta = float(np.arctan2(-R[0, 1], R[0, 0]))
    Rx = np.array([[1.0, 0.0, 0.0], [0.0, R[2, 2], R[1, 2]], [0.0, -R[1, 2], R[2, 2]]])
    return Rx, theta


def tree_of(robot: Robot, *, regroup: bool = False) -> Tree:
    """Express `robot` in canonical frames; with `regroup`, in base inertial parameters (see the module text).

    Computed once per robot.
    """
    return robot.memo("regrouped tree", _regrouped) if regroup else robot.memo("tree", _canonical)


def _regrouped(robot: Robot) -> Tree:
    return regrouped(tree_of(robot))


def _canonical(robot: Robot) -> Tree:
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
    R0, p0, offset, m, h, J, T_body_link = [], [], [], [], [], [], []
    for i, body in enumerate(robot.bodies):
        before = frames[body.parent] if body.parent >= 0 else root
        step = inverse(before) @ frames[i]
        R = _snap(step[:3, :3], 1.0)
        turn = 0.0
        if robot.joints[body.joint].kind == "revolute":
            R, turn = _split_turn(R)
        R0.append(R)
        p0.append(_snap(step[:3, 3], size))
        offset.append(body.offset + turn)
        T = inverse(frames[i]) @ links[i]
        T[:3, :3], T[:3, 3] = _snap(T[:3, :3], 1.0), _snap(T[:3, 3], size)
        T_body_link.append(T)
        com = T[:3, :3] @ body.com + T[:3, 3]
        inertia = T[:3, :3] @ body.inertia @ T[:3, :3].T - body.mass * skew(com) @ skew(com)
        m.append(body.mass)
        h.append(_snap(body.mass * com, max(1e-6, body.mass * size)))
        inertia = 0.5 * (inertia + inertia.T)
        J.append(_snap(inertia, max(1e-9, 0.1 * float(np.abs(inertia).max()))))
    actuators, nb = robot.actuators, len(robot.bodies)
    K = actuators.gear
    tool_body = inverse(frames[robot.tip]) @ links[robot.tip] if robot.tip >= 0 else inverse(root)
    T_tip_tool = tool_body @ robot.T_tip_tool
    T_tip_tool[:3, :3], T_tip_tool[:3, 3] = _snap(T_tip_tool[:3, :3], 1.0), _snap(T_tip_tool[:3, 3], size)
    T_base_root = robot.T_base_root @ root
    T_base_root[:3, :3], T_base_root[:3, 3] = _snap(T_base_root[:3, :3], 1.0), _snap(T_base_root[:3, 3], size)
    g = T_base_root[:3, :3].T @ robot.gravity
    return Tree(
        n=robot.n,
        parent=tuple(body.parent for body in robot.bodies),
        revolute=tuple(robot.joints[body.joint].kind == "revolute" for body in robot.bodies),
        joint=tuple(body.joint for body in robot.bodies),
        ratio=np.array([body.ratio for body in robot.bodies]),
        offset=np.array(offset),
        R0=np.array(R0).reshape(nb, 3, 3),
        p0=np.array(p0).reshape(nb, 3),
        m=np.array(m),
        h=np.array(h).reshape(nb, 3),
        J=np.array(J).reshape(nb, 3, 3),
        gravity=_snap(g, max(1e-3, float(np.abs(g).max(initial=0.0)) * 0.25)),
        armature=K.T @ np.diag(actuators.rotor_inertia) @ K,
        viscous=np.diag([joint.friction.viscous for joint in robot.joints]) + K.T @ np.diag(actuators.viscous) @ K,
        coulomb=np.array([joint.friction.coulomb for joint in robot.joints]),
        dead_zone=np.array([joint.friction.dead_zone for joint in robot.joints]),
        T_base_root=T_base_root,
        T_body_link=np.array(T_body_link).reshape(nb, 4, 4),
        tip=robot.tip,
        T_tip_tool=T_tip_tool,
    )


def regrouped(tree: Tree) -> Tree:
    """Move to each parent the inertia that the body's own joint cannot show (performance study §3).

    Revolute about z: m, h_z and a multiple of diag(1, 1, 0) are invariant under Rz(q), leaving m = h_z = J_yy = 0.
    Prismatic: the body turns with its parent, so all of J's rotation is the parent's; m and h stay.
    """
    m, h, J = tree.m.copy(), tree.h.copy(), tree.J.copy()
    for i in range(tree.nb - 1, -1, -1):
        if tree.revolute[i]:
            m_up, h_up, J_up = m[i], np.array([0.0, 0.0, h[i][2]]), np.diag([J[i][1, 1], J[i][1, 1], 0.0])
        else:
            m_up, h_up, J_up = 0.0, np.zeros(3), J[i].copy()
        m[i], h[i], J[i] = m[i] - m_up, h[i] - h_up, J[i] - J_up
        p = tree.parent[i]
        if p >= 0:
            R, t = tree.R0[i], tree.p0[i]
            h_up, J_up = R @ h_up, R @ J_up @ R.T
            if tree.revolute[i]:
                J_up = J_up - skew(t) @ skew(h_up) - skew(h_up) @ skew(t) - m_up * skew(t) @ skew(t)
                h_up = h_up + m_up * t
            scale = max(1e-12, float(np.abs(J[p]).max()), float(np.abs(J_up).max()))
            m[p] += m_up
            h[p] = _snap(h[p] + h_up, max(1e-9, float(np.abs(h[p]).max() + np.abs(h_up).max())))
            J[p] = _snap(J[p] + J_up, 0.5 * scale)
    return replace(tree, m=m, h=h, J=J)
