# SPDX-License-Identifier: Apache-2.0
"""Parquet: flat columns ``t, q_0 … q_5, …`` with unit and label on each.

A Parquet file is unreadable until its footer is written. A run therefore streams Arrow record batches, each of which
can be read as soon as it is on disk, into ``<name>.parquet.partial``, and closing turns that into the Parquet file. If
the run dies, `load` reads the partial file under the Parquet file's name.

The partial file consists of whole pieces: ``AWPC``, length (u64), CRC-32 of the content (u32), CRC-32 of these sixteen
bytes (u32), content; all little-endian. The last piece of a file that was cut short is not whole; anything else that
does not fit is damage. In the Parquet file pages have checksums, the tables of contents around them have none; so the
end of the file names the checksum of every signal's numbers.
"""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from armwright.errors import InputError
from armwright.files import SafeFile, draft_folder
from armwright.packages import need
from armwright.recording.formats import file_header as meta

if TYPE_CHECKING:
    from armwright.recording.recording import Recording
    from armwright.types import Array

MARK = b"AWPC"
_HEAD, _CHECK = struct.Struct("<4sQI"), struct.Struct("<I")


def piece(content: Any) -> tuple[bytes, Any]:
    """Return the parts of a piece, as `SafeFile.write` takes them."""
    head = _HEAD.pack(MARK, memoryview(content).nbytes, zlib.crc32(content))
    return head + _CHECK.pack(zlib.crc32(head)), content


def pieces(path: Path, data: mmap.mmap) -> Iterator[memoryview]:
    """Yield the contents of the whole pieces in `data`, a buffer.

    Raises:
        InputError: damage, with the byte of the piece.
    """
    view, at = memoryview(data), 0
    while at + _HEAD.size + _CHECK.size <= len(view):
        head = view[at : at + _HEAD.size]
        start = at + _HEAD.size + _CHECK.size
        mark, length, crc = _HEAD.unpack(head)
        if mark != MARK or _CHECK.unpack_from(view, at + _HEAD.size) != (zlib.crc32(head),):
            raise _damaged(path, at)
        if start + length > len(view):
            return
        content = view[start : start + length]
        if zlib.crc32(content) != crc:
            raise _damaged(path, at)
        yield content
        at = start + length


def _damaged(path: Path, at: int) -> InputError:
    return InputError(
        f"{path}, byte {at}: damaged, a checksum does not fit. load(..., recover=True) keeps what precedes"
    )


HEAD, TAIL = b"armwright.head", b"armwright.tail"
# plain pages: doubles of a simulation hardly compress, and encoding them costs more than writing them
_PLAIN: dict[str, Any] = {
    "compression": "none",
    "use_dictionary": False,
    "write_statistics": False,
    "data_page_size": 2**23,
    "write_page_checksum": True,
}


class Sink:
    """Streams Arrow batches, converted at close."""

    beside = (".partial",)

    def __init__(
        self,
        path: Path,
        columns: tuple[meta.Column, ...],
        head: str,
        sync_every: float | None = 1.0,
        scene: object = None,
    ) -> None:
        """Write the stream's schema."""
        self._arrow = need("pyarrow", "log", "writing .parquet")
        self._path, self._partial = path, path.with_name(path.name + ".partial")
        self._columns, self._schema = columns, _schema(self._arrow, columns, head)
        self._numbers: dict[str, int] = {}
        self.samples = 0
        self.file = SafeFile.begin(self._partial, sync_every, *piece(self._schema.serialize()), fresh=True)

    def append(self, time: Array, blocks: list[Array]) -> None:
        """Write samples: time (rows,), blocks (rows, width) in column order."""
        batch = self._arrow.record_batch(_arrays(self._arrow, time, blocks), schema=self._schema)
        numbers = meta.checksums(time, blocks, self._columns, self._numbers)
        self.file.write(*piece(batch.serialize()))
        self._numbers = numbers
        self.samples += len(time)

    def close(self, tail: dict[str, Any]) -> None:
        """Turn the stream into the Parquet file, batch by batch."""
        parquet = need("pyarrow.parquet", "log", "writing .parquet")
        numbers = self._numbers or meta.checksums(*_nothing(self._columns), self._columns)
        with draft_folder(self._path) as folder:
            draft = folder / self._path.name
            with parquet.ParquetWriter(draft, self._schema, **_PLAIN) as writer:
                writer.add_key_value_metadata({TAIL: meta.sealed(tail | {"numbers": numbers})})
                for batch in _batches(self._arrow, self._partial, self.file.mapped())[1]:
                    writer.write_batch(batch)
            draft.replace(self._path)
        if self.file.is_at(self._partial):  # and not that of a later writer
            self._partial.unlink()
        self.file.close()

    def abandon(self) -> None:
        """Close and leave the partial file, which `load` reads."""
        self.file.close()


def write(recording: Recording, path: Path) -> None:
    """Write a whole recording."""
    arrow, parquet = need("pyarrow", "log", "writing .parquet"), need("pyarrow.parquet", "log", "writing .parquet")
    columns, blocks = meta.columns_of(recording), [signal.flat() for signal in recording.signals.values()]
    tail = meta.tail_of(len(recording), recording.events, recording.outcome)
    tail["numbers"] = meta.checksums(recording.time, blocks, columns)
    schema = _schema(arrow, columns, meta.head_of(recording))
    schema = schema.with_metadata({**schema.metadata, TAIL: meta.sealed(tail)})
    parquet.write_table(arrow.table(_arrays(arrow, recording.time, blocks), schema=schema), path, **_PLAIN)


