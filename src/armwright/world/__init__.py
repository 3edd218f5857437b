# SPDX-License-Identifier: Apache-2.0
"""The surroundings of an arm: shapes and their distances, the links as capsules, meshes, world files."""

from armwright.packages import former_names
from armwright.world.arm_capsules import LinkCapsule, LinkCapsules, beyond_tool, link_capsules, link_ends, tool_point
from armwright.world.arm_shapes import LinkShape, link_shapes
from armwright.world.mesh_capsules import FittedCapsule, fitted_capsules
from armwright.world.shape_distance import normal, signed_distance
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Shape, Sphere
from armwright.world.world import JointTask, ToolTask, World, check_base
from armwright.world.world_catalogue import load_world, worlds

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "FittedCapsule",
    "HalfSpace",
    "JointTask",
    "LinkCapsule",
    "LinkCapsules",
    "LinkShape",
    "Mesh",
    "Shape",
    "Sphere",
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


__getattr__ = former_names(__name__, {"Task": "JointTask"})
