# SPDX-License-Identifier: Apache-2.0
"""Messages of the primary port 30001: what the controller says of its own accord, and who it is.

See Universal Robots, "Remote control via TCP/IP: primary and secondary client interface". A frame is big-endian int32
size (itself included), uint8 20, uint64 time [µs], int8 source, uint8 type, body. Texts have no length of their own:
they go on to the end of the frame.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from armwright.lab.controller.controller_messages import (
    POPUP_LOOKS,
    VALUE_KINDS,
    ControllerMessage,
    ErrorCodeMessage,
    KeyMessage,
    LabelMessage,
    PopupMessage,
    RequestValueMessage,
    RuntimeExceptionMessage,
    SafetyModeMessage,
    TextMessage,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ROBOT_MESSAGE = 20
HEAD = struct.Struct(">iBQbB")
SOURCE = -1  # of all messages: the controller itself
MOST_MESSAGE_TEXT = 4096  # bytes of a text that are sent
PROJECT = "URControl"


def _text(text: str, most: int = MOST_MESSAGE_TEXT) -> bytes:
    return text.encode("utf-8", errors="replace")[:most]


def _titled(title: str, text: str) -> bytes:
    head = _text(title, 255)
    return bytes([len(head)]) + head + _text(text)


def _popup(m: PopupMessage) -> bytes:
    looks = [m.look == name for name in POPUP_LOOKS[1:]]
    return struct.pack(">IB???", m.number, 0, *looks, m.blocking) + _titled(m.title, m.text)


LAYOUTS: dict[type[ControllerMessage], tuple[int, Callable[..., bytes]]] = {
    TextMessage: (0, lambda m: _text(m.text)),
    LabelMessage: (1, lambda m: struct.pack(">i", m.number) + _text(m.text)),
    PopupMessage: (2, _popup),
    SafetyModeMessage: (5, lambda m: struct.pack(">iiBII", 0, 0, m.mode, 0, 0)),
    ErrorCodeMessage: (
        6,
        lambda m: struct.pack(">iiiII", m.code, m.argument, m.level, 0, 0) + _text(m.text),
    ),
    KeyMessage: (7, lambda m: struct.pack(">ii", 0, 0) + _titled(m.title, m.text)),
    RequestValueMessage: (
        9,
        lambda m: struct.pack(">II", m.number, VALUE_KINDS.index(m.kind)) + _text(m.text),
    ),
    RuntimeExceptionMessage: (10, lambda m: struct.pack(">ii", m.line, m.column) + _text(m.text)),
}
"""Record → type of the message, and its body."""
VERSION = 3


def _framed(kind: int, time: float, body: bytes) -> bytes:
    return HEAD.pack(HEAD.size + len(body), ROBOT_MESSAGE, round(time * 1e6), SOURCE, kind) + body


def message(record: ControllerMessage, time: float) -> bytes:
    """Return what is sent for a record, said at a controller time [s]."""
    kind, body = LAYOUTS[type(record)]
    return _framed(kind, time, body(record))


def version_message(version: tuple[int, int, int, int], date: str, time: float) -> bytes:
    """Return the message that begins a connection: name of the software, its four numbers, the date of its build."""
    major, minor, bugfix, build = version
    name = PROJECT.encode()
    body = bytes([len(name)]) + name + struct.pack(">BBii", major, minor, bugfix, build) + date.encode("ascii")
    return _framed(VERSION, time, body)
