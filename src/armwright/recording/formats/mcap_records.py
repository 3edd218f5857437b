# SPDX-License-Identifier: Apache-2.0
"""The records of an MCAP file, one after another; a length is believed only where the record itself agrees with it.

Every record says its length twice: in front, and by the parts within it that carry lengths of their own. One flipped
bit makes the two differ, so that damage is told apart from a file that was cut short, whose last record is merely not
whole.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from armwright.errors import InputError

MAGIC = b"\x89MCAP0\r\n"
HEADER, SCHEMA, CHANNEL, MESSAGE, CHUNK, INDEX, ATTACHMENT, METADATA, DATA_END = 1, 3, 4, 5, 6, 7, 9, 12, 15
_PRIVATE = 0x80  # kinds from here on belong to other programs
# bytes of fixed length at the beginning, and the types of the lengths of the parts that follow
_PARTS = {
    HEADER: (0, "II"),
    SCHEMA: (2, "III"),
    CHANNEL: (4, "III"),
    CHUNK: (28, "IQ"),
    INDEX: (2, "I"),
    METADATA: (0, "II"),
    DATA_END: (4, ""),
}
_RECOVER = "load(..., recover=True) keeps what precedes"


def records(path: Path, data: Any) -> Iterator[tuple[int, int, int]]:
    """Yield (offset, kind, length) of the whole records of the data section, `DATA_END` last.

    A file that was cut short ends without `DATA_END`.

    Raises:
        InputError: damage, with the byte at which it begins to show.
    """
    at, size = len(MAGIC), len(data)
    ended = data[-len(MAGIC) :] == MAGIC and size > 2 * len(MAGIC)  # cut files have no magic at their end
    while at + 9 <= size:
        kind, length = struct.unpack_from("<BQ", data, at)
        where = f"{path}, byte {at}"
        if at + 9 + length > size and ended:
            raise InputError(f"{where}: damaged, a record of {length} bytes runs past the end. {_RECOVER}")
        if kind not in _PARTS and kind not in (MESSAGE, ATTACHMENT) and not (ended and kind >= _PRIVATE):
            raise InputError(f"{where}: damaged, a record of unknown kind {kind}. {_RECOVER}")
        if not _agrees(data, at + 9, kind, length, size):
            raise InputError(f"{where}: damaged, a record of kind {kind} is not {length} bytes long. {_RECOVER}")
        if at + 9 + length > size:
            return
        yield at, kind, length
        if kind == DATA_END:
            return
        at += 9 + length
    if ended:
        raise InputError(f"{path}, byte {at}: damaged, the end of the data is missing. {_RECOVER}")


def _agrees(data: Any, start: int, kind: int, length: int, size: int) -> bool:
    """Whether the parts within a record add up to its length, as far as they are in the file."""
    if kind not in _PARTS:
        return start + length <= size  # tells nothing of itself; no writer of ours that could be cut short writes it
    at, parts = _PARTS[kind]
    for part in parts:
        prefix = struct.calcsize(f"<{part}")
        if start + at + prefix > size:  # cut short before this part
            return at + prefix <= length
        if at + prefix > length:
            return False
        at += prefix + struct.unpack_from(f"<{part}", data, start + at)[0]
    return at == length
