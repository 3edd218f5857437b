# SPDX-License-Identifier: Apache-2.0
"""The general contact model: every link's capsules against every shape, traced into the compiled loop.

A point (a tool without radius) is pushed out of the **union** of all shapes: δ is its distance to the nearest point
outside of everything solid (`world.union_depth`), so that inside corners, sunk and abutting walls push it back the way
it came. A capsule is pushed out of every shape by itself and the forces add up, which is exact in right-angled inside
corners and conservative everywhere as long as its axis stays outside; boxes that are one box together are one
(`world.solid_clusters`), so that a wall of bricks has no seams.

At the point of a capsule's axis nearest to a shape, with depth δ, outward normal n and velocity v of the link there:

    F_n = max(0, k δ + c min(δ/δ_0, 1) δ̇)            δ̇ = −n·v, never pulling
    F_t = −μ F_n v_t / √(|v_t|² + v_s²)               regularised Coulomb friction

The damping fades in over the first δ_0 = 0.1 mm, so the force does not jump at first touch. Friction acts at the
shape's surface. Without damping and friction the force is the gradient of ½ k δ², and energy is conserved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.kinematics.forward import body_poses
from armwright.robot.tree import Tree, as_tree
from armwright.spatial.linear import cross, dot
from armwright.world.arm_capsules import LinkCapsule, fixed_column, link_capsules
from armwright.world.shape_distance import distance_and_normal, nearest_parameters, signed_distance
from armwright.world.shapes import Mesh, Shape
from armwright.world.solid_clusters import clusters_of, solids_of
from armwright.world.union_depth import Union, union_of, way_out
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


MOST_CANDIDATES = 1500
"""Faces and creases of shapes that hang together, as a point tool meets them: some 100,000 operations, which take half
a minute to compile and tens of microseconds a tick. Rooms of walls have tens of them, thirty overlapping boxes 500."""


@dataclass(frozen=True)
class Pair:
    """A capsule of a link and what it could touch: one shape, or, for a point, several that hang together.

    `solids` are the numbers of the shapes in `solids_of(world.shapes)`.
    """

    capsule: LinkCapsule
    shapes: tuple[Shape, ...]
    solids: tuple[int, ...]

    @property
    def shape(self) -> Shape:
        """The shape, or the first of several."""
        return self.shapes[0]

    @property
    def union(self) -> Union | None:
        """The union of several shapes; None for a shape alone."""
        return union_of(self.shapes) if len(self.shapes) > 1 else None


class Touch(NamedTuple):
    """One possible contact, base frame: point on the shape's surface, normal, depth (≤ 0: apart), force on the link.

    `lever` is the cheapest point on the force's line of action, `solid` the number of what is touched, as in `Pair`.
    """

    point: Traced
    normal: Traced
    depth: Scalar
    force: Traced
    lever: Traced
    solid: Scalar


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
    solids = solids_of(world.shapes)
    shapes = tuple(solid.shape for solid in solids)
    out = []
    for part in parts:
        if part in still:
            continue
        alone = [(k,) for k in range(len(shapes))]
        for group in clusters_of(shapes) if is_point(part) else alone:
            if any(reachable(robot, part, shapes[k]) for k in group):
                pair = Pair(part, tuple(shapes[k] for k in group), group)
                _check_size(pair, world)
                out.append(pair)
    return tuple(out)


def is_point(capsule: LinkCapsule) -> bool:
    """Return whether a capsule is a point: no radius, no length."""
    return capsule.radius == 0.0 and capsule.length == 0.0


def _check_size(pair: Pair, world: World) -> None:
    """Refuse unions with more faces and creases than a compiled loop should hold."""
    size = pair.union.candidates if pair.union is not None else 0
    if size > MOST_CANDIDATES:
        names = ", ".join(repr(shape.name) for shape in pair.shapes[:3])
        raise InputError(
            f"world {world.name!r}: {len(pair.shapes)} shapes that overlap or abut ({names}, …) have {size} faces and "
            f"creases; a tool that is a point meets at most {MOST_CANDIDATES}. Leave out shapes that it cannot reach, "
            "build from boxes, or give the tool a radius: tool_point(robot, 0.001) is pushed by every shape by itself"
        )


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


class _Surface(NamedTuple):
    """Stiffness [N/m], damping [N s/m] and friction [-] where a point touches: numbers, or traced if shapes differ."""

    stiffness: Any
    damping: Any
    friction: Any


def _push(
    surface: _Surface, x: Traced, point: Traced, n: Traced, depth: Traced, twist: tuple[Any, Any], slip_speed: float
) -> tuple[Traced, Traced]:
    """Return the force (3,) on a point of a link at `depth`, and the cheapest point on its line of action.

    `depth` may be anything ≤ 0 where nothing touches.
    """
    push = surface.stiffness * depth
    damped, rough = (not (isinstance(c, float) and c == 0.0) for c in surface[1:])
    if not damped and not rough:
        return np.maximum(push, 0.0) * n, x
    v, w = twist
    at = v + cross(w, point)
    closing = -dot(n, at)
    if damped:
        push = push + surface.damping * np.minimum(depth * (1.0 / FADE), 1.0) * closing
    size = np.where(depth > 0.0, np.maximum(push, 0.0), 0.0)
    if not rough:
        return size * n, x
    slide = at + closing * n
    drag = (surface.friction * size) / np.sqrt(dot(slide, slide) + slip_speed * slip_speed)
    return size * n - drag * slide, point


def _touch(pair: Pair, x: Traced, twist: tuple[Any, Any], slip_speed: float) -> Touch:
    """Force on a ball about x, of the capsule's radius, that moves with its link."""
    shape = pair.shape
    far, n = distance_and_normal(shape, x)
    depth = pair.capsule.radius - far
    point = x - far * n
    surface = _Surface(shape.stiffness, shape.damping, shape.friction)
    force, lever = _push(surface, x, point, n, depth, twist, slip_speed)
    return Touch(point, n, depth, force, lever, float(pair.solids[0]))


