# SPDX-License-Identifier: Apache-2.0
"""ATI Net F/T: RDT over UDP (port 49152) and the configuration page over HTTP (ATI, "Network Force/Torque Sensor").

Request: 0x1234, command, count, big-endian. Record of 36 bytes: two sequence numbers, status, six integers in counts.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

RDT_PORT, HTTP_PORT = 49152, 80
REQUEST, RECORD = struct.Struct(">HHI"), struct.Struct(">III6i")
MAGIC = 0x1234
STOP, START_REALTIME, START_BUFFERED, START_MULTI, RESET_LATCH, SET_BIAS = (
    0x0000,
    0x0002,
    0x0003,
    0x0004,
    0x0041,
    0x0042,
)
COUNTS_PER_FORCE = COUNTS_PER_TORQUE = 1_000_000
INTERNAL_RATE = 7000.0
SATURATED = 0x80020000
"""Status of a record: an error (bit 31), transducer saturation (bit 17)."""
MOST_REQUEST = 4096


class Record(NamedTuple):
    """One sample: wrench in N and N m."""

    rdt_sequence: int
    ft_sequence: int
    status: int
    wrench: tuple[float, ...]


def pack(record: Record, counts_per: tuple[float, float] = (COUNTS_PER_FORCE, COUNTS_PER_TORQUE)) -> bytes:
    """Return a record as 36 bytes, in counts per newton and newton metre; what does not fit into them saturates."""
    scales = [counts_per[0]] * 3 + [counts_per[1]] * 3
    scaled = [round(value * scale) for value, scale in zip(record.wrench, scales, strict=True)]
    counts = [min(max(c, -(2**31)), 2**31 - 1) for c in scaled]
    return RECORD.pack(record.rdt_sequence & 0xFFFFFFFF, record.ft_sequence & 0xFFFFFFFF, record.status, *counts)


def unpack(data: bytes, counts: tuple[float, float] = (COUNTS_PER_FORCE, COUNTS_PER_TORQUE)) -> Record:
    """Return a record from 36 bytes; counts per newton and per newton metre."""
    rdt, ft, status, *values = RECORD.unpack(data)
    scales = [counts[0]] * 3 + [counts[1]] * 3
    return Record(rdt, ft, status, tuple(v / s for v, s in zip(values, scales, strict=True)))


def request(command: int, count: int = 0) -> bytes:
    """Return a request to the sensor."""
    return REQUEST.pack(MAGIC, command, count)


CONFIGURATION = """<?xml version="1.0"?>
<netftConfiguration><prodname>{product}</prodname><prodver>armwright lab</prodver><setserial>FT00001</setserial>
<cfgcpf>{counts[0]}</cfgcpf><cfgcpt>{counts[1]}</cfgcpt>
<scfgfu>N</scfgfu><scfgtu>N-m</scfgtu><cfgfu>2</cfgfu><cfgtu>3</cfgtu>{more}
<comrdtrate>{rate:.0f}</comrdtrate><comrdtbsiz>1</comrdtbsiz><runstat>0</runstat></netftConfiguration>
"""


def configuration(
    rate: float,
    product: str = "Ethernet Axia",
    counts: tuple[int, int] = (COUNTS_PER_FORCE, COUNTS_PER_TORQUE),
    calibration: str = "",
    ranges: tuple[float, ...] = (),
) -> bytes:
    """Return the page of a sensor that sends `rate` records per second; with its calibration and ranges, if known."""
    more = f"\n<cfgnam>{calibration}</cfgnam>" if calibration else ""
    more += f"<cfgmr>{';'.join(f'{x:g}' for x in ranges)}</cfgmr>" if ranges else ""
    return CONFIGURATION.format(rate=rate, product=product, counts=counts, more=more).encode()


class HttpConnection:
    """As much HTTP as the configuration page needs: GET, then the connection ends."""

    def __init__(self, page: bytes) -> None:
        self._page, self._answered = page, False

    def take(self, buffer: bytearray) -> bytes | None:
        """Return the answer when the request's head is complete, None before.

        Raises:
            ValueError: a head that is too long.
            EOFError: the request has been answered.
        """
        if self._answered:
            raise EOFError
        if b"\r\n\r\n" not in buffer:
            if len(buffer) > MOST_REQUEST:
                raise ValueError(f"a request of more than {MOST_REQUEST} bytes")
            return None
        self._answered = True
        line = bytes(buffer).partition(b"\r\n")[0].split(b" ")
        known = len(line) == 3 and line[0] == b"GET" and line[1].partition(b"?")[0] == b"/netftapi2.xml"
        body = self._page if known else b"not found\n"
        head = "200 OK\r\nContent-Type: text/xml" if known else "404 Not Found\r\nContent-Type: text/plain"
        return f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
