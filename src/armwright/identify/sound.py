# SPDX-License-Identifier: Apache-2.0
"""Which rows of a table are sound: finite, stamped in order, and without positions that jump and return."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.identify.log import Dropped, Log

if TYPE_CHECKING:
    from armwright.types import Array

LEAST_ORDERED = 0.5
"""Share of rows that must be in order of time; below, the column is not a time."""
FAR = 5.0
"""[s] A few rows further from all others in time were not stamped."""
JUMP = 0.05
"""[rad] Positions that leave the path that the speeds tell by more, for a few rows, are not positions."""
LONGEST_JUMP = 3
"""Rows that a jump may last and still be told from a motion."""


def sound_log(
    table: Mapping[str, Array], place: Callable[[int], str], name: str, before: tuple[Dropped, ...] = ()
) -> Log:
    """Keep the sound rows of a table of signals (T, …) and say which were dropped.

    Args:
        table: "time" (T,), "q", "qd", "current" and where logged the targets, each (T, n); may hold NaN.
        place: name of row k in the file.
        name: of the log.
        before: what was dropped while the table was read.
    """
    rows = np.arange(len(table["time"]))
    dropped = list(before)
    needed = [table["time"][:, None], *(table[s] for s in table if s != "time")]
    finite = np.isfinite(np.concatenate(needed, axis=1)).all(axis=1) if len(rows) else np.zeros(0, bool)
    dropped += grouped(rows[~finite], place, "not a number (NaN, infinite or no digits)")
    rows = rows[finite]
    if len(rows) < 2:
        raise InputError(f"{name}: fewer than 2 sound rows{_first(dropped)}")
    time = table["time"][rows]
    ordered = in_order(time)
    if ordered.sum() < max(2.0, LEAST_ORDERED * len(rows)):
        raise InputError(
            f"{name}: only {ordered.sum()} of {len(rows)} rows are in order of time; is the time column right? "
            "Sort the rows by their stamps if they are merely shuffled"
        )
    twice = np.zeros(len(rows), bool)
    twice[1:] = time[1:] == time[:-1]
    dropped += grouped(rows[~ordered & twice], place, "the stamp of the row before once more")
    dropped += grouped(rows[~ordered & ~twice], place, "its stamp is out of order")
    rows = rows[ordered]
    lonely = alone(table["time"][rows])
    dropped += grouped(rows[lonely], place, "its stamp is far from all others")
    rows = rows[~lonely]
    strange = jumps(table["time"][rows], table["q"][rows], table["qd"][rows])
    dropped += grouped(rows[strange], place, "positions jump away from the path")
    rows = rows[~strange]
    signals = {label: values[rows] for label, values in table.items() if label != "time"}
    return Log(table["time"][rows], **signals, name=name, dropped=tuple(dropped))


def _first(dropped: list[Dropped]) -> str:
    return f" (first dropped: {dropped[0]})" if dropped else ""


def grouped(rows: Any, place: Callable[[int], str], reason: str) -> list[Dropped]:
    """Return one entry for each run of neighbouring rows."""
    out = []
    at = np.asarray(rows, dtype=int)
    for run in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1) if len(at) else ():
        out.append(Dropped(len(run), place(int(run[0])), place(int(run[-1])), reason))
    return out


def in_order(time: Array) -> Any:
    """Mask (T,) of the longest strictly rising subsequence: one wild stamp costs one row, wherever it points."""
    if (np.diff(time) > 0.0).all():
        return np.ones(len(time), bool)
    ends: list[float] = []  # least last value of a rising subsequence, by length
    at: list[int] = []
    before = np.full(len(time), -1)
    for k, value in enumerate(time.tolist()):
        length = bisect_left(ends, value)
        if length < len(ends) and ends[length] == value:
            continue  # of equal stamps the first stays
        before[k] = at[length - 1] if length else -1
        if length == len(ends):
            ends.append(value)
            at.append(k)
        else:
            ends[length], at[length] = value, k
    keep = np.zeros(len(time), bool)
    k = at[-1] if at else -1
    while k >= 0:
        keep[k] = True
        k = int(before[k])
    return keep


def alone(time: Array) -> Any:
    """Mask (T,) of a few rows that are far in time from all others: stamps that were not set."""
    steps = np.diff(time)
    far = max(FAR, 100.0 * float(np.median(steps))) if len(steps) else FAR  # whatever the unit of time is
    edges = np.concatenate([[0], np.flatnonzero(steps > far) + 1, [len(time)]])
    out = np.zeros(len(time), bool)
    for start, stop in pairwise(edges.tolist()):
        out[start:stop] = stop - start <= LONGEST_JUMP < len(time) // 2
    return out


def departures(time: Array, q: Array, qd: Array, span: int = 1) -> Array:
    """Largest distance (T − span,) between a step of `span` rows and what the speeds at its ends tell."""
    dt = (time[span:] - time[:-span])[:, None]
    told = 0.5 * dt * (qd[span:] + qd[:-span])
    return np.asarray(np.abs(q[span:] - q[:-span] - told).max(axis=1))


def jumps(time: Array, q: Array, qd: Array) -> Any:
    """Mask (T,) of rows that leave the path and return within `LONGEST_JUMP` rows, or that begin or end off it."""
    strange = np.zeros(len(time), bool)
    far = departures(time, q, qd) > JUMP if len(time) > 1 else np.zeros(0, bool)
    for k in np.flatnonzero(far):
        if strange[k]:  # already the way back
            continue
        for span in range(2, LONGEST_JUMP + 2):
            stop = k + span
            if stop < len(time) and departures(time[[k, stop]], q[[k, stop]], qd[[k, stop]])[0] <= JUMP:
                strange[k + 1 : stop] = True
                break
        else:
            if k < LONGEST_JUMP:
                strange[: k + 1] = True
            elif k >= len(time) - 1 - LONGEST_JUMP:
                strange[k + 1 :] = True
    return strange