def _chosen(values: Sequence[float], number: Scalar) -> Any:
    """Return values[number] for a traced number; a float if all are the same."""
    if len(set(values)) == 1:
        return values[0]
    out: Any = values[0]
    for k, value in enumerate(values[1:], start=1):
        out = np.where(number == float(k), value, out)
    return out


def _touch_union(pair: Pair, union: Union, x: Traced, twist: tuple[Any, Any], slip_speed: float) -> Touch:
    """Force on a point x in shapes that hang together: out of their union, the shortest way."""
    out = way_out(union, x)
    depth = np.where(out.inside, out.depth, 0.0)
    point = x + depth * out.normal
    surface = _Surface(
        *(_chosen([getattr(s, name) for s in pair.shapes], out.owner) for name in ("stiffness", "damping", "friction"))
    )
    force, lever = _push(surface, x, point, out.normal, depth, twist, slip_speed)
    # apart: the nearest of all shapes (dead code in a loop, which needs the force alone)
    far, n = distance_and_normal(pair.shapes[0], x)
    number: Any = 0.0
    for k, shape in enumerate(pair.shapes[1:], start=1):
        there, m = distance_and_normal(shape, x)
        nearer = there < far
        far, n, number = np.where(nearer, there, far), np.where(nearer, m, n), np.where(nearer, float(k), number)
    return Touch(
        np.where(out.inside, point, x - far * n),
        np.where(out.inside, out.normal, n),
        np.where(out.inside, depth, np.minimum(-far, 0.0)),
        force,
        lever,
        _chosen([float(k) for k in pair.solids], np.where(out.inside, out.owner, number)),
    )


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
    moving = any(shape.damping > 0.0 or shape.friction > 0.0 for pair in pairs for shape in pair.shapes)
    twists = _twists(tree, poses, qd) if moving else {}
    axes = {pair.capsule: _place(tree, pair.capsule, poses[pair.capsule.body]) for pair in pairs}
    rest = (np.zeros(3), np.zeros(3))
    out = []
    for pair in pairs:
        a, d = axes[pair.capsule]
        twist = twists.get(pair.capsule.body, rest)
        if pair.union is not None:
            out.append((pair, _touch_union(pair, pair.union, a + 0.5 * d, twist, slip_speed)))
            continue
        values = [0.5] if pair.capsule.length == 0.0 else nearest_parameters(pair.shape, a, d)
        for s in values:
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

        wrench.contact = (world, parts)  # type: ignore[attr-defined]  # what a run is told about: `contact_flags`
        return wrench

    return robot.memo(key, make)


def has_mesh(world: World) -> bool:
    """Return whether some shape is a mesh, which compiled functions cannot hold."""
    return any(isinstance(shape, Mesh) for shape in world.shapes)
