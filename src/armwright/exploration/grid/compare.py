# SPDX-License-Identifier: Apache-2.0
"""Observers, planners and reactions side by side on the same random worlds.

A run depends on its variant and its world alone; `armwright.campaigns` makes many of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from armwright.exploration.grid.cylinder_worlds import Oracle, ask_oracles, random_cylinders
from armwright.exploration.grid.many_worlds import Outcomes, explore_one
from armwright.exploration.options import ControlLoop, GridTask, Sensing
from armwright.simulation.detection.moves import ur5_sensors

if TYPE_CHECKING:
    from armwright.robot.model import Robot

SLOTS = 24  # cylinders of a random world at most (`random_cylinders`): all share one compiled loop
Options = Mapping[str, Any]

# What is compared differs in one thing at a time: three planners and three reactions with the closed-loop estimate;
# four observers, then three reactions, through the noise of a UR5's sensors.
VARIANTS: dict[str, Options] = {
    "closed-loop, back off": {},
    "closed-loop, back off, dijkstra": {"planner": "dijkstra"},
    "closed-loop, back off, astar": {"planner": "astar"},
    "closed-loop, retract": {"reaction": "retract"},
    "closed-loop, slide": {"reaction": "slide"},
    "closed-loop with noise, back off": {"noise": True},
    "disturbance with noise, back off": {"observer": "disturbance", "noise": True},
    "kalman with noise, back off": {"observer": "kalman", "noise": True},
    "momentum with noise, back off": {"observer": "momentum", "noise": True},
    "momentum with noise, retract": {"observer": "momentum", "noise": True, "reaction": "retract"},
    "momentum with noise, slide": {"observer": "momentum", "noise": True, "reaction": "slide"},
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several variants on the same worlds.

    Attributes:
        outcomes: one per variant, in the order asked for. interrupted: whether somebody stopped it before the end.
    """

    outcomes: tuple[Outcomes, ...]
    interrupted: bool = False

    def common(self) -> frozenset[str]:
        """Worlds that every variant crossed: where their figures can be compared."""
        reached = [frozenset(row["world"] for row in outcome.arrived()) for outcome in self.outcomes]
        return frozenset.intersection(*reached) if reached else frozenset()

    def summaries(self) -> list[dict[str, Any]]:
        """One summary a variant; medians and percentiles over the worlds that all of them crossed."""
        among = self.common()
        return [outcome.summary(among) for outcome in self.outcomes]


def explore_variant(
    robot: Robot, options: Options, seed: int, *, learn_seed: int = 0, task: GridTask | None = None
) -> dict[str, Any]:
    """Send an arm through one random world in one way; return its row of `Outcomes`.

    Args:
        robot: the arm; the same object for all runs, and with it the compiled loops.
        options: of `explore` and of its `Sensing`, and ``noise`` for the sensors of a UR5, as in `VARIANTS`.
        seed: of the world and of the noise in it.
        learn_seed: of the motions that thresholds are learned from, once for each variant and process.
        task: where and how the tool is held, for arms that the random worlds have no task for.
    """
    world = random_cylinders(seed, most=SLOTS)
    return explore_one(robot, world, _truth(seed), **explore_options(options, seed, learn_seed, task))


def explore_options(options: Options, seed: int, learn_seed: int = 0, task: GridTask | None = None) -> dict[str, Any]:
    """Return what `explore` is told for a variant; arguments as `explore_variant`."""
    chosen = dict(options)
    felt = {name: chosen.pop(name) for name in ("observer", "detector", "sensors") if name in chosen}
    if chosen.pop("noise", False):
        felt["sensors"] = ur5_sensors()
    sensing = Sensing(**felt, learn_seed=learn_seed)
    return {"sensing": sensing, "loop": ControlLoop(slots=SLOTS), "seed": seed, "task": task or GridTask(), **chosen}


@lru_cache(maxsize=256)
def _truth(seed: int) -> Oracle:
    """What the oracles say about a world is asked once, not once per variant."""
    return ask_oracles(random_cylinders(seed, most=SLOTS))
