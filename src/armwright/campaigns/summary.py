# SPDX-License-Identifier: Apache-2.0
"""Results of a campaign: its rows as tables of plain rows.

`summary_of` gives the tables that the kind makes of its rows; `outcome_tables` shares with exact intervals and
quantiles with bootstrap ones. Columns are read one at a time, so that a report of millions of rows needs the memory of
one column. `record_item` runs one item again for a closer look; SQL questions are `campaign_query`.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from armwright.campaigns.campaign_files import StoreError
from armwright.campaigns.chunk_file import DONE, ChunkError, arrow, check_footer, joined, schema_of
from armwright.campaigns.kind import Kind
from armwright.campaigns.store import Store, open_store
from armwright.campaigns.work import Worker
from armwright.errors import ArmwrightError, InputError, SimulationError
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


OwnTables = Mapping[str, list[dict[str, Any]]]


def summary_of(folder: str | Path, *, kind: Kind | None = None) -> Mapping[str, list[dict[str, Any]]]:
    """Return the tables that the kind of the campaign in a folder makes of its rows, by name: plain rows each.

    `kind` as in `open_store`.
    """
    store = open_store(folder, kind=kind)
    if store.kind.summary is None:
        raise InputError(f"kind {store.kind.name!r} has no summary; ask its rows: armwright campaign query")
    return _summarised(store, store.kind.summary, results(store)[0])


def _summarised(store: Store, summary: Callable[[Any], OwnTables], rows: Any) -> OwnTables:
    """Call a kind's summary: a folder may hold rows that no item ever gave."""
    try:
        return summary(rows)
    except ArmwrightError:
        raise
    except Exception as error:  # a kind may raise anything
        raise StoreError(
            f"{store.folder}: kind {store.kind.name!r} cannot summarise these rows ({type(error).__name__}: {error}); "
            f"check them with: armwright campaign verify {store.folder}"
        ) from error


WORDS = 12  # most different texts of a column whose texts are counted
QUANTILES = (0.05, 0.5, 0.95)
Tables = dict[str, list[dict[str, Any]]]


def dataset_of(store: Store) -> Any:
    """Return the rows that are there as a dataset: regular files whose footers are those of the campaign.

    Values are read when they are asked for, within `rows_are_sound`.

    Raises:
        InputError: there is no row yet.
        StoreError: a file is not the chunk it should be.
    """
    chunks = sorted(store.done())
    files = [store.file(*chunk) for chunk in chunks]
    if not files:
        raise InputError(f"{store.folder}: no rows yet")
    for file in files:
        if not file.is_file():  # a pipe would block whoever opens it
            raise StoreError(f"{file}: expected a regular file; {_mended(store)}")
    with rows_are_sound(store):
        found = need("pyarrow.dataset", "scale", "a campaign").dataset(
            [str(file) for file in files], schema=schema_of(store.kind)
        )
        for fragment, chunk, file in zip(found.get_fragments(), chunks, files, strict=True):
            try:
                check_footer(fragment.physical_schema, fragment.metadata.num_rows, store.kind, store.digest, *chunk)
            except ChunkError as error:
                raise StoreError(f"{file}: {error}; {_mended(store)}") from None
    return found


@contextlib.contextmanager
def rows_are_sound(store: Store) -> Iterator[None]:
    """Turn what pyarrow says about a damaged file into a `StoreError`."""
    arrow_error = arrow().lib.ArrowException
    try:
        yield
    except (arrow_error, OSError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StoreError(f"{store.folder}: rows cannot be read ({said:.200}); {_mended(store)}") from None


def _mended(store: Store) -> str:
    return f"set it aside with: armwright campaign verify {store.folder}"


def column(dataset: Any, name: str) -> Any:
    """Return one column of all rows."""
    return dataset.to_table(columns=[name])[name]


def numbers(dataset: Any, name: str) -> Array:
    """Return a column of numbers, without the missing ones."""
    found: Array = column(dataset, name).drop_null().to_numpy().astype(np.float64)
    return found[np.isfinite(found)]


def outcome_tables(store: Store) -> Tables:
    """Return ``outcomes`` (shares of every word of a column), ``figures`` (quantiles), and the kind's own tables."""
    dataset = dataset_of(store)
    with rows_are_sound(store):
        return _outcomes(store, dataset) | dict(_own(store))


def _outcomes(store: Store, dataset: Any) -> Tables:
    schema = store.kind.schema
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
    return {"outcomes": outcomes, "figures": figures}


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


def _own(store: Store) -> OwnTables:
    if store.kind.summary is None:
        return {}
    done, _ = results(store)
    return _summarised(store, store.kind.summary, done) if len(done) else {}


def record_item(folder: str | Path, item: int, path: str | Path, *, kind: Kind | None = None) -> None:
    """Run one item again, check its row against the campaign's, and save its recording; `kind` as in `open_store`."""
    store = open_store(folder, kind=kind)
    if store.kind.record is None:
        raise InputError(f"kind {store.kind.name!r} keeps no recordings")
    if not 0 <= item < store.plan.items:
        raise InputError(f"item must be from 0 to {store.plan.items - 1}, got {item}")
    first = item - item % store.chunk
    row = store.read(first, min(first + store.chunk, store.plan.items)).slice(item - first, 1)
    if Worker(store.plan, store.prepared, store.kind).table(item, item + 1).to_pylist() != row.to_pylist():
        raise SimulationError(f"item {item} comes out differently here; its row was made by other arithmetic")
    store.kind.record(store.plan, store.prepared, item).save(path)
