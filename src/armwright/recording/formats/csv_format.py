# SPDX-License-Identifier: Apache-2.0
"""CSV: one line of column names, then the samples, every number in its shortest exact form; nothing else.

So pandas, spreadsheets, MATLAB and PlotJuggler open it as it is. Everything else stands next to it in
``<name>.csv.meta``, two lines of JSON: what was known at the start, and how the run ended with the checksum of the CSV
file. Files of a run that was cut short lack the second line; their numbers have no checksum. `table_of` and `blocks_of`
turn lines into the columns of a recording. `read_commented` reads older files, whose description stands in lines that
begin with ``#``.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from armwright.errors import InputError
from armwright.files import SafeFile, read_regular
from armwright.recording.formats import file_header as meta

if TYPE_CHECKING:
    from armwright.recording.recording import Recording
    from armwright.types import Array


def names_of(columns: tuple[meta.Column, ...]) -> list[str]:
    """Return the names of all flat columns, time first."""
    return ["t", *(name for column in columns for name in column.names())]


def blocks_of(table: Array, columns: tuple[meta.Column, ...]) -> tuple[Array, list[Array]]:
    """Divide a table (T, columns) into time (T,) and one block (T, width) per signal."""
    ends = np.cumsum([1, *(column.width for column in columns)])
    blocks = [np.ascontiguousarray(block) for block in np.split(table, ends, axis=1)[:-1]]
    return blocks[0].ravel(), blocks[1:]


def table_of(path: Path, lines: list[tuple[int, str]], names: list[str], recover: bool, max_bytes: int) -> Array:
    """Return the numbers of lines, each given with how many precede it in the file; up to a bad line if `recover`."""
    width = len(names)
    if len(lines) * width * 8 > max_bytes:
        raise InputError(f"{path}: {len(lines)} samples of {width} columns, {meta.TOO_MUCH}")
    if not lines:
        return np.empty((0, width))
    try:
        table = np.loadtxt([line for _, line in lines], delimiter=",", ndmin=2, dtype=np.float64, comments=None)
        if table.shape == (len(lines), width):
            return table
    except ValueError:
        pass
    rows = []
    for before, line in lines:  # slowly, to name the first bad line
        fields = line.split(",")
        try:
            if len(fields) != width:
                raise ValueError(f"{len(fields)} numbers instead of {width}")
            rows.append([float(field) for field in fields])
        except ValueError as error:
            if recover:
                break
            where = f"{path}, line {before + 1}"
            raise InputError(f"{where}: {error}. load(..., recover=True) keeps what precedes") from None
    return np.array(rows).reshape(-1, width)


HEAD, CRC, TAIL = "# armwright ", "# crc32 ", "# end "


def read_commented(lines: list[str], path: Path, *, recover: bool, max_bytes: int) -> Recording:
    """Read the whole lines of a file with its description in comments."""
    head = meta.parse(lines[1][len(HEAD) :], f"{path}, line 2")
    columns = meta.columns_from(head, f"{path}, line 2")
    names = names_of(columns)
    if lines[0].split(",") != names:
        raise InputError(f"{path}, line 1: the column names are not those of line 2")
    tail = None
    if lines[-1].startswith(TAIL):
        tail = meta.parse(lines[-1][len(TAIL) :], f"{path}, line {len(lines)}")
    numbered = [(i, line) for i, line in enumerate(lines) if i > 1 and line and not line.startswith("#")]
    table = table_of(path, numbered, names, recover, max_bytes)
    if tail is not None and not recover and tail.get("samples") == len(table):
        _check(path, lines)
    time, blocks = blocks_of(table, columns)
    return meta.assemble(head, tail, columns, time, blocks, str(path), recover=recover)


def _check(path: Path, lines: list[str]) -> None:
    """Compare the checksum of the sample lines."""
    crc = 0
    for line in lines[3:-2]:
        crc = zlib.crc32(line.encode() + b"\n", crc)
    if len(lines) < 5 or lines[-2] != f"{CRC}{crc}":
        raise InputError(
            f"{path}, line {len(lines) - 1}: not the numbers that were written (checksum {crc}). "
            "load(..., recover=True) takes them as they are"
        )


_ROWS = 4096


def meta_file(path: Path) -> Path:
    """Return where the description of a CSV file stands."""
    return path.with_name(path.name + ".meta")


class Sink:
    """Writes samples as lines."""

    beside = (".meta",)

    def __init__(
        self,
        path: Path,
        columns: tuple[meta.Column, ...],
        head: str,
        sync_every: float | None = 1.0,
        scene: object = None,
    ) -> None:
        """Write the line of names, and the description into its own file."""
        opening = f"{','.join(names_of(columns))}\n".encode()
        self._crc = zlib.crc32(opening)
        self.samples = 0
        self.file = SafeFile.begin(path, sync_every, opening, fresh=True)
        try:
            self._meta = SafeFile.begin(meta_file(path), sync_every, f"{head}\n".encode(), fresh=True)
            if sync_every is not None:
                self._meta.sync()
        except BaseException:
            self.file.close()
            path.unlink(missing_ok=True)
            raise

    def append(self, time: Array, blocks: list[Array]) -> None:
        """Write samples: time (rows,), blocks (rows, width) in column order."""
        for first in range(0, len(time), _ROWS):
            rows = slice(first, first + _ROWS)
            table = np.concatenate([time[rows, None], *(block[rows] for block in blocks)], axis=1)
            # repr is the shortest text that gives the same bits back
            lines = "".join(",".join(map(repr, row)) + "\n" for row in table.tolist()).encode()
            self.file.write(lines)
            self._crc = zlib.crc32(lines, self._crc)
            self.samples += len(table)

    def close(self, tail: dict[str, Any]) -> None:
        """Complete the description and close."""
        self.file.close()
        self._meta.write(f"{meta.sealed(tail | {'csv_crc32': self._crc})}\n".encode())
        self._meta.close()

    def abandon(self) -> None:
        """Close without an end."""
        self.file.close()
        self._meta.close()


def write(recording: Recording, path: Path) -> None:
    """Write a whole recording."""
    sink = Sink(path, meta.columns_of(recording), meta.head_of(recording), sync_every=None)
    try:
        sink.append(recording.time, [signal.flat() for signal in recording.signals.values()])
        sink.close(meta.tail_of(len(recording), recording.events, recording.outcome))
    finally:
        sink.abandon()


def read(file: BinaryIO, path: Path, *, recover: bool, max_bytes: int) -> Recording:
    """Read a CSV recording; a last line without its end of line is left out."""
    data = file.read()
    try:
        lines = data[: data.rfind(b"\n") + 1].decode().split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise InputError(f"{path}, byte {error.start}: not UTF-8 text") from None
    lines = [line.rstrip("\r") for line in lines]
    if len(lines) > 1 and lines[1].startswith(HEAD):
        return read_commented(lines, path, recover=recover, max_bytes=max_bytes)
    head, tail = _description(meta_file(path))
    columns = meta.columns_from(head, f"{meta_file(path)}, line 1")
    names = names_of(columns)
    if not lines or lines[0].split(",") != names:
        raise InputError(f"{path}, line 1: the column names are not those of {meta_file(path).name}")
    table = table_of(path, list(enumerate(lines))[1:], names, recover, max_bytes)
    crc = zlib.crc32("".join(f"{line}\n" for line in lines).encode())
    if tail is not None and tail.get("samples") == len(table) and tail.get("csv_crc32", crc) != crc:
        if not recover:
            raise InputError(
                f"{path}: not the numbers that {meta_file(path).name} describes (checksum {crc}). "
                "load(..., recover=True) takes them as they are"
            )
        tail = None
    time, blocks = blocks_of(table, columns)
    return meta.assemble(head, tail, columns, time, blocks, str(path), recover=recover)


def _description(path: Path) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the two texts of a description; the second is None if the run was cut short."""
    try:
        content = read_regular(path, meta.MAX_TEXT)
        lines = content[: content.rfind(b"\n") + 1].decode().split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise InputError(f"{path}, byte {error.start}: not UTF-8 text") from None
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}. It describes the CSV file beside it and moves with it; "
            "numpy.genfromtxt(..., delimiter=',', names=True) or pandas.read_csv read the numbers alone"
        ) from None
    if not 1 <= len(lines) <= 2:
        raise InputError(f"{path}: expected one or two lines of JSON, found {len(lines)}")
    texts = [meta.parse(line, f"{path}, line {i}") for i, line in enumerate(lines, start=1)]
    return texts[0], texts[1] if len(texts) > 1 else None
