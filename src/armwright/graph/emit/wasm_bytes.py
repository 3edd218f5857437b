# SPDX-License-Identifier: Apache-2.0
"""WebAssembly as bytes: numbers, instructions, sections of a module (WebAssembly Core Specification 1.0 + multi-value).

An instruction is the bytes that it consists of; an expression is instructions one after another, each of which takes
its operands from a stack. So the code of a + b is the code of a, that of b, and one byte.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

F64, I64, I32, NOTHING = b"\x7c", b"\x7e", b"\x7f", b"\x40"
"""Types of values, and of a block without a result."""
ADD, SUB, MUL, DIV = b"\xa0", b"\xa1", b"\xa2", b"\xa3"
ABS, NEG, FLOOR, SQRT = b"\x99", b"\x9a", b"\x9c", b"\x9f"
EQUAL, LESS, GREATER, AT_MOST, AT_LEAST = b"\x61", b"\x63", b"\x64", b"\x65", b"\x66"
I32_AND, I32_OR, I32_NOT, I32_SUB = b"\x71", b"\x72", b"\x45", b"\x6b"
I64_ADD, I64_AND, I64_XOR, I64_SHL, TO_I32 = b"\x7c", b"\x83", b"\x85", b"\x86", b"\xa7"
BITS_OF, FROM_BITS = b"\xbd", b"\xbf"
IF, LOOP, END, RETURN, REPEAT_IF, CHOOSE, DROP = b"\x04", b"\x03", b"\x0b", b"\x0f", b"\x0d", b"\x1b", b"\x1a"
PAGE_BYTES = 65536  # bytes of memory


def unsigned(value: int) -> bytes:
    """Return a number as LEB128: seven bits in a byte, the lowest first."""
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def signed(value: int) -> bytes:
    """Return a number as signed LEB128."""
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        if (value == 0 and not low & 0x40) or (value == -1 and low & 0x40):
            return bytes([*out, low])
        out.append(low | 0x80)


def number(value: float) -> bytes:
    """Return the instruction that puts a double on the stack."""
    return b"\x44" + struct.pack("<d", value)


def small(value: int) -> bytes:
    """Return the instruction that puts a 32-bit number on the stack."""
    return b"\x41" + signed(value)


def large(value: int) -> bytes:
    """Return the instruction that puts a 64-bit number on the stack."""
    return b"\x42" + signed(value)


def get(local: int) -> bytes:
    """Return the instruction that reads a local variable."""
    return b"\x20" + unsigned(local)


def put(local: int) -> bytes:
    """Return the instruction that writes a local variable."""
    return b"\x21" + unsigned(local)


def load(place: int) -> bytes:
    """Return the instructions that read double number `place` of the memory."""
    return small(0) + b"\x2b\x03" + unsigned(8 * place)


def store(place: int, value: bytes) -> bytes:
    """Return the instructions that write an expression to double number `place` of the memory."""
    return small(0) + value + b"\x39\x03" + unsigned(8 * place)


def call(function: int) -> bytes:
    """Return the instruction that calls a function."""
    return b"\x10" + unsigned(function)


def vector(items: Iterable[bytes]) -> bytes:
    """Return items with their number in front."""
    every = list(items)
    return unsigned(len(every)) + b"".join(every)


def text(words: str) -> bytes:
    """Return a name."""
    raw = words.encode()
    return unsigned(len(raw)) + raw


Signature = tuple[bytes, bytes]
"""Types of arguments and of results, one byte each."""


@dataclass(frozen=True)
class WasmFunction:
    """One function: its signature, its local variables after the arguments (one byte each), its instructions."""

    signature: Signature
    locals: bytes
    code: bytes

    @property
    def body(self) -> bytes:
        """The function as the code section has it."""
        runs: list[tuple[int, bytes]] = []
        for kind in (self.locals[k : k + 1] for k in range(len(self.locals))):
            if runs and runs[-1][1] == kind:
                runs[-1] = (runs[-1][0] + 1, kind)
            else:
                runs.append((1, kind))
        whole = vector(unsigned(count) + kind for count, kind in runs) + self.code + END
        return unsigned(len(whole)) + whole


def constant(place: int) -> bytes:
    """Return the instruction that puts a constant of the module on the stack."""
    return b"\x23" + unsigned(place)


def module(
    imports: Sequence[tuple[str, str, Signature]],
    functions: Sequence[WasmFunction],
    exports: Sequence[tuple[str, int]],
    doubles: int,
    constants: Sequence[float] = (),
) -> bytes:
    """Return a module.

    Args:
        imports: (module, name, signature) of functions that come from outside; they are numbered first.
        functions: its own, numbered after them.
        exports: (name, function number); the memory is exported as "memory".
        doubles: size of the memory.
        constants: what `constant` numbers.
    """
    signatures = list(dict.fromkeys([*(s for _, _, s in imports), *(f.signature for f in functions)]))
    kinds = [b"\x60" + vector(_each(a)) + vector(_each(r)) for a, r in signatures]
    pages = -(-8 * doubles // PAGE_BYTES)
    sections = {
        1: vector(kinds),
        2: vector(text(m) + text(n) + b"\x00" + unsigned(signatures.index(s)) for m, n, s in imports),
        3: vector(unsigned(signatures.index(f.signature)) for f in functions),
        5: vector([b"\x00" + unsigned(max(1, pages))]),
        6: vector(F64 + b"\x00" + number(value) + END for value in constants),
        7: vector([text("memory") + b"\x02\x00", *(text(name) + b"\x00" + unsigned(k) for name, k in exports)]),
        10: vector(f.body for f in functions),
    }
    parts = [unsigned(k) + unsigned(len(body)) + body for k, body in sections.items() if body != b"\x00"]
    return b"\x00asm\x01\x00\x00\x00" + b"".join(parts)


def _each(kinds: bytes) -> list[bytes]:
    return [kinds[k : k + 1] for k in range(len(kinds))]
