"""Where to be when: polynomials, splines, profiles, Cartesian moves, time scaling, time-optimal path following."""

from armwright.motion.point_to_point import cubic, jerk_limited, quintic, trapezoid, trapezoid_law
from armwright.motion.reference import Reference
from armwright.motion.scaling import (
    minimum_duration,
    quintic_duration,
    stretch,
    time_scaled,
    torque_factor,
    velocity_factor,
)
from armwright.motion.splines import piecewise_quintic, quintic_spline
from armwright.motion.torque import TorqueLimits, TorqueUse, torque_limits, torque_use
from armwright.motion.trajectory import Peaks, Samples, Trajectory, hold

__all__ = [
    "Peaks",
    "Reference",
    "Samples",
    "TorqueLimits",
    "TorqueUse",
    "Trajectory",
    "cubic",
    "hold",
    "jerk_limited",
    "minimum_duration",
    "piecewise_quintic",
    "quintic",
    "quintic_duration",
    "quintic_spline",
    "stretch",
    "time_scaled",
    "torque_factor",
    "torque_limits",
    "torque_use",
    "trapezoid",
    "trapezoid_law",
    "velocity_factor",
]
