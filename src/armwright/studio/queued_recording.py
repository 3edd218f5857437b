# SPDX-License-Identifier: Apache-2.0
"""`QueuedRecording`: rows on their way to a file as they come, written by a thread of their own.

Whoever hands over rows never waits, so that a slow disk delays nobody. A row is in the system's hands `FLUSH_SECONDS`
after it was taken at the latest, and survives the death of the process from then on. However a recording ends, what was
written is a whole recording, and `kept` is told.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from armwright.errors import ArmwrightError
from armwright.recording.formats.csv_format import meta_file
from armwright.studio.recordings_folder import locked

if TYPE_CHECKING:
    from pathlib import Path

FLUSH_SECONDS = 0.5  # [s] for which a row waits at most

Row = TypeVar("Row")


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


class QueuedRecording(ABC, Generic[Row]):
    """One recording under way. `give` and `end` belong to whoever has the rows.

    Attributes:
        file: where the rows go. done: has the `KeptRecording` when the file is closed. broken: no more can be written.
    """

    def __init__(self, file: Path, kept: Callable[[KeptRecording], None]) -> None:
        """Begin to write; `kept` is told at the end, in the recording's own thread."""
        self.file, self._kept = file, kept
        self.done: Future[KeptRecording] = Future()
        self.broken = False
        self._given: queue.SimpleQueue[Row | str] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="studio recording", daemon=True).start()

    @property
    @abstractmethod
    def full(self) -> bool:
        """Return whether the longest recording is reached."""

    def give(self, row: Row) -> None:
        """Hand over a row."""
        self._given.put(row)

    def end(self, reason: str) -> None:
        """Take no more rows, write what there is, and close the file; does not wait for it."""
        self._given.put(reason)

    @abstractmethod
    def put(self, row: Row) -> None:
        """Write a row."""

    @abstractmethod
    def flush(self) -> None:
        """Hand what was written to the system."""

    @abstractmethod
    def finish(self, outcome: str) -> None:
        """Close the file."""

    @abstractmethod
    def length(self) -> tuple[int, float]:
        """Return rows that are safely in the file, and their duration [s]."""

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
                            self.put(given)
                    if time.monotonic() - flushed >= FLUSH_SECONDS:
                        self.flush()
                        flushed = time.monotonic()
                self.finish(f"recorded in the studio; {reason}")
        except ArmwrightError as wrong:
            error = str(wrong)
        except Exception as wrong:  # noqa: BLE001 - a thread has no caller; the pages are told
            error = f"a defect of this program: {wrong!r:.200}"
        self.broken = True
        rows, seconds = self.length()
        if not rows:
            self._unlink()
        kept = KeptRecording(self.file, rows, seconds, reason or "it could not be written", error)
        try:
            self._kept(kept)
        finally:
            self.done.set_result(kept)

    def _unlink(self) -> None:
        """Leave nothing of a recording without rows."""
        with contextlib.suppress(OSError):
            for left in (self.file, meta_file(self.file)):
                left.unlink(missing_ok=True)