def read(file: BinaryIO, path: Path, *, recover: bool, max_bytes: int) -> Recording:
    """Read a Parquet recording, or the stream of one that was cut short."""
    arrow, parquet = need("pyarrow", "log", "reading .parquet"), need("pyarrow.parquet", "log", "reading .parquet")
    data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # closed when no table refers to it any more
    tables: list[Any] = []
    tail = None
    try:
        if path.name.endswith(".partial"):
            schema, batches = _batches(arrow, path, data)
            tables = _whole(batches, recover)
        else:
            with parquet.ParquetFile(arrow.BufferReader(data), page_checksum_verification=True) as source:
                _check_sizes(path, source.metadata, max_bytes)
                schema, known = source.schema_arrow, source.metadata.metadata or {}
                _described(path, schema)
                if TAIL not in known and not recover:
                    raise InputError(
                        f"{path}: damaged, its end {TAIL.decode()!r} is missing. "
                        "load(..., recover=True) reads the samples"
                    )
                tail = meta.parse(known[TAIL], f"{path}: end") if TAIL in known else None
                tables = [_row_group(path, source, i, recover) for i in range(source.num_row_groups)]
                if None in tables:
                    tables, tail = tables[: tables.index(None)], None
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: damaged Parquet file ({_first_line(error)})") from None
    head, columns = _described(path, schema)
    names = ["t", *(name for column in columns for name in column.names())]
    if schema.names != names:
        raise InputError(f"{path}: the columns are not those of its description")
    series = [np.concatenate([np.empty(0), *(_numbers(table.column(name)) for table in tables)]) for name in names]
    blocks, at = [], 1
    for column in columns:
        rows = series[at : at + column.width]
        blocks.append(np.stack(rows, axis=1) if rows else np.empty((len(series[0]), 0)))
        at += column.width
    return meta.assemble(head, tail, columns, series[0], blocks, str(path), recover=recover)


def _check_sizes(path: Path, known: Any, max_bytes: int) -> None:
    """Compare what the tables of contents declare with `max_bytes`, before anything is unpacked."""
    groups = [known.row_group(i) for i in range(known.num_row_groups)]
    rows = max(known.num_rows, sum(group.num_rows for group in groups))
    size = max(8 * rows * known.num_columns, sum(group.total_byte_size for group in groups))
    if size > max_bytes:
        raise InputError(f"{path}: declares {size} bytes of numbers, {meta.TOO_MUCH}")


def _nothing(columns: tuple[meta.Column, ...]) -> tuple[Array, list[Array]]:
    return np.empty(0), [np.empty((0, column.width)) for column in columns]


def _numbers(column: Any) -> Array:
    values: Array = column.to_numpy(zero_copy_only=False) if hasattr(column, "to_pylist") else column
    return np.asarray(values, dtype=np.float64)


def _row_group(path: Path, file: Any, index: int, recover: bool) -> Any:
    try:
        return file.read_row_group(index)
    except OSError as error:  # ArrowException is one
        if recover:
            return None
        raise InputError(f"{path}, row group {index}: damaged ({_first_line(error)})") from None


def _described(path: Path, schema: Any) -> tuple[dict[str, Any], tuple[meta.Column, ...]]:
    known = schema.metadata or {}
    if HEAD not in known:
        raise InputError(f"{path}: a Parquet file, but not an Armwright recording (no metadata 'armwright.head')")
    head = meta.parse(known[HEAD], f"{path}: description")
    return head, meta.columns_from(head, f"{path}: description")


def _schema(arrow: Any, columns: tuple[meta.Column, ...], head: str) -> Any:
    fields = [arrow.field("t", arrow.float64(), nullable=False, metadata={"unit": "s"})]
    for column in columns:
        labels = column.labels or ("",) * column.width
        for name, label in zip(column.names(), labels, strict=True):
            about = {"unit": column.unit, "label": label, "signal": column.name}
            fields.append(arrow.field(name, arrow.float64(), nullable=False, metadata=about))
    units = {field.name: field.metadata[b"unit"].decode() for field in fields}
    return arrow.schema(fields, metadata={HEAD: head, b"armwright.units": json.dumps(units)})


def _arrays(arrow: Any, time: Array, blocks: list[Array]) -> list[Any]:
    series = [time, *(block[:, i] for block in blocks for i in range(block.shape[1]))]
    return [arrow.array(np.ascontiguousarray(values)) for values in series]


def _batches(arrow: Any, path: Path, data: mmap.mmap) -> tuple[Any, Iterator[Any]]:
    """Return the schema and the whole batches of a stream that may end anywhere."""
    if data[: len(MARK)] == MARK:
        found = pieces(path, data)
        first = next(found, None)
        if first is None:
            raise InputError(f"{path}: cut short before its description")
        schema = arrow.ipc.read_schema(arrow.py_buffer(first))
        return schema, (arrow.ipc.read_record_batch(arrow.py_buffer(content), schema) for content in found)
    stream = arrow.ipc.open_stream(arrow.py_buffer(data))  # as it was before pieces had checksums
    return stream.schema, _unchecked(arrow, stream)


def _unchecked(arrow: Any, stream: Any) -> Iterator[Any]:
    while True:
        try:
            yield stream.read_next_batch()
        except (StopIteration, arrow.ArrowException, OSError):
            return


def _whole(batches: Iterator[Any], recover: bool) -> list[Any]:
    """Return the batches before damage, or raise what it is."""
    out: list[Any] = []
    try:
        for batch in batches:
            out.append(batch)
    except InputError:
        if not recover:
            raise
    return out


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
