"""Reading MCAP recordings: record by record, every length checked before it is believed."""

from __future__ import annotations

import io
import mmap
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ArmwrightError, InputError
from armwright.simulation.formats import meta
from armwright.simulation.formats.extras import need
from armwright.simulation.formats.protobuf import sample_layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.simulation.recording import Recording

    Array = NDArray[np.float64]

MAGIC = b"\x89MCAP0\r\n"
_HEAD = 31  # bytes of a message record before its data
_CHANNEL, _CHUNK, _METADATA, _DATA_END = 4, 6, 12, 15


def read(path: Path, *, recover: bool, max_bytes: int) -> Recording:
    """Read an MCAP file that holds a recording, complete or cut short."""
    with open(path, "rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise InputError(f"{path}, byte 0: not an MCAP file (its first eight bytes are not the magic ones)")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(path, data, recover, max_bytes).recording()


class _Reader:
    def __init__(self, path: Path, data: Any, recover: bool, max_bytes: int) -> None:
        self.path, self.data, self.recover, self.left = path, data, recover, max_bytes
        self.records = need("mcap.records", "log", "reading .mcap")
        self.streams = need("mcap.stream_reader", "log", "reading .mcap")
        self.head: dict[str, Any] | None = None
        self.tail: dict[str, Any] | None = None
        self.columns: tuple[meta.Column, ...] = ()
        self.channel = -1
        self.parts: list[list[Array]] = []

    def recording(self) -> Recording:
        try:
            # twice, because tools that rewrite a file may move the metadata behind the samples
            for wanted in ((_METADATA,), (_CHANNEL, _CHUNK)):
                for at, opcode, content in self._walk(wanted):
                    self._take(at, opcode, content)
                if self.head is None:
                    break
        except ArmwrightError:
            if not self.recover or self.head is None:
                raise
            self.tail = None
        if self.head is None:
            raise InputError(f"{self.path}: no Armwright recording in this MCAP file (no metadata 'armwright.head')")
        widths = [1, *(column.width for column in self.columns)]
        stacked = [np.concatenate([part[i] for part in self.parts]) if self.parts else np.empty((0, width))
                   for i, width in enumerate(widths)]  # fmt: skip
        time = stacked[0].reshape(-1)
        return meta.assemble(self.head, self.tail, self.columns, time, stacked[1:], str(self.path))

    def _walk(self, wanted: tuple[int, ...]) -> Iterator[tuple[int, int, bytes]]:
        """Yield (offset, opcode, content) of the whole records of the data section, of the kinds wanted."""
        at, size = len(MAGIC), len(self.data)
        ended = self.data[-len(MAGIC) :] == MAGIC and size > 2 * len(MAGIC)
        while at + 9 <= size:
            opcode, length = struct.unpack_from("<BQ", self.data, at)
            if at + 9 + length > size:
                if ended:  # cut files have no magic at their end
                    raise InputError(f"{self.path}, byte {at}: damaged, a record of {length} bytes runs past the end")
                return
            if opcode in wanted:
                yield at, opcode, self.data[at + 9 : at + 9 + length]
            if opcode == _DATA_END:
                return
            if opcode == 0:
                raise InputError(f"{self.path}, byte {at}: damaged, a record of unknown kind 0")
            at += 9 + length

    def _take(self, at: int, opcode: int, content: bytes) -> None:
        where = f"{self.path}, byte {at}"
        kind = {_CHANNEL: self.records.Channel, _CHUNK: self.records.Chunk, _METADATA: self.records.Metadata}[opcode]
        try:
            record = kind.read(self.streams.ReadDataStream(io.BytesIO(content)))
        except Exception as error:  # noqa: BLE001 - the package has an end-of-file error of its own kind
            raise InputError(f"{where}: damaged {kind.__name__.lower()} record ({error!r})") from None
        if opcode == _METADATA and record.name == "armwright.head":
            self.head = meta.parse(record.metadata.get("json", ""), where)
            self.columns = meta.columns_from(self.head, where)
            self.layout = sample_layout(self.columns)
        elif opcode == _METADATA and record.name == "armwright.tail":
            self.tail = meta.parse(record.metadata.get("json", ""), where)
        elif opcode == _CHANNEL and record.topic == "/recording":
            self.channel = record.id
        elif opcode == _CHUNK:
            self._chunk(where, record)

    def _chunk(self, where: str, chunk: Any) -> None:
        kept = sum(len(part[0]) for part in self.parts)
        where = f"{where} (after sample {kept})"
        self.left -= chunk.uncompressed_size
        if self.left < 0:
            raise InputError(f"{where}: chunk of {chunk.uncompressed_size} bytes exceeds max_bytes")
        try:
            stream, size = self.streams.get_chunk_data_stream(chunk)
            data = stream.read(size)
        except Exception as error:  # noqa: BLE001 - whatever the decompressor raises
            raise InputError(f"{where}: damaged chunk ({error!r})") from None
        if len(data) != chunk.uncompressed_size:
            raise InputError(f"{where}: damaged chunk, {len(data)} bytes instead of {chunk.uncompressed_size}")
        if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
            raise InputError(
                f"{where}: damaged chunk, its checksum does not fit. load(..., recover=True) keeps what precedes"
            )
        messages = self._fixed(data) or self._general(where, data)
        if not messages:
            return
        rows = np.frombuffer(messages, dtype=np.uint8).reshape(-1, len(self.layout.template))
        filled = np.frombuffer(self.layout.template, dtype=np.uint8)
        fixed = np.ones(len(filled), dtype=bool)
        for offset, count, stride in self.layout.places:
            for i in range(count):
                fixed[offset + i * stride : offset + i * stride + 8] = False
        if not (rows[:, fixed] == filled[fixed]).all():
            raise InputError(f"{where}: damaged chunk, a sample does not have the declared signals")
        self.parts.append([np.array(hole, dtype=np.float64) for hole in self.layout.holes(rows, 0)])

    def _fixed(self, data: bytes) -> bytes:
        """Return the samples of a chunk as we write them: only messages of our channel, all of one length."""
        width = _HEAD + len(self.layout.template)
        if len(data) % width:
            return b""
        rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
        expected = np.frombuffer(struct.pack("<BQH", 5, width - 9, self.channel & 0xFFFF), dtype=np.uint8)
        return rows[:, _HEAD:].tobytes() if (rows[:, :11] == expected).all() else b""

    def _general(self, where: str, data: bytes) -> bytes:
        """Return the samples of a chunk that another tool has rearranged."""
        out, at = [], 0
        while at + 9 <= len(data):
            opcode, length = struct.unpack_from("<BQ", data, at)
            body = data[at + 9 : at + 9 + length]
            if len(body) != length:
                raise InputError(f"{where}: damaged chunk, a record runs past its end")
            if opcode == _CHANNEL:
                self._take(0, opcode, body)
            elif opcode == 5 and struct.unpack_from("<H", body)[0] == self.channel:
                if len(body) - 22 != len(self.layout.template):
                    raise InputError(f"{where}: a sample of {len(body) - 22} bytes does not fit the declared signals")
                out.append(body[22:])
            at += 9 + length
        return b"".join(out)
