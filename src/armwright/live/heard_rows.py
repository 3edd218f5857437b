# SPDX-License-Identifier: Apache-2.0
"""`HeardRows`: what was heard and felt, written as it comes, into a file that opens whatever ends the process.

A row a sample, in chunks of half a second at 125 Hz. `armwright feel` and `armwright identify` read the file as a log.
Its time rises even where the controller's clock begins anew; `device_time` is what the controller said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.recording.sample_order import CLOCK_SET_BACK
from armwright.recording.signals import Signal
from armwright.recording.writer import RecordingWriter

if TYPE_CHECKING:
    from pathlib import Path

    from armwright.identify.feeling import FeltTick
    from armwright.live.wire_ear import HeardSample
    from armwright.robot.model import Robot
    from armwright.types import Array

CHUNK_ROWS = 64
LEAST_PAUSE = 1e-3  # [s] between rows before and after a clock that began anew
Columns = dict[str, tuple[int, str]]
HEARD: Columns = {
    "device_time": (1, "s"),
    "q": (6, "rad"),
    "qd": (6, "rad/s"),
    "current": (6, "A"),
    "q_ref": (6, "rad"),
    "robot_mode": (1, "-"),
    "safety_mode": (1, "-"),
}
"""Columns of what was heard: size and unit."""
FELT: Columns = {
    "tau_ext": (6, "N m"),
    "wrench": (6, "N, N m"),
    "half": (6, "N, N m"),
    "level": (1, "-"),
    "alarm": (1, "-"),
}
"""Columns of the newest tick that was felt by then; zeros before the first."""
HEARD_WIDTH = 1 + sum(size for size, _ in HEARD.values())
FELT_WIDTH = sum(size for size, _ in FELT.values())
AXES = ("fx", "fy", "fz", "nx", "ny", "nz")


def felt_row(felt: FeltTick | None) -> Array:
    """Return a tick as the columns `FELT`."""
    if felt is None:
        return np.zeros(FELT_WIDTH)
    return np.concatenate([felt.of("tau_ext"), felt.of("wrench"), felt.of("half"), [felt.level, felt.alarm]])


class HeardRows:
    """A recording of one robot.

    Attributes:
        count: rows so far. left_out: samples that are not finite, or earlier than one that is in the file.
        duration: from the first row to the last [s].
    """

    def __init__(self, path: Path, robot: Robot, settings: dict[str, Any], told: Columns = FELT) -> None:
        """Create the file at once, so that what cannot be written is known before anybody relies on it.

        Args:
            path: where.
            robot: the arm.
            settings: what is known of the wire.
            told: columns beside what is heard.
        """
        joints = tuple(joint.name for joint in robot.joints)
        names = {1: (), 6: joints}
        sizes = HEARD | told
        ends = np.cumsum([1, *(size for size, _ in sizes.values())]).tolist()
        self._places = {name: slice(a, b) for name, a, b in zip(sizes, ends[:-1], ends[1:], strict=True)}
        columns = {
            name: Signal(
                np.zeros((0, size) if size > 1 else 0), unit, AXES if name in ("wrench", "half") else names[size]
            )
            for name, (size, unit) in sizes.items()
        }
        self._writer = RecordingWriter(path, columns, robot=robot, settings=settings, chunk=CHUNK_ROWS)
        self._block, self._at = np.zeros((CHUNK_ROWS, ends[-1])), 0
        self.count, self.left_out = 0, 0
        self._offset, self._first, self._last, self._arrived = 0.0, np.nan, -np.inf, 0.0

    @property
    def duration(self) -> float:
        """Return the time from the first row to the last [s]."""
        return float(self._last - self._first) if self.count else 0.0

    def add(self, sample: HeardSample, told: Array) -> float:
        """Add a sample, and the columns that were told of; return its time in the file [s]."""
        time = sample.stamp + self._offset
        if time <= self._last - CLOCK_SET_BACK:  # the clock began anew: the pause was as long as we have waited
            self._offset += self._last + max(sample.arrived - self._arrived, LEAST_PAUSE) - time
            time = sample.stamp + self._offset
        if not (np.isfinite(sample.stamp) and time > self._last):
            self.left_out += 1
            return self._last
        self._first = self._first if self.count else time
        self._last, self._arrived = time, sample.arrived
        row = self._block[self._at]
        row[0], row[1], row[2:8], row[8:14], row[14:20] = time, sample.stamp, sample.q, sample.qd, sample.current
        row[20:26], row[26], row[27] = sample.target_q, sample.robot_mode, sample.safety_mode
        row[HEARD_WIDTH:] = told
        self._at += 1
        self.count += 1
        if self._at == CHUNK_ROWS:
            self._write()
        return time

    def _write(self) -> None:
        rows = self._block[: self._at].copy()
        self._at = 0
        if len(rows):
            self._writer.append(
                rows[:, 0],
                {name: rows[:, p.start] if p.stop - p.start == 1 else rows[:, p] for name, p in self._places.items()},
            )

    def flush(self) -> None:
        """Write what there is."""
        self._write()
        self._writer.flush()

    def close(self, outcome: str, events: list[tuple[float, str, dict[str, Any]]]) -> None:
        """Write what is left, how it ended and what happened; safe to call twice."""
        if self._writer.open:
            self._write()
            self._writer.close(outcome, events)
