# SPDX-License-Identifier: Apache-2.0
"""Functions of the language for sockets: whole numbers of four bytes, bytes, lines, numbers in brackets, variables."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from armwright.lab.script.script_arguments import number, text, whole
from armwright.lab.script.script_values import MOST_TEXT_LENGTH, ScriptValue, text_of

if TYPE_CHECKING:
    from armwright.lab.script.script_run import ScriptRun

Reading = Generator[object, None, "ScriptValue"]
LEAST_DIALLING = 0.008  # [s] that socket_open takes: clients must have time to notice the one before
MOST_READ_NUMBERS = 30  # numbers of one reading
LONGEST_WAIT = 1e6  # [s]
LOOKED_AT_PER_WORK = 512  # bytes that are looked through in the time of an empty pass of a loop
NUMBERS_TEXT = re.compile(rb"\(([^()]{0,2000})\)")


def _open(m: ScriptRun, address: ScriptValue, port: ScriptValue, name: ScriptValue, timeout: ScriptValue) -> Reading:
    """Connect; whether it is connected in time."""
    dialled = m.sockets.dial(text(address, "address"), whole(port, "port", 1, 65535), _named(name))
    patience = number(timeout, "timeout")
    passed = 0.0
    while passed < LEAST_DIALLING - 1e-9 or (
        not dialled.connected and not dialled.failed and (patience <= 0.0 or passed < patience)
    ):
        yield None
        passed += m.step_time
    if not dialled.connected:
        m.sockets.drop(_named(name))
    return dialled.connected


def _named(name: ScriptValue) -> str:
    """Return the name of a socket: programs may use numbers."""
    return text_of(name)[:100]


def _close(m: ScriptRun, name: ScriptValue) -> None:
    m.sockets.drop(_named(name))


def _sent(m: ScriptRun, name: ScriptValue, data: bytes) -> bool:
    found = m.sockets.find(_named(name))
    return found is not None and found.send(data)


def _send_int(m: ScriptRun, value: ScriptValue, name: ScriptValue) -> bool:
    whole_number = int(max(-(2.0**31), min(2.0**31 - 1.0, math.trunc(number(value, "value")))))
    return _sent(m, name, struct.pack(">i", whole_number))


def _send_byte(m: ScriptRun, value: ScriptValue, name: ScriptValue) -> bool:
    return _sent(m, name, bytes([whole(value, "value", -128, 255) & 0xFF]))


def _send_string(m: ScriptRun, said: ScriptValue, name: ScriptValue) -> bool:
    return _sent(m, name, text_of(said).encode())


def _send_line(m: ScriptRun, said: ScriptValue, name: ScriptValue) -> bool:
    return _sent(m, name, text_of(said).encode() + b"\n")


def _until(
    m: ScriptRun, name: ScriptValue, timeout: ScriptValue, enough: Callable[[bytearray], int]
) -> Generator[object, None, bytes]:
    """Wait for so many bytes as `enough` says (0: not yet); nothing where they do not come in time, or it is closed."""
    patience = number(timeout, "timeout")
    left = patience if 0.0 < patience < LONGEST_WAIT else LONGEST_WAIT * LONGEST_WAIT
    while True:
        found = m.sockets.find(_named(name))
        if found is None:
            return b""
        m.work(min(len(found.arrived), MOST_TEXT_LENGTH) // LOOKED_AT_PER_WORK)
        count = enough(found.arrived)
        if count:
            data = bytes(found.arrived[:count])
            del found.arrived[:count]
            m.fed = True
            return data
        if not found.connected or left <= 1e-9:
            return b""
        yield None
        left -= m.step_time


def _counted(count: int, size: int) -> Callable[[bytearray], int]:
    return lambda arrived: count * size if len(arrived) >= count * size else 0


def _read_integers(m: ScriptRun, count: ScriptValue, name: ScriptValue, timeout: ScriptValue) -> Reading:
    """Return [count, n1, n2, …], or [0, -1, …] where they do not come in time."""
    wanted = whole(count, "number", 1, MOST_READ_NUMBERS)
    data = yield from _until(m, name, timeout, _counted(wanted, 4))
    if not data:
        return [0, *[-1] * wanted]
    return [wanted, *struct.unpack(f">{wanted}i", data)]


def _read_bytes(m: ScriptRun, count: ScriptValue, name: ScriptValue, timeout: ScriptValue) -> Reading:
    wanted = whole(count, "number", 1, MOST_READ_NUMBERS)
    data = yield from _until(m, name, timeout, _counted(wanted, 1))
    return [len(data), *data, *[-1] * (wanted - len(data))]


def _read_floats(m: ScriptRun, count: ScriptValue, name: ScriptValue, timeout: ScriptValue) -> Reading:
    """Read ``(a, b)``: [2, a, b]; [0, nan, nan] where nothing comes in time."""
    wanted = whole(count, "number", 1, MOST_READ_NUMBERS)

    def enough(arrived: bytearray) -> int:
        match = NUMBERS_TEXT.search(arrived, 0, MOST_TEXT_LENGTH)
        return match.end() if match else 0

    data = yield from _until(m, name, timeout, enough)
    match = NUMBERS_TEXT.search(data)
    values: list[float] = []
    for part in match[1].split(b",") if match else []:
        try:
            values.append(float(part))
        except ValueError:
            break
    values = values[:wanted]
    return [len(values), *values, *[math.nan] * (wanted - len(values))]


def _read_line(m: ScriptRun, name: ScriptValue, timeout: ScriptValue) -> Reading:
    data = yield from _until(m, name, timeout, lambda arrived: arrived.find(b"\n", 0, MOST_TEXT_LENGTH) + 1)
    return data.rstrip(b"\r\n").decode("utf-8", errors="replace")


def _read_string(
    m: ScriptRun,
    name: ScriptValue,
    prefix: ScriptValue,
    suffix: ScriptValue,
    escapes: ScriptValue,
    timeout: ScriptValue,
) -> Reading:
    """Return what arrives: between `prefix` and `suffix` if they are given, else all that is there."""
    before, behind = text(prefix, "prefix").encode(), text(suffix, "suffix").encode()

    def enough(arrived: bytearray) -> int:
        begin = arrived.find(before, 0, MOST_TEXT_LENGTH) if before else 0
        if begin < 0:
            return 0
        if not behind:
            return min(len(arrived), MOST_TEXT_LENGTH)
        end = arrived.find(behind, begin + len(before), begin + MOST_TEXT_LENGTH)
        return 0 if end < 0 else end + len(behind)

    data = yield from _until(m, name, timeout, enough)
    if before:
        data = data[data.find(before) + len(before) :]
    if behind and data.endswith(behind):
        data = data[: -len(behind)]
    return data[:MOST_TEXT_LENGTH].decode("utf-8", errors="replace")


def _set_variable(m: ScriptRun, name: ScriptValue, value: ScriptValue, sock: ScriptValue) -> bool:
    return _sent(m, sock, f"set {text(name, 'name')} {whole(value, 'value', -(2**31), 2**31 - 1)}\n".encode())


def _get_variable(m: ScriptRun, name: ScriptValue, sock: ScriptValue) -> Reading:
    """Ask the other side for a whole number: ``get name`` is answered ``name number``; 0 where it is not."""
    wanted = text(name, "name")
    if not _sent(m, sock, f"get {wanted}\n".encode()):
        return 0
    said = yield from _read_line(m, sock, 2.0)
    match = re.fullmatch(rf"\s*{re.escape(wanted)}\s+(-?\d{{1,10}})\s*", said)
    return int(match[1]) if match else 0


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "socket_open": _open,
    "socket_close": _close,
    "socket_send_int": _send_int,
    "socket_send_byte": _send_byte,
    "socket_send_string": _send_string,
    "socket_send_line": _send_line,
    "socket_set_var": _set_variable,
    "socket_get_var": _get_variable,
    "socket_read_binary_integer": _read_integers,
    "socket_read_byte_list": _read_bytes,
    "socket_read_ascii_float": _read_floats,
    "socket_read_line": _read_line,
    "socket_read_string": _read_string,
}
