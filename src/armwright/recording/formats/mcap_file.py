# SPDX-License-Identifier: Apache-2.0
"""`McapFile`: an MCAP file that grows by whole chunks, and ends with the index that readers seek by.

A chunk and the lists of its messages are one piece of a `SafeFile`: a file that was cut short ends with a whole chunk.
A `summed` file carries checksums of all its bytes: each chunk its own, its end those of everything before it and of the
index. It says so in its header (`SUMMED`), so that a checksum that is missing is noticed too.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.files import SafeFile
from armwright.packages import need
from armwright.recording.formats.mcap_read import CHUNK, DATA_END, FOOTER, INDEX, MAGIC, SUMMED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcap.records import McapRecord

MESSAGE_HEAD = struct.Struct("<BQHIQQ")  # opcode, length, channel, sequence, log time, publish time


class McapFile:
    """Writes chunks, descriptions and the end.

    Attributes:
        records: the record types of the mcap package. file: what is written to, after `begin`. counts: messages by
            channel.
    """

    def __init__(self, library: str = "armwright", *, summed: bool = False) -> None:
        """Prepare the first bytes; nothing is opened."""
        self.records: Any = need("mcap.records", "log", "writing .mcap")
        self._builder: Any = need("mcap.data_stream", "log", "writing .mcap").RecordBuilder
        self._summed, self._crc = summed, 0
        self._declared: dict[tuple[str, int], Any] = {}
        self._indices: list[Any] = []
        self._metadata: list[Any] = []
        self.counts: dict[int, int] = {}
        self.opening = MAGIC + self._bytes(self.records.Header(profile="", library=SUMMED if summed else library))
        self.file: SafeFile

    def begin(self, path: Path, sync_every: float | None, *parts: Any) -> None:
        """Create a file, with its first piece."""
        self.file = SafeFile.begin(path, sync_every, *parts, fresh=True)
        self._add(parts)

    def go_on(self, file: SafeFile) -> None:
        """Write to a file that is open already, and empty."""
        self.file = file

    def write(self, *parts: Any) -> None:
        """Append one piece to the data section."""
        self.file.write(*parts)
        self._add(parts)

    def _add(self, parts: tuple[Any, ...]) -> None:
        if self._summed:
            for part in parts:
                self._crc = zlib.crc32(part, self._crc)

    def declare(self, *records: Any) -> bytes:
        """Return schemas and channels as bytes; the index will repeat them."""
        self._declared |= {(type(record).__name__, record.id): record for record in records}
        return b"".join(map(self._bytes, records))

    def describe(self, name: str, texts: dict[str, str], at: int) -> bytes:
        """Return a metadata record that will stand at byte `at`; the index will tell where."""
        content = self._bytes(self.records.Metadata(name=name, metadata=texts))
        self._metadata.append(self.records.MetadataIndex(offset=at, length=len(content), name=name))
        return content

    def chunk(self, content: Any, span: tuple[int, int], lists: Mapping[int, Any], *, before: bytes = b"") -> None:
        """Write one chunk and the lists of its messages, as one piece.

        Args:
            content: records in it, bytes-like and contiguous.
            span: first and last log time in it [ns].
            lists: by channel, log time and place in the content of every message, as (n, 2) little-endian 8-byte words.
            before: what stands before it in the same piece.
        """
        size = memoryview(content).nbytes
        head = struct.pack("<QQQIIQ", *span, size, zlib.crc32(content), 0, size)
        opening = struct.pack("<BQ", CHUNK, len(head) + size) + head
        at, length = self.file.size + len(before), len(opening) + size
        places, parts, end = {}, [], at + length
        for channel, listed in lists.items():
            bytes_of = memoryview(listed).nbytes
            places[channel] = end
            parts += [struct.pack("<BQHI", INDEX, 6 + bytes_of, channel, bytes_of), listed]
            end += 15 + bytes_of
        self.write(before, opening, content, *parts)
        self._indices.append(
            self.records.ChunkIndex(
                chunk_start_offset=at,
                chunk_length=length,
                compression="",
                compressed_size=size,
                uncompressed_size=size,
                message_start_time=span[0],
                message_end_time=span[1],
                message_index_offsets=places,
                message_index_length=end - at - length,
            )
        )
        for channel, listed in lists.items():
            self.counts[channel] = self.counts.get(channel, 0) + memoryview(listed).nbytes // 16

    def end(self, *parts: Any) -> None:
        """Write the last piece of the data and its end, then the index, and close the file."""
        self._add(parts)
        self.file.write(*parts, struct.pack("<BQI", DATA_END, 4, self._crc))
        r, start = self.records, self.file.size
        schemas = [record for (kind, _), record in self._declared.items() if kind == "Schema"]
        channels = [record for (kind, _), record in self._declared.items() if kind == "Channel"]
        statistics = r.Statistics(
            attachment_count=0,
            channel_count=len(channels),
            channel_message_counts=self.counts,
            chunk_count=len(self._indices),
            message_count=sum(self.counts.values()),
            message_start_time=min((index.message_start_time for index in self._indices), default=0),
            message_end_time=max((index.message_end_time for index in self._indices), default=0),
            metadata_count=len(self._metadata),
            schema_count=len(schemas),
        )
        listed = [*schemas, *channels, statistics, *self._indices, *self._metadata]
        summary = b"".join(map(self._bytes, listed)) + struct.pack("<BQQQ", FOOTER, 20, start, 0)
        self.file.write(summary, struct.pack("<I", zlib.crc32(summary) if self._summed else 0), MAGIC)
        self.file.close()

    def _bytes(self, record: McapRecord) -> bytes:
        builder = self._builder()
        record.write(builder)
        return bytes(builder.end())
