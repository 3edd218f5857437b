"""Parquet: flat columns ``t, q_0 … q_5, …`` with unit and label on each.

A Parquet file is unreadable until its footer is written. A run therefore streams Arrow record batches, each of which
can be read as soon as it is on disk, into ``<name>.parquet.partial``, and closing turns that into the Parquet file. If
the run dies, `load` reads the partial file under the Parquet file's name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.simulation.formats import meta
from armwright.simulation.formats.extras import need
from armwright.simulation.formats.safe_file import SafeFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.simulation.recording import Recording

    Array = NDArray[np.float64]

HEAD, TAIL = b"armwright.head", b"armwright.tail"
# plain pages: doubles of a simulation hardly compress, and encoding them costs more than writing them
_PLAIN: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_statistics": False,
                          "data_page_size": 2**23, "write_page_checksum": True}  # fmt: skip


class Sink:
    """Streams Arrow batches, converted at close."""

    def __init__(self, path: Path, columns: tuple[meta.Column, ...], head: str, sync_every: float | None = 1.0) -> None:
        """Write the stream's schema; an older Parquet file of that name is removed, as any writer would."""
        self._arrow = need("pyarrow", "log", "writing .parquet")
        self._path, self._partial = path, path.with_name(path.name + ".partial")
        self._schema = _schema(self._arrow, columns, head)
        self.samples = 0
        path.unlink(missing_ok=True)
        self.file = SafeFile.begin(self._partial, sync_every, self._schema.serialize())

    def append(self, time: Array, blocks: list[Array]) -> None:
        """Write samples: time (rows,), blocks (rows, width) in column order."""
        batch = self._arrow.record_batch(_arrays(self._arrow, time, blocks), schema=self._schema)
        self.file.write(batch.serialize())
        self.samples += len(time)

    def close(self, tail: str) -> None:
        """Turn the stream into the Parquet file, batch by batch."""
        self.file.close()
        parquet = need("pyarrow.parquet", "log", "writing .parquet")
        draft = self._path.with_name(f".{self._path.name}.draft")
        try:
            with (
                self._arrow.OSFile(str(self._partial), "rb") as source,
                parquet.ParquetWriter(draft, self._schema, **_PLAIN) as writer,
            ):
                writer.add_key_value_metadata({TAIL: tail})
                for batch in _batches(self._arrow, source)[1]:
                    writer.write_batch(batch)
            draft.replace(self._path)
        finally:
            draft.unlink(missing_ok=True)
        self._partial.unlink()

    def abandon(self) -> None:
        """Close and leave the partial file, which `load` reads."""
        self.file.close()


def write(recording: Recording, path: Path) -> None:
    """Write a whole recording."""
    arrow, parquet = need("pyarrow", "log", "writing .parquet"), need("pyarrow.parquet", "log", "writing .parquet")
    tail = meta.tail_text(len(recording), recording.events, recording.outcome)
    schema = _schema(arrow, meta.columns_of(recording), meta.head_of(recording))
    schema = schema.with_metadata({**schema.metadata, TAIL: tail})
    arrays = _arrays(arrow, recording.time, [signal.flat() for signal in recording.signals.values()])
    parquet.write_table(arrow.table(arrays, schema=schema), path, **_PLAIN)


def read(path: Path, *, recover: bool, max_bytes: int) -> Recording:
    """Read a Parquet recording, or the stream of one that was cut short."""
    arrow, parquet = need("pyarrow", "log", "reading .parquet"), need("pyarrow.parquet", "log", "reading .parquet")
    tables: list[Any] = []
    tail = None
    try:
        if path.name.endswith(".partial"):
            with arrow.OSFile(str(path), "rb") as source:
                schema, batches = _batches(arrow, source)
                tables = list(batches)
        else:
            with parquet.ParquetFile(path, page_checksum_verification=True) as file:
                size = 8 * file.metadata.num_rows * file.metadata.num_columns
                if size > max_bytes:
                    raise InputError(
                        f"{path}: declares {size} bytes of numbers; at most max_bytes = {max_bytes} are read"
                    )
                schema, known = file.schema_arrow, file.metadata.metadata or {}
                tail = meta.parse(known.get(TAIL, b""), f"{path}: end") if TAIL in known else None
                head, columns = _described(path, schema)
                tables = [_row_group(path, file, i, recover) for i in range(file.num_row_groups)]
                if None in tables:
                    tables, tail = tables[: tables.index(None)], None
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
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
    return meta.assemble(head, tail, columns, series[0], blocks, str(path))


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


def _batches(arrow: Any, source: Any) -> tuple[Any, list[Any]]:
    """Return the schema and the whole batches of a stream that may end anywhere."""
    stream = arrow.ipc.open_stream(source)
    batches = []
    while True:
        try:
            batches.append(stream.read_next_batch())
        except (StopIteration, arrow.ArrowException, OSError):
            return stream.schema, batches


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
