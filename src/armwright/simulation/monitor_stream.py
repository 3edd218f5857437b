# SPDX-License-Identifier: Apache-2.0
"""`MonitorStream`: monitors next to a live arm, with the numbers of `run_monitors` bit for bit.

Samples come from a wire: they are judged by `SampleOrder` first, in its words, and nothing that a wire does is an
error. Missing samples are filled in along a straight line, after a restart the monitors begin anew, and where a sample
is left out (repeated, old, not finite) the last outputs stand.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.monitor import Monitor, as_chain
from armwright.contact.monitor_run import REFERENCES, monitor_plan
from armwright.control.tick_function import initial_memory
from armwright.errors import InputError
from armwright.graph.loop import Stepper
from armwright.recording.sample_order import FOLLOWS, SampleOrder, Standing

if TYPE_CHECKING:
    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.types import Array


class MonitorStream:
    """Monitors with their memory, ready for the next samples.

    Attributes:
        signals: what a row of numbers holds, n of each: q, qd, tau, q_ref, qd_ref, qdd_ref, as far as they are read.
        places: of the outputs in a record, flat.
        order: judges the samples; its `counts` say how many were lost, repeated, …
        said: the word for every sample of the last `push`.
    """

    def __init__(
        self, monitors: Monitor | Sequence[Monitor], robot: Robot, dt: float, *, keep: Sequence[str] | None = None
    ) -> None:
        """Compile the monitors for samples that are `dt` [s] apart; `keep` names the outputs to return."""
        if not (np.isfinite(dt) and dt > 0.0):
            raise InputError(f"monitor stream: dt must be > 0, got {dt}")
        chain = as_chain(monitors)
        wanted = {label for monitor in chain for label in inspect.signature(monitor.function).parameters}
        self.signals = tuple(label for label in ("q", "qd", "tau", *REFERENCES) if label in wanted)
        kept = None if keep is None else tuple(keep)
        names, shapes, plan = monitor_plan(chain, robot, dt, self.signals, (), kept)
        # wires bring numbers that no arm can have: what they leave behind must not stay
        self._stepper = Stepper(
            replace(plan, state=(*plan.record, *(s for s in plan.slots if s.startswith("memory_"))))
        )
        self._places, at = dict[str, tuple[slice, tuple[int, ...]]](), 0
        for name, shape in zip(names, shapes, strict=True):
            size = int(np.prod(shape, dtype=int))
            self._places[name] = slice(at, at + size), shape
            at += size
        self.places = {name: place for name, (place, _) in self._places.items()}
        self._n = robot.n
        self._first = [
            (self._stepper.slot(f"memory_{k}_{label}"), np.ravel(value))
            for k, monitor in enumerate(chain)
            for label, value in initial_memory(monitor, robot.n).items()
        ]
        self.order = SampleOrder(dt)
        self.said: list[Standing] = []
        self._row: Array | None = None  # of the last sample that was used, its stamp first
        self.reset()

    def reset(self) -> None:
        """Forget everything: for samples that do not follow those before them."""
        for slot, value in self._first:
            slot[...] = value

    def push(self, t: Array, q: Array, qd: Array, tau: Array, ref: Reference | None = None) -> dict[str, Array]:
        """Take the next samples; return the outputs (k, …) by name.

        Args:
            t: (k,) stamps [s].
            q: (k, n) measured positions.
            qd: (k, n) speeds.
            tau: (k, n) torques.
            ref: desired motion, each part (k, n), for monitors that read it.
        """
        given = {"q": q, "qd": qd, "tau": tau, **dict(zip(REFERENCES, ref or (), strict=False))}
        parts = [np.asarray(t, dtype=np.float64).reshape(-1, 1)]
        for label in self.signals:
            if label not in given:
                raise InputError(f"monitor stream: {label} is read; give ref=Reference(q, qd, qdd)")
            part = np.asarray(given[label], dtype=np.float64)
            if part.shape != (len(parts[0]), self._n):
                raise InputError(f"monitor stream: {label} must be ({len(parts[0])}, {self._n}), got {part.shape}")
            parts.append(part)
        rows = np.concatenate(parts, axis=1)
        finite = [bool(np.isfinite(row).all()) for row in rows]
        self.said, missing = [], []
        for stamp, good in zip(rows[:, 0].tolist(), finite, strict=True):
            self.said.append(self.order.judge(stamp, finite=good))
            missing.append(self.order.missing)
        if set(self.said) <= {"start", "cycle"}:
            if len(rows):
                self._row = rows[-1]
            return self.outputs(self.ticks(rows))
        records = [self._judged(*one) for one in zip(rows, self.said, missing, strict=True)]
        return self.outputs(np.array(records))

    def _judged(self, row: Array, word: Standing, missing: int) -> Array:
        if word not in FOLLOWS:
            return self._stepper.record.copy()
        if word == "restart":
            self.reset()
        before, self._row = self._row, row
        if word == "lost" and before is not None:
            for k in range(1, missing + 1):
                self.tick(before + (row - before) * (k / (missing + 1)))
        return self.tick(row)

    def tick(self, row: Array) -> Array:
        """Run one tick, unjudged: stamp and `signals` as one row; return its record.

        What makes a memory infinite makes the monitors begin anew: the sample cannot have been true.
        """
        self._stepper.shared[...] = row
        if not self._stepper.step():
            self.reset()
            self._stepper.record[...] = 0.0
        return self._stepper.record.copy()

    def ticks(self, rows: Array) -> Array:
        """Run many ticks, unjudged: rows (k, columns) as of `tick`; return their records (k, …)."""
        done = self._stepper.run(rows)
        parts = [done]
        while (at := sum(map(len, parts))) < len(rows):
            self.reset()
            self._stepper.record[...] = 0.0
            parts += [self._stepper.record[None].copy(), self._stepper.run(rows[at + 1 :])]
        return np.concatenate(parts) if len(parts) > 1 else done

    def outputs(self, record: Array) -> dict[str, Array]:
        """Return the outputs by name of a record (…, columns)."""
        lead = record.shape[:-1]
        return {name: record[..., place].reshape(*lead, *shape) for name, (place, shape) in self._places.items()}
