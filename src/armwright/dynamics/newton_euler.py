# SPDX-License-Identifier: Apache-2.0
"""Recursive Newton–Euler in body frames (000 eq. 3.9–3.15, 002 eq. 2.31–2.48): the production inverse dynamics.

The documents carry α×r + ω×(ω×r) for every vector r; here the matrix U = [ω̇] + [ω][ω] is formed once per body and
serves the next origin, the first moment and, entry by entry, the gyroscopic moments. Gravity enters as an upward
acceleration of the root. Sums over the children replace "i + 1", so branches need nothing extra. `rnea`, `bias` and
`gravity_torque` keep the component along each joint; `reactions` returns all six components that a joint transmits
(001 eq. 32, for sizing links and bearings).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.terms import ZERO, Load, body_loads, gather, joint_torque, spread
from armwright.errors import InputError
from armwright.robot.step import steps
from armwright.robot.tree import as_tree
from armwright.spatial.linear import cross
from armwright.spatial.poses import inverse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.robot.model import Robot
    from armwright.robot.step import Step
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def rate_matrix(w: Traced, wd: Traced) -> Traced:
    """U = [ω̇] + [ω][ω] (3, 3): ``U @ r`` is the acceleration of the point r relative to the origin."""
    x, y, z = w
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return np.array(
        [
            [-(yy + zz), xy - wd[2], xz + wd[1]],
            [xy + wd[2], -(xx + zz), yz - wd[0]],
            [xz - wd[1], yz + wd[0], -(xx + yy)],
        ]
    )


def inertial_moment(J: Traced, w: Traced, wd: Traced, U: Traced) -> Traced:
    """J ω̇ + ω × J ω (3,), with the products of ω taken from U."""
    x, y, z = w
    xx, yy, zz = x * x, y * y, z * z
    A, B, C, D, E, F = J[0, 0], J[1, 1], J[2, 2], J[1, 2], J[0, 2], J[0, 1]
    return np.array(
        [
            A * wd[0] + (C - B) * (y * z) - F * U[2, 0] + E * U[1, 0] + D * (yy - zz),
            B * wd[1] + (A - C) * (x * z) - D * U[0, 1] + F * U[2, 1] + E * (zz - xx),
            C * wd[2] + (B - A) * (x * y) - E * U[1, 2] + D * U[0, 2] + F * (xx - yy),
        ]
    )


Motion = tuple[Any, Any, Any, Any]
"""(ω, ω̇, a, U) of a body in its own axes; a is the acceleration of the frame's origin minus gravity."""


def motions(tree: Tree, st: Sequence[Step], qd: Traced, qdd: Traced, *, gravity: bool = True) -> list[Motion]:
    """Forward pass: the motion of every body."""
    rates, accelerations = spread(tree, qd), spread(tree, qdd)
    start = (ZERO, ZERO, -tree.gravity if gravity else ZERO, np.zeros((3, 3)))
    out: list[Motion] = []
    for i, step in enumerate(st):
        w, wd, a, U = out[tree.parent[i]] if tree.parent[i] >= 0 else start
        a = step.down(a + U @ step.p)
        w, wd = step.down(w), step.down(wd)
        if tree.revolute[i]:
            wd = np.array([wd[0] + w[1] * rates[i], wd[1] - w[0] * rates[i], wd[2] + accelerations[i]])
            w = np.array([w[0], w[1], w[2] + rates[i]])
        else:
            twice = 2.0 * rates[i]
            a = np.array([a[0] + w[1] * twice, a[1] - w[0] * twice, a[2] + accelerations[i]])
        out.append((w, wd, a, rate_matrix(w, wd)))
    return out


def efforts(
    tree: Tree, st: Sequence[Step], motion: Sequence[Motion], loads: Sequence[Load | None]
) -> list[tuple[Traced, Traced]]:
    """Backward pass: per body (f, n), what its parent exerts on it, body axes, moment about the frame's origin."""
    out: list[tuple[Any, Any]] = []
    for i, (w, wd, a, U) in enumerate(motion):
        h = tree.h[i]
        f = U @ h + tree.m[i] * a
        n = inertial_moment(tree.J[i], w, wd, U) + cross(h, a)
        load = loads[i]
        out.append((f, n) if load is None else (f - load[0], n - load[1]))
    for i in range(tree.nb - 1, -1, -1):
        k = tree.parent[i]
        if k >= 0:
            f, n = st[i].up(out[i][0]), st[i].up(out[i][1])
            out[k] = (out[k][0] + f, out[k][1] + (n + cross(st[i].p, f)))
    return out


def rnea(
    arm: Robot | Tree,
    q: Traced,
    qd: Traced,
    qdd: Traced,
    wrench: Traced | None = None,
    wrenches: Traced | None = None,
    *,
    gravity: bool = True,
    friction: bool = True,
    rotors: bool = True,
) -> Traced:
    """Actuator torques (n,) for a motion: recursive Newton–Euler (000 eq. 3.9–3.15, 001 eq. 4–33, 002 eq. 2.31–2.48).

    Args:
        arm: robot or tree.
        q: joint coordinates (n,) [rad or m].
        qd: joint velocities (n,).
        qdd: joint accelerations (n,).
        wrench: (6,) [f; n] that the world exerts on the tool, at the tool origin, base axes; none if omitted.
        wrenches: (nb, 6), one per body at the origin of its link frame, base axes; none if omitted.
        gravity: whether gravity acts.
        friction: whether viscous and Coulomb friction is included.
        rotors: whether rotor inertia is included.

    >>> tau = aw.compile(rnea, robot)(q, qd, qdd)  # or rnea(robot, q, qd, qdd) on floats
    """
    tree = as_tree(arm)
    st = steps(tree, q)
    reaction = efforts(tree, st, motions(tree, st, qd, qdd, gravity=gravity), body_loads(tree, st, wrench, wrenches))
    tau = gather(tree, [n[2] if revolute else f[2] for (f, n), revolute in zip(reaction, tree.revolute, strict=True)])
    return tau + joint_torque(tree, qd, qdd, friction=friction, rotors=rotors)


def bias(
    arm: Robot | Tree,
    q: Traced,
    qd: Traced,
    wrench: Traced | None = None,
    wrenches: Traced | None = None,
    *,
    gravity: bool = True,
    friction: bool = True,
) -> Traced:
    """Torque at zero acceleration (n,): C q̇ + g − Jᵀw + friction, the u′ of 001 eq. 36. Arguments as in `rnea`."""
    tree = as_tree(arm)
    return rnea(tree, q, qd, np.zeros(tree.n), wrench, wrenches, gravity=gravity, friction=friction, rotors=False)


def gravity_torque(arm: Robot | Tree, q: Traced) -> Traced:
    """Torque (n,) that holds the arm still against gravity, g(q) = ∂V/∂q."""
    tree = as_tree(arm)
    still = np.zeros(tree.n)
    return rnea(tree, q, still, still, friction=False, rotors=False)


FRAMES = ("joint", "link", "parent")


def reactions(
    robot: Robot,
    q: Traced,
    qd: Traced,
    qdd: Traced,
    wrench: Traced | None = None,
    wrenches: Traced | None = None,
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
