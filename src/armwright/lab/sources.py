# SPDX-License-Identifier: Apache-2.0
"""Devices as sources of packets: connect, read whole packets, tell time and loss by the device's own counters.

One class per device: `RtdeSource`, `RealtimeSource`, `FtSource`, `ImuSource`. The calibration of an ATI Net F/T (counts
per unit, units, serial number) is read from its page ``netftapi2.xml``.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import select
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from armwright.lab.net import LabError
from armwright.lab.packets import Channel, recipe_text
from armwright.lab.wire import netft, rtde, xsens
from armwright.lab.wire.realtime import CB3_BYTES
from armwright.lab.wire.rtde import Recipe
from armwright.lab.wire.rtde_fields import OUTPUTS

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_PAGE = 1 << 16
FORCE_UNITS = {"N": 1.0, "kN": 1e3, "lbf": 4.4482216152605, "klbf": 4448.2216152605, "kgf": 9.80665, "gf": 9.80665e-3}
TORQUE_UNITS = {
    "N-m": 1.0,
    "Nm": 1.0,
    "N-mm": 1e-3,
    "kN-m": 1e3,
    "kgf-cm": 9.80665e-2,
    "lbf-in": 0.1129848290276167,
    "lbf-ft": 1.3558179483314004,
}
ASSUMED = {
    "calibration": "assumed",
    "counts_per_force": str(netft.COUNTS_PER_FORCE),
    "counts_per_torque": str(netft.COUNTS_PER_TORQUE),
    "force_unit": "N",
    "torque_unit": "N-m",
}
"""Calibration that most of these sensors have; assumed, and reported, where the page cannot be read."""
_TAGS = {
    "cfgcpf": "counts_per_force",
    "cfgcpt": "counts_per_torque",
    "scfgfu": "force_unit",
    "scfgtu": "torque_unit",
    "setserial": "serial",
    "prodname": "product",
}


def read_calibration(host: str, port: int, timeout: float) -> dict[str, str]:
    """Return facts of the sensor at an address, with its page; those of `ASSUMED`, and the reason, if it has none."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request("GET", "/netftapi2.xml")
        answer = connection.getresponse()
        page = answer.read(MOST_PAGE + 1)
        if answer.status != 200 or len(page) > MOST_PAGE:
            return {**ASSUMED, "reason": f"its page answers {answer.status} with {len(page)} bytes"}
        return calibration_of(page)
    except (OSError, http.client.HTTPException) as error:
        return {**ASSUMED, "reason": f"its page cannot be read: {error}"}
    finally:
        connection.close()


def calibration_of(page: bytes) -> dict[str, str]:
    """Return facts of a page; those of `ASSUMED`, with the reason, if it does not give them."""
    try:
        text = page.decode("utf-8")
        tree = ElementTree.fromstring(text)
    except (UnicodeDecodeError, ElementTree.ParseError, DefusedXmlException, ValueError) as error:
        return {**ASSUMED, "reason": f"its page is no XML: {error}"}
    said = {_TAGS[node.tag]: (node.text or "").strip() for node in tree.iter() if node.tag in _TAGS}
    try:
        scales({**ASSUMED, **said})
    except ValueError as error:
        return {**ASSUMED, "reason": f"its page does not tell counts and units: {error}"}
    if not {"counts_per_force", "counts_per_torque"} <= set(said):
        return {**ASSUMED, "reason": "its page has no cfgcpf and cfgcpt"}
    return {**ASSUMED, **said, "calibration": "page", "netftapi2.xml": text}


def scales(facts: Mapping[str, str]) -> tuple[float, float]:
    """Return counts per newton and per newton metre.

    Raises:
        ValueError: a unit that is not known, or counts that are not above zero.
    """
    out = []
    for what, units in (("force", FORCE_UNITS), ("torque", TORQUE_UNITS)):
        unit, counts = facts.get(f"{what}_unit", ASSUMED[f"{what}_unit"]), float(facts[f"counts_per_{what}"])
        if unit not in units or not 0.0 < counts < 1e12:
            raise ValueError(f"{counts:g} counts per {unit!r:.20}; known: {', '.join(units)}")
        out.append(counts / units[unit])
    return out[0], out[1]


FIELDS = (
    *("timestamp", "target_q", "target_qd", "target_qdd", "target_current", "target_moment"),
    *("actual_q", "actual_qd", "actual_current", "actual_TCP_pose", "actual_TCP_speed", "actual_TCP_force"),
    *("actual_tool_accelerometer", "robot_mode", "safety_mode", "runtime_state", "robot_status_bits"),
    *("safety_status_bits", "speed_scaling", "actual_digital_output_bits"),
)
NOW = getattr(socket, "MSG_DONTWAIT", 0)  # not on Windows: there a reading ends with a silence
MOST_AT_ONCE = 500  # datagrams of one reading
TIMEOUT = 0.5  # [s] of a single wait; a stop is noticed within it
FIRST_ANSWER = 3.0  # [s] for a device on a busy host: without its page the force sensor's counts would only be assumed
Item = tuple[int, int, bytes]
"""Device time [ns], counter, bytes as framed."""


