# SPDX-License-Identifier: Apache-2.0
"""Runs of a detection study, each judged by every observer and detector; a run's figures depend on its seed alone.

`StudyBench` simulates batches of runs with perturbed arms and contacts of their own. Observers and detectors are
applied to the same measured signals afterwards (`Trials`). A detector's level, compared with a range of scales, gives
its whole curve from one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from armwright.contact.monitor_run import run_monitors
from armwright.control.law import Law, as_law
from armwright.detection.study_contacts import LATE, Contact, StudyPush, Wall, late_walling, pushing, walling
from armwright.detection.study_step import study_substeps
from armwright.detection.varied_arms import Population, Spread, disturbance, dry_level
from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.kinematics.jacobians import frame_jacobian
from armwright.motion.trajectory import Reference
from armwright.robot.kernels import kernel
from armwright.simulation.control_loop import Loop

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.contact.monitor import Monitor
    from armwright.motion import Trajectory
    from armwright.robot.model import Robot
    from armwright.simulation.sensors import JointSensors
    from armwright.types import Array

STOOD = 0.3  # [s] that an arm has stood before it is pushed at rest
SPAN = 5.0  # [s] after a bench is ready in which contacts come
AHEAD_SECONDS = (
    0.2  # [s] before it is met that a wall across a chain of moves is put there: the tool may have been behind it
)
RUNS_AT_ONCE = 64  # runs simulated at once: enough to fill the lanes of any processor, few enough to keep memory small

__all__ = ["Batch", "Contact", "Population", "Spread", "StudyBench", "StudyPush", "Wall"]


class Batch(NamedTuple):
    """What was recorded of B runs: time (T,), measured q, qd, tau (B, T, n), reference, times of contact (B,).

    force (B, T) [N] is that of the contact, 0 before it; load (B,) [kg] what arms carry and their model does not know.
    """

    time: Array
    q: Array
    qd: Array
    tau: Array
    ref: Reference
    touched: Array
    force: Array
    load: Array


def together(batches: Sequence[Batch]) -> Batch:
    """Return batches of one motion, of equal length, as one."""
    one = batches[0]
    if any(len(other.time) != len(one.time) for other in batches):
        raise InputError("batches: only runs of equal length can be put together")
    parts: dict[str, Any] = {name: np.concatenate([getattr(b, name) for b in batches]) for name in ("q", "qd", "tau")}
    parts |= {name: np.concatenate([getattr(b, name) for b in batches]) for name in ("touched", "force", "load")}
    return one._replace(**parts)


@dataclass(eq=False)
class StudyBench:
    """Runs batches of one robot under one law.

    Attributes:
        robot: the model that the law has; arms differ from it by `spread`.
        law, sensors: as in `simulate`. rate: ticks per second.
        substeps: integrator steps per tick; as many as the stiffest arm needs by default (`study_substeps`).
        torque_noise: [N m] of the torque that observers are told, as motor currents have it; scalar or (n,).
        integrator: "semi-implicit" solves for dry friction, so that joints do not run off, whatever the step.
        ready: time [s] before which nothing is met; contacts then come within `SPAN` s after it.
    """

    robot: Robot
    law: Law | Callable[..., Any]
    sensors: JointSensors
    spread: Spread
    rate: float = 1000.0
    substeps: int | None = None
    torque_noise: ArrayLike = 0.0
    integrator: str = "semi-implicit"
    ready: float = 0.0

    def __post_init__(self) -> None:
        """Prepare what all batches share."""
        self.population = Population(self.robot, self.spread)
        self.control = as_law(self.law)

    def steps(self, kind: Contact | None = None) -> int:
        """Return the integrator steps per tick of runs with this contact."""
        if self.substeps is not None:
            return self.substeps
        return study_substeps(self.robot, self.spread, self.rate, kind.stiffness if isinstance(kind, Wall) else 0.0)

    def contacts(
        self, kind: Contact, trajectory: Trajectory, rngs: Sequence[np.random.Generator]
    ) -> tuple[Array, Array]:
        """Draw contacts (count, 6) at times (count,) when the tool moves at 95 % of its highest speed or more.

        A push at rest comes when the arm has stood for `STOOD` s or more, in the first half of its rest.
        """
        t = np.arange(1, round(trajectory.duration * self.rate)) / self.rate
        ref = trajectory.evaluate(t)
        if isinstance(kind, StudyPush) and kind.at_rest:
            fast, v, speed = self._standing(t, ref), np.zeros((len(t), 3)), np.ones(len(t))  # not asked for
        else:
            v = np.einsum("tij,tj->ti", kernel(self.robot, frame_jacobian)(ref.q)[:, :3], ref.qd)
            speed = np.linalg.norm(v, axis=1)
            late = (t >= self.ready) & ((t <= self.ready + SPAN) | (self.ready == 0.0))
            if not late.any() or speed[late].max() <= 0.0:
                raise InputError("detection study: the tool does not move along a trajectory; nothing will be met")
            fast = np.flatnonzero((speed >= 0.95 * speed[late].max()) & late)
        chosen = np.array([rng.choice(fast) for rng in rngs])
        shift = np.array([rng.uniform(0.0, 1.0 / self.rate) for rng in rngs])  # anywhere between two ticks, as in life
        out = np.zeros((len(rngs), 6))
        if isinstance(kind, StudyPush):
            direction = np.array([rng.normal(size=3) for rng in rngs])
            out[:, :3] = kind.force * direction / np.linalg.norm(direction, axis=1, keepdims=True)
            out[:, 3], out[:, 4] = t[chosen] + shift, 1.0 / kind.rise
            return out, out[:, 3]
        normal = -v[chosen] / speed[chosen, None]
        out[:, :3] = normal
        shift = shift * speed[chosen]
        out[:, 3] = np.einsum("ti,ti->t", normal, fk(self.robot, ref.q[chosen])[:, :3, 3]) - shift
        out[:, 4] = kind.stiffness
        return out, t[chosen]

    @staticmethod
    def _standing(t: Array, ref: Reference) -> NDArray[np.intp]:
        """Return the ticks at which a push at rest may begin."""
        moving = np.flatnonzero((ref.qd != 0.0).any(axis=1))
        first = t[moving[-1]] if len(moving) else 0.0
        found = np.flatnonzero((t >= first + STOOD) & (t <= first + max(0.5 * (t[-1] - first), STOOD)))
        if len(found) == 0:
            raise InputError(
                f"detection study: a push at rest needs moves that end in a rest of {2 * STOOD:g} s or more"
            )
        return found

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
            rests = isinstance(kind, StudyPush) and kind.at_rest
            last = self.ready + SPAN if self.ready > 0.0 and not rests else float(planned.max())
            if isinstance(kind, Wall):
                contacts[:, 5] = planned - AHEAD_SECONDS
            length = min(length, last + LATE + horizon + 2.0 / self.rate)
        plants, loads = self.population.draw_loaded(contacts, rngs)
        noise = [int(rng.integers(0, 2**63)) for rng in rngs]
        loop = Loop(
            robots=(self.robot,),
            law=self.control,
            model=self.robot,
            rate=self.rate,
            substeps=self.steps(kind),
            integrator=self.integrator,
            sensors=self.sensors,
            wrench=None if kind is None else self._wrench(kind),
            external=disturbance(self.spread, tuple(self.population.sizes.tolist())),
            dry_friction=dry_level(self.spread),
            creep=True,  # what the description says: its dead zone is no matter of the integrator
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
            if self.ready > 0.0:
                depth = np.where(time >= contacts[:, 5, None], depth, -1.0)
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
            loads,
        )

    def _wrench(self, kind: Contact) -> Callable[..., Any]:
        if isinstance(kind, Wall):
            return walling if self.ready == 0.0 else late_walling
        return pushing(kind.link)

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


class RunVerdict(Protocol):
    """What a judge with a memory of its own says about a batch: level (B, T), 1 at the threshold; the load it tells."""

    @property
    def level(self) -> Array:
        """The level of every run at every tick."""

    def load_at(self, seconds: float) -> Array:
        """Mass and deviation (B, 2) at a time [kg]."""


class RunJudge(Protocol):
    """A judge of whole runs, such as `armwright.detection.doubt_rehearsal`'s."""

    def judged(self, batch: Batch) -> RunVerdict:
        """Watch a batch from its beginning."""


