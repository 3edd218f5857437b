"""Batches of runs with perturbed arms and contacts of their own: what a detection study simulates.

The arms of a batch differ in masses and friction, the contacts in place and time. Both are numbers of a lane, so that
one compiled loop runs all of them: the tree of a lane carries its contact beside its masses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.control.law import Law, as_law
from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.kinematics.jacobian import frame_jacobian, pose_jacobian
from armwright.motion.reference import Reference
from armwright.robot.kernels import kernel
from armwright.robot.tree import Tree, tree_of
from armwright.simulation.integrators import method as find_method
from armwright.simulation.lanes import Lanes
from armwright.simulation.plan import Ingredients
from armwright.simulation.session import Session

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.motion import Trajectory
    from armwright.robot.model import Robot
    from armwright.simulation.sensors import JointSensors

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TouchedTree(Tree):
    """An arm and the contact that it will meet: six numbers that the contact's wrench function reads."""

    contact: Any = field(default_factory=lambda: np.zeros(6))


@dataclass(frozen=True)
class Wall:
    """A plane across the tool's way, met at the trajectory's highest tool speed: F = stiffness · depth, no friction."""

    stiffness: float = 1e5

    def __post_init__(self) -> None:
        """Refuse what is no wall."""
        if not (np.isfinite(self.stiffness) and self.stiffness > 0.0):
            raise InputError(f"wall: stiffness must be positive [N/m], got {self.stiffness}")


@dataclass(frozen=True)
class Push:
    """A force on the tool in a random direction: rises linearly within `rise` seconds and stays."""

    force: float = 30.0
    rise: float = 0.01

    def __post_init__(self) -> None:
        """Refuse what is no push."""
        if not (np.isfinite(self.force) and self.force > 0.0 and np.isfinite(self.rise) and self.rise > 0.0):
            raise InputError(f"push: force [N] and rise [s] must be positive, got {self.force} and {self.rise}")


Contact = Wall | Push
LATE = 0.05  # [s] after the planned time, by which an arm that lags must have met its wall


def _wall(arm: Any, q: Any) -> Any:
    normal, offset, stiffness = arm.contact[:3], arm.contact[3], arm.contact[4]
    depth = offset - normal @ pose_jacobian(arm, q)[0][:3, 3]
    force = stiffness * np.maximum(depth, 0.0)
    return np.concatenate([force * normal, np.zeros(3)])


def _push(arm: Any, t: Any) -> Any:
    share = np.minimum(np.maximum((t - arm.contact[3]) * arm.contact[4], 0.0), 1.0)
    return np.concatenate([share * arm.contact[:3], np.zeros(3)])


class Spread(NamedTuple):
    """How the arms of a study differ from their model.

    Attributes:
        mass: every body's mass and inertia are off by this share, up or down at random.
        friction: every joint's viscous and Coulomb friction is off by this share, up or down at random.
    """

    mass: float = 0.1
    friction: float = 0.2


