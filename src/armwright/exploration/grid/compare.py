# SPDX-License-Identifier: Apache-2.0
"""Observers, planners and reactions side by side on the same random worlds, on several processes.

Every run depends on its variant and its world alone, so the result does not depend on how many processes share the
work. What the oracles say about a world is asked once, not once per variant.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from armwright.errors import InputError
from armwright.exploration.grid.cylinder_worlds import Oracle, ask_oracles, random_cylinders
from armwright.exploration.grid.many_worlds import Outcomes, explore_one
from armwright.exploration.options import ControlLoop, GridTask, Sensing
from armwright.exploration.tasks import grid_task
from armwright.robot.load import load
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


def compare_explorations(
    robot: Robot | str = "ur5",
    variants: Mapping[str, Options] | None = None,
    count: int = 200,
    *,
    seed: int = 0,
    learn_seed: int = 0,
    jobs: int = 1,
    task: GridTask | None = None,
    progress: Callable[[str, int, dict[str, Any]], Any] | None = None,
) -> Comparison:
    """Send an arm through the same random worlds in several ways.

    Args:
        robot: an arm, or a catalogue name or sheet.
        variants: options of `explore` and of its `Sensing` by label, and ``noise`` for the sensors of a UR5; `VARIANTS`
            by default.
        count: worlds per variant.
        seed: of the first world; that of world k is seed + k, and so is the noise in it. A world runs the same whatever
            others are asked for.
        learn_seed: of the motions that thresholds are learned from, once a variant and process.
        jobs: processes. A script that asks for more than one needs ``if __name__ == "__main__":`` around itself.
        task: where and how the tool is held, for arms that the random worlds have no task for.
        progress: called after every run with the variant's label, the number of its runs done, and the run's row.

    Returns:
        The comparison; an interrupt (Ctrl-C) ends it early and keeps what was done.
    """
    chosen = dict(VARIANTS if variants is None else variants)
    if not chosen or count < 1 or jobs < 1:
        raise InputError(
            f"compare: need variants, worlds and processes; got {len(chosen)}, {count} and {jobs}, each must be ≥ 1"
        )
    arm = load(robot) if isinstance(robot, str) else robot  # what is wrong with it shows here, not in every process
    seeds = range(seed, seed + count)
    task = task or GridTask()
    grid_task(task, arm, random_cylinders(seed, most=SLOTS))  # what it lacks shows here, not in every run
    rows: dict[str, list[dict[str, Any]]] = {label: [] for label in chosen}
    interrupted = False
    try:
        with _workers(arm, jobs) as work:
            truths: list[Oracle] = list(work(_judge, seeds))
            tasks = [
                (options, task, learn_seed, k, truth)
                for options in chosen.values()
                for k, truth in zip(seeds, truths, strict=True)
            ]
            labels = [label for label in chosen for _ in seeds]
            for label, row in zip(labels, work(_run, tasks), strict=True):
                rows[label].append(row)
                if progress is not None:
                    progress(label, len(rows[label]), row)
    except KeyboardInterrupt:
        interrupted = True
    return Comparison(tuple(Outcomes(label, tuple(done)) for label, done in rows.items() if done), interrupted)


@contextmanager
def _workers(robot: Robot, jobs: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """Give a `map` that keeps the order, over processes or (one job) in this one."""
    if jobs == 1:
        _begin(robot, alone=True)
        yield map
        return
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_begin, initargs=(robot,))
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)


_ARM: list[Robot] = []  # of this process: the same object for all its runs, and with it the compiled loops


def _begin(robot: Robot, alone: bool = False) -> None:
    if not alone:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the first process ends the others
    _ARM[:] = [robot]


def _judge(seed: int) -> Oracle:
    return ask_oracles(random_cylinders(seed, most=SLOTS))


def _run(one: tuple[Options, GridTask, int, int, Oracle]) -> dict[str, Any]:
    given, task, learn_seed, seed, truth = one
    options = dict(given)
    felt = {name: options.pop(name) for name in ("observer", "detector", "sensors") if name in options}
    if options.pop("noise", False):
        felt["sensors"] = ur5_sensors()
    sensing = Sensing(**felt, learn_seed=learn_seed)
    options |= {"task": task, "sensing": sensing, "loop": ControlLoop(slots=SLOTS), "seed": seed}
    return explore_one(_ARM[0], random_cylinders(seed, most=SLOTS), truth, **options)
