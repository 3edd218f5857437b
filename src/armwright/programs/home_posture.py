# SPDX-License-Identifier: Apache-2.0
"""Where an arm stands if its user says only "home": its tool in front of the base, pointing to the floor.

Sheets name no home, and makers' homes are often singular (a wrist stretched out), from which no line can begin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import NotSupportedError
from armwright.kinematics.extent import farthest
from armwright.kinematics.ik_limits import middle
from armwright.programs.program_start import DOWN, agile, solved
from armwright.spatial import pose

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

AHEAD_SHARES = (0.45, 0.4, 0.5, 0.35, 0.55, 0.3)  # of the reach, along the base's x axis: the first that works is taken
ABOVE_SHARE = 0.3  # of the reach, over the base


def home_posture(robot: Robot) -> Array:
    """Return joints (n,) [rad, m] from which an arm can move in all directions, away from its limits.

    The tool is on the x axis of the base seen from above, at about half the arm's reach, its z axis downwards and its
    x axis along that of the base; of the postures that bring it there the one farthest from being singular is taken.

    Raises:
        NotSupportedError: for an arm that cannot hold its tool so.

    Example:
        >>> run_program(robot, program, start_q=home_posture(robot))
    """
    size, at = robot.memo("farthest", farthest), middle(robot)
    for share in AHEAD_SHARES if np.isfinite(size) else ():
        T = np.asarray(pose(DOWN, np.array([share * size, 0.0, ABOVE_SHARE * size])))
        options = solved(robot, T, at)
        if len(options):
            q = agile(robot, options, at)[0]
            if ((q >= robot.lower) & (q <= robot.upper)).all():
                return np.asarray(q)
    raise NotSupportedError(
        f"{robot.name!r} cannot hold its tool in front of its base, pointing to the floor: say where it begins by its "
        "joints (--start, start_q)"
    )
