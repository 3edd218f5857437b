# SPDX-License-Identifier: Apache-2.0
"""The general contact model: every link's capsules against every shape, traced into the compiled loop.

At the point of a capsule's axis nearest to a shape, with depth δ, outward normal n and velocity v of the link there:

    F_n = max(0, k δ + c min(δ/δ_0, 1) δ̇)            δ̇ = −n·v, never pulling
    F_t = −μ F_n v_t / √(|v_t|² + v_s²)               regularised Coulomb friction

The damping fades in over the first δ_0 = 0.1 mm, so the force does not jump at first touch. Friction acts at the
shape's surface. Without damping and friction the force is the gradient of ½ k δ², and energy is conserved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.kinematics.forward import body_poses
from armwright.robot.tree import Tree, as_tree
from armwright.spatial.linear import cross, dot
from armwright.world.arm_capsules import LinkCapsule, fixed_column, link_capsules
from armwright.world.shape_distance import (
    Cover,
    covered_distance,
    covers_of,
    distance_and_normal,
    nearest_parameters,
    signed_distance,
)
from armwright.world.shapes import Box, Mesh, Shape
from armwright.world.world import World, check_base

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Scalar, Traced

FADE = 1e-4
"""Depth over which damping fades in, δ_0 [m], so that the force does not jump when contact begins: a tenth of what a
tool moves in a millisecond at 1 m/s; a surface of 1e5 N/m carries 10 N there."""
SLIP_SPEED = 0.01
"""Sliding speed at which friction reaches 71 % of its full value, v_s [m/s]: slow next to motions of 0.1 m/s and more.
A smaller one makes the slope μF/v_s steeper, and needs shorter steps."""
COORDINATE_ROUNDING = 1e-15
"""Coordinates of capsules [m] below this are rounding of frames; as zeros they leave the compiled code."""


@dataclass(frozen=True)
class Pair:
    """A capsule of a link and a shape that it could touch; faces of a box that others stand against."""

    capsule: LinkCapsule
    shape: Shape
    covers: tuple[Cover, ...] = ()

    def at(self, x: Traced) -> tuple[Any, Any]:
        """Return signed distance [m] and outward normal (3,) of the shape at x (3,)."""
        if self.covers:
            return covered_distance(cast("Box", self.shape), x, self.covers)
        return distance_and_normal(self.shape, x)


class Touch(NamedTuple):
    """One possible contact, base frame: point on the shape's surface, normal, depth (≤ 0: apart), force on the link.

    `lever` is the cheapest point on the force's line of action.
    """

    point: Traced
    normal: Traced
    depth: Scalar
    force: Traced
    lever: Traced


def reachable(robot: Robot, capsule: LinkCapsule, shape: Shape) -> bool:
    """Return whether a capsule could ever touch a shape: False if it lies beyond the arm stretched up to that link."""
    tree = robot.tree
    path = tree.ancestors(capsule.body)
    if not all(tree.revolute[i] for i in path):
        return True
    T = tree.T_body_link[capsule.body]
    reach = max(float(np.linalg.norm(T[:3, :3] @ np.array(p) + T[:3, 3])) for p in (capsule.start, capsule.end))
    reach += capsule.radius + sum(float(np.linalg.norm(tree.p0[i])) for i in path if tree.parent[i] >= 0)
    root = tree.T_base_root[:3, 3] + tree.T_base_root[:3, :3] @ tree.p0[path[-1]]
    return bool(signed_distance(shape, root) <= reach)


def contact_pairs(robot: Robot, world: World, capsules: Sequence[LinkCapsule] | None = None) -> tuple[Pair, ...]:
    """Return what can touch what: capsules that can move, against shapes within their reach.

    Raises:
        InputError: a shape overlaps the robot's base.
    """
    parts = link_capsules(robot) if capsules is None else tuple(capsules)
    for part in parts:
        if not 0 <= part.body < len(robot.bodies):
            raise InputError(f"capsule of {part.link!r}: body {part.body} must lie in 0…{len(robot.bodies) - 1}")
    check_base(world, robot, parts)
    still = fixed_column(robot, parts)
    moving = [part for part in parts if part not in still]
    met = {shape: [part for part in moving if reachable(robot, part, shape)] for shape in world.shapes}
    covers = {s: covers_of(s, world.shapes) if isinstance(s, Box) and met[s] else () for s in world.shapes}
    return tuple(Pair(part, s, covers[s]) for part in moving for s in world.shapes if part in met[s])


def _tidy(p: Traced) -> Traced:
    return np.where(np.abs(p) < COORDINATE_ROUNDING, 0.0, p)


def _place(tree: Tree, capsule: LinkCapsule, pose: tuple[Any, Any]) -> tuple[Any, Any]:
    """Start and direction of a capsule's axis in the base frame."""
    T = tree.T_body_link[capsule.body]
    start, end = (T[:3, :3] @ np.array(p) + T[:3, 3] for p in (capsule.start, capsule.end))
    R, p = pose
    return p + R @ _tidy(start), R @ _tidy(end - start)


def _twists(tree: Tree, poses: dict[int, tuple[Any, Any]], qd: Traced) -> dict[int, tuple[Any, Any]]:
    """Per body: velocity of its point at the base's origin, and angular velocity, base axes."""
    out: dict[int, tuple[Any, Any]] = {-1: (np.zeros(3), np.zeros(3))}
    for i in range(tree.nb):
        if i not in poses:
            continue
        v, w = out[tree.parent[i]]
        rate = tree.ratio[i] * qd[tree.joint[i]]
        z, p = poses[i][0][:, 2], poses[i][1]
        out[i] = (v + rate * cross(p, z), w + rate * z) if tree.revolute[i] else (v + rate * z, w)
    return out


