# SPDX-License-Identifier: Apache-2.0
"""An arm in a pose, or in several one after another, as a recording that shows itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit, numbers
from armwright.errors import InputError
from armwright.recording.recording import Recording
from armwright.recording.signals import Signal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot


@names_culprit
def plot(robot: Robot, q: ArrayLike | None = None, *, dt: float = 0.05) -> Recording:
    """Show an arm in 3-D, in a pose or moving: notebooks show the replay page, ``.replay("page.html")`` writes it.

    Args:
        robot: the arm.
        q: configuration (n,) or several (T, n); the neutral one by default.
        dt: time between two of them [s].

    Returns:
        A `Recording` of q.
    """
    rows = numbers(robot.neutral() if q is None else q, "q")
    if rows.ndim not in (1, 2) or rows.shape[-1] != robot.n or not rows.size:
        raise InputError(f"plot: q must have shape ({robot.n},) or (T, {robot.n}), got {rows.shape}")
    if not np.isfinite(rows).all():
        raise InputError("plot: q must be finite")
    if not 0.0 < dt < np.inf:
        raise InputError(f"plot: dt must be finite and > 0 s, got {dt}")
    rows = np.atleast_2d(rows)
    rows = np.repeat(rows, 2, axis=0) if len(rows) == 1 else rows  # a replay has a beginning and an end
    metres = all(joint.kind == "prismatic" for joint in robot.joints)
    time = np.asarray(dt * np.arange(len(rows)), dtype=np.float64)
    return Recording(time, {"q": Signal(rows, "m" if metres else "rad")}, robot=robot)
