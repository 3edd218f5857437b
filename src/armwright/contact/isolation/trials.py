# SPDX-License-Identifier: Apache-2.0
"""Pushes on a six-joint arm whose link and place are known, to see what `isolate` says about them.

`on_link` compares a model that is right with one that is not, `on_plant` an arm that is not as declared: the level of
the estimate with the sensors' noise, however badly a single contact explains it, with what `explore` does, the change
since before the contact, its covariance rehearsed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.contact.isolation.change import Episode, change_covariance
from armwright.contact.isolation.isolate import Isolation, isolate
from armwright.contact.isolation.noise import link_torques, torque_covariance
from armwright.contact.isolation.surface import drawn_place, pushes, surfaces
from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.world.link_capsules import link_capsules

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

SENSOR = np.array([0.3, 0.3, 0.3, 0.1, 0.1, 0.1])  # standard deviation of the torque estimate [N m]
FRICTION = np.array([7.0, 7.0, 5.0, 1.5, 1.5, 1.5])  # of the joints [N m]
STRONG, ANY = (20.0, 100.0), (5.0, 200.0)  # [N] on any link, evenly; anywhere on the surface, evenly in the logarithm
BRAKE = 0.06  # [s] in which the arm comes to a stand at an alarm
GAP = 0.1  # [s] from the middle of the window before an alarm to the moment that is isolated
MEAN = 10  # independent samples in the window before the alarm
EPISODES = 30  # of a rehearsal
SURE = 4.0  # standard deviations by which a contact loads its link's own joint to count as one that does


class Met(NamedTuple):
    """A push: link, place (3,) [m] and external torque (6,) [N m]."""

    body: int
    place: Array
    tau: Array


class Said(NamedTuple):
    """What was said of a push: outcome, link, certainty, and how far the named place is from the nearest push [m]."""

    outcome: str
    body: int | None
    certainty: float | None
    off: float | None
    loaded: bool | None = None
    distinct: bool | None = None


class Plant(NamedTuple):
    """What is not as declared: shares of mass and friction (6,), a payload [kg], lean of forces, contacts at a time."""

    mass: Any = np.zeros(6)
    friction: Any = np.zeros(6)
    payload: float = 0.0
    lean: float = 0.5
    contacts: int = 1


PLANTS = {
    "as declared": Plant(),
    "masses ±10 %, friction ±20 %": Plant(),  # drawn
    "forces lean to 0.9": Plant(lean=0.9),
    "two contacts": Plant(contacts=2),
    "2 kg payload": Plant(payload=2.0),
    "2 kg picked up after the rehearsal": Plant(payload=2.0),
}


def drawn_push(arm: Robot, rng: np.random.Generator, q: Array, *, light: bool = False, lean: float = 0.5) -> Met:
    """Draw a push: 20–100 N on any moving link, or 5–200 N anywhere on the surface."""
    faces = surfaces(arm, q, link_capsules(arm))
    face, c, m = drawn_place(rng, faces[1:], faces, even=not light)
    t = np.cross(m, rng.normal(size=3))
    f = -m + rng.uniform(0.0, lean) * t / np.linalg.norm(t)
    size = np.exp(rng.uniform(*np.log(ANY))) if light else rng.uniform(*STRONG)
    return Met(face.body, c, pushes(arm, q, face.body, c[None])[0][0].T @ (size * f / np.linalg.norm(f)))


def said_of(found: Isolation, met: list[Met], **more: Any) -> Said:
    """Return what an isolation says beside what was met."""
    if found.point is None:
        return Said(found.outcome, None, None, None, **more)
    off = min(float(np.linalg.norm(found.point - each.place)) for each in met)
    return Said(found.outcome, found.body, found.certainty, off, **more)


def on_link(arm: Robot, rng: np.random.Generator, *, light: bool = False) -> tuple[Met, Said, Said]:
    """Push an arm in a random configuration; ask a perfect model, and one with 10 % mass and 20 % friction error.

    *Distinct* pushes are those whose exact torques leave at most 1 % for all other links together; *loaded* ones load
    their link's own joint by more than four standard deviations of the estimate.
    """
    q = rng.uniform(-np.pi, np.pi, 6)
    met = drawn_push(arm, rng, q, light=light)
    noise = SENSOR * rng.normal(size=6)
    bias = rng.uniform(-0.1, 0.1, 6) @ link_torques(arm, q) + rng.uniform(-0.2, 0.2, 6) * FRICTION
    answers = []
    for wrong in (0, 1):
        known: dict[str, Any] = {"mass": 0.1, "friction": 0.2, "friction_torque": FRICTION} if wrong else {}
        S = torque_covariance(arm, q, sensor=SENSOR, **known)
        ideal = isolate(arm, q, met.tau, S, confidence=0.99)
        found = isolate(arm, q, met.tau + noise + wrong * bias, S)
        loaded = bool(abs(met.tau[met.body]) > SURE * np.sqrt(S[met.body, met.body]))
        distinct = ideal.outcome in ("link", "located") and ideal.body == met.body
        answers.append(said_of(found, [met], loaded=loaded, distinct=distinct))
    return met, answers[0], answers[1]


def drawn_plant(rng: np.random.Generator, name: str) -> tuple[Plant, Plant]:
    """Return a plant by name, and the one that is rehearsed: the same but for a payload that is picked up later."""
    if name not in PLANTS:
        raise InputError(f"isolation: no plant {name!r:.60}; there are {', '.join(PLANTS)}")
    plant = PLANTS[name]
    if name.startswith("masses"):
        plant = Plant(mass=rng.uniform(-0.1, 0.1, 6), friction=rng.uniform(-0.2, 0.2, 6))
    return plant, Plant() if "after" in name else plant


def rehearsed_covariance(arm: Robot, rng: np.random.Generator, plant: Plant) -> Array:
    """Return the covariance (6, 6) of changes of the estimate, from a rehearsal with brakes."""
    rows = [_estimates(arm, rng, plant)[1:] for _ in range(EPISODES)]
    return change_covariance([Episode(b[None], a[None]) for b, a in rows], 1.0, window=1.0, gap=0.0)


def on_plant(arm: Robot, rng: np.random.Generator, plant: Plant, covariance: Array) -> tuple[Met, Said, Said]:
    """Push a braking arm that is not as declared; isolate the level with sensor noise, and the rehearsed change."""
    q, before, after = _estimates(arm, rng, plant)
    met = [drawn_push(arm, rng, q, lean=plant.lean) for _ in range(plant.contacts)]
    after = after + sum(each.tau for each in met)
    level = isolate(arm, q, after, SENSOR, single=0.0)
    return met[0], said_of(level, met), said_of(isolate(arm, q, after - before, covariance), met)


def _estimates(arm: Robot, rng: np.random.Generator, plant: Plant) -> tuple[Array, Array, Array]:
    """Configuration, and the estimate before and after a moment at which the arm begins to brake, without contact."""
    q, qd = rng.uniform(-np.pi, np.pi, 6), rng.normal(0.0, 0.3, 6)
    left, braking = rng.uniform(), rng.uniform()
    before = _wrong(arm, plant, q - GAP * qd, qd, np.zeros(6), 1.0)
    after = _wrong(arm, plant, q, left * qd, -braking * qd / BRAKE, rng.uniform())
    return q, before + SENSOR * rng.normal(size=6) / np.sqrt(MEAN), after + SENSOR * rng.normal(size=6)


def _wrong(arm: Robot, plant: Plant, q: Array, qd: Array, qdd: Array, friction: float) -> Array:
    """What the estimate shows of an arm that is not as declared."""
    out = friction * plant.friction * FRICTION * np.sign(qd)
    if plant.mass.any():
        out = out - plant.mass @ link_torques(arm, q, qd, qdd)
    if plant.payload:
        J = pushes(arm, q, 5, fk(arm, q)[None, :3, 3])[0][0]
        out = out - plant.payload * J.T @ (J @ qdd + np.array([0.0, 0.0, 9.81]))
    return np.asarray(out)
