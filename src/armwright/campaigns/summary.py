# SPDX-License-Identifier: Apache-2.0
"""What a campaign came to: the rows that have a result as one table, and the tables that its kind makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from armwright.campaigns.store import Store, open_store
from armwright.campaigns.table import DONE, joined, schema_of
from armwright.errors import InputError
from armwright.optional import need


def results(store: Store) -> tuple[Any, Any]:
    """Return two Arrow tables of what is done so far: rows with a result, and rows without."""
    compute = need("pyarrow.compute", "scale", "a campaign")
    done = sorted(store.done())
    table = joined([store.read(*chunk) for chunk in done]) if done else schema_of(store.kind).empty_table()
    good = compute.equal(table["status"], DONE)
    return table.filter(good), table.filter(compute.invert(good))


def summary_of(folder: str | Path) -> Mapping[str, list[dict[str, Any]]]:
    """Return the tables that the kind of the campaign in a folder makes of its rows, by name: plain rows each."""
    store = open_store(folder)
    if store.kind.summary is None:
        raise InputError(f"kind {store.kind.name!r} has no summary; ask its rows: armwright campaign query")
    return store.kind.summary(results(store)[0])
