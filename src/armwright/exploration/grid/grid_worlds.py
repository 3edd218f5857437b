# SPDX-License-Identifier: Apache-2.0
"""Random worlds of upright cylinders, the oracles that judge them, and the outcomes of many runs through them.

Two oracles see a world whole (`ask_oracles`). The careful one plans on the cells that no shape touches: what it solves,
the arm must solve. The generous one asks whether a point could pass at all, on a grid far finer than the map: where it
cannot, the arm must say so. Between the two, both answers are right. `Outcomes` counts how often the arm arrives, and
whether it is right when it says that it cannot; `compare_worlds` has the variants that are compared.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armwright.errors import ArmwrightError, InputError
from armwright.exploration.exploration import explore
from armwright.exploration.explore_options import Budget, map_of
from armwright.planning.grid.grid_search import Dijkstra
from armwright.statistics import quantile, share
from armwright.world.shapes import Box, Cylinder
from armwright.world.world import ToolTask, World
from armwright.world.world_catalogue import load_world

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.exploration.exploration_result import Exploration
    from armwright.robot.model import Robot

Oracle = Literal["solvable", "unsolvable", "narrow"]
TOUCHED_DISTANCE = (
    1.5e-3  # [m] a cell counts as touched if a shape comes within this: half of the tolerance of an arrival
)
WALL_SPACING = 0.03  # [m] between the centres of a wall: the thinnest cylinders just close it
SQUEEZE = 1.5e-3  # [m] surfaces are soft: a point slips through a neck this tight without being felt (12 N at 1e5 N/m)
POINTS_PER_CELL = 12  # points along a cell's edge for the generous oracle: 2 mm apart
BASE = 0.12  # [m] kept free about the robot's base
FREE_CELLS_AT_START = 1.2  # cells about the start that are kept free
STANDARD = "pillars"  # the world whose map random worlds stand on


def random_cylinders(
    seed: int,
    *,
    most: int = 24,
    radius: tuple[float, float] = (0.015, 0.035),
    task: ToolTask | None = None,
    stiffness: float = 1e5,
) -> World:
    """Return upright cylinders on a map: scattered ones, and mostly a wall across the way or a ring around the goal.

    The surroundings of the start are kept free; the goal may be walled in, or inside a cylinder.

    Args:
        seed: of everything.
        most: cylinders.
        radius: smallest and largest [m].
        task: map, the cell to keep free and the cell to stand in the way of; that of the world "pillars" by default.
        stiffness: [N/m].

    Example:
        >>> world = random_cylinders(seed=7)
    """
    task = load_world(STANDARD).tool_task if task is None else task
    assert task is not None
    grid, start, goal = map_of(task).grid, task.start, task.goal
    if grid.dim != 2:
        raise InputError("random cylinders stand on a 2-D map")
    rng = np.random.default_rng(seed)
    low, high = grid.centre((grid.first + 1,) * 2)[:2], grid.centre(np.array(grid.shape) - 2 + grid.first)[:2]
    home, end = grid.centre(start)[:2], grid.centre(goal)[:2]
    centres: list[Any] = []
    kind = rng.choice(["scatter", "wall", "wall", "ring"])
    if kind == "wall":  # across the straight way, straight or bent
        count = int(rng.integers(most // 3, most))
        way = end - home
        heading, bend = np.arctan2(way[1], way[0]) + np.pi / 2.0 + rng.normal(0.0, 0.4), rng.normal(0.0, 0.12)
        p = home + rng.uniform(0.25, 0.8) * way
        for side in (1.0, -1.0):
            at, turn = p, heading if side > 0.0 else heading + np.pi
            for _ in range(max(1, round(count * rng.uniform(0.2, 0.8)))):
                at = at + WALL_SPACING * np.array([np.cos(turn), np.sin(turn)])
                turn += side * bend
                centres.append(at)
        centres = [p, *centres][:most]
    elif kind == "ring":  # around the goal, closed or with a gap
        count = int(rng.integers(most // 2, most + 1))
        size = WALL_SPACING * most / (2.0 * np.pi)
        first = rng.uniform(-np.pi, np.pi)
        angles = first + 2.0 * np.pi * np.arange(count) / most
        centres = [end + size * np.array([np.cos(x), np.sin(x)]) for x in angles]
    while len(centres) < most and rng.uniform() < 0.85:
        centres.append(rng.uniform(low, high))
    shapes = []
    for k, p in enumerate(centres):
        r = float(rng.uniform(*radius))
        if (
            np.linalg.norm(p - home) > r + FREE_CELLS_AT_START * float(np.max(grid.cell_size))
            and np.linalg.norm(p) > r + BASE
        ):
            shapes.append(Cylinder(name=f"c{k}", centre=(float(p[0]), float(p[1]), 0.0), radius=r, stiffness=stiffness))
    return World(tuple(shapes), name=f"random-{seed}", tool_task=task)


def distances(world: World, points: ArrayLike) -> NDArray[np.float64]:
    """Return the distance (…) [m] of points (…, 2 or 3) to the nearest upright cylinder or box; negative inside.

    Boxes need points (…, 3). Written apart from the contact model, so that an oracle does not share its errors.
    """
    x = np.asarray(points, dtype=np.float64)
    far = np.full(x.shape[:-1], np.inf)
    posts: list[Any] = [shape for shape in world.shapes if isinstance(shape, Cylinder)]
    boxes: list[Any] = [shape for shape in world.shapes if isinstance(shape, Box)]
    if len(posts) + len(boxes) < len(world.shapes):
        raise InputError(f"oracles: world {world.name!r} may hold upright cylinders and boxes only")
    if posts:
        centre, radius = np.array([s.centre[:2] for s in posts]), np.array([s.radius for s in posts])
        far = (np.linalg.norm(x[..., None, :2] - centre, axis=-1) - radius).min(axis=-1)
    for box in boxes:
        over = np.abs((x - box.centre) @ np.asarray(box.rotation)) - 0.5 * np.asarray(box.size)
        outside = np.linalg.norm(np.maximum(over, 0.0), axis=-1)
        far = np.minimum(far, np.where(outside > 0.0, outside, over.max(axis=-1)))
    return np.asarray(far)


def ask_oracles(world: World, *, tolerance: float = 3e-3) -> Oracle:
    """Ask both oracles about a world with a task for the tool; a goal counts as reached within `tolerance` [m].

    Example:
        >>> ask_oracles(random_cylinders(seed=7))  # "solvable", "unsolvable" or "narrow"
    """
    from scipy import ndimage

    if world.tool_task is None:
        raise InputError(f"oracles: world {world.name!r} has no task for the tool (tool_task)")
    grid_map, start, goal = map_of(world.tool_task), world.tool_task.start, world.tool_task.goal
    grid = grid_map.grid
    cells = np.stack(np.meshgrid(*(np.arange(s) + grid.first for s in grid.shape), indexing="ij"), -1)
    size = np.asarray(grid.cell_size)
    # the distance function is exact to a cell's nearest point by sampling its box densely enough for the margin
    inside = (np.arange(POINTS_PER_CELL) + 0.5) / POINTS_PER_CELL - 0.5
    offsets = np.stack(np.meshgrid(inside, inside, indexing="ij"), -1)
    axes = np.asarray(grid.axes)
    points = grid.centre(cells)[:, :, None, None] + (offsets * size) @ axes
    far = distances(world, points)
    half = float(np.max(size)) / POINTS_PER_CELL / np.sqrt(2.0)
    touched = (far < TOUCHED_DISTANCE + half).any(axis=(-1, -2))
    blocked = grid_map.blocked()
    if Dijkstra()(touched | blocked, grid.index(start), grid.index(goal)).ok:
        return "solvable"
    fine = (far > -half - SQUEEZE).transpose(0, 2, 1, 3) & ~blocked[:, None, :, None]
    fine = fine.reshape(grid.shape[0] * POINTS_PER_CELL, grid.shape[1] * POINTS_PER_CELL)
    labels, _ = ndimage.label(fine)
    flat = points.transpose(0, 2, 1, 3, 4).reshape(*fine.shape, 3)
    near_goal = np.linalg.norm(flat - grid.centre(goal), axis=-1) < tolerance + 2.0 * half
    begin = labels[tuple(i * POINTS_PER_CELL + POINTS_PER_CELL // 2 for i in grid.index(start))]
    return "narrow" if begin and (labels[near_goal] == begin).any() else "unsolvable"


OUTCOMES = ("reached", "declared unreachable", "gave up", "still in contact")
TRUTHS: tuple[Oracle, ...] = ("solvable", "narrow", "unsolvable")
COMPARED = ("contacts", "impulse_ns", "largest_force_n", "tool_path_m", "arrival_s", "median_delay_s")
FIGURES = (*COMPARED[1:], "first_delay_s", "largest_felt_n", "simulated_s")
PATIENT = Budget(duration=1200.0)  # [s] twenty minutes: enough that no run ends for lack of time


def kind_of_end(run: Exploration) -> str:
    """Return one of `OUTCOMES`: contact at the end counts for runs that neither arrived nor knew why."""
    if run.reached:
        return "reached"
    if run.outcome in ("unreachable", "boxed in"):
        return "declared unreachable"
    return "still in contact" if run.metrics()["in_contact_at_end"] else "gave up"


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes of many runs.

    Attributes:
        label: of the variant. rows: one dictionary per run: world, truth, end, and the metrics.
    """

    label: str
    rows: tuple[dict[str, Any], ...]

    def table(self) -> dict[Oracle, dict[str, int]]:
        """Return the number of runs by what the oracles say and how they ended."""
        return {t: {o: sum(r["truth"] == t and r["end"] == o for r in self.rows) for o in OUTCOMES} for t in TRUTHS}

    def missed(self) -> tuple[dict[str, Any], ...]:
        """Return the runs that were wrong: solvable but not reached, unsolvable but not declared or even reached."""
        right = {"solvable": ("reached",), "unsolvable": ("declared unreachable",), "narrow": OUTCOMES[:2]}
        return tuple(r for r in self.rows if r["end"] not in right[r["truth"]])

    def arrived(self, among: Collection[str] | None = None) -> tuple[dict[str, Any], ...]:
        """Return the runs that reached the goal, in the worlds named by `among` or in all."""
        return tuple(r for r in self.rows if r["end"] == "reached" and (among is None or r["world"] in among))

    def summary(self, among: Collection[str] | None = None) -> dict[str, Any]:
        """Return the shares that were right, and medians and 95th percentiles over runs that arrived (in `among`)."""
        table, arrived = self.table(), self.arrived(among)
        solvable, unsolvable = sum(table["solvable"].values()), sum(table["unsolvable"].values())
        medians = {name: _quantile(arrived, name, 0.5) for name in COMPARED}
        high = {f"{name}_p95": _quantile(arrived, name, 0.95) for name in COMPARED}
        return {
            "label": self.label,
            "runs": len(self.rows),
            "compared": len(arrived),
            "solvable_reached": share(table["solvable"]["reached"], solvable).value,
            "unsolvable_declared": share(table["unsolvable"]["declared unreachable"], unsolvable).value,
            "most_contacts": max((r["contacts"] for r in self.rows), default=0),
            "largest_force_of_all_n": _quantile(self.rows, "largest_force_n", 1.0),
            "false_alarms": sum(r["false_alarms"] for r in self.rows),
            **medians,
            **high,
        }

    @property
    def right(self) -> bool:
        """Return whether more than 99 % of the solvable worlds were reached and every unsolvable one was declared."""
        s = self.summary()
        return not s["solvable_reached"] <= 0.99 and not s["unsolvable_declared"] < 1.0


def _quantile(rows: Sequence[dict[str, Any]], name: str, q: float) -> float:
    return quantile(np.array([r[name] for r in rows], dtype=np.float64), q).value  # NaN: a run without contact


def explore_one(
    robot: Robot,
    world: World,
    truth: Oracle,
    **options: Any,
) -> dict[str, Any]:
    """Explore one world; return its row of `Outcomes`.

    Raises:
        KeyboardInterrupt: the run was interrupted, which says nothing about the world.
    """
    try:
        run = explore(robot, world, **{"budget": PATIENT, **options})
    except ArmwrightError as error:  # a refused run must not end the others
        said = {"outcome": "refused", "message": str(error), "reached": False, "contacts": 0, "false_alarms": 0}
        figures = dict.fromkeys(FIGURES, float("nan"))
        return {"world": world.name, "truth": truth, "end": "gave up", **said, **figures}
    if run.outcome == "interrupted":
        raise KeyboardInterrupt
    return {"world": world.name, "truth": truth, "end": kind_of_end(run), **run.metrics()}
