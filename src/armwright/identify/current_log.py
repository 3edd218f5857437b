# SPDX-License-Identifier: Apache-2.0
"""`Log`: stamps, joint motion and motor currents of an arm, and what was not sound in the file they came from.

`sound_log` keeps the sound rows of a table: finite, stamped in order, without positions that jump and return. It says
which rows were dropped, and why.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.types import Array

FASTEST_JOINT = 60.0
"""[rad/s] A joint angle that changes faster is in degrees, or not an angle."""
LARGEST_CURRENT = 500.0
"""[A] A larger motor current is in milliamperes."""
LARGEST_STAMP_GAP = 0.1
"""[s] Motion is not bridged between stamps farther apart; a log where more than a fifth are is too slow."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows of a file that were left out: how many, the first and last place ("line 17", "message 3"), and why."""

    count: int
    first: str
    last: str
    reason: str

    def __str__(self) -> str:
        """Return one line for people."""
        place = self.first if self.count == 1 else f"{self.count} rows, {self.first} to {self.last}"
        return f"{place}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Log:
    """A log of one arm.

    Attributes:
        t: (T,) stamps [s], strictly rising, not necessarily even.
        q: (T, n) joint positions [rad or m].
        qd: (T, n) joint speeds [rad/s or m/s].
        current: (T, n) measured motor currents [A]. A log of joint torques has them here, with a drive gain of 1.
        target_current: (T, n) what the controller asked for [A], None if not logged.
        target_torque: (T, n) what the controller's own model asked for [N m], None if not logged.
        name: of the log, for tables.
        dropped: what was not sound in the file.
        kind: what `current` holds: "current" [A], "torque" [N m], or "effort" where the file does not say which.
        account: what was understood of the file, in one paragraph.
    """

    t: Array
    q: Array
    qd: Array
    current: Array
    target_current: Array | None = None
    target_torque: Array | None = None
    name: str = "log"
    dropped: tuple[Dropped, ...] = field(default=())
    kind: str = "current"
    account: str = ""

    def __post_init__(self) -> None:
        """Check shapes, order of time and finiteness."""
        put = object.__setattr__
        t = _numbers(self.t, "t", self.name)
        if t.ndim != 1 or len(t) < 2:
            raise InputError(f"log {self.name!r}: t must be (T,) with at least 2 stamps, got shape {t.shape}")
        if (falls := np.diff(t) <= 0.0).any():
            k = int(np.argmax(falls))
            raise InputError(
                f"log {self.name!r}: time does not rise after row {k} (t = {t[k]:g} s); sort the rows by "
                "their stamps (read_log drops single rows that are out of order, but does not sort)"
            )
        put(self, "t", t)
        n = np.shape(self.q)[-1] if np.ndim(self.q) == 2 else 0
        for label in ("q", "qd", "current", "target_current", "target_torque"):
            if getattr(self, label) is None:
                continue
            array = _numbers(getattr(self, label), label, self.name)
            if array.shape != (len(t), n) or n == 0:
                raise InputError(f"log {self.name!r}: {label} must be ({len(t)}, n) as q, got {array.shape}")
            put(self, label, array)

    @property
    def n(self) -> int:
        """Return the number of joints."""
        return int(self.q.shape[1])

    @property
    def duration(self) -> float:
        """Return the time from the first to the last stamp [s]."""
        return float(self.t[-1] - self.t[0])

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        lost = sum(d.count for d in self.dropped)
        more = f", {lost} rows dropped" if lost else ""
        return f"Log({self.name!r}: {len(self)} rows over {self.duration:.1f} s, {self.n} joints{more})"

    def rows(self, chosen: slice | NDArray[np.bool_] | NDArray[np.int64]) -> Log:
        """Return the log with only these rows (a slice, mask or indices)."""
        keep: dict[str, Any] = {"t": self.t[chosen]}
        for label in ("q", "qd", "current", "target_current", "target_torque"):
            value = getattr(self, label)
            keep[label] = None if value is None else value[chosen]
        return replace(self, **keep)


def _numbers(value: ArrayLike, label: str, name: str) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"log {name!r}: {label} must be numbers") from error
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise InputError(
            f"log {name!r}: {label} holds NaN or infinities (first in row {row}); read_log drops such rows"
        )
    array.flags.writeable = False
    return array


