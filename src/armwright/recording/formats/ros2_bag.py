# SPDX-License-Identifier: Apache-2.0
"""ROS 2 bags: MCAP files whose messages are ``sensor_msgs/JointState`` in CDR, the wire format of ROS 2.

`write_bag` writes the joint states of a recording, `read_bag` reads those of one topic as a recording. CDR aligns every
number to its own size, counted from behind the four bytes that say its byte order; a text has its length in front, with
the zero byte at its end.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.files import replacing
from armwright.packages import need
from armwright.recording.formats.mcap_content import McapContent, McapMessage
from armwright.recording.formats.mcap_read import mapped
from armwright.recording.recording import Recording
from armwright.recording.signals import Signal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.robot.model import Robot
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

    >>> write_bag(run, "bag.mcap")  # ros2 bag play bag.mcap
    """
    file = Path(path)
    if file.suffix.lower() != ".mcap":
        raise InputError(f"{file}: a ROS 2 bag is an .mcap file")
    if len(recording) and recording.time[0] < 0.0:
        raise InputError(f"{file}: a ROS 2 bag has no times before 0, the recording begins at {recording.time[0]} s")
    with replacing(file) as draft:
        _write(recording, draft, topic)
    return file


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


JOINT_STATE = SCHEMA


UNITS = {"q": "rad", "qd": "rad/s", "tau": "N m"}
USUAL = "/joint_states"
MOST_BAG_BYTES = 8 * 2**30


class _BagMessage(NamedTuple):
    topic: str
    stamp: int
    data: bytes
    where: str


def read_bag(path: str | Path, topic: str | None = None, *, robot: Robot | None = None) -> Recording:
    """Read the joint states of a ROS 2 bag (the .mcap file) as q, qd and tau over the time since the first of them.

    Args:
        path: the file; chunks may be packed with zstd or lz4.
        topic: topic of ``sensor_msgs/JointState``; "/joint_states", or the only one, by default.
        robot: the arm. Its joints are picked out by name; without it the joints of the first message are.

    Returns:
        A `Recording`; ``settings["first_stamp_ns"]`` is the time of the first message. Messages that lack one of the
        joints (several nodes may publish on one topic) are left out, and the outcome counts them.

    >>> read_bag("bag.mcap", robot=robot)["q"]
    """
    file = Path(path)
    with mapped(file, MOST_BAG_BYTES) as data:
        messages = list(_joint_states(file, data))
    chosen = _topic(file, sorted({message.topic for message in messages}), topic)
    return _recording(file, [message for message in messages if message.topic == chosen], chosen, robot)


def _topic(path: Path, topics: list[str], wanted: str | None) -> str:
    if not topics:
        raise InputError(f"{path}: neither an Armwright recording nor a bag with messages of {JOINT_STATE} in CDR")
    if wanted is None and (USUAL in topics or len(topics) == 1):
        return USUAL if USUAL in topics else topics[0]
    if wanted in topics:
        return str(wanted)
    raise InputError(f"{path}: topic {wanted!r} is not one of its joint states; valid: {', '.join(topics)}")


def _recording(path: Path, messages: list[_BagMessage], topic: str, robot: Robot | None) -> Recording:
    names: tuple[str, ...] = tuple(joint.name for joint in robot.joints) if robot is not None else ()
    rows, missing = [], 0
    seen: set[str] = set()
    for message in messages:
        stamp, joints, values = decode(message.data, message.where)
        names = names or joints
        seen.update(joints)
        if not set(names) <= set(joints):
            missing += 1
            continue
        order = [joints.index(name) for name in names]
        filled = [array[order] if len(array) else np.full(len(names), np.nan) for array in values]
        rows.append((stamp or message.stamp, np.stack(filled)))
    if not rows:
        raise InputError(f"{path}: no message of {topic!r} has all of {', '.join(names)}; its joints: {sorted(seen)}")
    rows.sort(key=lambda row: row[0])
    stamps, table = np.array([stamp for stamp, _ in rows]), np.stack([values for _, values in rows])
    signals = {
        name: Signal(np.ascontiguousarray(table[:, k]), UNITS[name], names)
        for k, name in enumerate(FIELDS.values())
        if not np.isnan(table[:, k]).all()
    }
    outcome = f"{missing} messages without all joints were left out" if missing else ""
    settings = {"bag": path.name, "topic": topic, "first_stamp_ns": int(stamps[0])}
    return Recording((stamps - stamps[0]) * 1e-9, signals, robot=robot, settings=settings, outcome=outcome)


def _joint_states(path: Path, data: mmap.mmap) -> Iterator[_BagMessage]:
    """Yield the messages of all topics of joint states."""
    for item in McapContent(path, data):
        if not isinstance(item, McapMessage) or item.channel.schema is None:
            continue
        if item.channel.schema.name == JOINT_STATE and item.channel.encoding == "cdr":
            where = f"{item.where}, message {item.sequence}"
            yield _BagMessage(item.channel.topic, item.log_time, item.data, where)
