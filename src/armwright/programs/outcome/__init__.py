# SPDX-License-Identifier: Apache-2.0
"""A whole program against what its motors can do: the run, its moves and events, what would work, the report."""

from armwright.programs.outcome.events import Event
from armwright.programs.outcome.moves import MoveOutcome
from armwright.programs.outcome.run import ProgramRun, run_program
from armwright.programs.outcome.works import WhatWorks

__all__ = ["Event", "MoveOutcome", "ProgramRun", "WhatWorks", "run_program"]
