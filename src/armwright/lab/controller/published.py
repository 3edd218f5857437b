# SPDX-License-Identifier: Apache-2.0
"""What the controller publishes: every RTDE output by name, and the 756 bytes of the CB3 real-time port."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from armwright.lab.controller.controller_states import (
    BRAKED,
    ROBOT_MODES,
    RUNTIME,
    STOPPED_FOR_SAFETY,
    WITH_PROGRAM,
    ControllerState,
    RobotMode,
    RuntimeState,
    SafetyMode,
)

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller

REALTIME = struct.Struct(">I94d")
"""Length 756, then 94 doubles; 004 lists those that it uses in Table 4.3."""
TEMPERATURE, MAIN_VOLTAGE, ROBOT_VOLTAGE = 32.0, 48.0, 48.0  # constants: these are not simulated


UNPOWERED = (ControllerState.BOOTING, ControllerState.OFF, ControllerState.LOCKED, ControllerState.FAULT)
_EMERGENCIES = (SafetyMode.SYSTEM_EMERGENCY_STOP, SafetyMode.ROBOT_EMERGENCY_STOP)


def joint_mode(state: ControllerState) -> int:
    """Return RTDE joint_mode: 239 power off, 255 idle, 253 running."""
    if state in UNPOWERED:
        return 239
    return 255 if state in BRAKED else 253


def status_bits(state: ControllerState, safety: SafetyMode) -> tuple[int, int]:
    """Return robot_status_bits (power, program, …) and safety_status_bits.

    Of the latter: 0 normal, 1 reduced, 2 protective stop, 3 recovery, 4 safeguard, 5 and 6 emergency stop of the plant
    and of the robot, 7 either, 8 violation, 9 fault, 10 stopped for safety.
    """
    robot = (0 if state in UNPOWERED else 1) | (2 if state in WITH_PROGRAM else 0) | 8
    bits = 1 << safety.value - 1
    if safety in _EMERGENCIES:
        bits |= 1 << 7
    elif safety.value > SafetyMode.ROBOT_EMERGENCY_STOP.value:  # bit 7 is taken by "either emergency stop"
        bits <<= 1
    stopped = state in STOPPED_FOR_SAFETY or safety in (SafetyMode.SAFEGUARD_STOP, SafetyMode.FAULT)
    return robot, bits | (1 << 10 if stopped else 0)


def values(c: Controller) -> dict[str, Any]:
    """Return every output; vectors are lists. Call `LabPlant.look` before."""
    plant, live, ref, registers = c.plant, c.plant.live, c.reference, c.registers
    now = plant.now
    measured = plant.measured_current()
    current = measured.tolist()
    robot_bits, safety_bits = status_bits(c.state, c.safety)
    safety = c.safety.value
    force = (now.force - c.ft_offset).tolist()
    load = plant.load.tolist()
    out: dict[str, Any] = {
        "timestamp": c.time,
        "target_q": ref.q.tolist(),
        "target_qd": ref.qd.tolist(),
        "target_qdd": ref.qdd.tolist(),
        "target_current": plant.map.current(now.torque).tolist(),
        "target_moment": now.torque.tolist(),
        "actual_q": live.q.tolist(),
        "actual_qd": live.qd.tolist(),
        "actual_current": current,
        "actual_current_as_torque": plant.map.torque(measured).tolist(),
        "joint_control_output": current,
        "actual_TCP_pose": now.pose.tolist(),
        "actual_TCP_speed": now.speed.tolist(),
        "actual_TCP_force": force,
        "target_TCP_pose": now.target_pose.tolist(),
        "target_TCP_speed": now.target_speed.tolist(),
        "ft_raw_wrench": now.force.tolist(),
        "actual_digital_input_bits": 0,
        "actual_digital_output_bits": registers.digital,
        "joint_temperatures": [TEMPERATURE] * 6,
        "actual_execution_time": 0.0,
        "robot_mode": ROBOT_MODES.get(c.state, RobotMode.RUNNING).value,
        "joint_mode": [joint_mode(c.state)] * 6,
        "safety_mode": safety,
        "safety_status": safety,
        "actual_tool_accelerometer": now.acceleration.tolist(),
        "speed_scaling": c.scale,
        "target_speed_fraction": registers.speed,
        "actual_momentum": 0.0,
        "actual_main_voltage": MAIN_VOLTAGE,
        "actual_robot_voltage": ROBOT_VOLTAGE,
        "actual_robot_current": sum(map(abs, current)) / 10.0,
        "actual_joint_voltage": [ROBOT_VOLTAGE] * 6,
        "runtime_state": RUNTIME.get(c.state, RuntimeState.STOPPED).value,
        "robot_status_bits": robot_bits,
        "safety_status_bits": safety_bits,
        "analog_io_types": 0,
        "standard_analog_input0": 0.0,
        "standard_analog_input1": 0.0,
        "standard_analog_output0": registers.analogue[0],
        "standard_analog_output1": registers.analogue[1],
        "io_current": 0.0,
        "tool_mode": 253,
        "tool_analog_input_types": 0,
        "tool_analog_input0": 0.0,
        "tool_analog_input1": 0.0,
        "tool_output_voltage": 0,
        "tool_output_current": 0.0,
        "tool_temperature": TEMPERATURE,
        "tcp_force_scalar": sum(f * f for f in force[:3]) ** 0.5,
        "elbow_position": [0.0] * 3,
        "elbow_velocity": [0.0] * 3,
        "payload": load[0],
        "payload_cog": load[1:],
        "payload_inertia": [0.0] * 6,
        "output_bit_registers0_to_31": 0,
        "output_bit_registers32_to_63": 0,
        "input_bit_registers0_to_31": registers.bits[0],
        "input_bit_registers32_to_63": registers.bits[1],
    }
    for k in range(48):
        out[f"output_int_register_{k}"] = registers.out_ints[k]
        out[f"output_double_register_{k}"] = registers.out_doubles[k]
        out[f"input_int_register_{k}"] = registers.ints[k]
        out[f"input_double_register_{k}"] = registers.doubles[k]
    return out


def realtime_packet(v: dict[str, Any]) -> bytes:
    """Return the real-time packet of 756 bytes (004, Table 4.3) from the outputs of `values`."""
    numbers = [
        v["timestamp"],
        *v["target_q"],
        *v["target_qd"],
        *v["target_qdd"],
        *v["target_current"],
        *v["target_moment"],
        *v["actual_q"],
        *v["actual_qd"],
        *v["actual_current"],
        *v["actual_tool_accelerometer"],
        *[0.0] * 15,
        *v["actual_TCP_force"],
        *v["actual_TCP_pose"],
        *v["actual_TCP_speed"],
        float(v["actual_digital_input_bits"]),
        *v["joint_temperatures"],
        v["actual_execution_time"],
        0.0,
    ]
    return REALTIME.pack(REALTIME.size, *numbers)
