# SPDX-License-Identifier: Apache-2.0
"""Where an event happened: the last step is shortened until the event's value is zero at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.graph.program import call_by_name

if TYPE_CHECKING:
    from armwright.simulation.session import Session

RESOLUTION = 1e-12  # [s]
MOST_TRIALS = 60


class Crossing(NamedTuple):
    """The first event of a step: its number, how long after the step began [s], and the state there (size,)."""

    which: int
    after: float
    x: Any


def event_values(session: Session, t: float, x: Any) -> Any:
    """Values of all events (k,) at time t [s] and state x (size,)."""
    n = session.parts.n
    given = {"arm": session.parts.lanes.tree, "t": t, "q": x[:n], "qd": x[n : 2 * n]}
    return np.array([float(call_by_name(f, given)) for f in session.parts.events.values()])


def first_crossing(session: Session) -> Crossing:
    """Find the earliest event of the step at whose end the compiled loop has just stopped."""
    loop = session.loop
    x0, x1 = loop.get("x_before")[0], loop.get("x")[0]
    past0, past1 = float(loop.get("past_before")[0, 0]), float(loop.get("past")[0, 0])
    start = session.time + past0
    length = past1 - past0
    slots = {name: loop.get(name)[0] for name in loop.plan.slots}

    def after(h: float) -> Any:
        held = {"x": x0, "h": np.array([h]), "past": np.array([past0]), "left": np.array([h])}
        return session.single_step().by_name(slots | held)

    before, behind = event_values(session, start, x0), event_values(session, start + length, x1)
    best: Crossing | None = None
    for k in np.flatnonzero((before < 0.0) & (behind >= 0.0)):

        def value_at(h: float, x: Any, k: int = int(k)) -> float:
            return float(event_values(session, start + h, x)[k])

        high, x = _root(after, value_at, length, before[k], (behind[k], x1))
        if best is None or high < best.after:
            best = Crossing(int(k), high, x)
    # the compiled loop may see a rise that plain NumPy rounds away: then it is at the very end of the step
    return best or Crossing(int(np.argmax(behind - before)), length, x1)


def _root(
    after: Callable[[float], Any], value_at: Callable[[float, Any], float], length: float, f_low: float, end: Any
) -> tuple[float, Any]:
    """Regula falsi that always shrinks the bracket; returns the end where the value is ≥ 0 and the state there."""
    low, high, (f_high, x) = 0.0, length, end
    for _ in range(MOST_TRIALS):
        if high - low < RESOLUTION or f_high == 0.0:
            break
        h = low + (high - low) * float(np.clip(-f_low / (f_high - f_low), 0.05, 0.95))
        trial = after(h)
        value = value_at(h, trial)
        if value >= 0.0:
            high, f_high, x = h, value, trial
        else:
            low, f_low = h, value
    return high, x
