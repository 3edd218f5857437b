# SPDX-License-Identifier: Apache-2.0
"""Functions of the language for the arm's state and its mathematics: joints, poses, forces, kinematics."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller import move_calls as moves
from armwright.lab.controller.controller import STEADY
from armwright.lab.script.script_arguments import listed, numbers, pose_numbers, told_pose, whole
from armwright.lab.script.script_faults import ScriptFault
from armwright.lab.script.script_values import PoseValue, Rows, ScriptValue

if TYPE_CHECKING:
    from armwright.lab.script.script_run import ScriptRun
    from armwright.types import Array

NEAR_ROUNDS = 8  # of Newton's method for a pose near joints that are known
NEAR_WAY = 0.5  # [rad] that a joint may go in them, or it may have changed its branch
NEAR_SINGULAR_VALUE, SINGULAR_VALUE = 0.05, 0.01
TEMPERATURE = 32.0  # [°C], constant: it is not simulated


def _actual_joints(m: ScriptRun) -> ScriptValue:
    return listed(m.c.plant.live.q)


def _target_joints(m: ScriptRun) -> ScriptValue:
    return listed(m.c.reference.q)


def _actual_pose(m: ScriptRun) -> ScriptValue:
    return told_pose(m.c.plant.pose_of(np.array(m.c.plant.live.q)))


def _target_pose(m: ScriptRun) -> ScriptValue:
    return told_pose(m.c.target_pose())


def _flange_pose(m: ScriptRun) -> ScriptValue:
    return told_pose(m.c.plant.pose_of(np.array(m.c.plant.live.q), np.zeros(6)))


def _actual_speed(m: ScriptRun) -> ScriptValue:
    return listed(m.c.plant.look().speed)


def _target_speed(m: ScriptRun) -> ScriptValue:
    return listed(m.c.plant.look().target_speed)


def tool_force(m: ScriptRun) -> Array:
    """Return what the world does to the tool (6,), base axes, since it was set to zero [N, N m]."""
    felt: Array = m.c.plant.look().force - m.c.ft_offset
    return felt


def _force(m: ScriptRun) -> float:
    return float(np.linalg.norm(tool_force(m)[:3]))


def _history(m: ScriptRun, steps: ScriptValue) -> ScriptValue:
    return listed(m.c.past(whole(steps, "steps", 0, 10**6)))


def _tool_contact(m: ScriptRun, direction: ScriptValue) -> int:
    """Return how many of the controller's steps ago something began to push against a direction, else 0."""
    return m.c.touched_steps(numbers(direction, "direction", 6)[:3])


# --- kinematics -------------------------------------------------------------------------------------------------------


def _tool(m: ScriptRun, tcp: ScriptValue) -> Array:
    """Return the tool (6,) that is meant: the present one if none is given."""
    if tcp is None or (tcp.__class__ is str and tcp == "active_tcp"):
        return m.c.plant.tcp.copy()
    return pose_numbers(tcp, "tcp")


def joints_near(m: ScriptRun, pose: Array, near: Array, tool: Array) -> Generator[object, None, Array | None]:
    """Return joints (6,) near `near` that reach a pose, None if there are none; may wait for the solver."""
    robot = m.c.plant.robot
    if np.array_equal(tool, m.c.plant.tcp):
        q, error = m.c.plant.towards(near, pose, rounds=NEAR_ROUNDS)
        inside = (q <= robot.upper).all() and (q >= robot.lower).all()
        if error < moves.REACHED_POSE_ERROR and inside and float(np.abs(q - near).max()) < NEAR_WAY:
            return np.array(q)
    found: Array | None = yield from m.solved(partial(m.c.plant.inverse, pose, near, tool))
    return found


def _inverse_kin(
    m: ScriptRun,
    x: ScriptValue,
    qnear: ScriptValue,
    position_error: ScriptValue,
    orientation_error: ScriptValue,
    tcp: ScriptValue,
) -> Generator[object, None, ScriptValue]:
    found = yield from _found(m, x, qnear, tcp)
    if found is None:
        raise ScriptFault(f"get_inverse_kin: no inverse solution for {np.round(pose_numbers(x, 'x'), 4).tolist()}")
    return listed(found)


def _has_inverse(
    m: ScriptRun,
    pose: ScriptValue,
    qnear: ScriptValue,
    position_error: ScriptValue,
    orientation_error: ScriptValue,
    tcp: ScriptValue,
) -> Generator[object, None, ScriptValue]:
    found = yield from _found(m, pose, qnear, tcp)
    return found is not None


def _found(m: ScriptRun, x: ScriptValue, qnear: ScriptValue, tcp: ScriptValue) -> Generator[object, None, Array | None]:
    six = pose_numbers(x, "x")
    near = np.array(m.c.reference.q) if qnear is None else numbers(qnear, "qnear", 6)
    try:
        goal = moves.pose_goal(six.tolist())
    except InputError:
        return None
    found = yield from joints_near(m, goal, near, _tool(m, tcp))
    return found


