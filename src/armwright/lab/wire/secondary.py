# SPDX-License-Identifier: Apache-2.0
"""Robot state messages of the primary and secondary ports 30001 and 30002, ten per second (CB3 3.2 and later)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ROBOT_STATE = 16
SECONDARY_RATE = 10.0


def _part(kind: int, layout: str, *values: Any) -> bytes:
    body = struct.pack(">" + layout, *values)
    return struct.pack(">iB", len(body) + 5, kind) + body


def robot_state(v: Mapping[str, Any], tcp: list[float]) -> bytes:
    """Return one message from the controller's outputs (see `published.values`) and the TCP (6,) at the flange."""
    playing, paused = v["runtime_state"] == 2, v["runtime_state"] == 4
    powered, stopped = bool(v["robot_status_bits"] & 1), bool(v["safety_status_bits"] & 4)
    mode = (int(v["timestamp"] * 1e6), True, True, powered, False, stopped, playing or paused, paused)
    speed = v["speed_scaling"]
    joints = [
        number
        for k in range(6)
        for number in (
            v["actual_q"][k],
            v["target_q"][k],
            v["actual_qd"][k],
            v["actual_current"][k],
            v["actual_joint_voltage"][k],
            v["joint_temperatures"][k],
            0.0,
            v["joint_mode"][k],
        )
    ]
    parts = [
        _part(0, "Q???????BBddd", *mode, v["robot_mode"], 0, speed, speed, 1.0),
        _part(1, "dddffffB" * 6, *joints),
        _part(2, "bbddfBffB", 0, 0, 0.0, 0.0, 0.0, 0, 0.0, v["tool_temperature"], v["tool_mode"]),
        _part(
            3,
            "iibbddbbddffffBBb",
            v["actual_digital_input_bits"],
            v["actual_digital_output_bits"],
            0,
            0,
            v["standard_analog_input0"],
            v["standard_analog_input1"],
            0,
            0,
            v["standard_analog_output0"],
            v["standard_analog_output1"],
            v["tool_temperature"],
            v["actual_robot_voltage"],
            v["actual_robot_current"],
            0.0,
            v["safety_mode"],
            0,
            0,
        ),
        _part(4, "12d", *v["actual_TCP_pose"], *tcp),
        _part(7, "7d", *v["actual_TCP_force"], 0.0),
        _part(8, "??", False, False),
    ]
    whole = b"".join(parts)
    return struct.pack(">iB", len(whole) + 5, ROBOT_STATE) + whole
