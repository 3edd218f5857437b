# SPDX-License-Identifier: Apache-2.0
"""The fields of RTDE: name, type, and the first software of either series that knows it.

Names, types and versions up to 5.11 are those of Universal Robots, "Real-Time Data Exchange guide"; a field for which
it gives no version is there from the beginning. Of the later ones only torques and energies are documented (5.23). The
others have the version that was current when the manufacturer's client library began to read them (2.14.0 reads all):
no client is offered what the real controller of that version may lack. `tcp_offset` has the first versions for which
that library says that it can rely on it.
"""

from __future__ import annotations

from typing import NamedTuple


class Field(NamedTuple):
    """A field: its type; the first versions (major, minor, bugfix) of CB3 and e-Series that have it, None for never."""

    kind: str
    cb3: tuple[int, ...] | None
    e_series: tuple[int, ...] | None

    def known(self, version: tuple[int, ...]) -> bool:
        """Return whether software of a version (major first) has it."""
        first = self.cb3 if version[0] < 5 else self.e_series
        return first is not None and first <= tuple(version)


def _version(text: str) -> tuple[int, ...] | None:
    return None if text == "-" else tuple(map(int, text.split(".")))


def _table(text: str) -> dict[str, Field]:
    """Read lines of type, first version of CB3 and of e-Series, names; a name ending in a:b stands for a … b."""
    out: dict[str, Field] = {}
    for line in text.strip().splitlines():
        kind, cb3, e_series, *names = line.split()
        field = Field(kind, _version(cb3), _version(e_series))
        for name in names:
            stem, _, numbers = name.rpartition("_")
            first, _, last = numbers.partition(":")
            out |= {f"{stem}_{k}": field for k in range(int(first), int(last) + 1)} if last else {name: field}
    return out


OUTPUTS = _table("""
DOUBLE 3.0 5.0 timestamp actual_execution_time speed_scaling target_speed_fraction actual_momentum actual_main_voltage
DOUBLE 3.0 5.0 actual_robot_voltage actual_robot_current standard_analog_input0 standard_analog_input1
DOUBLE 3.0 5.0 standard_analog_output0 standard_analog_output1 io_current tool_analog_input0 tool_analog_input1
DOUBLE 3.0 5.0 tool_output_current tool_temperature tcp_force_scalar euromap67_24V_voltage euromap67_24V_current
VECTOR6D 3.0 5.0 target_q target_qd target_qdd target_current target_moment actual_q actual_qd actual_current
VECTOR6D 3.0 5.0 joint_control_output actual_TCP_pose actual_TCP_speed actual_TCP_force target_TCP_pose target_TCP_speed
VECTOR6D 3.0 5.0 joint_temperatures actual_joint_voltage
VECTOR3D 3.0 5.0 actual_tool_accelerometer
UINT64 3.0 5.0 actual_digital_input_bits actual_digital_output_bits
INT32 3.0 5.0 robot_mode safety_mode tool_output_voltage
VECTOR6INT32 3.0 5.0 joint_mode
UINT32 3.0 5.0 runtime_state robot_status_bits safety_status_bits analog_io_types tool_mode tool_analog_input_types
UINT32 3.0 5.0 euromap67_input_bits euromap67_output_bits output_bit_registers0_to_31 output_bit_registers32_to_63
UINT8 3.0 5.0 tool_output_mode tool_digital_output0_mode tool_digital_output1_mode
INT32 3.4 5.0 output_int_register_0:23 input_int_register_0:23
DOUBLE 3.4 5.0 output_double_register_0:23 input_double_register_0:23
UINT32 3.4 5.0 input_bit_registers0_to_31 input_bit_registers32_to_63
VECTOR3D 3.5 5.0 elbow_position elbow_velocity
INT32 3.9 5.3 output_int_register_24:47 input_int_register_24:47
DOUBLE 3.9 5.3 output_double_register_24:47 input_double_register_24:47
BOOL 3.9 5.3 output_bit_register_64:127 input_bit_register_64:127
INT32 3.10 5.4 safety_status
DOUBLE 3.11 5.5.1 payload
VECTOR3D 3.11 5.5.1 payload_cog
VECTOR6D 3.12.3 5.5.1 tcp_offset
UINT32 3.14 5.9 script_control_line
VECTOR6D - 5.9 ft_raw_wrench
VECTOR6D 3.15 5.11 payload_inertia
VECTOR6D - 5.20 actual_current_window
DOUBLE - 5.20 joint_position_deviation_ratio collision_detection_ratio
INT32 - 5.20 time_scale_source
VECTOR6D - 5.23 actual_current_as_torque actual_TCP_acceleration target_TCP_acceleration wrench_calc_from_currents
UINT64 - 5.23 actual_configurable_digital_input_bits actual_configurable_digital_output_bits
DOUBLE - 5.23 target_execution_time actual_robot_energy_consumed actual_robot_braking_energy_dissipated
INT32 - 5.23 encoder0_raw encoder1_raw
VECTOR3D - 5.25 target_gravity
VECTOR6D - 5.25 target_base_acceleration target_base_wrench
UINT64 - 5.25 control_step
""")
INPUTS = _table("""
UINT32 3.0 5.0 speed_slider_mask input_bit_registers0_to_31 input_bit_registers32_to_63
DOUBLE 3.0 5.0 speed_slider_fraction standard_analog_output_0 standard_analog_output_1
UINT8 3.0 5.0 standard_digital_output_mask standard_digital_output configurable_digital_output_mask
UINT8 3.0 5.0 configurable_digital_output tool_digital_output_mask tool_digital_output
UINT8 3.0 5.0 standard_analog_output_mask standard_analog_output_type
VECTOR6D 3.3 5.0 external_force_torque
INT32 3.4 5.0 input_int_register_0:23
DOUBLE 3.4 5.0 input_double_register_0:23
INT32 3.9 5.3 input_int_register_24:47
DOUBLE 3.9 5.3 input_double_register_24:47
BOOL 3.9 5.3 input_bit_register_64:127
""")


def kinds_of(fields: dict[str, Field], version: tuple[int, ...]) -> dict[str, str]:
    """Return name → type of those fields of a table that software of a version has."""
    return {name: field.kind for name, field in fields.items() if field.known(version)}
