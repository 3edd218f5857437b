# SPDX-License-Identifier: Apache-2.0
"""What the controller publishes: every output by its name in RTDE.

`Outputs` computes a value when it is first asked for, so that a tick costs what clients want to know and no more. What
is not simulated is constant: temperatures, voltages of the control box, the lines of Euromap 67, encoders of conveyors.
A controller that never stops for a deviation of its joints has a deviation ratio of 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.lab.controller.controller import CONTROLLER_TICK
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
from armwright.lab.controller.registers import WORD

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller
    from armwright.lab.lab_plant import PublishedState
    from armwright.lab.plant_detail import PlantDetail
    from armwright.types import Array

TEMPERATURE, MAIN_VOLTAGE, ROBOT_VOLTAGE = 32.0, 48.0, 48.0  # constants: these are not simulated
NOT_SCALED, NO_PROGRAM = 1, 0
"""RTDE's time_scale_source: nothing but the slider slows the program down; there is none."""


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


class Outputs(dict[str, Any]):
    """Every RTDE output of one tick by name; vectors are lists. Valid until the next tick, under the controller's lock.

    Attributes:
        c: the controller. now: what is published about the tool.
    """

    def __init__(self, c: Controller) -> None:
        super().__init__()
        self.c = c
        self.now: PublishedState = c.plant.look()
        self._detail: PlantDetail | None = None
        self._measured: Array | None = c.plant.measured_current() if c.plant.noisy else None

    @property
    def measured(self) -> Array:
        """Return the motor currents (6,) with their noise [A], the same for all who ask."""
        if self._measured is None:
            self._measured = self.c.plant.measured_current()
        return self._measured

    @property
    def detail(self) -> PlantDetail:
        """Return momentum, elbow, accelerations, wrench at the base."""
        if self._detail is None:
            self._detail = self.c.plant.detail()
        return self._detail

    @property
    def force(self) -> Array:
        """Return force and torque (6,) at the TCP, base axes, as zeroed [N, N m]."""
        return np.asarray(self.now.force - self.c.ft_offset)

    def __missing__(self, name: str) -> object:
        value = self[name] = VALUES[name](self)
        return value


def values(c: Controller) -> Outputs:
    """Return the outputs of the present tick."""
    return Outputs(c)


def _constant(value: object) -> Callable[[Outputs], Any]:
    return lambda o: value


def _register(kind: str, k: int) -> Callable[[Outputs], Any]:
    return lambda o: getattr(o.c.registers, kind)[k]


def _bits(kind: str, shift: int, mask: int) -> Callable[[Outputs], int]:
    return lambda o: getattr(o.c.registers, kind) >> shift & mask


def _bit(kind: str, k: int) -> Callable[[Outputs], bool]:
    return lambda o: bool(getattr(o.c.registers, kind) >> k & 1)


def _joints(o: Outputs) -> list[float]:
    return list(map(float, o.c.plant.live.q))


def _joint_speeds(o: Outputs) -> list[float]:
    return list(map(float, o.c.plant.live.qd))


def _felt(o: Outputs) -> float:
    """Return how near the detector is to a collision: 1 is one."""
    return max(0.0, float(o.c.plant.live.outputs["level"][0]))


def _time_scale(o: Outputs) -> int:
    return NOT_SCALED if o.c.state is ControllerState.PLAYING else NO_PROGRAM


