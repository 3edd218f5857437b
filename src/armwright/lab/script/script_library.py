# SPDX-License-Identifier: Apache-2.0
"""All functions of the language that the machine runs, by name; each takes the machine, then its arguments in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from armwright.lab.script import (
    script_data,
    script_installation,
    script_interpreter,
    script_motion,
    script_registers,
    script_settings,
    script_state,
    script_talk,
    script_wire,
)

RUNS: dict[str, Callable[..., Any]] = {
    **script_data.FUNCTIONS,
    **script_installation.FUNCTIONS,
    **script_interpreter.FUNCTIONS,
    **script_motion.FUNCTIONS,
    **script_registers.FUNCTIONS,
    **script_settings.FUNCTIONS,
    **script_state.FUNCTIONS,
    **script_talk.FUNCTIONS,
    **script_wire.FUNCTIONS,
}
LONG_WORK = {
    5: "textmsg popup set_tcp get_tcp_offset write_output_boolean_register to_str str_cat str_sub str_find "
    "socket_send_string socket_send_line socket_set_var",
    20: "pose_inv point_dist rpy2rotvec rotvec2rpy wrench_trans get_actual_tcp_pose get_tcp_pose get_target_tcp_pose "
    "get_target_waypoint get_actual_tool_flange_pose get_actual_tcp_speed get_target_tcp_speed get_tcp_force force "
    "tool_contact get_forward_kin zero_ftsensor set_payload set_payload_mass set_payload_cog set_target_payload",
    40: "pose_trans pose_add pose_sub pose_dist interpolate_pose get_inverse_kin get_inverse_kin_has_solution "
    "is_within_safety_limits get_freedrive_status get_mass_matrix get_jacobian get_jacobian_time_derivative "
    "get_coriolis_and_centrifugal_torques inv movej movel movep movec optimovej optimovel",
}
WORK: dict[str, int] = {name: work for work, names in LONG_WORK.items() for name in names.split()}
"""Functions that take as long as so many passes of an empty loop, some microseconds each, long texts left aside."""
