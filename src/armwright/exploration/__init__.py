# SPDX-License-Identifier: Apache-2.0
"""An arm through surroundings that nobody told it about: go, bump, mark, plan around, arrive.

`run` says what a run is; `grid` (the tool on a map of cells) and `arm` (the whole arm) are its two kinds.
"""

from armwright.exploration.arm.explore_arm import explore_arm
from armwright.exploration.arm.random_worlds import explore_arm_world, oracle, random_world
from armwright.exploration.explore import explore
from armwright.exploration.grid.compare import VARIANTS, Comparison, explore_variant
from armwright.exploration.grid.cylinder_worlds import ask_oracles, random_cylinders
from armwright.exploration.grid.explore_grid import explore_grid
from armwright.exploration.grid.many_worlds import Outcomes
from armwright.exploration.grid.rules import Rules
from armwright.exploration.options import ArmTask, Budget, ControlLoop, GridTask, Sensing
from armwright.exploration.result import Contact, Exploration

__all__ = [
    "VARIANTS",
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
    "explore",
    "explore_arm",
    "explore_arm_world",
    "explore_grid",
    "explore_variant",
    "oracle",
    "random_cylinders",
    "random_world",
]
