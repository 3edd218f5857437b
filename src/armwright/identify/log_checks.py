# SPDX-License-Identifier: Apache-2.0
"""Checks that logs can be fitted at all: the right arm, currents that are not zero, joints that move, enough motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.identify.current_log import POSITION_JUMP, Log, unit_doubts
from armwright.identify.filtered_log import GAP
from armwright.identify.gram_matrices import MOVING_SPEED

if TYPE_CHECKING:
    from armwright.identify.gram_matrices import Grams
    from armwright.robot.model import Robot

OUTSIDE_LIMITS = 0.1
"""[rad] Positions further outside the limits belong to another arm, or are in other units."""
FASTER = 1.5
"""So do speeds above this many times the limit."""
LEAST_SECONDS = 5.0
"""[s] Shorter logs have too few independent seconds for any deviation."""
LEAST_SPEED_RATIO = 0.8
"""Positions may change by this share of what the speeds say, or its inverse; noise and lag change less."""
FEWEST_MOVING_ROWS = 20
"""Moving rows that are too few to judge by."""
ROWS_PER_UNKNOWN = 10
"""Moving samples needed for every unknown."""


def check_log(log: Log, robot: Robot) -> None:
    """Refuse a log that cannot be one of this arm."""
    if log.n != robot.n:
        raise InputError(f"log {log.name!r} has {log.n} joints, {robot.name!r} has {robot.n}: not a log of this arm")
    if doubts := unit_doubts(log):
        raise InputError("; ".join(doubts))
    for j, joint in enumerate(robot.joints):
        low, high = float(log.q[:, j].min()), float(log.q[:, j].max())
        if low < joint.limits.lower - OUTSIDE_LIMITS or high > joint.limits.upper + OUTSIDE_LIMITS:
            raise InputError(
                f"log {log.name!r}: {joint.name} goes from {low:.3f} to {high:.3f} rad, its limits are "
                f"{joint.limits.lower:.3f} to {joint.limits.upper:.3f}: another arm, or other units"
            )
        fast = float(np.abs(log.qd[:, j]).max())
        if fast > FASTER * joint.limits.velocity:
            raise InputError(
                f"log {log.name!r}: {joint.name} reaches {fast:.3f} rad/s, its limit is "
                f"{joint.limits.velocity:.3f}: another arm, or other units"
            )
    if not np.abs(log.current).max() > 0.0:
        raise InputError(f"log {log.name!r}: all currents are zero; were they logged?")
    for j, joint in enumerate(robot.joints):
        _check_joint(log, j, joint.name)


def _check_joint(log: Log, j: int, name: str) -> None:
    """Refuse a joint that moves while its current is constant, or whose motion contradicts its speeds."""
    moving = np.abs(log.qd[:, j]) > MOVING_SPEED
    i = log.current[:, j]
    if moving.sum() >= FEWEST_MOVING_ROWS and i.min() == i.max():
        raise InputError(f"log {log.name!r}: {name} moves, but its current is always {i[0] + 0.0:g} A; was it logged?")
    dt, step = np.diff(log.t), np.diff(log.q[:, j])
    if not log.qd[:, j].any() and np.abs(step[dt <= GAP]).sum() > OUTSIDE_LIMITS:
        raise InputError(f"log {log.name!r}: {name} moves, but its speed is always 0; was it logged?")
    speed = 0.5 * (log.qd[1:, j] + log.qd[:-1, j])
    use = moving[1:] & moving[:-1] & (dt <= GAP) & (np.abs(step) <= POSITION_JUMP)
    told = float(np.sum((speed * dt)[use] ** 2))
    if use.sum() < FEWEST_MOVING_ROWS or told == 0.0:
        return
    slope = float(np.sum(step[use] * (speed * dt)[use]) / told)
    if not LEAST_SPEED_RATIO < slope < 1.0 / LEAST_SPEED_RATIO:
        raise InputError(
            f"log {log.name!r}: the positions of {name} change {slope:.2f} times as fast as its speeds say; are the "
            "columns of q and qd, their signs and their units right?"
        )


def check_seconds(seconds: float) -> None:
    """Refuse logs that are too short for any fit."""
    if seconds < LEAST_SECONDS:
        raise InputError(
            f"fit: {seconds:.1f} s of log; at least {LEAST_SECONDS:g} s are needed, 20 to 50 s with all joints "
            "moving are usual"
        )


def check_rows(grams: Sequence[Grams], robot: Robot, unknowns: int, seconds: float) -> list[str]:
    """Refuse too little motion; return sentences about joints that never move."""
    check_seconds(seconds)
    rows = np.sum([g.rows for g in grams], axis=0)
    if rows.sum() < ROWS_PER_UNKNOWN * unknowns:
        raise InputError(
            f"fit: {rows.sum():.0f} moving samples for {unknowns} unknowns; at least {ROWS_PER_UNKNOWN * unknowns} are "
            "needed: log longer, with all joints moving"
        )
    return [
        f"{joint.name} never moves in these logs: what only its torque shows, its friction first, stays unknown"
        for joint, count in zip(robot.joints, rows, strict=True)
        if count == 0
    ]
