# SPDX-License-Identifier: Apache-2.0
"""One HTML page about a campaign, from its store: outcomes, quantiles, pictures, and how to repeat it.

The pictures show how figures are spread, how long contacts waited for an alarm, and the ROC of detectors.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from armwright.campaigns.campaign_files import StoreError
from armwright.campaigns.campaign_tables import heading, table_cells
from armwright.campaigns.kind import Kind
from armwright.campaigns.store import Store, open_store
from armwright.campaigns.summary import QUANTILES, Tables, column, dataset_of, numbers, outcome_tables, rows_are_sound
from armwright.packages import need
from armwright.recording.pictures.html_page import Page
from armwright.recording.pictures.style import COLOURS, LIMIT, MUTED
from armwright.recording.pictures.style import STYLE as FIGURE_STYLE
from armwright.statistics import CONVENTION, quantile
from armwright.types import Array

MOST_PANELS = 12  # panels of one picture
PANELS_ACROSS = 3
BARS = 60
LEAST_DRAWN, MOST_DRAWN = 1e-100, 1e100  # sizes of figures, in whatever unit: axes overflow not far beyond


def spread_png(figures: Sequence[tuple[str, Array]]) -> bytes:
    """Draw how each column's values are spread; dashed: 5 %, 50 % and 95 %."""
    shown = figures[:MOST_PANELS]
    down = -(-len(shown) // PANELS_ACROSS)
    with _figure(7.2, 1.75 * down) as (figure, finish):
        for k, (name, values) in enumerate(shown):
            axes = figure.add_subplot(down, PANELS_ACROSS, k + 1)
            axes.hist(values, bins=_bins(values), color=COLOURS[0], alpha=0.85)
            for q in QUANTILES:
                axes.axvline(quantile(values, q).value, color=LIMIT, linestyle="--", linewidth=0.8)
            axes.set_title(name.replace("_", " "), loc="left")
            axes.locator_params(axis="x", nbins=5)
            axes.locator_params(axis="y", nbins=4)
        return finish()


def _bins(values: Array) -> int | Array:
    """Whole numbers have a bar each, if they are few."""
    low, high = values.min(), values.max()
    if high - low < BARS and np.array_equal(values, np.round(values)):
        return np.arange(low - 0.5, high + 1.0)
    bars = min(BARS, max(8, int(np.sqrt(len(values)))))
    if high - low <= bars * np.spacing(max(abs(low), abs(high))):  # all but the same: no room for so many edges
        margin = 0.5 * max(1.0, abs(low))
        return np.array([low - margin, high + margin])
    return bars


def _drawn(values: Array) -> Array:
    """Return the values that an axis can show: pictures are for the eye, the tables keep all."""
    size = np.abs(values)
    found: Array = np.where(size < LEAST_DRAWN, 0.0, values)[size < MOST_DRAWN]
    return found


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
        self.style = matplotlib.rc_context(FIGURE_STYLE)
        self.style.__enter__()
        figure = need("matplotlib.figure", "plot", "pictures of a campaign").Figure(self.size, layout="constrained")

        def finish() -> bytes:
            data = io.BytesIO()
            figure.savefig(data, format="png")
            return data.getvalue()

        return figure, finish

    def __exit__(self, *_: object) -> None:
        self.style.__exit__(None, None, None)


HEADS = {
    "outcomes": (
        "Outcomes",
        f"Share of the items; {CONVENTION}.",
    ),
    "figures": ("Figures", f"Quantiles over the items that have the value; {CONVENTION}; ∞: too few items to tell."),
    "detectors": (
        "Detectors",
        f"At their learned thresholds; {CONVENTION} (∞).",
    ),
    "roc": ("Receiver operating characteristic", "Factors (scale) on the learned thresholds."),
}
ORDER = {"outcomes": 0, "figures": 2}  # the kind's own tables between them
DELAY = "_delay"
LONG_TABLE_ROWS = 30  # rows beyond which a table is folded away
STYLE = "main{max-width:72rem}td{white-space:nowrap}details{margin:.6rem 0}summary{cursor:pointer}"


def campaign_report(
    folder: str | Path, path: str | Path | None = None, *, kind: Kind | None = None
) -> tuple[Path, Tables]:
    """Write a page about the rows that are there; ``report.html`` in the campaign's folder by default.

    `kind` as in `open_store`.

    Returns:
        The path, and the tables that stand in it.
    """
    store = open_store(folder, kind=kind)
    place = Path(path or store.folder / "report.html")
    if path is None and place.is_symlink():  # nobody named it: it may lead anywhere
        raise StoreError(f"{place}: is a link; remove it, or name the page with --out")
    tables, dataset = outcome_tables(store), dataset_of(store)
    plan, done = store.plan, dataset.count_rows()
    head = f"Campaign {store.folder.resolve().name}: {plan.kind}"
    page = Page(head, STYLE).lead(f"{done} of {plan.items} items, seed {plan.seed}")
    for name in sorted(tables, key=lambda name: ORDER.get(name, 1)):
        title, words = HEADS.get(name, (name.replace("_", " ").capitalize(), "Intervals at 95 %."))
        page.section(title).lead(words)
        with rows_are_sound(store):
            picture = _picture(name, tables, store, dataset)
        if picture:
            page.figure(*picture)
        page.table(*table_cells(tables[name], store.kind.units), folded=len(tables[name]) > LONG_TABLE_ROWS)
    again = f'armwright campaign query {store.folder} "select * from rows limit 10"'
    page.section("The campaign").verbatim(_as_toml(store)).paragraph("Ask the rows yourself:").verbatim(again)
    return page.write(place), tables


def _picture(name: str, tables: Tables, store: Store, dataset: Any) -> tuple[bytes, str] | None:
    """Return the picture that belongs above a table, and its caption."""
    rows = tables[name]
    if name == "roc" and rows:
        words = "Bands: exact intervals. Rings: thresholds as learned."
        return roc_png(rows, tables.get("detectors", ())), words
    if name == "detectors" and (delays := _delays(store, dataset)):
        return waiting_png(delays), "Contacts found by a delay; the rest was missed."
    if name == "figures" and rows:
        units = store.kind.units
        shown = [(heading(row["column"], units), _drawn(numbers(dataset, row["column"]))) for row in rows]
        shown = [(name, values) for name, values in shown if len(values)]
        return (spread_png(shown), "How the first twelve are spread; dashed: 5, 50 and 95 %.") if shown else None
    return None


def _delays(store: Store, dataset: Any) -> list[tuple[str, Any, int]]:
    """Delays of every detector, over all runs that met something."""
    names = [name for name in store.kind.schema if name.endswith(DELAY)]
    if not names or "met" not in store.kind.schema:
        return []
    met = sum(word == "contact" for word in column(dataset, "met").to_pylist())
    found = [(name.removesuffix(DELAY).replace("_", " "), _drawn(numbers(dataset, name)), met) for name in names]
    return [each for each in found if len(each[1])]


def _as_toml(store: Store) -> str:
    """The plan as a campaign file."""
    plan = store.plan
    lines = [
        f"kind = {json.dumps(plan.kind)}",
        f"seed = {plan.seed}",
        f"items = {plan.items}",
        f"chunk = {store.chunk}",
    ]
    lines += ["[settings]"] if plan.settings else []
    return "\n".join([*lines, *(f"{json.dumps(name)} = {_toml(value)}" for name, value in plan.settings.items())])


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
