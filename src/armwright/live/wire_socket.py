# SPDX-License-Identifier: Apache-2.0
"""`WireSocket`: one connection to a controller, samples in and targets out, for the one thread that drives an arm.

A sample is a plain tuple of numbers, unpacked by one struct. Whatever has come is taken at once; the caller feels every
sample and answers only the last.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from armwright.lab.net import LabError
from armwright.lab.sources import RtdeSource
from armwright.lab.wire import rtde
from armwright.lab.wire.rtde import BrokenStreamError
from armwright.live.wire_script import BEAT, ORDER, STATE, TARGET

JOINTS = 6
SAMPLE_FIELDS = (
    *("timestamp", "actual_q", "actual_qd", "actual_current", "target_q", "speed_scaling", "target_speed_fraction"),
    *("robot_mode", "safety_mode", "runtime_state", f"output_int_register_{STATE}", "actual_digital_input_bits"),
    *("target_current", "target_moment"),
)
INPUT_FIELDS = (
    *(f"input_double_register_{TARGET + j}" for j in range(JOINTS)),
    f"input_int_register_{BEAT}",
    f"input_int_register_{ORDER}",
)
_NUMBERS = struct.Struct(">25d2d2iIiQ12d")
_INPUTS = struct.Struct(">HBB6d2i")
COMPLAINT = 1  # level of a text message, and below: exception and error; warnings and information are ignored
UPLOAD_PATIENCE = 5.0  # [s] for the controller to take a connection and the script


class WireSample(NamedTuple):
    """One sample; the first 25 numbers (stamp, q, qd, current, target_q) as a tuple, in rad, rad/s, A."""

    numbers: tuple[float, ...]
    scaling: float  # speed_scaling × target_speed_fraction as the controller tells them
    fraction: float
    robot_mode: int
    safety_mode: int
    runtime: int
    state: int
    inputs: int
    targets: tuple[float, ...]  # the controller's currents [A] and torques [N m] of all joints

    @property
    def stamp(self) -> float:
        """Return the device's time [s]."""
        return self.numbers[0]


def _sample(v: tuple[Any, ...]) -> WireSample:
    scaling, fraction, mode, safety, runtime, state, inputs = v[25:32]
    return WireSample(v[:25], scaling, fraction, mode, safety, runtime, state, inputs, v[32:])


class WireSocket(RtdeSource):
    """RTDE out and in on one socket.

    Attributes:
        sent: bytes of inputs that were sent. script_port: where the script is uploaded.
    """

    def __init__(self, host: str, *, port: int = rtde.PORT, script_port: int = 30002) -> None:
        super().__init__(host, SAMPLE_FIELDS, port=port)
        self.script_port, self.sent = script_port, 0
        self._number = 0

    def connect_all(self) -> None:
        """Agree on both recipes and start the stream.

        Raises:
            LabError: nobody answers, fields are missing, or another client has our registers.
        """
        try:
            self.open()
        except (OSError, BrokenStreamError) as error:
            self.close()
            raise LabError(f"{self.host}:{self.port}: cannot connect: {error}") from error
        except LabError:
            self.close()
            raise
        if self.protocol != 2:
            self.close()
            raise LabError(f"{self.host}: speaks RTDE 1 only; the controller's software is too old (CB3 from 3.9)")
        missing = [name for name in SAMPLE_FIELDS if name not in self.recipe.names]
        if missing:
            self.close()
            raise LabError(
                f"{self.host}: the controller does not publish {', '.join(missing)}; CB3 from 3.9, e-Series from 5.3 do"
            )

    def prepare(self) -> None:
        """Claim our inputs before the stream starts."""
        answer = self._ask(rtde.INPUT, ",".join(INPUT_FIELDS).encode())
        kinds = answer[1:].decode("ascii", errors="replace").split(",")
        if "IN_USE" in kinds:
            raise LabError(f"{self.host}: another client writes input registers {TARGET} and on: end it")
        if not answer[0]:
            raise LabError(f"{self.host}: the controller does not take our inputs: {','.join(kinds)[:200]}")
        self._number = answer[0]

    def samples(self, seconds: float) -> list[WireSample]:
        """Wait at most so long for samples; return all that have come, oldest first.

        Raises:
            LabError: the controller is gone, or complains: what we send is not what arrives.
        """
        sock, out = self._sock, list[WireSample]()
        if sock is None:
            raise LabError(f"{self.host}:{self.port}: not connected")
        until = time.monotonic() + max(seconds, 0.0)
        while not out:  # part of a sample, or something else, is none
            try:
                if not select.select([sock], [], [], max(0.0, until - time.monotonic()))[0]:
                    break
                data = sock.recv(1 << 18)
            except OSError as error:
                raise self._gone(error) from error
            if not data:
                raise self._gone("it hung up")
            self.buffer += data
            try:
                for kind, body in rtde.packets(self.buffer):
                    if kind == rtde.DATA and len(body) == 1 + _NUMBERS.size:
                        out.append(_sample(_NUMBERS.unpack_from(body, 1)))
                    elif kind == rtde.TEXT and (said := rtde.message_of(body))[1] <= COMPLAINT:
                        raise LabError(f"{self.host}:{self.port}: the controller complains: {said[0]}")
            except BrokenStreamError as error:
                raise self._gone(error) from error
        return out

    def _gone(self, why: object) -> LabError:
        return LabError(f"{self.host}:{self.port}: the controller is gone: {why}")

    def send(self, target: list[float], beat: int, order: int) -> None:
        """Write target (6,) [rad], heartbeat and order.

        Raises:
            LabError: the controller is gone.
        """
        sock = self._sock
        if sock is None:
            raise LabError(f"{self.host}:{self.port}: not connected")
        packet = _INPUTS.pack(_INPUTS.size, rtde.DATA, self._number, *target, beat, order)
        try:
            sock.sendall(packet)
        except OSError as error:
            raise self._gone(error) from error
        self.sent += len(packet)

    @contextlib.contextmanager
    def uploading(self, text: str) -> Iterator[None]:
        """Send a script to the controller, which starts it in place of whatever runs; hang up afterwards.

        A controller may drop a text whose sender leaves before the controller has come to read it: stay until it runs.

        Raises:
            LabError: it cannot be sent.
        """
        try:
            sock = socket.create_connection((self.host, self.script_port), timeout=UPLOAD_PATIENCE)
        except OSError as error:
            raise self._unsent(error) from error
        with sock:
            try:
                sock.sendall(text.encode() + b"\n")
            except OSError as error:
                raise self._unsent(error) from error
            yield

    def _unsent(self, why: object) -> LabError:
        return LabError(f"{self.host}:{self.script_port}: the script cannot be sent: {why}")
