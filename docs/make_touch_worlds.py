# SPDX-License-Identifier: Apache-2.0
"""What becomes of the whole arm in random worlds: verdicts beside the oracle's, and how true the marks are.

Used by ``make_touch.py arm-worlds``; every world has a seed of its own, made of the seed and its number.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import armwright as aw
from armwright.contact.detectors.statistics import exact_proportion
from armwright.exploration import Budget, Sensing, explore, oracle, random_world
from armwright.simulation.detection.moves import ur5_sensors
from armwright.world.distance import signed_distance

WORLDS = 10  # a seed
FALSE = 0.03  # [m] from every surface
FINAL = ("unreachable", "boxed in")


def one_world(arm: Any, seed: int, reaction: str) -> dict[str, Any]:
    """A run with the noise of a UR5's sensors: how it ended, and how far its sure marks are from every surface."""
    world = random_world(arm, seed)
    sensing = Sensing(sensors=ur5_sensors())
    run = explore(arm, world, reaction=reaction, sensing=sensing, budget=Budget(300.0), seed=seed)
    sure = [places.points[places.sure] for places in run.touch_maps]
    marks = np.unique(np.concatenate([np.zeros((0, 3)), *sure]), axis=0)
    felt = [c.places.points[0] for c in run.contacts if c.places is not None and c.places.sure]
    on_contact = [bool((np.abs(mark - np.array(felt)) < 1e-12).all(axis=1).any()) if felt else False for mark in marks]
    away = [min(abs(float(signed_distance(shape, mark))) for shape in world.shapes) for mark in marks]
    return {
        "seed": seed,
        "reaction": reaction,
        "outcome": run.outcome,
        "oracle": oracle(arm, world),
        "contacts": len(run.contacts),
        "false_alarms": sum(not c.link for c in run.contacts),
        "seconds": float(run.recording.time[-1]),
        "away": away,
        "on_contact": on_contact,
    }


def worlds(seeds: list[int]) -> list[str]:
    """Half of the worlds with "back off", half with "slide"; every row is printed when it is there."""
    arm = aw.load("ur5")
    rows = []
    for seed in seeds:
        for k in range(WORLDS):
            rows.append(one_world(arm, 1000 * seed + k, ("back off", "slide")[k % 2]))
            sys.stderr.write(f"{json.dumps(rows[-1])}\n")
    return table(rows)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """What the runs came to, with exact 95 % intervals."""
    lines = ["| reaction | solvable worlds reached | wrong verdicts there | sure marks > 3 cm from every surface |"]
    lines.append("|---|---|---|---|")
    for reaction in ("back off", "slide"):
        these = [row for row in rows if row["reaction"] == reaction]
        solvable = [row for row in these if row["oracle"] == "solvable"]
        away = np.array([far for row in these for far in row["away"]])
        counts = (
            (sum(row["outcome"] == "reached" for row in solvable), len(solvable)),
            (sum(row["outcome"] in FINAL for row in solvable), len(solvable)),
            (int((away > FALSE).sum()), len(away)),
        )
        lines.append(f"| {reaction} | " + " | ".join(said(*count) for count in counts) + " |")
    return lines


def said(count: int, total: int) -> str:
    """A share with its exact 95 % interval."""
    if not total:
        return "0 of 0"
    share = exact_proportion(count, total)
    return f"{count} of {total} ({100.0 * share.lower:.1f}–{100.0 * share.upper:.1f} %)"
