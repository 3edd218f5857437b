# SPDX-License-Identifier: Apache-2.0
"""``detection``: arms that differ from their model, with and without a contact; levels, alarms and delays of detectors.

kind = "detection"
items = 12000                               # one with a contact, four without, and so on
[settings]
preset = "torque"                           # or "ur5-cb3", "ur5-e-series"
contact = "wall"                            # or "soft", "ramp", "link"
learning_runs = 2400
spread = { payload = [1.0, 3.0] }           # entries of `Spread`
Other settings: `armwright.simulation.detection.experiment.DEFAULTS`.

Columns of observer o and detector d: ``o_d_before`` highest level (1: the threshold) before the contact, in the whole
run where there is none; ``o_d_within`` from the contact until its horizon ended; ``o_d_until`` [s] to the first alarm
of a run without contact; ``o_d_delay`` [s] and ``o_d_force`` [N] of a contact that was found.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from armwright.campaigns.detection_summary import column, summary
from armwright.campaigns.kind import Kind, Rows
from armwright.campaigns.plan import Plan
from armwright.simulation.detection.experiment import DETECTORS, OBSERVERS, experiment

PARTS = ("before", "within", "until", "delay", "force")
SCHEMA = {"move": "int64", "met": "string", "seconds": "float64"} | {
    column(o, d, part): "float64" for o in OBSERVERS for d in DETECTORS for part in PARTS
}


def prepare(plan: Plan) -> bytes:
    """Learn thresholds on moves that are not judged."""
    return json.dumps(experiment(plan.settings, plan.seed).learn()).encode()


def start(plan: Plan, prepared: bytes) -> Rows:
    """Make arms, moves and detectors; chunks run in lanes of one move."""
    study = experiment(plan.settings, plan.seed)
    trials = study.trials(json.loads(prepared))

    def rows(first: int, last: int) -> dict[str, Any]:
        chosen = [study.trial(item) for item in range(first, last)]
        found = trials.run(chosen)
        touched = np.array([trial.touched for trial in chosen])
        met = np.where(touched, np.where(found.met, "contact", "none"), "free")
        columns = dict.fromkeys(SCHEMA, [None] * (last - first)) | {
            "move": [trial.move for trial in chosen],
            "met": met.tolist(),
            "seconds": _known(found.seconds),
        }
        for k, (o, d) in enumerate(trials.made):
            until = np.where(found.before[:, k] >= 1.0, found.until[:, k, 0], np.nan)
            parts = (found.before[:, k], found.within[:, k], until, found.delay[:, k, 0], found.force[:, k, 0])
            for part, values in zip(PARTS, parts, strict=True):
                columns[column(o, d, part)] = _known(values)
        return columns

    return rows


def _known(values: Any) -> list[float | None]:
    """Return numbers, and nothing where there is none: no contact, no alarm."""
    return [float(x) if np.isfinite(x) else None for x in values]


KIND = Kind("detection", SCHEMA, start, version=2, chunk=1000, prepare=prepare, summary=summary)
