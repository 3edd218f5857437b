# SPDX-License-Identifier: Apache-2.0
"""The one table of URScript's functions: parameters with defaults and units, what they return and do, since when.

`does` is how a function is treated, a key of `TREATMENTS`. Units: m, rad, s, kg, and m/s or rad/s for speeds.

The reader of programs and the machine that runs them both check arguments by this table. A function whose parameters
are ``…`` is known by name only: a reader may leave it out, the machine refuses it.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import NamedTuple

ANY = "…"
"""Parameters that this table does not tell."""
TREATMENTS = {
    "move": "leads the arm along a known way",
    "led": "leads the arm along a way that something else decides: contact, a loop that runs with the cell",
    "set": "changes what later moves depend on",
    "wait": "spends time",
    "value": "gives a value that follows from its arguments",
    "state": "gives where the arm is",
    "cell": "gives a value that is known only while the program runs",
    "quiet": "changes nothing that moves depend on",
}
"""What functions do, as far as a reader of programs must know it."""


@cache
def _names_of(parameters: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(p.partition("=")[0] for p in parameters)


@cache
def _value_of(text: str) -> object:
    """Return the value that a default is written as; a list of it belongs to the table."""
    return ast.literal_eval(text.removeprefix("p"))


class Builtin(NamedTuple):
    """One function.

    Attributes:
        name: as programs write it.
        does: a key of `TREATMENTS`.
        parameters: ``name``, or ``name=default``; a default that is empty says that the function knows what to take.
        units: of the parameters, in order.
        guess: what a test takes the value for while the cell is not known.
        since: first version of the e-Series that has it; empty: all.
        returns: kind of the value; empty: none.
        waits: whether the thread that calls it may have to wait.
    """

    name: str
    does: str
    parameters: tuple[str, ...]
    units: str = ""
    guess: object = None
    since: str = ""
    returns: str = ""
    waits: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in order."""
        return _names_of(self.parameters)

    @property
    def fewest(self) -> int:
        """How many arguments must be given."""
        return sum("=" not in p for p in self.parameters)

    @property
    def told(self) -> bool:
        """Whether the table tells the parameters."""
        return self.parameters != (ANY,)

    @property
    def moves(self) -> bool:
        """Whether the arm may move by it."""
        return self.does in ("move", "led")

    @property
    def asks_cell(self) -> bool:
        """Whether its value depends on the cell."""
        return self.does == "cell"

    def default(self, name: str) -> object:
        """Return the default of a parameter: a number, truth value, text or list; None where there is none to tell."""
        text = next((p.partition("=")[2] for p in self.parameters if p.partition("=")[0] == name), "")
        return _value_of(text) if text else None


def _split(inside: str) -> tuple[str, ...]:
    """Return parameters; commas in brackets do not part them."""
    parts, depth = [""], 0
    for letter in inside:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return tuple(p.strip() for p in parts if p.strip())


def _rows(does: str, text: str, guess: object = None, *, waits: bool = False) -> dict[str, Builtin]:
    """Return rows of lines like ``name(a, b=1) -> number; m, rad; 5.10``; a name without parentheses tells no more."""
    rows = {}
    for line in text.strip().splitlines():
        head, units, since = ([part.strip() for part in line.split(";")] + ["", ""])[:3]
        head, _, returns = (part.strip() for part in head.partition("->"))
        name, opened, rest = head.partition("(")
        parameters = _split(rest.removesuffix(")")) if opened else (ANY,)
        rows[name] = Builtin(name, does, parameters, units, guess, since, returns, waits)
    return rows


def _names(does: str, text: str, guess: object = None) -> dict[str, Builtin]:
    return {name: Builtin(name, does, (ANY,), "", guess) for name in text.split()}


