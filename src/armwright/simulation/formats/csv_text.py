"""CSV: one line of column names, two comment lines of JSON, then the samples; every number in its shortest exact form.

The names come first because PlotJuggler, pandas (``comment="#"``) and numpy.genfromtxt (``names=True``) take the first
line for the names; PlotJuggler passes over the comments.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.simulation.formats import meta
from armwright.simulation.formats.safe_file import SafeFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.simulation.recording import Recording

    Array = NDArray[np.float64]

HEAD, UNITS, CRC, TAIL = "# armwright ", "# units ", "# crc32 ", "# end "
_ROWS = 4096


class Sink:
    """Writes samples as lines."""

    def __init__(self, path: Path, columns: tuple[meta.Column, ...], head: str, sync_every: float | None = 1.0) -> None:
        """Write the lines before the samples."""
        names = ["t", *(name for column in columns for name in column.names())]
        units = {"t": "s"} | {name: column.unit for column in columns for name in column.names()}
        self._crc = 0
        self.samples = 0
        opening = f"{','.join(names)}\n{HEAD}{head}\n{UNITS}{json.dumps(units)}\n"
        self.file = SafeFile.begin(path, sync_every, opening.encode())

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

    def close(self, tail: str) -> None:
        """Write the last line and close."""
        self.file.write(f"{CRC}{self._crc}\n{TAIL}{tail}\n".encode())
        self.file.close()

    def abandon(self) -> None:
        """Close without an end."""
        self.file.close()


def write(recording: Recording, path: Path) -> None:
    """Write a whole recording."""
    sink = Sink(path, meta.columns_of(recording), meta.head_of(recording), sync_every=None)
    try:
        sink.append(recording.time, [signal.flat() for signal in recording.signals.values()])
        sink.close(meta.tail_text(len(recording), recording.events, recording.outcome))
    finally:
        sink.abandon()


def read(path: Path, *, recover: bool, max_bytes: int) -> Recording:
    """Read a CSV recording; a last line without its end of line is left out."""
    data = path.read_bytes()
    try:
        text = data[: data.rfind(b"\n") + 1].decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}, byte {error.start}: not UTF-8 text") from None
    lines = text.split("\n")[:-1]
    if len(lines) < 2 or not lines[1].startswith(HEAD):
        raise InputError(f"{path}, line 2: expected '{HEAD}{{…}}', as Recording.save writes it")
    head = meta.parse(lines[1][len(HEAD) :], f"{path}, line 2")
    columns = meta.columns_from(head, f"{path}, line 2")
    names = ["t", *(name for column in columns for name in column.names())]
    if lines[0].rstrip("\r").split(",") != names:
        raise InputError(f"{path}, line 1: the column names are not those of line 2")
    tail = None
    if lines[-1].startswith(TAIL):
        tail = meta.parse(lines[-1][len(TAIL) :], f"{path}, line {len(lines)}")
    numbered = [(i, line) for i, line in enumerate(lines[2:], start=3) if line and not line.startswith("#")]
    if len(numbered) * len(names) * 8 > max_bytes:
        raise InputError(f"{path}: {len(numbered)} samples of {len(names)} columns exceed max_bytes = {max_bytes}")
    table = _table(path, numbered, len(names), recover)
    if tail is not None and tail.get("samples") != len(table):
        if not recover:
            raise InputError(
                f"{path}, line {len(lines)}: {tail.get('samples')} samples were written, {len(table)} are there"
            )
        tail = None
    if tail is not None and not recover:
        _check(path, lines)
    blocks, at = [], 1
    for column in columns:
        blocks.append(np.ascontiguousarray(table[:, at : at + column.width]))
        at += column.width
    return meta.assemble(head, tail, columns, np.ascontiguousarray(table[:, 0]), blocks, str(path))


def _check(path: Path, lines: list[str]) -> None:
    """Compare the checksum of the sample lines, whatever their ends of line have become."""
    crc = 0
    for line in lines[3:-2]:
        crc = zlib.crc32(line.rstrip("\r").encode() + b"\n", crc)
    if len(lines) < 5 or lines[-2].rstrip("\r") != f"{CRC}{crc}":
        raise InputError(f"{path}, line {len(lines) - 1}: not the numbers that were written (checksum {crc}). "
                         "load(..., recover=True) takes them as they are")  # fmt: skip


def _table(path: Path, numbered: list[tuple[int, str]], width: int, recover: bool) -> Array:
    if not numbered:
        return np.empty((0, width))
    try:
        table = np.loadtxt([line for _, line in numbered], delimiter=",", ndmin=2, dtype=np.float64, comments=None)
        if table.shape[1] == width:
            return table
    except ValueError:
        pass
    rows = []
    for i, line in numbered:  # slowly, to name the first bad line
        fields = line.split(",")
        try:
            if len(fields) != width:
                raise ValueError(f"{len(fields)} numbers instead of {width}")
            rows.append([float(field) for field in fields])
        except ValueError as error:
            if recover:
                break
            raise InputError(f"{path}, line {i}: {error}. load(..., recover=True) keeps what precedes") from None
    return np.array(rows).reshape(-1, width)
