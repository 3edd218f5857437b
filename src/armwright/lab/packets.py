# SPDX-License-Identifier: Apache-2.0
"""Packets in an MCAP file, exactly as they came: one channel per device, host time, device time, sequence.

``log_time`` is the host's clock (a monotonic one, anchored once to the date), ``publish_time`` the device's,
``sequence`` the device's counter. The schema of an RTDE channel is its recipe, one field and its type per line. Chunks
go to the file as they fill or every `FLUSH` seconds, so that a crash loses no more than that.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from armwright.errors import InputError
from armwright.lab.wire.rtde import SIZES, Recipe
from armwright.packages import need

FLUSH = 0.5  # [s]
MCAP_CHUNK_BYTES = 1 << 18
ENCODINGS = ("ur-rtde", "ur-realtime-756", "ati-rdt", "xsens-mtdata")
METADATA = "armwright.lab"


class Packet(NamedTuple):
    """One packet of a device: bytes as framed; times in ns; the device's counter."""

    topic: str
    host: int
    device: int
    sequence: int
    data: bytes


@dataclass(frozen=True)
class Channel:
    """A device's stream: topic, encoding (`ENCODINGS`), recipe text, and facts such as version and calibration."""

    topic: str
    encoding: str
    recipe: str = ""
    facts: Mapping[str, str] | None = None


class PacketWriter:
    """An MCAP file that is written while packets come.

    Attributes:
        path: of the file. written: packets so far.
    """

    def __init__(self, path: Path) -> None:
        writer = need("mcap.writer", "log", "recording to .mcap")
        self.path, self.written = path, 0
        try:
            self._file: BinaryIO = open(path, "wb")  # noqa: SIM115 - closed by `close`
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from error
        self._mcap = writer.Writer(self._file, chunk_size=MCAP_CHUNK_BYTES, compression=writer.CompressionType.NONE)
        self._mcap.start(profile="", library="armwright lab")
        self._channels: dict[str, int] = {}
        self._flushed = time.monotonic()

    def add(self, channel: Channel) -> None:
        """Announce a stream; a second announcement with another recipe begins a new channel of the same topic."""
        schema = self._mcap.register_schema(name=channel.encoding, encoding="text", data=channel.recipe.encode())
        self._channels[channel.topic] = self._mcap.register_channel(
            channel.topic, channel.encoding, schema, metadata=dict(channel.facts or {})
        )

    def write(self, packet: Packet) -> None:
        """Add a packet."""
        self._mcap.add_message(
            self._channels[packet.topic], packet.host, packet.data, packet.device, packet.sequence & 0xFFFFFFFF
        )
        self.written += 1

    def beside(self, topic: str, schema: tuple[str, str, bytes], packet: Packet, data: bytes) -> None:
        """Add what was made from a packet, at its times; schema is name, encoding and content."""
        if topic not in self._channels:
            known = self._mcap.register_schema(name=schema[0], encoding=schema[1], data=schema[2])
            self._channels[topic] = self._mcap.register_channel(topic, schema[1], known)
        self._mcap.add_message(self._channels[topic], packet.host, data, packet.device, packet.sequence & 0xFFFFFFFF)

    def flush(self) -> None:
        """Bring what is complete to the disk, now and then."""
        now = time.monotonic()
        if now - self._flushed > FLUSH:
            self._flushed = now
            flush = getattr(self._mcap, "flush", None)  # older versions write whole chunks only
            if flush is not None:
                flush()

    def close(self, facts: Mapping[str, Any]) -> None:
        """End the file; `facts` become metadata."""
        try:
            self._mcap.add_metadata(METADATA, {name: json.dumps(value) for name, value in facts.items()})
            self._mcap.finish()
        finally:
            self._file.close()

    def abandon(self) -> None:
        """Close the file as it is: what has been flushed can be read."""
        with contextlib.suppress(OSError):  # the disk is full, which is why
            self._file.close()


