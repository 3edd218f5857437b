# SPDX-License-Identifier: Apache-2.0
"""Why a tool move of a program cannot be made, in words: line, millimetre, joint, and the nearest thing that works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.kinematics import ik
from armwright.motion.joint_curve import along

if TYPE_CHECKING:
    from armwright.errors import ProgramError
    from armwright.motion.path_error import PathError
    from armwright.motion.tool_path import ToolPath
    from armwright.programs.legs import Leg, Walker
    from armwright.types import Array


def path_refusal(
    walker: Walker, legs: list[Leg], path: ToolPath, tool: Array, q: Array, error: PathError
) -> ProgramError:
    """The error of a program for a tool path that an arm cannot follow."""
    k = min(int(np.searchsorted(path.corners[1:], error.sigma, side="left")), len(legs) - 1)
    into = error.sigma - path.corners[k]
    move = walker.program.moves[legs[k].index]
    message = f"{1e3 * into:.1f} mm into this move of {1e3 * legs[k].length:.1f} mm {error.what}"
    return walker.refuse(move, message, _what_works(walker, path, tool, q, error, into))


def _what_works(walker: Walker, path: ToolPath, tool: Array, q: Array, error: PathError, into: float) -> str:
    """The nearest thing that works: another posture at the start, a joint move, or the part in reach."""
    if error.reason == "reach":
        return f"targets up to {1e3 * into:.1f} mm along this move, or a shorter tool"
    found: Any = ik(walker.robot, path.T_start @ np.linalg.inv(tool), seed=q, limits=True, restarts=0)
    for other in found.solutions[found.within_limits][1:]:
        try:
            along(walker.robot, path, other, tool)
        except InputError:
            continue
        angles = ", ".join(f"{value:.2f}" for value in np.degrees(other))
        return f"the same path from the posture ({angles})°, reached by a joint move before it"
    return "a joint move (PTP, MoveJ, movej) past this place, or another orientation of the tool"
