# SPDX-License-Identifier: Apache-2.0
"""Where an event happened: the last step is shortened until the event's value is zero at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.simulation.step_stages import event_values

if TYPE_CHECKING:
    from armwright.simulation.running_loop import RunningLoop
    from armwright.types import Array

EVENT_TIME_TOLERANCE = 1e-12  # [s]
MOST_TRIALS = 60


class Crossing(NamedTuple):
    """The first event of a step: its number, how long after the step began [s], and the state there (size,)."""

    which: int
    after: float
    x: Array


def stop_at_event(running: RunningLoop) -> str:
    """Go back from the end of the last step to the first event within it, stop there and return its name."""
    found = first_crossing(running)
    time = running.time + float(running.loop.get("past_before")[0, 0]) + found.after
    values = event_values(running.parts, time, found.x)
    values[found.which] = max(values[found.which], 0.0)
    name = list(running.parts.stops)[found.which]
    running.stop_within_tick(name, time, found.x, values)
    return name


def first_crossing(running: RunningLoop) -> Crossing:
    """Find the earliest event of the step at whose end the compiled loop has just stopped."""
    loop = running.loop
    x0, x1 = loop.get("x_before")[0], loop.get("x")[0]
    past0, past1 = float(loop.get("past_before")[0, 0]), float(loop.get("past")[0, 0])
    start = running.time + past0
    length = past1 - past0
    slots = {name: loop.get(name)[0] for name in loop.plan.slots}

    def after(h: float) -> Array:
        held = {"x": x0, "h": np.array([h]), "past": np.array([past0]), "left": np.array([h])}
        return running.single_step().by_name(slots | held)

    before, behind = event_values(running.parts, start, x0), event_values(running.parts, start + length, x1)
    best: Crossing | None = None
    for k in np.flatnonzero((before < 0.0) & (behind >= 0.0)):

        def value_at(h: float, x: Array, k: int = int(k)) -> float:
            return float(event_values(running.parts, start + h, x)[k])

        high, x = _root(after, value_at, length, before[k], (behind[k], x1))
        if best is None or high < best.after:
            best = Crossing(int(k), high, x)
    # the compiled loop may see a rise that plain NumPy rounds away: then it is at the very end of the step
    return best or Crossing(int(np.argmax(behind - before)), length, x1)


def _root(
    after: Callable[[float], Array],
    value_at: Callable[[float, Array], float],
    length: float,
    f_low: float,
    end: tuple[float, Array],
) -> tuple[float, Array]:
    """Regula falsi that always shrinks the bracket; returns the end where the value is ≥ 0 and the state there."""
    low, high, (f_high, x) = 0.0, length, end
    for _ in range(MOST_TRIALS):
        if high - low < EVENT_TIME_TOLERANCE or f_high == 0.0:
            break
        h = low + (high - low) * float(np.clip(-f_low / (f_high - f_low), 0.05, 0.95))
        trial = after(h)
        value = value_at(h, trial)
        if value >= 0.0:
            high, f_high, x = h, value, trial
        else:
            low, f_low = h, value
    return high, x
