# SPDX-License-Identifier: Apache-2.0
"""Where a simulation starts and what it follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.motion import Trajectory
from armwright.motion.reference import Reference
from armwright.simulation import checks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array


def start_positions(reference: Trajectory | ArrayLike | None, q0: ArrayLike | None, n: int) -> Array:
    """Initial positions (B, n)."""
    if q0 is None:
        if isinstance(reference, Trajectory):
            q0 = reference.evaluate(0.0).q
        else:
            q0 = np.zeros(n) if reference is None else reference
    return checks.rows_of(q0, n, "q0")


def start_states(q: Array, qd0: ArrayLike | None, n: int) -> Array:
    """Initial positions and velocities (B, 2n), one for each row of either."""
    qd = np.zeros((1, n)) if qd0 is None else checks.rows_of(qd0, n, "qd0")
    rows = max(len(q), len(qd))
    if len(q) not in (1, rows) or len(qd) not in (1, rows):
        raise InputError(f"simulate: q0 has {len(q)} rows, qd0 has {len(qd)}")
    return np.concatenate([np.broadcast_to(q, (rows, n)), np.broadcast_to(qd, (rows, n))], axis=1)


def reference_of(reference: Trajectory | ArrayLike | None, start: Array, n: int) -> Trajectory | Reference:
    """The motion to follow: a trajectory, a constant posture, or the start."""
    if isinstance(reference, Trajectory):
        if reference.n != n:
            raise InputError(f"simulate: the trajectory has {reference.n} joints, the robot {n}")
        return reference
    rows = start[:1] if reference is None else checks.rows_of(reference, n, "reference")
    if len(rows) > 1:
        raise InputError(f"simulate: one reference ({n},) serves all simulations, got {len(rows)}; q0 may differ")
    target = rows[0]
    return Reference(target, np.zeros(n), np.zeros(n))
