# SPDX-License-Identifier: Apache-2.0
"""What the motors make of a program: tracking laws, Algorithm 1 of 001, runs of them, what would work, the monitor."""

from armwright.programs.motors.drive_law import TrackingGains, TrackingLaw, Trips
from armwright.programs.motors.drive_loop import Tracked, Trip, follow
from armwright.programs.motors.motor_cycle import RULES, Algorithm, find_rule, point_mass
from armwright.programs.motors.motor_demand import Demand
from armwright.programs.motors.motor_limits import Drives, drives_of
from armwright.programs.motors.motor_loop import cycle_kernel, cycle_plan, run_motors, run_printed, run_variants
from armwright.programs.motors.motor_monitor import (
    MotorMonitor,
    MotorSample,
    Reading,
    samples_of_demand,
    samples_of_recording,
)
from armwright.programs.motors.motor_run import MotorRun, MoveSummary, by_move, summarise, verdict
from armwright.programs.motors.what_works import (
    Override,
    feasible_override,
    largest_payload,
    needed_motors,
    sensitivity,
)

__all__ = [
    "RULES",
    "Algorithm",
    "Demand",
    "Drives",
    "MotorMonitor",
    "MotorRun",
    "MotorSample",
    "MoveSummary",
    "Override",
    "Reading",
    "Tracked",
    "TrackingGains",
    "TrackingLaw",
    "Trip",
    "Trips",
    "by_move",
    "cycle_kernel",
    "cycle_plan",
    "drives_of",
    "feasible_override",
    "find_rule",
    "follow",
    "largest_payload",
    "needed_motors",
    "point_mass",
    "run_motors",
    "run_printed",
    "run_variants",
    "samples_of_demand",
    "samples_of_recording",
    "sensitivity",
    "summarise",
    "verdict",
]