class PacketSource(Protocol):
    """A device that can be opened again and again.

    Attributes:
        topic: of its channel. step: by which its counter grows.
    """

    topic: str
    step: int
    modulus: int

    def open(self) -> Channel:
        """Connect; OSError or LabError if that is not possible now."""

    def read(self) -> Iterator[Item]:
        """Yield packets that are there, after waiting for some; none after a silence; raise when the device is gone."""

    def close(self) -> None:
        """Hang up."""


class _Tcp:
    """A TCP stream."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self._sock: socket.socket | None = None
        self.buffer = bytearray()

    def connect(self) -> socket.socket:
        self.buffer.clear()
        self._sock = socket.create_connection((self.host, self.port), timeout=TIMEOUT)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._sock

    def fill(self) -> bool:
        """Wait for bytes; False after a silence."""
        assert self._sock is not None
        try:
            data = self._sock.recv(1 << 16)
        except TimeoutError:
            return False
        if not data:
            raise LabError(f"{self.host}:{self.port} hung up")
        self.buffer += data
        return True

    def close(self) -> None:
        """Hang up."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None


class RtdeSource(_Tcp):
    """RTDE output of a robot, protocol 2 (1 where the robot knows no other)."""

    topic, step, modulus = "/robot/rtde", 1, 0

    def __init__(self, host: str, fields: Sequence[str] = FIELDS, *, port: int = rtde.PORT, rate: float = 0.0) -> None:
        super().__init__(host, port)
        self._fields, self._rate = list(fields), rate
        if "timestamp" not in self._fields:
            self._fields.insert(0, "timestamp")
        self.recipe = Recipe(("timestamp",), ("DOUBLE",))
        self.version: tuple[int, ...] = ()
        self.period = 0.008
        self._at = 0

    def _ask(self, kind: int, payload: bytes = b"") -> bytes:
        assert self._sock is not None
        self._sock.sendall(rtde.packet(kind, payload))
        silences = 0
        for _ in range(1000):
            for got, body in rtde.packets(self.buffer):
                if got == kind:
                    return body
            silences += not self.fill()
            if silences * TIMEOUT >= FIRST_ANSWER:
                break
        raise LabError(f"{self.host}: no answer to RTDE request {chr(kind)!r}")

    def open(self) -> Channel:
        """Agree on version and recipe, start."""
        self.connect()
        self.protocol = 2 if self._ask(rtde.PROTOCOL, struct.pack(">H", 2)) == b"\1" else 1
        self.version = struct.unpack(">4I", self._ask(rtde.CONTROLLER))
        rate = self._rate or (500.0 if self.version[0] >= 5 else 125.0)
        self.period = 1.0 / rate
        head = struct.pack(">d", rate) if self.protocol == 2 else b""
        answer = self._ask(rtde.OUTPUT, head + ",".join(self._fields).encode())
        kinds = answer[self.protocol - 1 :].decode("ascii", errors="replace").split(",")
        missing = [n for n, k in zip(self._fields, kinds, strict=False) if k == "NOT_FOUND"]
        if missing:  # ask again without these: their absence shows what the robot cannot give
            self._fields = [name for name in self._fields if name not in missing]
            answer = self._ask(rtde.OUTPUT, head + ",".join(self._fields).encode())
            kinds = answer[self.protocol - 1 :].decode("ascii", errors="replace").split(",")
        if len(kinds) != len(self._fields) or any(
            n in OUTPUTS and OUTPUTS[n].kind != k for n, k in zip(self._fields, kinds, strict=True)
        ):
            raise LabError(f"{self.host}: refused the recipe: {','.join(kinds)[:200]}")
        self.recipe = Recipe(tuple(self._fields), tuple(kinds))
        places = [self.recipe.names.index("timestamp")]
        self._at = (
            3 + (self.protocol - 1) + Recipe(self.recipe.names[: places[0]], self.recipe.kinds[: places[0]]).codes.size
        )
        self.prepare()
        if self._ask(rtde.START) != b"\1":
            raise LabError(f"{self.host}: did not start to stream")
        facts = {"version": ".".join(map(str, self.version)), "rate": f"{rate:g}", "protocol": str(self.protocol)}
        return Channel(self.topic, "ur-rtde", recipe_text(self.recipe), facts)

    def prepare(self) -> None:
        """Do what has to be done before the stream starts: nothing, for who only listens."""

    def read(self) -> Iterator[Item]:
        """Yield data packets with their headers."""
        held = list(rtde.packets(self.buffer))  # what came together with the last answer
        if not held:
            self.fill()
            held = list(rtde.packets(self.buffer))
        for kind, body in held:
            if kind == rtde.DATA:
                whole = rtde.packet(kind, body)
                stamp = struct.unpack_from(">d", whole, self._at)[0]
                yield round(stamp * 1e9), round(stamp / self.period), whole


