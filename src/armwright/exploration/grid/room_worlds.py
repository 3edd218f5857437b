# SPDX-License-Identifier: Apache-2.0
"""Rooms with inside corners between start and goal, and runs through them in every way.

Walls that meet are where a contact model can push a tool through (the depth must be that of their union), and where a
slide can stay for ever. So rooms are shaped like an L, a T, a U or a trap whose mouth is narrower than its inside.
Their walls overlap, abut with gaps of at most a micrometre, or are sunk into a thick block. In a closed room the back
wall spans the map: whoever "reached" the goal there went through it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.choices import OBSERVERS, REACTIONS
from armwright.errors import InputError
from armwright.exploration.explore_options import Budget, ControlLoop, map_of
from armwright.exploration.grid.compare_worlds import Options, explore_options
from armwright.exploration.grid.grid_worlds import STANDARD, Oracle, ask_oracles, explore_one
from armwright.world.shapes import Box
from armwright.world.world import ToolTask, World
from armwright.world.world_catalogue import load_world

if TYPE_CHECKING:
    from armwright.exploration.explore_options import GridTask
    from armwright.robot.model import Robot

ROOM_KINDS = ("L", "T", "U", "trap", "sunk", "abutting")
GAPS = (0.0, 1e-9, 1e-6)  # [m] between walls that abut: all of them must be shut
ROOM_BUDGET = Budget(duration=240.0)  # [s] four times what stepping back takes on average
BLOCK_CELLS = 3.0  # cells that the block is thick into which walls are sunk, by half of it
SPAN_CELLS = (-1.0, 22.0)  # cells, from beyond the map's one border to beyond the other


def _room_variants() -> dict[str, Options]:
    """Return every observer with every reaction; all but the closed-loop estimate through a UR5's sensors."""
    out: dict[str, Options] = {}
    for observer in OBSERVERS:
        for reaction in REACTIONS:
            ideal = observer == "closed-loop"
            label = f"{observer}{'' if ideal else ' with noise'}, {reaction}"
            out[label] = {"observer": observer, "reaction": reaction, **({} if ideal else {"noise": True})}
    return out


ROOM_VARIANTS: Mapping[str, Options] = _room_variants()


def random_room(seed: int, *, kind: str | None = None, closed: bool | None = None) -> World:
    """Return a room of boxes on the map of the world "pillars", with the start before its corners and the goal behind.

    Args:
        seed: of everything that is not given.
        kind: one of `ROOM_KINDS`.
        closed: whether the back wall spans the map, so that there is no way.

    Example:
        >>> world = random_room(seed=3, kind="U", closed=True)
    """
    rng = np.random.default_rng([seed, 24])
    drawn, shut = str(rng.choice(ROOM_KINDS)), bool(rng.integers(2))
    kind, closed = drawn if kind is None else kind, shut if closed is None else closed
    if kind not in ROOM_KINDS:
        raise InputError(f"random_room: kind must be one of {', '.join(ROOM_KINDS)}; got {kind!r}")
    task = load_world(STANDARD).tool_task
    assert task is not None
    plan = _Plan(
        task, float(rng.uniform(0.01, 0.03)), float(10.0 ** rng.uniform(4.3, 5.3)), float(rng.choice([0.0, 0.3]))
    )
    back, mouth = rng.uniform(10.0, 15.5), rng.uniform(4.0, 8.0)
    low, high = rng.uniform(3.0, 9.0), rng.uniform(13.0, 17.0)
    half = 0.5 * plan.thick / plan.cell  # [cells] half of a wall
    into = half  # arms reach through the back wall to its far face
    if kind == "abutting":
        into = -half - float(rng.choice(GAPS)) / plan.cell
    span = SPAN_CELLS if closed else (low - half, high + half)
    walls = []
    if kind == "T":
        stem = rng.uniform(6.0, 9.5)
        span = SPAN_CELLS if closed else (stem - rng.uniform(2.0, 4.0), stem + rng.uniform(3.0, 7.0))
        walls = [plan.row("stem", stem, mouth, back + into)]
    elif kind == "sunk":
        low = min(low, 6.0)
        span = SPAN_CELLS if closed else (low - 0.5 * BLOCK_CELLS, high)
        walls = [plan.box("block", mouth, low - BLOCK_CELLS, back + BLOCK_CELLS, low)]
    else:
        walls = [plan.row("low", low, mouth, back + into)]
    if kind in ("U", "trap") or (kind == "abutting" and rng.integers(2)):
        walls.append(plan.row("high", high, mouth, back + into))
    if kind == "trap":
        walls.append(plan.column("low lip", mouth, low - half, min(low + rng.uniform(1.0, 3.0), 9.3)))
        walls.append(plan.column("high lip", mouth, max(high - rng.uniform(1.0, 3.0), 12.7), high + half))
    walls.append(plan.column("back", back, *span))
    return World(tuple(walls), name=f"{kind}-{'closed' if closed else 'open'}-{seed}", tool_task=task)


