# SPDX-License-Identifier: Apache-2.0
"""``worlds``: an arm through random worlds that nobody told it about, in several ways, beside oracles that see them.

kind = "worlds"
items = 2200                                # worlds × variants: item k is variant k mod V of world k // V
[settings]
robot = "ur5"
task = "grid"                               # the tool among cylinders; or "arm", the whole arm among shapes
variants = ["closed-loop, back off"]        # all of `VARIANTS` by default; of an arm: reactions
learn_seed = 0                              # of the motions that thresholds are learned from
worlds_per_learning = 0                     # learn anew after so many worlds; 0: never
near = [0, -1.6, 1.4, 0, 0.5, 0]            # start near, for other arms than a UR5
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from armwright.campaigns.kind import Kind, Rows, one_by_one, settings_of
from armwright.campaigns.plan import Plan
from armwright.campaigns.statistics import quantile, share
from armwright.campaigns.world_cases import cases_of

TEXTS, FLAGS = ("world", "truth", "end", "outcome", "said"), ("reached", "in_contact_at_end")
COUNTS = ("contacts", "false_alarms", "link_named", "link_right", "sure_marks", "false_marks")
FIGURES = ("arrival_s", "first_delay_s", "median_delay_s", "largest_force_n", "largest_felt_n", "impulse_ns")
SCHEMA = {"variant": "string", "seed": "int64", "learn_seed": "int64"} | {
    **dict.fromkeys(TEXTS, "string"),
    **dict.fromkeys(FLAGS, "bool"),
    **dict.fromkeys(COUNTS, "int64"),
    **dict.fromkeys((*FIGURES, "tool_path_m", "simulated_s"), "float64"),
}
DEFAULTS: Mapping[str, Any] = {
    "robot": "ur5",
    "load": {},
    "task": "grid",
    "variants": None,
    "learn_seed": 0,
    "worlds_per_learning": 0,
    "near": None,
}


def start(plan: Plan, prepared: bytes) -> Rows:
    """Load the arm; its loops and thresholds are kept from run to run."""
    cases = cases_of(settings_of(plan, DEFAULTS), plan.seed)

    def row(item: int) -> dict[str, Any]:
        found = cases.row(item)
        return {name: None if found.get(name) != found.get(name) else found.get(name) for name in SCHEMA}  # no NaN

    return one_by_one(row, SCHEMA)


def record(plan: Plan, prepared: bytes, item: int) -> Any:
    """Return the recording of one exploration."""
    return cases_of(settings_of(plan, DEFAULTS), plan.seed).recording(item)


def summary(table: Any) -> dict[str, list[dict[str, Any]]]:
    """Return how runs ended by variant and what the oracle says, and medians of the runs that arrived."""
    rows, ends, figures = table.to_pylist(), [], []
    for way in dict.fromkeys(row["variant"] for row in rows):
        these = [row for row in rows if row["variant"] == way]
        for truth in sorted({row["truth"] for row in these}):
            found = Counter(row["end"] or row["outcome"] for row in these if row["truth"] == truth)
            for end, count in sorted(found.items()):
                ends.append({"variant": way, "truth": truth, "end": end, "count": count})
                ends[-1] |= share(count, found.total())._asdict()
        for name in (*FIGURES, "tool_path_m", "contacts"):
            x = np.array([row[name] for row in these if row["reached"]], dtype=np.float64)
            figures.append({"variant": way, "figure": name, **quantile(x, 0.5)._asdict()})
    return {"outcomes": ends, "medians": figures}


KIND = Kind("worlds", SCHEMA, start, version=2, chunk=4, record=record, summary=summary)
