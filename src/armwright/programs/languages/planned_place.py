# SPDX-License-Identifier: Apache-2.0
"""Where the arm stands while a program is read: at its last target, planned and not measured.

Targets that are axes become places only by an arm: its direct kinematics are asked if the reader was told which it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from armwright.kinematics import fk
from armwright.programs.languages.program_draft import DEG
from armwright.programs.reading import ReadOptions


def flange_at(options: ReadOptions, degrees: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Return T_base_flange (4, 4) of the arm with its joints at `degrees` [°]; None if no such arm was named."""
    if options.robot is None or options.robot.n != len(degrees):
        return None
    return np.asarray(fk(options.robot, np.array(degrees, dtype=np.float64) * DEG))


def start_degrees(options: ReadOptions) -> list[float]:
    """Return where the joints stand at first [°], as the user said it; empty if nobody knows."""
    return [] if options.start_q is None else [float(q) / DEG for q in options.start_q]
