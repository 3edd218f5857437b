# SPDX-License-Identifier: Apache-2.0
"""Arms of a detection study that differ from their model: masses, friction, loads, gears and motors.

All of it, the contact included, is numbers of a lane: the tree of a lane carries its contact, its drift, its gears and
its motors together with its masses (`TouchedTree`). So one compiled loop runs all arms. `Spread` says how much they
differ, `Population` draws them.

Errors of masses and of friction coefficients lie in the columns of an estimator that fits masses and friction: it can
learn them away. Wrong centres of mass, gear ripple, friction that grows with the load and wrong torque constants do not
lie there. `ROUGH` has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.detection.studied_arm import joint_sizes
from armwright.errors import InputError
from armwright.robot.tree import Tree, tree_of
from armwright.simulation.lanes import Lanes
from armwright.types import Traced

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class TouchedTree(Tree):
    """An arm, what it will meet, and what its gears and motors do.

    Attributes:
        contact: (6,) the contact, as its kind reads it.
        drift: (1,) factor that friction drifts to.
        constant: (n,) torque of a motor over the torque that its current is taken for.
        phase: (n,) of the gear's ripple [rad].
    """

    contact: Traced = field(default_factory=lambda: np.zeros(6))
    drift: Traced = field(default_factory=lambda: np.ones(1))
    constant: Traced = field(default_factory=lambda: np.ones(0))
    phase: Traced = field(default_factory=lambda: np.zeros(0))


class Spread(NamedTuple):
    """Differences between the arms of a study and their model.

    Attributes:
        mass: every body's mass and inertia are off by this share, up or down at random.
        friction: every joint's viscous and Coulomb friction is off by this share, up or down at random.
        payload: least and largest mass of a load on the tool that nobody told the model about [kg].
        payload_at: its centre in the tool frame [m].
        drift: least and largest factor that friction has drifted to since thresholds were learned.
        drift_time: [s] in which it does so, linearly from the start of a run; 0: it has already.
        stribeck: dry friction at rest exceeds Coulomb's by this share.
        stribeck_speed: at which the excess has fallen to 1/e [rad/s].
        missing_coulomb: least and largest Coulomb friction [N m] that the model lacks, of the strongest joint; of the
            others in proportion to what their motors can do (`armwright.detection.studied_arm.joint_sizes`).
        centre: every body's centre of mass is off by this distance [m], in a random direction.
        ripple: amplitude [N m] of a torque that is periodic in the joint's angle, of the strongest joint; of the others
            in proportion. The phase is random.
        ripple_waves: its periods in a turn of the joint: two in a turn of the motor, with a gear of 1:100.
        load_friction: dry friction grows by this share of the torque that the joint transmits.
        torque_constant: every motor's torque is off by this share of what it is taken for, up or down at random.

    Payload, drift and missing Coulomb friction are absent while thresholds are learned.
    """

    mass: float = 0.1
    friction: float = 0.2
    payload: tuple[float, float] = (0.0, 0.0)
    payload_at: tuple[float, float, float] = (0.0, 0.0, 0.05)
    drift: tuple[float, float] = (1.0, 1.0)
    drift_time: float = 0.0
    stribeck: float = 0.0
    stribeck_speed: float = 0.05
    missing_coulomb: tuple[float, float] = (0.0, 0.0)
    centre: float = 0.0
    ripple: float = 0.0
    ripple_waves: float = 200.0
    load_friction: float = 0.0
    torque_constant: float = 0.0

    def rehearsal(self) -> Spread:
        """Return the same arms as they are while thresholds are learned."""
        return self._replace(payload=(0.0, 0.0), drift=(1.0, 1.0), missing_coulomb=(0.0, 0.0))

    def check(self) -> None:
        """Refuse what no arm can be."""
        for name in ("mass", "friction", "load_friction", "torque_constant"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise InputError(f"spread: {name} must lie in [0, 1), got {getattr(self, name)}")
        for name in ("payload", "drift", "missing_coulomb"):
            low, high = getattr(self, name)
            if not 0.0 <= low <= high < np.inf:
                raise InputError(f"spread: {name} needs 0 ≤ least ≤ largest, got {low} and {high}")
        for name in ("drift_time", "stribeck", "centre", "ripple", "ripple_waves"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise InputError(f"spread: {name} must be ≥ 0 and finite, got {getattr(self, name)}")
        if not self.stribeck_speed > 0.0:
            raise InputError(f"spread: stribeck_speed must be > 0, got {self.stribeck_speed}")

    def check_fits(self, robot: Robot) -> None:
        """Refuse a factor on a friction that the arm does not have."""
        if _rubs(robot):
            return
        for name, none in (("drift", (1.0, 1.0)), ("stribeck", 0.0)):
            if getattr(self, name) != none:
                raise InputError(
                    f"spread: {name} = {getattr(self, name)} multiplies the friction of {robot.name!r}, which has "
                    "none; give it friction"
                )


ROUGH = Spread(centre=0.01, ripple=0.7, load_friction=0.05, torque_constant=0.03)
"""Errors that no fit of masses and friction coefficients can take away, on top of those that it can. Sizes are our
assumption. centre: a link drawn without its cables and screws. ripple: two waves in a turn of the motor are what
harmonic drives do (Tuttle and Seering, IEEE Trans. Robotics and Automation 12, 1996); of the size of the residuals that
a fitted model leaves on a UR10e, 0.1 to 1 N m rms. load_friction: of the order that Hamon et al. (ICRA 2010) and
Bittencourt et al. (IROS 2010) identified. torque_constant: as motors of one type differ."""
PLANTS = {"plain": Spread(), "rough": ROUGH}
"""Name → how the arms of a study differ from their model: in masses and friction coefficients, or in everything."""


def _rubs(robot: Robot) -> bool:
    tree = tree_of(robot)
    return bool(np.any(tree.viscous) or np.any(tree.coulomb))


@lru_cache(maxsize=64)
def disturbance(spread: Spread, sizes: tuple[float, ...]) -> Callable[..., Any] | None:
    """Return the joint torque (n,) of gears, motors and growing viscous friction, `external` of the loop; or None.

    (k − 1) τ + a sin(w q + φ) − s (d − 1) F_v q̇: torque constants, ripple and drift.
    """
    grows = spread.drift != (1.0, 1.0) and spread.drift_time > 0.0
    if not grows and spread.torque_constant == 0.0 and spread.ripple == 0.0:
        return None
    amplitude = spread.ripple * np.array(sizes)

    def external(arm: TouchedTree, t: Traced, q: Traced, qd: Traced, tau: Traced) -> Traced:
        out: Any = np.zeros(arm.n)
        if spread.torque_constant > 0.0:
            out = out + (arm.constant - 1.0) * tau
        if spread.ripple > 0.0:
            out = out + amplitude * np.sin(spread.ripple_waves * q + arm.phase)
        if grows:
            out = out - np.minimum(t / spread.drift_time, 1.0) * (arm.drift[0] - 1.0) * (arm.viscous @ qd)
        return out

    return external


@lru_cache(maxsize=64)
def dry_level(spread: Spread) -> Callable[..., Any] | None:
    """Return the level (n,) of dry friction beyond Coulomb's, `dry_friction` of the loop; None for none.

    F_c (s (d − 1) + σ exp(−(q̇/v_s)²)) + μ |τ|: drift, sticking, and what grows with the transmitted torque.
    """
    grows = spread.drift != (1.0, 1.0) and spread.drift_time > 0.0
    if not grows and spread.stribeck == 0.0 and spread.load_friction == 0.0:
        return None

    def level(arm: TouchedTree, t: Traced, qd: Traced, tau: Traced) -> Traced:
        out: Any = np.zeros(arm.n)
        if grows:
            out = out + np.minimum(t / spread.drift_time, 1.0) * (arm.drift[0] - 1.0) * arm.coulomb
        if spread.stribeck > 0.0:
            out = out + spread.stribeck * np.exp(-((qd / spread.stribeck_speed) ** 2)) * arm.coulomb
        if spread.load_friction > 0.0:
            out = out + spread.load_friction * np.abs(arm.constant * tau)
        return out

    return level


class Population:
    """Arms around a model: draws the numbers in which the lanes differ.

    The regrouped inertial parameters are linear in the bodies' masses, first moments and inertia tensors: one tree per
    body, or per parameter, gives those of any mixture.
    """

    def __init__(self, robot: Robot, spread: Spread) -> None:
        """Find the entries of the tree that vary."""
        spread.check()
        spread.check_fits(robot)
        self.robot, self.spread = robot, spread
        self.sizes = joint_sizes(robot)
        tree = tree_of(robot, regroup=True)
        fields = {name: getattr(tree, name) for name in Tree.__dataclass_fields__}
        self.tree = TouchedTree(**fields, constant=np.ones(robot.n), phase=np.zeros(robot.n))
        shares = [tree_of(_alone(robot, b), regroup=True) for b in range(len(robot.bodies))]
        moved = self._moved() if spread.centre > 0.0 else []
        self.places: list[tuple[str, int]] = []
        base, basis, kinds, load, shifts = [], [], [], list[float](), []
        loaded = tree_of(robot.with_payload(1.0, spread.payload_at), regroup=True) if any(spread.payload) else tree
        for name in ("m", "h", "J"):
            flat = np.array([np.ravel(getattr(share, name)) for share in shares])
            extra = np.ravel(getattr(loaded, name)) - np.ravel(getattr(tree, name))  # linear in the payload's mass
            shift = np.array([part[name] for part in moved]).reshape(-1, flat.shape[1])
            varies = ((flat != 0.0).any(axis=0) & (spread.mass > 0.0)) | (extra != 0.0) | (shift != 0.0).any(axis=0)
            for index in np.flatnonzero(varies):
                load.append(extra[index])
                self.places.append((name, int(index)))
                base.append(np.ravel(getattr(tree, name))[index])
                basis.append(flat[:, index])
                shifts.append(shift[:, index])
                kinds.append(-1)
        self._load = np.array(load)
        self._mass = np.array(basis).reshape(len(basis), len(shares)).T
        self._shift = np.array(shifts).reshape(len(shifts), len(moved)).T  # 9 rows a body: first moment, inertia tensor
        rubbing = spread.friction > 0.0 or spread.drift != (1.0, 1.0)
        for name in ("viscous", "coulomb"):
            flat = np.ravel(getattr(tree, name))
            lacks = name == "coulomb" and spread.missing_coulomb[1] > 0.0
            for index in np.flatnonzero(((flat != 0.0) & rubbing) | lacks):
                self.places.append((name, int(index)))
                base.append(flat[index])
                kinds.append(int(index) % robot.n)
        self._base, self._kinds = np.array(base), np.array(kinds, dtype=int)
        self._dry = np.array([name == "coulomb" for name, _ in self.places], dtype=bool)

    def _moved(self) -> list[dict[str, Array]]:
        """What one unit of a body's first moment (3) and inertia tensor about its origin (xx xy xz yy yz zz) adds."""
        out: list[dict[str, Array]] = []
        for b in range(len(self.robot.bodies)):
            none, about = np.zeros(3), np.zeros((3, 3))

            def tree(mass: float, com: Array, inertia: Array, b: int = b) -> dict[str, Array]:
                made = tree_of(_alone(self.robot, b, mass=mass, com=com, inertia=inertia), regroup=True)
                return {name: np.ravel(getattr(made, name)) for name in ("m", "h", "J")}

            still, point = tree(0.0, none, about), tree(1.0, none, about)
            for axis in np.eye(3):
                # a kilogram at 1 m has the first moment `axis`, and an inertia 1 − a aᵀ that is taken off it again
                there = tree(1.0, axis, -(np.eye(3) - np.outer(axis, axis)))
                out.append({name: there[name] - point[name] for name in there})
            for j, k in PAIRS:
                unit = np.zeros((3, 3))
                unit[j, k] = unit[k, j] = 1.0
                there = tree(0.0, none, unit)
                out.append({name: there[name] - still[name] for name in there})
        return out

    def draw(self, contacts: Array, rngs: Sequence[np.random.Generator]) -> Lanes:
        """Return lanes of arms with their contacts (count, 6), each drawn by a generator of its own."""
        return self.draw_loaded(contacts, rngs)[0]

    def draw_loaded(self, contacts: Array, rngs: Sequence[np.random.Generator]) -> tuple[Lanes, Array]:
        """Return the lanes, and the load (count,) that each arm carries and its model does not know [kg]."""
        s, n, count = self.spread, self.robot.n, len(rngs)
        signs = np.array([rng.choice([-1.0, 1.0], size=self._mass.shape[0] + n) for rng in rngs])
        mass = s.mass * signs[:, : self._mass.shape[0]]
        friction = 1.0 + s.friction * signs[:, self._mass.shape[0] :]
        values = np.tile(self._base, (count, 1))
        heavy = self._kinds < 0
        values[:, heavy] += sum(mass[:, b, None] * row for b, row in enumerate(self._mass))  # BLAS rounds by shape
        # drawn only where they vary: the other numbers of a run stay what they are without them
        loads = np.zeros(count)
        if s.payload[1] > 0.0:
            loads = np.array([rng.uniform(*s.payload) for rng in rngs])
            values[:, heavy] += loads[:, None] * self._load
        low, high = s.drift
        drift = np.array([rng.uniform(low, high) if high > low else high for rng in rngs])
        factor = friction[:, self._kinds[~heavy]]
        values[:, ~heavy] *= factor if s.drift_time > 0.0 else factor * drift[:, None]
        if s.missing_coulomb[1] > 0.0:
            lack = np.array([rng.uniform(*s.missing_coulomb, size=n) for rng in rngs]) * self.sizes
            values[:, self._dry] += lack
        if s.centre > 0.0:
            values[:, heavy] += self._shifted(1.0 + mass, rngs)
        extra: dict[str, Array] = {}
        if s.torque_constant > 0.0:
            extra["constant"] = 1.0 + s.torque_constant * np.array([rng.choice([-1.0, 1.0], size=n) for rng in rngs])
        if s.ripple > 0.0:
            extra["phase"] = np.array([rng.uniform(-np.pi, np.pi, size=n) for rng in rngs])
        places = (*self.places, *(("contact", k) for k in range(6)), ("drift", 0))
        places += tuple((name, k) for name in extra for k in range(n))
        table = np.concatenate([values, contacts, drift[:, None], *extra.values()], axis=1)
        return Lanes(self.tree, places, table), loads

    def _shifted(self, share: Array, rngs: Sequence[np.random.Generator]) -> Array:
        """What centres of mass off by d in random directions add to the inertial parameters (count, entries).

        First moment m d; inertia about the origin m (2 c·d 1 − c dᵀ − d cᵀ + |d|² 1 − d dᵀ).
        """
        out = 0.0
        d = np.array([rng.normal(size=(len(self.robot.bodies), 3)) for rng in rngs])
        d *= self.spread.centre / np.linalg.norm(d, axis=2, keepdims=True)
        for b, body in enumerate(self.robot.bodies):
            m, new = body.mass * share[:, b], body.com + d[:, b]
            square = (new * new).sum(axis=1) - float(body.com @ body.com)
            for k in range(3):
                out = out + (m * d[:, b, k])[:, None] * self._shift[9 * b + k]
            for row, (j, k) in enumerate(PAIRS):
                tensor = (square if j == k else 0.0) - (new[:, j] * new[:, k] - body.com[j] * body.com[k])
                out = out + (m * tensor)[:, None] * self._shift[9 * b + 3 + row]
        return np.asarray(out)


PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def _alone(robot: Robot, b: int, **changed: Any) -> Robot:
    """Return the arm with one body alone that has mass; its numbers may be changed."""
    nothing = np.zeros((3, 3))
    bodies = tuple(
        replace(body, **changed) if k == b else replace(body, mass=0.0, inertia=nothing)
        for k, body in enumerate(robot.bodies)
    )
    return replace(robot, bodies=bodies)
