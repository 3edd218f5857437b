# SPDX-License-Identifier: Apache-2.0
"""Fields of RTDE and their types (Universal Robots, "Real-Time Data Exchange guide")."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SIZES: dict[str, tuple[str, int]] = {
    "BOOL": ("?", 1),
    "UINT8": ("B", 1),
    "UINT32": ("I", 1),
    "UINT64": ("Q", 1),
    "INT32": ("i", 1),
    "DOUBLE": ("d", 1),
    "VECTOR3D": ("d", 3),
    "VECTOR6D": ("d", 6),
    "VECTOR6INT32": ("i", 6),
    "VECTOR6UINT32": ("I", 6),
}
"""Type → struct code of one number, and how many."""


def _table(text: str) -> dict[str, str]:
    return {name: kind for kind, *names in (line.split() for line in text.strip().splitlines()) for name in names}


OUTPUTS = _table("""
DOUBLE timestamp actual_execution_time speed_scaling target_speed_fraction actual_momentum actual_main_voltage
DOUBLE actual_robot_voltage actual_robot_current standard_analog_input0 standard_analog_input1 standard_analog_output0
DOUBLE standard_analog_output1 io_current tool_analog_input0 tool_analog_input1 tool_output_current tool_temperature
DOUBLE tcp_force_scalar payload
VECTOR6D target_q target_qd target_qdd target_current target_moment actual_q actual_qd actual_current
VECTOR6D joint_control_output actual_TCP_pose actual_TCP_speed actual_TCP_force target_TCP_pose target_TCP_speed
VECTOR6D joint_temperatures actual_joint_voltage
VECTOR3D actual_tool_accelerometer elbow_position elbow_velocity payload_cog
UINT64 actual_digital_input_bits actual_digital_output_bits
INT32 robot_mode safety_mode tool_output_voltage safety_status
VECTOR6INT32 joint_mode
UINT32 runtime_state robot_status_bits safety_status_bits analog_io_types tool_analog_input_types
UINT32 output_bit_registers0_to_31 output_bit_registers32_to_63 input_bit_registers0_to_31 input_bit_registers32_to_63
UINT8 tool_mode
VECTOR6D payload_inertia
""")
OUTPUTS |= {f"output_int_register_{k}": "INT32" for k in range(48)}
OUTPUTS |= {f"output_double_register_{k}": "DOUBLE" for k in range(48)}
OUTPUTS |= {f"input_int_register_{k}": "INT32" for k in range(48)}
OUTPUTS |= {f"input_double_register_{k}": "DOUBLE" for k in range(48)}
E_SERIES_ONLY = {"ft_raw_wrench": "VECTOR6D", "actual_current_as_torque": "VECTOR6D"}
INPUTS = _table("""
UINT32 speed_slider_mask input_bit_registers0_to_31 input_bit_registers32_to_63
DOUBLE speed_slider_fraction standard_analog_output_0 standard_analog_output_1
UINT8 standard_digital_output_mask standard_digital_output configurable_digital_output_mask configurable_digital_output
UINT8 tool_digital_output_mask tool_digital_output standard_analog_output_mask standard_analog_output_type
VECTOR6D external_force_torque
""")
INPUTS |= {f"input_int_register_{k}": "INT32" for k in range(48)}
INPUTS |= {f"input_double_register_{k}": "DOUBLE" for k in range(48)}
INPUTS |= {f"input_bit_register_{k}": "BOOL" for k in range(64, 128)}


def outputs_of(e_series: bool) -> dict[str, str]:
    """What a controller of either series publishes."""
    return OUTPUTS | E_SERIES_ONLY if e_series else OUTPUTS


@dataclass(frozen=True)
class Recipe:
    """Fields in the order of a data packet; packs and unpacks their values."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]

    @cached_property
    def codes(self) -> struct.Struct:
        """All numbers in a row, big-endian."""
        return struct.Struct(">" + "".join(SIZES[kind][0] * SIZES[kind][1] for kind in self.kinds))

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        return tuple(SIZES[kind][1] for kind in self.kinds)

    def pack(self, values: Mapping[str, Any]) -> bytes:
        """Bytes of the values: numbers, or sequences of them for vectors."""
        parts = (values[n] if c > 1 else (values[n],) for n, c in zip(self.names, self._counts, strict=True))
        return self.codes.pack(*chain.from_iterable(parts))

    def unpack(self, payload: bytes) -> dict[str, Any]:
        """Values by name; vectors are tuples."""
        numbers, out, at = self.codes.unpack(payload), {}, 0
        for name, count in zip(self.names, self._counts, strict=True):
            out[name] = numbers[at] if count == 1 else numbers[at : at + count]
            at += count
        return out


def recipe_of(names: Sequence[str], known: Mapping[str, str]) -> tuple[Recipe | None, tuple[str, ...]]:
    """Return the recipe, or None if a name is not known, and every name's type or NOT_FOUND."""
    kinds = tuple(known.get(name, "NOT_FOUND") for name in names)
    return (None if "NOT_FOUND" in kinds or not names else Recipe(tuple(names), kinds)), kinds
