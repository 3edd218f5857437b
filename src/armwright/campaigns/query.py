# SPDX-License-Identifier: Apache-2.0
"""Questions to a campaign's rows: SQL over all of them, and one item looked at again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from armwright.campaigns.outcomes import dataset_of
from armwright.campaigns.store import open_store
from armwright.campaigns.work import Worker
from armwright.errors import InputError, SimulationError
from armwright.optional import need


def ask(folder: str | Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return names and rows of an SQL question to the view ``rows``; it can read those rows and nothing else."""
    duckdb, store = need("duckdb", "scale", "campaign query"), open_store(folder)
    rows = dataset_of(store)
    with duckdb.connect(":memory:") as base:
        base.register("rows", rows)
        base.execute("set enable_external_access = false")  # a question can neither read nor write other files
        try:
            answer = base.execute(sql)
            return [column[0] for column in answer.description], answer.fetchall()
        except duckdb.Error as error:
            raise InputError(f"query: {str(error).splitlines()[0]}") from None


def record_item(folder: str | Path, item: int, path: str | Path) -> None:
    """Run one item again, check its row against the campaign's, and save its recording."""
    store = open_store(folder)
    if store.kind.record is None:
        raise InputError(f"kind {store.kind.name!r} keeps no recordings")
    if not 0 <= item < store.plan.items:
        raise InputError(f"item must be from 0 to {store.plan.items - 1}, got {item}")
    first = item - item % store.chunk
    row = store.read(first, min(first + store.chunk, store.plan.items)).slice(item - first, 1)
    if Worker(store.plan, store.prepared).table(item, item + 1).to_pylist() != row.to_pylist():
        raise SimulationError(f"item {item} comes out differently here; its row was made by other arithmetic")
    store.kind.record(store.plan, store.prepared, item).save(path)
