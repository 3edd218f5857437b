# SPDX-License-Identifier: Apache-2.0
"""`WireEar`: a robot on the wire, only listened to. It sends the RTDE subscription and then never another byte.

Every sample that comes is handed over, in order. What a controller does not publish is left out, except what a
listener cannot do without.
"""

from __future__ import annotations

import select
import struct
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.lab.net import LabError
from armwright.lab.sources import RtdeSource
from armwright.lab.wire import rtde
from armwright.lab.wire.rtde import BrokenStreamError

if TYPE_CHECKING:
    from armwright.types import Array

VECTORS = ("actual_q", "actual_qd", "actual_current", "target_q")
MODES = ("robot_mode", "safety_mode", "runtime_state", "speed_scaling")
HEARD_FIELDS = ("timestamp", *VECTORS, *MODES)
ROBOT_MODES = {
    -1: "no controller",
    0: "disconnected",
    1: "confirm safety",
    2: "booting",
    3: "power off",
    4: "power on",
    5: "idle",
    6: "backdrive",
    7: "running",
    8: "updating firmware",
}
SAFETY_MODES = {
    1: "normal",
    2: "reduced",
    3: "protective stop",
    4: "recovery",
    5: "safeguard stop",
    6: "system emergency stop",
    7: "robot emergency stop",
    8: "violation",
    9: "fault",
}


class HeardSample(NamedTuple):
    """One sample: device stamp [s]; q, qd, current, target_q (6,) [rad, rad/s, A, rad]; modes; monotonic arrival [s].

    Modes are −1 and `scaling` 1 where the controller does not publish them.
    """

    stamp: float
    q: Array
    qd: Array
    current: Array
    target_q: Array
    robot_mode: int
    safety_mode: int
    runtime: int
    scaling: float
    arrived: float

    @property
    def modes(self) -> str:
        """Return robot and safety mode in words."""
        robot = ROBOT_MODES.get(self.robot_mode, f"robot mode {self.robot_mode}")
        safety = SAFETY_MODES.get(self.safety_mode, f"safety mode {self.safety_mode}")
        return f"{robot}, {safety}"


class WireEar(RtdeSource):
    """An RTDE subscription, and nothing else.

    Attributes:
        sent: bytes that were sent, all of them before `connect` returned.
    """

    def __init__(self, host: str, *, port: int = rtde.PORT, rate: float = 0.0) -> None:
        """Say where; nothing is dialled before `connect_robot`."""
        super().__init__(host, HEARD_FIELDS, port=port, rate=rate)
        self.sent = 0
        self._codes = struct.Struct("")
        self._places = dict[str, int]()

    @property
    def address(self) -> str:
        """Return where the robot is, for messages."""
        return f"{self.host}:{self.port}"

    def connect_robot(self) -> None:
        """Dial and subscribe.

        Raises:
            LabError: nobody answers there, or the controller does not publish what a listener needs.
        """
        try:
            self.open()
        except (OSError, BrokenStreamError, struct.error) as error:
            self.close()
            raise LabError(f"{self.address}: cannot connect: {error}") from error
        except LabError:
            self.close()
            raise
        missing = [name for name in ("timestamp", *VECTORS) if name not in self.recipe.names]
        if missing:
            self.close()
            raise LabError(f"{self.address}: does not publish {', '.join(missing)}; a UR from software 3.0 on does")
        self._codes = self.recipe.codes
        self._places, at = {}, 0
        for name, kind in zip(self.recipe.names, self.recipe.kinds, strict=True):
            self._places[name] = at
            at += rtde.SIZES[kind][1]

    def _ask(self, kind: int, payload: bytes = b"") -> bytes:
        self.sent += len(rtde.packet(kind, payload))
        return super()._ask(kind, payload)

    def heard(self, seconds: float) -> list[HeardSample]:
        """Wait at most so long for samples; return all that have come whole, oldest first.

        Raises:
            LabError: the robot is gone, or sends what is no RTDE.
        """
        sock = self._sock
        if sock is None:
            raise LabError(f"{self.address}: not connected")
        if out := self._held():  # they came together with the last answer
            return out
        try:
            if not select.select([sock], [], [], max(seconds, 0.0))[0]:
                return []
            data = sock.recv(1 << 18)
        except OSError as error:
            raise LabError(f"{self.address}: {error}") from error
        if not data:
            raise LabError(f"{self.address}: the robot hung up")
        self.buffer += data
        return self._held()

    def _held(self) -> list[HeardSample]:
        """Take the whole samples that have arrived."""
        arrived, head, out = time.monotonic(), self.protocol - 1, []
        try:
            for kind, body in rtde.packets(self.buffer):
                if kind == rtde.DATA and len(body) == head + self._codes.size:
                    out.append(self._sample(self._codes.unpack_from(body, head), arrived))
        except BrokenStreamError as error:
            raise LabError(f"{self.address}: sends what is no RTDE: {error}") from error
        return out

    def _sample(self, numbers: tuple[float, ...], arrived: float) -> HeardSample:
        at = self._places
        q, qd, current, target = (np.array(numbers[at[name] : at[name] + 6]) for name in VECTORS)
        robot, safety, runtime = (int(numbers[at[name]]) if name in at else -1 for name in MODES[:3])
        scaling = float(numbers[at["speed_scaling"]]) if "speed_scaling" in at else 1.0
        return HeardSample(
            float(numbers[at["timestamp"]]), q, qd, current, target, robot, safety, runtime, scaling, arrived
        )
