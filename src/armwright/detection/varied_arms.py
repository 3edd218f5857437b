# SPDX-License-Identifier: Apache-2.0
"""Arms of a detection study that differ from their model: masses, friction, payload, friction that drifts or sticks.

All of it, the contact included, is numbers of a lane: the tree of a lane carries its contact and its drift together
with its masses (`TouchedTree`). So one compiled loop runs all arms. `Spread` says how much they differ, `Population`
draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.terms import coulomb_sign, friction_torque
from armwright.errors import InputError
from armwright.robot.tree import Tree, tree_of
from armwright.simulation.lanes import Lanes
from armwright.types import Traced

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class TouchedTree(Tree):
    """An arm, the contact that it will meet (6,), and the factor that its friction drifts to (1,)."""

    contact: Traced = field(default_factory=lambda: np.zeros(6))
    drift: Traced = field(default_factory=lambda: np.ones(1))


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
        stribeck_speed: at which the excess has fallen to 1/e [rad/s]. A sheet's dead zone holds for it, too.

    Payload and drift are absent while thresholds are learned.
    """

    mass: float = 0.1
    friction: float = 0.2
    payload: tuple[float, float] = (0.0, 0.0)
    payload_at: tuple[float, float, float] = (0.0, 0.0, 0.05)
    drift: tuple[float, float] = (1.0, 1.0)
    drift_time: float = 0.0
    stribeck: float = 0.0
    stribeck_speed: float = 0.05

    def rehearsal(self) -> Spread:
        """Return the same arms as they are while thresholds are learned."""
        return self._replace(payload=(0.0, 0.0), drift=(1.0, 1.0))

    def check(self) -> None:
        """Refuse what no arm can be."""
        for name in ("mass", "friction"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise InputError(f"spread: {name} must lie in [0, 1), got {getattr(self, name)}")
        for name, (low, high) in (("payload", self.payload), ("drift", self.drift)):
            if not 0.0 <= low <= high < np.inf:
                raise InputError(f"spread: {name} needs 0 ≤ least ≤ largest, got {low} and {high}")
        if not (self.drift_time >= 0.0 and self.stribeck >= 0.0 and self.stribeck_speed > 0.0):
            raise InputError("spread: drift_time and stribeck must be ≥ 0, stribeck_speed > 0")


@lru_cache(maxsize=64)
def disturbance(spread: Spread) -> Callable[..., Any] | None:
    """Return the joint torque (n,) of friction that drifts or sticks, `external` of the loop; None for none."""
    drifts = spread.drift != (1.0, 1.0)
    if not drifts and spread.stribeck == 0.0:
        return None

    def external(arm: TouchedTree, t: Traced, qd: Traced) -> Traced:
        out: Any = np.zeros(arm.n)
        if drifts:
            share = np.minimum(t / spread.drift_time, 1.0) if spread.drift_time > 0.0 else 1.0
            out = out - share * (arm.drift[0] - 1.0) * friction_torque(arm, qd)
        if spread.stribeck > 0.0:
            level = spread.stribeck * np.exp(-((qd / spread.stribeck_speed) ** 2))
            out = out - level * arm.coulomb * coulomb_sign(arm, qd)
        return out

    return external


class Population:
    """Arms around a model: draws the numbers in which the lanes differ.

    The regrouped inertial parameters are linear in the bodies' masses: one tree per body gives those of any mixture.
    """

    def __init__(self, robot: Robot, spread: Spread) -> None:
        """Find the entries of the tree that vary."""
        spread.check()
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
        base, basis, kinds, load = [], [], [], list[float]()
        loaded = tree_of(robot.with_payload(1.0, spread.payload_at), regroup=True) if any(spread.payload) else tree
        for name in ("m", "h", "J"):
            flat = np.array([np.ravel(getattr(share, name)) for share in shares])
            extra = np.ravel(getattr(loaded, name)) - np.ravel(getattr(tree, name))  # linear in the payload's mass
            varies = ((flat != 0.0).any(axis=0) & (spread.mass > 0.0)) | (extra != 0.0)
            for index in np.flatnonzero(varies):
                load.append(extra[index])
                self.places.append((name, int(index)))
                base.append(np.ravel(getattr(tree, name))[index])
                basis.append(flat[:, index])
                kinds.append(-1)
        self._load = np.array(load)
        self._mass = np.array(basis).reshape(len(basis), len(shares)).T
        for name in ("viscous", "coulomb"):
            flat = np.ravel(getattr(tree, name))
            for index in np.flatnonzero((flat != 0.0) & (spread.friction > 0.0)):
                self.places.append((name, int(index)))
                base.append(flat[index])
                kinds.append(int(index) % robot.n)
        self._base, self._kinds = np.array(base), np.array(kinds, dtype=int)

    def draw(self, contacts: Array, rngs: Sequence[np.random.Generator]) -> Lanes:
        """Return lanes of arms with their contacts (count, 6), each drawn by a generator of its own."""
        signs = np.array([rng.choice([-1.0, 1.0], size=self._mass.shape[0] + self.robot.n) for rng in rngs])
        mass = self.spread.mass * signs[:, : self._mass.shape[0]]
        friction = 1.0 + self.spread.friction * signs[:, self._mass.shape[0] :]
        values = np.tile(self._base, (len(rngs), 1))
        heavy = self._kinds < 0
        values[:, heavy] += sum(mass[:, b, None] * row for b, row in enumerate(self._mass))  # BLAS rounds by shape
        (least, most), (low, high) = self.spread.payload, self.spread.drift
        # drawn only where they vary: the other numbers of a run stay what they are without them
        if most > 0.0:
            values[:, heavy] += np.array([rng.uniform(least, most) for rng in rngs])[:, None] * self._load
        drift = np.array([rng.uniform(low, high) if high > low else high for rng in rngs])
        values[:, ~heavy] *= friction[:, self._kinds[~heavy]]
        places = (*self.places, *(("contact", k) for k in range(6)), ("drift", 0))
        return Lanes(self.tree, places, np.concatenate([values, contacts, drift[:, None]], axis=1))
