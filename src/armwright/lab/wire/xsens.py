# SPDX-License-Identifier: Apache-2.0
"""Xsens MTi, MTComm protocol: FA FF, message, length, data, checksum (MT Low-Level Communication, legacy MTi).

Output mode "calibrated" (acceleration, rate of turn, field: nine floats), with the sample counter of 16 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

PREAMBLE, BUS = 0xFA, 0xFF
GO_TO_CONFIG, GO_TO_MEASUREMENT, MT_DATA, ERROR = 0x30, 0x10, 0x32, 0x42
REQUEST_ID, REQUEST_FIRMWARE, RESET, SET_PERIOD, OUTPUT_MODE, OUTPUT_SETTINGS = 0x00, 0x12, 0x40, 0x04, 0xD0, 0xD2
CALIBRATED, SAMPLE_COUNTER = 0x0002, 0x00000001
DATA = struct.Struct(">9fH")
DEVICE_ID = 0x00350001
MOST_BUFFER = 1 << 16
CLOCK = 115200  # ticks per second in which the sampling period is set


class ImuSample(NamedTuple):
    """Specific force [m/s²], rate of turn [rad/s], magnetic field [a. u.], counter."""

    acceleration: tuple[float, ...]
    rate: tuple[float, ...]
    field: tuple[float, ...]
    counter: int


def message(kind: int, data: bytes = b"") -> bytes:
    """Frame up to 254 bytes; all bytes after the preamble sum to 0 modulo 256."""
    body = bytes([BUS, kind, len(data)]) + data
    return bytes([PREAMBLE]) + body + bytes([-sum(body) & 0xFF])


def messages(buffer: bytearray) -> Iterator[tuple[int, bytes]]:
    """Take whole, sound messages from a buffer; bytes that belong to none are skipped."""
    while True:
        start = buffer.find(PREAMBLE)
        if start < 0:
            buffer.clear()
            return
        del buffer[:start]
        if len(buffer) < 4:
            return
        if buffer[1] != BUS or buffer[3] == 255:
            del buffer[:1]
            continue
        end = 5 + buffer[3]
        if len(buffer) < end:
            return
        if sum(buffer[1:end]) & 0xFF:
            del buffer[:1]
            continue
        kind, data = buffer[2], bytes(buffer[4 : end - 1])
        del buffer[:end]
        yield kind, data


def pack(sample: ImuSample) -> bytes:
    """Return an MTData message."""
    return message(MT_DATA, DATA.pack(*sample.acceleration, *sample.rate, *sample.field, sample.counter & 0xFFFF))


def unpack(data: bytes) -> ImuSample:
    """Return a sample from the data of an MTData message."""
    *numbers, counter = DATA.unpack(data)
    return ImuSample(tuple(numbers[:3]), tuple(numbers[3:6]), tuple(numbers[6:]), counter)


class Device:
    """The sensor's side: configuration and measurement, as a real one changes between them.

    Attributes:
        measuring: whether it streams. period: of its samples [s].
    """

    def __init__(self, period: float) -> None:
        self._buffer, self.measuring, self.period = bytearray(), True, period

    def receive(self, data: bytes) -> bytes:
        """Return the answers to what has arrived."""
        self._buffer += data
        if len(self._buffer) > MOST_BUFFER:
            del self._buffer[:-MOST_BUFFER]
        return b"".join(self._answer(kind, content) for kind, content in messages(self._buffer))

    def _answer(self, kind: int, data: bytes) -> bytes:
        if kind in (GO_TO_CONFIG, GO_TO_MEASUREMENT):
            self.measuring = kind == GO_TO_MEASUREMENT
            return message(kind + 1)
        if self.measuring:
            return b""  # nothing else is heard while it measures
        if kind == REQUEST_ID:
            return message(kind + 1, DEVICE_ID.to_bytes(4, "big"))
        if kind == REQUEST_FIRMWARE:
            return message(kind + 1, bytes([2, 8, 1]))
        if kind == RESET:
            self.measuring = True
            return message(kind + 1)
        if kind == SET_PERIOD:
            if len(data) != 2:
                return message(kind + 1, round(self.period * CLOCK).to_bytes(2, "big"))
            self.period = max(int.from_bytes(data, "big"), 225) / CLOCK  # 512 Hz at most
            return message(kind + 1)
        if kind == OUTPUT_MODE:
            return message(kind + 1, b"" if data else CALIBRATED.to_bytes(2, "big"))
        if kind == OUTPUT_SETTINGS:
            return message(kind + 1, b"" if data else SAMPLE_COUNTER.to_bytes(4, "big"))
        return message(ERROR, bytes([4])) if kind % 2 else message(kind + 1)
