# SPDX-License-Identifier: Apache-2.0
"""ROS 2 bags: MCAP files whose messages are ``sensor_msgs/JointState`` in CDR, the wire format of ROS 2.

CDR aligns every number to its own size, counted from behind the four bytes that say its byte order; a text has its
length in front, with the zero byte at its end.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.optional import need
from armwright.recording.formats import written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.recording.recording import Recording
    from armwright.types import Array

SCHEMA = "sensor_msgs/msg/JointState"
DEFINITION = """std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
FIELDS = {"position": "q", "velocity": "qd", "effort": "tau"}
_LITTLE_ENDIAN = b"\x00\x01\x00\x00"
_MOST = 10_000  # joints of one message; a larger number is damage


def encode(stamp: int, names: Sequence[str], values: Sequence[Array]) -> bytes:
    """Return one message in CDR: its time [ns], joint names, and position, velocity and effort, each (n,) or (0,)."""
    out = bytearray(struct.pack("<iI", *divmod(stamp, 10**9)))
    _text(out, "")  # frame_id
    _pad(out, 4)
    out += struct.pack("<I", len(names))
    for name in names:
        _text(out, name)
    for array in values:
        _pad(out, 4)
        out += struct.pack("<I", len(array))
        if len(array):
            _pad(out, 8)
            out += np.asarray(array, dtype="<f8").tobytes()
    return _LITTLE_ENDIAN + bytes(out)


def _pad(out: bytearray, size: int) -> None:
    out += bytes(-len(out) % size)


def _text(out: bytearray, text: str) -> None:
    _pad(out, 4)
    content = text.encode() + b"\0"
    out += struct.pack("<I", len(content)) + content


class _Cursor:
    """Where reading stands in one message; every length is checked before it is believed."""

    def __init__(self, message: bytes, where: str) -> None:
        if len(message) < 4 or message[0] or message[1] > 1:
            raise InputError(f"{where}: not a CDR message (its first bytes are {message[:4].hex(' ')})")
        self.order = "<" if message[1] else ">"
        self.body, self.at, self.where = message[4:], 0, where

    def number(self, kind: str) -> int:
        size = struct.calcsize(kind)
        start = self.at + -self.at % size
        self._room(start, size)
        self.at = start + size
        return int(struct.unpack_from(self.order + kind, self.body, start)[0])

    def text(self) -> str:
        size = self.number("I")
        self._room(self.at, size)
        self.at += size
        try:
            return self.body[self.at - size : self.at].rstrip(b"\0").decode()
        except UnicodeDecodeError:
            raise InputError(f"{self.where}: a text that is not UTF-8") from None

    def count(self) -> int:
        count = self.number("I")
        if count > _MOST:
            raise InputError(f"{self.where}: damaged, {count} joints in one message")
        return count

    def doubles(self) -> Array:
        count = self.count()
        start = self.at + (-self.at % 8 if count else 0)
        self._room(start, 8 * count)
        self.at = start + 8 * count
        return np.frombuffer(self.body, f"{self.order}f8", count, start).astype(np.float64)

    def _room(self, start: int, size: int) -> None:
        if start + size > len(self.body):
            raise InputError(f"{self.where}: damaged, the message ends after {len(self.body) + 4} bytes")


def decode(message: bytes, where: str) -> tuple[int, tuple[str, ...], tuple[Array, Array, Array]]:
    """Return time [ns], names, and position, velocity, effort of one message; an `InputError` names `where`."""
    cursor = _Cursor(message, where)
    stamp = cursor.number("i") * 10**9 + cursor.number("I")
    cursor.text()  # frame_id
    names = tuple(cursor.text() for _ in range(cursor.count()))
    values = (cursor.doubles(), cursor.doubles(), cursor.doubles())
    for field, array in zip(FIELDS, values, strict=True):
        if len(array) not in (0, len(names)):
            raise InputError(f"{where}: {len(array)} numbers of {field} for {len(names)} joints")
    return stamp, names, values


@names_culprit
def write_bag(recording: Recording, path: str | Path, topic: str = "/joint_states") -> Path:
    """Write q, qd and tau of a recording, as far as it has them, as a ROS 2 bag of one topic; return the path.

    ``ros2 bag play FILE.mcap`` plays it. An existing file is replaced at once, when the new one is complete.
    """
    file = Path(path)
    if file.suffix.lower() != ".mcap":
        raise InputError(f"{file}: a ROS 2 bag is an .mcap file")
    if len(recording) and recording.time[0] < 0.0:
        raise InputError(f"{file}: a ROS 2 bag has no times before 0, the recording begins at {recording.time[0]} s")
    return written(file, lambda draft: _write(recording, draft, topic))


def _write(recording: Recording, path: Path, topic: str) -> None:
    writer = need("mcap.writer", "log", "writing a ROS 2 bag")
    names = recording.labels("q")
    blocks = [recording[name] if name in recording else np.empty((len(recording), 0)) for name in FIELDS.values()]
    with path.open("wb") as stream:
        out: Any = writer.Writer(stream)
        out.start(profile="ros2", library="armwright")
        channel = out.register_channel(topic, "cdr", out.register_schema(SCHEMA, "ros2msg", DEFINITION.encode()))
        for k, stamp in enumerate(np.round(recording.time * 1e9).astype(np.int64).tolist()):
            data = encode(stamp, names, [block[k] for block in blocks])
            out.add_message(channel, log_time=stamp, publish_time=stamp, sequence=k, data=data)
        out.finish()
