# SPDX-License-Identifier: Apache-2.0
"""One picture of all variants of a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ArmwrightError, InputError
from armwright.optional import need
from armwright.recording.pictures.style import COLOURS, MUTED, STYLE

if TYPE_CHECKING:
    from armwright.exploration.grid.compare import Comparison

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


def draw_comparison(comparison: Comparison, path: str | Path | None = None) -> Any:
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
    figure_type = need("matplotlib.figure", "plot", "plotting").Figure
    canvas_type = need("matplotlib.backends.backend_agg", "plot", "plotting").FigureCanvasAgg
    labels = [outcome.label for outcome in comparison.outcomes]
    with matplotlib.rc_context(STYLE):
        figure = figure_type(figsize=(13.5, 1.6 + 0.36 * len(labels)), layout="constrained")
        canvas_type(figure)
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
            try:
                figure.savefig(path, dpi=150)
            except (OSError, ValueError) as error:
                raise ArmwrightError(f"{path}: the figure could not be saved ({error})") from error
    return figure


def _shares(axes: Any, comparison: Comparison) -> None:
    """Stack what became of the runs, one bar a variant, in percent."""
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


def _spread(axes: Any, values: list[list[float]], log: bool) -> None:
    """Boxes of the values of every variant."""
    for k, given in enumerate(values):
        data = np.array([v for v in given if np.isfinite(v) and (v > 0.0 or not log)])
        if not len(data):
            continue
        low, a, m, b, high = np.quantile(data, [0.05, 0.25, 0.5, 0.75, 0.95])
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
