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
TIMESTAMP, TIME_FILE = ".google.protobuf.Timestamp", "google/protobuf/timestamp.proto"
DOUBLE_TYPE, INT64_TYPE, INT32_TYPE, FIXED32_TYPE, BOOL_TYPE, STRING_TYPE, MESSAGE_TYPE = (  # FieldDescriptorProto.Type
    1,
    3,
    5,
    7,
    8,
    9,
    11,
)  # FieldDescriptorProto.Type
OPTIONAL, REPEATED = 1, 3
FIXED64, BYTES, VARINT = 1, 2, 0  # wire types
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
    return tag(number, BYTES) + varint(len(content)) + content


def field_names(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return valid, distinct protobuf names for labels."""
    out: list[str] = []
    for i, label in enumerate(labels):
        name = re.sub(r"\W", "_", label, flags=re.ASCII)
        name = name if re.match(r"[A-Za-z]", name) else f"c{name}"
        out.append(name if name.lower() not in {other.lower() for other in out} else f"{name}_{i}")
    return tuple(out)


def schema_field(name: str, number: int, kind: int, type_name: str = "", label: int = OPTIONAL) -> bytes:
    """Return a field of a message in a schema; `type_name` is that of a nested message."""
    body = nested(1, name.encode()) + tag(3, VARINT) + varint(number) + tag(4, VARINT) + varint(label)
    body += tag(5, VARINT) + varint(kind)
    return nested(2, body + (nested(6, type_name.encode()) if type_name else b""))


def schema_file(file: str, package: str, messages: list[bytes], imports: tuple[str, ...] = ()) -> bytes:
    """Return a schema: the FileDescriptorProto of one file, as part of a FileDescriptorSet."""
    body = nested(1, file.encode()) + nested(2, package.encode()) + b"".join(nested(3, i.encode()) for i in imports)
    body += b"".join(nested(4, message) for message in messages) + nested(12, b"proto3")
    return nested(1, body)


def _first(width: int) -> int:
    """Field number of a group's first component: all tags of a group have the same length."""
    return 1 if width <= _ONE_BYTE_FIELDS else _ONE_BYTE_FIELDS + 1


def sample_schema(columns: tuple[Column, ...]) -> bytes:
    """Return the schema of ``Recording {double t; Q q {double shoulder; ...}; ...; double energy; ...}``."""
    body, inner = schema_field("t", 1, DOUBLE_TYPE), b""
    for number, column in enumerate(columns, start=2):
        if not column.shape:
            body += schema_field(column.name, number, DOUBLE_TYPE)
            continue
        name = f"M_{column.name}"
        labels = field_names(column.labels or tuple(f"c{i}" for i in range(column.width)))
        start = _first(column.width)
        fields = b"".join(schema_field(label, start + i, DOUBLE_TYPE) for i, label in enumerate(labels))
        inner += nested(3, nested(1, name.encode()) + fields)
        body += schema_field(column.name, number, MESSAGE_TYPE, f".{SCHEMA_NAME}.{name}")
    return schema_file("armwright/recording.proto", "armwright", [nested(1, b"Recording") + body + inner])


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
    out = bytearray(tag(1, FIXED64))
    places = [(len(out), 1, 8)]
    out += bytes(8)
    for number, column in enumerate(columns, start=2):
        if not column.shape:
            out += tag(number, FIXED64)
            places.append((len(out), 1, 8))
            out += bytes(8)
            continue
        start = _first(column.width)
        step = len(tag(start, FIXED64)) + 8
        out += tag(number, BYTES) + varint(column.width * step)
        places.append((len(out) + step - 8, column.width, step))
        out += b"".join(tag(start + i, FIXED64) + bytes(8) for i in range(column.width))
    return MessageLayout(bytes(out), tuple(places))


def time_schema() -> bytes:
    """Return the schema of the well-known type `TIMESTAMP`, which the others import as `TIME_FILE`."""
    stamp = nested(1, b"Timestamp") + schema_field("seconds", 1, INT64_TYPE) + schema_field("nanos", 2, INT32_TYPE)
    return schema_file(TIME_FILE, "google.protobuf", [stamp])


def joint_schema() -> bytes:
    """Return a schema with the names that Foxglove knows as JointStates."""
    joint = nested(1, b"JointState") + schema_field("name", 1, STRING_TYPE)
    for number, name in enumerate(("position", "velocity", "effort"), start=2):
        joint += schema_field(name, number, DOUBLE_TYPE)
    both = nested(1, b"JointStates") + schema_field("timestamp", 1, MESSAGE_TYPE, TIMESTAMP)
    both += schema_field("joints", 2, MESSAGE_TYPE, ".foxglove.JointState", REPEATED)
    return time_schema() + schema_file("foxglove/joints.proto", "foxglove", [joint, both], (TIME_FILE,))


STRETCHED_STAMP = tag(1, VARINT) + varint(0, pad=5) + tag(2, VARINT) + varint(0, pad=5)
"""A time of fixed length: a tag, five bytes of seconds, a tag, five bytes of nanoseconds."""


def joint_layout(names: tuple[str, ...], values: int) -> tuple[MessageLayout, int]:
    """Return the layout of JointStates with `values` of position, velocity, effort, and where the time stands.

    The time is a `STRETCHED_STAMP`, whose seconds begin at the offset.
    """
    out = bytearray(nested(1, STRETCHED_STAMP))
    at = len(out) - len(STRETCHED_STAMP) + 1
    places = []
    for name in names:
        body = nested(1, name.encode())
        tags = [tag(number, FIXED64) for number in range(2, 2 + values)]
        out += tag(2, BYTES) + varint(len(body) + 9 * values) + body
        places.append((len(out) + 1, values, 9))
        out += b"".join(mark + bytes(8) for mark in tags)
    return MessageLayout(bytes(out), tuple(places)), at


def stretched(values: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return (len, 5): every value as a varint of five bytes (values below 2³⁵)."""
    digits = np.stack([values >> (7 * i) & 0x7F for i in range(5)], axis=-1)
    digits[..., :4] |= 0x80
    return digits.astype(np.uint8)