VALUES: dict[str, Callable[[Outputs], Any]] = {
    "timestamp": lambda o: o.c.time,
    "control_step": lambda o: o.c.ticks,
    "actual_execution_time": lambda o: o.c.execution_time,
    "target_execution_time": lambda o: 1e3 * CONTROLLER_TICK,
    # joints
    "target_q": lambda o: o.c.reference.q.tolist(),
    "target_qd": lambda o: o.c.reference.qd.tolist(),
    "target_qdd": lambda o: o.c.reference.qdd.tolist(),
    "target_current": lambda o: o.c.plant.map.current(o.now.torque).tolist(),
    "target_moment": lambda o: o.now.torque.tolist(),
    "actual_q": _joints,
    "actual_qd": _joint_speeds,
    "actual_current": lambda o: o.measured.tolist(),
    "joint_control_output": lambda o: o.measured.tolist(),
    "actual_current_window": lambda o: np.abs(o.c.plant.thresholds / o.c.plant.map.k).tolist(),
    "actual_current_as_torque": lambda o: o.c.plant.map.torque(o.measured).tolist(),
    "joint_temperatures": _constant([TEMPERATURE] * 6),
    "joint_mode": lambda o: [joint_mode(o.c.state)] * 6,
    "actual_joint_voltage": _constant([ROBOT_VOLTAGE] * 6),
    # tool and elbow
    "actual_TCP_pose": lambda o: o.now.pose.tolist(),
    "actual_TCP_speed": lambda o: o.now.speed.tolist(),
    "actual_TCP_force": lambda o: o.force.tolist(),
    "actual_TCP_acceleration": lambda o: o.detail.acceleration.tolist(),
    "target_TCP_pose": lambda o: o.now.target_pose.tolist(),
    "target_TCP_speed": lambda o: o.now.target_speed.tolist(),
    "target_TCP_acceleration": lambda o: o.detail.target_acceleration.tolist(),
    "tcp_offset": lambda o: o.c.plant.tcp.tolist(),
    "tcp_force_scalar": lambda o: math.hypot(*o["actual_TCP_force"][:3]),
    "ft_raw_wrench": lambda o: o.now.force.tolist(),
    "wrench_calc_from_currents": lambda o: o.now.force.tolist(),
    "actual_tool_accelerometer": lambda o: o.now.acceleration.tolist(),
    "actual_momentum": lambda o: math.hypot(*o.detail.momentum),
    "elbow_position": lambda o: o.detail.elbow.tolist(),
    "elbow_velocity": lambda o: o.detail.elbow_speed.tolist(),
    # load and mounting
    "payload": lambda o: float(o.c.plant.load[0]),
    "payload_cog": lambda o: o.c.plant.load[1:].tolist(),
    "payload_inertia": lambda o: o.c.plant.load_inertia.tolist(),
    "target_gravity": lambda o: (-o.c.plant.robot.gravity).tolist(),
    "target_base_acceleration": _constant([0.0] * 6),
    "target_base_wrench": lambda o: o.detail.base_wrench.tolist(),
    # energy
    "actual_robot_energy_consumed": lambda o: o.c.plant.work[0],
    "actual_robot_braking_energy_dissipated": lambda o: o.c.plant.work[1],
    "actual_robot_current": lambda o: sum(map(abs, o["actual_current"])) / 10.0,
    "actual_main_voltage": _constant(MAIN_VOLTAGE),
    "actual_robot_voltage": _constant(ROBOT_VOLTAGE),
    # modes
    "robot_mode": lambda o: ROBOT_MODES.get(o.c.state, RobotMode.RUNNING).value,
    "safety_mode": lambda o: o.c.safety.value,
    "safety_status": lambda o: o.c.safety.value,
    "runtime_state": lambda o: RUNTIME.get(o.c.state, RuntimeState.STOPPED).value,
    "robot_status_bits": lambda o: status_bits(o.c.state, o.c.safety)[0],
    "safety_status_bits": lambda o: status_bits(o.c.state, o.c.safety)[1],
    "joint_position_deviation_ratio": _constant(0.0),
    "collision_detection_ratio": _felt,
    # program
    "speed_scaling": lambda o: o.c.scale,
    "target_speed_fraction": lambda o: o.c.registers.speed,
    "time_scale_source": _time_scale,
    "script_control_line": lambda o: getattr(o.c.program, "line", 0),
    # lines of the control box and the tool
    "actual_digital_input_bits": lambda o: o.c.registers.digital_in,
    "actual_digital_output_bits": lambda o: o.c.registers.digital,
    "actual_configurable_digital_input_bits": _bits("digital_in", 8, 0xFF),
    "actual_configurable_digital_output_bits": _bits("digital", 8, 0xFF),
    "analog_io_types": lambda o: o.c.registers.analogue_types << 2,
    "standard_analog_input0": _constant(0.0),
    "standard_analog_input1": _constant(0.0),
    "standard_analog_output0": lambda o: o.c.registers.analogue_level(0),
    "standard_analog_output1": lambda o: o.c.registers.analogue_level(1),
    "io_current": _constant(0.0),
    "euromap67_input_bits": _constant(0),
    "euromap67_output_bits": _constant(0),
    "euromap67_24V_voltage": _constant(0.0),
    "euromap67_24V_current": _constant(0.0),
    "encoder0_raw": _constant(0),
    "encoder1_raw": _constant(0),
    "tool_mode": lambda o: joint_mode(o.c.state),
    "tool_analog_input_types": _constant(0),
    "tool_analog_input0": _constant(0.0),
    "tool_analog_input1": _constant(0.0),
    "tool_output_voltage": lambda o: o.c.registers.tool_voltage,
    "tool_output_current": _constant(0.0),
    "tool_temperature": _constant(TEMPERATURE),
    "tool_output_mode": lambda o: o.c.registers.tool_output_mode,
    "tool_digital_output0_mode": _register("tool_pin_modes", 0),
    "tool_digital_output1_mode": _register("tool_pin_modes", 1),
    # registers
    "output_bit_registers0_to_31": _bits("out_bits", 0, WORD),
    "output_bit_registers32_to_63": _bits("out_bits", 32, WORD),
    "input_bit_registers0_to_31": _bits("bits", 0, WORD),
    "input_bit_registers32_to_63": _bits("bits", 32, WORD),
}
for _k in range(48):
    VALUES[f"output_int_register_{_k}"] = _register("out_ints", _k)
    VALUES[f"output_double_register_{_k}"] = _register("out_doubles", _k)
    VALUES[f"input_int_register_{_k}"] = _register("ints", _k)
    VALUES[f"input_double_register_{_k}"] = _register("doubles", _k)
for _k in range(64, 128):
    VALUES[f"output_bit_register_{_k}"] = _bit("out_bits", _k)
    VALUES[f"input_bit_register_{_k}"] = _bit("bits", _k)
