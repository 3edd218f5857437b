# SPDX-License-Identifier: Apache-2.0
"""An arm in the frames of its own document: subspaces, transforms and inertias of its links, and the mass matrix.

Slow, and independent of the canonical frames that everything compiled uses (`armwright.robot.tree`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.robot.model import Robot
from armwright.spatial.rotations import axis_angle, skew

if TYPE_CHECKING:
    from armwright.types import Array


def motion(kind: str, axis: Array, displacement: float) -> Array:
    """Pose (4×4) of the displaced joint frame in the joint frame."""
    T = np.eye(4)
    if kind == "revolute":
        T[:3, :3] = axis_angle(axis, displacement)
    else:
        T[:3, 3] = displacement * axis
    return T


class LinkFrames:
    """Motion subspaces S, twist transforms X, inertias I (linear part first, in link axes) and poses T_parent_link."""

    def __init__(self, robot: Robot, q: Array) -> None:
        self.S: list[Array] = []
        self.X: list[Array] = []
        self.I: list[Array] = []
        self.T: list[Array] = []
        for body in robot.bodies:
            kind = robot.joints[body.joint].kind
            T = body.T_parent_joint @ motion(kind, body.axis, body.ratio * q[body.joint] + body.offset)
            T = T @ body.T_joint_link
            R, p = T[:3, :3], T[:3, 3]
            X = np.zeros((6, 6))  # parent's twist to this body's
            X[:3, :3] = X[3:, 3:] = R.T
            X[:3, 3:] = -R.T @ skew(p)
            R_link, p_link = body.T_joint_link[:3, :3], body.T_joint_link[:3, 3]
            axis = R_link.T @ body.axis
            S = np.zeros(6)
            if kind == "revolute":
                S[:3], S[3:] = R_link.T @ np.cross(body.axis, p_link), axis
            else:
                S[:3] = axis
            C = skew(body.com)
            inertia = np.zeros((6, 6))
            inertia[:3, :3] = body.mass * np.eye(3)
            inertia[:3, 3:], inertia[3:, :3] = -body.mass * C, body.mass * C
            inertia[3:, 3:] = body.inertia - body.mass * C @ C
            self.S.append(S)
            self.X.append(X)
            self.I.append(inertia)
            self.T.append(T)


def mass_matrix(robot: Robot, arm: LinkFrames) -> Array:
    """M by composite inertias, shared coordinates gathered; rotor inertia not included."""
    nb = len(robot.bodies)
    locked = [inertia.copy() for inertia in arm.I]
    M, gather = np.zeros((nb, nb)), np.zeros((nb, robot.n))
    for i in range(nb - 1, -1, -1):
        gather[i, robot.bodies[i].joint] = robot.bodies[i].ratio
        F = locked[i] @ arm.S[i]
        M[i, i] = arm.S[i] @ F
        at = i
        while (parent := robot.bodies[at].parent) >= 0:
            F = arm.X[at].T @ F
            M[i, parent] = M[parent, i] = arm.S[parent] @ F
            at = parent
        if robot.bodies[i].parent >= 0:
            locked[robot.bodies[i].parent] += arm.X[i].T @ locked[i] @ arm.X[i]
    return np.asarray(gather.T @ M @ gather)