def _touch(pair: Pair, x: Traced, twist: tuple[Any, Any], slip_speed: float) -> Touch:
    """Force on a ball about x, of the capsule's radius, that moves with its link."""
    shape = pair.shape
    far, n = pair.at(x)
    depth = pair.capsule.radius - far
    point = x - far * n
    push = shape.stiffness * depth
    if shape.damping == 0.0 and shape.friction == 0.0:
        size = np.maximum(push, 0.0)
        return Touch(point, n, depth, size * n, x)
    v, w = twist
    at = v + cross(w, point)
    closing = -dot(n, at)
    if shape.damping > 0.0:
        push = push + shape.damping * np.minimum(depth * (1.0 / FADE), 1.0) * closing
    size = np.where(depth > 0.0, np.maximum(push, 0.0), 0.0)
    if shape.friction == 0.0:
        return Touch(point, n, depth, size * n, x)
    slide = at + closing * n
    drag = (shape.friction * size) / np.sqrt(dot(slide, slide) + slip_speed * slip_speed)
    return Touch(point, n, depth, size * n - drag * slide, point)


def touches(
    arm: Robot | Tree, q: Traced, qd: Traced, pairs: Sequence[Pair], slip_speed: float = SLIP_SPEED
) -> list[tuple[Pair, Touch]]:
    """Return every possible contact at one state, in the order of `pairs` (two per half-space: both ends of a capsule).

    Args:
        arm: robot or tree.
        q: joint coordinates (n,).
        qd: joint velocities (n,).
        pairs: from `contact_pairs`.
        slip_speed: v_s [m/s].
    """
    tree = as_tree(arm)
    needed = {i for pair in pairs for i in tree.ancestors(pair.capsule.body)}
    poses = body_poses(tree, q, needed)
    moving = any(pair.shape.damping > 0.0 or pair.shape.friction > 0.0 for pair in pairs)
    twists = _twists(tree, poses, qd) if moving else {}
    axes = {pair.capsule: _place(tree, pair.capsule, poses[pair.capsule.body]) for pair in pairs}
    rest = (np.zeros(3), np.zeros(3))
    out = []
    for pair in pairs:
        a, d = axes[pair.capsule]
        values = [0.5] if pair.capsule.length == 0.0 else nearest_parameters(pair.shape, a, d)
        for s in values:
            twist = twists.get(pair.capsule.body, rest)
            out.append((pair, _touch(pair, a + s * d, twist, slip_speed)))
    return out


def wrenches_of(
    arm: Robot | Tree, q: Traced, qd: Traced, pairs: Sequence[Pair], slip_speed: float = SLIP_SPEED
) -> Traced:
    """Return the wrenches (nb, 6) [f; n] of all contacts, at link origins, base axes; arguments as `touches`."""
    tree = as_tree(arm)
    forces: dict[int, Any] = {}
    moments: dict[int, Any] = {}
    for pair, touch in touches(tree, q, qd, pairs, slip_speed):
        i = pair.capsule.body
        forces[i] = forces.get(i, 0.0) + touch.force
        moments[i] = moments.get(i, 0.0) + cross(touch.lever, touch.force)  # about the base's origin
    poses = body_poses(tree, q, {i for body in forces for i in tree.ancestors(body)})
    rows = []
    for i in range(tree.nb):
        if i not in forces:
            rows.append(np.zeros(6))
            continue
        R, p = poses[i]
        origin = p + R @ tree.T_body_link[i][:3, 3]
        rows.append(np.concatenate([forces[i], moments[i] - cross(origin, forces[i])]))
    return np.stack(rows)


@names_culprit
def contact_wrench(
    robot: Robot, world: World, *, capsules: Sequence[LinkCapsule] | None = None, slip_speed: float = SLIP_SPEED
) -> Callable[..., Any]:
    """Return the contact model as the function ``wrench(arm, t, q, qd) -> (nb, 6)`` for ``simulate(…, wrench=…)``.

    Args:
        robot: the arm, whose geometry decides which pairs can ever touch.
        world: what it can touch. Meshes work on floats only; a compiled loop needs their `bounding_box`.
        capsules: capsules of the links; `link_capsules(robot)` by default.
        slip_speed: sliding speed at which friction reaches 71 % of its full value [m/s]. Smaller is sharper and
            stiffer: the step must stay below about 2.5 m v_s/(μ F_n), with m the mass felt at the contact.

    Returns:
        The function; the same object for the same arguments, so that compiled loops are reused.

    Raises:
        InputError: a shape overlaps the robot's base.

    >>> run = aw.simulate(robot, computed_torque(225.0, 30.0), path, wrench=contact_wrench(robot, world))
    """
    if not (np.isfinite(slip_speed) and slip_speed > 0.0):
        raise InputError(f"contact_wrench: slip_speed must be positive, got {slip_speed}")
    parts = None if capsules is None else tuple(capsules)
    key = ("contact wrench", world, parts, float(slip_speed))

    def make(arm: Robot) -> Callable[..., Any]:
        pairs = contact_pairs(arm, world, parts)
        nb = len(arm.bodies)

        def wrench(arm: Robot | Tree, t: Traced, q: Traced, qd: Traced) -> Traced:
            return wrenches_of(arm, q, qd, pairs, slip_speed) if pairs else np.zeros((nb, 6))

        return wrench

    return robot.memo(key, make)


def has_mesh(world: World) -> bool:
    """Return whether some shape is a mesh, which compiled functions cannot hold."""
    return any(isinstance(shape, Mesh) for shape in world.shapes)
