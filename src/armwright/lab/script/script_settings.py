# SPDX-License-Identifier: Apache-2.0
"""Functions of the language that set something: tool, load, gravity, voltage, watchdog; those that change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.lab.controller.controller_messages import STOP_BY_PROGRAM
from armwright.lab.script.script_arguments import flag, number, numbers, pose_numbers, text, whole
from armwright.lab.script.script_faults import ScriptFault, ScriptHalt

if TYPE_CHECKING:
    from armwright.lab.script.script_run import ScriptRun
    from armwright.lab.script.script_values import ScriptValue
    from armwright.types import Array

FARTHEST_TOOL = 2.0  # [m] from the flange
TOOL_VOLTAGES = (0, 12, 24)  # [V]


def _set_tcp(m: ScriptRun, pose: ScriptValue, name: ScriptValue) -> None:
    tcp = pose_numbers(pose, "pose")
    if np.abs(tcp[:3]).max() > FARTHEST_TOOL:
        raise ScriptFault(f"value_error: set_tcp: a tool within {FARTHEST_TOOL:g} m of the flange")
    m.c.plant.tcp[...] = tcp


def _told(m: ScriptRun, mass: float, centre: Array) -> None:
    m.c.plant.told(mass, centre)


def _set_payload(m: ScriptRun, mass: ScriptValue, cog: ScriptValue) -> None:
    """Set mass and centre; without one the tool point counts as the centre (manual, set_payload)."""
    centre = m.c.plant.tcp[:3].copy() if cog is None else numbers(cog, "cog", 3)
    _told(m, number(mass, "m"), centre)


def _set_mass(m: ScriptRun, mass: ScriptValue) -> None:
    _told(m, number(mass, "m"), np.array(m.c.plant.load[1:]))


def _set_centre(m: ScriptRun, cog: ScriptValue) -> None:
    _told(m, float(m.c.plant.load[0]), numbers(cog, "cog", 3))


def _set_target_payload(
    m: ScriptRun, mass: ScriptValue, cog: ScriptValue, inertia: ScriptValue, time: ScriptValue
) -> None:
    """Set mass and centre; the inertia is kept to be told, and taken as that of a point."""
    number(time, "transition_time")
    if inertia is not None:
        m.inertia = numbers(inertia, "inertia", 6)
    _told(m, number(mass, "m"), numbers(cog, "cog", 3))


def _set_gravity(m: ScriptRun, d: ScriptValue) -> None:
    """Accept how the arm is mounted; it is remembered, the arm's own model stays as its description has it."""
    m.gravity = numbers(d, "d", 3)


def _set_tool_voltage(m: ScriptRun, voltage: ScriptValue) -> None:
    volts = whole(voltage, "voltage", 0, 48)
    if volts not in TOOL_VOLTAGES:
        raise ScriptFault(f"value_error: set_tool_voltage: one of {TOOL_VOLTAGES}, not {volts}")
    m.c.registers.tool_voltage = volts


def _zero_sensor(m: ScriptRun) -> None:
    """Take the present force at the tool as zero."""
    m.c.ft_offset = np.array(m.c.plant.look().force)


def _sensor_input(m: ScriptRun, enable: ScriptValue, mass: ScriptValue, offset: ScriptValue, cog: ScriptValue) -> None:
    """Accept a sensor that a client reads; its wrench comes by RTDE."""
    flag(enable, "enable"), number(mass, "sensor_mass")
    numbers(offset, "sensor_measuring_offset", 3), numbers(cog, "sensor_cog", 3)


def _set_damping(m: ScriptRun, damping: ScriptValue) -> None:
    if not 0.0 <= number(damping, "damping") <= 1.0:
        raise ScriptFault("value_error: force_mode_set_damping: 0 to 1")


def _set_gain(m: ScriptRun, scaling: ScriptValue) -> None:
    gain = number(scaling, "scaling")
    if not 0.0 <= gain <= 2.0:
        raise ScriptFault("value_error: force_mode_set_gain_scaling: 0 to 2")
    m.force_gain = gain


def _watchdog(m: ScriptRun, name: ScriptValue, frequency: ScriptValue, action: ScriptValue) -> None:
    """Watch that a client writes an input at least so often; else the program pauses or stops."""
    rate, what = number(frequency, "min_frequency"), text(action, "action").lower()
    m.c.watchdogs.watch(text(name, "variable_name"), rate, what, m.c.time)


def _protective_stop(m: ScriptRun) -> None:
    m.c.protective_stop("asked for by the program", STOP_BY_PROGRAM, 2)
    raise ScriptHalt


def _tool_communication(m: ScriptRun, *six: ScriptValue) -> None:
    """Accept the settings of the tool's serial line: nothing is connected to it."""
    flag(six[0], "enabled")
    for value in six[1:]:
        number(value, "a setting of the line")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "set_tcp": _set_tcp,
    "set_payload": _set_payload,
    "set_payload_mass": _set_mass,
    "set_payload_cog": _set_centre,
    "set_target_payload": _set_target_payload,
    "set_gravity": _set_gravity,
    "set_tool_voltage": _set_tool_voltage,
    "set_tool_communication": _tool_communication,
    "zero_ftsensor": _zero_sensor,
    "ft_rtde_input_enable": _sensor_input,
    "enable_external_ft_sensor": _sensor_input,
    "force_mode_set_damping": _set_damping,
    "force_mode_set_gain_scaling": _set_gain,
    "rtde_set_watchdog": _watchdog,
    "protective_stop": _protective_stop,
}