def _forward_kin(m: ScriptRun, q: ScriptValue, tcp: ScriptValue) -> ScriptValue:
    joints = np.array(m.c.plant.live.q) if q is None else numbers(q, "q", 6)
    return told_pose(m.c.plant.pose_of(joints, _tool(m, tcp)))


def _within_limits(m: ScriptRun, pose: ScriptValue, qnear: ScriptValue) -> Generator[object, None, ScriptValue]:
    """Return whether joints are within their ranges, or a pose within reach."""
    if pose.__class__ is PoseValue:
        found = yield from _found(m, pose, qnear, None)
        return found is not None
    try:
        moves.joint_goal(m.c, numbers(pose, "pose", 6).tolist())
    except InputError:
        return False
    return True


def _rows(matrix: Array) -> ScriptValue:
    return Rows([listed(row) for row in matrix])


def _present_only(*given: ScriptValue) -> None:
    """Refuse other states than the present one."""
    if any(value is not None for value in given):
        raise ScriptFault("the arm's mathematics is told for its present state here: leave q, qd and tcp out")


def _mass_matrix(m: ScriptRun, q: ScriptValue, tcp: ScriptValue, rotors: ScriptValue) -> ScriptValue:
    _present_only(q, tcp)
    return _rows(m.c.plant.model().mass)


def _coriolis(m: ScriptRun, q: ScriptValue, qd: ScriptValue, tcp: ScriptValue) -> ScriptValue:
    _present_only(q, qd, tcp)
    return listed(m.c.plant.model().coriolis)


def _jacobian(m: ScriptRun, q: ScriptValue, tcp: ScriptValue) -> ScriptValue:
    _present_only(q, tcp)
    return _rows(m.c.plant.model().jacobian)


def _jacobian_rate(m: ScriptRun, q: ScriptValue, qd: ScriptValue, tcp: ScriptValue) -> ScriptValue:
    _present_only(q, qd, tcp)
    return _rows(m.c.plant.model().jacobian_dot)


def _freedrive_status(m: ScriptRun) -> int:
    """Return 0 normal, 1 near a singularity, 2 too close, by the Jacobian's least singular value."""
    least = np.linalg.svd(m.c.plant.model().jacobian, compute_uv=False)[-1]
    return int(least < NEAR_SINGULAR_VALUE) + int(least < SINGULAR_VALUE)


def _payload_inertia(m: ScriptRun) -> ScriptValue:
    return listed(np.zeros(6) if m.inertia is None else m.inertia)


def _joint_temperature(m: ScriptRun, j: ScriptValue) -> float:
    whole(j, "j", 0, 5)
    return TEMPERATURE


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "get_actual_joint_positions": _actual_joints,
    "get_joint_positions": _actual_joints,
    "get_target_joint_positions": _target_joints,
    "get_actual_joint_speeds": lambda m: listed(m.c.plant.live.qd),
    "get_target_joint_speeds": lambda m: listed(m.c.reference.qd),
    "get_target_joint_accelerations": lambda m: listed(m.c.reference.qdd),
    "get_actual_tcp_pose": _actual_pose,
    "get_tcp_pose": _actual_pose,
    "get_target_tcp_pose": _target_pose,
    "get_target_waypoint": _target_pose,
    "get_actual_tool_flange_pose": _flange_pose,
    "get_actual_tcp_speed": _actual_speed,
    "get_target_tcp_speed": _target_speed,
    "get_tcp_offset": lambda m: told_pose(m.c.plant.tcp),
    "get_target_payload": lambda m: float(m.c.plant.load[0]),
    "get_target_payload_mass": lambda m: float(m.c.plant.load[0]),
    "get_target_payload_cog": lambda m: listed(m.c.plant.load[1:]),
    "get_target_payload_inertia": _payload_inertia,
    "get_gravity": lambda m: listed(-m.c.plant.robot.gravity if m.gravity is None else m.gravity),
    "get_steptime": lambda m: m.step_time,
    "get_tcp_force": lambda m: listed(tool_force(m)),
    "force": _force,
    "get_joint_torques": lambda m: listed(m.c.plant.live.outputs["tau_ext"]),
    "get_joint_temp": _joint_temperature,
    "get_controller_temp": lambda m: TEMPERATURE,
    "get_tool_current": lambda m: 0.0,
    "is_steady": lambda m: bool(m.c.steady >= STEADY),
    "get_actual_joint_positions_history": _history,
    "tool_contact": _tool_contact,
    "get_freedrive_status": _freedrive_status,
    "get_inverse_kin": _inverse_kin,
    "get_inverse_kin_has_solution": _has_inverse,
    "is_within_safety_limits": _within_limits,
    "get_forward_kin": _forward_kin,
    "get_mass_matrix": _mass_matrix,
    "get_coriolis_and_centrifugal_torques": _coriolis,
    "get_jacobian": _jacobian,
    "get_jacobian_time_derivative": _jacobian_rate,
}
