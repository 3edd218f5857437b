# SPDX-License-Identifier: Apache-2.0
"""Robot programs (001): what they say, how they are planned, and whether the motors can follow."""

from armwright.packages import former_names
from armwright.programs.outcome import MotorEvent, MoveOutcome, ProgramRun, WhatWorks, run_program
from armwright.programs.program import (
    Acceleration,
    Blend,
    BySpeed,
    Distance,
    Duration,
    Fraction,
    Joints,
    LeadingAxis,
    Move,
    Note,
    Payload,
    Pose,
    Program,
    Share,
    Speed,
    Stop,
    Tangent,
    Target,
    ToolRate,
)
from armwright.programs.program_comparison import program_differences
from armwright.programs.program_plan import MovePlan, ProgramPlan, plan_program
from armwright.programs.program_reader import check_program, read_program, write_program

__all__ = [
    "Acceleration",
    "Blend",
    "BySpeed",
    "Distance",
    "Duration",
    "Fraction",
    "Joints",
    "LeadingAxis",
    "MotorEvent",
    "Move",
    "MoveOutcome",
    "MovePlan",
    "Note",
    "Payload",
    "Pose",
    "Program",
    "ProgramPlan",
    "ProgramRun",
    "Share",
    "Speed",
    "Stop",
    "Tangent",
    "Target",
    "ToolRate",
    "WhatWorks",
    "check_program",
    "plan_program",
    "program_differences",
    "read_program",
    "run_program",
    "write_program",
]

__getattr__ = former_names(__name__, {"Plan": "ProgramPlan", "Event": "MotorEvent"})
