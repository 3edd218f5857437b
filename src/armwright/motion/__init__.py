# SPDX-License-Identifier: Apache-2.0
"""Motions over time: polynomials, splines, profiles, Cartesian moves, time scaling, time-optimal path following."""

from armwright.motion.arm_limits import TorqueUse, torque_use
from armwright.motion.cartesian_motion import CartesianMotion, follow_path, path_law
from armwright.motion.cartesian_path import CartesianPath, circle_about, circle_via, line
from armwright.motion.corner_blend import Corner, join
from armwright.motion.joint_curve import JointCurve, along
from armwright.motion.optimal_motion import OptimalMotion, optimal_motion
from armwright.motion.path_error import PathError
from armwright.motion.path_limits import ToolLimits
from armwright.motion.path_tracking import track_path
from armwright.motion.point_to_point import cubic, jerk_limited, quintic, trapezoid
from armwright.motion.scaling import (
    minimum_duration,
    quintic_duration,
    stretch,
    time_scaled,
)
from armwright.motion.splines import piecewise_quintic, quintic_spline
from armwright.motion.time_optimal_path import TimeOptimal, joint_path, time_optimal
from armwright.motion.tool_path import ToolPath
from armwright.motion.tracked_path import TrackedPath
from armwright.motion.trajectory import Reference, Trajectory, hold
from armwright.packages import former_names

__all__ = [
    "CartesianMotion",
    "CartesianPath",
    "Corner",
    "JointCurve",
    "OptimalMotion",
    "PathError",
    "Reference",
    "TimeOptimal",
    "ToolLimits",
    "ToolPath",
    "TorqueUse",
    "TrackedPath",
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
    "optimal_motion",
    "path_law",
    "piecewise_quintic",
    "quintic",
    "quintic_duration",
    "quintic_spline",
    "stretch",
    "time_optimal",
    "time_scaled",
    "torque_use",
    "track_path",
    "trapezoid",
]

__getattr__ = former_names(
    __name__,
    {
        "PathPoint": "motion.cartesian_path.PathPoint",
        "Peaks": "motion.trajectory.Peaks",
        "Samples": "motion.trajectory.Samples",
        "Segment": "motion.tool_path.Segment",
        "TorqueLimits": "motion.arm_limits.TorqueLimits",
        "segment_of": "motion.tool_path.segment_of",
        "spline_segments": "motion.tool_path.spline_segments",
        "torque_factor": "motion.scaling.torque_factor",
        "torque_limits": "motion.arm_limits.torque_limits",
        "trapezoid_law": "motion.point_to_point.trapezoid_law",
        "velocity_factor": "motion.scaling.velocity_factor",
    },
)


def __dir__() -> list[str]:
    return __all__
