# SPDX-License-Identifier: Apache-2.0
"""`LiveRecording`: rows of the running arm, on their way to a file as they come.

The simulation hands over rows (100 a second) and never waits: a thread of the recording's own writes them, so that a
slow disk delays no tick. A row is in the system's hands `FLUSH_SECONDS` after it was taken at the latest, and survives
the death of the process from then on. However a recording ends — stopped, another law or arm, ten minutes, a full
disk, the end of the studio — what was written is a whole recording, and `kept` is told.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import ArmwrightError
from armwright.recording.formats.csv_format import meta_file
from armwright.recording.signals import Signal
from armwright.recording.writer import RecordingWriter
from armwright.studio.pulled_arm import PULL_RATE
from armwright.studio.recordings_folder import locked, new_name

if TYPE_CHECKING:
    from armwright.studio.pulled_arm import PulledArm

RECORDED_TICKS = 5  # ticks
MOST_LIVE_ROWS = 60_000  # rows: ten minutes
FLUSH_SECONDS = 0.5  # [s] for which a row waits at most
UNITS = {"q": "rad", "qd": "rad/s", "tau": "N m", "tau_ext": "N m", "tau_ext_true": "N m", "push": "N"}

Row = tuple[float, dict[str, np.ndarray]]


@dataclass(frozen=True)
class KeptRecording:
    """What became of a recording: its file (none without rows), duration [s]; why it ended, and what went wrong."""

    file: Path
    rows: int
    duration: float
    reason: str
    error: str = ""

    @property
    def note(self) -> str:
        """How long it is, in words."""
        return f"{self.duration:.1f} s, {self.rows} rows"


class LiveRecording:
    """One recording under way. `add` and `end` belong to the simulation.

    Attributes:
        plant: the arm. file: where the rows go. done: has the `KeptRecording` when the file is closed.
        broken: no more can be written.
    """

    def __init__(self, folder: Path, plant: PulledArm, kept: Callable[[KeptRecording], None]) -> None:
        """Create the file.

        Args:
            folder: where.
            plant: the running arm.
            kept: told at the end, in the recording's own thread.

        Raises:
            ArmwrightError: the file cannot be made.
        """
        self.plant, self._kept = plant, kept
        n = plant.robot.n
        widths = dict.fromkeys(UNITS, n) | {"push": 3}
        signals = {name: Signal(np.empty((0, widths[name])), unit) for name, unit in UNITS.items()}
        settings = {"law": plant.choice.law, "knows": plant.choice.knows}
        self.file = new_name(folder, plant.robot.name)
        self._writer = RecordingWriter(self.file, signals, robot=plant.robot, settings=settings)
        self.done: Future[KeptRecording] = Future()
        self.broken = False
        self._tick = self._rows = 0
        self._given: queue.SimpleQueue[Row | str] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="studio recording", daemon=True).start()

    @property
    def full(self) -> bool:
        """Return whether the ten minutes are over."""
        return self._rows >= MOST_LIVE_ROWS

    def add(self, plant: PulledArm) -> None:
        """Keep the present state, every `RECORDED_TICKS`-th time; time counts from the beginning of the recording."""
        self._tick += 1
        if self._tick % RECORDED_TICKS or self.broken or self.full:
            return
        live, truth = plant.live, plant.truth()
        values = (live.q, live.qd, live.tau, live.outputs["tau_ext"], truth.torque, truth.force)
        row = {name: np.array(value) for name, value in zip(UNITS, values, strict=True)}
        self._given.put((self._tick / PULL_RATE, row))
        self._rows += 1

    def end(self, reason: str) -> None:
        """Take no more rows, write what there is, and close the file; does not wait for it."""
        self._given.put(reason)

    def _write(self) -> None:
        reason, error = "", ""
        flushed = time.monotonic()
        try:
            with locked(self.file):
                while not reason:
                    with contextlib.suppress(queue.Empty):
                        given = self._given.get(timeout=FLUSH_SECONDS)
                        if isinstance(given, str):
                            reason = given
                        else:
                            self._writer.append(*given)
                    if time.monotonic() - flushed >= FLUSH_SECONDS:
                        self._writer.flush()
                        flushed = time.monotonic()
                self._writer.close(f"recorded in the studio; {reason}")
        except ArmwrightError as wrong:
            error = str(wrong)
        except Exception as wrong:  # noqa: BLE001 - a thread has no caller; the pages are told
            error = f"a defect of this program: {wrong!r:.200}"
        self.broken = True
        rows = self._writer.samples
        if not rows:
            self._unlink()
        span = max(0, rows - 1) * RECORDED_TICKS / PULL_RATE
        kept = KeptRecording(self.file, rows, span, reason or "it could not be written", error)
        try:
            self._kept(kept)
        finally:
            self.done.set_result(kept)

    def _unlink(self) -> None:
        """Leave nothing of a recording without rows."""
        with contextlib.suppress(OSError):
            for left in (self.file, meta_file(self.file)):
                left.unlink(missing_ok=True)