class RealtimeSource(_Tcp):
    """The stream of port 30003, however it is segmented: 756 bytes of 004 every 8 ms, or those of an e-Series."""

    topic, step, modulus = "/robot/realtime", 1, 0

    def __init__(self, host: str, *, port: int = 30003) -> None:
        super().__init__(host, port)

    def open(self) -> Channel:
        """Connect."""
        self.connect()
        return Channel(self.topic, "ur-realtime-756")

    def read(self) -> Iterator[Item]:
        """Yield whole packets."""
        self.fill()
        while len(self.buffer) >= 12:
            size, stamp = struct.unpack_from(">Id", self.buffer)
            if not 12 <= size <= 4096:
                raise LabError(f"{self.host}: a real-time packet of {size} bytes")
            if len(self.buffer) < size:
                return
            data = bytes(self.buffer[:size])
            del self.buffer[:size]
            yield round(stamp * 1e9), round(stamp / (0.008 if size == CB3_BYTES else 0.002)), data


class FtSource:
    """An ATI Net F/T."""

    topic, step, modulus = "/ft", 1, 1 << 32

    def __init__(self, host: str, *, port: int = netft.RDT_PORT, http_port: int = netft.HTTP_PORT) -> None:
        self._address, self._http_port = (host, port), http_port
        self._sock: socket.socket | None = None
        self._silent, self._left = 0, b""

    def open(self) -> Channel:
        """Ask for a stream; the first record shows that somebody is there. Its page tells the calibration."""
        facts = read_calibration(self._address[0], self._http_port, FIRST_ANSWER)  # first: records would wait
        self._sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._sock.settimeout(TIMEOUT)
        self._sock.connect(self._address)
        self._sock.send(netft.request(netft.START_REALTIME))
        if not select.select([self._sock], [], [], FIRST_ANSWER)[0]:
            raise LabError(f"{self._address[0]}: the force sensor does not answer")
        self._silent, self._left = 0, b""
        return Channel(self.topic, "ati-rdt", "", facts)

    def read(self) -> Iterator[Item]:
        """Yield records that have come."""
        assert self._sock is not None
        data, self._left = self._left, b""
        try:
            data = data or self._sock.recv(2048)
        except TimeoutError:
            self._silent += 1
            if self._silent > 3:
                raise LabError("the force sensor is silent") from None
            return
        for _ in range(MOST_AT_ONCE):  # a sensor that is faster than we are must not keep us from ending
            if len(data) == netft.RECORD.size:
                self._silent = 0
                sequence, internal = struct.unpack_from(">II", data)
                yield round(internal / netft.INTERNAL_RATE * 1e9), sequence, data
            try:
                data = self._sock.recv(2048, NOW)
            except (BlockingIOError, TimeoutError):
                return
        self._left = data

    def close(self) -> None:
        """Stop the stream."""
        if self._sock is not None:
            with contextlib.suppress(OSError):
                self._sock.send(netft.request(netft.STOP))
            self._sock.close()
            self._sock = None


class ImuSource:
    """An Xsens MTi on a serial line or pseudo-terminal."""

    topic, step, modulus = "/imu", 1, 1 << 16

    def __init__(self, path: str, *, rate: float = 100.0) -> None:
        self._path, self._rate = path, rate
        self._handle = -1
        self._buffer = bytearray()
        self._turns, self._last = 0, -1

    def open(self) -> Channel:
        """Open the line and ask for measurements."""
        try:
            import termios
            import tty
        except ImportError:
            raise LabError(f"{self._path}: serial lines are read on Linux and macOS only") from None
        self._handle = os.open(self._path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        tty.setraw(self._handle)
        self._buffer.clear()
        termios.tcflush(self._handle, termios.TCIFLUSH)  # what came before anybody listened has no host time
        os.write(self._handle, xsens.message(xsens.GO_TO_MEASUREMENT))
        return Channel(self.topic, "xsens-mtdata", "", {"rate": f"{self._rate:g}"})

    def read(self) -> Iterator[Item]:
        """Yield MTData messages, framed as they came."""
        if not select.select([self._handle], [], [], TIMEOUT)[0]:
            return
        data = os.read(self._handle, 1 << 16)
        if not data:
            raise LabError(f"{self._path}: closed")
        self._buffer += data
        for kind, body in xsens.messages(self._buffer):
            if kind == xsens.MT_DATA and len(body) == xsens.DATA.size:
                counter = int.from_bytes(body[-2:], "big")
                self._turns += counter < self._last
                self._last = counter
                yield round((counter + 65536 * self._turns) / self._rate * 1e9), counter, xsens.message(kind, body)

    def close(self) -> None:
        """Close the line."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def host_clock() -> tuple[int, int]:
    """Return the date and the monotonic clock at one moment [ns], to anchor one to the other."""
    return time.time_ns(), time.monotonic_ns()
