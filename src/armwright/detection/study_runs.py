# SPDX-License-Identifier: Apache-2.0
"""Runs of a detection study, each judged by every observer and detector; a run's figures depend on its seed alone.

`StudyBench` simulates batches of runs with perturbed arms and contacts of their own. Observers and detectors are
applied to the same measured signals afterwards (`Trials`). A detector's level, compared with a range of scales, gives
its whole curve from one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.contact.monitor_run import run_monitors
from armwright.control.law import Law, as_law
from armwright.detection.study_contacts import LATE, Contact, StudyPush, Wall, pushing, walling
from armwright.detection.varied_arms import Population, Spread, disturbance
from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.kinematics.jacobians import frame_jacobian
from armwright.motion.trajectory import Reference
from armwright.robot.kernels import kernel
from armwright.simulation.control_loop import Loop

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.contact.monitor import Monitor
    from armwright.motion import Trajectory
    from armwright.robot.model import Robot
    from armwright.simulation.sensors import JointSensors
    from armwright.types import Array

RUNS_AT_ONCE = 64  # runs simulated at once: enough to fill the lanes of any processor, few enough to keep memory small

__all__ = ["Batch", "Contact", "Population", "Spread", "StudyBench", "StudyPush", "Wall"]


class Batch(NamedTuple):
    """What was recorded of B runs: time (T,), measured q, qd, tau (B, T, n), reference, times of contact (B,).

    force (B, T) [N] is that of the contact, 0 before it.
    """

    time: Array
    q: Array
    qd: Array
    tau: Array
    ref: Reference
    touched: Array
    force: Array


@dataclass(eq=False)
class StudyBench:
    """Runs batches of one robot under one law."""

    robot: Robot
    law: Law | Callable[..., Any]
    sensors: JointSensors
    spread: Spread
    rate: float = 1000.0
    substeps: int = 3
    torque_noise: ArrayLike = (
        0.0  # [N m] of the torque that observers are told, as motor currents have it; scalar or (n,)
    )
    integrator: str = "rk4"

    def __post_init__(self) -> None:
        """Prepare what all batches share."""
        self.population = Population(self.robot, self.spread)
        self.control = as_law(self.law)

    def contacts(
        self, kind: Contact, trajectory: Trajectory, rngs: Sequence[np.random.Generator]
    ) -> tuple[Array, Array]:
        """Draw contacts (count, 6) at times (count,) when the tool moves at 95 % of its highest speed or more."""
        t = np.arange(1, round(trajectory.duration * self.rate)) / self.rate
        ref = trajectory.evaluate(t)
        v = np.einsum("tij,tj->ti", kernel(self.robot, frame_jacobian)(ref.q)[:, :3], ref.qd)
        speed = np.linalg.norm(v, axis=1)
        if speed.max() <= 0.0:
            raise InputError("detection study: the tool does not move along a trajectory; nothing will be met")
        fast = np.flatnonzero(speed >= 0.95 * speed.max())
        chosen = np.array([rng.choice(fast) for rng in rngs])
        late = np.array([rng.uniform(0.0, 1.0 / self.rate) for rng in rngs])  # anywhere between two ticks, as in life
        out = np.zeros((len(rngs), 6))
        if isinstance(kind, StudyPush):
            direction = np.array([rng.normal(size=3) for rng in rngs])
            out[:, :3] = kind.force * direction / np.linalg.norm(direction, axis=1, keepdims=True)
            out[:, 3], out[:, 4] = t[chosen] + late, 1.0 / kind.rise
            return out, out[:, 3]
        normal = -v[chosen] / speed[chosen, None]
        out[:, :3] = normal
        shift = late * speed[chosen]
        out[:, 3] = np.einsum("ti,ti->t", normal, fk(self.robot, ref.q[chosen])[:, :3, 3]) - shift
        out[:, 4] = kind.stiffness
        return out, t[chosen]

    def run(self, trajectory: Trajectory, seeds: Sequence[Any], kind: Contact | None, horizon: float) -> Batch:
        """Simulate a run a seed, with a contact each unless kind is None; they end `horizon` after the last contact.

        What happens in a run depends on its own seed alone, not on which others share its batch.

        Args:
            trajectory: to follow.
            seeds: one per run, whatever `numpy.random.default_rng` takes.
            kind: of contact.
            horizon: [s].
        """
        rngs, count = [np.random.default_rng(seed) for seed in seeds], len(seeds)
        length, contacts, planned = trajectory.duration, np.zeros((count, 6)), np.full(count, np.inf)
        if kind is not None:
            contacts, planned = self.contacts(kind, trajectory, rngs)
            length = min(length, float(planned.max()) + LATE + horizon + 2.0 / self.rate)
        plants = self.population.draw(contacts, rngs)
        noise = [int(rng.integers(0, 2**63)) for rng in rngs]
        loop = Loop(
            robots=(self.robot,),
            law=self.control,
            model=self.robot,
            rate=self.rate,
            # a light link with much friction is stiff: more of it needs shorter steps
            substeps=int(np.ceil(self.substeps * max(1.0, self.spread.drift[1]))),
            integrator=self.integrator,
            sensors=self.sensors,
            wrench=None if kind is None else walling if isinstance(kind, Wall) else pushing(kind.link),
            external=disturbance(self.spread),
            plant=plants,
        )
        start = trajectory.evaluate(0.0)
        session = loop.session(start.q, qd0=start.qd, reference=trajectory, seed=noise, check_step=False)
        session.run(length)
        rows, n, plan = session.log.rows(), self.robot.n, session.loop.plan
        first = {}
        column = 0
        for name in plan.record:
            first[name] = column
            column += plan.slots[name]
        at, tau = first["measured"], first["tau"]
        time = rows[0, :, 0]
        x = rows[..., first["x"] : first["x"] + n]
        touched, force = planned, np.zeros((count, len(time)))
        if isinstance(kind, Wall):
            depth = contacts[:, None, 3] - np.einsum("bi,bti->bt", contacts[:, :3], fk(self.robot, x)[..., :3, 3])
            touched, force = self._touched(depth, time), kind.stiffness * np.maximum(depth, 0.0)
        elif kind is not None:
            force = kind.force * np.clip((time - planned[:, None]) / kind.rise, 0.0, 1.0)
        # a batch runs until its last contact has been judged: what else came late does not count
        touched = np.where(touched > planned + LATE, np.inf, touched)
        return Batch(
            time,
            rows[..., at : at + n],
            rows[..., at + n : at + 2 * n],
            self._told(rows[..., tau : tau + n], rngs),
            trajectory.evaluate(time),
            touched,
            force,
        )

    def _told(self, tau: Array, rngs: Sequence[np.random.Generator]) -> Array:
        noise = np.asarray(self.torque_noise, dtype=np.float64)
        if not np.any(noise):
            return tau
        return np.asarray(tau + noise * np.array([rng.standard_normal(tau.shape[1:]) for rng in rngs]))

    @staticmethod
    def _touched(depth: Array, time: Array) -> Array:
        """When the tool of each run first reached its wall (linear between ticks); inf where it never did."""
        inside = depth > 0.0
        k = np.argmax(inside, axis=1)
        rows = np.arange(len(k))
        before, after = depth[rows, np.maximum(k - 1, 0)], depth[rows, k]
        share = np.where(k > 0, after / np.maximum(after - before, 1e-300), 0.0)
        return np.where(inside.any(axis=1), time[k] - share * (time[1] - time[0]), np.inf)


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

    bench: StudyBench
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
            for first in range(0, len(members), RUNS_AT_ONCE):
                rows = members[first : first + RUNS_AT_ONCE]
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