class Population:
    """Arms around a model: draws the numbers in which the lanes differ.

    The regrouped inertial parameters are linear in the bodies' masses: one tree a body gives those of any mixture.
    """

    def __init__(self, robot: Robot, spread: Spread) -> None:
        """Find the entries of the tree that vary."""
        for name, value in spread._asdict().items():
            if not 0.0 <= value < 1.0:
                raise InputError(f"spread: {name} must lie in [0, 1), got {value}")
        self.robot, self.spread = robot, spread
        tree = tree_of(robot, regroup=True)
        fields = {name: getattr(tree, name) for name in Tree.__dataclass_fields__}
        self.tree = TouchedTree(**fields)
        nothing = np.zeros((3, 3))
        shares = []
        for b in range(len(robot.bodies)):
            alone = tuple(
                body if k == b else replace(body, mass=0.0, inertia=nothing) for k, body in enumerate(robot.bodies)
            )
            shares.append(tree_of(replace(robot, bodies=alone), regroup=True))
        self.places: list[tuple[str, int]] = []
        base, basis, kinds = [], [], []
        for name in ("m", "h", "J"):
            flat = np.array([np.ravel(getattr(share, name)) for share in shares])
            for index in np.flatnonzero((flat != 0.0).any(axis=0) & (spread.mass > 0.0)):
                self.places.append((name, int(index)))
                base.append(np.ravel(getattr(tree, name))[index])
                basis.append(flat[:, index])
                kinds.append(-1)
        self._mass = np.array(basis).reshape(len(basis), len(shares)).T
        for name in ("viscous", "coulomb"):
            flat = np.ravel(getattr(tree, name))
            for index in np.flatnonzero((flat != 0.0) & (spread.friction > 0.0)):
                self.places.append((name, int(index)))
                base.append(flat[index])
                kinds.append(int(index) % robot.n)
        self._base, self._kinds = np.array(base), np.array(kinds, dtype=int)

    def draw(self, contacts: Array, rngs: Sequence[np.random.Generator]) -> Lanes:
        """Lanes of arms with their contacts (count, 6), each drawn by a generator of its own."""
        signs = np.array([rng.choice([-1.0, 1.0], size=self._mass.shape[0] + self.robot.n) for rng in rngs])
        mass = self.spread.mass * signs[:, : self._mass.shape[0]]
        friction = 1.0 + self.spread.friction * signs[:, self._mass.shape[0] :]
        values = np.tile(self._base, (len(rngs), 1))
        heavy = self._kinds < 0
        values[:, heavy] += mass @ self._mass
        values[:, ~heavy] *= friction[:, self._kinds[~heavy]]
        places = (*self.places, *(("contact", k) for k in range(6)))
        return Lanes(self.tree, places, np.concatenate([values, contacts], axis=1))


class Batch(NamedTuple):
    """What was recorded of B runs: time (T,), measured q, qd, tau (B, T, n), reference, times of contact (B,)."""

    time: Array
    q: Array
    qd: Array
    tau: Array
    ref: Reference
    touched: Array


@dataclass(eq=False)
class Bench:
    """Runs batches of one robot under one law."""

    robot: Robot
    law: Law | Callable[..., Any]
    sensors: JointSensors
    spread: Spread
    rate: float = 1000.0
    substeps: int = 3
    integrator: str = "rk4"

    def __post_init__(self) -> None:
        """Prepare what all batches share."""
        self.population = Population(self.robot, self.spread)
        self._law = as_law(self.law)
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
            seeds: one a run, whatever `numpy.random.default_rng` takes.
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
            law=self._law,
            method=find_method(self.integrator),
            period=1.0 / self.rate,
            sensors=self.sensors,
            wrenches={Wall: _wall, Push: _push}.get(type(kind)),
            model_key=self.robot,
        )
        noise = [int(rng.integers(0, 2**63)) for rng in rngs]
        session = Session([self.robot], parts, count=count, substeps=self.substeps, every=1, seeds=noise)
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
        touched = self._touched(contacts, x, time) if isinstance(kind, Wall) else planned
        # a batch runs until its last contact has been judged: what else came late does not count
        touched = np.where(touched > planned + LATE, np.inf, touched)
        return Batch(
            time,
            rows[..., at : at + n],
            rows[..., at + n : at + 2 * n],
            rows[..., tau : tau + n],
            trajectory.evaluate(time),
            touched,
        )

    def _touched(self, contacts: Array, q: Array, time: Array) -> Array:
        """When the tool of each run first reached its wall (linear between ticks); inf where it never did."""
        p = fk(self.robot, q)[..., :3, 3]
        depth = contacts[:, None, 3] - np.einsum("bi,bti->bt", contacts[:, :3], p)
        inside = depth > 0.0
        k = np.argmax(inside, axis=1)
        rows = np.arange(len(k))
        before, after = depth[rows, np.maximum(k - 1, 0)], depth[rows, k]
        share = np.where(k > 0, after / np.maximum(after - before, 1e-300), 0.0)
        return np.where(inside.any(axis=1), time[k] - share * (time[1] - time[0]), np.inf)
