# SPDX-License-Identifier: Apache-2.0
"""Reading MCAP recordings: record by record, every length checked before it is believed.

Every record says its length twice: in front, and by the parts within it that carry lengths of their own. `records`
believes a length only where the two agree. One flipped bit makes them differ, so that damage is told apart from a file
that was cut short, whose last record is merely not whole.
"""

from __future__ import annotations

import io
import mmap
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from armwright.errors import ArmwrightError, InputError
from armwright.files import open_regular
from armwright.packages import need
from armwright.recording.formats import file_header as meta
from armwright.recording.formats.protobuf import sample_layout

if TYPE_CHECKING:
    from mcap.records import Chunk

    from armwright.recording.recording import Recording
    from armwright.types import Array

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, INDEX = 1, 2, 3, 4, 5, 6, 7
ATTACHMENT, STATISTICS, METADATA, DATA_END = 9, 11, 12, 15
SUMMED = "armwright, every byte summed"
"""The library in the header of a file that has checksums of all its bytes; see `McapFile`."""
PRIVATE = 0x80  # kinds from here on belong to other programs
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
_RECOVER = "recover=True keeps what precedes"
_RECORD_NAMES = {
    HEADER: "Header",
    SCHEMA: "Schema",
    CHANNEL: "Channel",
    CHUNK: "Chunk",
    INDEX: "MessageIndex",
    STATISTICS: "Statistics",
    METADATA: "Metadata",
}


@contextmanager
def mapped(path: Path, most: int) -> Iterator[mmap.mmap]:
    """Give the content of an MCAP file of at most `most` bytes.

    Raises:
        InputError: there is no such file, it is too large, it is empty or no MCAP file, or memory does not suffice.
    """
    try:
        with open_regular(path, most) as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise InputError(f"{path}, byte 0: not an MCAP file (its first eight bytes are not the magic ones)")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                yield data
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except MemoryError as error:
        raise InputError(f"{path}: does not fit into memory") from error


def parsed(kind: int, content: bytes, where: str) -> Any:
    """Return the record of a kind that the mcap package has a type for."""
    name = _RECORD_NAMES[kind]
    read = getattr(need("mcap.records", "log", "reading .mcap"), name).read
    stream = need("mcap.stream_reader", "log", "reading .mcap").ReadDataStream
    try:
        return read(stream(io.BytesIO(content)))
    except Exception as error:  # noqa: BLE001 - the package has an end-of-file error of its own kind
        raise InputError(f"{where}: damaged {name.lower()} record ({error!r})") from None


def within(content: bytes, where: str) -> Iterator[tuple[int, int, int]]:
    """Yield (offset, kind, length) of the records in a chunk; every one is whole, and nothing is left over."""
    at, size = 0, len(content)
    while at < size:
        kind, length = struct.unpack_from("<BQ", content, at) if at + 9 <= size else (0, size)
        if at + 9 + length > size or kind not in (SCHEMA, CHANNEL, MESSAGE) or (kind == MESSAGE and length < 22):
            raise InputError(f"{where}: damaged chunk, a record of kind {kind} and {length} bytes in it")
        yield at, kind, length
        at += 9 + length


def records(path: Path, data: mmap.mmap) -> Iterator[tuple[int, int, int]]:
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
        if kind not in _PARTS and kind not in (MESSAGE, ATTACHMENT) and not (ended and kind >= PRIVATE):
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


def _agrees(data: mmap.mmap, start: int, kind: int, length: int, size: int) -> bool:
    """Return whether the parts within a record add up to its length, as far as they are in the file."""
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


_HEAD = 31  # bytes of a message record before its data
_MOST_CHANNELS = 2**16  # records; as many as there are numbers for them


def read(file: BinaryIO, path: Path, *, recover: bool, max_bytes: int) -> Recording:
    """Read an MCAP file that holds a recording, complete or cut short."""
    if file.read(len(MAGIC)) != MAGIC:
        raise InputError(f"{path}, byte 0: not an MCAP file (its first eight bytes are not the magic ones)")
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _McapReader(path, data, recover, max_bytes).recording()


