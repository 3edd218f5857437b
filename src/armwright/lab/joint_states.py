# SPDX-License-Identifier: Apache-2.0
"""Joint states beside the raw packets of a robot, as Foxglove draws them and `identify` reads them.

A raw packet stays the truth; this channel is made from it: position, speed and motor current (as effort) at the
robot's own time.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence

from armwright.lab.mover import JOINTS
from armwright.lab.packets import Channel, Packet, recipe_from
from armwright.lab.wire.rtde_fields import Recipe
from armwright.recording.formats.protobuf import JOINT_STATES, joint_layout, joint_schema, varint

TOPIC = "/joint_states"
FIELDS = ("actual_q", "actual_qd", "actual_current")
LEAST_STEP = 8_000_000  # [ns] between messages: 125 a second are enough for a screen and for a fit
_LAYOUT, _STAMP = joint_layout(JOINTS, 3)
_REALTIME = struct.Struct(">252x18d")  # 004 §4.10: q, qd and current after size, time and five targets
SCHEMA = (JOINT_STATES, "protobuf", joint_schema())


class JointStates:
    """Makes joint states of the packets of one robot: of its RTDE stream if that is recorded, else of port 30003."""

    def __init__(self, topics: Collection[str]) -> None:
        self._topic = next((topic for topic in ("/robot/rtde", "/robot/realtime") if topic in topics), "")
        self._last = -LEAST_STEP
        self._places: list[int] = []

    def announce(self, channel: Channel) -> None:
        """A stream has begun, perhaps with another recipe."""
        if channel.topic == self._topic == "/robot/rtde":
            recipe = recipe_from(channel.recipe)
            if not set(FIELDS) <= set(recipe.names):
                self._topic = ""
                return
            head = 3 + ((channel.facts or {}).get("protocol", "2") == "2")
            before = [recipe.names.index(name) for name in FIELDS]
            self._places = [head + Recipe(recipe.names[:k], recipe.kinds[:k]).codes.size for k in before]

    def of(self, packet: Packet) -> bytes | None:
        """The message that belongs to a packet; None if it is not due."""
        if packet.topic != self._topic:
            return None
        if 0 <= packet.device - self._last < LEAST_STEP - 1000:
            return None
        try:
            if self._places:
                parts = [struct.unpack_from(">6d", packet.data, at) for at in self._places]
            else:
                numbers = _REALTIME.unpack_from(packet.data)
                parts = [numbers[k : k + 6] for k in (0, 6, 12)]
        except struct.error:
            return None
        self._last = packet.device
        return message(packet.device, *parts)


def message(stamp: int, q: Sequence[float], qd: Sequence[float], current: Sequence[float]) -> bytes:
    """JointStates at a time [ns]."""
    out = bytearray(_LAYOUT.template)
    out[_STAMP : _STAMP + 5] = varint(stamp // 10**9, pad=5)
    out[_STAMP + 6 : _STAMP + 11] = varint(stamp % 10**9, pad=5)
    for (offset, _, stride), values in zip(_LAYOUT.places, zip(q, qd, current, strict=True), strict=True):
        for k, value in enumerate(values):
            struct.pack_into("<d", out, offset + k * stride, value)
    return bytes(out)
