# SPDX-License-Identifier: Apache-2.0
"""Parameters that stay symbols: m1, l1, I1, … and what is computed from them before an arm is made of it.

A symbol is known by its name: ``symbols("m1")`` gives the same one every time, as in SymPy.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import armwright.graph.array  # noqa: F401 - lets NumPy's functions take expressions
from armwright.errors import InputError
from armwright.graph.emit.infix import Printer
from armwright.graph.emit.python_source import array_rules
from armwright.graph.expr import NUMBER, Expr, Graph, Value
from armwright.graph.ops import Op
from armwright.graph.program import Signal, finish
from armwright.graph.rebuild import rebuilt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Traced

Entry: TypeAlias = float | str | Expr
"""A number, a symbol or an expression of symbols, or the name of a symbol."""
Entries: TypeAlias = "Sequence[Entry] | Sequence[Sequence[Entry]] | Sequence[Sequence[Sequence[Entry]]] | NDArray[Any]"

TAKEN = frozenset({"q", "qd", "qdd", "tau", "wrench", "wrenches", "point", "T"})


class _Parameters(Graph):
    """Every symbol and every expression of symbols that the process has made; element k of input 0 is ``names[k]``."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.lock = threading.RLock()

    def node(self, op: Op, args: tuple[int, ...] = (), value: Value = None) -> Expr:
        with self.lock:
            return super().node(op, args, value)

    def describe(self, node: Expr) -> str:
        """Write an expression of symbols as one would type it."""
        program = finish(self, "f", [Signal("p", (len(self.names),))], [("f", node)], single=True)
        printer = Printer(program, array_rules("np"), lambda value: f"{value:g}")
        for k, (op, _, value) in enumerate(program.nodes):
            if op is Op.INPUT:
                printer.symbols[k] = self.names[value[1]]
        return printer.text(program.results[0][0])

    def symbol(self, name: str) -> Expr:
        if not (name.isidentifier() and name.isascii()) or name in TAKEN:
            raise InputError(
                f"{name!r} cannot name a parameter; use letters, digits and underscores, and not "
                f"{', '.join(sorted(TAKEN))}"
            )
        with self.lock:
            if name not in self.names:
                self.names.append(name)
            return self.input(0, self.names.index(name))


_PARAMETERS = _Parameters()


def symbols(names: str) -> Traced:
    """Return one symbol, or a tuple of several.

    ``m1, l1 = aw.symbols("m1 l1")``. Symbols take part in arithmetic and in NumPy functions, ``m1 * l1**2 / 12``, and
    stand for numbers in `SymbolicRobot`.
    """
    words = names.replace(",", " ").split()
    if not words:
        raise InputError("symbols: give at least one name, as in symbols('m1 l1 I1')")
    made = tuple(_PARAMETERS.symbol(word) for word in words)
    return made[0] if len(made) == 1 else made


def entries(value: Any, shape: tuple[int, ...], what: str) -> NDArray[np.object_]:
    """Return numbers, symbols, expressions of symbols and names of symbols as an object array of `shape`."""
    try:
        array = np.array(value, dtype=object)
    except ValueError as error:
        raise InputError(f"{what}: expected numbers or symbols of shape {shape} ({error})") from error
    if array.shape != shape:
        raise InputError(f"{what}: expected numbers or symbols of shape {shape}, got shape {array.shape}")
    out = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        out[index] = _entry(array[index], what)
    out.flags.writeable = False
    return out


def _entry(item: Any, what: str) -> Traced:
    if isinstance(item, str):
        return _PARAMETERS.symbol(item)
    if isinstance(item, Expr) and item.graph is _PARAMETERS:
        return float(item) if item.is_constant else item
    if isinstance(item, NUMBER) and np.isfinite(item):
        return float(item)
    raise InputError(f"{what}: {item!r} is neither a finite number nor a symbol; make symbols with armwright.symbols")


def names_in(arrays: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of the symbols in object arrays, in the order in which they occur."""
    found: dict[str, None] = {}
    for item in (item for array in arrays for item in np.ravel(array)):
        if isinstance(item, Expr):
            for k in _needed(item):
                if _PARAMETERS.ops[k] is Op.INPUT:
                    found[_PARAMETERS.names[_PARAMETERS.values[k][1]]] = None
    return tuple(found)


def _needed(item: Expr) -> list[int]:
    """Return the numbers of the nodes that an expression consists of, operands first."""
    seen, stack = set[int](), [item.index]
    while stack:
        k = stack.pop()
        if k not in seen:
            seen.add(k)
            stack.extend(_PARAMETERS.args[k])
    return sorted(seen)


class Substitution:
    """Puts values in the place of symbols: floats, or the inputs of a function that is being traced."""

    def __init__(self, values: Mapping[str, Traced]) -> None:
        """Take a value for every symbol, by name."""
        self.values = values
        known = [value for value in values.values() if isinstance(value, Expr)]
        self.graph = known[0].graph if known else Graph()
        self.made: dict[int, Expr] = {}

    def __call__(self, array: Any) -> Any:
        """Return an array of the same shape: floats if no symbol is left in it, else expressions and floats."""
        out = np.empty(np.shape(array), dtype=object)
        for index in np.ndindex(out.shape):
            item = np.asarray(array, dtype=object)[index]
            item = self._value(item) if isinstance(item, Expr) else item
            out[index] = float(item) if not isinstance(item, Expr) or item.is_constant else item
        plain = all(isinstance(item, float) for item in out.ravel())
        return out.astype(np.float64) if plain else out

    def _value(self, item: Expr) -> Expr:
        for k in _needed(item):
            if k not in self.made:
                self.made[k] = self._node(k)
        return self.made[item.index]

    def _node(self, k: int) -> Expr:
        op, value = _PARAMETERS.ops[k], _PARAMETERS.values[k]
        if op is Op.INPUT:
            given = self.values[_PARAMETERS.names[value[1]]]
            return given if isinstance(given, Expr) else self.graph.constant(float(given))
        return rebuilt(self.graph, op, [self.made[a] for a in _PARAMETERS.args[k]], value)
