# SPDX-License-Identifier: Apache-2.0
"""`detection_study`: how often a detector cries wolf, how many contacts it misses, and how long it takes.

Thousands of runs of arms that differ from their model, seen through noisy sensors: some undisturbed, some with a
contact. Observers and detectors are applied to the same measured signals afterwards. Multiplying a detector's
thresholds by a range of scales gives its whole curve from one pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.detectors import ThresholdFit, TwoSpeed, check_above_noise, learn_thresholds, learn_two_speed
from armwright.contact.detectors.learning import RATE
from armwright.contact.monitor import Monitor
from armwright.contact.offline import run_monitors
from armwright.control.law import Law, as_law
from armwright.dynamics.newton_euler import rnea
from armwright.dynamics.terms import friction_torque
from armwright.errors import InputError
from armwright.kinematics.jacobian import frame_jacobian
from armwright.motion import Trajectory, quintic
from armwright.robot.kernels import kernel
from armwright.robot.tree import as_tree
from armwright.simulation.detection.contacts import Contact, Wall
from armwright.simulation.detection.population import Spread
from armwright.simulation.detection.result import DetectionStudy, DetectorCurve
from armwright.simulation.detection.runs import Batch, Bench
from armwright.simulation.sensors import JointSensors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion.reference import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced

SCALES = tuple(float(s) for s in np.geomspace(0.25, 4.0, 33))
BATCH = 400_000  # run·ticks simulated at once
Making = Monitor | TwoSpeed | Callable[[ThresholdFit], Monitor]


def ur5_sensors() -> JointSensors:
    """Joint sensors of a UR5: positions in steps of 1e-5 rad, velocities with 1e-3 rad/s of noise."""
    return JointSensors(position_resolution=1e-5, velocity_noise=1e-3)


def _feedforward(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced) -> Traced:
    a = ref.qdd + kp * (ref.q - q) + kd * (ref.qd - qd)
    return rnea(arm, q, qd, a, friction=False) + friction_torque(as_tree(arm), ref.qd)


def study_law(kp: ArrayLike, kd: ArrayLike) -> Law:
    """Computed torque that feeds friction forward at the desired velocity.

    Cancelling it at the measured one is unstable where friction is overestimated and the link light: held over a tick,
    a wrist of 1e-4 kg m² with 0.65 N m s/rad gains speed by the ratio of believed to true friction.
    """
    return as_law(_feedforward, name="computed torque, friction fed forward", kp=kp, kd=kd)


def tool_moves(
    robot: Robot, count: int, *, speed: float = 0.25, travel: float = 0.15, seed: int = 0
) -> list[Trajectory]:
    """Random point-to-point moves with a given highest tool speed, away from singularities.

    Args:
        robot: the arm.
        count: how many.
        speed: highest tool speed [m/s].
        travel: of the tool, roughly [m].
        seed: of the configurations.
    """
    if not (count >= 1 and speed > 0.0 and travel > 0.0):
        raise InputError(f"tool moves: count, speed and travel must be positive, got {count}, {speed}, {travel}")
    rng, moves = np.random.default_rng(seed), []
    J = kernel(robot, frame_jacobian)
    for _ in range(1000 * count):
        q0, direction = rng.uniform(-2.0, 2.0, size=robot.n), rng.normal(size=robot.n)
        v = J(q0)[:3] @ direction
        if np.linalg.norm(v) < 1e-6 or np.linalg.cond(J(q0)[:3]) > 8.0:
            continue
        q1 = q0 + direction * travel / np.linalg.norm(v)
        if np.abs(q1 - q0).max() > 1.0:
            continue
        s = quintic(q0, q1, 1.0).evaluate(np.linspace(0.0, 1.0, 101))
        highest = float(np.linalg.norm(np.einsum("tij,tj->ti", J(s.q)[:, :3], s.qd), axis=1).max())
        moves.append(quintic(q0, q1, highest / speed))
        if len(moves) == count:
            return moves
    raise InputError(
        f"tool moves: found only {len(moves)} of {count} moves away from singularities; change travel or speed"
    )


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
    substeps: int = 3,
    horizon: float = 0.1,
    false_alarms: float = RATE,
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
        contact: what is met: a `Wall` across the way by default, or a `Push`.
        runs: with contact.
        free_runs: without contact, to count false alarms.
        learning_runs: without contact, to learn thresholds; none of them is judged.
        learning_trajectories: of those; the same as the others by default: an arm that repeats its programme. Give
            others to see how thresholds carry over to moves that were never rehearsed.
        spread: errors of the model: 10 % of every mass, 20 % of every friction by default; also payload, drift and
            sticking, see `Spread`.
        sensors: `ur5_sensors` by default.
        torque_noise: standard deviation of the torque that observers are told, as motor currents have it [N m]; scalar
            or (n,).
        rate: control ticks per second.
        substeps: RK4 steps per tick.
        horizon: [s] after the touch within which a contact must be found.
        false_alarms: per hour that learned thresholds may cause with 95 % confidence, see `learn_thresholds` [1/h].
        margin: on learned thresholds, in place of the one that follows from `false_alarms`.
        scales: factors on the thresholds, rising.
        seed: of everything random; every run has a seed of its own, made of this one and its number.
        progress: called with the fraction done.

    Raises:
        InputError: among others, for a detector whose thresholds lie below the noise floor, before anything is run.
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
    bench = Bench(robot, law, seen, arms, rate, substeps, torque_noise)
    before = Bench(robot, law, seen, arms.rehearsal(), rate, substeps, torque_noise)
    chains = {name: (chain,) if isinstance(chain, Monitor) else tuple(chain) for name, chain in observers.items()}
    for detector in detectors.values():
        if isinstance(detector, Monitor):
            _check_noise(chains, detector, bench, trajectories)
    rehearsed = learning_trajectories or trajectories
    total = 2 * len(trajectories) + len(rehearsed)
    said, refs = _rehearse(before, rehearsed, chains, learning_runs, seed, progress, total)
    fits = {
        name: learn_thresholds(stacks, refs, 1.0 / rate, robot, rate=false_alarms, margin=margin)
        for name, stacks in said.items()
    }

    def making(observer: str, item: Making) -> Monitor:
        if isinstance(item, TwoSpeed):
            return learn_two_speed(said[observer], refs, 1.0 / rate, robot, kind=item, rate=false_alarms).detector()
        return item if isinstance(item, Monitor) else item(fits[observer])

    made = {(o, d): making(o, item) for o in chains for d, item in detectors.items()}
    for (o, d), detector in made.items():
        if not isinstance(detectors[d], Monitor):
            _check_noise({o: chains[o]}, detector, bench, trajectories)
    judge = _Judge(robot, chains, made, grid, horizon)
    outcome = "end"
    try:
        for k, (count, with_contact) in enumerate(((free_runs, None), (runs, kind))):
            for i, (trajectory, items) in enumerate(_shares(trajectories, count, (seed, 1 + k))):
                for part in _parts(items, trajectory, rate):
                    judge.add(bench.run(trajectory, part, with_contact, horizon), with_contact is not None)
                if progress is not None:
                    progress((len(rehearsed) + k * len(trajectories) + i + 1) / total)
    except KeyboardInterrupt:
        outcome = "interrupted"
    settings = {
        "robot": robot.name,
        "law": bench.control.name,
        "contact": repr(kind),
        "runs": runs,
        "free_runs": free_runs,
        "learning_runs": learning_runs,
        "trajectories": len(trajectories),
        "rehearsed": learning_trajectories is None,
        "spread": bench.spread._asdict(),
        "torque_noise": np.asarray(torque_noise, dtype=np.float64).tolist(),
        "rate": rate,
        "substeps": substeps,
        "horizon": horizon,
        "false_alarms": false_alarms,
        "margin": margin,
        "seed": seed,
    }
    return DetectionStudy(
        judge.curves(fits), settings, judge.contacts, judge.hours, time.perf_counter() - begin, outcome
    )


def _check_noise(
    chains: Mapping[str, Any], detector: Monitor, bench: Bench, trajectories: Sequence[Trajectory]
) -> None:
    names = ("position_noise", "velocity_noise", "position_resolution", "velocity_resolution")
    values = {name: getattr(bench.sensors, name) for name in names}
    configurations = [trajectory.evaluate(0.0).q for trajectory in trajectories[:3]]
    for chain in chains.values():
        check_above_noise(chain, detector, bench.robot, np.array(configurations), rate=bench.rate, **values)


def _shares(
    trajectories: Sequence[Trajectory], runs: int, seed: tuple[int, ...]
) -> list[tuple[Trajectory, list[tuple[int, ...]]]]:
    """Seeds of the runs of each trajectory, as many for each as can be: run k has its own, however they are shared."""
    m = len(trajectories)
    return [(t, [(*seed, k) for k in range(i, runs, m)]) for i, t in enumerate(trajectories) if i < runs]


def _parts(seeds: list[tuple[int, ...]], trajectory: Trajectory, rate: float) -> list[list[tuple[int, ...]]]:
    most = max(8, int(BATCH / max(1.0, trajectory.duration * rate)) // 8 * 8)
    return [seeds[start : start + most] for start in range(0, len(seeds), most)]


def _rehearse(
    bench: Bench,
    trajectories: Sequence[Trajectory],
    chains: Mapping[str, tuple[Monitor, ...]],
    runs: int,
    seed: int,
    progress: Callable[[float], None] | None,
    total: int,
) -> tuple[dict[str, list[Traced]], list[Traced]]:
    """What every observer says on runs without contact, a stack per motion, and the references."""
    said: dict[str, list[Any]] = {name: [] for name in chains}
    refs = []
    for i, (trajectory, items) in enumerate(_shares(trajectories, max(runs, 2 * len(trajectories)), (seed, 0))):
        batch = bench.run(trajectory, items, None, 0.0)
        refs.append(batch.ref)
        for name, chain in chains.items():
            out = run_monitors(
                chain, bench.robot, batch.time, batch.q, batch.qd, batch.tau, batch.ref, keep=("tau_ext",)
            )
            said[name].append(out["tau_ext"])
        if progress is not None:
            progress((i + 1) / total)
    return said, refs


class _Judge:
    """Collects first alarms of all detectors over batches."""

    def __init__(
        self,
        robot: Robot,
        chains: Mapping[str, tuple[Monitor, ...]],
        made: Mapping[tuple[str, str], Monitor],
        scales: Any,
        horizon: float,
    ) -> None:
        self.robot, self.scales, self.horizon, self.names = robot, scales, horizon, list(made)
        self.chain: list[Monitor] = []
        for observer, monitors in chains.items():
            # every detector reads the tau_ext of the observer that comes last before it
            self.chain += [replace(monitor, name=f"{observer}: {monitor.name}") for monitor in monitors]
            self.chain += [replace(made[o, d], name=f"{o}/{d}") for o, d in made if o == observer]
        single = len(made) == 1
        self.keep = ["level"] if single else [f"{o}/{d}.level" for o, d in made]
        self.alarms = np.zeros((len(made), len(scales)), dtype=int)
        self.exposure = np.zeros((len(made), len(scales)))
        self.delays: list[list[Any]] = [[] for _ in made]
        self.forces: list[list[Any]] = [[] for _ in made]
        self.contacts, self.hours = 0, 0.0

    def add(self, batch: Batch, touched: bool) -> None:
        """Judge one batch."""
        out = run_monitors(self.chain, self.robot, batch.time, batch.q, batch.qd, batch.tau, batch.ref, keep=self.keep)
        dt = float(batch.time[1] - batch.time[0])
        happened = np.isfinite(batch.touched) & (batch.touched + self.horizon <= batch.time[-1])
        if touched:
            self.contacts += int(happened.sum())
        else:
            self.hours += batch.q.shape[0] * len(batch.time) * dt / 3600.0
        for k, name in enumerate(self.keep):
            highest = np.maximum.accumulate(out[name], axis=1)
            first = np.array([np.searchsorted(row, self.scales) for row in highest])  # ticks until level ≥ scale
            if not touched:
                self.alarms[k] += (first < len(batch.time)).sum(axis=0)
                self.exposure[k] += np.minimum(first + 1, len(batch.time)).sum(axis=0) * dt / 3600.0
                continue
            delay = first[happened] * dt + batch.time[0] - batch.touched[happened, None]
            judged = np.where(delay < 0.0, np.nan, np.where(delay <= self.horizon, delay, np.inf))
            at = np.minimum(first[happened], len(batch.time) - 1)
            force = np.take_along_axis(batch.force[happened], at, axis=1)
            self.delays[k].append(judged)
            self.forces[k].append(np.where(np.isfinite(judged), force, judged))

    def curves(self, fits: Mapping[str, ThresholdFit]) -> tuple[DetectorCurve, ...]:
        """Everything collected."""
        out = []
        for k, (observer, detector) in enumerate(self.names):
            nothing = [np.zeros((0, len(self.scales)))]
            delays, forces = (np.concatenate(x[k] or nothing) for x in (self.delays, self.forces))
            hours = np.maximum(self.exposure[k], 1e-12)
            counts = (self.scales, self.alarms[k], hours, delays)
            out.append(DetectorCurve(observer, detector, *counts, fits[observer], forces))
        return tuple(out)
