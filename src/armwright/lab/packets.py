# SPDX-License-Identifier: Apache-2.0
"""Packets of devices as a file holds them, exactly as they came, and the reader of such files.

One channel per device. ``log_time`` is the host's clock (a monotonic one, anchored once to the date), ``publish_time``
the device's, ``sequence`` the device's counter. The schema of an RTDE channel is its recipe, one field and its type per
line. `PacketWriter` writes the files. The reader is that of all recordings (`McapContent`): damage is an error with
its place, and a file that was cut short is read up to its last whole chunk, with a warning.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from armwright.errors import ArmwrightWarning, InputError
from armwright.lab.wire.rtde import SIZES, Recipe
from armwright.recording.formats import file_header as meta
from armwright.recording.formats.mcap_content import McapChannel, McapContent, McapMessage
from armwright.recording.formats.mcap_read import DATA_END, SUMMED, mapped, parsed, records
from armwright.recording.formats.mcap_read import METADATA as METADATA_RECORD

ENCODINGS = ("ur-rtde", "ur-realtime-756", "ati-rdt", "xsens-mtdata")
METADATA = "armwright.lab"
WRITERS = (SUMMED, "armwright lab")  # the second: version 0.1
MOST_FILE_BYTES = 8 * 2**30  # bytes of a file that is read: as of every other recording


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


@dataclass(frozen=True)
class Recorded:
    """The content of a file.

    Attributes:
        channels: by topic. packets: in order. facts: metadata.
        whole: whether the file was ended properly and nothing is missing or damaged.
        notes: what a reader must know: that it was cut short, what has no checksum.
    """

    channels: dict[str, Channel]
    packets: list[Packet]
    facts: dict[str, Any]
    whole: bool
    notes: tuple[str, ...] = ()

    def of(self, topic: str) -> list[Packet]:
        """Return the packets of one topic."""
        return [packet for packet in self.packets if packet.topic == topic]


def read_packets(path: str | Path, *, most: int = 50_000_000, recover: bool = False) -> Recorded:
    """Read a file of packets.

    A file without an end (the recorder was killed, the disk was full) is read up to its last whole chunk; a warning and
    `Recorded.notes` say so. Damage inside a file is an error.

    Args:
        path: of the file, a regular one.
        most: packets that are read; a file with more is refused.
        recover: keep what precedes the damage instead of refusing the file; a warning says what was kept.

    Raises:
        InputError: no such file, not an MCAP file of ours, damaged (with the byte), or more than `most` packets.

    Example:
        >>> len(read_packets("run.mcap").of("/robot/rtde"))
    """
    file, notes = Path(path), []
    channels: dict[str, Channel] = {}
    packets: list[Packet] = []
    facts: dict[str, Any] = {}
    with mapped(file, MOST_FILE_BYTES) as data:
        content, damage = McapContent(file, data), ""
        try:
            _gather(content, file, most, channels, packets, facts)
        except InputError as error:
            if not recover:
                raise
            damage = str(error)
    if not channels:
        why = f"; {damage}" if damage else "" if content.ended else "; it was cut short before the first"
        raise InputError(f"{file}: holds no packets of the lab (encodings {', '.join(ENCODINGS)}){why}")
    if damage:
        notes.append(f"{damage}; the {len(packets)} packets before it were kept")
    elif not content.ended:
        notes.append(f"{file}: cut short, the file has no end; {len(packets)} packets were kept")
    elif not content.indexed:
        notes.append(f"{file}: cut short behind its packets; all {len(packets)} are there, its index is not")
    whole = not notes
    if content.unsummed:
        said = ", ".join(sorted(content.unsummed))
        notes.append(f"{file}: written by another version or program; its {said} have no checksum")
    for note in notes:
        warnings.warn(note, ArmwrightWarning, stacklevel=2)
    return Recorded(channels, packets, facts, whole, tuple(notes))


def _gather(
    content: McapContent,
    path: Path,
    most: int,
    channels: dict[str, Channel],
    packets: list[Packet],
    facts: dict[str, Any],
) -> None:
    """Fill in what the file holds, as far as it can be read."""
    for item in content:
        if isinstance(item, McapMessage):
            if item.channel.encoding in ENCODINGS:
                if len(packets) >= most:
                    raise InputError(f"{path}: more than {most} packets")
                packets.append(Packet(item.channel.topic, item.log_time, item.publish_time, item.sequence, item.data))
        elif isinstance(item, McapChannel):
            if item.encoding in ENCODINGS:
                recipe = _text(item.schema.data, path) if item.schema is not None else ""
                channels[item.topic] = Channel(item.topic, item.encoding, recipe, item.facts)
        elif item.name == METADATA:
            facts.update(_facts(item.texts, item.where))
    if not content.ended and content.library not in WRITERS:
        raise InputError(
            f"{path}, byte 8: damaged, the header of a file without an end names {content.library!r:.60} as its "
            "writer. recover=True keeps the packets"
        )


def _text(content: bytes, path: Path) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InputError(f"{path}: damaged, a recipe is not text") from None


def _facts(texts: Mapping[str, str], where: str) -> dict[str, Any]:
    """Return what the metadata say; files of version 0.1 have a text per fact, without a checksum."""
    if set(texts) == {"json"}:
        found = meta.parse(texts["json"], where).get("facts")
        if not isinstance(found, dict):
            raise InputError(f"{where}: the description is damaged (it has no 'facts')")
        return found
    try:
        return {name: json.loads(text) for name, text in texts.items()}
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: the description is damaged ({error})") from None


def read_facts(path: str | Path) -> dict[str, Any]:
    """Return the metadata of a file that was ended properly, without reading its packets.

    They are empty where there is no such file, and where it was cut short.

    Raises:
        InputError: the file cannot be read, is no MCAP file, or is damaged.
    """
    file, found = Path(path), {}
    if not file.exists():
        return {}
    with mapped(file, MOST_FILE_BYTES) as data:
        for at, kind, length in records(file, data):
            where = f"{file}, byte {at}"
            if kind == METADATA_RECORD:
                record = parsed(kind, data[at + 9 : at + 9 + length], where)
                if record.name == METADATA:
                    found = _facts(record.metadata, where)
            elif kind == DATA_END:
                return found
    return {}


def recipe_text(recipe: Recipe) -> str:
    """Return a recipe as text, one field per line."""
    return "".join(f"{name} {kind}\n" for name, kind in zip(recipe.names, recipe.kinds, strict=True))


def recipe_from(text: str) -> Recipe:
    """Return the recipe that a channel carries."""
    pairs = [line.split() for line in text.splitlines() if line.strip()]
    if not pairs or any(len(pair) != 2 or pair[1] not in SIZES for pair in pairs):
        raise InputError("recording: its RTDE recipe is not a list of fields and types")
    return Recipe(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs))
