# SPDX-License-Identifier: Apache-2.0
"""The one table of URScript's functions: parameters with defaults and units, what they do, since which version.

`does` is how a reader treats a function: ``move`` leads the arm along a known way, ``led`` along one that something
else decides (contact, a loop that runs with the cell), ``set`` changes what later moves depend on, ``wait`` spends
time, ``value`` gives a value that follows from its arguments, ``cell`` one that only the running cell knows, ``state``
where the arm is, ``quiet`` none of these. Units: m, rad, s, kg, and m/s or rad/s for speeds.
"""

from __future__ import annotations

from typing import NamedTuple


class Builtin(NamedTuple):
    """One function: `parameters` as ``name`` or ``name=default`` in order; `guess` what a test takes its value for."""

    name: str
    does: str
    parameters: tuple[str, ...]
    units: str = ""
    guess: object = None
    since: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in order."""
        return tuple(p.partition("=")[0] for p in self.parameters)

    @property
    def fewest(self) -> int:
        """How many arguments must be given."""
        return sum("=" not in p for p in self.parameters)


def _rows(does: str, text: str, guess: object = None) -> dict[str, Builtin]:
    rows = {}
    for line in text.strip().splitlines():
        name, _, rest = line.strip().partition("(")
        inside, _, units = rest.partition(")")
        parameters = tuple(p.strip() for p in inside.split(",") if p.strip())
        rows[name] = Builtin(name, does, parameters, units.strip(), guess)
    return rows


def _names(does: str, text: str, guess: object = None) -> dict[str, Builtin]:
    return {name: Builtin(name, does, ("…",), "", guess) for name in text.split()}


BUILTINS: dict[str, Builtin] = {
    **_rows(
        "move",
        """movej(q, a=1.4, v=1.05, t=0, r=0) rad/s², rad/s, s, m
        movel(pose, a=1.2, v=0.25, t=0, r=0) m/s², m/s, s, m
        movep(pose, a=1.2, v=0.25, r=0) m/s², m/s, m
        movec(pose_via, pose_to, a=1.2, v=0.25, r=0, mode=0) m/s², m/s, m""",
    ),
    **_names(
        "led",
        "servoj servoc servol speedj speedl force_mode freedrive_mode direct_torque teach_mode "
        "conveyor_pulse_decode track_conveyor_linear track_conveyor_circular optimovej optimovel "
        "path_offset_enable path_offset_set position_deviation_warning_move screw_driving spline_movej "
        "torque_command",
    ),
    **_rows(
        "set",
        """set_tcp(pose, tcp_name="") m, rad
        set_payload(m, cog=) kg, m
        set_payload_mass(m) kg
        set_payload_cog(cog) m
        set_target_payload(m, cog, inertia=, transition_time=0) kg, m, kg m², s
        end_force_mode()""",
    ),
    **_rows("wait", "sleep(t) s\nsync()"),
    **_rows(
        "value",
        """acos(f)\nasin(f)\natan(f)\natan2(x, y)\ncos(f)\nsin(f)\ntan(f)\nsqrt(f)\nlog(b, f)\npow(base, exponent)
        ceil(f)\nfloor(f)\nround(f)\nabs(f)\nd2r(d)\nr2d(r)\nnorm(a)\nlength(v)\nsize(v)\nget_list_length(v)
        make_list(length, initial_value, capacity=0)\npose_trans(p_from, p_from_to)\npose_inv(p_from)\ninv(m)
        pose_add(p_1, p_2)\npose_sub(p_to, p_from)\npose_dist(p_from, p_to)\npoint_dist(p_from, p_to)
        interpolate_pose(p_from, p_to, alpha)\nrpy2rotvec(rpy)\nrotvec2rpy(rotvec)
        get_inverse_kin(x, qnear=, maxPositionError=, maxOrientationError=, tcp=)
        get_forward_kin(q=, tcp=)\nstr_cat(op1, op2)\nto_str(val)\nstr_len(str)""",
    ),
    "struct": Builtin("struct", "value", ("…",), since="5.10"),
    **_names(
        "state",
        "get_actual_joint_positions get_target_joint_positions get_joint_positions get_actual_tcp_pose "
        "get_target_tcp_pose get_tcp_pose",
    ),
    **_names("state", "get_target_waypoint get_tcp_offset get_target_payload get_steptime"),
    **_names(
        "cell",
        "get_digital_in get_standard_digital_in get_configurable_digital_in get_tool_digital_in get_flag "
        "get_euromap_input get_digital_out get_standard_digital_out get_configurable_digital_out "
        "get_tool_digital_out is_steady is_within_safety_limits read_port_bit read_input_boolean_register "
        "read_output_boolean_register get_inverse_kin_has_solution tool_contact get_robot_soft_power "
        "get_freedrive_status",
        False,
    ),
    **_names(  # a partner that answers is the ordinary case; programs halt without one
        "cell",
        "socket_open socket_send_string socket_send_line socket_send_byte socket_send_int socket_set_var",
        True,
    ),
    **_names(
        "cell",
        "get_analog_in get_standard_analog_in get_tool_analog_in get_analog_out get_standard_analog_out "
        "get_controller_temp read_port_register read_input_integer_register read_input_float_register "
        "read_output_integer_register read_output_float_register modbus_get_signal_status force get_tool_current "
        "random get_tcp_force get_tool_accelerometer_reading get_joint_torques get_actual_joint_speeds "
        "get_target_joint_speeds get_actual_tcp_speed get_target_tcp_speed get_joint_temp "
        "get_actual_joint_positions_history get_tcp_speed tool_contact_wait socket_get_var socket_read_ascii_float "
        "socket_read_binary_integer socket_read_byte_list socket_read_line socket_read_string rpc_factory "
        "request_boolean_from_primary_client time request_integer_from_primary_client "
        "request_float_from_primary_client request_string_from_primary_client powerdown get_conveyor_tick_count "
        "encoder_get_tick_count str_at str_find str_sub to_num binary_list_to_integer integer_to_binary_list "
        "wrench_trans get_target_payload_cog get_target_payload_inertia get_target_payload_mass get_joint_velocity "
        "get_actual_current str_empty get_gravity transpose set_list_length",
        0,
    ),
    **_names(
        "quiet",
        "set_digital_out set_standard_digital_out set_configurable_digital_out set_tool_digital_out set_analog_out "
        "set_standard_analog_out set_flag textmsg popup stopj stopl stopc end_freedrive_mode end_teach_mode "
        "set_tool_voltage set_gravity set_standard_analog_input_domain set_tool_analog_input_domain "
        "set_analog_inputrange set_analog_outputdomain set_standard_digital_input_action "
        "set_tool_digital_input_action set_configurable_digital_input_action set_gp_boolean_input_action "
        "set_input_actions_to_default set_digital_input_action set_runstate_outputs "
        "set_runstate_standard_digital_output_to_value set_runstate_configurable_digital_output_to_value "
        "set_runstate_tool_digital_output_to_value set_runstate_standard_analog_output_to_value "
        "set_runstate_gp_boolean_output_to_value set_safety_mode_transition_hardness set_tool_communication "
        "set_tool_output_mode set_tool_digital_output_mode set_baselight_iec socket_close write_port_bit "
        "write_port_register write_output_boolean_register write_output_integer_register "
        "write_output_float_register modbus_add_signal modbus_delete_signal modbus_set_digital_input_action "
        "modbus_set_output_register modbus_set_output_signal modbus_set_runstate_dependent_choice "
        "modbus_set_signal_update_frequency modbus_send_custom_command zero_ftsensor ft_rtde_input_enable "
        "enable_external_ft_sensor force_mode_set_damping force_mode_set_gain_scaling force_mode_example varmsg "
        "request_popup encoder_enable_pulse_decode encoder_enable_set_tick_count encoder_set_tick_count "
        "reset_world_model set_conveyor_tick_count stop_conveyor_tracking reset_revolution_counter "
        "set_euromap_output set_euromap_runstate_dependent_choice rtde_set_watchdog clear_interpreter "
        "end_interpreter_mode set_payload_inertia_none assert path_offset_disable path_offset_set_alpha_filter "
        "path_offset_set_max_offset end_screw_driving set_operator_mode_password unlock_protective_stop "
        "set_rotation_limit gravity set_tool_flange set_joint_limits",
    ),
}
MOTION = frozenset(name for name, row in BUILTINS.items() if row.does in ("move", "led"))
