# SPDX-License-Identifier: Apache-2.0
"""An arm through surroundings that nobody told it about: go, bump, mark, plan around, arrive.

`run` says what a run is; `grid` (the tool on a map of cells) and `arm` (the whole arm) are its two kinds.
"""

from armwright.exploration.arm.explore_arm import explore_arm
from armwright.exploration.arm.random_worlds import explore_arms, oracle, random_world
from armwright.exploration.explore import explore
from armwright.exploration.grid.compare import Comparison, compare_explorations
from armwright.exploration.grid.cylinder_worlds import ask_oracles, random_cylinders
from armwright.exploration.grid.explore_grid import explore_grid
from armwright.exploration.grid.many_worlds import Outcomes, explore_many
from armwright.exploration.grid.rules import Rules
from armwright.exploration.options import ArmTask, Budget, ControlLoop, GridTask, Sensing
from armwright.exploration.result import Contact, Exploration

__all__ = [
    "ArmTask",
    "Budget",
    "Comparison",
    "Contact",
    "ControlLoop",
    "Exploration",
    "GridTask",
    "Outcomes",
    "Rules",
    "Sensing",
    "ask_oracles",
    "compare_explorations",
    "explore",
    "explore_arm",
    "explore_arms",
    "explore_grid",
    "explore_many",
    "oracle",
    "random_cylinders",
    "random_world",
]
