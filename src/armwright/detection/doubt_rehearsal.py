# SPDX-License-Identifier: Apache-2.0
"""A doubting arm in a detection study: what it learns on chains of moves, and what it says of runs.

It rehearses with arms that carry loads and lack friction at once (`DOUBTED`): thresholds that were learned without hold
for neither. What is judged are new arms on new chains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.contact.detectors.threshold_learning import DEFAULT_FALSE_ALARMS, Runs, merged
from armwright.contact.detectors.two_speed import two_speed_from
from armwright.contact.doubt.doubt_filter import STARVED, DoubtFilter, Unspanned
from armwright.contact.doubt.doubt_learning import (
    READY,
    SLOW_SHARE,
    DoubtFit,
    doubted_runs,
    learned_unspanned,
    window_limits,
)
from armwright.contact.doubt.doubt_watch import DoubtWatch, Watched, residual_with, sample_ticks
from armwright.contact.doubt.doubting_detector import IMPACTS
from armwright.contact.doubt.model_errors import Doubts
from armwright.detection.study_runs import RUNS_AT_ONCE, Batch, StudyBench
from armwright.detection.threshold_rehearsal import LEARNING
from armwright.detection.varied_arms import Spread
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.motion import Trajectory
    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.types import Array

DOUBTED: dict[str, Any] = {"payload": (0.0, 3.0), "missing_coulomb": (0.0, 5.0), "drift": (1.0, 1.4)}
"""What arms of a rehearsal have that their model lacks, all of it at once: load [kg], Coulomb friction [N m], a factor
on friction."""
STUDY_DOUBTS = Doubts(load=2.0, lever=0.08, centre=0.006, dry=0.05, wet=0.02)
"""How wrong the arms of a study may be before anything was seen: loads up to 3 kg near the tool, centres of mass 1 cm
off, and half of what an arm in the field may have in friction that its model lacks, some 5 N m at a shoulder."""
WORLDS: dict[str, dict[str, Any]] = {
    "spread": {},
    "load": {"payload": DOUBTED["payload"]},
    "coulomb": {"missing_coulomb": DOUBTED["missing_coulomb"]},
    "both": {"payload": DOUBTED["payload"], "missing_coulomb": DOUBTED["missing_coulomb"]},
    "friction": {"drift": DOUBTED["drift"]},
}
"""Name → what the arms of a study have besides that their model does not know; nothing in "spread"."""
FIRST_CHAINS = 4
"""Chains from which the errors that the columns do not span are learned."""


def doubted(spread: Spread) -> Spread:
    """Return the arms of a doubting arm's rehearsal: as they are, with loads and missing friction besides."""
    return spread._replace(drift_time=0.0, **DOUBTED)


class Judged(NamedTuple):
    """What a doubting arm said of B runs of T ticks.

    Attributes:
        level: (B, T), 1 at the threshold. load: (B, S, 2) mass and its standard deviation [kg]. sample: [s].
    """

    level: Array
    load: Array
    sample: float

    def load_at(self, seconds: float) -> Array:
        """Return mass and deviation (B, 2) at a time, or at the end of shorter runs."""
        last = self.load.shape[1]
        return np.asarray(self.load[:, max(1, round(min(seconds / self.sample, last))) - 1])


@dataclass(frozen=True, eq=False)
class DoubtJudge:
    """Judges runs of one arm with thresholds that were learned.

    Attributes:
        robot: the model. rate: ticks per second. fit: what was learned.
    """

    robot: Robot
    rate: float
    fit: DoubtFit

    def judged(self, batch: Batch) -> Judged:
        """Watch a batch from its beginning."""
        seen = _watched(self.robot, self.rate, batch, self.fit.gain, self.fit.unspanned, self.fit)
        level = np.zeros(batch.q.shape[:2])
        level[:, : seen.level.shape[1]] = seen.level
        level[:, seen.level.shape[1] :] = seen.level[:, -1:]  # less than a sample
        return Judged(level, seen.load, sample_ticks(1.0 / self.rate) / self.rate)


def study_filter(robot: Robot, count: int, unspanned: Unspanned | None, sample: float) -> DoubtFilter:
    """Return the filter of a study's arms; an alarm that never ends does not stop it from learning."""
    return DoubtFilter(robot, count, unspanned=unspanned, doubts=STUDY_DOUBTS, sample=sample, patience=STARVED)


