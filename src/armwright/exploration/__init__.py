# SPDX-License-Identifier: Apache-2.0
"""An arm through surroundings that nobody told it about: go, bump, mark, plan around, arrive.

`run` says what a run is; `grid` (the tool on a map of cells) and `arm` (the whole arm) are its two kinds.
"""

from armwright.exploration.arm.arm_worlds import explore_arm_world, oracle, random_world
from armwright.exploration.arm.explore_arm import explore_arm
from armwright.exploration.exploration import explore
from armwright.exploration.exploration_result import Contact, Exploration
from armwright.exploration.explore_options import ArmTask, Budget, ControlLoop, GridTask, Sensing
from armwright.exploration.grid.compare_worlds import VARIANTS, Comparison, explore_variant
from armwright.exploration.grid.explore_grid import explore_grid
from armwright.exploration.grid.grid_rules import Rules
from armwright.exploration.grid.grid_worlds import Outcomes, ask_oracles, random_cylinders

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
