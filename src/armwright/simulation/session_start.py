# SPDX-License-Identifier: Apache-2.0
"""A loop set to its start: initial states, gains, seeds and the reference, for one simulation or a batch of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.control.law import check_gains
from armwright.errors import InputError
from armwright.motion import Trajectory
from armwright.motion.trajectory import Reference
from armwright.simulation import simulate_checks as checks
from armwright.simulation.session import Session

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.simulation.control_loop import Loop
    from armwright.types import Array


def start_session(
    loop: Loop,
    q0: ArrayLike | None,
    qd0: ArrayLike | None,
    reference: Trajectory | ArrayLike | None,
    count: int | None,
    every: int,
    seed: int | Sequence[int],
    check_step: bool,
) -> Session:
    """Compile a loop and set it to its start; see `Loop.session`."""
    n, every = loop.n, checks.whole(every, "every")
    start = start_positions(reference, q0, n)
    x0 = start_states(start, qd0, n)
    checks.check_state(x0, loop.robot)
    seeds = checks.seeds_of(seed)
    given = [("robots", max(len(loop.robots), len(loop.lanes.values))), ("initial states", len(x0))]
    given += [("seeds", len(seeds)), *((f"gain {k}", len(loop.law.gains[k])) for k in loop.gains_vary)]
    lanes = max(number for _, number in given) if count is None else checks.whole(count, "count")
    checks.check_lanes(lanes, given, n)
    loop = _for_lanes(loop, lanes, batch=lanes > 1 or count is not None or loop.batch)
    if loop.limits == "stop":
        _check_within_limits(loop, x0)
    seeds = seeds if len(seeds) == lanes else [seeds[0] + k for k in range(lanes)]
    session = Session(loop, count=lanes, every=every, seeds=seeds)
    session.follow(reference_of(reference, start, n))
    session.start(np.concatenate([x0, np.zeros((len(x0), loop.size - 2 * n))], axis=1))
    if check_step:
        session.check_step()
    return session


def _for_lanes(loop: Loop, lanes: int, *, batch: bool) -> Loop:
    """Return the loop as `lanes` simulations run it: gains that vary have a row for each; a batch never stops."""
    law, n, varying = loop.law, loop.n, loop.gains_vary
    check_gains(law, n, batch=lanes if varying else None)
    if loop.stops and batch:
        raise InputError("simulate: events stop one simulation; run batches without events (and without limits='stop')")
    if varying:
        rows = {k: np.broadcast_to(law.gains[k], (lanes, law.sizes.get(k, n))) for k in varying}
        law = replace(law, gains={**law.gains, **rows})
    if law is loop.law and batch == loop.batch and not (batch and loop.stop_on_alarm):
        return loop
    alarms = loop.stop_on_alarm and not batch
    return replace(loop, law=law, batch=batch, stop_on_alarm=alarms, plant=loop.lanes)


def _check_within_limits(loop: Loop, x0: Array) -> None:
    arm, q = loop.robot, x0[0, : loop.n]
    outside = np.flatnonzero((q > arm.upper) | (q < arm.lower))
    if len(outside):
        raise InputError(
            f"simulate: joint {arm.joints[outside[0]].name} starts outside its limits; "
            "limits='stop' needs a start within"
        )


def start_positions(reference: Trajectory | ArrayLike | None, q0: ArrayLike | None, n: int) -> Array:
    """Initial positions (B, n)."""
    if q0 is not None:
        return checks.rows_of(q0, n, "q0")
    if isinstance(reference, Trajectory):
        return checks.rows_of(reference.evaluate(0.0).q, n, "reference")
    return np.zeros((1, n)) if reference is None else checks.rows_of(reference, n, "reference")


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
