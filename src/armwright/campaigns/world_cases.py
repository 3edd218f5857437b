# SPDX-License-Identifier: Apache-2.0
"""Which world, variant and seed an item of ``worlds`` is, and its run: the tool among cylinders, or the whole arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from armwright.campaigns.comparison import check_task, world_seed
from armwright.errors import InputError
from armwright.exploration.arm.random_worlds import explore_arm_options, explore_arm_world, random_world
from armwright.exploration.explore import explore
from armwright.exploration.grid.compare import SLOTS, VARIANTS, explore_options, explore_variant
from armwright.exploration.grid.cylinder_worlds import random_cylinders
from armwright.exploration.grid.many_worlds import PATIENT
from armwright.exploration.options import GridTask
from armwright.robot.load import load

if TYPE_CHECKING:
    from armwright.robot.model import Robot

WAYS: Mapping[str, tuple[str, ...]] = {"grid": tuple(VARIANTS), "arm": ("back off", "slide")}


class Case(NamedTuple):
    """What an item is: variant, seed of world and noise, seed of the motions that thresholds are learned from."""

    variant: str
    seed: int
    learn_seed: int


@dataclass(frozen=True, eq=False)
class Cases:
    """The items of a campaign: arm, variants, task among cylinders (None: the whole arm), seeds."""

    arm: Robot
    labels: Sequence[str]
    task: GridTask | None
    seed: int
    learn_seed: int
    worlds_per_learning: int

    def case(self, item: int) -> Case:
        """Return which world an item is, and in which way: all variants of a world follow each other."""
        world, k = divmod(item, len(self.labels))
        learnings = world // self.worlds_per_learning if self.worlds_per_learning else 0
        return Case(self.labels[k], world_seed(self.seed, world), self.learn_seed + learnings)

    def row(self, item: int) -> dict[str, Any]:
        """Explore; return figures beside what an oracle says."""
        label, seed, learn = case = self.case(item)
        if self.task is None:
            found = explore_arm_world(self.arm, seed, label)
        else:
            found = explore_variant(self.arm, VARIANTS[label], seed, learn_seed=learn, task=self.task)
        return {**found, **case._asdict(), "said": found["message"]}

    def recording(self, item: int) -> Any:
        """Explore; return the recording."""
        label, seed, learn = self.case(item)
        if self.task is None:
            return explore(self.arm, random_world(self.arm, seed), **explore_arm_options(label, seed)).recording
        options = {"budget": PATIENT, **explore_options(VARIANTS[label], seed, learn, self.task)}
        return explore(self.arm, random_cylinders(seed, most=SLOTS), **options).recording


def cases_of(settings: Mapping[str, Any], seed: int) -> Cases:
    """Check the settings of ``worlds`` and load its arm."""
    s, ways = settings, WAYS.get(settings["task"], ())
    labels = list(ways) if s["variants"] is None else s["variants"]
    if not labels or set(labels) - set(ways):
        raise InputError(f"worlds: no variants {labels!r:.80} of task {s['task']!r}; variants of tasks: {dict(WAYS)}")
    arm, task = load(s["robot"], **s["load"]), GridTask(near=s["near"]) if s["task"] == "grid" else None
    if task is not None:
        check_task(arm, task)
    return Cases(arm, labels, task, seed, s["learn_seed"], s["worlds_per_learning"])
