# SPDX-License-Identifier: Apache-2.0
"""Planning in free space: maps, the Hopfield planner, graph search, sampling planners, and paths made into motions."""

from __future__ import annotations

from typing import Any

from armwright.arguments import names_culprit
from armwright.choices import GRID_PLANNERS, JOINT_PLANNERS
from armwright.errors import InputError
from armwright.planning.grid.grid import Grid
from armwright.planning.grid.grid_map import FELT, FREE, UNKNOWN, GridMap, grid_map, inflate
from armwright.planning.grid.grid_search import AStar, Dijkstra
from armwright.planning.grid.hopfield import Hopfield, Stability, link_matrix, lyapunov, stability
from armwright.planning.grid.line_of_sight import cut_corners, sees, segment_cells
from armwright.planning.grid.map_marking import Marked, back_off, contact_point, mark, nearest_free
from armwright.planning.grid.neighbourhood import Neighbourhood, moore, von_neumann
from armwright.planning.grid.path_plan import GridPlanner, PathPlan
from armwright.planning.joint.joint_plan import JointPlan, JointPlanner
from armwright.planning.joint.ompl_connect import OMPLConnect
from armwright.planning.joint.rrt_connect import RRTConnect, rrt_connect
from armwright.planning.joint.whole_arm import KnownArm, WholeArm, configuration_map
from armwright.planning.motion_plan import MotionPlan, free_motion, plan_motion
from armwright.planning.obstacles import (
    Obstacles,
    cells_as_boxes,
    contact_capsules,
    floor,
    obstacles_of,
    point_clearance,
    spheres,
    true_map,
    vertical_cylinders,
)
from armwright.planning.waypoints import (
    blocked_on_the_way,
    densified,
    joint_waypoints,
    path_points,
    waypoint_motion,
)


@names_culprit
def planner(name: str, **options: Any) -> Any:
    """Return a planner by name: a key of `GRID_PLANNERS` or `JOINT_PLANNERS`, with its options.

    >>> planner("hopfield")(np.zeros((5, 5), bool), (0, 0), (4, 4)).cost
    8.0
    """
    table = GRID_PLANNERS if GRID_PLANNERS.knows(name) else JOINT_PLANNERS

    def refuse(valid: str) -> InputError:
        return InputError(f"planner must be one of {GRID_PLANNERS.listed()}, {valid}, got {name!r}")

    return table.find(name, refuse)(**options)


__all__ = [
    "FELT",
    "FREE",
    "GRID_PLANNERS",
    "JOINT_PLANNERS",
    "UNKNOWN",
    "AStar",
    "Dijkstra",
    "Grid",
    "GridMap",
    "GridPlanner",
    "Hopfield",
    "JointPlan",
    "JointPlanner",
    "KnownArm",
    "Marked",
    "MotionPlan",
    "Neighbourhood",
    "OMPLConnect",
    "Obstacles",
    "PathPlan",
    "RRTConnect",
    "Stability",
    "WholeArm",
    "back_off",
    "blocked_on_the_way",
    "cells_as_boxes",
    "configuration_map",
    "contact_capsules",
    "contact_point",
    "cut_corners",
    "densified",
    "floor",
    "free_motion",
    "grid_map",
    "inflate",
    "joint_waypoints",
    "link_matrix",
    "lyapunov",
    "mark",
    "moore",
    "nearest_free",
    "obstacles_of",
    "path_points",
    "plan_motion",
    "planner",
    "point_clearance",
    "rrt_connect",
    "sees",
    "segment_cells",
    "spheres",
    "stability",
    "true_map",
    "vertical_cylinders",
    "von_neumann",
    "waypoint_motion",
]


def __dir__() -> list[str]:
    return __all__
