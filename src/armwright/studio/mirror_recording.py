# SPDX-License-Identifier: Apache-2.0
"""`MirrorRecording`: a robot on the wire, every sample with what was felt by then, on its way to a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.live.heard_rows import HeardRows, felt_row
from armwright.studio.queued_recording import KeptRecording, QueuedRecording
from armwright.studio.recordings_folder import new_name

if TYPE_CHECKING:
    from armwright.identify.feeling import FeltTick
    from armwright.live.wire_ear import HeardSample
    from armwright.robot.model import Robot
    from armwright.types import Array

MOST_MIRROR_ROWS = 300_000  # rows: ten minutes at 500 Hz
HeardRow = tuple["HeardSample", "Array"]


class MirrorRecording(QueuedRecording[HeardRow]):
    """One recording under way; `armwright feel` reads it as a log."""

    def __init__(
        self, folder: Path, robot: Robot, facts: dict[str, Any], kept: Callable[[KeptRecording], None]
    ) -> None:
        """Create the file in a folder; facts are of the wire."""
        file = new_name(folder, robot.name)
        self._rows = HeardRows(file, robot, facts)
        self._happened: list[tuple[float, str, dict[str, Any]]] = []
        self._count, self._time = 0, 0.0
        super().__init__(file, kept)

    @property
    def full(self) -> bool:
        """See `QueuedRecording`."""
        return self._count >= MOST_MIRROR_ROWS

    def add(self, sample: HeardSample, felt: FeltTick | None) -> None:
        """Keep a sample, and the newest tick."""
        if not (self.broken or self.full):
            self.give((sample, felt_row(felt)))
            self._count += 1

    def happened(self, name: str, detail: dict[str, Any]) -> None:
        """Note that something has happened."""
        self._happened.append((self._time, name, detail))

    def put(self, row: HeardRow) -> None:
        """See `QueuedRecording`."""
        self._time = self._rows.add(*row)

    def flush(self) -> None:
        """See `QueuedRecording`."""
        self._rows.flush()

    def finish(self, outcome: str) -> None:
        """See `QueuedRecording`."""
        self._rows.close(outcome, self._happened)

    def length(self) -> tuple[int, float]:
        """See `QueuedRecording`."""
        return self._rows.count, self._rows.duration
