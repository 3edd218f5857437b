# SPDX-License-Identifier: Apache-2.0
"""Tables of a campaign as a person reads them: figures with their intervals in few digits, heads with their units.

A kind says the units of its columns (`Kind.units`); a name may also end with its own unit, ``delay_median_s``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from armwright.errors import ArmwrightError
from armwright.html_text import html_table

if TYPE_CHECKING:
    from armwright.campaigns.store import Store

PER_CENT_COLUMNS = ("share", "found", "early", "runs_with_false_alarm")
"""Columns that are shares, shown in per cent."""
UNIT_ENDINGS = {
    "s": "s",
    "m": "m",
    "n": "N",
    "j": "J",
    "kg": "kg",
    "nm": "N m",
    "ns": "N s",
    "hours": "h",
    "per_hour": "1/h",
}
"""Ends of names behind an underscore, and the units that they stand for."""


def unit_of(name: str, units: Mapping[str, str]) -> str:
    """Return the unit of a column: as its kind says, else as its name ends; "" if it has none or nobody says."""
    return units.get(name) or next((unit for end, unit in UNIT_ENDINGS.items() if name.endswith(f"_{end}")), "")


def heading(name: str, units: Mapping[str, str]) -> str:
    """Return the name of a column as a person reads it: ``delay_median_s`` becomes "delay median [s]"."""
    unit = unit_of(name, units)
    if name not in units:
        name = next((name.removesuffix(f"_{end}") for end in UNIT_ENDINGS if name.endswith(f"_{end}")), name)
    return name.replace("_", " ") + (f" [{unit}]" if unit else "")


def table_cells(rows: Sequence[Mapping[str, Any]], units: Mapping[str, str]) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells of a table; names of columns within it are told with their units, too."""
    heads = list(dict.fromkeys(name for row in rows for name in row))
    named = ("column", "figure")
    cells = [
        [
            heading(str(row[name]), units)
            if name in named and name in row
            else cell(row.get(name), name in PER_CENT_COLUMNS)
            for name in heads
        ]
        for row in rows
    ]
    return [heading(name, units) for name in heads], cells


def cell(value: object, share: bool = False) -> str:
    """Write a figure, or one with its interval, in as many digits as a reader can use; shares in per cent."""
    if isinstance(value, Mapping):
        figure, low, high = (cell(value[part], share).removesuffix(" %") for part in ("value", "low", "high"))
        return f"{figure}{' %' if share else ''} [{low}, {high}]"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float) and math.isinf(value):
        return "∞" if value > 0.0 else "−∞"
    if share and isinstance(value, float):
        return f"{100.0 * value:.4g} %"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def campaign_cells(store: Store) -> str:
    """Return what notebooks show of a campaign: a table of every kind of result so far; what cannot be read is said."""
    from armwright.campaigns.summary import outcome_tables

    if not store.done():
        return html_table(repr(store), ("state",), [("no item is done yet",)])
    try:
        tables = outcome_tables(store)
    except ArmwrightError as error:
        return html_table(repr(store), ("state",), [(str(error),)])
    parts: list[str] = []
    for name, rows in tables.items():
        if rows:
            title = name.replace("_", " ") if parts else f"{store!r}: {name}"
            parts.append(html_table(title, *table_cells(rows, store.kind.units)))
    return "".join(parts)
