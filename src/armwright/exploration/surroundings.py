# SPDX-License-Identifier: Apache-2.0
"""`Surroundings`: what the arm may bump into, for the compiled loop, and as the truth afterwards.

Upright cylinders are numbers of the loop, not constants of its code: every such world runs on the same compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.contact.contact_model import contact_wrench, has_mesh
from armwright.contact.ground_truth import contact_report
from armwright.errors import InputError
from armwright.graph import compile_function
from armwright.kinematics import fk
from armwright.kinematics.forward import tool_pose
from armwright.kinematics.jacobians import frame_jacobian
from armwright.robot.tree import Tree, tree_of
from armwright.simulation.lanes import Lanes
from armwright.world.arm_capsules import has_extent, tool_point
from armwright.world.segments import direction
from armwright.world.shapes import Cylinder
from armwright.world.world import World, check_base
from armwright.world.world_catalogue import load_world

if TYPE_CHECKING:
    from armwright.exploration.explore_options import Touching
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

SHORT = {"A": "layout-a", "B": "layout-b"}
NUMBERS = 4  # numbers per cylinder: x, y, radius, stiffness


@dataclass(frozen=True, slots=True, eq=False)
class TreeAmongCylinders(Tree):
    """An arm among cylinders, each x, y, radius [m] and stiffness [N/m]: (m, 4)."""

    cylinders: Array = field(default_factory=lambda: np.zeros((0, NUMBERS)))


class TrueTouch(NamedTuple):
    """True contacts, T samples: force on the arm (T, 3) [N], base axes, and (link, shape) names or None each."""

    force: Array
    touching: tuple[tuple[str, str] | None, ...]


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Surroundings of an arm.

    Attributes:
        world: the shapes; None for a force function.
        lanes: the plant with the numbers of the surroundings.
        external: traced joint torque, or None. wrenches: traced wrenches on the links, or None.
        truth: function of q, qd (T, n) → `TrueTouch`.
    """

    world: World | None
    lanes: Lanes
    external: Callable[..., Traced] | None
    wrenches: Callable[..., Traced] | None
    truth: Callable[[Array, Array], TrueTouch]


def find_world(world: World | str | Path | Callable[[Traced], Traced]) -> World | Any:
    """Return a world by name ("A" and "B" are the two layouts) or file; a `World` or a force function as it is."""
    if isinstance(world, World) or callable(world):
        return world
    if not isinstance(world, (str, Path)):
        raise InputError(
            f"world: expected a World, a name, a .toml file or a force function, got {type(world).__name__}"
        )
    return load_world(SHORT.get(str(world), world))


def surroundings_of(
    robot: Robot,
    kinematics: Robot,
    world: World | Callable[[Traced], Traced],
    contact: Touching,
    *,
    slots: int | None = None,
) -> Surroundings:
    """Put an arm among shapes.

    Args:
        robot: the plant.
        kinematics: the arm whose tool touches; another one where dynamics and kinematics differ.
        world: shapes, or a traced force function of the tool position (3,) → (3,) [N].
        contact: "tool" (a point) or "links" (every link as capsules).
        slots: number of cylinders that the loop has room for, so that worlds with fewer share it.
    """
    plain = Lanes(tree_of(robot, regroup=True), (), np.zeros((1, 0)))
    if not isinstance(world, World):
        return _of_function(plain, kinematics, world)
    bare = contact == "tool" and not has_extent(robot)  # no link can overlap anything, and none has to be known
    check_base(world, robot, (tool_point(robot),) if bare else None)
    if has_mesh(world):
        raise InputError(f"world {world.name!r}: meshes cannot be part of a compiled loop; use their bounding_box()")
    shapes = upright_cylinders(world) if contact == "tool" else None
    if shapes is not None:
        return _cylinders(robot, kinematics, world, shapes, slots)
    if kinematics is not robot:
        raise InputError(
            f"world {world.name!r}: an arm with other kinematics than its dynamics touches upright cylinders with "
            "its tool only"
        )
    capsules = (tool_point(robot),) if contact == "tool" else None

    def truth(q: Array, qd: Array) -> TrueTouch:
        found = contact_report(robot, world, q, qd, capsules=capsules)
        names: list[tuple[str, str] | None] = [None] * found.steps
        for k in range(len(found) - 1, -1, -1):
            names[int(found.step[k])] = (found.links[found.body[k]], found.shapes[found.shape[k]])
        return TrueTouch(found.total_force, tuple(names))

    return Surroundings(world, plain, None, contact_wrench(robot, world, capsules=capsules), truth)


