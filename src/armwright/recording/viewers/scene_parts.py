# SPDX-License-Identifier: Apache-2.0
"""An arm and its surroundings as viewers take them: solids that are fixed to named frames, and the frames' poses.

Frames are called as the links are; `BASE` is the frame in which the world stands. A capsule is a cylinder with two
balls, because no viewer's list of solids has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from armwright.kinematics.forward import fk_all
from armwright.spatial.quaternions import xyzw_from_rotation
from armwright.world.arm_capsules import has_extent, link_capsules, tool_point
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Shape, Sphere

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

BASE = "base"
ARM_COLOUR = (0.55, 0.60, 0.66, 1.0)
WORLD_COLOUR = (0.84, 0.55, 0.35, 0.9)
ENDLESS_SHOWN_LENGTH = 4.0  # [m] of what has no end
BARE_TOOL_RADIUS = 0.03  # [m] of the ball at the tool of an arm whose links have no extent
SLAB_THICKNESS = 0.02  # [m] of a half-space, of which only the face is of interest


@dataclass(frozen=True, eq=False)
class ScenePart:
    """One solid.

    Attributes:
        frame: name of the frame that it is fixed to. name: of what it belongs to; parts may share it.
        kind: of solid; a cylinder stands along its z axis, and a ball fills its size.
        pose: (4, 4) of its middle in that frame.
        size: (3,) full extents along its own axes [m]; of triangles the unit cube.
        corners: (m, 3, 3) corners of triangles [m], in its own axes; None for the others.
        colour: red, green, blue, opacity; 0 … 1.
    """

    frame: str
    name: str
    kind: Literal["box", "ball", "cylinder", "triangles"]
    pose: Array
    size: Array
    colour: tuple[float, float, float, float]
    corners: Array | None = None


def frame_names(robot: Robot) -> tuple[str, ...]:
    """Return the names of the links, in the order of `frame_poses`."""
    return tuple(body.name for body in robot.bodies)


def frame_poses(robot: Robot, q: ArrayLike) -> Array:
    """Return the frames of the links in the base frame for q (T, n): (T, nb, 7), place [m] and quaternion xyzw."""
    poses = fk_all(robot, np.atleast_2d(np.asarray(q, dtype=np.float64)))
    turns = xyzw_from_rotation(np.moveaxis(poses[..., :3, :3], (-2, -1), (0, 1)))
    return np.concatenate([poses[..., :3, 3], np.moveaxis(turns, 0, -1)], axis=-1)


def arm_parts(robot: Robot) -> tuple[ScenePart, ...]:
    """Return the links' capsules; a ball at the tool for an arm whose links have no extent (a bare gantry)."""
    if not robot.bodies:
        return ()
    shown = link_capsules(robot) if has_extent(robot) else (tool_point(robot, BARE_TOOL_RADIUS),)
    parts: list[ScenePart] = []
    for part in shown:
        parts += _capsule(part.link, part.link, part.start, part.end, part.radius, ARM_COLOUR)
    return tuple(parts)


def world_parts(world: Iterable[Shape]) -> tuple[ScenePart, ...]:
    """Return what stands around the arm; `world` is a `World` or shapes."""
    return tuple(part for shape in world for part in _shape(shape))


def _shape(shape: Shape) -> list[ScenePart]:
    if isinstance(shape, Sphere):
        return [_solid(shape, "ball", _placed(shape.centre), np.full(3, 2.0 * shape.radius))]
    if isinstance(shape, Capsule):
        return _capsule(BASE, shape.name, shape.start, shape.end, shape.radius, WORLD_COLOUR)
    if isinstance(shape, Cylinder):
        height = min(shape.height, ENDLESS_SHOWN_LENGTH)
        return [_solid(shape, "cylinder", _along(shape.centre, shape.axis), _round(shape.radius, height))]
    if isinstance(shape, Box):
        return [_solid(shape, "box", _placed(shape.centre, np.array(shape.rotation)), np.array(shape.size))]
    if isinstance(shape, HalfSpace):
        pose = _along(shape.point, shape.normal)
        pose[:3, 3] -= 0.5 * SLAB_THICKNESS * pose[:3, 2]
        return [_solid(shape, "box", pose, np.array([ENDLESS_SHOWN_LENGTH, ENDLESS_SHOWN_LENGTH, SLAB_THICKNESS]))]
    assert isinstance(shape, Mesh)
    corners = np.array(shape.vertices)[np.array(shape.triangles, dtype=int)]
    return [ScenePart(BASE, shape.name, "triangles", np.eye(4), np.ones(3), WORLD_COLOUR, corners)]


def _solid(shape: Shape, kind: Literal["box", "ball", "cylinder"], pose: Array, size: Array) -> ScenePart:
    return ScenePart(BASE, shape.name, kind, pose, size, WORLD_COLOUR)


def _capsule(
    frame: str, name: str, start: ArrayLike, end: ArrayLike, radius: float, colour: tuple[float, float, float, float]
) -> list[ScenePart]:
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    length, ball = float(np.linalg.norm(b - a)), np.full(3, 2.0 * radius)
    ends = [ScenePart(frame, name, "ball", _placed(place), ball, colour) for place in ((a, b) if length else (a,))]
    if not length:
        return ends
    between = ScenePart(frame, name, "cylinder", _along(0.5 * (a + b), b - a), _round(radius, length), colour)
    return [between, *ends]


def _round(radius: float, height: float) -> Array:
    return np.array([2.0 * radius, 2.0 * radius, height])


def _placed(place: ArrayLike, R: Array | None = None) -> Array:
    T = np.eye(4)
    T[:3, 3] = place
    if R is not None:
        T[:3, :3] = R
    return T


def _along(place: ArrayLike, axis: ArrayLike) -> Array:
    """Return a pose whose z axis points along `axis`."""
    z = np.asarray(axis, dtype=np.float64)
    z = z / np.linalg.norm(z)
    x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    return _placed(place, np.stack([x, np.cross(z, x), z], axis=1))
