# SPDX-License-Identifier: Apache-2.0
"""Joint reactions: all six components of what a joint transmits (001 eq. 32, for sizing links and bearings)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.dynamics.newton_euler import efforts, motions
from armwright.dynamics.terms import body_loads
from armwright.errors import InputError
from armwright.robot.step import steps
from armwright.spatial.poses import inverse
from armwright.spatial.vectors import cross

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Traced

FRAMES = ("joint", "link", "parent")


def reactions(
    robot: Robot,
    q: Traced,
    qd: Traced,
    qdd: Traced,
    wrench: Traced = None,
    wrenches: Traced = None,
    *,
    frame: str = "joint",
    gravity: bool = True,
) -> Traced:
    """Wrench [f; n] (nb, 6) that the parent exerts on each body through its joint.

    Row i is expressed in the axes of the named frame, moment about that frame's origin:

    * ``joint``: the joint frame as the joint has moved it (`T_parent_joint` · motion). Its origin lies on the axis.
    * ``link``: the robot's own frame of link i (the same in URDF and modified DH).
    * ``parent``: the link frame of the parent; in standard DH this is frame i−1 of 001 eq. 32.

    The component along the joint is what the drive gives to the links: friction and rotor inertia act between motor and
    joint and are not in it. Regrouped inertias would falsify the constraint forces, so the function takes a robot.

    Args:
        robot: the arm.
        q: joint coordinates (n,).
        qd: joint velocities (n,).
        qdd: joint accelerations (n,).
        wrench: (6,) what the world exerts on the tool, tool origin, base axes; none if omitted.
        wrenches: (nb, 6), one per body at its link frame's origin, base axes; none if omitted.
        frame: "joint", "link" or "parent".
        gravity: whether gravity acts.
    """
    if frame not in FRAMES:
        raise InputError(f"joint reactions: frame must be one of {', '.join(FRAMES)}, got {frame!r}")
    tree = robot.tree
    st = steps(tree, q)
    motion = motions(tree, st, qd, qdd, gravity=gravity)
    out = []
    for i, (f, n) in enumerate(efforts(tree, st, motion, body_loads(tree, st, wrench, wrenches))):
        k = tree.parent[i]
        if frame == "parent":
            f, n = st[i].up(f), st[i].up(n)
            n = n + cross(st[i].p, f)
            T = tree.T_body_link[k] if k >= 0 else inverse(tree.T_base_root) @ robot.T_base_root
        else:
            T = tree.T_body_link[i]
            T = T @ inverse(robot.bodies[i].T_joint_link) if frame == "joint" else T
        out.append(np.concatenate([T[:3, :3].T @ f, T[:3, :3].T @ (n - cross(T[:3, 3], f))]))
    return np.array(out).reshape(tree.nb, 6)
