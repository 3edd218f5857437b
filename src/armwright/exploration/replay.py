# SPDX-License-Identifier: Apache-2.0
"""An exploration as a replay: the arm among what it was never told, the map that grows, forces felt and true."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.exploration.arm.arm_result import ArmExploration
from armwright.exploration.arm.touch_map import RADIUS
from armwright.exploration.scene import TALL
from armwright.recording.replay.stage import Arrows, Curves, Growing, Stage, can_show, curves, stage_of
from armwright.recording.signals import Event

if TYPE_CHECKING:
    from armwright.exploration.result import Exploration
    from armwright.types import Array

FLAT = 0.1  # of a cell's edge: how thick a cell of a flat map is drawn


def exploration_stage(run: Exploration, title: str = "") -> Stage | None:
    """Return what a page replays of a run; None where nothing was recorded."""
    recording = run.recording
    if not can_show(recording):
        return None
    joints = isinstance(run, ArmExploration)
    plots = [_forces(run)]
    if "clearance" in recording:
        plots.append(Curves("clearance", "m", ("arm to world",), recording["clearance"][:, None]))
    plots += [curves(recording, name, words) for name, words in _JOINTS if name in recording]
    return replace(
        stage_of(recording, () if run.world is None else run.world.shapes, title=title),
        events=tuple(Event(c.time, _words(k, c.link)) for k, c in enumerate(run.contacts)),
        plots=tuple(plots),
        arrows=_arrows(run) if joints else stage_of(recording).arrows,
        map=_places(run) if isinstance(run, ArmExploration) else _cells(run),
        endless=None if joints else _endless(run),
    )


_JOINTS = (("error", "joint errors"), ("tau_ext", "external torque, felt"), ("q", "joint positions"))


def _words(k: int, link: str) -> str:
    return f"contact {k + 1}: {link or 'false alarm'}"


def _forces(run: Exploration) -> Curves:
    pair = [np.linalg.norm(run.recording[name], axis=1) for name in ("force", "force_felt")]
    return Curves("contact force", "N", ("true", "felt"), np.stack(pair, axis=1), ("true", "felt"))


def _cells(run: Exploration) -> Growing:
    """Cells that were felt, after each contact; a cell can be cleared again."""
    grid = run.maps[0].grid
    felt = np.stack([np.asarray(known.felt) > 0 for known in run.maps])
    ever = np.argwhere(felt.any(axis=0))
    known = felt[(slice(None), *ever.T)]
    size = np.asarray(grid.cell_size)
    edges = size if grid.dim == 3 else np.append(size, FLAT * float(size.min()))
    times = _times(run, len(run.maps))
    points = np.asarray(grid.centre(ever + grid.first)) if len(ever) else np.zeros((0, 3))
    shown = tuple(tuple(np.flatnonzero(row).tolist()) for row in known)
    return Growing("felt cells", points, times, shown, 0.96 * edges, np.asarray(grid.frame))


def _places(run: ArmExploration) -> Growing:
    """Places that were likely touched, after each contact: later contacts may make others likelier."""
    points: list[tuple[float, ...]] = []
    at: dict[tuple[float, ...], int] = {}
    shown = []
    for known in run.touch_maps:
        likely = [tuple(p) for p in known.points[known.likely].tolist()]
        for p in likely:
            if p not in at:
                at[p] = len(points)
                points.append(p)
        shown.append(tuple(at[p] for p in likely))
    return Growing(
        "felt places", np.array(points).reshape(-1, 3), _times(run, len(shown)), tuple(shown), radius=1.6 * RADIUS
    )


def _times(run: Exploration, count: int) -> Array:
    """From when on each of the maps held [s]: the first from the beginning, the others from their contact on."""
    marks = [contact.time for contact in run.contacts][: count - 1]
    return np.array([float(run.recording.time[0]), *marks])[:count]


def _arrows(run: Exploration) -> tuple[Arrows, ...]:
    """Forces on the links, each drawn where it was felt and where it truly was."""
    time = run.recording.time
    felt, true = (np.full((len(time), 3), np.nan) for _ in range(2))
    for k, contact in enumerate(run.contacts):
        began = contact.began if np.isfinite(contact.began) else contact.time
        until = run.contacts[k + 1].time if k + 1 < len(run.contacts) else np.inf
        span = (time >= began - 0.1) & (time < until)
        if contact.places is not None and len(contact.places.points):
            felt[span] = contact.places.points[0]
        if contact.true_point is not None:
            true[span] = contact.true_point
    out = []
    for name, words, colour, origin in (
        ("force", "true force", "true", true),
        ("force_felt", "felt force", "felt", felt),
    ):
        placed = np.isfinite(origin).all(axis=1)
        values = np.where(placed[:, None], run.recording[name], 0.0)
        out.append(Arrows(words, values, colour, np.nan_to_num(origin)))
    return tuple(out)


def _endless(run: Exploration) -> tuple[float, float]:
    """From where to where [m] endless cylinders are drawn: low posts about the map's level, not to hide the arm."""
    grid = run.maps[0].grid
    level = float(grid.origin[2]) if grid.dim == 2 else float(grid.centre(np.array(grid.shape) // 2)[2])
    return level - 0.5 * TALL, level + 0.5 * TALL