@dataclass(frozen=True)
class Recorded:
    """The content of a file: channels by topic, packets in order, metadata, whether it was ended properly."""

    channels: dict[str, Channel]
    packets: list[Packet]
    facts: dict[str, Any]
    whole: bool

    def of(self, topic: str) -> list[Packet]:
        """Return the packets of one topic."""
        return [packet for packet in self.packets if packet.topic == topic]


def read_packets(path: str | Path, *, most: int = 50_000_000) -> Recorded:
    """Read a file of packets, also one that was cut short.

    Raises:
        InputError: no such file, not an MCAP file of ours, or more than `most` packets.

    Example:
        >>> len(read_packets("run.mcap").of("robot-rtde"))
    """
    channels: dict[str, Channel] = {}
    packets: list[Packet] = []
    facts: dict[str, Any] = {}
    whole = False
    try:
        with open(path, "rb") as file:
            for record in _records(file, str(path)):
                kind = type(record).__name__
                if kind == "_PacketMessage":
                    packets.append(record.packet)
                    if len(packets) > most:
                        raise InputError(f"{path}: more than {most} packets")
                elif kind == "_Announced":
                    channels[record.channel.topic] = record.channel
                elif kind == "Metadata" and record.name == METADATA:
                    facts = {name: json.loads(text) for name, text in record.metadata.items()}
                elif kind == "Footer":
                    whole = True
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if not channels:
        raise InputError(f"{path}: holds no packets of the lab (encodings {', '.join(ENCODINGS)})")
    return Recorded(channels, packets, facts, whole)


def read_facts(path: str | Path) -> dict[str, Any]:
    """Return the metadata of a file that was ended properly, without reading its packets; empty for any other."""
    reader = need("mcap.reader", "log", "reading .mcap")
    try:
        with open(path, "rb") as file:
            for record in reader.make_reader(file).iter_metadata():
                if record.name == METADATA:
                    return {name: json.loads(text) for name, text in record.metadata.items()}
    except Exception:  # noqa: BLE001 - the package has many errors of its own, and a file may be anything
        return {}
    return {}


class _PacketMessage(NamedTuple):
    packet: Packet


class _Announced(NamedTuple):
    channel: Channel


def _records(file: BinaryIO, path: str) -> Iterator[Any]:
    """Yield records in order; the end of a file that was cut short ends them."""
    stream = need("mcap.stream_reader", "log", "reading .mcap")
    errors = need("mcap.exceptions", "log", "reading .mcap")
    schemas: dict[int, Any] = {}
    topics: dict[int, str] = {}
    try:
        for record in stream.StreamReader(file).records:
            kind = type(record).__name__
            if kind == "Schema":
                schemas[record.id] = record
            elif kind == "Channel":
                if record.message_encoding in ENCODINGS:
                    topics[record.id] = record.topic
                    recipe = schemas[record.schema_id].data.decode() if record.schema_id in schemas else ""
                    yield _Announced(Channel(record.topic, record.message_encoding, recipe, record.metadata))
            elif kind == "Message":
                topic = topics.get(record.channel_id)
                if topic is not None:
                    yield _PacketMessage(
                        Packet(topic, record.log_time, record.publish_time, record.sequence, record.data)
                    )
            else:
                yield record
    except errors.InvalidMagic as error:
        raise InputError(f"{path}: is no MCAP file") from error
    except (errors.McapError, EOFError, ValueError, UnicodeDecodeError):
        return  # cut short


def recipe_text(recipe: Recipe) -> str:
    """Return a recipe as text, one field per line."""
    return "".join(f"{name} {kind}\n" for name, kind in zip(recipe.names, recipe.kinds, strict=True))


def recipe_from(text: str) -> Recipe:
    """Return the recipe that a channel carries."""
    pairs = [line.split() for line in text.splitlines() if line.strip()]
    if not pairs or any(len(pair) != 2 or pair[1] not in SIZES for pair in pairs):
        raise InputError("recording: its RTDE recipe is not a list of fields and types")
    return Recipe(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs))
