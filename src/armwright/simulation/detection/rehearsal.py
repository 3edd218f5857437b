# SPDX-License-Identifier: Apache-2.0
"""Thresholds for a detection study, learned without contact, in memory that does not grow with the number of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors import ThresholdFit, TwoSpeed
from armwright.contact.detectors.gathered import Runs, appended, merged
from armwright.contact.detectors.learning import MOTIONS, RATE, felt_runs, thresholds_from
from armwright.contact.detectors.two_speed_learning import TwoSpeedFit, channel_runs, two_speed_from
from armwright.contact.offline import run_monitors
from armwright.simulation.detection.runs import LANES, Bench

if TYPE_CHECKING:
    from armwright.contact.monitor import Monitor
    from armwright.motion import Trajectory

LEARNING = 1  # in the seeds of learning runs, beside their number: no item of a study has two numbers in its seed
KEPT = 256
"""Runs of each motion where there are fewer than four of them. Every run is then a piece of evidence of its own and has
to be kept; more of them say nothing about other motions."""


@dataclass(frozen=True, eq=False)
class Learned:
    """Thresholds by observer, two-speed thresholds by (observer, detector); from how many runs they were learned."""

    fits: Mapping[str, ThresholdFit]
    two_speed: Mapping[tuple[str, str], TwoSpeedFit]
    runs: int


def rehearse(
    bench: Bench,
    trajectories: Sequence[Trajectory],
    chains: Mapping[str, tuple[Monitor, ...]],
    kinds: Mapping[str, TwoSpeed],
    *,
    runs: int,
    seed: int,
    false_alarms: float = RATE,
    margin: float | None = None,
    progress: Callable[[float], Any] | None = None,
) -> Learned:
    """Run arms without contact and learn the thresholds of every observer.

    Args:
        bench: the arms; without payload and drift (`Spread.rehearsal`).
        trajectories: to rehearse; run k follows number k modulo their count.
        chains: observers by name.
        kinds: two-speed detectors by name.
        runs: how many; at least two per trajectory, at most `KEPT` of each where there are fewer than four.
        seed: run k has the seed (seed, LEARNING, k).
        false_alarms: that the thresholds are for [1/h].
        margin: see `learn_thresholds`.
        progress: called with the fraction done.
    """
    m, dt = len(trajectories), 1.0 / bench.rate
    total = max(runs, 2 * m) if m >= MOTIONS else min(max(runs, 2 * m), KEPT * m)
    gather = merged if m >= MOTIONS else appended
    refs, felt = [], {name: list[Runs]() for name in chains}
    channels = {(o, d): list[tuple[Runs, Runs]]() for o in chains for d in kinds}
    for i, trajectory in enumerate(trajectories):
        numbers = range(i, total, m)
        quiet: dict[str, Runs] = {}
        pair: dict[tuple[str, str], tuple[Runs, Runs]] = {}
        ref: Any = None
        for first in range(0, len(numbers), LANES):
            seeds = [np.random.SeedSequence(seed, spawn_key=(LEARNING, k)) for k in numbers[first : first + LANES]]
            b = bench.run(trajectory, seeds, None, 0.0)
            ref = b.ref
            for o, chain in chains.items():
                said = run_monitors(chain, bench.robot, b.time, b.q, b.qd, b.tau, ref, keep=("tau_ext",))["tau_ext"]
                quiet[o] = gather(quiet.get(o), felt_runs(said, ref, bench.robot))
                for d, kind in kinds.items():
                    new, old = channel_runs(said, ref, dt, bench.robot, kind), pair.get((o, d), (None, None))
                    pair[o, d] = gather(old[0], new[0]), gather(old[1], new[1])
        refs.append(ref)
        for o in chains:
            felt[o].append(quiet[o])
        for key, both in pair.items():
            channels[key].append(both)
        if progress is not None:
            progress((i + 1) / m)
    fits = {o: thresholds_from(parts, refs, dt, rate=false_alarms, margin=margin) for o, parts in felt.items()}
    two = {
        (o, d): two_speed_from(parts, refs, dt, kind=kinds[d], rate=false_alarms) for (o, d), parts in channels.items()
    }
    return Learned(fits, two, total)
