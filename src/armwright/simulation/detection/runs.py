# SPDX-License-Identifier: Apache-2.0
"""Batches of runs with perturbed arms and contacts of their own: what a detection study simulates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.control.law import Law, as_law
from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.kinematics.jacobian import frame_jacobian
from armwright.motion.reference import Reference
from armwright.robot.kernels import kernel
from armwright.robot.tree import tree_of
from armwright.simulation.detection.contacts import LATE, Contact, Push, Wall, pushing, walling
from armwright.simulation.detection.population import Population, Spread, disturbance
from armwright.simulation.integrators import method as find_method
from armwright.simulation.loop_stages import Ingredients
from armwright.simulation.session import Session

if TYPE_CHECKING:
    from armwright.motion import Trajectory
    from armwright.robot.model import Robot
    from armwright.simulation.sensors import JointSensors
    from armwright.types import Array

LANES = 64  # runs simulated at once: enough to fill the lanes of any processor, few enough to keep memory small

__all__ = ["Batch", "Bench", "Contact", "Population", "Push", "Spread", "Wall"]


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
class Bench:
    """Runs batches of one robot under one law."""

    robot: Robot
    law: Law | Callable[..., Any]
    sensors: JointSensors
    spread: Spread
    rate: float = 1000.0
    substeps: int = 3
    torque_noise: Any = 0.0  # [N m] of the torque that observers are told, as motor currents have it; scalar or (n,)
    integrator: str = "rk4"

    def __post_init__(self) -> None:
        """Prepare what all batches share."""
        self.population = Population(self.robot, self.spread)
        self.control = as_law(self.law)
        self._model = tree_of(self.robot, regroup=True)

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
        if isinstance(kind, Push):
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
        parts = Ingredients(
            lanes=self.population.draw(contacts, rngs),
            model=self._model,
            law=self.control,
            method=find_method(self.integrator),
            period=1.0 / self.rate,
            sensors=self.sensors,
            wrenches=None if kind is None else walling if isinstance(kind, Wall) else pushing(kind.link),
            external=disturbance(self.spread),
            model_key=self.robot,
        )
        noise = [int(rng.integers(0, 2**63)) for rng in rngs]
        # a light link with much friction is stiff: more of it needs shorter steps
        finer = int(np.ceil(self.substeps * max(1.0, self.spread.drift[1])))
        session = Session([self.robot], parts, count=count, substeps=finer, every=1, seeds=noise)
        session.follow(trajectory)
        start = trajectory.evaluate(0.0)
        session.start(
            np.concatenate([start.q, start.qd, np.zeros(parts.size - 2 * self.robot.n)]), {}, parts.lanes.values
        )
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
