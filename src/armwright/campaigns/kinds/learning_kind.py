# SPDX-License-Identifier: Apache-2.0
"""``learning``: thresholds learned again and again from other moves, and whether they keep their promise on new ones.

kind = "learning"
items = 200                                 # learnings
[settings]
moves = 200                                 # that each is judged on, none of them rehearsed
free = 4                                    # runs of each of these
learning_moves = 96
learning_runs = 960
Other settings: those of ``detection``. Thresholds promise 0.01 false alarms per hour with 95 % confidence: one learning
in twenty may cause more. Moves that leave what was rehearsed are counted apart: nothing is promised there.
Columns: ``inside``, ``outside`` the number of moves, ``hours`` of motion inside; ``o_d_inside``, ``o_d_outside`` of
observer o and detector d the number of moves on which at least one run had a false alarm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from armwright.campaigns.campaign_plan import CampaignPlan, item_rng
from armwright.campaigns.kind import Kind, Rows, one_by_one, settings_of
from armwright.campaigns.kinds.detection_kind import column
from armwright.contact.detectors import Rehearsed
from armwright.detection import detection_settings as detection
from armwright.detection.detection_settings import DETECTORS, OBSERVERS
from armwright.detection.study_runs import Trial
from armwright.errors import InputError
from armwright.statistics import share

DEFAULTS: Mapping[str, Any] = {**detection.DEFAULTS, "moves": 200, "learning_moves": 96}
SCHEMA = {"inside": "int64", "outside": "int64", "hours": "float64"} | {
    column(*names): "int64" for names in product(OBSERVERS, DETECTORS, ("inside", "outside"))
}


def start(plan: CampaignPlan, prepared: bytes) -> Rows:
    """Make the arms; every item has moves and learned thresholds of its own."""
    study = detection.experiment(settings_of(plan, DEFAULTS), plan.seed, plan.kind)
    runs, moves = study.settings["free"], study.settings["moves"]
    if runs < 1:
        raise InputError(f"{plan.kind}: free must be a whole number ≥ 1, the runs of each move; got {runs}")

    def row(item: int) -> dict[str, Any]:
        mine = replace(study, seed=int(item_rng(plan.seed, item).integers(2**31)))
        learned = mine.learn()
        trials = mine.trials(learned)
        found = trials.run([Trial(k, k // runs, False) for k in range(runs * moves)])
        box = Rehearsed(*(np.array(side) for side in learned["rehearsed"]))
        ways = [move.evaluate(np.linspace(0.0, move.duration, 101)) for move in trials.moves]
        inside = np.array([bool((box.outside(way) <= 0.0).all()) for way in ways])
        hours = float(found.seconds.reshape(moves, runs)[inside].sum()) / 3600.0
        out = dict.fromkeys(SCHEMA) | {"inside": int(inside.sum()), "outside": int((~inside).sum()), "hours": hours}
        for k, (o, d) in enumerate(trials.pairs):
            alarmed = (found.before[:, k] >= 1.0).reshape(moves, runs).any(axis=1)
            for where, moved in (("inside", inside), ("outside", ~inside)):
                out[column(o, d, where)] = int((alarmed & moved).sum())
        return out

    return one_by_one(row, SCHEMA)


def summary(table: Any) -> dict[str, list[dict[str, Any]]]:
    """Return how many learnings had a false alarm on moves inside, and outside, of what they had rehearsed."""
    rows, out = table.to_pylist(), []
    for o, d, where in product(OBSERVERS, DETECTORS, ("inside", "outside")):
        alarms = [row[column(o, d, where)] for row in rows if row[column(o, d, where)] is not None and row[where]]
        wrong = sum(count > 0 for count in alarms)
        if alarms:
            names = {"observer": o, "detector": d, "moves": where, "count": wrong, "of": len(alarms)}
            out.append(names | share(wrong, len(alarms))._asdict())
    return {"learnings": out}


KIND = Kind("learning", SCHEMA, start, chunk=2, summary=summary, units={"hours": "h"})
