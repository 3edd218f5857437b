# SPDX-License-Identifier: Apache-2.0
"""`detection_study`: how often a detector raises false alarms, how many contacts it misses, and how long it takes.

It simulates thousands of runs of arms that differ from their model, seen through noisy sensors: some undisturbed, some
with a contact. Laws, observers and detectors may be any Python objects, so everything runs in this process, chunk by
chunk (`in_memory`). The campaign kind ``detection`` does the same for plain settings, on many processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.detectors import ThresholdFit, TwoSpeed, check_above_noise
from armwright.contact.detectors.threshold_learning import DEFAULT_FALSE_ALARMS
from armwright.contact.monitor import Monitor
from armwright.control.law import Law
from armwright.detection.detection_result import DetectionStudy, DetectorCurve
from armwright.detection.study_contacts import Contact, Wall, ur5_sensors
from armwright.detection.study_runs import StudyBench, Trial, Trials, Verdicts
from armwright.detection.threshold_rehearsal import rehearse
from armwright.detection.varied_arms import Spread
from armwright.errors import InputError
from armwright.motion import Trajectory
from armwright.simulation.sensors import JointSensors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

Part = TypeVar("Part")
RUNS_PER_CHUNK = 1000


def in_memory(
    rows: Callable[[int, int], Part],
    items: int,
    *,
    chunk: int = RUNS_PER_CHUNK,
    progress: Callable[[int, Part], Any] | None = None,
) -> tuple[list[Part], bool]:
    """Compute items in chunks; Ctrl-C stops it and keeps what was done.

    Args:
        rows: (first, last) → the results of the items first ≤ item < last.
        items: their number.
        chunk: number of items computed at once.
        progress: called after every chunk with the number of items done and the chunk's part.

    Returns:
        The parts in order, and whether it was interrupted.
    """
    parts: list[Part] = []
    try:
        for first in range(0, items, chunk):
            last = min(first + chunk, items)
            parts.append(rows(first, last))
            if progress is not None:
                progress(last, parts[-1])
    except KeyboardInterrupt:
        return parts, True
    return parts, False


SCALES = tuple(float(s) for s in np.geomspace(0.25, 4.0, 33))
Making = Monitor | TwoSpeed | Callable[[ThresholdFit], Monitor]


@names_culprit
def detection_study(
    robot: Robot,
    law: Law | Callable[..., Any],
    trajectories: Sequence[Trajectory],
    observers: Mapping[str, Monitor | Sequence[Monitor]],
    detectors: Mapping[str, Making],
    *,
    contact: Contact | None = None,
    runs: int = 2000,
    free_runs: int = 4000,
    learning_runs: int = 1000,
    learning_trajectories: Sequence[Trajectory] | None = None,
    spread: Spread | None = None,
    sensors: JointSensors | None = None,
    torque_noise: ArrayLike = 0.0,
    rate: float = 1000.0,
    substeps: int | None = None,
    horizon: float = 0.1,
    false_alarms: float = DEFAULT_FALSE_ALARMS,
    margin: float | None = None,
    scales: Sequence[float] = SCALES,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> DetectionStudy:
    """Simulate runs with and without contact and judge every observer with every detector on them.

    Args:
        robot: the model that law and observers use; the arms that are run differ from it by `spread`.
        law: control law.
        trajectories: one or more; the runs are shared out among them.
        observers: name → observer (or several monitors in order).
        detectors: name → detector, or a function of the thresholds learned for an observer (`ThresholdFit`) → detector,
            or `TwoSpeed()`, which learns thresholds of its own.
        contact: what is met: a `Wall` across the way by default, or a `StudyPush`.
        runs: number of runs with contact.
        free_runs: number of runs without contact, to count false alarms.
        learning_runs: number of runs without contact that thresholds are learned from; none of them is judged.
        learning_trajectories: of those runs; by default the same, for an arm that repeats its programme. Give
            others to see how thresholds carry over to moves that were never rehearsed.
        spread: errors of the model: 10 % of every mass, 20 % of every friction by default; also payload, drift and
            sticking, see `Spread`.
        sensors: `ur5_sensors` by default.
        torque_noise: standard deviation of the torque that observers are told, as motor currents have it [N m]; scalar
            or (n,).
        rate: control ticks per second.
        substeps: integrator steps per tick; as many as the stiffest arm needs by default.
        horizon: [s] after the touch within which a contact must be found.
        false_alarms: per hour that learned thresholds may cause with 95 % confidence, see `learn_thresholds` [1/h].
        margin: on learned thresholds, in place of the one that follows from `false_alarms`.
        scales: factors on the thresholds, rising.
        seed: of everything random; every run has a seed of its own, made of this one and its number.
        progress: called with the fraction done.

    Raises:
        InputError: among others, for a detector whose thresholds lie below the noise floor, before anything is run.

    Example:
        >>> p = preset("torque")
        >>> detection_study(robot, law, tool_moves(robot, 8), p.observers(), p.detectors(), rate=p.rate)
    """
    grid = np.asarray(scales, dtype=np.float64)
    if grid.ndim != 1 or len(grid) < 1 or grid.min() <= 0.0 or (np.diff(grid) <= 0.0).any():
        raise InputError("detection study: scales must be positive and rise")
    if not trajectories or not observers or not detectors or min(runs, free_runs) < 1 or learning_runs < 2:
        raise InputError(
            "detection study: need trajectories, observers, detectors, runs ≥ 1, free_runs ≥ 1, learning_runs ≥ 2"
        )
    if not (np.isfinite(horizon) and horizon > 0.0):
        raise InputError(f"detection study: horizon must be positive, got {horizon}")
    begin = time.perf_counter()
    kind = contact or Wall()
    arms, seen = spread or Spread(), sensors or ur5_sensors()
    bench = StudyBench(robot, law, seen, arms, rate, substeps, torque_noise)
    before = StudyBench(robot, law, seen, arms.rehearsal(), rate, substeps, torque_noise)
    chains = {name: (chain,) if isinstance(chain, Monitor) else tuple(chain) for name, chain in observers.items()}
    for detector in detectors.values():
        if isinstance(detector, Monitor):
            _check_noise(chains, detector, bench, trajectories)
    total = learning_runs + free_runs + runs

    def tell(done: float) -> None:
        if progress is not None:
            progress(done / total)

    learned = rehearse(
        before,
        learning_trajectories or trajectories,
        chains,
        {name: item for name, item in detectors.items() if isinstance(item, TwoSpeed)},
        runs=learning_runs,
        seed=seed,
        false_alarms=false_alarms,
        margin=margin,
        progress=lambda share: tell(share * learning_runs),
    )
    made: dict[tuple[str, str], Monitor] = {}
    for o in chains:
        for d, item in detectors.items():
            if isinstance(item, TwoSpeed):
                made[o, d] = learned.two_speed[o, d].detector()
            else:
                made[o, d] = item if isinstance(item, Monitor) else item(learned.fits[o])
            if not isinstance(item, Monitor):
                _check_noise({o: chains[o]}, made[o, d], bench, trajectories)
    trials = Trials(bench, trajectories, kind, chains, made, grid, horizon, seed)

    def trial(k: int) -> Trial:
        """Return one of the free runs, which come first; its seed depends on its own number alone."""
        touched = k >= free_runs
        k -= free_runs if touched else 0
        return Trial(2 * k if touched else 2 * k + 1, k % len(trajectories), touched)

    parts, interrupted = in_memory(
        lambda first, last: trials.run([trial(k) for k in range(first, last)]),
        free_runs + runs,
        chunk=RUNS_PER_CHUNK,
        progress=lambda done, _: tell(learning_runs + done),
    )
    settings = {
        "robot": robot.name,
        "law": bench.control.name,
        "contact": repr(kind),
        "runs": runs,
        "free_runs": free_runs,
        "learning_runs": learned.runs,
        "trajectories": len(trajectories),
        "rehearsed": learning_trajectories is None,
        "spread": bench.spread._asdict(),
        "torque_noise": np.asarray(torque_noise, dtype=np.float64).tolist(),
        "rate": rate,
        "substeps": bench.steps(kind),
        "horizon": horizon,
        "false_alarms": false_alarms,
        "margin": margin,
        "seed": seed,
    }
    if parts:
        found = Verdicts(*(np.concatenate([getattr(part, name) for part in parts]) for name in Verdicts._fields))
    else:
        found = trials.run([])
    curves = curves_of(found, grid, list(made), learned.fits)
    hours = float(np.nansum(found.seconds)) / 3600.0
    took, outcome = time.perf_counter() - begin, "interrupted" if interrupted else "end"
    return DetectionStudy(curves, settings, int(found.met.sum()), hours, took, outcome)


def curves_of(
    found: Verdicts, scales: Array, names: Sequence[tuple[str, str]], fits: Mapping[str, ThresholdFit | None]
) -> tuple[DetectorCurve, ...]:
    """Return the curve of every observer and detector, from the verdicts on all runs."""
    free, met = np.isfinite(found.seconds), found.met.astype(bool)
    out = []
    for k, (observer, detector) in enumerate(names):
        alarms = (found.before[free, k, None] >= scales).sum(axis=0)
        hours = np.maximum(found.until[free, k].sum(axis=0) / 3600.0, 1e-12)
        delay, force = found.delay[met, k], found.force[met, k]
        out.append(DetectorCurve(observer, detector, scales, alarms, hours, delay, fits[observer], force))
    return tuple(out)


def _check_noise(
    chains: Mapping[str, Any], detector: Monitor, bench: StudyBench, trajectories: Sequence[Trajectory]
) -> None:
    names = ("position_noise", "velocity_noise", "position_resolution", "velocity_resolution")
    values = {name: getattr(bench.sensors, name) for name in names}
    configurations = [trajectory.evaluate(0.0).q for trajectory in trajectories[:3]]
    for chain in chains.values():
        check_above_noise(chain, detector, bench.robot, np.array(configurations), rate=bench.rate, **values)
