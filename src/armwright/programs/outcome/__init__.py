# SPDX-License-Identifier: Apache-2.0
"""A whole program against what its motors can do: the run, its moves and events, what would work, the report."""

from armwright.programs.outcome.program_execution import run_program
from armwright.programs.outcome.program_run import MotorEvent, MoveOutcome, ProgramRun, WhatWorks

__all__ = ["MotorEvent", "MoveOutcome", "ProgramRun", "WhatWorks", "run_program"]
