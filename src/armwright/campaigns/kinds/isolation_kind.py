# SPDX-License-Identifier: Apache-2.0
"""``isolation``: pushes whose link and place are known, compared with what `isolate` says about them in two ways.

kind = "isolation"
items = 3000                                # one push each
[settings]
robot = "ur5"
plants = []                                 # names of `PLANTS`, in turn, ``per_plant`` pushes to each that is drawn
per_plant = 20
light = false                               # 5–200 N anywhere in place of 20–100 N on any link

``first_…`` and ``second_…`` are a perfect and a wrong model (`on_link`), or with plants (`on_plant`) the level with
sensor noise and the rehearsed change, and ``third_…`` the change tested by an earlier moment. Of each: outcome, link,
certainty, off (of the named place from the nearest push [m]), and whether the push was *loaded* and *distinct*
(`on_link`).

`on_plant` takes an arm that is not as declared. It compares the level of the estimate with the sensors' noise, however
badly a single contact explains it, with what `explore` does: the change since before the contact, with a rehearsed
covariance. `summary` counts how often links and places were right, and whether certainty was earned.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.campaigns.campaign_plan import CampaignPlan, item_rng
from armwright.campaigns.kind import Kind, Rows, one_by_one, settings_of
from armwright.contact.isolation.contact_growth import grown_as_one
from armwright.contact.isolation.isolate import Isolation, isolate
from armwright.contact.isolation.link_surface import drawn_place, pushes, surfaces
from armwright.contact.isolation.torque_change import Episode, change_covariance, link_torques, torque_covariance
from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.robot.load import load
from armwright.statistics import share
from armwright.world.arm_capsules import link_capsules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

TRIAL_TORQUE_NOISE = np.array([0.3, 0.3, 0.3, 0.1, 0.1, 0.1])  # standard deviation of the torque estimate [N m]
TRIAL_FRICTION = np.array([7.0, 7.0, 5.0, 1.5, 1.5, 1.5])  # of the joints [N m]
STRONG_FORCES, ANY_FORCES = (
    (20.0, 100.0),
    (5.0, 200.0),
)  # [N] on any link, evenly; anywhere on the surface, evenly in the logarithm
TRIAL_BRAKE_SECONDS = 0.06  # [s] in which the arm comes to a stand at an alarm
WINDOW_TO_ALARM = 0.1  # [s] from the middle of the window before an alarm to the moment that is isolated
MEAN = 10  # independent samples in the window before the alarm
EPISODES = 30  # of a rehearsal
SURE_DEVIATIONS = 4.0  # standard deviations by which a contact must load its link's own joint to count as loaded


class Met(NamedTuple):
    """A push: link, place (3,) [m] and external torque (6,) [N m]."""

    body: int
    place: Array
    tau: Array


class Said(NamedTuple):
    """Answer of an isolation: outcome, link, certainty, distance of its place from the nearest push [m]."""

    outcome: str
    body: int | None
    certainty: float | None
    off: float | None
    loaded: bool | None = None
    distinct: bool | None = None


class PlantErrors(NamedTuple):
    """Errors of a declared arm: shares of mass and friction (6,), payload [kg], lean of forces, contacts at a time."""

    mass: Array = np.zeros(6)
    friction: Array = np.zeros(6)
    payload: float = 0.0
    lean: float = 0.5
    contacts: int = 1


PLANTS = {
    "as declared": PlantErrors(),
    "masses ±10 %, friction ±20 %": PlantErrors(),  # drawn
    "forces lean to 0.9": PlantErrors(lean=0.9),
    "two contacts": PlantErrors(contacts=2),
    "2 kg payload": PlantErrors(payload=2.0),
    "2 kg picked up after the rehearsal": PlantErrors(payload=2.0),
}


def drawn_push(arm: Robot, rng: np.random.Generator, q: Array, *, light: bool = False, lean: float = 0.5) -> Met:
    """Draw a push: 20–100 N on any moving link, or 5–200 N anywhere on the surface."""
    faces = surfaces(arm, q, link_capsules(arm))
    face, c, m = drawn_place(rng, faces[1:], faces, even=not light)
    t = np.cross(m, rng.normal(size=3))
    f = -m + rng.uniform(0.0, lean) * t / np.linalg.norm(t)
    size = np.exp(rng.uniform(*np.log(ANY_FORCES))) if light else rng.uniform(*STRONG_FORCES)
    return Met(face.body, c, pushes(arm, q, face.body, c[None])[0][0].T @ (size * f / np.linalg.norm(f)))


def said_of(found: Isolation, met: list[Met], **more: Any) -> Said:
    """Return what an isolation says, compared with what was met."""
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
    noise = TRIAL_TORQUE_NOISE * rng.normal(size=6)
    bias = rng.uniform(-0.1, 0.1, 6) @ link_torques(arm, q) + rng.uniform(-0.2, 0.2, 6) * TRIAL_FRICTION
    answers = []
    for wrong in (0, 1):
        known: dict[str, Any] = {"mass": 0.1, "friction": 0.2, "friction_torque": TRIAL_FRICTION} if wrong else {}
        S = torque_covariance(arm, q, sensor=TRIAL_TORQUE_NOISE, **known)
        ideal = isolate(arm, q, met.tau, S, confidence=0.99)
        found = isolate(arm, q, met.tau + noise + wrong * bias, S)
        loaded = bool(abs(met.tau[met.body]) > SURE_DEVIATIONS * np.sqrt(S[met.body, met.body]))
        distinct = ideal.outcome in ("link", "located") and ideal.body == met.body
        answers.append(said_of(found, [met], loaded=loaded, distinct=distinct))
    return met, answers[0], answers[1]


def drawn_plant(rng: np.random.Generator, name: str) -> tuple[PlantErrors, PlantErrors]:
    """Return a plant by name, and the one that is rehearsed: the same but for a payload that is picked up later."""
    if name not in PLANTS:
        raise InputError(f"isolation: no plant {name!r:.60}; there are {', '.join(PLANTS)}")
    plant = PLANTS[name]
    if name.startswith("masses"):
        plant = PlantErrors(mass=rng.uniform(-0.1, 0.1, 6), friction=rng.uniform(-0.2, 0.2, 6))
    return plant, PlantErrors() if "after" in name else plant


def rehearsed_covariance(arm: Robot, rng: np.random.Generator, plant: PlantErrors) -> Array:
    """Return the covariance (6, 6) of changes of the estimate, from a rehearsal with brakes."""
    rows = [_estimates(arm, rng, plant)[1:3] for _ in range(EPISODES)]
    return change_covariance([Episode(b[None], a[None]) for b, a in rows], 1.0, window=1.0, gap=0.0)


def on_plant(
    arm: Robot, rng: np.random.Generator, plant: PlantErrors, covariance: Array
) -> tuple[Met, Said, Said, Said]:
    """Push a braking arm that is not as declared; isolate the level with sensor noise, and the rehearsed change.

    Third, the change again, its claim withdrawn where the torques of an earlier moment did not grow into it.
    """
    q, before, after, wrong = _estimates(arm, rng, plant)
    met = [drawn_push(arm, rng, q, lean=plant.lean) for _ in range(plant.contacts)]
    after = after + sum(each.tau for each in met)
    level = isolate(arm, q, after, TRIAL_TORQUE_NOISE, single=0.0)
    change = isolate(arm, q, after - before, covariance)
    # a moment earlier: every force has a share of its own of what it grows to
    earlier = wrong + TRIAL_TORQUE_NOISE * rng.normal(size=6) + sum(rng.uniform() * each.tau for each in met)
    return (
        met[0],
        said_of(level, met),
        said_of(change, met),
        said_of(grown_as_one(change, arm, q, after - before, earlier - before, covariance), met),
    )


def _estimates(arm: Robot, rng: np.random.Generator, plant: PlantErrors) -> tuple[Array, Array, Array, Array]:
    """Return configuration, the estimate before and after the arm begins to brake, and the latter without noise.

    Nothing touches.
    """
    q, qd = rng.uniform(-np.pi, np.pi, 6), rng.normal(0.0, 0.3, 6)
    left, braking = rng.uniform(), rng.uniform()
    before = _wrong(arm, plant, q - WINDOW_TO_ALARM * qd, qd, np.zeros(6), 1.0)
    after = _wrong(arm, plant, q, left * qd, -braking * qd / TRIAL_BRAKE_SECONDS, rng.uniform())
    return (
        q,
        before + TRIAL_TORQUE_NOISE * rng.normal(size=6) / np.sqrt(MEAN),
        after + TRIAL_TORQUE_NOISE * rng.normal(size=6),
        after,
    )


def _wrong(arm: Robot, plant: PlantErrors, q: Array, qd: Array, qdd: Array, friction: float) -> Array:
    """Return what the estimate shows of an arm that is not as declared."""
    out = friction * plant.friction * TRIAL_FRICTION * np.sign(qd)
    if plant.mass.any():
        out = out - plant.mass @ link_torques(arm, q, qd, qdd)
    if plant.payload:
        J = pushes(arm, q, 5, fk(arm, q)[None, :3, 3])[0][0]
        out = out - plant.payload * J.T @ (J @ qdd + np.array([0.0, 0.0, 9.81]))
    return np.asarray(out)


WAYS, KNOWN = ("first", "second", "third"), ("link", "located")
PROBABILITY_EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
WRONG_PLACE_DISTANCE = 0.03  # [m] a place that is farther from the contact is wrong


def summary(table: Any) -> dict[str, list[dict[str, Any]]]:
    """Return plain rows with exact 95 % intervals.

    ``links``: right links among *distinct*, *loaded*, *claimed* and all pushes. ``places``: located ones that are
    wrong, by plant. ``certainty``: right places by the certainty that was claimed.
    """
    rows = table.to_pylist()
    links, places, certainty = [], [], []
    for way in WAYS:
        if all(row[f"{way}_outcome"] is None for row in rows):
            continue
        right = np.array([row[f"{way}_body"] == row["body"] for row in rows])
        sets = {name: np.array([bool(row[f"{way}_{name}"]) for row in rows]) for name in ("distinct", "loaded")}
        sets["claimed"] = np.array([row[f"{way}_outcome"] in KNOWN for row in rows])
        sets["all"] = np.ones(len(rows), dtype=bool)
        for name, chosen in sets.items():
            links.append({"way": way, "pushes": name, **_counted(right[chosen])})
        for plant in dict.fromkeys(row["plant"] for row in rows):
            these = [row for row in rows if row["plant"] == plant]
            off = [row[f"{way}_off"] > WRONG_PLACE_DISTANCE for row in these if row[f"{way}_outcome"] == "located"]
            places.append({"way": way, "plant": plant, "pushes": len(these), **_counted(np.array(off, dtype=bool))})
        said = np.array([[row[f"{way}_certainty"], row[f"{way}_off"]] for row in rows], dtype=np.float64)
        said = said[np.isfinite(said[:, 0])]
        for low, high in pairwise(PROBABILITY_EDGES):
            part = said[(said[:, 0] >= low) & ((said[:, 0] < high) | (high == 1.0))]
            claimed = float(part[:, 0].mean()) if len(part) else None
            row = {"way": way, "from": low, "to": high, "claimed": claimed}
            certainty.append({**row, **_counted(part[:, 1] <= WRONG_PLACE_DISTANCE)})
    return {"links": links, "places": places, "certainty": certainty}


def _counted(hits: NDArray[np.bool_]) -> dict[str, Any]:
    count, total = int(np.sum(hits)), len(hits)
    return {"count": count, "of": total, **share(count, total)._asdict()}


DEFAULTS: Mapping[str, Any] = {"robot": "ur5", "load": {}, "plants": [], "per_plant": 20, "light": False}
TYPES = dict(zip(Said._fields, ("string", "int64", "float64", "float64", "bool", "bool"), strict=True))
SCHEMA = {"plant": "string", "body": "int64", "torque": "float64"} | {
    f"{way}_{name}": kind for way in WAYS for name, kind in TYPES.items()
}
DRAWN = 1  # in the seeds of plants, with their number: no item has two numbers in its seed


def start(plan: CampaignPlan, prepared: bytes) -> Rows:
    """Load the arm; items differ in configuration, push and noise, groups of them in their plant."""
    s = settings_of(plan, DEFAULTS)
    arm = load(s["robot"], **s["load"])
    if arm.n != 6:
        raise InputError(f"isolation: needs an arm of six joints, {arm.name!r} has {arm.n}")

    @lru_cache(maxsize=64)
    def drawn(group: int) -> tuple[str, Any, Any]:
        name = s["plants"][group % len(s["plants"])]
        rng = np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=(DRAWN, group)))
        plant, known = drawn_plant(rng, name)
        return name, plant, rehearsed_covariance(arm, rng, known)

    def row(item: int) -> dict[str, Any]:
        name, rng = "", item_rng(plan.seed, item)
        if s["plants"]:
            name, plant, covariance = drawn(item // s["per_plant"])
            met, *ways = on_plant(arm, rng, plant, covariance)
        else:
            met, *ways = on_link(arm, rng, light=s["light"])
        out = {"plant": name, "body": met.body, "torque": float(np.linalg.norm(met.tau))}
        out |= dict.fromkeys((name for name in SCHEMA if name not in out), None)
        for way, said in zip(WAYS, ways, strict=False):  # without plants there are two ways
            out |= {f"{way}_{field}": value for field, value in said._asdict().items()}
        return out

    return one_by_one(row, SCHEMA)


UNITS = {"torque": "N m"} | {f"{way}_off": "m" for way in WAYS}
KIND = Kind("isolation", SCHEMA, start, version=2, chunk=50, summary=summary, units=UNITS)
