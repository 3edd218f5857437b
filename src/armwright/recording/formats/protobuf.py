# SPDX-License-Identifier: Apache-2.0
"""Samples as protobuf messages of fixed length, so that thousands of them are laid out by a few array copies.

A double takes nine or ten bytes, its tag and its value, whatever the value is. Every sample of a recording therefore
has the same bytes except at known places. The schema travels in the file as a FileDescriptorSet; both are written here
directly, because the fixed layout is the point and needs no protobuf package.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.recording.formats.file_header import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCHEMA_NAME = "armwright.Recording"
JOINT_STATES = "foxglove.JointStates"
_DOUBLE, _INT64, _INT32, _STRING, _MESSAGE = 1, 3, 5, 9, 11  # FieldDescriptorProto.Type
_OPTIONAL, _REPEATED = 1, 3
_FIXED64, _BYTES, _VARINT = 1, 2, 0  # wire types
_ONE_BYTE_FIELDS = 15  # higher field numbers have tags of two bytes


def varint(value: int, pad: int = 0) -> bytes:
    """Return a varint, stretched to `pad` bytes (a longer form than needed is valid protobuf)."""
    out = bytearray()
    while value > 0x7F or len(out) + 1 < pad:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def tag(number: int, wire: int) -> bytes:
    """Return the tag of a field."""
    return varint(number << 3 | wire)


def nested(number: int, content: bytes) -> bytes:
    """Return a length-prefixed field: a text, bytes or a message."""
    return tag(number, _BYTES) + varint(len(content)) + content


def field_names(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return valid, distinct protobuf names for labels."""
    out: list[str] = []
    for i, label in enumerate(labels):
        name = re.sub(r"\W", "_", label, flags=re.ASCII)
        name = name if re.match(r"[A-Za-z]", name) else f"c{name}"
        out.append(name if name.lower() not in {other.lower() for other in out} else f"{name}_{i}")
    return tuple(out)


def _field(name: str, number: int, kind: int, type_name: str = "", label: int = _OPTIONAL) -> bytes:
    body = nested(1, name.encode()) + tag(3, _VARINT) + varint(number) + tag(4, _VARINT) + varint(label)
    body += tag(5, _VARINT) + varint(kind)
    return nested(2, body + (nested(6, type_name.encode()) if type_name else b""))


def _descriptor(file: str, package: str, messages: list[bytes], imports: tuple[str, ...] = ()) -> bytes:
    body = nested(1, file.encode()) + nested(2, package.encode()) + b"".join(nested(3, i.encode()) for i in imports)
    body += b"".join(nested(4, message) for message in messages) + nested(12, b"proto3")
    return nested(1, body)


def _first(width: int) -> int:
    """Field number of a group's first component: all tags of a group have the same length."""
    return 1 if width <= _ONE_BYTE_FIELDS else _ONE_BYTE_FIELDS + 1


def sample_schema(columns: tuple[Column, ...]) -> bytes:
    """Return the schema of ``Recording {double t; Q q {double shoulder; ...}; ...; double energy; ...}``."""
    body, inner = _field("t", 1, _DOUBLE), b""
    for number, column in enumerate(columns, start=2):
        if not column.shape:
            body += _field(column.name, number, _DOUBLE)
            continue
        name = f"M_{column.name}"
        labels = field_names(column.labels or tuple(f"c{i}" for i in range(column.width)))
        start = _first(column.width)
        fields = b"".join(_field(label, start + i, _DOUBLE) for i, label in enumerate(labels))
        inner += nested(3, nested(1, name.encode()) + fields)
        body += _field(column.name, number, _MESSAGE, f".{SCHEMA_NAME}.{name}")
    return _descriptor("armwright/recording.proto", "armwright", [nested(1, b"Recording") + body + inner])


@dataclass(frozen=True)
class MessageLayout:
    """A message of fixed bytes with holes: `places` are (offset, count, stride) of groups of doubles."""

    template: bytes
    places: tuple[tuple[int, int, int], ...]

    def holes(self, rows: NDArray[np.uint8], at: int) -> list[Any]:
        """Return views of the doubles, (len(rows), count) each, in a buffer (rows, bytes) of messages at `at`."""
        size = rows.strides[0]
        return [
            np.ndarray((len(rows), count), "<f8", rows, at + offset, (size, stride))
            for offset, count, stride in self.places
        ]

    def fixed(self) -> NDArray[np.bool_]:
        """Return which bytes of the template are the same in every message."""
        same = np.ones(len(self.template), dtype=bool)
        for offset, count, stride in self.places:
            same[(offset + stride * np.arange(count)[:, None] + np.arange(8)).ravel()] = False
        return same


def sample_layout(columns: tuple[Column, ...]) -> MessageLayout:
    """Return the layout of a sample: t first, then the columns."""
    out = bytearray(tag(1, _FIXED64))
    places = [(len(out), 1, 8)]
    out += bytes(8)
    for number, column in enumerate(columns, start=2):
        if not column.shape:
            out += tag(number, _FIXED64)
            places.append((len(out), 1, 8))
            out += bytes(8)
            continue
        start = _first(column.width)
        step = len(tag(start, _FIXED64)) + 8
        out += tag(number, _BYTES) + varint(column.width * step)
        places.append((len(out) + step - 8, column.width, step))
        out += b"".join(tag(start + i, _FIXED64) + bytes(8) for i in range(column.width))
    return MessageLayout(bytes(out), tuple(places))


def joint_schema() -> bytes:
    """Return a schema with the names that Foxglove knows as JointStates."""
    stamp = nested(1, b"Timestamp") + _field("seconds", 1, _INT64) + _field("nanos", 2, _INT32)
    joint = nested(1, b"JointState") + _field("name", 1, _STRING)
    for number, name in enumerate(("position", "velocity", "effort"), start=2):
        joint += _field(name, number, _DOUBLE)
    both = nested(1, b"JointStates") + _field("timestamp", 1, _MESSAGE, ".google.protobuf.Timestamp")
    both += _field("joints", 2, _MESSAGE, ".foxglove.JointState", _REPEATED)
    time = "google/protobuf/timestamp.proto"
    return _descriptor(time, "google.protobuf", [stamp]) + _descriptor(
        "foxglove/joints.proto", "foxglove", [joint, both], (time,)
    )


def joint_layout(names: tuple[str, ...], values: int) -> tuple[MessageLayout, int]:
    """Return the layout of JointStates with `values` of position, velocity, effort, and where the time stands.

    The time is two stretched varints: five bytes of seconds at the offset, a tag, five bytes of nanoseconds.
    """
    stamp = tag(1, _VARINT) + varint(0, pad=5) + tag(2, _VARINT) + varint(0, pad=5)
    out = bytearray(nested(1, stamp))
    at = len(out) - len(stamp) + 1
    places = []
    for name in names:
        body = nested(1, name.encode())
        tags = [tag(number, _FIXED64) for number in range(2, 2 + values)]
        out += tag(2, _BYTES) + varint(len(body) + 9 * values) + body
        places.append((len(out) + 1, values, 9))
        out += b"".join(mark + bytes(8) for mark in tags)
    return MessageLayout(bytes(out), tuple(places)), at


def stretched(values: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return (len, 5): every value as a varint of five bytes (values below 2³⁵)."""
    digits = np.stack([values >> (7 * i) & 0x7F for i in range(5)], axis=-1)
    digits[..., :4] |= 0x80
    return digits.astype(np.uint8)
