"""Whether the mass matrix of a description is positive definite: a joint that moves no inertia has no dynamics.

The pivots of the factorised mass matrix are the articulated inertias about the joint axes (D_i of the articulated-body
algorithm), so one sweep from the leaves to the root tells, at one configuration, which joint makes M singular.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.robot.model import Robot
from armwright.spatial.rotations import axis_angle, skew

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TOLERANCE = 1e-12  # a pivot this small against the inertia of the locked arm is rounding, not mass
TINY = 1e-20  # kg m², kg: no part of an arm is this light, and 1/TINY would soon overflow


def motion(kind: str, axis: Array, displacement: float) -> Array:
    """Pose (4×4) of the displaced joint frame in the joint frame."""
    T = np.eye(4)
    if kind == "revolute":
        T[:3, :3] = axis_angle(axis, displacement)
    else:
        T[:3, 3] = displacement * axis
    return T


class _Arm:
    """Motion subspaces, transforms and inertias at one configuration, linear part first, in link axes."""

    def __init__(self, robot: Robot, q: Array) -> None:
        self.S: list[Array] = []
        self.X: list[Array] = []
        self.I: list[Array] = []
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


def singular_joint(robot: Robot) -> tuple[int, str] | None:
    """A coordinate along which M is singular, and where: in general, or with all joints at 0; None if M > 0 at both.

    Rotor inertia counts. Bodies that share a coordinate are first taken as free (if that M is positive definite, so is
    the one with fewer freedoms), then together.
    """
    general = np.random.default_rng(1).uniform(-2.5, 2.5, robot.n)
    K = robot.actuators.gear
    armature = K.T @ np.diag(robot.actuators.rotor_inertia) @ K
    shared = len(robot.bodies) != robot.n or np.count_nonzero(armature - np.diag(np.diag(armature)))
    for q, place in ((general, "everywhere"), (np.zeros(robot.n), "with all joints at 0")):
        arm = _Arm(robot, q)
        bad = _smallest_pivot(robot, arm, np.zeros(robot.n) if shared else np.diag(armature))
        if bad is not None and shared:
            bad = _null_direction(mass_matrix(robot, arm) + armature)
        if bad is not None:
            return bad, place
    return None


def _smallest_pivot(robot: Robot, arm: _Arm, armature: Array) -> int | None:
    free = [inertia.copy() for inertia in arm.I]
    locked = [inertia.copy() for inertia in arm.I]
    for i in range(len(robot.bodies) - 1, -1, -1):
        body, S, X = robot.bodies[i], arm.S[i], arm.X[i]
        U = free[i] @ S
        D = float(S @ U) + armature[body.joint]
        least = max(TINY, TOLERANCE * float(S @ locked[i] @ S))
        if not least < D:
            return body.joint
        if body.parent >= 0:
            free[body.parent] += X.T @ (free[i] - np.outer(U, U) / D) @ X
            locked[body.parent] += X.T @ locked[i] @ X
    return None


def mass_matrix(robot: Robot, arm: _Arm) -> Array:
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


def _null_direction(M: Array) -> int | None:
    diagonal = np.diag(M)
    if diagonal.min() <= TINY:
        return int(np.argmin(diagonal))
    scale = 1.0 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(M * np.outer(scale, scale))
    return int(np.argmax(np.abs(vectors[:, 0]))) if values[0] <= TOLERANCE else None
