# SPDX-License-Identifier: Apache-2.0
"""A file of whole pieces with lengths and checksums: what a run leaves that dies before its Parquet file is made.

A piece is ``AWPC``, length (u64), CRC-32 of the content (u32), CRC-32 of these sixteen bytes (u32), content; all
little-endian. The last piece of a file that was cut short is not whole; anything else that does not fit is damage.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from armwright.errors import InputError

MARK = b"AWPC"
_HEAD, _CHECK = struct.Struct("<4sQI"), struct.Struct("<I")


def piece(content: Any) -> tuple[bytes, Any]:
    """Return the parts of a piece, as `SafeFile.write` takes them."""
    head = _HEAD.pack(MARK, memoryview(content).nbytes, zlib.crc32(content))
    return head + _CHECK.pack(zlib.crc32(head)), content


def pieces(path: Path, data: Any) -> Iterator[memoryview]:
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
