# SPDX-License-Identifier: Apache-2.0
"""Robot programs (001): what they say, how they are planned, and whether the motors can follow."""

from armwright.packages import former_names
from armwright.programs.home_posture import home_posture
from armwright.programs.outcome import MotorEvent, ProgramRun, run_program
from armwright.programs.program import (
    BySpeed,
    Distance,
    Duration,
    Fraction,
    Joints,
    LeadingAxis,
    Move,
    Payload,
    Pose,
    Program,
    Share,
    Speed,
    Stop,
    Tangent,
    ToolRate,
)
from armwright.programs.program_branches import ProgramBranch, ProgramBranches, read_branches
from armwright.programs.program_comparison import program_differences
from armwright.programs.program_plan import ProgramPlan, plan_program
from armwright.programs.program_push import Push
from armwright.programs.program_reader import check_program, read_program, write_program

__all__ = [
    "BySpeed",
    "Distance",
    "Duration",
    "Fraction",
    "Joints",
    "LeadingAxis",
    "MotorEvent",
    "Move",
    "Payload",
    "Pose",
    "Program",
    "ProgramBranch",
    "ProgramBranches",
    "ProgramPlan",
    "ProgramRun",
    "Push",
    "Share",
    "Speed",
    "Stop",
    "Tangent",
    "ToolRate",
    "check_program",
    "home_posture",
    "plan_program",
    "program_differences",
    "read_branches",
    "read_program",
    "run_program",
    "write_program",
]

__getattr__ = former_names(
    __name__,
    {
        "Plan": "ProgramPlan",
        "Event": "MotorEvent",
        "Acceleration": "programs.program.Acceleration",
        "Blend": "programs.program.Blend",
        "MoveOutcome": "programs.outcome.MoveOutcome",
        "MovePlan": "programs.program_plan.MovePlan",
        "Note": "programs.reading.Note",
        "Target": "programs.program.Target",
        "WhatWorks": "programs.outcome.WhatWorks",
    },
)
