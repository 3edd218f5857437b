# SPDX-License-Identifier: Apache-2.0
r"""Names as mathematics: q̇ for qd, s_2 for sin q_2, numbers with the digits one wants to read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from armwright.graph.emit.names import Namer, position
from armwright.graph.emit.walk import angle_elements
from armwright.graph.ops import TRIGONOMETRIC, Op
from armwright.graph.program import Program, Signal

_WORDS = """
alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega Gamma Delta
Theta Lambda Xi Pi Sigma Phi Psi Omega
"""
GREEK = frozenset(_WORDS.split())
DOTTED = re.compile(rf"({'|'.join(sorted(GREEK))}|[A-Za-z])(d{{0,2}})")
NUMBERED = re.compile(rf"({'|'.join(sorted(GREEK))}|[A-Za-z])([A-Za-z]{{0,3}}\d+)")
DOTS = {"": "{}", "d": r"\dot{{{}}}", "dd": r"\ddot{{{}}}"}


def symbol(name: str) -> str:
    r"""Return a name as mathematics.

    qd → \dot{q}, tau → \tau, lc1 → l_{c1}, T_base_tool → {T_{\mathrm{base},\mathrm{tool}}}.
    """
    stem, primes = name.rstrip("_"), "'" * (len(name) - len(name.rstrip("_")))
    head, *rest = stem.split("_")
    if match := DOTTED.fullmatch(head):
        text = DOTS[match[2]].format(_letter(match[1]))
    elif match := NUMBERED.fullmatch(head):
        text = f"{_letter(match[1])}_{{{match[2]}}}"
        text = f"{{{text}}}" if rest else text
    else:
        text = rf"\mathrm{{{head}}}"
    if rest:
        words = ",".join(rf"\mathrm{{{word}}}" for word in rest)
        text = f"{{{text}_{{{words}}}}}"
    return text + primes


def _letter(word: str) -> str:
    return rf"\{word}" if word in GREEK else word


def subscript(indices: Iterable[int]) -> str:
    """Return indices as one subscript: _{23}, with commas as soon as one has two digits; nothing for none."""
    words = [str(k) for k in indices]
    return f"_{{{('' if all(len(w) == 1 for w in words) else ',').join(words)}}}" if words else ""


def decimal(value: float | bool, digits: int) -> str:
    """Return a number to `digits` significant digits, with powers of ten written out."""
    if isinstance(value, bool):
        return r"\text{true}" if value else r"\text{false}"
    if math.isnan(value):
        return r"\text{undefined}"
    if math.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    if not exponent:
        return mantissa
    power = rf"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \times {power}"


class Symbols:
    """The symbol of every input element and of every definition."""

    def __init__(self, program: Program) -> None:
        """Choose letters that the program's own names leave free."""
        self.program = program
        namer = Namer(())  # an output with the name of an input gets a prime
        self.inputs = [namer(signal.name) for signal in program.inputs]
        self.outputs = [namer(signal.name) for signal in program.outputs]
        taken = {*self.inputs, *self.outputs}
        self.sine, self.cosine = ("s", "c") if not taken & {"s", "c"} else ("S", "C")
        self.term = next(letter for letter in ("x", "z", "y", "k", "w", r"\xi") if letter not in taken)
        angles = {
            k: elements
            for k, node in enumerate(program.nodes)
            if node.op in TRIGONOMETRIC and (elements := angle_elements(program, node.args[0]))
        }
        self.first = min((elements[0][0] for elements in angles.values()), default=-1)
        # s_2 is short for the sine of one vector's elements only
        self.angles = {
            k: [e for _, e in elements]
            for k, elements in angles.items()
            if elements[0][0] == self.first and len(program.inputs[self.first].shape) == 1
        }
        self.count = 0

    def element(self, name: str, signal: Signal, element: int) -> str:
        """Return one element of an input or output."""
        letter, index = symbol(name), subscript(position(signal, element, 1))
        return f"{{{letter}}}{index}" if index and "_" in letter and not letter.startswith("{") else letter + index

    def order(self, k: int) -> tuple[int, list[int], int]:
        """Sines and cosines of inputs first, in the order of their subscripts; the rest as computed."""
        if k in self.angles:
            return len(self.angles[k]), self.angles[k], int(self.program.nodes[k].op)
        return len(self.program.nodes), [], k

    def definition(self, k: int) -> str:
        """Return the symbol of node k: s_{2}, c_{23}, or the next x."""
        if k in self.angles:
            letter = self.sine if self.program.nodes[k].op is Op.SIN else self.cosine
            return letter + subscript(e + 1 for e in self.angles[k])
        self.count += 1
        return f"{self.term}_{{{self.count}}}"

    def angle(self, k: int) -> str:
        """Return the sine or cosine k of inputs in full."""
        name, signal = self.inputs[self.first], self.program.inputs[self.first]
        function = r"\sin" if self.program.nodes[k].op is Op.SIN else r"\cos"
        words = [self.element(name, signal, e) for e in self.angles[k]]
        return f"{function} {words[0]}" if len(words) == 1 else rf"{function}\left({' + '.join(words)}\right)"
