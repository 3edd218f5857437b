# SPDX-License-Identifier: Apache-2.0
"""A hand that pulls a link: a spring from a point of the link to a point in space, inside a compiled loop.

    f = k (x_target − p) − d ṗ,   F = f / √(1 + |f|²/F_max²)

p is a point fixed to one link. Which link is a row of weights (nb,), one of them 1: so one compiled loop serves all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.graph import compile_function
from armwright.kinematics.forward import body_poses
from armwright.robot.tree import as_tree
from armwright.spatial.linear import cross, dot

if TYPE_CHECKING:
    from armwright.graph import Kernel
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

LARGEST_PULL = 300.0  # [N] that a hand is allowed to pull with


class Pulled(NamedTuple):
    """The truth about a pull, base frame: point (3,) [m], force on the arm there (3,) [N], joint torques (n,) [N m]."""

    point: Array
    force: Array
    torque: Array


def pull_inputs(robot: Robot) -> dict[str, tuple[int, ...]]:
    """Inputs of the loop: which link, the point in its canonical frame, where to, and (stiffness, damping)."""
    return {"held": (len(robot.bodies),), "anchor": (3,), "target": (3,), "spring": (2,)}


def _pulled(
    tree: Tree, q: Traced, qd: Traced, held: Traced, anchor: Traced, target: Traced, spring: Traced
) -> tuple[Traced, Traced, list[Traced], dict[int, tuple[Any, Any]]]:
    """Point, force, the columns of the point's Jacobian (n of (3,)) and the poses of all bodies."""
    poses = body_poses(tree, q)
    places = [poses[i][1] + poses[i][0] @ anchor for i in range(tree.nb)]
    p = sum(held[i] * places[i] for i in range(tree.nb))
    columns: list[Any] = [np.zeros(3) for _ in range(tree.n)]
    for i in range(tree.nb):
        for a in tree.ancestors(i):
            z = tree.ratio[a] * poses[a][0][:, 2]
            reach = cross(z, p - poses[a][1]) if tree.revolute[a] else z
            columns[tree.joint[a]] = columns[tree.joint[a]] + held[i] * reach
    v = sum(columns[j] * qd[j] for j in range(tree.n))
    f = spring[0] * (target - p) - spring[1] * v
    return p, f / np.sqrt(1.0 + dot(f, f) / LARGEST_PULL**2), columns, poses


def pull_wrench(
    arm: Robot | Tree, t: Traced, q: Traced, qd: Traced, held: Traced, anchor: Traced, target: Traced, spring: Traced
) -> Traced:
    """Wrenches (nb, 6) on all links, at their origins, base axes: the `wrench` of a `Loop`."""
    tree = as_tree(arm)
    p, F, _, poses = _pulled(tree, q, qd, held, anchor, target, spring)
    rows = []
    for i in range(tree.nb):
        R, at = poses[i]
        origin = at + R @ tree.T_body_link[i][:3, 3]
        rows.append(held[i] * np.concatenate([F, cross(p - origin, F)]))
    return np.stack(rows)


def truth_kernel(robot: Robot) -> Kernel:
    """The truth, compiled: (q, qd, held, anchor, target, spring) → `Pulled`."""
    tree = robot.tree

    def look(
        q: Traced, qd: Traced, held: Traced, anchor: Traced, target: Traced, spring: Traced
    ) -> tuple[Traced, Traced, Traced]:
        p, F, columns, _ = _pulled(tree, q, qd, held, anchor, target, spring)
        share = sum(held[i] for i in range(tree.nb))
        return p, share * F, np.stack([share * dot(column, F) for column in columns])

    shapes: dict[str, tuple[int, ...]] = {"q": (robot.n,), "qd": (robot.n,), **pull_inputs(robot)}
    return compile_function(look, shapes, name="pull", check_finite=False)


def anchor_of(robot: Robot, body: int, point: Array) -> Array:
    """Point (3,) in a link's frame, as a point in the link's canonical frame."""
    T = robot.tree.T_body_link[body]
    return np.asarray(T[:3, :3] @ np.asarray(point, dtype=np.float64) + T[:3, 3])


def posture(robot: Robot) -> Array:
    """A configuration (n,) to begin with: bent, away from the singularities that lie at zero and at the limits."""
    bent = np.resize([0.3, -0.9, 1.2, -0.6, 0.8, 0.2, 0.1], robot.n)
    low = np.where(np.isfinite(robot.lower), robot.lower, -np.inf)
    high = np.where(np.isfinite(robot.upper), robot.upper, np.inf)
    room = np.where(np.isfinite(high - low), 0.1 * (high - low), 0.0)
    slide = np.array([joint.kind == "prismatic" for joint in robot.joints])
    start = np.where(slide, 0.0, bent)
    return np.asarray(np.clip(start, low + room, high - room))