class Trial(NamedTuple):
    """One run: its number and seed; move; whether something stands in its way, and what; world of the arm."""

    item: int
    move: int
    touched: bool
    contact: int = 0
    world: int = 0


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
        load: (B, 5) [kg] carried; told by a doubting arm when it is ready, and its deviation; the same at the end.
    """

    met: Array
    seconds: Array
    until: Array
    before: Array
    within: Array
    delay: Array
    force: Array
    load: Array


@dataclass(frozen=True, eq=False)
class Trials:
    """Moves, arms and detectors of a study.

    Attributes:
        bench: arms and sensors. moves: what they follow. contact: what they meet, one or several (`Trial.contact`).
        chains: observers by name. made: detectors by (observer, detector).
        scales: (S,) rising factors on thresholds. horizon: [s] within which a contact must be found.
        seed: of the study.
        worlds: arms of every world (`Trial.world`); those of `bench` by default.
        doubt: judges as a doubting arm, too.
        ready: time [s] before which no alarm counts.
    """

    bench: StudyBench
    moves: Sequence[Trajectory]
    contact: Contact | tuple[Contact, ...]
    chains: Mapping[str, tuple[Monitor, ...]]
    made: Mapping[tuple[str, str], Monitor]
    scales: Array
    horizon: float
    seed: int
    worlds: tuple[StudyBench, ...] = ()
    doubt: RunJudge | None = None
    ready: float = 0.0

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Observer and detector of every column of the verdicts."""
        return [*self.made, *([] if self.doubt is None else [("momentum", "doubt")])]

    def run(self, trials: Sequence[Trial]) -> Verdicts:
        """Run trials, in lanes of one move each, and judge them; in the order given."""
        kinds = self.contact if isinstance(self.contact, tuple) else (self.contact,)
        benches = self.worlds or (self.bench,)
        groups: dict[tuple[int, int | None], list[int]] = {}
        for k, trial in enumerate(trials):
            groups.setdefault((trial.move, trial.contact if trial.touched else None), []).append(k)
        shape = (len(trials), len(self.pairs))
        wide = (*shape, len(self.scales))
        shapes = (shape[:1], shape[:1], wide, shape, shape, wide, wide, (len(trials), 5))
        out = Verdicts(*(np.full(size, np.nan) for size in shapes))
        for (move, which), members in groups.items():
            for first in range(0, len(members), RUNS_AT_ONCE):
                rows: list[int] = []
                batches: list[Batch] = []
                kind = None if which is None else kinds[which]
                for world, bench in enumerate(benches):
                    mine = [k for k in members[first : first + RUNS_AT_ONCE] if trials[k].world == world]
                    if mine:
                        # a lane alone is compiled as scalars, which round differently
                        twice = mine * 2 if len(mine) == 1 else mine
                        seeds = [np.random.SeedSequence(self.seed, spawn_key=(trials[k].item,)) for k in twice]
                        batches.append(bench.run(self.moves[move], seeds, kind, self.horizon))
                        rows += twice
                for whole, part in zip(out, self._judged(together(batches), kind is not None), strict=True):
                    whole[rows] = part
        return out._replace(met=out.met == 1.0)

    def _levels(self, batch: Batch) -> tuple[Array, Array]:
        """Return levels (B, P, T), 0 before arms are ready, and loads (B, 5) as in `Verdicts`."""
        chain: list[Monitor] = []
        for observer, monitors in self.chains.items():
            # every detector reads the tau_ext of the observer that comes last before it
            chain += [replace(monitor, name=f"{observer}: {monitor.name}") for monitor in monitors]
            chain += [replace(self.made[o, d], name=f"{o}/{d}") for o, d in self.made if o == observer]
        keep = ["level"] if len(self.made) == 1 else [f"{o}/{d}.level" for o, d in self.made]
        levels: list[Array] = []
        if self.made:
            robot, time = self.bench.robot, batch.time
            out = run_monitors(chain, robot, time, batch.q, batch.qd, batch.tau, batch.ref, keep=keep)
            levels += [out[name] for name in keep]
        loads = np.full((len(batch.q), 5), np.nan)
        loads[:, 0] = batch.load
        if self.doubt is not None:
            said = self.doubt.judged(batch)
            levels.append(said.level)
            loads[:, 1:3], loads[:, 3:] = said.load_at(self.ready), said.load_at(np.inf)
        return np.where(batch.time < self.ready, 0.0, np.stack(levels, axis=1)), loads

    def _judged(self, batch: Batch, touched: bool) -> Verdicts:
        time = batch.time
        level, loads = self._levels(batch)
        highest = np.maximum.accumulate(level, axis=2)
        first = np.array([[np.searchsorted(row, self.scales) for row in run] for run in highest])  # level ≥ scale
        runs, ticks, dt = len(batch.q), len(time), float(time[1] - time[0])
        at = np.minimum(first, ticks - 1)
        nothing = np.full(level.shape[:2], np.nan)
        if not touched:
            none = np.full(first.shape, np.nan)
            seconds = np.full(runs, ticks * dt - self.ready)
            until = (at + 1) * dt - self.ready
            return Verdicts(np.zeros(runs), seconds, until, highest[..., -1], nothing, none, none, loads)
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
        seconds = np.full(runs, np.nan)
        return Verdicts(met.astype(float), seconds, hidden, before * good, within * good, judged, force, loads)
