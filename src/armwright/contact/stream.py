# SPDX-License-Identifier: Apache-2.0
"""Monitors beside a live arm: samples in as they come, outputs out, the same numbers as `run_monitors` bit for bit."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.monitor import Monitor, as_chain
from armwright.contact.offline import monitor_plan
from armwright.control.tick_function import initial_memory
from armwright.errors import InputError
from armwright.graph.loop import Loop

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array


class MonitorStream:
    """Monitors with their memory, ready for the next samples."""

    def __init__(
        self, monitors: Monitor | Sequence[Monitor], robot: Robot, dt: float, *, keep: Sequence[str] | None = None
    ) -> None:
        """Compile the monitors for samples that are `dt` [s] apart; `keep` names the outputs to return."""
        if not (np.isfinite(dt) and dt > 0.0):
            raise InputError(f"monitor stream: dt must be > 0, got {dt}")
        chain = as_chain(monitors)
        wanted = {label for monitor in chain for label in inspect.signature(monitor.function).parameters}
        if wanted & {"q_ref", "qd_ref", "qdd_ref"}:
            raise InputError("monitor stream: monitors that read a reference are not streamed")
        self._lanes = tuple(label for label in ("q", "qd", "tau") if label in wanted)
        kept = None if keep is None else tuple(keep)
        self._names, self._shapes, plan = monitor_plan(chain, robot, dt, (), self._lanes, kept)
        self._loop = Loop(plan, 1)
        self._n = robot.n
        self._chain = chain
        self.reset()

    def reset(self) -> None:
        """Forget everything: for samples that do not follow those before them."""
        for k, monitor in enumerate(self._chain):
            for label, value in initial_memory(monitor, self._n).items():
                self._loop.set(f"memory_{k}_{label}", np.ravel(value))

    def push(self, t: Array, q: Array, qd: Array, tau: Array) -> dict[str, Array]:
        """Take the next samples, t (k,) and q, qd, tau (k, n); return the outputs (k, …) by name."""
        signals = {"q": q, "qd": qd, "tau": tau}
        for label, value in signals.items():
            if np.shape(value) != (len(t), self._n) or not np.isfinite(value).all():
                raise InputError(f"monitor stream: {label} must be ({len(t)}, {self._n}) and finite")
        if not len(t):
            return {name: np.zeros((0, *shape)) for name, shape in zip(self._names, self._shapes, strict=True)}
        table = np.concatenate([signals[label] for label in self._lanes], axis=1)[None] if self._lanes else None
        record = self._loop.run(len(t), shared=np.asarray(t, dtype=np.float64)[:, None], lanes=table)[0][0]
        out, column = {}, 0
        for name, shape in zip(self._names, self._shapes, strict=True):
            size = int(np.prod(shape, dtype=int))
            out[name] = record[:, column : column + size].reshape(len(t), *shape)
            column += size
        return out
