# SPDX-License-Identifier: Apache-2.0
"""Variants of exploring compared: Python objects in this process, or the rows of a campaign ``worlds``.

The world of item k of V variants is number k // V; its seed is made of the campaign's and its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.detection.contact_study import in_memory
from armwright.errors import InputError
from armwright.exploration.explore_options import GridTask, grid_task
from armwright.exploration.grid.compare_worlds import SLOTS, VARIANTS, Comparison, Options, explore_variant
from armwright.exploration.grid.grid_worlds import FIGURES, Outcomes, random_cylinders
from armwright.robot.load import load

if TYPE_CHECKING:
    from armwright.robot.model import Robot


def world_seed(seed: int, world: int) -> int:
    """Return the seed of a campaign's world, whatever variant and chunk it belongs to."""
    return int(np.random.SeedSequence(seed, spawn_key=(world,)).generate_state(1, np.uint64)[0] >> np.uint64(1))


def check_task(robot: Robot, task: GridTask) -> None:
    """Raise `InputError` for what an arm lacks for random worlds, before anything is run."""
    grid_task(task, robot, random_cylinders(0, most=SLOTS))


def comparison_of(rows: Iterable[Mapping[str, Any]], interrupted: bool = False) -> Comparison:
    """Return rows of ``worlds`` grouped by variant, in order of first appearance; missing figures are NaN."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        figures = {name: np.nan if row[name] is None else row[name] for name in FIGURES}
        parts.setdefault(row["variant"], []).append({**row, **figures, "message": row.get("said", row["message"])})
    return Comparison(tuple(Outcomes(label, tuple(part)) for label, part in parts.items()), interrupted)


def compare_explorations(
    robot: Robot | str = "ur5",
    variants: Mapping[str, Options] | None = None,
    count: int = 200,
    *,
    seed: int = 0,
    learn_seed: int = 0,
    task: GridTask | None = None,
    progress: Callable[[int, dict[str, Any]], Any] | None = None,
) -> Comparison:
    """Send an arm through the same random worlds in several ways, in this process.

    For many worlds, several processes or hosts, run a campaign of kind ``worlds``: it has the same rows.

    Args:
        robot: an arm, or a catalogue name or sheet.
        variants: options of `explore` and of its `Sensing` by label, and ``noise`` for the sensors of a UR5; `VARIANTS`
            by default.
        count: worlds per variant.
        seed: of all worlds, and of the noise in them.
        learn_seed: of the motions that thresholds are learned from, once for each variant.
        task: where and how the tool is held, for arms that the random worlds have no task for.
        progress: called after every run with the number of runs done and the run's row.

    Returns:
        The comparison; an interrupt (Ctrl-C) ends it early and keeps what was done.
    """
    chosen = dict(VARIANTS if variants is None else variants)
    if not chosen or count < 1:
        raise InputError(f"compare: need variants and worlds; got {len(chosen)} and {count}, each must be ≥ 1")
    arm, where = load(robot) if isinstance(robot, str) else robot, task or GridTask()
    check_task(arm, where)
    labels = list(chosen)

    def row(item: int, _: int) -> dict[str, Any]:
        world, k = divmod(item, len(labels))
        found = explore_variant(arm, chosen[labels[k]], world_seed(seed, world), learn_seed=learn_seed, task=where)
        return {"variant": labels[k], **found}

    return comparison_of(*in_memory(row, count * len(labels), chunk=1, progress=progress))
