# SPDX-License-Identifier: Apache-2.0
"""Runs of a detection study, each judged by every observer and detector; a run's figures depend on its seed alone.

Observers and detectors are applied to the same measured signals afterwards. A detector's level, compared with a range
of scales, gives its whole curve from one pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.offline import run_monitors
from armwright.simulation.detection.runs import LANES, Batch, Bench

if TYPE_CHECKING:
    from armwright.contact.monitor import Monitor
    from armwright.motion import Trajectory
    from armwright.simulation.detection.contacts import Contact
    from armwright.types import Array


class Trial(NamedTuple):
    """One run: its number, which makes its seed; which move; whether something stands in its way."""

    item: int
    move: int
    touched: bool


class Verdicts(NamedTuple):
    """What became of B runs, for P pairs of observer and detector and S scales of their thresholds.

    Attributes:
        met: (B,) the contact came, and early enough that its horizon ended within the run.
        seconds: (B,) length of the run, of those without contact.
        until: (B, P, S) [s] of motion until the first alarm of a run without contact; the whole run if there was none.
        before, within: (B, P) highest level (1: the threshold) before the contact (in the whole run where none was
            planned), and from it until its horizon ended: an alarm before it, or in time, for every scale.
        delay: (B, P, S) [s] from touch to alarm; inf where it was missed, NaN after a false alarm and without contact.
        force: (B, P, S) [N] of the contact at the alarm, as `delay`.
    """

    met: Array
    seconds: Array
    until: Array
    before: Array
    within: Array
    delay: Array
    force: Array


@dataclass(frozen=True, eq=False)
class Trials:
    """Moves, arms and detectors of a study.

    Attributes:
        bench: arms and sensors. moves: what they follow. contact: what they meet.
        chains: observers by name. made: detectors by (observer, detector).
        scales: (S,) rising factors on thresholds. horizon: [s] within which a contact must be found.
        seed: of the study.
    """

    bench: Bench
    moves: Sequence[Trajectory]
    contact: Contact
    chains: Mapping[str, tuple[Monitor, ...]]
    made: Mapping[tuple[str, str], Monitor]
    scales: Array
    horizon: float
    seed: int

    def run(self, trials: Sequence[Trial]) -> Verdicts:
        """Run trials, in lanes of one move each, and judge them; in the order given."""
        groups: dict[tuple[int, bool], list[int]] = {}
        for k, trial in enumerate(trials):
            groups.setdefault((trial.move, trial.touched), []).append(k)
        shape = (len(trials), len(self.made))
        shapes = (shape[:1], shape[:1], (*shape, len(self.scales)), shape, shape, *[(*shape, len(self.scales))] * 2)
        out = Verdicts(*(np.full(size, np.nan) for size in shapes))
        for (move, touched), members in groups.items():
            for first in range(0, len(members), LANES):
                rows = members[first : first + LANES]
                seeds = [np.random.SeedSequence(self.seed, spawn_key=(trials[k].item,)) for k in rows]
                seeds *= 2 if len(rows) == 1 else 1  # a lane alone is compiled as scalars, which round differently
                batch = self.bench.run(self.moves[move], seeds, self.contact if touched else None, self.horizon)
                for whole, part in zip(out, self._judged(batch, touched), strict=True):
                    whole[rows] = part[: len(rows)]
        return out._replace(met=out.met == 1.0)

    def _judged(self, batch: Batch, touched: bool) -> Verdicts:
        chain: list[Monitor] = []
        for observer, monitors in self.chains.items():
            # every detector reads the tau_ext of the observer that comes last before it
            chain += [replace(monitor, name=f"{observer}: {monitor.name}") for monitor in monitors]
            chain += [replace(self.made[o, d], name=f"{o}/{d}") for o, d in self.made if o == observer]
        keep = ["level"] if len(self.made) == 1 else [f"{o}/{d}.level" for o, d in self.made]
        robot, time = self.bench.robot, batch.time
        out = run_monitors(chain, robot, time, batch.q, batch.qd, batch.tau, batch.ref, keep=keep)
        level = np.stack([out[name] for name in keep], axis=1)  # (B, P, T)
        highest = np.maximum.accumulate(level, axis=2)
        first = np.array([[np.searchsorted(row, self.scales) for row in run] for run in highest])  # level ≥ scale
        runs, ticks, dt = len(batch.q), len(time), float(time[1] - time[0])
        at = np.minimum(first, ticks - 1)
        nothing = np.full(level.shape[:2], np.nan)
        if not touched:
            none = np.full(first.shape, np.nan)
            seconds = np.full(runs, ticks * dt)
            return Verdicts(np.zeros(runs), seconds, (at + 1) * dt, highest[..., -1], nothing, none, none)
        late = time - batch.touched[:, None]  # (B, T)
        met = np.isfinite(batch.touched) & (batch.touched + self.horizon <= time[-1])
        delay = np.where(first < ticks, late[np.arange(runs)[:, None, None], at], np.inf)
        judged = np.where(delay < 0.0, np.nan, np.where(delay <= self.horizon, delay, np.inf))
        judged = np.where(met[:, None, None], judged, np.nan)
        force = np.where(np.isfinite(judged), batch.force[np.arange(runs)[:, None, None], at], judged)
        inside = (late >= 0.0) & (late <= self.horizon)
        before = np.where((late < 0.0)[:, None], level, 0.0).max(axis=2)
        within = np.where(inside[:, None], level, 0.0).max(axis=2)
        good = np.where(met[:, None], 1.0, np.nan)
        hidden = np.full(first.shape, np.nan)
        return Verdicts(met.astype(float), np.full(runs, np.nan), hidden, before * good, within * good, judged, force)
