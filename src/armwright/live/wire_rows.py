# SPDX-License-Identifier: Apache-2.0
"""`WireRows`: every sample of a ride as one row of numbers, kept in blocks and, if asked for, written as it comes.

The thread that drives the arm fills a row and goes on. A second thread writes whole blocks into a file that opens
whatever ends the process.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ArmwrightError
from armwright.live.wire_priority import in_real_time
from armwright.recording.recording import Recording
from armwright.recording.signals import Signal
from armwright.recording.writer import RecordingWriter

if TYPE_CHECKING:
    from pathlib import Path

    from armwright.robot.model import Robot
    from armwright.types import Array

BLOCK_ROWS = 64  # of a block: half a second at 125 Hz, an eighth at 500 Hz: what a kill can lose
DRIVEN, REFLEX, RESTING = 1.0, 2.0, 3.0
"""Kinds of rows: asked for by a run, of a reflex, of a rest after a gap."""
SIGNALS = {
    "device_time": (1, "s"),
    "q": (6, "rad"),
    "qd": (6, "rad/s"),
    "current": (6, "A"),
    "q_ref": (6, "rad"),
    "target": (6, "rad"),
    "tau_ext": (6, "N m"),
    "wrench_ext": (3, "N"),
    "level": (1, "-"),
    "alarm": (1, "-"),
    "kind": (1, "-"),
    "safety_mode": (1, "-"),
    "target_current": (6, "A"),
    "target_torque": (6, "N m"),
}
"""Columns after the ride's clock: stamp; measured; q_ref, the controller's own reference; target, what we asked for;
last what the controller's own model asks of the motors."""
_ENDS = np.cumsum([1, *(size for size, _ in SIGNALS.values())])
PLACES = {name: slice(int(_ENDS[k]), int(_ENDS[k + 1])) for k, name in enumerate(SIGNALS)}
WIDTH = int(_ENDS[-1])


def signals_of(rows: Array, robot: Robot) -> dict[str, Signal]:
    """Return rows (T, WIDTH) as signals."""
    joints = tuple(joint.name for joint in robot.joints)
    axes: dict[int, tuple[str, ...]] = {1: (), 3: ("x", "y", "z"), 6: joints}
    return {name: Signal(values, SIGNALS[name][1], axes[SIGNALS[name][0]]) for name, values in _values_of(rows).items()}


def _values_of(rows: Array) -> dict[str, Array]:
    return {
        name: rows[:, PLACES[name].start] if size == 1 else rows[:, PLACES[name]] for name, (size, _) in SIGNALS.items()
    }


class WireRows:
    """Rows of one ride.

    Attributes:
        count: rows so far. path: of the file that is written, None without.
    """

    def __init__(self, robot: Robot, path: Path | None, settings: dict[str, Any]) -> None:
        """Begin; a file is created at once, so that what cannot be written is known before anything moves."""
        self._robot, self.path = robot, path
        self._blocks: list[Array] = [np.zeros((BLOCK_ROWS, WIDTH))]
        self._at, self.count = 0, 0
        self._queue: queue.SimpleQueue[Array | None] = queue.SimpleQueue()
        self._failed: Exception | None = None
        self._thread: threading.Thread | None = None
        if path is not None:
            columns = signals_of(np.zeros((0, WIDTH)), robot)
            self._writer = RecordingWriter(path, columns, robot=robot, settings=settings, chunk=BLOCK_ROWS)
            self._thread = threading.Thread(target=self._write, name="wire recorder", daemon=True)
            self._thread.start()

    def row(self) -> Array:
        """Return the next row (WIDTH,), to be filled."""
        if self._at == BLOCK_ROWS:
            if self._thread is not None:
                self._queue.put(self._blocks[-1])
            self._blocks.append(np.zeros((BLOCK_ROWS, WIDTH)))
            self._at = 0
        self._at += 1
        self.count += 1
        return self._blocks[-1][self._at - 1]

    def since(self, time: float) -> Array:
        """Return the rows (T, WIDTH) from an instant of the ride's clock on."""
        chosen = []
        for k in range(len(self._blocks) - 1, -1, -1):
            block = self._blocks[k] if k < len(self._blocks) - 1 else self._blocks[k][: self._at]
            if len(block) and block[-1, 0] < time:
                break
            chosen.append(block[np.searchsorted(block[:, 0], time, side="left") :])
        return np.concatenate(chosen[::-1]) if chosen else np.zeros((0, WIDTH))

    def _write(self) -> None:
        with in_real_time():
            self._write_blocks()

    def _write_blocks(self) -> None:
        while (block := self._queue.get()) is not None:
            if self._failed is None:
                try:
                    self._writer.append(block[:, 0], _values_of(block))
                except (ArmwrightError, OSError) as error:
                    self._failed = error

    def close(self, outcome: str = "") -> None:
        """Write what is left and how it ended, and close the file.

        Raises:
            ArmwrightError: it could not be written.
        """
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._queue.put(self._blocks[-1][: self._at].copy())
        self._queue.put(None)
        thread.join()
        if self._failed is not None:
            raise ArmwrightError(f"{self.path}: the recording is not whole: {self._failed}")
        self._writer.close(outcome)

    def recording(self, outcome: str, settings: dict[str, Any], since: float = -np.inf) -> Recording:
        """Return everything so far, or from an instant of the ride's clock on."""
        rows = self.since(since)
        return Recording(rows[:, 0], signals_of(rows, self._robot), self._robot, settings, outcome=outcome)