class _Plan:
    """A drawing in cells: it turns walls between cells into boxes [m]."""

    def __init__(self, task: ToolTask, thick: float, stiffness: float, friction: float) -> None:
        self.cell, self.thick = task.size, thick
        self.origin = np.asarray(map_of(task).grid.centre((1, 1))) - task.size * np.array([1.0, 1.0, 0.0])
        self.stiffness, self.friction = stiffness, friction

    def box(self, name: str, u0: float, v0: float, u1: float, v1: float) -> Box:
        """Return the box between two corners in cells."""
        low, high = (self.origin[:2] + self.cell * np.array(corner) for corner in ((u0, v0), (u1, v1)))
        x, y = 0.5 * (low + high)
        return Box(
            name=name,
            centre=(float(x), float(y), float(self.origin[2])),
            size=(float(high[0] - low[0]), float(high[1] - low[1]), 0.4),
            stiffness=self.stiffness,
            friction=self.friction,
        )

    def row(self, name: str, v: float, u0: float, u1: float) -> Box:
        """Return a wall along the map's first axis."""
        half = 0.5 * self.thick / self.cell
        return self.box(name, u0, v - half, u1, v + half)

    def column(self, name: str, u: float, v0: float, v1: float) -> Box:
        """Return a wall along the map's second axis."""
        half = 0.5 * self.thick / self.cell
        return self.box(name, u - half, v0, u + half, v1)


def numbered_room(number: int, seed: int) -> World:
    """Return room `number` of a series: every kind in turn, first all closed, then all open."""
    kinds = len(ROOM_KINDS)
    return random_room(seed, kind=ROOM_KINDS[number % kinds], closed=number // kinds % 2 == 0)


@lru_cache(maxsize=64)
def _known_room(number: int, seed: int) -> tuple[World, Oracle]:
    """Return a room and what the oracles say; asked once, not once per variant."""
    world = numbered_room(number, seed)
    return world, ask_oracles(world)


def explore_room(
    robot: Robot, label: str, number: int, seed: int, *, learn_seed: int = 0, task: GridTask | None = None
) -> dict[str, Any]:
    """Send an arm through one room in one way of `ROOM_VARIANTS`; return its row of `Outcomes`.

    Args:
        robot: the arm; the same object for all runs.
        label: of the variant.
        number: of the room, which says its kind.
        seed: of the room and of the noise in it.
        learn_seed: of the motions that thresholds are learned from.
        task: where and how the tool is held, for arms that the map has no task for.
    """
    world, truth = _known_room(number, seed)
    return explore_one(robot, world, truth, **room_options(label, seed, learn_seed, task))


def room_options(label: str, seed: int, learn_seed: int = 0, task: GridTask | None = None) -> dict[str, Any]:
    """Return what `explore` is told for a variant in a room; arguments as `explore_room`."""
    chosen = explore_options(ROOM_VARIANTS[label], seed, learn_seed, task)
    return {**chosen, "loop": ControlLoop(), "budget": ROOM_BUDGET}
