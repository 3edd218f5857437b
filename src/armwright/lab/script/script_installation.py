# SPDX-License-Identifier: Apache-2.0
"""Functions of the language with which a program that PolyScope wrote begins: what its installation has set.

Lines of the control box and the tool are set. What nothing here depends on is checked and changes nothing: domains of
analogue inputs, how hard safety modes change, inputs without an action. Modbus signals are known by name; nobody
answers behind them, so an output gives back what was written and an input is a fault where it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from armwright.lab.script.script_arguments import flag, number, text, whole
from armwright.lab.script.script_faults import ScriptFault
from armwright.lab.script.script_registers import LINES
from armwright.lab.script.script_run import ModbusSignal
from armwright.lab.script.script_values import LISTS, ScriptValue

if TYPE_CHECKING:
    from armwright.lab.script.script_run import ScriptRun

KEEP, LOW_STOPPED, HIGH_STOPPED, HIGH_RUNNING, LOW_FAILED, HIGH_FAILED = range(6)
"""What an output does when its program ends; the last two only if it ends by a fault (manual, set_runstate_…)."""
MOST_SIGNALS = 256  # of Modbus
DIGITAL_INPUT, DIGITAL_OUTPUT, REGISTER_INPUT, REGISTER_OUTPUT = range(4)


# --- lines ------------------------------------------------------------------------------------------------------------


def _domain(most: int, m: ScriptRun, port: ScriptValue, domain: ScriptValue) -> None:
    """Accept what an analogue input measures: 0 current, 1 voltage; it is always 0."""
    whole(port, "port", 0, most), whole(domain, "domain", 0, 4)


def _output_domain(m: ScriptRun, port: ScriptValue, domain: ScriptValue) -> None:
    bit = 1 << whole(port, "port", 0, 1)
    voltage = whole(domain, "domain", 0, 1)
    m.c.registers.analogue_types = m.c.registers.analogue_types & ~bit | (bit if voltage else 0)


def _tool_output_mode(m: ScriptRun, mode: ScriptValue) -> None:
    m.c.registers.tool_output_mode = whole(mode, "mode", 0, 1)


def _tool_pin_mode(m: ScriptRun, n: ScriptValue, mode: ScriptValue) -> None:
    m.c.registers.tool_pin_modes[whole(n, "n", 0, 1)] = whole(mode, "mode", 1, 3)


def _action(most: int, m: ScriptRun, port: ScriptValue, action: ScriptValue) -> None:
    whole(port, "port", 0, most)
    wanted = text(action, "action")
    if wanted != "default":
        raise ScriptFault(f"no action of an input but 'default' is available here, not {wanted!r:.40}")


def _hardness(m: ScriptRun, kind: ScriptValue) -> None:
    whole(kind, "type", 0, 1)


def _at_end(kind: str, m: ScriptRun, output: ScriptValue, state: ScriptValue) -> None:
    """Say what an output does when the program ends; one that is high while it runs is high now."""
    first, most = LINES[kind]
    bit = 1 << (first + whole(output, "outputId", 0, most))
    wanted = whole(state, "state", KEEP, HIGH_FAILED)
    m.outputs_at_end[bit] = wanted
    if wanted == HIGH_RUNNING:
        m.c.registers.digital |= bit


def _no_outputs_at_end(m: ScriptRun, outputs: ScriptValue) -> None:
    if outputs.__class__ not in LISTS or outputs:
        raise ScriptFault("set_runstate_outputs: only [] is available here; set_runstate_…_output_to_value sets one")


def leave_outputs(m: ScriptRun, *, failed: bool) -> None:
    """Set the outputs as they are to be when the program has ended."""
    registers = m.c.registers
    for bit, state in m.outputs_at_end.items():
        if state == HIGH_STOPPED or (failed and state == HIGH_FAILED):
            registers.digital |= bit
        elif state in (LOW_STOPPED, HIGH_RUNNING) or (failed and state == LOW_FAILED):
            registers.digital &= ~bit


# --- Modbus -----------------------------------------------------------------------------------------------------------


def _add(
    m: ScriptRun,
    host: ScriptValue,
    slave: ScriptValue,
    address: ScriptValue,
    kind: ScriptValue,
    name: ScriptValue,
    sequential: ScriptValue,
    count: ScriptValue,
) -> None:
    text(host, "IP"), whole(slave, "slave_number", 0, 255), whole(address, "signal_address", 0, 65535)
    flag(sequential, "sequential_mode"), whole(count, "register_count", 1, 123)
    chosen, signal = whole(kind, "signal_type", DIGITAL_INPUT, REGISTER_OUTPUT), text(name, "signal_name")
    if len(m.modbus) >= MOST_SIGNALS and signal not in m.modbus:
        raise ScriptFault(f"more than {MOST_SIGNALS} Modbus signals")
    m.modbus[signal] = ModbusSignal(chosen, chosen == REGISTER_OUTPUT and 0)


def _signal(m: ScriptRun, name: ScriptValue) -> ModbusSignal:
    found = m.modbus.get(text(name, "signal_name"))
    if found is None:
        raise ScriptFault(f"there is no Modbus signal {name!r:.60}")
    return found


def _delete(m: ScriptRun, name: ScriptValue) -> None:
    _signal(m, name)
    del m.modbus[name]


def _status(m: ScriptRun, name: ScriptValue, secondary: ScriptValue) -> ScriptValue:
    flag(secondary, "is_secondary_program")
    found = _signal(m, name)
    if found.kind in (DIGITAL_INPUT, REGISTER_INPUT):
        raise ScriptFault(f"nobody answers behind the Modbus input {name!r:.60} of this virtual controller")
    return found.value


def _put(kind: int, m: ScriptRun, name: ScriptValue, value: ScriptValue, secondary: ScriptValue) -> None:
    flag(secondary, "is_secondary_program")
    found = _signal(m, name)
    if found.kind != kind:
        raise ScriptFault(
            f"the Modbus signal {name!r:.60} is no {'register' if kind == REGISTER_OUTPUT else 'digital'} output"
        )
    m.modbus[name] = found._replace(
        value=whole(value, "register_value", 0, 65535) if kind == REGISTER_OUTPUT else flag(value, "digital_value")
    )


def _checked(m: ScriptRun, name: ScriptValue, setting: ScriptValue) -> None:
    _signal(m, name)
    number(setting, "a setting of the signal")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "set_standard_analog_input_domain": partial(_domain, 1),
    "set_tool_analog_input_domain": partial(_domain, 1),
    "set_analog_inputrange": partial(_domain, 3),
    "set_analog_outputdomain": _output_domain,
    "set_tool_output_mode": _tool_output_mode,
    "set_tool_digital_output_mode": _tool_pin_mode,
    "set_input_actions_to_default": lambda m: None,
    "set_standard_digital_input_action": partial(_action, 7),
    "set_configurable_digital_input_action": partial(_action, 7),
    "set_tool_digital_input_action": partial(_action, 1),
    "set_gp_boolean_input_action": partial(_action, 255),
    "set_safety_mode_transition_hardness": _hardness,
    **{f"set_runstate_{kind}digital_output_to_value": partial(_at_end, kind) for kind in LINES if kind},
    "set_runstate_outputs": _no_outputs_at_end,
    "modbus_add_signal": _add,
    "modbus_delete_signal": _delete,
    "modbus_get_signal_status": _status,
    "modbus_set_output_signal": partial(_put, DIGITAL_OUTPUT),
    "modbus_set_output_register": partial(_put, REGISTER_OUTPUT),
    "modbus_set_signal_update_frequency": _checked,
    "modbus_set_runstate_dependent_choice": _checked,
}
