# SPDX-License-Identifier: Apache-2.0
"""SymPy: the program as symbolic expressions with its shared terms kept as definitions, or as source."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from armwright.errors import NotSupportedError
from armwright.graph.emit.printing import (
    ARITHMETIC,
    ATOM,
    LOOSE,
    Namer,
    Rule,
    call,
    element_name,
    local_name,
    named_nodes,
    signature,
    simple_fraction,
)
from armwright.graph.emit.python_source import Dialect, python_function
from armwright.graph.ops import Op
from armwright.graph.traced_program import ProgramSignal, TracedProgram

FUNCTIONS: dict[Op, tuple[str, int]] = {
    Op.SIN: ("sin", 1),
    Op.COS: ("cos", 1),
    Op.SQRT: ("sqrt", 1),
    Op.ABS: ("Abs", 1),
    Op.EXP: ("exp", 1),
    Op.LOG: ("log", 1),
    Op.TANH: ("tanh", 1),
    Op.FLOOR: ("floor", 1),
    Op.ATAN2: ("atan2", 2),
    Op.MIN: ("Min", 2),
    Op.MAX: ("Max", 2),
    Op.LT: ("Lt", 2),
    Op.LE: ("Le", 2),
    Op.EQ: ("Eq", 2),
    Op.AND: ("And", 2),
    Op.OR: ("Or", 2),
    Op.NOT: ("Not", 1),
}
RULES: dict[Op, Rule] = {
    **ARITHMETIC,
    **{op: call(f"sp.{name}", arity) for op, (name, arity) in FUNCTIONS.items()},
    Op.SELECT: Rule("sp.Piecewise(({1}, {0}), ({2}, True))", ATOM, (LOOSE, LOOSE, LOOSE)),
}
DIALECT = Dialect("sp", "import sympy as sp", RULES, functional=True)
DEFINITION_OPERATIONS = 40  # operations in one definition


class Symbolic(NamedTuple):
    """A program in SymPy's terms.

    Attributes:
        inputs: name → Matrix (vectors as columns) or symbol.
        definitions: shared terms in order; each may use the earlier ones.
        outputs: name → Matrix, Array (three and more axes) or expression, in terms of inputs and definitions.
    """

    inputs: dict[str, Any]
    definitions: list[tuple[Any, Any]]
    outputs: dict[str, Any]

    def expanded(self) -> dict[str, Any]:
        """Return the outputs in terms of the inputs alone (long for a whole arm)."""
        known: dict[Any, Any] = {}
        for symbol, expression in self.definitions:
            known[symbol] = expression.xreplace(known)
        return {name: value.xreplace(known) for name, value in self.outputs.items()}


def emit(program: TracedProgram) -> str:
    """Return the text of a module with one function of sequences (vectors) and matrices of SymPy expressions."""
    return python_function(program, DIALECT)


def _operations(sp: ModuleType) -> dict[Op, Callable[..., Any]]:
    return {
        **{op: getattr(sp, name) for op, (name, _) in FUNCTIONS.items()},
        Op.ADD: lambda a, b: a + b,
        Op.SUB: lambda a, b: a - b,
        Op.MUL: lambda a, b: a * b,
        Op.DIV: lambda a, b: a / b,
        Op.NEG: lambda a: -a,
        Op.SELECT: lambda condition, a, b: sp.Piecewise((a, condition), (b, True)),
    }


def to_sympy(program: TracedProgram, *, limit: int = DEFINITION_OPERATIONS, fractions: bool = False) -> Symbolic:
    """Return the program as SymPy expressions.

    Args:
        program: what to convert.
        limit: most operations in one expression; longer ones are cut into definitions.
        fractions: write numbers that are whole, or fractions with a small denominator, exactly.

    Raises:
        NotSupportedError: if SymPy is not installed.
    """
    try:
        import sympy as sp  # an extra, loaded on demand
    except ImportError as error:
        raise NotSupportedError("to_sympy needs SymPy; install armwright[symbolic]") from error
    meaning = _operations(sp)
    namer = Namer(())
    _, names, outputs = signature(program, namer)
    elements = [
        [
            sp.Symbol(namer(element_name(signal, name, e, 1)) if signal.shape else name, real=True)
            for e in range(signal.size)
        ]
        for name, signal in zip(names, program.inputs, strict=True)
    ]
    named = set(named_nodes(program, limit=limit))
    values: list[Any] = []
    definitions = []
    for k, (op, args, value) in enumerate(program.nodes):
        if op is Op.CONST:
            fraction = simple_fraction(value) if fractions else None
            values.append(sp.sympify(value) if fraction is None else sp.Rational(fraction))
        elif op is Op.INPUT:
            values.append(elements[value[0]][value[1]])
        else:
            expression = meaning[op](*(values[a] for a in args))
            if k in named:
                symbol = _symbol(sp, namer(local_name(program, k, names, 1)), expression)
                definitions.append((symbol, expression))
                expression = symbol
            values.append(expression)
    inputs = {name: _gather(sp, signal, row) for name, signal, row in zip(names, program.inputs, elements, strict=True)}
    results = {
        name: _gather(sp, signal, [values[k] for k in result])
        for name, signal, result in zip(outputs, program.outputs, program.results, strict=True)
    }
    return Symbolic(inputs, definitions, results)


def _symbol(sp: ModuleType, name: str, expression: Any) -> Any:
    return sp.Symbol(name) if isinstance(expression, sp.logic.boolalg.Boolean) else sp.Symbol(name, real=True)


def _gather(sp: ModuleType, signal: ProgramSignal, row: list[Any]) -> Any:
    if not signal.shape:
        return row[0]
    if len(signal.shape) > 2:
        return sp.Array(row, signal.shape)
    return sp.Matrix(signal.shape[0], signal.shape[1] if len(signal.shape) == 2 else 1, row)
