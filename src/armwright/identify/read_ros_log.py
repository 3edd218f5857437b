# SPDX-License-Identifier: Apache-2.0
"""Joint states in an MCAP file that is not ours: ROS 2 (CDR), Foxglove (protobuf) or JSON messages.

``effort`` is taken for the motor current: drivers of arms without torque sensors put it there. Where it is a torque,
the drive gains come out near 1.
"""

from __future__ import annotations

import json
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import ArmwrightWarning, InputError
from armwright.files import open_regular
from armwright.identify.current_log import Dropped, sound_log
from armwright.recording.formats.mcap_content import McapContent, McapMessage
from armwright.recording.formats.mcap_read import mapped

if TYPE_CHECKING:
    from armwright.identify.current_log import Log

TOPIC = "/joint_states"
MOST_LOG_BYTES = 8 * 2**30  # of a file that is read: as of a recording
State = tuple[list[str], list[float], list[float], list[float]]
"""Names, positions, speeds, efforts."""


def holds_recording(path: Path) -> bool:
    """Return whether an MCAP file is a recording of ours."""
    try:
        with open_regular(path, MOST_LOG_BYTES) as file:
            return b"armwright.head" in file.read(1 << 16)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def joint_states(path: Path, name: str) -> Log:
    """Read the ``/joint_states`` of an MCAP file; messages that cannot be decoded are dropped and reported.

    Raises:
        InputError: no such file, damaged (with the byte), or without joint states.
    """
    rows: list[list[float]] = []
    times, stamps, where = [], [], []
    dropped = []
    names: list[str] = []
    for k, message in enumerate(_messages(path)):
        here = f"message {k + 1}"
        try:
            state, stamp = _decoded(message), _stamp(message)
            names = names or state[0]
            order = [state[0].index(joint) for joint in names]
            row = [part[j] for part in state[1:] for j in order]
        except (ValueError, IndexError, KeyError, TypeError, struct.error, UnicodeDecodeError) as error:
            dropped.append(Dropped(1, here, here, f"not a whole joint state ({error})"))
            continue
        times.append(message.log_time * 1e-9)
        stamps.append(stamp)
        rows.append(row)
        where.append(here)
    if not rows:
        first = f" (first: {dropped[0]})" if dropped else ""
        raise InputError(f"{path}: no joint states with position, velocity and effort on {TOPIC}{first}")
    table = np.array(rows).reshape(len(rows), 3, len(names))
    # a stamp of Foxglove's is the device's time, better than when it was logged
    time = np.array(stamps if all(stamp > 0.0 for stamp in stamps) else times)
    signals = {"time": time - time[0], "q": table[:, 0], "qd": table[:, 1], "current": table[:, 2]}
    return sound_log(signals, lambda row: where[row], name, tuple(dropped))


def _messages(path: Path) -> list[McapMessage]:
    """Return the messages of the topic in the order of their log times; a file that was cut short is told."""
    with mapped(path, MOST_LOG_BYTES) as data:
        content = McapContent(path, data)
        found = [item for item in content if isinstance(item, McapMessage) and item.channel.topic == TOPIC]
    if not content.ended:
        told = f"{path}: cut short, the file has no end; {len(found)} messages of {TOPIC} were kept"
        warnings.warn(told, ArmwrightWarning, stacklevel=4)
    return sorted(found, key=lambda message: message.log_time)


def _stamp(message: McapMessage) -> float:
    """Return the time in a JointStates message of Foxglove's [s]; 0 where there is none."""
    schema = message.channel.schema
    if schema is None or schema.name != "foxglove.JointStates":
        return 0.0
    content = next((part for number, part in _fields(message.data) if number == 1), b"")
    out, at = {1: 0, 2: 0}, 0
    while at < len(content):
        tag, at = _varint(content, at)
        out[tag >> 3], at = _varint(content, at)
    return out[1] + 1e-9 * out[2]


def _decoded(message: McapMessage) -> State:
    schema = message.channel.schema
    name = schema.name if schema is not None else ""
    if name == "foxglove.JointStates":
        return _protobuf(message.data)
    if schema is None or schema.encoding in ("jsonschema", "json", ""):
        told = json.loads(message.data)
        return ([str(x) for x in told["name"]], *([float(x) for x in told[k]] for k in _PARTS))  # type: ignore[return-value]
    return _cdr(message.data)


_PARTS = ("position", "velocity", "effort")


def _cdr(data: bytes) -> State:
    """Decode sensor_msgs/msg/JointState: stamp, frame, names, positions, velocities, efforts."""
    order = "<" if data[1] & 1 else ">"
    at = 4 + 8

    def count() -> int:
        nonlocal at
        at += -at % 4
        (value,) = struct.unpack_from(order + "I", data, at)
        at += 4
        return int(value)

    def text() -> str:
        nonlocal at
        size = count()
        at += size
        if at > len(data):
            raise ValueError("a text runs past its end")
        return data[at - size : at].rstrip(b"\0").decode()

    text()
    names = [text() for _ in range(count())]
    parts = []
    for _ in _PARTS:
        size = count()
        if size:
            at += -(at - 4) % 8  # doubles are aligned relative to the end of the encapsulation
        parts.append(list(struct.unpack_from(f"{order}{size}d", data, at)))
        at += 8 * size
    return names, parts[0], parts[1], parts[2]


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number, content) of the length-delimited and 64-bit fields of a protobuf message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            _, at = _varint(data, at)
            continue
        if kind not in (1, 2, 5):
            raise ValueError(f"protobuf wire type {kind}")
        size, at = _varint(data, at) if kind == 2 else ((8, at) if kind == 1 else (4, at))
        if at + size > len(data):
            raise ValueError("a field runs past its end")
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if not byte & 0x80:
            return value, at
        shift += 7


def _protobuf(data: bytes) -> State:
    names, parts = [], ([], [], [])  # type: ignore[var-annotated]
    for number, joint in _fields(data):
        if number != 2:
            continue
        found = dict(_fields(joint))
        names.append(found[1].decode())
        for k, part in enumerate(parts, start=2):
            part.append(struct.unpack("<d", found[k])[0])
    return names, *parts
