# SPDX-License-Identifier: Apache-2.0
"""A whole program against what its motors can do: the run, its moves and events, what would work, the report."""

from armwright.programs.outcome.parts import Event, MoveOutcome, WhatWorks
from armwright.programs.outcome.result import ProgramRun
from armwright.programs.outcome.run import run_program

__all__ = ["Event", "MoveOutcome", "ProgramRun", "WhatWorks", "run_program"]
