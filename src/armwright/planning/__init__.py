# SPDX-License-Identifier: Apache-2.0
"""Planning in free space: maps, the Hopfield planner, graph search, sampling planners, and paths made into motions."""

from __future__ import annotations

from typing import Any

from armwright.arguments import names_culprit
from armwright.choices import GRID_PLANNERS, JOINT_PLANNERS
from armwright.errors import InputError
from armwright.packages import former_names
from armwright.planning.grid.grid import Grid
from armwright.planning.grid.grid_map import GridMap, grid_map
from armwright.planning.grid.grid_search import AStar, Dijkstra
from armwright.planning.grid.hopfield import Hopfield
from armwright.planning.grid.map_marking import mark
from armwright.planning.grid.path_plan import GridPlanner, PathPlan
from armwright.planning.joint.joint_plan import JointPlan, JointPlanner
from armwright.planning.joint.ompl_connect import OMPLConnect
from armwright.planning.joint.rrt_connect import RRTConnect, rrt_connect
from armwright.planning.joint.whole_arm import KnownArm, WholeArm, configuration_map
from armwright.planning.motion_plan import MotionPlan, free_motion, plan_motion
from armwright.planning.obstacles import (
    Obstacles,
    floor,
    obstacles_of,
    spheres,
    true_map,
)
from armwright.planning.waypoints import (
    waypoint_motion,
)


@names_culprit
def planner(name: str, **options: Any) -> GridPlanner | JointPlanner:
    """Return a planner by name: a key of `GRID_PLANNERS` or `JOINT_PLANNERS`, with its options.

    >>> planner("hopfield")(np.zeros((5, 5), bool), (0, 0), (4, 4)).cost
    8.0
    """
    table = GRID_PLANNERS if GRID_PLANNERS.knows(name) else JOINT_PLANNERS

    def refuse(valid: str) -> InputError:
        return InputError(f"planner must be one of {GRID_PLANNERS.listed()}, {valid}, got {name!r}")

    return table.find(name, refuse)(**options)


__all__ = [
    "GRID_PLANNERS",
    "JOINT_PLANNERS",
    "AStar",
    "Dijkstra",
    "Grid",
    "GridMap",
    "GridPlanner",
    "Hopfield",
    "JointPlan",
    "JointPlanner",
    "KnownArm",
    "MotionPlan",
    "OMPLConnect",
    "Obstacles",
    "PathPlan",
    "RRTConnect",
    "WholeArm",
    "configuration_map",
    "floor",
    "free_motion",
    "grid_map",
    "mark",
    "obstacles_of",
    "plan_motion",
    "planner",
    "rrt_connect",
    "spheres",
    "true_map",
    "waypoint_motion",
]

__getattr__ = former_names(
    __name__,
    {
        "FELT": "planning.grid.grid_map.FELT",
        "FREE": "planning.grid.grid_map.FREE",
        "Marked": "planning.grid.map_marking.Marked",
        "Neighbourhood": "planning.grid.neighbourhood.Neighbourhood",
        "Stability": "planning.grid.hopfield.Stability",
        "UNKNOWN": "planning.grid.grid_map.UNKNOWN",
        "back_off": "planning.grid.map_marking.back_off",
        "blocked_on_the_way": "planning.waypoints.blocked_on_the_way",
        "cells_as_boxes": "planning.obstacles.cells_as_boxes",
        "contact_capsules": "planning.obstacles.contact_capsules",
        "contact_point": "planning.grid.map_marking.contact_point",
        "cut_corners": "planning.grid.line_of_sight.cut_corners",
        "densified": "planning.waypoints.densified",
        "inflate": "planning.grid.grid_map.inflate",
        "joint_waypoints": "planning.waypoints.joint_waypoints",
        "link_matrix": "planning.grid.hopfield.link_matrix",
        "lyapunov": "planning.grid.hopfield.lyapunov",
        "moore": "planning.grid.neighbourhood.moore",
        "nearest_free": "planning.grid.map_marking.nearest_free",
        "path_points": "planning.waypoints.path_points",
        "point_clearance": "planning.obstacles.point_clearance",
        "sees": "planning.grid.line_of_sight.sees",
        "segment_cells": "planning.grid.line_of_sight.segment_cells",
        "stability": "planning.grid.hopfield.stability",
        "vertical_cylinders": "planning.obstacles.vertical_cylinders",
        "von_neumann": "planning.grid.neighbourhood.von_neumann",
    },
)


def __dir__() -> list[str]:
    return __all__