class _McapReader:
    def __init__(self, path: Path, data: mmap.mmap, recover: bool, max_bytes: int) -> None:
        self.path, self.data, self.recover, self.left = path, data, recover, max_bytes
        self.head: dict[str, Any] | None = None
        self.tail: dict[str, Any] | None = None
        self.columns: tuple[meta.Column, ...] = ()
        self.channel = -1
        self.declared: set[int] = set()
        self.channels = 0
        self.parts: list[list[Array]] = []

    def recording(self) -> Recording:
        # twice, because tools that rewrite a file may move the metadata behind the samples
        whole = self._pass(METADATA)
        if self.head is None:
            raise InputError(
                f"{self.path}: no Armwright recording in this MCAP file (no metadata 'armwright.head'); "
                "read_bag of armwright.recording reads the joint states of a ROS 2 bag"
            )
        whole = self._pass(CHANNEL, CHUNK) and whole
        if self.channel < 0 and self.declared and not self.recover:
            raise InputError(f"{self.path}: damaged, none of its channels is '/recording'")
        if not whole:
            self.tail = None
        widths = [1, *(column.width for column in self.columns)]
        stacked = [
            np.concatenate([part[i] for part in self.parts]) if self.parts else np.empty((0, width))
            for i, width in enumerate(widths)
        ]
        time = stacked[0].reshape(-1)
        return meta.assemble(
            self.head, self.tail, self.columns, time, stacked[1:], str(self.path), recover=self.recover
        )

    def _pass(self, *wanted: int) -> bool:
        """Read the records of these kinds; return whether there was no damage, which is an error unless recovering."""
        try:
            for at, kind, length in records(self.path, self.data):
                if kind in wanted:
                    self._take(f"{self.path}, byte {at}", kind, self.data[at + 9 : at + 9 + length])
                elif kind == DATA_END and METADATA in wanted and self.head is not None and self.tail is None:
                    raise InputError(
                        f"{self.path}, byte {at}: damaged, the data ends without 'armwright.tail'. "
                        "load(..., recover=True) reads the samples"
                    )
        except ArmwrightError:
            if not self.recover or self.head is None:
                raise
            return False
        return True

    def _take(self, where: str, kind: int, content: bytes) -> None:
        record = parsed(kind, content, where)
        if kind == METADATA and record.name == "armwright.head":
            self.head = meta.parse(record.metadata.get("json", ""), where)
            self.columns = meta.columns_from(self.head, where)
            self.layout = sample_layout(self.columns)
            self.filled = np.frombuffer(self.layout.template, dtype=np.uint8)
            self.fixed = self.layout.fixed()
        elif kind == METADATA and record.name == "armwright.tail":
            self.tail = meta.parse(record.metadata.get("json", ""), where)
        elif kind == CHANNEL:
            self.channels += 1
            if self.channels > _MOST_CHANNELS:
                raise InputError(f"{where}: more than {_MOST_CHANNELS} channel records")
            self.declared.add(record.id)
            if record.topic == "/recording":
                self.channel = record.id
        elif kind == CHUNK:
            self._chunk(where, record)

    def _chunk(self, where: str, chunk: Chunk) -> None:
        kept = sum(len(part[0]) for part in self.parts)
        where = f"{where} (after sample {kept})"
        self.left -= chunk.uncompressed_size
        if self.left < 0:
            raise InputError(f"{where}: chunk of {chunk.uncompressed_size} bytes; {meta.TOO_MUCH}")
        data = unpacked(chunk, where)
        messages = self._fixed(data) or self._general(where, data)
        if not messages:
            return
        rows = np.frombuffer(messages, dtype=np.uint8).reshape(-1, len(self.filled))
        if not (rows[:, self.fixed] == self.filled[self.fixed]).all():
            raise InputError(f"{where}: damaged chunk, a sample does not have the declared signals")
        self.parts.append([np.array(hole, dtype=np.float64) for hole in self.layout.holes(rows, 0)])

    def _fixed(self, data: bytes) -> bytes:
        """Return the samples of a chunk as we write them: only messages of our channel, all of one length."""
        width = _HEAD + len(self.layout.template)
        if len(data) % width or self.channel < 0:
            return b""
        rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
        expected = np.frombuffer(struct.pack("<BQH", MESSAGE, width - 9, self.channel), dtype=np.uint8)
        return rows[:, _HEAD:].tobytes() if (rows[:, :11] == expected).all() else b""

    def _general(self, where: str, data: bytes) -> bytes:
        """Return the samples of a chunk that another tool has rearranged, and read its channels."""
        out = []
        for at, kind, length in within(data, where):
            body = data[at + 9 : at + 9 + length]
            if kind == CHANNEL:
                self._take(where, kind, body)
            elif kind == MESSAGE:
                (channel,) = struct.unpack_from("<H", body)
                if channel not in self.declared:
                    raise InputError(f"{where}: damaged, a message of channel {channel}, which was not declared")
                if channel == self.channel:
                    if length - 22 != len(self.layout.template):
                        raise InputError(f"{where}: a sample of {length - 22} bytes does not fit the declared signals")
                    out.append(body[22:])
        return b"".join(out)


def unpacked(chunk: Chunk, where: str, *, summed: bool = False) -> bytes:
    """Return the records of a chunk, of the length and with the checksum that it declares; it must if `summed`."""
    try:
        data = _unpacked(chunk)
    except Exception as error:  # noqa: BLE001 - whatever the decompressor raises
        raise InputError(f"{where}: damaged chunk ({error!r})") from None
    if len(data) != chunk.uncompressed_size:
        raise InputError(f"{where}: damaged chunk, not {chunk.uncompressed_size} bytes long")
    if (chunk.uncompressed_crc or summed) and zlib.crc32(data) != chunk.uncompressed_crc:
        raise InputError(f"{where}: damaged chunk, its checksum does not fit. {_RECOVER}")
    return data


def _unpacked(chunk: Chunk) -> bytes:
    """Return the records of a chunk; no more than one byte beyond what it declares is ever unpacked."""
    most = chunk.uncompressed_size + 1
    data: bytes = chunk.data
    if chunk.compression == "zstd":
        zstandard = need("zstandard", "log", "reading .mcap with zstd")
        data = zstandard.ZstdDecompressor().stream_reader(data).read(most)
    elif chunk.compression == "lz4":
        lz4 = need("lz4.frame", "log", "reading .mcap with lz4")
        data = lz4.LZ4FrameDecompressor().decompress(data, max_length=most)
    elif chunk.compression:
        raise ValueError(f"compression {chunk.compression[:20]!r} is not known; valid: zstd, lz4 or none")
    return data
