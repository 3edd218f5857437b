# SPDX-License-Identifier: Apache-2.0
"""Results of a campaign: its rows as tables of plain rows, and SQL questions to them.

`summary_of` gives the tables that the kind makes of its rows; `outcome_tables` shares with exact intervals and
quantiles with bootstrap ones. Columns are read one at a time, so that a report of millions of rows needs the memory of
one column. `ask` runs SQL over all rows; `record_item` runs one item again for a closer look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from armwright.campaigns.chunk_file import DONE, joined, schema_of
from armwright.campaigns.store import Store, open_store
from armwright.campaigns.work import Worker
from armwright.errors import InputError, SimulationError
from armwright.packages import need
from armwright.statistics import quantile, share
from armwright.types import Array


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


WORDS = 12  # most different texts of a column whose texts are counted
QUANTILES = (0.05, 0.5, 0.95)
Tables = dict[str, list[dict[str, Any]]]


def dataset_of(store: Store) -> Any:
    """Return the rows that are there as a dataset, or raise `InputError` if there is none."""
    files = [str(store.file(*chunk)) for chunk in sorted(store.done())]
    if not files:
        raise InputError(f"{store.folder}: no rows yet")
    return need("pyarrow.dataset", "scale", "a campaign").dataset(files)


def column(dataset: Any, name: str) -> Any:
    """Return one column of all rows."""
    return dataset.to_table(columns=[name])[name]


def numbers(dataset: Any, name: str) -> Array:
    """Return a column of numbers, without the missing ones."""
    found: Array = column(dataset, name).drop_null().to_numpy().astype(np.float64)
    return found[np.isfinite(found)]


def outcome_tables(store: Store) -> Tables:
    """Return ``outcomes`` (shares of every word of a column), ``figures`` (quantiles), and the kind's own tables."""
    dataset, schema = dataset_of(store), store.kind.schema
    outcomes = _shares("status", column(dataset, "status"))
    for name, what in schema.items():
        if what in ("string", "bool"):
            outcomes += _shares(name, column(dataset, name))
    figures = []
    for name, what in schema.items():
        if what in ("float64", "int64") and name not in store.kind.judged:
            values = numbers(dataset, name)
            if len(values):
                found = {f"{100 * q:g} %": quantile(values, q)._asdict() for q in QUANTILES}
                figures.append({"column": name, "values": len(values), "of": dataset.count_rows(), **found})
    return {"outcomes": outcomes, "figures": figures} | dict(_own(store))


def _shares(name: str, values: Any) -> list[dict[str, Any]]:
    counted = Counter({pair["values"]: pair["counts"] for pair in values.value_counts().to_pylist()})
    counted.pop(None, None)
    if len(counted) > WORDS:
        return []
    total = sum(counted.values())
    return [
        {"column": name, "outcome": str(word), "items": hits, "of": total, "share": share(hits, total)._asdict()}
        for word, hits in counted.most_common()
    ]


def _own(store: Store) -> Mapping[str, list[dict[str, Any]]]:
    if store.kind.summary is None:
        return {}
    done, _ = results(store)
    return store.kind.summary(done) if len(done) else {}


def ask(folder: str | Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return names and rows of an SQL query to the view ``rows``; it can read those rows and nothing else."""
    duckdb, store = need("duckdb", "scale", "campaign query"), open_store(folder)
    rows = dataset_of(store)
    with duckdb.connect(":memory:") as base:
        base.register("rows", rows)
        base.execute("set enable_external_access = false")  # a query can neither read nor write other files
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
