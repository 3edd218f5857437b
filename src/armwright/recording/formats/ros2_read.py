# SPDX-License-Identifier: Apache-2.0
"""Reading ROS 2 bags (MCAP): the joint states of one topic as a recording."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.recording.formats import meta
from armwright.recording.formats.mcap_read import packed_chunk, unpacked
from armwright.recording.formats.mcap_records import CHANNEL, CHUNK, MAGIC, MESSAGE, SCHEMA, records
from armwright.recording.formats.ros2 import FIELDS, decode
from armwright.recording.formats.ros2 import SCHEMA as JOINT_STATE
from armwright.recording.recording import Recording
from armwright.recording.signals import Signal
from armwright.regular_file import open_regular

if TYPE_CHECKING:
    from armwright.robot.model import Robot

UNITS = {"q": "rad", "qd": "rad/s", "tau": "N m"}
USUAL = "/joint_states"
MOST = 8 * 2**30


class _Message(NamedTuple):
    topic: str
    stamp: int
    data: bytes
    where: str


def read_bag(path: str | Path, topic: str | None = None, *, robot: Robot | None = None) -> Recording:
    """Read the joint states of a ROS 2 bag (the .mcap file) as q, qd and tau over the time since the first of them.

    Args:
        path: the file; chunks may be packed with zstd or lz4.
        topic: of ``sensor_msgs/JointState``; "/joint_states", or the only one, by default.
        robot: the arm. Its joints are picked out by name; without it the joints of the first message are.

    Returns:
        A `Recording`; ``settings["first_stamp_ns"]`` is the time of the first message. Messages that lack one of the
        joints (several nodes may publish on one topic) are left out, and the outcome counts them.
    """
    file = Path(path)
    try:
        with open_regular(file, MOST) as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                raise InputError(f"{file}, byte 0: not an MCAP file (its first eight bytes are not the magic ones)")
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
                messages = list(_joint_states(file, data))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from error
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


def _recording(path: Path, messages: list[_Message], topic: str, robot: Robot | None) -> Recording:
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


def _joint_states(path: Path, data: Any) -> Iterator[_Message]:
    """Yield the messages of all topics of joint states."""
    schemas: dict[int, str] = {}
    topics: dict[int, str] = {}
    left = max(64 * 2**20, 64 * len(data))
    for at, kind, length in records(path, data):
        where, body = f"{path}, byte {at}", data[at + 9 : at + 9 + length]
        if kind == CHUNK:
            chunk = packed_chunk(body, where)
            left -= chunk.uncompressed_size
            if left < 0:
                raise InputError(f"{where}: chunk of {chunk.uncompressed_size} bytes; {meta.TOO_MUCH}")
            inner = _inner(where, unpacked(chunk, where))
        else:
            inner = iter([(kind, body)])
        for sort, content in inner:
            try:
                if sort == SCHEMA:
                    number, name = _texts(content, 2, 1)
                    schemas[number] = name[0]
                elif sort == CHANNEL:
                    number, (topic, encoding) = _texts(content, 4, 2)
                    if schemas.get(struct.unpack_from("<H", content, 2)[0]) == JOINT_STATE and encoding == "cdr":
                        topics[number] = topic
                elif sort == MESSAGE:
                    channel, sequence, stamp = struct.unpack_from("<HIQ", content)
                    if channel in topics:
                        yield _Message(topics[channel], stamp, content[22:], f"{where}, message {sequence}")
            except (struct.error, UnicodeDecodeError) as error:
                raise InputError(f"{where}: damaged record of kind {sort} ({error})") from None


def _texts(content: bytes, at: int, count: int) -> tuple[int, list[str]]:
    """Return the number at the beginning of a record, and the texts from `at` on."""
    out = []
    for _ in range(count):
        (size,) = struct.unpack_from("<I", content, at)
        out.append(content[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return struct.unpack_from("<H", content)[0], out


def _inner(where: str, data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 9 <= len(data):
        kind, length = struct.unpack_from("<BQ", data, at)
        if at + 9 + length > len(data):
            raise InputError(f"{where}: damaged chunk, a record of {length} bytes runs past its end")
        yield kind, data[at + 9 : at + 9 + length]
        at += 9 + length
