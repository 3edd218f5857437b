# SPDX-License-Identifier: Apache-2.0
"""How often a *located* place is wrong on plants that are not as declared; used by ``make_touch.py plants``.

Every push is isolated twice: as the level of the estimate with the sensors' noise, however badly a single contact
explains it; and as `explore` does, the change since before the contact, with a rehearsed covariance and the test of a
single contact.
Every push has a seed of its own, made of the seed, the plant and its number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from make_touch_worlds import said

import armwright as aw
from armwright.contact.isolation.change import Episode, change_covariance
from armwright.contact.isolation.isolate import Isolation, isolate
from armwright.contact.isolation.noise import link_torques
from armwright.contact.isolation.surface import drawn_place, pushes, surfaces
from armwright.kinematics import fk
from armwright.world.link_capsules import link_capsules

SENSOR = np.array([0.3, 0.3, 0.3, 0.1, 0.1, 0.1])  # standard deviation of the torque estimate [N m]
FRICTION = np.array([7.0, 7.0, 5.0, 1.5, 1.5, 1.5])  # of the joints [N m]
BRAKE = 0.06  # [s] in which the arm comes to a stand at an alarm
GAP = 0.1  # [s] from the middle of the window before an alarm to the moment that is isolated
MEAN = 10  # independent samples in the window before the alarm
EPISODES = 30  # of a rehearsal
A_PLANT = 20  # pushes
FAR = 0.03  # [m]


class Plant(NamedTuple):
    """What is not as declared: shares of mass and friction (6,), a payload [kg], lean of forces, contacts at a time."""

    mass: Any = np.zeros(6)
    friction: Any = np.zeros(6)
    payload: float = 0.0
    lean: float = 0.5
    contacts: int = 1


def drawn(rng: np.random.Generator, name: str) -> tuple[Plant, Plant]:
    """A plant by name, and the one that is rehearsed: the same but for a payload that is picked up later."""
    if name == "masses ±10 %, friction ±20 %":
        plant = Plant(mass=rng.uniform(-0.1, 0.1, 6), friction=rng.uniform(-0.2, 0.2, 6))
        return plant, plant
    plant = {
        "as declared": Plant(),
        "forces lean to 0.9": Plant(lean=0.9),
        "two contacts": Plant(contacts=2),
        "2 kg payload": Plant(payload=2.0),
        "2 kg picked up after the rehearsal": Plant(payload=2.0),
    }[name]
    return plant, Plant() if "after" in name else plant


PLANTS = {
    "as declared": 200,
    "masses ±10 %, friction ±20 %": 300,
    "forces lean to 0.9": 300,
    "two contacts": 300,
    "2 kg payload": 200,
    "2 kg picked up after the rehearsal": 200,
}


def estimates(arm: Any, rng: np.random.Generator, plant: Plant) -> tuple[Any, Any, Any]:
    """Configuration, and the estimate before and after a moment at which the arm begins to brake, without contact."""
    q, qd = rng.uniform(-np.pi, np.pi, 6), rng.normal(0.0, 0.3, 6)
    left, braking = rng.uniform(), rng.uniform()
    before = _wrong(arm, plant, q - GAP * qd, qd, np.zeros(6), 1.0)
    after = _wrong(arm, plant, q, left * qd, -braking * qd / BRAKE, rng.uniform())
    return q, before + SENSOR * rng.normal(size=6) / np.sqrt(MEAN), after + SENSOR * rng.normal(size=6)


def _wrong(arm: Any, plant: Plant, q: Any, qd: Any, qdd: Any, friction: float) -> Any:
    """What the estimate shows of an arm that is not as declared."""
    out = friction * plant.friction * FRICTION * np.sign(qd)
    if plant.mass.any():
        out = out - plant.mass @ link_torques(arm, q, qd, qdd)
    if plant.payload:
        J = pushes(arm, q, 5, fk(arm, q)[None, :3, 3])[0][0]
        out = out - plant.payload * J.T @ (J @ qdd + np.array([0.0, 0.0, 9.81]))
    return out


def push(arm: Any, rng: np.random.Generator, q: Any, lean: float) -> tuple[Any, Any]:
    """Place and torque of 20–100 N on any link."""
    faces = surfaces(arm, q, link_capsules(arm))
    face, c, m = drawn_place(rng, faces[1:], faces, even=True)
    t = np.cross(m, rng.normal(size=3))
    f = -m + rng.uniform(0.0, lean) * t / np.linalg.norm(t)
    f *= rng.uniform(20.0, 100.0) / np.linalg.norm(f)
    return c, pushes(arm, q, face.body, c[None])[0][0].T @ f


def counted(arm: Any, seed: int, name: str, count: int) -> Any:
    """Counts (2, 2) of located places and of wrong ones among them: the level with sensor noise, then the change."""
    out = np.zeros((2, 2), dtype=int)
    number = list(PLANTS).index(name)
    covariance: Any = None
    for k in range(count):
        rng = np.random.default_rng([seed, number, k // A_PLANT])
        plant, known = drawn(rng, name)
        if k % A_PLANT == 0:
            rows = [estimates(arm, rng, known)[1:] for _ in range(EPISODES)]
            covariance = change_covariance([Episode(b[None], a[None]) for b, a in rows], 1.0, window=1.0, gap=0.0)
        rng = np.random.default_rng([seed, number, k // A_PLANT, k])
        q, before, after = estimates(arm, rng, plant)
        met = [push(arm, rng, q, plant.lean) for _ in range(plant.contacts)]
        after = after + sum(tau for _, tau in met)
        level = isolate(arm, q, after, SENSOR, single=0.0)
        change = isolate(arm, q, after - before, covariance)
        for way, found in enumerate((level, change)):
            if found.outcome == "located":
                out[way] += 1, _wrong_place(found, met)
    return out


def _wrong_place(found: Isolation, met: list[tuple[Any, Any]]) -> bool:
    return min(float(np.linalg.norm(found.point - c)) for c, _ in met) > FAR


def plants(seeds: list[int]) -> list[str]:
    """A table of all plants."""
    arm = aw.load("ur5")
    lines = [
        "| plant | pushes | level, sensor noise: located | wrong | change, rehearsed: located | wrong |",
        "|---|---|---|---|---|---|",
    ]
    for name, count in PLANTS.items():
        (old, off), (new, wrong) = sum(counted(arm, seed, name, count) for seed in seeds)
        lines.append(f"| {name} | {len(seeds) * count} | {old} | {said(off, old)} | {new} | {said(wrong, new)} |")
    return lines
