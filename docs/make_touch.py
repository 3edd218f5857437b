# SPDX-License-Identifier: Apache-2.0
"""Put figures about touch into the documentation: ``python docs/make_touch.py detection 101 102 103``.

The other words are ``isolation``, ``certainty``, ``plants``, ``arm-worlds`` and ``learning``. Seeds follow; every run
and every push has one of its own, made of the seed and its number. The tables of howto/explore.md are replaced; figures
are never typed by hand.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from make_touch_pushes import plants
from make_touch_worlds import worlds

import armwright as aw
from armwright.campaigns.study import detection_study
from armwright.contact.detectors.statistics import exact_proportion, poisson_rate
from armwright.contact.isolation.isolate import isolate
from armwright.contact.isolation.noise import link_torques, torque_covariance
from armwright.contact.isolation.surface import drawn_place, pushes, surfaces
from armwright.contact.observers import closed_loop_error_observer, momentum_observer
from armwright.exploration.grid.compare import VARIANTS, compare_explorations
from armwright.simulation.detection.moves import study_law, tool_moves
from armwright.world.link_capsules import link_capsules

PAGE = Path(__file__).resolve().parent / "howto" / "explore.md"
OMEGA = np.array([22.5, 22.5, 75.0, 75.0, 75.0, 75.0])  # of the controller [rad/s]
SENSOR = np.array([0.3, 0.3, 0.3, 0.1, 0.1, 0.1])  # standard deviation of the torque estimate [N m]
FRICTION = np.array([7.0, 7.0, 5.0, 1.5, 1.5, 1.5])  # of the joints [N m]
PUSHES, WORLDS = 1000, 10  # a seed
BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


def detection(seeds: list[int]) -> list[str]:
    """Masses 10 % and friction 20 % off, a UR5's sensors, walls of 1e5 N/m at 0.25 m/s; thresholds of other moves."""
    arm = aw.load("ur5-kufieta-c")
    observers = {"momentum": momentum_observer(100.0), "closed-loop": closed_loop_error_observer(OMEGA**2)}
    lines = [
        "| seed | free motion | observer | margin | false alarms | at most (95 %) | delay, median / 99 % | missed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    total = {name: [0, 0.0] for name in observers}
    for seed in seeds:
        study = detection_study(
            arm,
            study_law(OMEGA**2, 2.0 * OMEGA),
            tool_moves(arm, 24, seed=seed),
            observers,
            {"adaptive": lambda fit: fit.detector()},
            runs=2000,
            free_runs=12000,
            learning_runs=2400,
            learning_trajectories=tool_moves(arm, 96, seed=seed + 500),
            seed=seed,
            scales=[1.0],
        )
        for curve in study.curves:
            point, late = curve.point(0), 1e3 * np.nanquantile(curve.delays[:, 0], [0.5, 0.99])
            assert curve.fit is not None
            lines.append(
                f"| {seed} | {curve.hours[0]:.1f} h | {curve.observer} | {curve.fit.margin:.2f} | {curve.alarms[0]} | "
                f"{point.false_alarms.upper:.2f} per hour | {late[0]:.1f} / {late[1]:.1f} ms | "
                f"{round(point.missed.value * len(curve.delays))} of {len(curve.delays)} |"
            )
            total[curve.observer][0] += int(curve.alarms[0])
            total[curve.observer][1] += float(curve.hours[0])
    said = [
        f"{name} {count} in {hours:.1f} hours, at most {poisson_rate(int(count), hours).upper:.2f} per hour"
        for name, (count, hours) in total.items()
    ]
    return [*lines, "", f"False alarms together: {'; '.join(said)} (95 %)."]


def learning(seeds: list[int]) -> list[str]:
    """Random worlds with thresholds that were learned anew for every seed."""
    name = "momentum with noise, back off"
    alarms, hours, wrong, runs, delays, bad = 0, 0.0, 0, 0, [], 0
    for seed in seeds:
        found = compare_explorations("ur5", {name: VARIANTS[name]}, WORLDS, seed=100 * seed, learn_seed=seed)
        (outcome,) = found.outcomes
        false = sum(row["false_alarms"] for row in outcome.rows)
        alarms, bad = alarms + false, bad + (false > 0)
        hours += sum(row["simulated_s"] for row in outcome.rows) / 3600.0
        wrong, runs = wrong + len(outcome.missed()), runs + len(outcome.rows)
        delays += [row["median_delay_s"] for row in outcome.rows if np.isfinite(row["median_delay_s"])]
    return [
        "| learnings | worlds | wrong | false alarms | median delay |",
        "|---|---|---|---|---|",
        f"| {len(seeds)}, {bad} with a false alarm | {runs} | {wrong} (at most {_percent(wrong, runs)} at 95 %) | "
        f"{alarms} in {hours:.2f} h (at most {poisson_rate(alarms, hours).upper:.1f} per hour at 95 %) | "
        f"{1e3 * float(np.median(delays)):.1f} ms |",
    ]


def _percent(count: int, total: int) -> str:
    return f"{100.0 * exact_proportion(count, total).upper:.1f} %"


def _pushed(arm: Any, rng: np.random.Generator, light: bool) -> tuple[Any, int, Any, Any]:
    """Configuration, link, place and torque of a push: 20–100 N on any link, or 5–200 N anywhere on the surface."""
    q = rng.uniform(-np.pi, np.pi, 6)
    faces = surfaces(arm, q, link_capsules(arm))
    face, c, m = drawn_place(rng, faces[1:], faces, even=not light)
    t = np.cross(m, rng.normal(size=3))
    f = -m + rng.uniform(0.0, 0.5) * t / np.linalg.norm(t)
    size = np.exp(rng.uniform(np.log(5.0), np.log(200.0))) if light else rng.uniform(20.0, 100.0)
    return q, face.body, c, pushes(arm, q, face.body, c[None])[0][0].T @ (size * f / np.linalg.norm(f))


def isolation(seeds: list[int]) -> list[str]:
    """Pushes of 20–100 N anywhere on a moving link of a UR5 in random configurations: how often the link is named.

    Sets of contacts: all; "loaded", which load their link's own joint by more than four standard deviations of the
    estimate; "distinct", whose exact torques leave at most 1 % for all other links together; "claimed".
    """
    arm = aw.load("ur5")
    right, seen = np.zeros((2, 4), dtype=int), np.zeros((2, 4), dtype=int)
    for seed in [(seed, k) for seed in seeds for k in range(PUSHES)]:
        rng = np.random.default_rng(seed)
        q, body, _, tau = _pushed(arm, rng, light=False)
        noise = SENSOR * rng.normal(size=6)
        bias = rng.uniform(-0.1, 0.1, 6) @ link_torques(arm, q) + rng.uniform(-0.2, 0.2, 6) * FRICTION
        for wrong in (0, 1):
            known = {"mass": 0.1, "friction": 0.2, "friction_torque": FRICTION} if wrong else {}
            S = torque_covariance(arm, q, sensor=SENSOR, **known)  # type: ignore[arg-type]
            ideal = isolate(arm, q, tau, S, confidence=0.99)
            found = isolate(arm, q, tau + noise + wrong * bias, S)
            loaded = abs(tau[body]) > 4.0 * np.sqrt(S[body, body])
            distinct = ideal.outcome in ("link", "located") and ideal.body == body
            which = np.array([distinct, loaded, found.outcome in ("link", "located"), True])
            seen[wrong] += which
            right[wrong] += which & (found.body == body)
    lines = ["| right link | perfect model | 10 % mass, 20 % friction |", "|---|---|---|"]
    names = ("*distinct* contacts", "*loaded* contacts", "*claimed*", "all, observable or not")
    for k, name in enumerate(names):
        cells = [f"{right[w, k]} of {seen[w, k]} ({100.0 * right[w, k] / seen[w, k]:.1f} %)" for w in (0, 1)]
        lines.append(f"| {name} | {cells[0]} | {cells[1]} |")
    return lines


def certainty(seeds: list[int]) -> list[str]:
    """How often the named place is within 3 cm of the contact, by the certainty that was claimed; noise as declared."""
    arm = aw.load("ur5")
    columns = []
    for light in (False, True):
        p, right, located, wrong = [], [], 0, 0
        for seed in [(seed, k) for seed in seeds for k in range(PUSHES)]:
            rng = np.random.default_rng(seed)
            q, _, c, tau = _pushed(arm, rng, light)
            found = isolate(arm, q, tau + SENSOR * rng.normal(size=6), SENSOR)
            if found.point is None:
                continue
            p.append(found.certainty)
            right.append(bool(np.linalg.norm(found.point - c) <= found.place))
            located += found.outcome == "located"
            wrong += found.outcome == "located" and not right[-1]
        columns.append((np.array(p), np.array(right), located, wrong))
    lines = ["| claimed | 20–100 N on any link: right | 5–200 N anywhere: right |", "|---|---|---|"]
    for low, high in pairwise(BINS):
        cells = []
        for p, right, _, _ in columns:
            chosen = (p >= low) & ((p < high) | (high == 1.0))
            share = exact_proportion(int(right[chosen].sum()), int(chosen.sum()))
            cells.append(
                f"{100.0 * share.value:.0f} % ({100.0 * share.lower:.0f}–{100.0 * share.upper:.0f}) of {chosen.sum()}, "
                f"claimed {100.0 * p[chosen].mean():.0f} %"
            )
        lines.append(f"| {100.0 * low:.0f}–{100.0 * high:.0f} % | {cells[0]} | {cells[1]} |")
    cells = [
        f"{wrong} of {located} ({100.0 * wrong / located:.1f} %, at most {_percent(wrong, located)})"
        for _, _, located, wrong in columns
    ]
    return [*lines, f"| *located* and more than 3 cm off | {cells[0]} | {cells[1]} |"]


if __name__ == "__main__":
    word, given = sys.argv[1], [int(text) for text in sys.argv[2:]]
    words = {
        "detection": detection,
        "learning": learning,
        "isolation": isolation,
        "certainty": certainty,
        "plants": plants,
        "arm-worlds": worlds,
    }
    begin, end = f"<!-- {word}: begin -->", f"<!-- {word}: end -->"
    if PAGE.read_text(encoding="utf-8").count(begin) != 1:  # found before hours of computing, not after
        sys.exit(f"{PAGE.name} must have {begin} once")
    made = words[word](given)
    command = f"python docs/make_touch.py {word} {' '.join(sys.argv[2:])}"
    before, rest = PAGE.read_text(encoding="utf-8").split(begin)
    table = "\n".join(["```sh", command, "```", "", *made])
    PAGE.write_text(f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}", encoding="utf-8")
