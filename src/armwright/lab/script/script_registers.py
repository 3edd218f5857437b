# SPDX-License-Identifier: Apache-2.0
"""Functions of the language for registers, digital and analogue lines, flags."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from armwright.lab.script.script_arguments import flag, number, whole

if TYPE_CHECKING:
    from armwright.lab.script.script_run import ScriptRun
    from armwright.lab.script.script_values import ScriptValue

MOST_REGISTER, MOST_BIT, MOST_FLAG = 47, 127, 31
LINES = {"": (0, 7), "standard_": (0, 7), "configurable_": (8, 7), "tool_": (16, 1)}
"""Kind of a digital line → its first bit among the outputs, and its largest number."""


def _read_integer(m: ScriptRun, address: ScriptValue) -> int:
    return m.c.registers.ints[whole(address, "address", 0, MOST_REGISTER)]


def _read_float(m: ScriptRun, address: ScriptValue) -> float:
    return m.c.registers.doubles[whole(address, "address", 0, MOST_REGISTER)]


def _read_output_integer(m: ScriptRun, address: ScriptValue) -> int:
    return m.c.registers.out_ints[whole(address, "address", 0, MOST_REGISTER)]


def _read_output_float(m: ScriptRun, address: ScriptValue) -> float:
    return m.c.registers.out_doubles[whole(address, "address", 0, MOST_REGISTER)]


def _write_integer(m: ScriptRun, address: ScriptValue, value: ScriptValue) -> None:
    at = whole(address, "address", 0, MOST_REGISTER)
    m.c.registers.out_ints[at] = int(max(-(2.0**31), min(2.0**31 - 1.0, number(value, "value"))))


def _write_float(m: ScriptRun, address: ScriptValue, value: ScriptValue) -> None:
    m.c.registers.out_doubles[whole(address, "address", 0, MOST_REGISTER)] = number(value, "value")


def _read_bit(m: ScriptRun, address: ScriptValue) -> bool:
    return bool(m.c.registers.bits >> whole(address, "address", 0, MOST_BIT) & 1)


def _read_output_bit(m: ScriptRun, address: ScriptValue) -> bool:
    return bool(m.c.registers.out_bits >> whole(address, "address", 0, MOST_BIT) & 1)


def _write_bit(m: ScriptRun, address: ScriptValue, value: ScriptValue) -> None:
    m.c.registers.set_out_bit(whole(address, "address", 0, MOST_BIT), flag(value, "value"))


def _set_line(kind: str, m: ScriptRun, n: ScriptValue, b: ScriptValue) -> None:
    first, most = LINES[kind]
    bit = 1 << (first + whole(n, "n", 0, 9 if not kind else most))
    registers = m.c.registers
    registers.digital = registers.digital | bit if flag(b, "b") else registers.digital & ~bit


def _line_out(kind: str, m: ScriptRun, n: ScriptValue) -> bool:
    first, most = LINES[kind]
    return bool(m.c.registers.digital >> (first + whole(n, "n", 0, most)) & 1)


def _line_in(kind: str, m: ScriptRun, n: ScriptValue) -> bool:
    first, most = LINES[kind]
    return bool(m.c.registers.digital_in >> (first + whole(n, "n", 0, most)) & 1)


def _set_level(m: ScriptRun, n: ScriptValue, f: ScriptValue) -> None:
    m.c.registers.analogue[whole(n, "n", 0, 1)] = min(1.0, max(0.0, number(f, "f")))


def _level(m: ScriptRun, n: ScriptValue) -> float:
    return m.c.registers.analogue[whole(n, "n", 0, 1)]


def _set_flag(m: ScriptRun, n: ScriptValue, b: ScriptValue) -> None:
    m.flags[whole(n, "n", 0, MOST_FLAG)] = flag(b, "b")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "read_input_integer_register": _read_integer,
    "read_input_float_register": _read_float,
    "read_input_boolean_register": _read_bit,
    "read_output_integer_register": _read_output_integer,
    "read_output_float_register": _read_output_float,
    "read_output_boolean_register": _read_output_bit,
    "write_output_integer_register": _write_integer,
    "write_output_float_register": _write_float,
    "write_output_boolean_register": _write_bit,
    **{f"set_{kind}digital_out": partial(_set_line, kind) for kind in LINES},
    **{f"get_{kind}digital_out": partial(_line_out, kind) for kind in LINES},
    **{f"get_{kind}digital_in": partial(_line_in, kind) for kind in LINES},
    "set_analog_out": _set_level,
    "set_standard_analog_out": _set_level,
    "get_analog_out": _level,
    "get_standard_analog_out": _level,
    "get_analog_in": lambda m, n: 0.0 * whole(n, "n", 0, 3),
    "get_standard_analog_in": lambda m, n: 0.0 * whole(n, "n", 0, 1),
    "get_tool_analog_in": lambda m, n: 0.0 * whole(n, "n", 0, 1),
    "set_flag": _set_flag,
    "get_flag": lambda m, n: m.flags[whole(n, "n", 0, MOST_FLAG)],
}
