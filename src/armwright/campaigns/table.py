# SPDX-License-Identifier: Apache-2.0
"""Rows of items as Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from armwright.campaigns.kind import Kind
from armwright.errors import InputError
from armwright.optional import need

DONE, RAISED, CRASHED, HUNG = "done", "raised", "crashed", "hung"
MESSAGE = 500  # characters that are kept of an error


def arrow() -> Any:
    """Return pyarrow, or say what to install."""
    return need("pyarrow", "scale", "a campaign")


@cache
def _types() -> dict[str, Any]:
    pa = arrow()
    return {"int64": pa.int64(), "float64": pa.float64(), "string": pa.string(), "bool": pa.bool_()}


def schema_of(kind: Kind) -> Any:
    """Return the Arrow schema of a kind's rows."""
    columns = {"item": "int64", "status": "string", "message": "string", **kind.schema}
    return arrow().schema([(name, _types()[what]) for name, what in columns.items()])


def good_rows(kind: Kind, first: int, last: int, columns: Mapping[str, Any]) -> Any:
    """Return items that were computed as a table; a kind that returns other columns than it said is an error."""
    pa, count = arrow(), last - first
    wrong = sorted(set(columns) ^ set(kind.schema))
    if wrong:
        raise InputError(f"kind {kind.name!r}: column {wrong[0]!r} is in its rows or in its schema, not in both")
    data = {"item": list(range(first, last)), "status": [DONE] * count, "message": [""] * count}
    for name, values in columns.items():
        listed = values.tolist() if hasattr(values, "tolist") else list(values)
        if not isinstance(listed, list) or len(listed) != count:
            raise InputError(f"kind {kind.name!r}: column {name!r} must have {count} values, one per item")
        data[name] = listed
    return pa.table(data, schema=schema_of(kind))


def marked_row(kind: Kind, item: int, status: str, message: str) -> Any:
    """Return the row of an item that has no result."""
    pa = arrow()
    data = {"item": [item], "status": [status], "message": [message[:MESSAGE]]}
    return pa.table(data | {name: [None] for name in kind.schema}, schema=schema_of(kind))


def joined(tables: Sequence[Any]) -> Any:
    """Return tables one below the other, in the order of their items."""
    pa = arrow()
    return pa.concat_tables(sorted(tables, key=lambda table: table["item"][0].as_py())).combine_chunks()
