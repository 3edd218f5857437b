# SPDX-License-Identifier: Apache-2.0
"""Identifiers for the inputs, outputs and intermediate values of a printed program."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from armwright.errors import InputError
from armwright.graph.emit.walk import angle_elements
from armwright.graph.ops import TRIGONOMETRIC, Op
from armwright.graph.program import Program, Signal

LARGEST_DENOMINATOR = 24


def renamed(program: Program, *, name: str | None = None, outputs: Sequence[str] | None = None) -> Program:
    """Return the program under another name, or with other names for its outputs.

    Raises:
        InputError: if a name is no identifier, or the number of output names differs.
    """
    for word in (*(outputs or ()), *([name] if name is not None else [])):
        if not (word.isidentifier() and word.isascii()):
            raise InputError(f"{word!r} cannot name generated code; use letters, digits and underscores")
    if outputs is None:
        signals = program.outputs
    elif len(outputs) != len(program.outputs):
        raise InputError(f"{program.name} has {len(program.outputs)} outputs, {len(outputs)} names were given")
    else:
        signals = tuple(Signal(label, signal.shape) for label, signal in zip(outputs, program.outputs, strict=True))
    return replace(program, name=name or program.name, outputs=signals)


class Namer:
    """Hands out identifiers, each once; a word that is taken gets underscores."""

    def __init__(self, reserved: Iterable[str]) -> None:
        """Start with the words the target language keeps for itself."""
        self._taken = set(reserved)

    def __call__(self, wish: str) -> str:
        """Return `wish`, or the nearest identifier that is free."""
        while wish in self._taken:
            wish += "_"
        self._taken.add(wish)
        return wish


def signature(program: Program, namer: Namer) -> tuple[str, list[str], list[str]]:
    """Name the function, its inputs and its outputs; an output named as the function becomes ``out``."""
    name = namer(program.name)
    inputs = [namer(signal.name) for signal in program.inputs]
    outputs = [namer("out" if signal.name == program.name else signal.name) for signal in program.outputs]
    return name, inputs, outputs


def position(signal: Signal, element: int, base: int = 0) -> tuple[int, ...]:
    """Return the index of a row-major element, counted from `base`; () for a scalar."""
    return tuple(int(k) + base for k in np.unravel_index(element, signal.shape)) if signal.shape else ()


def local_name(program: Program, k: int, inputs: Sequence[str], base: int = 0) -> str:
    """Suggest a name for node k: ``sin_q1`` or ``cos_q1_q2`` for angles that are inputs, ``t17`` for the rest."""
    node = program.nodes[k]
    if node.op in TRIGONOMETRIC:
        elements = angle_elements(program, node.args[0])
        if elements:
            words = [element_name(program.inputs[s], inputs[s], e, base) for s, e in elements]
            return "_".join(["sin" if node.op is Op.SIN else "cos", *words])
    return f"t{k}"


def element_name(signal: Signal, name: str, element: int, base: int = 0) -> str:
    """Return an identifier for one element of an input: ``q1``, ``T_0_3``; the plain name for a scalar."""
    index = position(signal, element, base)
    return f"{name}{index[0]}" if len(index) == 1 else "_".join([name, *map(str, index)])


def number(value: float | bool, *, true: str, false: str, infinity: str, nan: str) -> str:
    """Print a constant so that reading it back gives the same double."""
    if isinstance(value, bool):
        return true if value else false
    if math.isnan(value):
        return nan
    if math.isinf(value):
        return infinity if value > 0 else f"-{infinity}"
    return repr(float(value))


def simple_fraction(value: float | bool) -> Fraction | None:
    """Return the whole number or fraction with a small denominator that a number is but for rounding, or None."""
    if isinstance(value, bool) or not math.isfinite(value):
        return None
    fraction = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    return fraction if abs(float(fraction) - value) <= 1e-15 * abs(value) else None


def shape_text(signal: Signal) -> str:
    """Return the shape in words: ``6``, ``4 x 4, row by row``, ``scalar``."""
    if not signal.shape:
        return "scalar"
    return " x ".join(map(str, signal.shape)) + (", row by row" if len(signal.shape) > 1 else "")


def cost_text(program: Program) -> str:
    """Return the operation counts in one line."""
    c = program.counts
    return (
        f"{c.mul} multiplications, {c.add} additions, {c.div} divisions, "
        f"{c.trig} sines and cosines, {c.neg} sign changes, {c.other} others"
    )
