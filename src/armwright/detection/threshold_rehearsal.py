# SPDX-License-Identifier: Apache-2.0
"""Thresholds for a detection study, learned without contact, in memory that does not grow with the number of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors import ThresholdFit, TwoSpeed
from armwright.contact.detectors.threshold_learning import (
    DEFAULT_FALSE_ALARMS,
    MOTIONS_TO_SPLIT,
    Runs,
    appended,
    felt_runs,
    merged,
    thresholds_from,
)
from armwright.contact.detectors.two_speed import TwoSpeedFit, channel_runs, two_speed_from
from armwright.contact.monitor_run import run_monitors
from armwright.detection.study_runs import RUNS_AT_ONCE, StudyBench

if TYPE_CHECKING:
    from armwright.contact.monitor import Monitor
    from armwright.motion import Trajectory
    from armwright.motion.trajectory import Reference

LEARNING = 1  # in the seeds of learning runs, with their number: no item of a study has two numbers in its seed
KEPT_RUNS = 256
"""Runs of each motion where there are fewer than four motions. Every run is then a piece of evidence of its own and has
to be kept; more of them say nothing about other motions."""


@dataclass(frozen=True, eq=False)
class Learned:
    """Thresholds by observer, two-speed thresholds by (observer, detector); from how many runs they were learned."""

    fits: Mapping[str, ThresholdFit]
    two_speed: Mapping[tuple[str, str], TwoSpeedFit]
    runs: int


def rehearse(
    bench: StudyBench,
    trajectories: Sequence[Trajectory],
    chains: Mapping[str, tuple[Monitor, ...]],
    kinds: Mapping[str, TwoSpeed],
    *,
    runs: int,
    seed: int,
    false_alarms: float = DEFAULT_FALSE_ALARMS,
    margin: float | None = None,
    progress: Callable[[float], Any] | None = None,
) -> Learned:
    """Run arms without contact and learn the thresholds of every observer.

    Args:
        bench: the arms; without payload and drift (`Spread.rehearsal`).
        trajectories: to rehearse; run k follows number k modulo their count.
        chains: observers by name.
        kinds: two-speed detectors by name.
        runs: how many; at least two per trajectory, at most `KEPT_RUNS` of each where there are fewer than four.
        seed: run k has the seed (seed, LEARNING, k).
        false_alarms: that the thresholds are for [1/h].
        margin: see `learn_thresholds`.
        progress: called with the fraction done.
    """
    m, dt = len(trajectories), 1.0 / bench.rate
    total = max(runs, 2 * m) if m >= MOTIONS_TO_SPLIT else min(max(runs, 2 * m), KEPT_RUNS * m)
    gather = merged if m >= MOTIONS_TO_SPLIT else appended
    refs = []
    felt: dict[tuple[str, str], list[Runs]] = {}
    for i, trajectory in enumerate(trajectories):
        numbers, gathered = range(i, total, m), dict[tuple[str, str], Runs]()
        for first in range(0, len(numbers), RUNS_AT_ONCE):
            seeds = [
                np.random.SeedSequence(seed, spawn_key=(LEARNING, k)) for k in numbers[first : first + RUNS_AT_ONCE]
            ]
            ref, said = _said(bench, trajectory, seeds, chains, kinds)
            gathered = {key: gather(gathered.get(key), runs) for key, runs in said.items()}
        refs.append(ref)
        for key, part in gathered.items():
            felt.setdefault(key, []).append(part)
        if progress is not None:
            progress((i + 1) / m)
    fits = {o: thresholds_from(felt[o, ""], refs, dt, rate=false_alarms, margin=margin) for o in chains}
    two = {}
    for o in chains:
        for d, kind in kinds.items():
            pairs = list(zip(felt[o, f"{d} quick"], felt[o, f"{d} slow"], strict=True))
            two[o, d] = two_speed_from(pairs, refs, dt, kind=kind, rate=false_alarms)
    return Learned(fits, two, total)


def _said(
    bench: StudyBench,
    trajectory: Trajectory,
    seeds: Sequence[np.random.SeedSequence],
    chains: Mapping[str, tuple[Monitor, ...]],
    kinds: Mapping[str, TwoSpeed],
) -> tuple[Reference, dict[tuple[str, str], Runs]]:
    """Run one batch; return its reference, and what every observer said, as it is ("") and through every channel."""
    b, robot = bench.run(trajectory, seeds, None, 0.0), bench.robot
    out: dict[tuple[str, str], Runs] = {}
    for o, chain in chains.items():
        said = run_monitors(chain, robot, b.time, b.q, b.qd, b.tau, b.ref, keep=("tau_ext",))["tau_ext"]
        out[o, ""] = felt_runs(said, b.ref, robot)
        for d, kind in kinds.items():
            out[o, f"{d} quick"], out[o, f"{d} slow"] = channel_runs(said, b.ref, 1.0 / bench.rate, robot, kind)
    return b.ref, out
