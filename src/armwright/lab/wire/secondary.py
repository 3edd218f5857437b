# SPDX-License-Identifier: Apache-2.0
"""State packages of the primary and secondary ports 30001 and 30002, ten per second (CB3 3.2 and later).

A package is big-endian int32 size (itself included), uint8 16, and parts: uint32 size (itself included), uint8 type,
body. A client of the manufacturer's library gives up on a part that is short; more bytes than it knows only warn.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ROBOT_STATE = 16
SECONDARY_RATE = 10.0


def state_part(kind: int, layout: str, *values: Any) -> bytes:
    """Return one part of a package, its values big-endian in a struct's layout."""
    body = struct.pack(">" + layout, *values)
    return struct.pack(">iB", len(body) + 5, kind) + body


STOPPED, PAUSED = 1, 4
"""RTDE's runtime_state; 0 and 2 are stopping and playing."""
NO_EUROMAP = 0


def robot_state(v: Mapping[str, Any], more: bytes = b"") -> bytes:
    """Return one package from the controller's outputs (see `published.values`); `more`: parts to be added."""
    runtime, safety = v["runtime_state"], v["safety_status_bits"]
    powered, stopped, emergency = bool(v["robot_status_bits"] & 1), bool(safety & 1 << 2), bool(safety & 1 << 7)
    mode = (round(v["timestamp"] * 1e6), True, powered, powered, emergency, stopped, runtime != STOPPED)
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
        state_part(
            0,
            "Q???????BBddd",
            *mode,
            runtime == PAUSED,
            v["robot_mode"],
            0,
            v["target_speed_fraction"],
            v["speed_scaling"],
            1.0,
        ),
        state_part(1, "dddffffB" * 6, *joints),
        state_part(
            2,
            "BBddfBffB",
            0,
            0,
            0.0,
            0.0,
            v["actual_joint_voltage"][5],
            v["tool_output_voltage"],
            0.0,
            v["tool_temperature"],
            v["tool_mode"],
        ),
        state_part(
            3,
            "IIBBddBBddffffB?BIBBB",
            v["actual_digital_input_bits"],
            v["actual_digital_output_bits"],
            v["analog_io_types"] & 1,
            v["analog_io_types"] >> 1 & 1,
            v["standard_analog_input0"],
            v["standard_analog_input1"],
            v["analog_io_types"] >> 2 & 1,
            v["analog_io_types"] >> 3 & 1,
            v["standard_analog_output0"],
            v["standard_analog_output1"],
            v["tool_temperature"],
            v["actual_robot_voltage"],
            v["actual_robot_current"],
            0.0,
            v["safety_mode"],
            bool(safety & 1 << 1),
            NO_EUROMAP,
            0,
            0,
            0,
            0,
        ),
        state_part(4, "12d", *v["actual_TCP_pose"], *v["tcp_offset"]),
        state_part(7, "7d", *v["actual_TCP_force"], 0.0),
        state_part(8, "??", False, False),
    ]
    whole = b"".join(parts) + more
    return struct.pack(">iB", len(whole) + 5, ROBOT_STATE) + whole