BUILTINS: dict[str, Builtin] = {
    **_rows(
        "move",
        """movej(q, a=1.4, v=1.05, t=0, r=0); rad/s², rad/s, s, m
        movel(pose, a=1.2, v=0.25, t=0, r=0); m/s², m/s, s, m
        movep(pose, a=1.2, v=0.25, r=0); m/s², m/s, m
        movec(pose_via, pose_to, a=1.2, v=0.25, r=0, mode=0); m/s², m/s, m""",
        waits=True,
    ),
    **_rows(
        "led",
        """optimovej(q, a=0.3, v=0.3, r=0); shares of the limits, m; 5.21
        optimovel(pose, a=0.3, v=0.3, r=0); shares of the limits, m; 5.21
        servoj(q, a=0, v=0, t=, lookahead_time=0.1, gain=300); s, s
        servoc(pose, a=1.2, v=0.25, r=0); m/s², m/s, m
        speedj(qd, a, t=0); rad/s², s
        speedl(xd, a, t=0, aRot="a"); m/s², s, rad/s²
        direct_torque(torque, friction_comp=True, viscous_scale=, coulomb_scale=); N m; 5.23""",
        waits=True,
    ),
    **_rows(
        "led",
        """force_mode(task_frame, selection_vector, wrench, type, limits); m, rad, N, N m, m/s, rad/s
        freedrive_mode(freeAxes=[1, 1, 1, 1, 1, 1], feature=p[0, 0, 0, 0, 0, 0])
        teach_mode()
        servol\ntrack_conveyor_linear\ntrack_conveyor_circular\nconveyor_pulse_decode\npath_offset_enable
        path_offset_set\nposition_deviation_warning_move\nscrew_driving\nspline_movej\ntorque_command
        freedrive_mode_no_incorrect_payload_check\nframe_tracking_enable""",
    ),
    **_rows(
        "set",
        """set_tcp(pose, tcp_name=""); m, rad
        set_payload(m, cog=); kg, m
        set_payload_mass(m); kg
        set_payload_cog(cog); m
        set_target_payload(m, cog, inertia=, transition_time=0); kg, m, kg m², s; 5.10
        end_force_mode()""",
    ),
    **_rows("wait", "sleep(t); s\nsync()", waits=True),
    **_rows(
        "value",
        """acos(f) -> number\nasin(f) -> number\natan(f) -> number\natan2(x, y) -> number\ncos(f) -> number
        sin(f) -> number\ntan(f) -> number\nsqrt(f) -> number\nlog(b, f) -> number\npow(base, exponent) -> number
        ceil(f) -> integer\nfloor(f) -> integer\nround(f) -> integer\nabs(f) -> number\nd2r(d) -> number
        r2d(d) -> number\nnorm(a) -> number\nnormalize(v) -> list
        length(v) -> integer\nsize(v) -> integer\nget_list_length(v) -> integer
        make_list(length, initial_value, capacity=0) -> list; ; 5.15\npose_trans(p_from, p_from_to) -> pose
        pose_inv(p_from) -> pose\ninv(m) -> pose\npose_add(p_1, p_2) -> pose\npose_sub(p_to, p_from) -> pose
        pose_dist(p_from, p_to) -> number\npoint_dist(p_from, p_to) -> number
        interpolate_pose(p_from, p_to, alpha) -> pose\nrpy2rotvec(rpy) -> list\nrotvec2rpy(rotvec) -> list
        get_forward_kin(q=, tcp=) -> pose\nstr_cat(op1, op2) -> text\nto_str(val) -> text\nstr_len(str) -> integer""",
    ),
    **_rows(
        "value",
        "get_inverse_kin(x, qnear=, maxPositionError=, maxOrientationError=, tcp=) -> joints; m, rad",
        waits=True,
    ),
    "struct": Builtin("struct", "value", (ANY,), since="5.10", returns="struct"),
    **_rows(
        "state",
        """get_actual_joint_positions() -> joints\nget_target_joint_positions() -> joints
        get_joint_positions() -> joints\nget_actual_tcp_pose() -> pose\nget_target_tcp_pose() -> pose
        get_tcp_pose() -> pose\nget_target_waypoint() -> pose\nget_tcp_offset() -> pose
        get_target_payload() -> number\nget_steptime() -> number
        tool_pose() -> pose""",
    ),
    **_rows(
        "cell",
        """get_digital_in(n) -> truth\nget_standard_digital_in(n) -> truth\nget_configurable_digital_in(n) -> truth
        get_tool_digital_in(n) -> truth\nget_flag(n) -> truth\nget_euromap_input\nget_digital_out(n) -> truth
        get_standard_digital_out(n) -> truth\nget_configurable_digital_out(n) -> truth
        get_tool_digital_out(n) -> truth\nis_steady() -> truth\nread_port_bit
        read_input_boolean_register(address) -> truth\nread_output_boolean_register(address) -> truth
        tool_contact(direction=p[0, 0, 0, 0, 0, 0]) -> steps
        get_robot_soft_power\nget_freedrive_status() -> integer""",
        False,
    ),
    **_rows(
        "cell",
        """is_within_safety_limits(pose, qnear=) -> truth
        get_inverse_kin_has_solution(pose, qnear=, maxPositionError=, maxOrientationError=, tcp=) -> truth""",
        False,
        waits=True,
    ),
    **_rows(  # a partner that answers is the ordinary case; programs halt without one
        "cell",
        """socket_open(address, port, socket_name="socket_0", timeout=2) -> truth""",
        True,
        waits=True,
    ),
    **_rows(
        "cell",
        """socket_send_string(str, socket_name="socket_0") -> truth
        socket_send_line(str, socket_name="socket_0") -> truth
        socket_send_byte(value, socket_name="socket_0") -> truth
        socket_send_int(value, socket_name="socket_0") -> truth
        socket_set_var(name, value, socket_name="socket_0") -> truth""",
        True,
    ),
    **_rows(
        "cell",
        """socket_get_var(name, socket_name="socket_0") -> integer
        socket_read_ascii_float(number, socket_name="socket_0", timeout=2) -> list; s
        socket_read_binary_integer(number, socket_name="socket_0", timeout=2) -> list; s
        socket_read_byte_list(number, socket_name="socket_0", timeout=2) -> list; s
        socket_read_line(socket_name="socket_0", timeout=2) -> text; s
        socket_read_string(socket_name="socket_0", prefix="", suffix="", interpret_escape=False, timeout=2) -> text; s
        request_boolean_from_primary_client(message) -> truth
        request_integer_from_primary_client(message) -> integer
        request_float_from_primary_client(message) -> number
        request_string_from_primary_client(message) -> text""",
        0,
        waits=True,
    ),
    **_rows(
        "cell",
        """get_analog_in(n) -> number\nget_standard_analog_in(n) -> number\nget_tool_analog_in(n) -> number
        get_analog_out(n) -> number\nget_standard_analog_out(n) -> number\nget_controller_temp() -> number
        read_input_integer_register(address) -> integer\nread_input_float_register(address) -> number
        read_output_integer_register(address) -> integer\nread_output_float_register(address) -> number
        force() -> number; N\nget_tool_current() -> number\nrandom() -> number\nget_tcp_force() -> list; N, N m
        get_joint_torques() -> list; N m\nget_actual_joint_speeds() -> list\nget_target_joint_speeds() -> list
        get_actual_tcp_speed() -> list\nget_target_tcp_speed() -> list\nget_joint_temp(j) -> number
        get_actual_joint_positions_history(steps=0) -> list\nget_actual_tool_flange_pose() -> pose
        str_at(src, index) -> text\nstr_find(src, target, start_from=0) -> integer
        str_sub(src, index, len=) -> text\nto_num(str) -> number\nstr_empty(str) -> truth
        binary_list_to_integer(l) -> integer\ninteger_to_binary_list(x) -> list
        wrench_trans(T_from_to, w_from) -> list\nget_target_payload_cog() -> list
        get_target_payload_inertia() -> list\nget_target_payload_mass() -> number\nget_gravity() -> list
        get_mass_matrix(q=, tcp=, include_rotors_inertia=True) -> list; ; 5.23
        get_coriolis_and_centrifugal_torques(q=, qd=, tcp=) -> list; ; 5.23
        get_target_joint_accelerations() -> list; ; 5.23\nget_jacobian(q=, tcp=) -> list; ; 5.23
        get_jacobian_time_derivative(q=, qd=, tcp=) -> list; ; 5.23
        read_port_register
        modbus_get_signal_status(signal_name, is_secondary_program=False)
        get_tool_accelerometer_reading\nget_tcp_speed\ntool_contact_wait
        rpc_factory\ntime\nget_conveyor_tick_count\nencoder_get_tick_count\nget_joint_velocity\nget_actual_current
        transpose\nset_list_length
        get_rtde_value\nget_tool_temp\nget_actual_joint_accelerations\nget_base_acceleration\nget_euromap_output
        modbus_get_error\nmodbus_get_time_since_signal_invalid\nencoder_unwind_delta_tick_count\nestimate_payload
        force_mode_get_damping\nforce_mode_get_gain_scaling\njerk_gain_scaling_get\nmotion_version_get
        path_offset_get\nget_target_tcp_pose_along_path\nget_target_tcp_speed_along_path
        get_pose\nconvert_pose\nget_children\nget_frame_parent\nis_frame""",
        0,
    ),
    **_rows(
        "quiet",
        """stopj(a=2, qa=); rad/s²\nstopl(a=2, aRot="a"); m/s², rad/s²
        popup(s, title="Popup", warning=False, error=False, blocking=False)
        interpreter_mode(clearQueueOnEnter=True, clearOnEnd=True)\nend_freedrive_mode()\nend_teach_mode()""",
        waits=True,
    ),
    **_rows(
        "quiet",
        """set_digital_out(n, b)\nset_standard_digital_out(n, b)\nset_configurable_digital_out(n, b)
        set_tool_digital_out(n, b)\nset_analog_out(n, f)\nset_standard_analog_out(n, f)\nset_flag(n, b)
        textmsg(s1, s2="")\nset_tool_voltage(voltage); V\nset_gravity(d); m/s²
        set_tool_communication(enabled, baud_rate, parity, stop_bits, rx_idle_chars, tx_idle_chars)
        socket_close(socket_name="socket_0")\nwrite_output_boolean_register(address, value)
        write_output_integer_register(address, value)\nwrite_output_float_register(address, value)
        zero_ftsensor()
        ft_rtde_input_enable(enable, sensor_mass=0, sensor_measuring_offset=[0, 0, 0], sensor_cog=[0, 0, 0])
        enable_external_ft_sensor(enable, sensor_mass=0, sensor_measuring_offset=[0, 0, 0], sensor_cog=[0, 0, 0])
        force_mode_set_damping(damping)\nforce_mode_set_gain_scaling(scaling)
        rtde_set_watchdog(variable_name, min_frequency, action="pause"); Hz
        assert(expression)\nprotective_stop()\nclear_interpreter()\nend_interpreter()
        get_last_executed_interpreter\npowerdown""",
    ),
    **_rows(  # with which a program that PolyScope wrote begins
        "quiet",
        """set_standard_analog_input_domain(port, domain)\nset_tool_analog_input_domain(port, domain)
        set_analog_inputrange(port, range)\nset_analog_outputdomain(port, domain)\nset_tool_output_mode(mode)
        set_tool_digital_output_mode(n, mode)\nset_input_actions_to_default()
        set_standard_digital_input_action(port, action)\nset_configurable_digital_input_action(port, action)
        set_tool_digital_input_action(port, action)\nset_gp_boolean_input_action(port, action)
        set_safety_mode_transition_hardness(type)\nset_runstate_outputs(outputs=[])
        set_runstate_standard_digital_output_to_value(outputId, state)
        set_runstate_configurable_digital_output_to_value(outputId, state)
        set_runstate_tool_digital_output_to_value(outputId, state)
        modbus_add_signal(IP, slave_number, signal_address, signal_type, signal_name, sequential_mode=False, count=1)
        modbus_delete_signal(signal_name)\nmodbus_set_signal_update_frequency(signal_name, update_frequency); Hz
        modbus_set_runstate_dependent_choice(signal_name, runstate_choice)
        modbus_set_output_signal(signal_name, digital_value, is_secondary_program=False)
        modbus_set_output_register(signal_name, register_value, is_secondary_program=False)""",
    ),
    **_names(
        "quiet",
        "stopc set_digital_input_action set_runstate_standard_analog_output_to_value "
        "set_runstate_gp_boolean_output_to_value set_baselight_iec write_port_bit write_port_register "
        "modbus_set_digital_input_action modbus_send_custom_command force_mode_example varmsg "
        "request_popup encoder_enable_pulse_decode encoder_enable_set_tick_count encoder_set_tick_count "
        "reset_world_model set_conveyor_tick_count stop_conveyor_tracking reset_revolution_counter "
        "set_euromap_output set_euromap_runstate_dependent_choice set_payload_inertia_none "
        "path_offset_disable path_offset_set_alpha_filter path_offset_set_max_offset end_screw_driving "
        "set_operator_mode_password unlock_protective_stop set_rotation_limit gravity set_tool_flange "
        "set_joint_limits position_deviation_warning "
        "tool_wrench_limit_set tool_wrench_limit_disable motion_version_set jerk_gain_scaling_set "
        "set_runstate_standard_digital_outputs set_runstate_configurable_digital_outputs pause_on_error_code "
        "set_baselight_off set_baselight_solid high_holding_torque_enable high_holding_torque_disable "
        "modbus_add_rw_signal modbus_reset_connection modbus_set_signal_watchdog frame_tracking_disable "
        "add_frame attach_frame move_frame delete_frame delete_all_frames",
    ),
}
MOTION = frozenset(name for name, row in BUILTINS.items() if row.moves)
