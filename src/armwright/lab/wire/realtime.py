# SPDX-License-Identifier: Apache-2.0
"""Packets of the real-time port 30003: int32 size (itself included), then doubles, big-endian.

An e-Series sends what its software does: 138 numbers, one more from 5.4, 152 from 5.10 (1108, 1116 and 1220 bytes). A
CB3 sends the 94 numbers that document 004 lists (Table 4.3), 756 bytes, and not the 138 of software 3.5 and later: its
tool comes at other places.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

OWN = ""
"""Numbers that the manufacturer keeps to itself, or that nothing stands for here."""
JOINTS = (
    *(("timestamp", 1), ("target_q", 6), ("target_qd", 6), ("target_qdd", 6), ("target_current", 6)),
    *(("target_moment", 6), ("actual_q", 6), ("actual_qd", 6), ("actual_current", 6)),
)
CB3_ROWS = (
    *JOINTS,
    *(("actual_tool_accelerometer", 3), (OWN, 15), ("actual_TCP_force", 6), ("actual_TCP_pose", 6)),
    *(("actual_TCP_speed", 6), ("actual_digital_input_bits", 1), ("joint_temperatures", 6)),
    *(("actual_execution_time", 1), (OWN, 1)),
)
E_ROWS = (
    *JOINTS,
    *(("joint_control_output", 6), ("actual_TCP_pose", 6), ("actual_TCP_speed", 6), ("actual_TCP_force", 6)),
    *(("target_TCP_pose", 6), ("target_TCP_speed", 6), ("actual_digital_input_bits", 1), ("joint_temperatures", 6)),
    *(("actual_execution_time", 1), (OWN, 1), ("robot_mode", 1), ("joint_mode", 6), ("safety_mode", 1), (OWN, 6)),
    *(("actual_tool_accelerometer", 3), (OWN, 6), ("speed_scaling", 1), ("actual_momentum", 1), (OWN, 2)),
    *(("actual_main_voltage", 1), ("actual_robot_voltage", 1), ("actual_robot_current", 1)),
    *(("actual_joint_voltage", 6), ("actual_digital_output_bits", 1), ("runtime_state", 1)),
    *(("elbow_position", 3), ("elbow_velocity", 3)),
)
SINCE_5_4 = (("safety_status", 1),)
SINCE_5_10 = ((OWN, 3), ("payload", 1), ("payload_cog", 3), ("payload_inertia", 6))


CB3_BYTES = 4 + 8 * sum(count for _, count in CB3_ROWS)


def place_in(size: int, name: str) -> int:
    """Return which number of a packet of so many bytes is the first of an output."""
    place = 0
    for row, count in CB3_ROWS if size == CB3_BYTES else E_ROWS:
        if row == name:
            return place
        place += count
    raise KeyError(name)


@cache
def realtime_rows(version: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
    """Return names of the outputs and how many numbers each has, in order, for a controller's version."""
    if version[0] < 5:
        return CB3_ROWS
    return E_ROWS + SINCE_5_4 * (version[:2] >= (5, 4)) + SINCE_5_10 * (version[:2] >= (5, 10))


def realtime_packet(v: Mapping[str, Any], version: tuple[int, ...]) -> bytes:
    """Return the packet of a controller of a version, from the outputs of `published.values`."""
    numbers: list[float] = []
    for name, count in realtime_rows(version):
        if not name:
            numbers += [0.0] * count
        elif count == 1:
            numbers.append(float(v[name]))
        else:
            numbers += v[name]
    return struct.pack(f">i{len(numbers)}d", 4 + 8 * len(numbers), *numbers)
