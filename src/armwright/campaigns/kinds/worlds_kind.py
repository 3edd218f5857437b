# SPDX-License-Identifier: Apache-2.0
"""``worlds``: an arm in random worlds unknown to it, in several variants, compared with oracles that see the worlds.

kind = "worlds"
items = 2200                                # worlds × variants: item k is variant k mod V of world k // V
[settings]
robot = "ur5"
task = "grid"                               # the tool among cylinders; "rooms": among walls with inside corners; or
                                            # "arm", the whole arm among shapes
variants = ["closed-loop, back off"]        # all of `VARIANTS`, or `ROOM_VARIANTS`, by default; of an arm: reactions
learn_seed = 0                              # of the motions that thresholds are learned from
worlds_per_learning = 0                     # worlds after which thresholds are learned again; 0: never
near = [0, -1.6, 1.4, 0, 0.5, 0]            # start near, for other arms than a UR5

`Cases` says which world, variant and seed an item is, and runs it: the tool among cylinders or walls, or the whole arm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.campaigns.campaign_plan import CampaignPlan
from armwright.campaigns.compare_explorations import check_task, world_seed
from armwright.campaigns.kind import Kind, Rows, one_by_one, settings_of
from armwright.errors import InputError
from armwright.exploration.arm.arm_worlds import explore_arm_options, explore_arm_world, random_world
from armwright.exploration.exploration import explore
from armwright.exploration.explore_options import GridTask
from armwright.exploration.grid.compare_worlds import SLOTS, VARIANTS, explore_options, explore_variant
from armwright.exploration.grid.grid_worlds import PATIENT, random_cylinders
from armwright.exploration.grid.room_worlds import ROOM_VARIANTS, explore_room, numbered_room, room_options
from armwright.robot.load import load
from armwright.statistics import quantile, share

if TYPE_CHECKING:
    from armwright.recording.recording import Recording
    from armwright.robot.model import Robot

WAYS: Mapping[str, tuple[str, ...]] = {
    "grid": tuple(VARIANTS),
    "rooms": tuple(ROOM_VARIANTS),
    "arm": ("back off", "slide"),
}


class WorldCase(NamedTuple):
    """One item: variant, seed of world and noise, seed of the motions that thresholds are learned from."""

    variant: str
    seed: int
    learn_seed: int


@dataclass(frozen=True, eq=False)
class Cases:
    """The items of a campaign: arm, variants, task of the tool (None: the whole arm), whether in rooms, seeds."""

    arm: Robot
    labels: Sequence[str]
    task: GridTask | None
    rooms: bool
    seed: int
    learn_seed: int
    worlds_per_learning: int

    def case(self, item: int) -> WorldCase:
        """Return the world and variant of an item: all variants of a world follow each other."""
        world, k = self.number(item), item % len(self.labels)
        learnings = world // self.worlds_per_learning if self.worlds_per_learning else 0
        return WorldCase(self.labels[k], world_seed(self.seed, world), self.learn_seed + learnings)

    def number(self, item: int) -> int:
        """Return the number of an item's world."""
        return item // len(self.labels)

    def row(self, item: int) -> dict[str, Any]:
        """Explore; return figures and what an oracle says."""
        label, seed, learn = case = self.case(item)
        if self.task is None:
            found = explore_arm_world(self.arm, seed, label)
        elif self.rooms:
            found = explore_room(self.arm, label, self.number(item), seed, learn_seed=learn, task=self.task)
        else:
            found = explore_variant(self.arm, VARIANTS[label], seed, learn_seed=learn, task=self.task)
        return {**found, **case._asdict(), "said": found["message"]}

    def recording(self, item: int) -> Recording:
        """Explore; return the recording."""
        label, seed, learn = self.case(item)
        if self.task is None:
            return explore(self.arm, random_world(self.arm, seed), **explore_arm_options(label, seed)).recording
        if self.rooms:
            world = numbered_room(self.number(item), seed)
            return explore(self.arm, world, **room_options(label, seed, learn, self.task)).recording
        options = {"budget": PATIENT, **explore_options(VARIANTS[label], seed, learn, self.task)}
        return explore(self.arm, random_cylinders(seed, most=SLOTS), **options).recording


def cases_of(settings: Mapping[str, Any], seed: int) -> Cases:
    """Check the settings of ``worlds`` and load its arm."""
    s, ways = settings, WAYS.get(settings["task"], ())
    labels = list(ways) if s["variants"] is None else s["variants"]
    if not labels or set(labels) - set(ways):
        raise InputError(f"worlds: no variants {labels!r:.80} of task {s['task']!r}; variants of tasks: {dict(WAYS)}")
    arm, task = load(s["robot"], **s["load"]), GridTask(near=s["near"]) if s["task"] != "arm" else None
    if task is not None:
        check_task(arm, task)
    return Cases(arm, labels, task, s["task"] == "rooms", seed, s["learn_seed"], s["worlds_per_learning"])


TEXTS, FLAGS = ("world", "truth", "end", "outcome", "said"), ("reached", "in_contact_at_end")
COUNTS = ("contacts", "false_alarms", "link_named", "link_right", "sure_marks", "false_marks")
FIGURES = ("arrival_s", "first_delay_s", "median_delay_s", "largest_force_n", "largest_felt_n", "impulse_ns")
SCHEMA = {"variant": "string", "seed": "int64", "learn_seed": "int64"} | {
    **dict.fromkeys(TEXTS, "string"),
    **dict.fromkeys(FLAGS, "bool"),
    **dict.fromkeys(COUNTS, "int64"),
    **dict.fromkeys((*FIGURES, "tool_path_m", "simulated_s", "goal_error_m", "longest_stand_s"), "float64"),
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


def start(plan: CampaignPlan, prepared: bytes) -> Rows:
    """Load the arm; its loops and thresholds are kept from run to run."""
    cases = cases_of(settings_of(plan, DEFAULTS), plan.seed)

    def row(item: int) -> dict[str, Any]:
        found = cases.row(item)
        return {name: None if found.get(name) != found.get(name) else found.get(name) for name in SCHEMA}  # no NaN

    return one_by_one(row, SCHEMA)


def record(plan: CampaignPlan, prepared: bytes, item: int) -> Recording:
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


KIND = Kind("worlds", SCHEMA, start, version=3, chunk=4, record=record, summary=summary)