def upright_cylinders(world: World) -> tuple[Cylinder, ...] | None:
    """Return a world's shapes if all are upright, endless cylinders without damping and friction; else None."""
    out = []
    for shape in world.shapes:
        if not isinstance(shape, Cylinder) or abs(shape.axis[2]) != 1.0 or not np.isinf(shape.height):
            return None
        if shape.damping != 0.0 or shape.friction != 0.0:
            return None
        out.append(shape)
    return tuple(out)


def cylinder_table(shapes: Sequence[Cylinder], count: int = 0) -> Array:
    """Return x, y, radius [m], stiffness [N/m] (m, 4) of upright cylinders; at least `count` rows, zeros at the end."""
    table = np.zeros((max(len(shapes), count), NUMBERS))
    for k, shape in enumerate(shapes):
        table[k] = (*shape.centre[:2], shape.radius, shape.stiffness)
    return table


def _cylinders(
    robot: Robot, kinematics: Robot, world: World, shapes: Sequence[Cylinder], slots: int | None
) -> Surroundings:
    table = cylinder_table(shapes, max(slots or 0, 1))
    count = len(table)
    tree = tree_of(robot, regroup=True)
    fields = {name: getattr(tree, name) for name in Tree.__dataclass_fields__}
    with_cylinders = robot.memo(
        ("tree among cylinders", count), lambda _: TreeAmongCylinders(**fields, cylinders=np.zeros((count, NUMBERS)))
    )
    places = tuple(("cylinders", k) for k in range(table.size))
    torque = kinematics.memo("torque of cylinders", _torque_of_cylinders)
    carrier = kinematics.bodies[kinematics.tip].name
    names = [shape.name for shape in shapes]
    arguments = {"cylinders": (count, NUMBERS), "p": (3,)}
    kernel = kinematics.memo(
        ("force of cylinders", count), lambda _: compile_function(cylinder_forces, arguments, name="cylinder_forces")
    )

    def truth(q: Array, qd: Array) -> TrueTouch:
        p = fk(kinematics, q)[..., :3, 3]
        force = kernel(table, p)
        touching: list[tuple[str, str] | None] = [None] * len(p)
        inside = np.flatnonzero(np.abs(force).max(axis=-1) > 0.0)
        if len(inside):
            depth = table[:, 2] - np.linalg.norm(p[inside, None, :2] - table[:, :2], axis=-1)
            for k, shape in zip(inside.tolist(), np.argmax(depth, axis=1).tolist(), strict=True):
                touching[k] = (carrier, names[shape])
        return TrueTouch(force, tuple(touching))

    return Surroundings(world, Lanes(with_cylinders, places, table.reshape(1, -1)), torque, None, truth)


def cylinder_forces(cylinders: Traced, p: Traced) -> Traced:
    """Return the force (3,) on a point (3,) from cylinders (m, 4): F = −k (R − D) v/D if D < R, else 0 (000, 7.1)."""
    fx, fy = 0.0 * p[0], 0.0 * p[1]
    for k in range(len(cylinders)):
        x, y, radius, stiffness = cylinders[k]
        D, unit = direction(np.array([p[0] - x, p[1] - y]), (1.0, 0.0))
        size = np.maximum(stiffness * (radius - D), 0.0)
        fx, fy = fx + size * unit[0], fy + size * unit[1]
    return np.array([fx, fy, 0.0 * p[2]])


def _torque_of_cylinders(kinematics: Robot) -> Callable[[TreeAmongCylinders, Traced], Traced]:
    """Return the traced joint torque J_vᵀF of the cylinders that the plant's tree carries."""

    def torque(arm: TreeAmongCylinders, q: Traced) -> Traced:
        p = tool_pose(kinematics, q)[:3, 3]
        return frame_jacobian(kinematics, q)[:3].T @ cylinder_forces(arm.cylinders, p)

    return torque


def _of_function(plain: Lanes, kinematics: Robot, force: Callable[[Traced], Traced]) -> Surroundings:
    def torque(q: Traced) -> Traced:
        return frame_jacobian(kinematics, q)[:3].T @ force(tool_pose(kinematics, q)[:3, 3])

    kernel = compile_function(lambda p: np.array(force(p)), {"p": (3,)}, name="contact_force")
    carrier = kinematics.bodies[kinematics.tip].name

    def truth(q: Array, qd: Array) -> TrueTouch:
        F = kernel(fk(kinematics, q)[..., :3, 3])
        return TrueTouch(F, tuple((carrier, "force") if on else None for on in (np.abs(F).max(axis=-1) > 0.0).tolist()))

    return Surroundings(None, plain, torque, None, truth)
