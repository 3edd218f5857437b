# SPDX-License-Identifier: Apache-2.0
"""What the live arm keeps when it is told to record: rows at 100 Hz, ten minutes at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.recording.recording import Recording
from armwright.recording.signals import Signal

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.studio.plant import Plant

EVERY = 5  # ticks
MOST = 60_000  # rows


class Rows:
    """Rows of a running arm."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self._tick = robot, 0
        self._kept: list[tuple[np.ndarray, ...]] = []

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, plant: Plant) -> None:
        """Keep the present, every `EVERY`-th time."""
        self._tick += 1
        if self._tick % EVERY or len(self._kept) >= MOST:
            return
        live, truth = plant.live, plant.truth()
        row = ([live.time], live.q, live.qd, live.tau, live.outputs["tau_ext"], truth.torque, truth.force)
        self._kept.append(tuple(np.array(part) for part in row))

    def recording(self, plant: Plant) -> Recording:
        """Everything that was kept."""
        n = self.robot.n
        widths = (1, n, n, n, n, n, 3)
        if self._kept:
            columns = [np.array([row[k] for row in self._kept]) for k in range(7)]
        else:
            columns = [np.zeros((0, width)) for width in widths]
        units = {"q": "rad", "qd": "rad/s", "tau": "N m", "tau_ext": "N m", "tau_ext_true": "N m", "push": "N"}
        signals = {name: Signal(values, unit) for (name, unit), values in zip(units.items(), columns[1:], strict=True)}
        settings = {"law": plant.choice.law, "knows": plant.choice.knows}
        return Recording(columns[0][:, 0], signals, self.robot, settings, outcome="recorded in the studio")
