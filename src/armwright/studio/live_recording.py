# SPDX-License-Identifier: Apache-2.0
"""`LiveRecording`: rows of the running arm, 100 a second, on their way to a file as they come.

It ends when it is stopped, with another law or arm, after ten minutes, on a full disk, with the studio.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.recording.signals import Signal
from armwright.recording.writer import RecordingWriter
from armwright.studio.pulled_arm import PULL_RATE
from armwright.studio.queued_recording import KeptRecording, QueuedRecording
from armwright.studio.recordings_folder import new_name

if TYPE_CHECKING:
    from armwright.studio.pulled_arm import PulledArm

RECORDED_TICKS = 5  # ticks
MOST_LIVE_ROWS = 60_000  # rows: ten minutes
UNITS = {"q": "rad", "qd": "rad/s", "tau": "N m", "tau_ext": "N m", "tau_ext_true": "N m", "push": "N"}

LiveRow = tuple[float, dict[str, np.ndarray]]


class LiveRecording(QueuedRecording[LiveRow]):
    """One recording under way. `add` and `end` belong to the simulation.

    Attributes:
        plant: the arm.
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
        self.plant = plant
        n = plant.robot.n
        widths = dict.fromkeys(UNITS, n) | {"push": 3}
        signals = {name: Signal(np.empty((0, widths[name])), unit) for name, unit in UNITS.items()}
        settings = {"law": plant.choice.law, "knows": plant.choice.knows}
        file = new_name(folder, plant.robot.name)
        self._writer = RecordingWriter(file, signals, robot=plant.robot, settings=settings)
        self._tick = self._rows = 0
        super().__init__(file, kept)

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
        self.give((self._tick / PULL_RATE, row))
        self._rows += 1

    def put(self, row: LiveRow) -> None:
        """See `QueuedRecording`."""
        self._writer.append(*row)

    def flush(self) -> None:
        """See `QueuedRecording`."""
        self._writer.flush()

    def finish(self, outcome: str) -> None:
        """See `QueuedRecording`."""
        self._writer.close(outcome)

    def length(self) -> tuple[int, float]:
        """See `QueuedRecording`."""
        rows = self._writer.samples
        return rows, max(0, rows - 1) * RECORDED_TICKS / PULL_RATE
