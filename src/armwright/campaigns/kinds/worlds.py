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

from collections.abc import Mapping
from typing import Any

from armwright.campaigns.comparison import check_task, world_seed
from armwright.campaigns.kind import Kind, Rows, one_by_one, settings_of
from armwright.campaigns.plan import Plan
from armwright.errors import InputError
from armwright.exploration.arm.random_worlds import explore_arm_world
from armwright.exploration.grid.compare import VARIANTS, explore_variant
from armwright.exploration.options import GridTask
from armwright.robot.load import load

TEXTS, FLAGS = ("world", "truth", "end", "outcome", "said"), ("reached", "in_contact_at_end")
COUNTS = ("contacts", "false_alarms", "link_named", "link_right", "sure_marks", "false_marks")
FIGURES = ("arrival_s", "first_delay_s", "median_delay_s", "largest_force_n", "largest_felt_n", "impulse_ns")
SCHEMA = {"variant": "string", "seed": "int64", "learn_seed": "int64"} | {
    **dict.fromkeys(TEXTS, "string"),
    **dict.fromkeys(FLAGS, "bool"),
    **dict.fromkeys(COUNTS, "int64"),
    **dict.fromkeys((*FIGURES, "tool_path_m", "simulated_s"), "float64"),
}
WAYS: Mapping[str, tuple[str, ...]] = {"grid": tuple(VARIANTS), "arm": ("back off", "slide")}
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
    s = settings_of(plan, DEFAULTS)
    ways = WAYS.get(s["task"], ())
    labels = list(ways) if s["variants"] is None else s["variants"]
    if not labels or set(labels) - set(ways):
        raise InputError(f"worlds: no variants {labels!r:.80} of task {s['task']!r}; variants of tasks: {dict(WAYS)}")
    arm, task = load(s["robot"], **s["load"]), GridTask(near=s["near"])
    if s["task"] == "grid":
        check_task(arm, task)

    def row(item: int) -> dict[str, Any]:
        world, k = divmod(item, len(labels))
        seed, label = world_seed(plan.seed, world), labels[k]
        learn = s["learn_seed"] + (world // s["worlds_per_learning"] if s["worlds_per_learning"] else 0)
        if s["task"] == "grid":
            found = explore_variant(arm, VARIANTS[label], seed, learn_seed=learn, task=task)
        else:
            found = explore_arm_world(arm, seed, label)
        found |= {"variant": label, "seed": seed, "learn_seed": learn, "said": found["message"]}
        return {name: None if found.get(name) != found.get(name) else found.get(name) for name in SCHEMA}  # no NaN

    return one_by_one(row, SCHEMA)


KIND = Kind("worlds", SCHEMA, start, chunk=4)
