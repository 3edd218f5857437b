# SPDX-License-Identifier: Apache-2.0
"""Observers, planners and reactions compared on the same random worlds, and the picture of the comparison.

`VARIANTS` lists what is compared. `explore_variant` makes one run, which depends on its variant and its world alone;
`armwright.campaigns` makes many of them. `Comparison` holds their outcomes, `draw_comparison` draws them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.detection.study_contacts import ur5_sensors
from armwright.errors import InputError
from armwright.exploration.explore_options import ControlLoop, GridTask, Sensing
from armwright.exploration.grid.grid_worlds import Oracle, Outcomes, ask_oracles, explore_one, random_cylinders
from armwright.packages import need
from armwright.recording.pictures.style import COLOURS, MUTED, STYLE, blank_figure, save_figure
from armwright.statistics import quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        """Return the worlds that every variant crossed: there their figures can be compared."""
        reached = [frozenset(row["world"] for row in outcome.arrived()) for outcome in self.outcomes]
        return frozenset.intersection(*reached) if reached else frozenset()

    def summaries(self) -> list[dict[str, Any]]:
        """Return one summary per variant; medians and percentiles are over the worlds that all of them crossed."""
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

    Example:
        >>> explore_variant(aw.load("ur5"), VARIANTS["closed-loop, slide"], seed=7)["end"]  # one of `OUTCOMES`
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
    """Return what the oracles say about a world; asked once, not once per variant."""
    return ask_oracles(random_cylinders(seed, most=SLOTS))


# pieces of the bar of a variant: truth, end, colour; what is left is wrong
PIECES = (
    ("solvable", "reached", "#2a7f62"),
    ("narrow", "reached", "#8cc7ab"),
    ("narrow", "declared unreachable", "#c9d3dc"),
    ("unsolvable", "declared unreachable", "#7d8b99"),
)
WRONG = "#c2352b"
PANELS = (
    ("contacts", "contacts", False),
    ("impulse_ns", "impulse, if any [N s]", True),
    ("largest_force_n", "largest force [N]", False),
    ("tool_path_m", "path of the tool [m]", False),
    ("arrival_s", "time to arrive [s]", False),
)


def draw_comparison(comparison: Comparison, path: str | Path | None = None) -> Figure:
    """Draw all variants: how their runs ended, and the spread of contacts, impulse, force, path and time.

    The spreads are over the worlds that every variant crossed: box from the first to the last quarter, whiskers from
    5 to 95 %, dots beyond.

    Args:
        comparison: with at least one run.
        path: where to save it as well.

    Returns:
        The matplotlib Figure.
    """
    if not comparison.outcomes:
        raise InputError("plot: the comparison has no runs")
    matplotlib = need("matplotlib", "plot", "plotting")
    labels = [outcome.label for outcome in comparison.outcomes]
    with matplotlib.rc_context(STYLE):
        figure = blank_figure("plotting", figsize=(13.5, 1.6 + 0.36 * len(labels)), layout="constrained")
        first, *others = figure.subplots(1, 1 + len(PANELS), sharey=True, width_ratios=[1.5, *[1.0] * len(PANELS)])
        _shares(first, comparison)
        among = comparison.common()
        for axes, (name, title, log) in zip(others, PANELS, strict=True):
            _spread(axes, [[row[name] for row in o.arrived(among)] for o in comparison.outcomes], log)
            axes.set_title(title, loc="left", fontsize=9)
        first.set_yticks(range(len(labels)), labels)
        first.set_ylim(len(labels) - 0.4, -0.6)
        figure.legend(handles=_handles(), loc="outside lower left", ncols=5, fontsize=8, frameon=False)
        note = f"right: the {len(among)} worlds that every variant crossed; box 25–75 %, whiskers 5–95 %"
        figure.text(0.995, 0.015, note, ha="right", va="bottom", fontsize=8, color=MUTED)
        if path is not None:
            save_figure(figure, path, 150)
    return figure


def _shares(axes: Axes, comparison: Comparison) -> None:
    """Stack what became of the runs, one bar per variant, in percent."""
    for k, outcome in enumerate(comparison.outcomes):
        table, left = outcome.table(), 0.0
        for truth, end, colour in PIECES:
            share = 100.0 * table[truth][end] / len(outcome.rows)  # type: ignore[index]
            axes.barh(k, share, left=left, color=colour, height=0.72, edgecolor="white", linewidth=0.6)
            if share >= 8.0:
                text = "white" if colour in (PIECES[0][2], PIECES[3][2]) else "black"
                axes.text(left + share / 2, k, str(table[truth][end]), ha="center", va="center", fontsize=8, color=text)  # type: ignore[index]
            left += share
        wrong = len(outcome.missed())
        axes.barh(k, 100.0 - left, left=left, color=WRONG, height=0.72)
        if wrong:
            axes.text(101.0, k, f"{wrong} wrong", color=WRONG, va="center", fontsize=8)
    axes.set_xlim(0.0, 100.0)
    axes.set_title("runs by what the world allows [%]", loc="left", fontsize=9)
    axes.grid(False)


def _handles() -> list[Any]:
    patch = need("matplotlib.patches", "plot", "plotting").Patch
    handles = [patch(color=colour, label=f"{truth}: {end}") for truth, end, colour in PIECES]
    return [*handles, patch(color=WRONG, label="anything else")]


def _spread(axes: Axes, values: list[list[float]], log: bool) -> None:
    """Draw boxes of the values of every variant."""
    for k, given in enumerate(values):
        data = np.array([v for v in given if np.isfinite(v) and (v > 0.0 or not log)])
        if not len(data):
            continue
        low, a, m, b, high = (quantile(data, q).value for q in (0.05, 0.25, 0.5, 0.75, 0.95))
        axes.plot([low, high], [k, k], color=COLOURS[0], linewidth=1.0, zorder=1)
        axes.barh(k, b - a, left=a, height=0.5, color="#cfe0ee", edgecolor=COLOURS[0], linewidth=0.8, zorder=2)
        axes.plot([m, m], [k - 0.25, k + 0.25], color=COLOURS[0], linewidth=2.2, zorder=3, solid_capstyle="butt")
        beyond = data[(data < low) | (data > high)]
        axes.plot(beyond, np.full(len(beyond), k), ".", color=COLOURS[0], markersize=2.5, alpha=0.6, zorder=1)
    if log:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0.0)
    axes.tick_params(labelsize=8)
    axes.grid(True, axis="x")
    axes.grid(False, axis="y")
