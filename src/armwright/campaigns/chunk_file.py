# SPDX-License-Identifier: Apache-2.0
"""The rows of one chunk: as Arrow tables, and as the bytes of its file.

The bytes are made where the rows were computed; a coordinator only stores them. Pages carry checksums. The footer names
the campaign's digest, a checksum of the rows (tables of contents carry none) and the writer once more, so that every
flipped bit is found. The same rows are the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

from armwright.campaigns.kind import Kind
from armwright.errors import InputError, SimulationError
from armwright.packages import need

DONE, RAISED, CRASHED, HUNG = "done", "raised", "crashed", "hung"
MOST_ERROR_CHARACTERS = 500  # characters that are kept of an error


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
    data = {"item": [item], "status": [status], "message": [message[:MOST_ERROR_CHARACTERS]]}
    return pa.table(data | {name: [None] for name in kind.schema}, schema=schema_of(kind))


def joined(tables: Sequence[Any]) -> Any:
    """Return tables one below the other, in the order of their items."""
    pa = arrow()
    return pa.concat_tables(sorted(tables, key=lambda table: table["item"][0].as_py())).combine_chunks()


DIGEST, ROWS, WRITER = b"armwright.campaign", b"armwright.rows", b"armwright.writer"
HEAD = Struct("<cqqq")
MARK = b"+"  # first byte of a chunk that is sent, unlike that of a refusal


class ChunkError(InputError):
    """A file that is not the chunk it should be; the text says why, not which file."""


class Chunk(NamedTuple):
    """Rows of items first ≤ item < last as a file's content, and the number of those without a result."""

    first: int
    last: int
    failed: int
    content: bytes

    def to_bytes(self) -> bytes:
        """Return what is sent to the coordinator."""
        return HEAD.pack(MARK, self.first, self.last, self.failed) + self.content


def chunk_from(data: bytes, asked: tuple[int, int]) -> Chunk:
    """Return the chunk that `Chunk.to_bytes` wrote, if it is the one that was asked for: (first, last)."""
    mark, first, last, failed = HEAD.unpack_from(data) if len(data) > HEAD.size else (b"", 0, 0, 0)
    if mark != MARK or (first, last) != asked:
        raise SimulationError(
            f"a worker answered for items {asked[0]} to {asked[1] - 1} with something else; "
            "install the same package everywhere"
        )
    return Chunk(first, last, failed, data[HEAD.size :])


def chunk_of(table: Any, digest: str) -> Chunk:
    """Return the rows (an Arrow table) as a chunk of the campaign with this digest."""
    first, last = table["item"][0].as_py(), table["item"][-1].as_py() + 1
    failed = len(table) - table["status"].to_pylist().count(DONE)
    return Chunk(first, last, failed, _content(table, digest))


def rows_of(content: bytes, kind: Kind, digest: str, first: int, last: int) -> Any:
    """Return the rows in the content of a chunk's file, checked, or raise `ChunkError`."""
    try:
        file = _parquet().ParquetFile(arrow().BufferReader(content), page_checksum_verification=True)
        check_footer(
            file.schema_arrow, file.metadata.num_rows, kind, digest, first, last
        )  # before anything is unpacked
        table = file.read()
    except ChunkError:
        raise
    except Exception as error:  # noqa: BLE001 — a damaged file may raise anything
        raise ChunkError(f"damaged ({type(error).__name__})") from None
    marks = table.schema.metadata or {}
    table = table.replace_schema_metadata(None)
    try:
        sound = table.schema.equals(schema_of(kind)) and marks.get(ROWS) == _fingerprint(table).encode()
    except ValueError:  # texts that are none
        sound = False
    if not sound:
        raise ChunkError("damaged (checksum of the rows)")
    if table["item"].to_pylist() != list(range(first, last)):
        raise ChunkError("items that are not those of its name")
    return table


def check_footer(schema: Any, rows: int, kind: Kind, digest: str, first: int, last: int) -> None:
    """Raise `ChunkError` if a file's footer says other columns, another campaign or another number of rows."""
    if (schema.metadata or {}).get(DIGEST) != digest.encode():
        raise ChunkError("rows of another campaign")
    if not schema.remove_metadata().equals(schema_of(kind)):
        raise ChunkError("damaged (its columns)")
    if rows != last - first:
        raise ChunkError("items that are not those of its name")


def check_bytes(content: bytes, table: Any, digest: str) -> None:
    """Raise `ChunkError` unless a file is, byte for byte, what its rows are written as.

    Other versions of pyarrow may write other bytes; of their files only the rows and the writer's name are checked.
    """
    try:
        about = _parquet().read_metadata(arrow().BufferReader(content))
        made_by, again = about.created_by, (about.metadata or {}).get(WRITER, b"").decode()
    except ValueError:  # no longer text
        made_by, again = "", ""
    if not made_by or made_by != again:
        raise ChunkError(f"damaged (its writer is {made_by!r:.60} or {again!r:.60})")
    if made_by == writer() and _content(table, digest) != content:
        raise ChunkError("damaged (bytes beside the rows)")


def _content(table: Any, digest: str) -> bytes:
    marks = {DIGEST: digest.encode(), ROWS: _fingerprint(table).encode(), WRITER: writer().encode()}
    sink = arrow().BufferOutputStream()
    _parquet().write_table(
        table.replace_schema_metadata(marks),
        sink,
        compression="zstd",
        row_group_size=max(1, len(table)),
        write_page_checksum=True,
        write_statistics=False,  # no checksum guards them, and queries would trust them
    )
    return bytes(sink.getvalue())


def _fingerprint(table: Any) -> str:
    """Return a checksum of the values alone: memory behind missing values may hold anything."""
    pa, found = arrow(), hashlib.blake2b(digest_size=16)
    for name in table.column_names:
        column = table[name].combine_chunks()
        if pa.types.is_string(column.type):
            found.update(json.dumps(column.to_pylist()).encode())
            continue
        column = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
        for part in (column.is_valid(), column.fill_null(0)):
            found.update(part.to_numpy(zero_copy_only=False).tobytes())
    return found.hexdigest()


def _parquet() -> Any:
    return need("pyarrow.parquet", "scale", "a campaign")


def writer() -> str:
    """Return the name and version of what writes files here, as their footer says."""
    return f"parquet-cpp-arrow version {arrow().cpp_version}"
