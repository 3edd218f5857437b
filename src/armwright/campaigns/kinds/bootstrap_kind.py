# SPDX-License-Identifier: Apache-2.0
"""``bootstrap``: an identification repeated on stretches of its logs, drawn with replacement: how far to trust it.

kind = "bootstrap"
items = 200                                 # one fit each
[settings]
robot = "ur10e"
logs = ["run1.csv", "run2.csv"]             # without a load
columns = "ur10e"                           # of a table, see `read_log`
gains = [14.0, 14.0, 11.0, 8.0, 8.0, 8.0]   # [N m/A] drive gains if they are known; from the logs by default
stretch = 5.0                               # [s] far above the second in which residuals repeat; also: rate, cutoff

A row's ``estimates`` is JSON: name → value, null where a sample leaves it open.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from armwright.campaigns.campaign_plan import CampaignPlan, item_rng
from armwright.campaigns.kind import Kind, Rows, one_by_one, settings_of
from armwright.errors import InputError
from armwright.identify import Known, Log, fit, read_log
from armwright.robot.load import load
from armwright.statistics import quantile

DEFAULTS: Mapping[str, Any] = {
    "robot": "ur5",
    "load": {},
    "logs": [],
    "columns": None,
    "gains": None,
    "stretch": 5.0,
    "rate": 100.0,
    "cutoff": 8.0,
}
SCHEMA = {"estimates": "string", "undetermined": "int64", "sigma": "float64", "condition": "float64"}


def start(plan: CampaignPlan, prepared: bytes) -> Rows:
    """Read the logs and cut them into stretches."""
    s = settings_of(plan, DEFAULTS)
    if not s["logs"] or not s["stretch"] > 0.0:
        raise InputError(f"bootstrap: needs logs and a stretch above 0 s, got {s['logs']} and {s['stretch']}")
    robot = load(s["robot"], **s["load"])
    parts = [part for path in s["logs"] for part in _stretches(read_log(path, s["columns"]), s["stretch"])]
    gains = None if s["gains"] is None else Known(np.array(s["gains"], dtype=np.float64))

    def row(item: int) -> dict[str, Any]:
        drawn = [parts[k] for k in item_rng(plan.seed, item).integers(0, len(parts), len(parts))]
        found = fit(drawn, robot, gains=gains, payloads=[None] * len(drawn), rate=s["rate"], cutoff=s["cutoff"])
        values = {e.name: e.value for e in (*found.base, *found.gain_estimates, *found.friction_estimates)}
        figures = (json.dumps(values), len(found.undetermined), float(np.max(found.sigma)), float(found.condition))
        return dict(zip(SCHEMA, figures, strict=True))

    return one_by_one(row, SCHEMA)


def _stretches(log: Log, seconds: float) -> list[Log]:
    """Return whole stretches of a log; one that is shorter stays as it is."""
    edges = np.searchsorted(log.t, log.t[0] + seconds * np.arange(1 + max(1, int(log.duration / seconds))))
    return [log.rows(slice(a, b)) for a, b in pairwise(edges)]


def summary(table: Any) -> dict[str, list[dict[str, Any]]]:
    """Return mean, standard deviation and 95 % range of every estimate over the samples."""
    samples, out = [json.loads(text) for text in table["estimates"].to_pylist()], []
    for name in samples[0] if samples else ():
        x = np.array([sample[name] for sample in samples if sample[name] is not None])
        low, high = (quantile(x, q).value if len(x) else None for q in (0.025, 0.975))
        spread = {"mean": float(x.mean()), "deviation": float(x.std(ddof=1))} if len(x) > 1 else {}
        out.append({"name": name, "samples": len(x), **spread, "low": low, "high": high})
    return {"estimates": out}


KIND = Kind("bootstrap", SCHEMA, start, chunk=5, summary=summary, units={"sigma": "A"})
