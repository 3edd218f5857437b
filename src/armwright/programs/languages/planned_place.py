# SPDX-License-Identifier: Apache-2.0
"""Where the arm stands while a program is read: at its last target, planned and not measured.

Targets that are axes become places only by an arm: its kinematics are asked if the reader was told which it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from armwright.kinematics import fk, ik
from armwright.kinematics.ik_limits import middle
from armwright.programs.languages.program_draft import DEG
from armwright.programs.legs import nearest_posture
from armwright.programs.posture_status import by_status, has_status, status_of
from armwright.programs.reading import ReadOptions


def flange_at(options: ReadOptions, degrees: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Return T_base_flange (4, 4) of the arm with its joints at `degrees` [°]; None if no such arm was named."""
    if options.robot is None or options.robot.n != len(degrees):
        return None
    return np.asarray(fk(options.robot, np.array(degrees, dtype=np.float64) * DEG))


def start_degrees(options: ReadOptions) -> list[float]:
    """Return where the joints stand at first [°], as the user said it; empty if nobody knows."""
    return [] if options.start_q is None else [float(q) / DEG for q in options.start_q]


NO_ARM = "the arm's kinematics: it is known with an arm of six joints that is named (--robot) and without --tool"


def posture_at(
    options: ReadOptions, T: np.ndarray[Any, Any], near: Sequence[float], status: tuple[int, ...], language: str
) -> list[float] | None:
    """Return joints [°] that bring the flange to T (4, 4) T_base_flange; None if the arm cannot reach it.

    Args:
        options: have the arm.
        T: in the arm's base.
        near: joints [°] that the posture is to be nearest to, or none.
        status: as the language writes it, which names the posture; empty if nothing does.
        language: ``rapid`` or ``krl``.
    """
    robot = options.robot
    assert robot is not None
    seed = np.array(near, dtype=np.float64) * DEG if len(near) == robot.n else middle(robot)
    found: Any = ik(robot, T, seed=seed, limits=True)
    postures = found.solutions[found.within_limits]
    if not len(postures):
        return None
    q = None
    if has_status(robot, status, language):
        q, _ = by_status(robot, postures, seed, status, language)
    if q is None:
        q = nearest_posture(robot, postures, seed)
    return [float(angle) / DEG for angle in q]


def status_at(options: ReadOptions, degrees: Sequence[float], language: str) -> tuple[int, ...]:
    """Return the status of joints [°] as the language writes it; empty of an arm whose status is not defined."""
    robot = options.robot
    assert robot is not None
    if not has_status(robot, (0,) * STATUS_NUMBERS[language], language):
        return ()
    return status_of(robot, np.array(degrees) * DEG, language)


STATUS_NUMBERS = {"rapid": 4, "krl": 2}
