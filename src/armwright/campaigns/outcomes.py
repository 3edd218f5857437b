# SPDX-License-Identifier: Apache-2.0
"""What a campaign's rows come to, as tables of plain rows: shares with exact intervals, quantiles with bootstrap ones.

Columns are read one at a time, so that a report of millions of rows needs the memory of one column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from armwright.campaigns.statistics import quantile, share
from armwright.campaigns.store import Store
from armwright.campaigns.summary import results
from armwright.errors import InputError
from armwright.optional import need
from armwright.types import Array

WORDS = 12  # different texts that a column may have to be counted
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
        if what in ("float64", "int64"):
            values = numbers(dataset, name)
            if len(values):
                found = {f"{100 * q:g} %": quantile(values, q)._asdict() for q in QUANTILES}
                figures.append({"column": name, "values": len(values), **found})
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