def unit_doubts(log: Log) -> list[str]:
    """Return sentences about units that are probably not radians, seconds and amperes; none if all is plausible."""
    doubts = []
    span = float(np.abs(log.q).max())
    fast = float(np.abs(log.qd).max())
    if span > 4.0 * np.pi + 1e-9 or fast > FASTEST_JOINT:
        doubts.append(
            f"log {log.name!r}: positions reach {span:.4g} and speeds {fast:.4g}; that looks like degrees, radians are "
            "needed (q·π/180)"
        )
    strong = float(np.abs(log.current).max())
    if strong > LARGEST_CURRENT:
        doubts.append(
            f"log {log.name!r}: currents reach {strong:.4g}; that looks like milliamperes, amperes are needed (i/1000)"
        )
    steps = np.diff(log.t)
    step = float(np.median(steps))
    if step >= 0.5:
        doubts.append(
            f"log {log.name!r}: stamps are {step:.4g} apart; that looks like milliseconds or microseconds, seconds are "
            "needed"
        )
    elif np.mean(steps > LARGEST_STAMP_GAP) > 0.2:
        doubts.append(
            f"log {log.name!r}: {1.0 / step:.3g} rows a second; "
            f"more than {1.0 / LARGEST_STAMP_GAP:g} are needed, 100 are usual"
        )
    return doubts


LEAST_ORDERED = 0.5
"""Share of rows that must be in order of time; below, the column is not a time."""
STRAY_STAMP_SECONDS = 5.0
"""[s] A few rows farther than this from all others in time were not stamped."""
POSITION_JUMP = 0.05
"""[rad] Positions that differ by more from the path that the speeds give, for a few rows, are wrong."""
LONGEST_JUMP = 3
"""Rows that a jump may last and still be distinguished from a motion."""


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
    signals: dict[str, Any] = {label: values[rows] for label, values in table.items() if label != "time"}
    return Log(table["time"][rows], **signals, name=name, dropped=tuple(dropped))


def _first(dropped: list[Dropped]) -> str:
    return f" (first dropped: {dropped[0]})" if dropped else ""


def grouped(rows: NDArray[np.int64], place: Callable[[int], str], reason: str) -> list[Dropped]:
    """Return one entry for each run of neighbouring rows."""
    out = []
    at = np.asarray(rows, dtype=int)
    for run in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1) if len(at) else ():
        out.append(Dropped(len(run), place(int(run[0])), place(int(run[-1])), reason))
    return out


def in_order(time: Array) -> NDArray[np.bool_]:
    """Return the mask (T,) of the longest strictly rising subsequence: one wild stamp costs only its own row."""
    if (np.diff(time) > 0.0).all():
        return np.ones(len(time), bool)
    ends: list[float] = []  # smallest last value of a rising subsequence, by length
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


def alone(time: Array) -> NDArray[np.bool_]:
    """Return the mask (T,) of a few rows that are far in time from all others: stamps that were not set."""
    steps = np.diff(time)
    far = (
        max(STRAY_STAMP_SECONDS, 100.0 * float(np.median(steps))) if len(steps) else STRAY_STAMP_SECONDS
    )  # whatever the unit of time is
    edges = np.concatenate([[0], np.flatnonzero(steps > far) + 1, [len(time)]])
    out = np.zeros(len(time), bool)
    for start, stop in pairwise(edges.tolist()):
        out[start:stop] = stop - start <= LONGEST_JUMP < len(time) // 2
    return out


def departures(time: Array, q: Array, qd: Array, span: int = 1) -> Array:
    """Return the largest distance (T − span,) between a step of `span` rows and what the speeds at its ends give."""
    dt = (time[span:] - time[:-span])[:, None]
    told = 0.5 * dt * (qd[span:] + qd[:-span])
    return np.asarray(np.abs(q[span:] - q[:-span] - told).max(axis=1))


def jumps(time: Array, q: Array, qd: Array) -> NDArray[np.bool_]:
    """Return the mask (T,) of rows that leave the path and return within `LONGEST_JUMP` rows, or start or end off."""
    strange = np.zeros(len(time), bool)
    far = departures(time, q, qd) > POSITION_JUMP if len(time) > 1 else np.zeros(0, bool)
    for k in np.flatnonzero(far):
        if strange[k]:  # already the way back
            continue
        for span in range(2, LONGEST_JUMP + 2):
            stop = k + span
            if stop < len(time) and departures(time[[k, stop]], q[[k, stop]], qd[[k, stop]])[0] <= POSITION_JUMP:
                strange[k + 1 : stop] = True
                break
        else:
            if k < LONGEST_JUMP:
                strange[: k + 1] = True
            elif k >= len(time) - 1 - LONGEST_JUMP:
                strange[k + 1 :] = True
    return strange
