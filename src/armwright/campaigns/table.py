# SPDX-License-Identifier: Apache-2.0
"""Rows of items as Arrow tables and as bytes: the same rows are always the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from armwright.campaigns.kind import Kind
from armwright.errors import InputError
from armwright.optional import need

DONE, RAISED, CRASHED, HUNG = "done", "raised", "crashed", "hung"
MESSAGE = 500  # characters that are kept of an error


def arrow() -> Any:
    """Return pyarrow, or say what to install."""
    return need("pyarrow", "scale", "a campaign")


def schema_of(kind: Kind) -> Any:
    """Return the Arrow schema of a kind's rows."""
    pa = arrow()
    types = {"int64": pa.int64(), "float64": pa.float64(), "string": pa.string(), "bool": pa.bool_()}
    own = [(name, types[what]) for name, what in kind.schema.items()]
    return pa.schema([("item", pa.int64()), ("status", pa.string()), ("message", pa.string()), *own])


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


def to_bytes(table: Any) -> bytes:
    """Return a table as an Arrow stream."""
    pa = arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def from_bytes(data: bytes) -> Any:
    """Return the table that `to_bytes` wrote."""
    pa = arrow()
    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()
