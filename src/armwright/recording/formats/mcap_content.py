# SPDX-License-Identifier: Apache-2.0
"""`McapContent`: what an MCAP file holds, in the order of the file, every length and checksum compared on the way.

Whatever is taken from it precedes all damage that was found. A file of `McapFile` that is `summed` has a checksum on
every byte of it; of any other, `unsummed` says what has none. A file that was cut short just ends: `ended` and
`indexed` tell how far it got.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from armwright.errors import InputError
from armwright.recording.formats import file_header as meta
from armwright.recording.formats.mcap_read import (
    CHANNEL,
    CHUNK,
    DATA_END,
    FOOTER,
    HEADER,
    INDEX,
    MAGIC,
    MESSAGE,
    METADATA,
    PRIVATE,
    SCHEMA,
    STATISTICS,
    SUMMED,
    parsed,
    records,
    unpacked,
    within,
)

if TYPE_CHECKING:
    from mcap.records import Schema

LEAST_ROOM, ROOM_TIMES = 64 * 2**20, 64  # a file may unpack to this many bytes, or to this many times its own size
PIECE_BYTES = 2**20  # summed at once: a piece that stays in the processor's cache
_FOOTER_BYTES = 29  # of the record that ends the index, the kind and its length included


class McapChannel(NamedTuple):
    """A channel as it was declared: number, topic, encoding of its messages, facts, schema (None without one)."""

    number: int
    topic: str
    encoding: str
    facts: Mapping[str, str]
    schema: Schema | None


class McapMetadata(NamedTuple):
    """A description: its name, its texts, and where in the file it is."""

    name: str
    texts: Mapping[str, str]
    where: str


class McapMessage(NamedTuple):
    """One message: its channel, counter, times [ns], bytes, and where in the file it is."""

    channel: McapChannel
    sequence: int
    log_time: int
    publish_time: int
    data: bytes
    where: str


class McapContent:
    """The content of a file, to be iterated over once: channels as they are declared, messages, metadata.

    Attributes:
        library: what the header says the file was written by.
        summed: whether every byte has a checksum.
        ended: whether all messages are there. indexed: whether the index behind them is, too.
        unsummed: kinds of records that were taken without a checksum.
    """

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        """Prepare to read mapped bytes; see `mapped`."""
        self._path, self._data = path, data
        self._left = max(LEAST_ROOM, ROOM_TIMES * len(data))
        self._schemas: dict[int, Schema] = {}
        self._channels: dict[int, McapChannel] = {}
        self._lists: dict[int, list[tuple[int, int]]] = {}
        self._messages = 0
        self.library = ""
        self.summed = self.ended = self.indexed = False
        self.unsummed: set[str] = set()

    def __iter__(self) -> Iterator[McapChannel | McapMessage | McapMetadata]:
        """Yield what there is, in the order of the file.

        Raises:
            InputError: damage, with the byte at which it begins to show.
        """
        first = True
        for at, kind, length in records(self._path, self._data):
            where, body = f"{self._path}, byte {at}", self._data[at + 9 : at + 9 + length]
            if first != (kind == HEADER):
                raise InputError(f"{where}: damaged, the file does not begin with its one header")
            first = False
            if kind == HEADER:
                self.library = parsed(kind, body, where).library
                self.summed = self.library == SUMMED
            elif kind == CHUNK:
                yield from self._chunk(where, body)
            elif kind == INDEX and self.summed:
                self._compare(where, body)
            elif kind in (SCHEMA, CHANNEL, MESSAGE, METADATA):
                yield from self._bare(where, kind, body)
            elif kind == DATA_END:
                self._end(at, where, body)
                self._index(at + 9 + length)

    def _chunk(self, where: str, body: bytes) -> Iterator[McapChannel | McapMessage]:
        chunk = parsed(CHUNK, body, where)
        self._left -= chunk.uncompressed_size
        if self._left < 0:
            raise InputError(f"{where}: chunk of {chunk.uncompressed_size} bytes; {meta.TOO_MUCH}")
        if not self.summed and not chunk.uncompressed_crc:
            self.unsummed.add("chunks")
        content = unpacked(chunk, where, summed=self.summed)
        self._lists = {}
        for at, kind, length in within(content, where):
            inner = content[at + 9 : at + 9 + length]
            if kind == MESSAGE:
                message = self._message(where, inner)
                self._lists.setdefault(message.channel.number, []).append((message.log_time, at))
                yield message
            else:
                yield from self._declared(where, kind, inner)
        times = [time for listed in self._lists.values() for time, _ in listed]
        span = (min(times, default=0), max(times, default=0))
        if self.summed and span != (chunk.message_start_time, chunk.message_end_time):
            raise InputError(f"{where}: damaged chunk, its times are not those of its messages")

    def _bare(self, where: str, kind: int, body: bytes) -> Iterator[McapChannel | McapMessage | McapMetadata]:
        """Yield what stands outside chunks: only the end of a file can have a checksum for it."""
        if not self.summed:
            self.unsummed.add("messages outside chunks" if kind == MESSAGE else "descriptions")
        if kind == METADATA:
            record = parsed(kind, body, where)
            yield McapMetadata(record.name, record.metadata, where)
        elif kind == MESSAGE:
            if self.summed or len(body) < 22:
                raise InputError(f"{where}: damaged, a message of {len(body)} bytes outside a chunk")
            yield self._message(where, body)
        else:
            yield from self._declared(where, kind, body)

    def _declared(self, where: str, kind: int, body: bytes) -> Iterator[McapChannel]:
        record = parsed(kind, body, where)
        if kind == SCHEMA:
            self._schemas[record.id] = record
            return
        schema = self._schemas.get(record.schema_id)
        channel = McapChannel(record.id, record.topic, record.message_encoding, record.metadata, schema)
        self._channels[record.id] = channel
        yield channel

    def _message(self, where: str, body: bytes) -> McapMessage:
        number, sequence, log, publish = struct.unpack_from("<HIQQ", body)
        channel = self._channels.get(number)
        if channel is None:
            raise InputError(f"{where}: damaged, a message of channel {number}, which was not declared")
        self._messages += 1
        return McapMessage(channel, sequence, log, publish, body[22:], where)

    def _compare(self, where: str, body: bytes) -> None:
        """Compare the list of a channel's messages with those that the chunk before it holds."""
        (number,) = struct.unpack_from("<H", body)
        words = struct.unpack(f"<{(len(body) - 6) // 8}Q", body[6 : 6 + (len(body) - 6) // 8 * 8])
        if list(zip(words[::2], words[1::2], strict=False)) != self._lists.get(number) or len(body) % 16 != 6:
            raise InputError(f"{where}: damaged, a list of messages that are not in the chunk before it")

    def _end(self, at: int, where: str, body: bytes) -> None:
        """Compare the checksum of everything before the end of the data."""
        (crc,) = struct.unpack("<I", body)
        if (crc or self.summed) and self._crc(0, at) != crc:
            raise InputError(f"{where}: damaged, the checksum of everything before does not fit")
        if crc:
            self.unsummed.clear()
        self.ended = True

    def _index(self, start: int) -> None:
        """Compare the index at the end of the file: its checksum, and the number of messages that it tells.

        An index that was cut short ends within a record, or before the last one.
        """
        data, at, size = self._data, start, len(self._data)
        counted, kind = -1, 0
        while kind != FOOTER and at + 9 <= size:
            kind, length = struct.unpack_from("<BQ", data, at)
            where = f"{self._path}, byte {at}"
            if not 0 < kind < DATA_END and (self.summed or kind < PRIVATE):
                raise InputError(f"{where}: damaged, a record of unknown kind {kind} in the index")
            if at + 9 + length > size:
                break
            if kind == FOOTER:
                self._footer(start, at, length)
            elif kind == STATISTICS:
                counted = parsed(kind, data[at + 9 : at + 9 + length], where).message_count
            at += 9 + length
        if not self.indexed and data[-len(MAGIC) :] == MAGIC:  # at the end of a file that was not cut
            raise InputError(f"{self._path}, byte {at}: damaged, the index has no end")
        if self.indexed and counted not in (-1, self._messages):
            raise InputError(f"{self._path}: damaged, {counted} messages were written, {self._messages} are there")

    def _footer(self, start: int, at: int, length: int) -> None:
        where, tail = f"{self._path}, byte {at}", self._data[at + _FOOTER_BYTES :]
        if length != _FOOTER_BYTES - 9 or not MAGIC.startswith(tail):
            raise InputError(f"{where}: damaged, the file does not end behind its index")
        (crc,) = struct.unpack_from("<I", self._data, at + _FOOTER_BYTES - 4)
        if (crc or self.summed) and self._crc(start, at + _FOOTER_BYTES - 4) != crc:
            raise InputError(f"{where}: damaged, the checksum of the index does not fit")
        self.indexed = tail == MAGIC

    def _crc(self, start: int, end: int) -> int:
        crc = 0
        for at in range(start, end, PIECE_BYTES):
            crc = zlib.crc32(self._data[at : min(at + PIECE_BYTES, end)], crc)
        return crc
