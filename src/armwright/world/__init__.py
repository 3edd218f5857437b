# SPDX-License-Identifier: Apache-2.0
"""What stands where: shapes and their distances, the links as capsules, meshes, world files."""

from armwright.world.capsule_arrays import LinkCapsules, link_ends
from armwright.world.distance import normal, signed_distance
from armwright.world.link_capsules import LinkCapsule, beyond_tool, link_capsules, tool_point
from armwright.world.link_shapes import LinkShape, link_shapes
from armwright.world.mesh.capsule_fit import FittedCapsule, fitted_capsules
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Shape, Sphere
from armwright.world.task import Task, ToolTask
from armwright.world.world import World, check_base, load_world, worlds

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "FittedCapsule",
    "HalfSpace",
    "LinkCapsule",
    "LinkCapsules",
    "LinkShape",
    "Mesh",
    "Shape",
    "Sphere",
    "Task",
    "ToolTask",
    "World",
    "beyond_tool",
    "check_base",
    "fitted_capsules",
    "link_capsules",
    "link_ends",
    "link_shapes",
    "load_world",
    "normal",
    "signed_distance",
    "tool_point",
    "worlds",
]


def __dir__() -> list[str]:
    return __all__