def _left(robot: Robot, rate: float, batch: Batch, gain: float) -> tuple[Array, Array]:
    """Return what the last estimate of every run leaves, means over samples (B, S, n), and how joints stood."""
    dt, ticks = 1.0 / rate, sample_ticks(1.0 / rate)
    doubt = DoubtFilter(robot, len(batch.q), doubts=STUDY_DOUBTS, sample=ticks * dt)
    still = DoubtWatch(doubt, dt, gain).run(batch.time, batch.q, batch.qd, batch.tau, None).still
    e = residual_with(robot, doubt.theta, dt, gain, batch.time, batch.q, batch.qd, batch.tau)
    count = still.shape[1]
    means = e[:, : count * ticks].reshape(len(e), count, ticks, robot.n).mean(axis=2)
    begun = int(1.0 / (ticks * dt))  # the observer's own start is over
    return means[:, begun:], still[:, begun:]


def _watched(
    robot: Robot, rate: float, batch: Batch, gain: float, unspanned: Unspanned | None, fit: DoubtFit | None
) -> Watched:
    dt = 1.0 / rate
    sample = sample_ticks(dt) * dt
    doubt = study_filter(robot, len(batch.q), unspanned, sample)
    found = DoubtWatch(doubt, dt, gain, fit.detector() if fit else None, fit.limits if fit else None, READY)
    return found.run(batch.time, batch.q, batch.qd, batch.tau, batch.ref if fit else None)


def rehearse_doubt(
    bench: StudyBench,
    chains: Sequence[Trajectory],
    gain: float,
    *,
    runs: int,
    seed: int,
    false_alarms: float = DEFAULT_FALSE_ALARMS,
    ready: float = READY,
    progress: Callable[[float], Any] | None = None,
) -> DoubtFit:
    """Run arms along chains of moves without contact, and learn what a doubting arm needs.

    Args:
        bench: the arms, with loads and missing friction (`doubted`).
        chains: motions that last longer than `ready`.
        gain: of the momentum observer [1/s].
        runs: number of runs, at least two per chain, at most `RUNS_AT_ONCE` of each.
        seed: run k has the seed (seed, LEARNING, k).
        false_alarms: that the thresholds are for [1/h].
        ready: time [s] before which nothing counts.
        progress: called with the fraction done.
    """
    if len(chains) < FIRST_CHAINS or min(chain.duration for chain in chains) <= ready + 1.0:
        raise InputError(f"rehearse doubt: need {FIRST_CHAINS} chains or more, each longer than {ready + 1.0:g} s")
    robot, dt = bench.robot, 1.0 / bench.rate
    each = min(max(2, -(-runs // len(chains))), RUNS_AT_ONCE)
    ticks = sample_ticks(dt)
    first = int(np.ceil(ready / (ticks * dt)))

    def batch(number: int) -> Batch:
        keys = range(number * each, (number + 1) * each)
        seeds = [np.random.SeedSequence(seed, spawn_key=(LEARNING, k)) for k in keys]
        return bench.run(chains[number], seeds, None, 0.0)

    parts = [_left(robot, bench.rate, batch(k), gain) for k in range(FIRST_CHAINS)]
    unspanned = learned_unspanned([p[0] for p in parts], [p[1] for p in parts], ticks * dt)
    excess: list[Array] = []
    felt: list[tuple[Runs, Runs]] = []
    refs: list[Reference] = []
    hours = 0.0
    for number in range(len(chains)):
        b = batch(number)
        found = _watched(robot, bench.rate, b, gain, unspanned, None)
        excess.append(found.excess[:, first:])
        length = found.tau_ext.shape[1]
        ref = type(b.ref)(*(part[:length] for part in b.ref))
        unsure = np.repeat(found.unsure, ticks, axis=1)
        pair = doubted_runs(found.felt(), unsure, ref, dt, robot, first * ticks)
        felt.append((merged(None, pair[0]), merged(None, pair[1])))
        refs.append(type(b.ref)(*(part[first * ticks :] for part in ref)))
        hours += each * (length - first * ticks) * dt / 3600.0
        if progress is not None:
            progress((number + 1) / len(chains))
    limits = window_limits(excess, ticks * dt, rate=SLOW_SHARE * false_alarms)
    two = two_speed_from(felt, refs, dt, kind=IMPACTS, rate=(1.0 - SLOW_SHARE) * false_alarms)
    return DoubtFit(unspanned, limits, two.quick.coefficients, two.slowly.coefficients, gain, false_alarms, hours)
