# SPDX-License-Identifier: Apache-2.0
"""Pictures of a campaign's rows: how figures are spread, and the ROC of detectors."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armwright.optional import need
from armwright.recording.pictures.style import COLOURS, LIMIT, MUTED, STYLE
from armwright.types import Array

MOST = 12  # panels of one picture
ACROSS = 3
BARS = 60


def spread_png(figures: Sequence[tuple[str, Array]]) -> bytes:
    """Draw how each column's values are spread; dashed: 5 %, 50 % and 95 %."""
    shown = figures[:MOST]
    down = -(-len(shown) // ACROSS)
    with _figure(7.2, 1.75 * down) as (figure, finish):
        for k, (name, values) in enumerate(shown):
            axes = figure.add_subplot(down, ACROSS, k + 1)
            axes.hist(values, bins=_bins(values), color=COLOURS[0], alpha=0.85)
            for q in np.quantile(values, (0.05, 0.5, 0.95)):
                axes.axvline(q, color=LIMIT, linestyle="--", linewidth=0.8)
            axes.set_title(name.replace("_", " "), loc="left")
            axes.locator_params(axis="x", nbins=5)
            axes.locator_params(axis="y", nbins=4)
        return finish()


def _bins(values: Array) -> int | Array:
    """Whole numbers have a bar each, if they are few."""
    low, high = values.min(), values.max()
    if high - low < BARS and np.array_equal(values, np.round(values)):
        return np.arange(low - 0.5, high + 1.0)
    return min(BARS, max(8, int(np.sqrt(len(values)))))


def roc_png(roc: Sequence[dict[str, Any]], detectors: Sequence[dict[str, Any]]) -> bytes:
    """Draw found contacts over runs with a false alarm, per observer and detector; a ring: thresholds as learned."""
    pairs = list(dict.fromkeys((row["observer"], row["detector"]) for row in roc))
    with _figure(7.2, 3.6) as (figure, finish):
        axes = figure.add_subplot()
        for k, pair in enumerate(pairs):
            points = [row for row in roc if (row["observer"], row["detector"]) == pair]
            x, y = (np.array([row[name]["value"] for row in points]) for name in ("runs_with_false_alarm", "found"))
            low, high = (np.array([row["found"][end] for row in points]) for end in ("low", "high"))
            colour, style = COLOURS[k % len(COLOURS)], "-" if k < len(COLOURS) else "--"
            axes.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)
            axes.plot(x, y, style, color=colour, label=" · ".join(pair))
            for row in detectors:
                if (row["observer"], row["detector"]) == pair:
                    axes.plot(row["runs_with_false_alarm"]["value"], row["found"]["value"], "o", color=colour, mfc="w")
        axes.set_xscale("symlog", linthresh=1e-3)
        axes.set_xlim(-1e-4, 1.0)
        axes.set_ylim(0.0, 1.02)
        axes.set_xlabel("share of runs with a false alarm")
        axes.set_ylabel("share of contacts found in time")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        return finish()


def waiting_png(delays: Sequence[tuple[str, Array, int]]) -> bytes:
    """Draw the share of contacts that was found by a delay: (name, delays of those found [s], contacts in all)."""
    with _figure(7.2, 3.4) as (figure, finish):
        axes = figure.add_subplot()
        for k, (name, found, total) in enumerate(delays):
            at = np.sort(found) * 1e3
            style = "-" if k < len(COLOURS) else "--"
            axes.step(
                at, np.arange(1, len(at) + 1) / total, style, where="post", color=COLOURS[k % len(COLOURS)], label=name
            )
        axes.axhline(1.0, color=MUTED, linewidth=0.7)
        axes.set_xlim(left=0.0)
        axes.set_ylim(0.0, 1.03)
        axes.set_xlabel("delay [ms]")
        axes.set_ylabel("share of contacts found")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        return finish()


class _figure:  # noqa: N801 — reads as a word in a with statement
    """A figure in the style of all pictures; `finish` returns it as PNG."""

    def __init__(self, width: float, height: float) -> None:
        self.size = (width, height)

    def __enter__(self) -> tuple[Any, Callable[[], bytes]]:
        matplotlib = need("matplotlib", "plot", "pictures of a campaign")
        self.style = matplotlib.rc_context(STYLE)
        self.style.__enter__()
        figure = need("matplotlib.figure", "plot", "pictures of a campaign").Figure(self.size, layout="constrained")

        def finish() -> bytes:
            data = io.BytesIO()
            figure.savefig(data, format="png")
            return data.getvalue()

        return figure, finish

    def __exit__(self, *_: object) -> None:
        self.style.__exit__(None, None, None)
