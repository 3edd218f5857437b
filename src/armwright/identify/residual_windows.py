# SPDX-License-Identifier: Apache-2.0
"""What is left of the external torque of contact-free logs, in windows, against the speed of every joint.

A contact is told from the mean of the observer's residual over a window. What that mean does without a contact depends
on how the joint moves: it stands, it turns round or creeps, or it moves at some speed. A window belongs to the
smallest speed in it and in the observer's settling time before.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.identify.external_torque import LOG_OBSERVER_GAIN, OBSERVER_RATE, residuals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from armwright.identify.current_log import Log
    from armwright.identify.identified import Identified, PayloadEstimate
    from armwright.types import Array

SPEED_EDGES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""[rad/s, m/s] Bounds of the speeds that are told apart; below the first a joint stands, turns round or creeps."""
STATES = ("still", "turning", "0.02", "0.05", "0.1", "0.2", "0.5", "1")
"""Names of what a joint does in a window: by the smallest speed in it, from the third on at least that many rad/s."""
STILL_STATE, TURNING_STATE = 0, 1
SETTLED_SECONDS = 3.0 / LOG_OBSERVER_GAIN
"""Time [s] before a window in which a contact must have begun: the observer then shows 95 % of it."""


def shown_share(window: float) -> float:
    """Return which part of a lasting contact the mean over a window [s] shows: the observer is a first-order lag."""
    K = LOG_OBSERVER_GAIN
    begun, ended = np.exp(-K * SETTLED_SECONDS), np.exp(-K * (SETTLED_SECONDS + window))
    return float(1.0 - (begun - ended) / (K * window))


LONGEST_WINDOW, SHORTEST_WINDOW = 10.0, 2.0 / OBSERVER_RATE


@dataclass(frozen=True, eq=False)
class Windows:
    """Means over W windows of one log.

    Attributes:
        log: its name. t: (W,) end of each [s]. q: (W, n) position there.
        mean: (W, n) of the external torque [N m].
        state: (W, n) index in `STATES`.
    """

    log: str
    t: Array
    q: Array
    mean: Array
    state: NDArray[np.int64]

    def some(self, rows: NDArray[np.bool_]) -> Windows:
        """Return those of the windows whose row (W,) is True."""
        return Windows(self.log, self.t[rows], self.q[rows], self.mean[rows], self.state[rows])


def windows_of(
    identified: Identified,
    log: Log,
    window: float,
    *,
    payload: PayloadEstimate | ArrayLike | None = None,
    pushed: Callable[[Array, Array], Array] | None = None,
) -> Windows:
    """Return the windows of a log, one after another.

    Args:
        identified: the model.
        log: without contact.
        window: length [s].
        payload: what the tool carries.
        pushed: from stamps (T,) and positions (T, n) of the log to external torques (T, n) [N m] that are put into its
            currents, as a drive that keeps the same motion would show them.
    """
    if not SHORTEST_WINDOW <= window <= LONGEST_WINDOW:
        raise InputError(f"window must lie between {SHORTEST_WINDOW:g} and {LONGEST_WINDOW:g} s, got {window:g}")
    touched = log if pushed is None else replace(log, current=log.current - pushed(log.t, log.q) / identified.gains)
    found = residuals(identified, touched, payload=payload)
    speed = np.stack([np.interp(found.t, log.t, np.abs(column)) for column in log.qd.T], axis=1)
    length, before = round(window * OBSERVER_RATE), round(SETTLED_SECONDS * OBSERVER_RATE)
    begins = np.concatenate([[0], np.flatnonzero(np.diff(found.t) > 1.5 / OBSERVER_RATE) + 1, [len(found.t)]])
    ends, means, states = [], [], []
    for start, stop in itertools.pairwise(begins):
        for last in range(int(start) + length + before, int(stop), length):
            rows, seen = slice(last - length + 1, last + 1), slice(last - length - before + 1, last + 1)
            ends.append(last)
            means.append(found.tau_ext[rows].mean(axis=0))
            states.append(_state(speed[seen]))
    at = np.array(ends, dtype=int)
    n = identified.n
    return Windows(
        log.name,
        found.t[at],
        found.q[at],
        np.array(means).reshape(-1, n),
        np.array(states, dtype=np.int64).reshape(-1, n),
    )


def _state(speed: Array) -> NDArray[np.int64]:
    """Index in `STATES` of each joint from its speeds (K, n) in a window."""
    least, most = speed.min(axis=0), speed.max(axis=0)
    at = 1 + np.searchsorted(SPEED_EDGES, least, side="right")
    return np.where(most < SPEED_EDGES[0], STILL_STATE, at)
