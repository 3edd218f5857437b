# SPDX-License-Identifier: Apache-2.0
"""Exploration (000): an arm finds its way through unknown surroundings by touch.

The arm goes, bumps, marks its map, plans around the mark and goes on until it arrives. `explore` is the entry point and
`exploration_run` has the order of events. The two kinds of run are `grid` (the tool on a map of cells) and `arm` (the
whole arm in joint space).
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
