# SPDX-License-Identifier: Apache-2.0
"""Whether a program can be meant for an arm at all: as many joints, and targets in its world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import ProgramError
from armwright.kinematics.extent import reach
from armwright.programs.program import Joints, Move, Pose, Program

if TYPE_CHECKING:
    from armwright.robot.model import Robot

FAR = 100.0  # times the reach of the arm with its tool: beyond, another unit must have been meant


@names_culprit
def check_program(program: Program, robot: Robot) -> None:
    """Raise `ProgramError` at the first move that cannot be meant for `robot`.

    That is a joint target with more joints than the arm has, or a place beyond a hundred times its reach, which means
    millimetres in place of metres. Whether a target can be reached is another question, for the planner.
    """
    size = robot.memo("reach", reach)
    for number, move in enumerate(program.moves, 1):
        if isinstance(move.target, Joints) and move.target.q.size > robot.n:
            raise _error(
                program,
                move,
                f"move {number} speaks of {move.target.q.size} joints, {robot.name!r} has {robot.n}: for another arm?",
                f"at most {robot.n} joints",
            )
        tool = 0.0 if move.T_flange_tool is None else float(np.linalg.norm(move.T_flange_tool[:3, 3]))
        for target in (move.target, move.via):
            if isinstance(target, Pose):
                away = float(np.linalg.norm((move.T_base_frame @ target.T)[:3, 3]))
                if away > FAR * (size + tool):
                    raise _error(
                        program,
                        move,
                        f"move {number} leads {away:.4g} m away, more than {FAR:g} times the reach of {robot.name!r} "
                        f"({size + tool:.3g} m); millimetres where metres are meant?",
                        "targets within the arm's reach",
                    )


def _error(program: Program, move: Move, message: str, valid: str) -> ProgramError:
    return ProgramError(message, file=program.file, line=move.line, valid=valid)
