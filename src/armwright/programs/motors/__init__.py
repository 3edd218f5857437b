# SPDX-License-Identifier: Apache-2.0
"""What the motors make of a program (001, Algorithm 1): the cycle, runs of it, what would work, the monitor."""

from armwright.programs.motors.cycle import Algorithm
from armwright.programs.motors.demand import Demand
from armwright.programs.motors.drives import Drives, drives_of
from armwright.programs.motors.feasible import largest_payload, needed_motors, sensitivity
from armwright.programs.motors.monitor import MotorMonitor, Reading
from armwright.programs.motors.override import Override, feasible_override
from armwright.programs.motors.payload import point_mass
from armwright.programs.motors.plan import cycle_kernel, cycle_plan
from armwright.programs.motors.result import MotorRun
from armwright.programs.motors.rules import RULES, find_rule
from armwright.programs.motors.run import run_motors, run_variants
from armwright.programs.motors.samples import Sample, samples_of_demand, samples_of_recording
from armwright.programs.motors.summary import MoveSummary, by_move, summarise, verdict

__all__ = [
    "RULES",
    "Algorithm",
    "Demand",
    "Drives",
    "MotorMonitor",
    "MotorRun",
    "MoveSummary",
    "Override",
    "Reading",
    "Sample",
    "by_move",
    "cycle_kernel",
    "cycle_plan",
    "drives_of",
    "feasible_override",
    "find_rule",
    "largest_payload",
    "needed_motors",
    "point_mass",
    "run_motors",
    "run_variants",
    "samples_of_demand",
    "samples_of_recording",
    "sensitivity",
    "summarise",
    "verdict",
]
