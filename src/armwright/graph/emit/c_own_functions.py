# SPDX-License-Identifier: Apache-2.0
"""The steps of `own_functions.py` as C99: what exported controllers compute sines and exponentials with.

One statement per operation, so that each rounds by itself; bits are moved with memcpy. `real` is "double" or "float".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from armwright.graph.emit.own_functions import DOUBLE, FLOAT, Format
from armwright.graph.emit.own_steps import OwnArithmetic, exponential, hyperbolic_tangent, reduced_sincos

SINE_COSINE, EXPONENTIAL, TANGENT = "sine_cosine", "exponential", "hyperbolic_tangent"
"""Names of the functions; the first returns a structure with members s and c."""
LESSER, GREATER = "lesser", "greater"
POWER = "power_of_two"
_NEEDS = {EXPONENTIAL: (POWER,), TANGENT: (POWER,)}
_ORDER = (LESSER, GREATER, SINE_COSINE, POWER, EXPONENTIAL, TANGENT)


def literal(value: float, real: str) -> str:
    """Return a number that reads back as the nearest of its type, rounded once."""
    if np.isnan(value):
        return "NAN"
    with np.errstate(over="ignore"):
        number = value if real == "double" else np.float32(value)
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return repr(float(number)) if real == "double" else f"{np.format_float_scientific(number, trim='0')}f"


def own_functions(wanted: Iterable[str], real: str, *, own: bool) -> list[str]:
    """Return the definitions of functions and of all that they need, in their order.

    Args:
        wanted: names, of those above.
        real: "double" or "float".
        own: our own steps; False: sine and cosine ask the C library.
    """
    needed = set(wanted)
    needed |= {name for word in wanted if own for name in _NEEDS.get(word, ())}
    lines: list[str] = []
    for name in _ORDER:
        if name in needed:
            lines += (_WRITERS[name] if own or name != SINE_COSINE else _library_sine_cosine)(real)
    return lines


class CArithmetic(OwnArithmetic[str]):
    """Operations as statements, one constant each.

    Attributes:
        real: "double" or "float". lines: the statements so far. suffix: of functions of the C library.
    """

    def __init__(self, real: str) -> None:
        """Start empty."""
        self.real, self.lines = real, list[str]()
        self.format: Format = FLOAT if real == "float" else DOUBLE
        self.suffix, self.bits = ("f", "uint32_t") if real == "float" else ("", "uint64_t")

    def keep(self, expression: str) -> str:
        """Give an expression a name."""
        name = f"a{len(self.lines)}"
        self.lines.append(f"    const {self.real} {name} = {expression};")
        return name

    def number(self, value: float) -> str:
        """Return a literal."""
        return literal(value, self.real)

    def plus(self, a: str, b: str) -> str:
        """Return a + b."""
        return self.keep(f"{a} - {b[1:]}" if b[0] == "-" else f"{a} + {b}")

    def minus(self, a: str, b: str) -> str:
        """Return a − b."""
        return self.keep(f"{a} + {b[1:]}" if b[0] == "-" else f"{a} - {b}")

    def times(self, a: str, b: str) -> str:
        """Return a·b."""
        return self.keep(f"{a}*{b}")

    def over(self, a: str, b: str) -> str:
        """Return a/b."""
        return self.keep(f"{a}/{b}")

    def negative(self, a: str) -> str:
        """Return −a."""
        return self.keep(f"-{a}")

    def magnitude(self, a: str) -> str:
        """Return |a|."""
        return self.keep(f"fabs{self.suffix}({a})")

    def if_less(self, a: str, b: str, yes: str, no: str) -> str:
        """Return `yes` where a < b, else `no`."""
        return self.keep(f"({a} < {b}) ? {yes} : {no}")

    def power_of_two(self, k: str) -> str:
        """Return 2ᵏ, by a function of its own."""
        return self.keep(f"{POWER}({k})")


def _function(head: str, a: CArithmetic, result: str) -> list[str]:
    return [head, "{", *a.lines, f"    return {result};", "}", ""]


def _chosen(name: str, sign: str) -> Callable[[str], list[str]]:
    def write(real: str) -> list[str]:
        head = f"static {real} {name}({real} a, {real} b)"
        return [head, "{", f"    return (b {sign} a) ? b : a;", "}", ""]

    return write


def _turn(real: str) -> list[str]:
    return ["typedef struct {", f"    {real} s; /* sine */", f"    {real} c; /* cosine */", "} turn;", ""]


def _library_sine_cosine(real: str) -> list[str]:
    a = CArithmetic(real)
    lines = ["    turn out;", f"    out.s = sin{a.suffix}(x);", f"    out.c = cos{a.suffix}(x);", "    return out;"]
    return [*_turn(real), f"static turn {SINE_COSINE}({real} x)", "{", *lines, "}", ""]


def _sine_cosine(real: str) -> list[str]:
    a = CArithmetic(real)
    shifted, sine, cosine = reduced_sincos(a, "x")
    return [
        *_turn(real),
        f"static turn {SINE_COSINE}({real} x)",
        "{",
        *a.lines,
        "    turn out;",
        f"    {a.bits} quadrant;",
        f"    (void)memcpy(&quadrant, &{shifted}, sizeof quadrant);",
        f"    out.s = ((quadrant & 1u) != 0u) ? {cosine} : {sine};",
        f"    out.c = ((quadrant & 1u) != 0u) ? {sine} : {cosine};",
        "    if ((quadrant & 2u) != 0u) {",
        "        out.s = -out.s;",
        "    }",
        "    if (((quadrant + 1u) & 2u) != 0u) {",
        "        out.c = -out.c;",
        "    }",
        f"    if (fabs{a.suffix}(x) >= {a.number(a.format.far)}) {{ /* the steps above have no digits left */",
        f"        out.s = sin{a.suffix}(x);",
        f"        out.c = cos{a.suffix}(x);",
        "    }",
        "    return out;",
        "}",
        "",
    ]


def _power_of_two(real: str) -> list[str]:
    a = CArithmetic(real)
    f = a.format
    return [
        f"static {real} {POWER}({real} k)",
        "{",
        f"    const {real} shifted = k + {a.number(f.round + f.bias)};",
        f"    {a.bits} bits;",
        f"    {real} out;",
        "    (void)memcpy(&bits, &shifted, sizeof bits);",
        f"    bits <<= {f.shift}u;",
        "    (void)memcpy(&out, &bits, sizeof out);",
        "    return out;",
        "}",
        "",
    ]


def _exponential(real: str) -> list[str]:
    a = CArithmetic(real)
    return _function(f"static {real} {EXPONENTIAL}({real} x)", a, exponential(a, "x"))


def _tangent(real: str) -> list[str]:
    a = CArithmetic(real)
    return _function(f"static {real} {TANGENT}({real} x)", a, hyperbolic_tangent(a, "x"))


_WRITERS: dict[str, Callable[[str], list[str]]] = {
    LESSER: _chosen(LESSER, "<"),
    GREATER: _chosen(GREATER, ">"),
    SINE_COSINE: _sine_cosine,
    POWER: _power_of_two,
    EXPONENTIAL: _exponential,
    TANGENT: _tangent,
}
