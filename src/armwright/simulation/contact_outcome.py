# SPDX-License-Identifier: Apache-2.0
"""After a run among shapes: tell what their surfaces did not hold back, in its outcome and its events."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.contact_flags import contact_flags, world_of
from armwright.errors import ArmwrightWarning
from armwright.simulation.rows_to_recording import closing

if TYPE_CHECKING:
    from armwright.simulation.running_loop import RunningLoop


def told_of_contacts(running: RunningLoop, wrench: Callable[..., Any] | None) -> dict[str, Any]:
    """Put flags of the recorded rows into the outcome and the events of a run; return settings for a batch.

    A run that came to its "end" has the outcome "pushed through" or "sunk" instead. A batch, whose recordings have no
    outcome, warns; the settings say which of its simulations are meant.
    """
    contact = world_of(wrench)
    if contact is None or not running.log.count:
        return {}
    world, capsules = contact
    n, log, end = running.parts.n, running.log, closing(running)
    rows, time = log.rows(log.first), log.given(log.first)[:, 0]
    if end is not None:
        rows, time = np.concatenate([rows, end[0]], axis=1), np.append(time, end[1][0, 0])
    found = []
    for lane in range(rows.shape[0]):
        robot = running.robots[lane] if len(running.robots) > 1 else running.robots[0]
        flags = contact_flags(robot, world, time, rows[lane, :, 1 : 1 + n], capsules)
        found += [(lane, flag) for flag in flags]
    if not found:
        return {}
    if not running.batch:
        running.flagged = [(flag.time, flag.words) for _, flag in found]
        kinds = [flag.kind for _, flag in found]
        if running.outcome == "end":
            running.outcome = "pushed through" if "pushed through" in kinds else kinds[0]
        return {}
    first_lane, first = found[0]
    warnings.warn(
        f"simulate: surfaces did not hold in {len({lane for lane, _ in found})} of {rows.shape[0]} simulations: in "
        f"number {first_lane} at {first.time:.3f} s, {first.words}; see settings['contact_flags']",
        ArmwrightWarning,
        stacklevel=4,
    )
    return {"contact_flags": [{"simulation": lane, **flag._asdict()} for lane, flag in found]}
