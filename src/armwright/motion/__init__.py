# SPDX-License-Identifier: Apache-2.0
"""Motions over time: polynomials, splines, profiles, Cartesian moves, time scaling, time-optimal path following."""

from armwright.motion.arm_limits import TorqueLimits, TorqueUse, torque_limits, torque_use
from armwright.motion.cartesian_motion import CartesianMotion, follow_path, path_law
from armwright.motion.cartesian_path import CartesianPath, PathPoint, circle_about, circle_via, line
from armwright.motion.corner_blend import Corner, join
from armwright.motion.joint_curve import JointCurve, along
from armwright.motion.path_error import PathError
from armwright.motion.path_limits import ToolLimits
from armwright.motion.point_to_point import cubic, jerk_limited, quintic, trapezoid, trapezoid_law
from armwright.motion.scaling import (
    minimum_duration,
    quintic_duration,
    stretch,
    time_scaled,
    torque_factor,
    velocity_factor,
)
from armwright.motion.splines import piecewise_quintic, quintic_spline
from armwright.motion.time_optimal_path import TimeOptimal, joint_path, time_optimal
from armwright.motion.tool_path import Segment, ToolPath, segment_of, spline_segments
from armwright.motion.trajectory import Peaks, Reference, Samples, Trajectory, hold

__all__ = [
    "CartesianMotion",
    "CartesianPath",
    "Corner",
    "JointCurve",
    "PathError",
    "PathPoint",
    "Peaks",
    "Reference",
    "Samples",
    "Segment",
    "TimeOptimal",
    "ToolLimits",
    "ToolPath",
    "TorqueLimits",
    "TorqueUse",
    "Trajectory",
    "along",
    "circle_about",
    "circle_via",
    "cubic",
    "follow_path",
    "hold",
    "jerk_limited",
    "join",
    "joint_path",
    "line",
    "minimum_duration",
    "path_law",
    "piecewise_quintic",
    "quintic",
    "quintic_duration",
    "quintic_spline",
    "segment_of",
    "spline_segments",
    "stretch",
    "time_optimal",
    "time_scaled",
    "torque_factor",
    "torque_limits",
    "torque_use",
    "trapezoid",
    "trapezoid_law",
    "velocity_factor",
]


def __dir__() -> list[str]:
    return __all__
