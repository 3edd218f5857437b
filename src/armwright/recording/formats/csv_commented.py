# SPDX-License-Identifier: Apache-2.0
"""CSV as it was written before the description had a file of its own: it stands in lines that begin with ``#``."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from armwright.errors import InputError
from armwright.recording.formats import meta
from armwright.recording.formats.csv_table import blocks_of, names_of, table_of

if TYPE_CHECKING:
    from armwright.recording.recording import Recording

HEAD, CRC, TAIL = "# armwright ", "# crc32 ", "# end "


def read(lines: list[str], path: Path, *, recover: bool, max_bytes: int) -> Recording:
    """Read the whole lines of such a file."""
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
