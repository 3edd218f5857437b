# SPDX-License-Identifier: Apache-2.0
"""`PacketWriter`: packets into an MCAP file while they come, with a checksum on every byte of it.

Chunks go to the file as they fill or every `FLUSH` seconds, each at once with its schemas, channels and list, so that a
crash loses no more than that. A file always begins under a name that nobody had: an older one is replaced, where that
is allowed, when the new one is whole; and a file that got no packets is taken away again.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from armwright.errors import InputError
from armwright.files import SafeFile, place_of
from armwright.lab.packets import METADATA, Channel, Packet
from armwright.recording.formats import file_header as meta
from armwright.recording.formats.mcap_file import MESSAGE_HEAD, McapFile
from armwright.recording.formats.mcap_read import MESSAGE

FLUSH = 0.5  # [s]
MCAP_CHUNK_BYTES = 1 << 18
LATEST_TIME = (1 << 64) - 1  # [ns] the largest that the format can carry
SYNC_SECONDS = 1.0  # [s] between forced writes to the disk: what a power cut may take


def stamped(folder: Path, stem: str = "run", suffix: str = ".mcap") -> Iterator[Path]:
    """Yield names with the date and the local time, ``run-20261118-094501.mcap``, then numbered ones."""
    name = f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    yield folder / f"{name}{suffix}"
    for number in range(2, 1000):
        yield folder / f"{name}-{number}{suffix}"


class PacketWriter:
    """An MCAP file that is written while packets come.

    Attributes:
        path: of the file, while it is written. target: where `close` puts it.
        written: packets in the file.
    """

    def __init__(self, path: str | Path | None, *, force: bool = False) -> None:
        """Create the file.

        Args:
            path: where; None for a new name in the present folder (`stamped`).
            force: replace a file that is there, when the new one is whole.

        Raises:
            InputError: the file is there already, or cannot be written.
        """
        self._mcap = McapFile(summed=True)
        self.written = self._taken = 0
        try:
            self.path, self.target, self._file = _created(None if path is None else Path(path), force)
        except OSError as error:
            raise InputError(f"{error.filename or path}: cannot be written: {error.strerror or error}") from error
        self._mcap.go_on(self._file)
        self._content = bytearray()
        self._lists: dict[int, list[int]] = {}
        self._times: list[int] = []
        self._numbers: dict[tuple[Any, ...], int] = {}  # of all channels that were ever declared
        self._channels: dict[str, int] = {}  # by topic, those that packets belong to now
        self._flushed = time.monotonic()

    def add(self, channel: Channel) -> None:
        """Announce a stream; a second announcement with another recipe begins a new channel of the same topic."""
        facts = {name: str(value) for name, value in (channel.facts or {}).items()}
        schema = (channel.encoding, "text", channel.recipe.encode())
        self._channels[channel.topic] = self._declare(channel.topic, channel.encoding, schema, facts)

    def _declare(self, topic: str, encoding: str, schema: tuple[str, str, bytes], facts: dict[str, str]) -> int:
        number = self._numbers.setdefault((topic, schema, *facts.items()), len(self._numbers) + 1)
        r = self._mcap.records
        self._content += self._mcap.declare(
            r.Schema(id=number, name=schema[0], encoding=schema[1], data=schema[2]),
            r.Channel(id=number, schema_id=number, topic=topic, message_encoding=encoding, metadata=facts),
        )
        return number

    def write(self, packet: Packet) -> None:
        """Add a packet."""
        self._message(self._channels[packet.topic], packet, packet.data)
        self._taken += 1
        if len(self._content) > MCAP_CHUNK_BYTES:
            self._chunk()

    def beside(self, topic: str, schema: tuple[str, str, bytes], packet: Packet, data: bytes) -> None:
        """Add what was made from a packet, at its times; schema is name, encoding and content."""
        if topic not in self._channels:
            self._channels[topic] = self._declare(topic, schema[1], schema, {})
        self._message(self._channels[topic], packet, data)

    def _message(self, channel: int, packet: Packet, data: bytes) -> None:
        host, device = (min(max(stamp, 0), LATEST_TIME) for stamp in (packet.host, packet.device))
        head = MESSAGE_HEAD.pack(
            MESSAGE, MESSAGE_HEAD.size - 9 + len(data), channel, packet.sequence & 0xFFFFFFFF, host, device
        )
        self._lists.setdefault(channel, []).extend((host, len(self._content)))
        self._times.append(host)
        self._content += head
        self._content += data

    def _chunk(self) -> None:
        """Write what has been gathered, the beginning of the file with the first."""
        lists = {number: struct.pack(f"<{len(words)}Q", *words) for number, words in self._lists.items()}
        span = (min(self._times, default=0), max(self._times, default=0))
        before = b"" if self._file.size else self._mcap.opening
        self._mcap.chunk(bytes(self._content), span, lists, before=before)
        self._content, self._lists, self._times = bytearray(), {}, []
        self.written = self._taken

    def flush(self, *, now: bool = False) -> None:
        """Bring what is complete to the disk, now and then or `now`."""
        if now or time.monotonic() - self._flushed > FLUSH:
            self._flushed = time.monotonic()
            if self._times:
                self._chunk()

    def close(self, facts: Mapping[str, Any], *, placed: bool = True) -> None:
        """End the file; `facts` become metadata. A file without packets is taken away.

        `placed`: it replaces the older file that it was made for; otherwise both stay.
        """
        if not self._taken:
            self.abandon()
            return
        if self._content:
            self._chunk()
        self._mcap.end(self._mcap.describe(METADATA, {"json": meta.sealed({"facts": dict(facts)})}, self._file.size))
        if placed and self.path != self.target:
            with contextlib.suppress(OSError):  # a file system without permissions, or a file that has gone
                os.chmod(self.path, stat.S_IMODE(os.stat(self.target).st_mode))
            os.replace(self.path, self.target)
            self.path = self.target

    def abandon(self) -> None:
        """Close the file as it is: what has been flushed can be read. A file without packets is taken away."""
        empty = not self.written and self._file.is_at(self.path) and stat.S_ISREG(os.lstat(self.path).st_mode)
        with contextlib.suppress(OSError):  # the disk is full, which is why
            self._file.close()
        if empty:
            with contextlib.suppress(OSError):
                self.path.unlink()


def _created(path: Path | None, force: bool) -> tuple[Path, Path, SafeFile]:
    """Return where the file is written, where it will be, and the file: new, except for a pipe or a device."""
    if path is None:
        found, file = _first(stamped(Path()))
        return found, found, file
    if not os.path.lexists(path):
        return path, path, SafeFile(path, SYNC_SECONDS, fresh=True)
    if path.exists() and not path.is_file() and not path.is_dir():
        return path, path, SafeFile(path, SYNC_SECONDS)  # it holds nothing that could be lost
    if not force:
        raise InputError(f"{path}: is there already; --force (force=True) replaces it, another name keeps it")
    target = place_of(path)
    if not target.exists():
        return target, target, SafeFile(target, SYNC_SECONDS, fresh=True)
    found, file = _first(stamped(target.parent, target.stem, target.suffix))
    return found, target, file


def _first(names: Iterator[Path]) -> tuple[Path, SafeFile]:
    """Return the first of these names that nobody has, and a new file of that name."""
    for name in names:
        try:
            return name, SafeFile(name, SYNC_SECONDS, fresh=True)
        except FileExistsError:
            taken = name
    raise InputError(f"{taken}: is there already, and so are all names like it")
