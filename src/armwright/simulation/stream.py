# SPDX-License-Identifier: Apache-2.0
"""A run on its way to a file: every stretch of rows is written when it is done, and may be forgotten then."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ArmwrightError, InputError, SimulationError
from armwright.recording.interrupts import Uninterrupted
from armwright.recording.signals import Event
from armwright.recording.writer import RecordingWriter
from armwright.simulation.rows_to_recording import closing, settings_of, signals_of

if TYPE_CHECKING:
    from armwright.simulation.running_loop import RunningLoop
    from armwright.types import Array


class Stream:
    """Writes what a session records while it runs; whatever ends the run, the file opens up to the last stretch.

    Attributes:
        path: the file. forgetful: whether old rows leave the memory once they are written.
    """

    def __init__(self, running: RunningLoop, path: str | Path, settings: Mapping[str, Any], keep: float | None) -> None:
        """Create the file (.mcap, .parquet or .csv); `keep` seconds stay in memory, None keeps all."""
        if running.batch:
            raise InputError(
                f"save: {running.count} simulations do not fit into one file; save them one by one, "
                "runs[k].save(path), or run them singly"
            )
        if keep is not None and not (np.isfinite(keep) and keep >= 0.0):
            raise InputError(f"keep: expected seconds ≥ 0, or None to keep all, got {keep}")
        self.running, self.path, self.keep = running, Path(path), keep
        self._taken = running.log.count
        plan = running.loop.plan
        nothing = np.zeros((1, 0, len(plan.record_slots))), np.zeros((0, len(plan.shared_slots)))
        self._writer = RecordingWriter(
            path,
            signals_of(running, *nothing),
            robot=running.robot,
            settings=settings_of(running, settings),
            seed=running.seeds[0],
        )

    @property
    def forgetful(self) -> bool:
        """Whether old rows leave the memory once they are written."""
        return self.keep is not None

    @property
    def samples(self) -> int:
        """Samples that are safely in the file."""
        return self._writer.samples

    def take(self) -> None:
        """Write the rows that are new.

        Raises:
            SimulationError: the disk is full, or another failure; the message says how much the file holds.
        """
        log = self.running.log
        with Uninterrupted():  # what is in the file, and what is noted as being there, never differ
            if log.count == self._taken or not self._writer.open:
                return
            self._append(log.rows(self._taken), log.given(self._taken))
            self._taken = log.count
            if self.keep is not None:
                log.forget(log.count - 1 - int(self.keep / (self.running.parts.period * self.running.every)))

    def close(self, outcome: str) -> None:
        """Write what remains, the row of the present moment, the events and the outcome; safe to call twice."""
        with Uninterrupted():
            if not self._writer.open:
                return
            self.take()
            end = closing(self.running)
            if end is not None:
                self._append(*end)
            try:
                self._writer.close(outcome, [Event(t, name) for t, name in self.running.happened])
            except ArmwrightError as error:
                raise SimulationError(str(error)) from error

    def _append(self, rows: Array, given: Array) -> None:
        signals = signals_of(self.running, rows, given)
        try:
            self._writer.append(given[:, 0], {name: signal.values for name, signal in signals.items()})
            self._writer.flush()
        except ArmwrightError as error:
            raise SimulationError(str(error)) from error
