# SPDX-License-Identifier: Apache-2.0
"""A traced function as every emitter reads it: inputs, straight-line nodes, outputs."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import ArmwrightError, TraceError
from armwright.graph.array import inputs_of
from armwright.graph.by_name import call_by_name
from armwright.graph.expr import Expr, Graph, NaiveGraph
from armwright.graph.ops import LEAVES, Op

if TYPE_CHECKING:
    from armwright.types import Symbolic


class ProgramSignal(NamedTuple):
    """A named array: an input or an output of a program."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of scalars."""
        return prod(self.shape)


class Node(NamedTuple):
    """One operation; `args` are earlier node numbers, `value` a constant or (input number, element)."""

    op: Op
    args: tuple[int, ...]
    value: Any


@dataclass(frozen=True, eq=False)
class TracedProgram:
    """Live nodes in topological order, and for each output the nodes of its elements (row-major).

    Attributes:
        name: name of the traced function, a valid C identifier.
        inputs, outputs: the signature. `single` tells whether the function returned one array or a tuple.
        nodes: straight-line code, every node used.
        results: per output, the node number of every element.
    """

    name: str
    inputs: tuple[ProgramSignal, ...]
    outputs: tuple[ProgramSignal, ...]
    nodes: tuple[Node, ...]
    results: tuple[tuple[int, ...], ...]
    single: bool

    def __post_init__(self) -> None:
        """Refuse a program that computes nothing: there is no memory that machine code could write to."""
        if not self.outputs:
            raise TraceError(f"{self.name} returned an empty tuple; it must return an array or a tuple of arrays")

    @cached_property
    def counts(self) -> Counts:
        """Operations by kind."""
        return Counts.of(self.nodes)

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the computation (not of its name): equal digests give equal numbers."""
        h = hashlib.blake2b(digest_size=20)
        h.update(repr(([signal.shape for signal in self.inputs], [s.shape for s in self.outputs])).encode())
        for op, args, value in self.nodes:
            h.update(struct.pack("<B", op))
            if op is Op.CONST:
                h.update(struct.pack("<d", value) if not isinstance(value, bool) else bytes([value]))
            else:
                h.update(struct.pack(f"<{len(args)}i", *args) if args else struct.pack("<ii", *value))
        h.update(repr(self.results).encode())
        return h.hexdigest()


class Counts(NamedTuple):
    """Operations of a program. `mul` and `add` are the M and A of the documents (divisions apart)."""

    mul: int
    add: int
    div: int
    neg: int
    trig: int
    other: int

    @staticmethod
    def of(nodes: Sequence[Node]) -> Counts:
        """Count the operations of `nodes`."""
        n = dict.fromkeys(Op, 0)
        for node in nodes:
            n[node.op] += 1
        known = {Op.MUL, Op.ADD, Op.SUB, Op.DIV, Op.NEG, Op.SIN, Op.COS} | LEAVES
        return Counts(
            n[Op.MUL],
            n[Op.ADD] + n[Op.SUB],
            n[Op.DIV],
            n[Op.NEG],
            n[Op.SIN] + n[Op.COS],
            sum(count for op, count in n.items() if op not in known),
        )

    @property
    def flops(self) -> int:
        """Multiplications, additions and divisions."""
        return self.mul + self.add + self.div


def finish(
    graph: Graph,
    name: str,
    inputs: Sequence[ProgramSignal],
    outputs: Sequence[tuple[str, Any]],
    *,
    single: bool,
    drop_dead: bool = True,
) -> TracedProgram:
    """Cut out the part of `graph` that `outputs` (name, array of Expr or float) need and renumber it."""
    results: list[list[int]] = []
    signals: list[ProgramSignal] = []
    for label, value in outputs:
        array = np.asarray(value, dtype=object)
        signals.append(ProgramSignal(label, array.shape))
        results.append([_root(graph, label, element).index for element in array.ravel()])
    if drop_dead:
        live: set[int] = set()
        stack = [index for result in results for index in result]
        while stack:
            index = stack.pop()
            if index not in live:
                live.add(index)
                stack.extend(graph.args[index])
        order = sorted(live)
    else:
        order = list(range(len(graph.ops)))
    number = {old: new for new, old in enumerate(order)}
    nodes = tuple(Node(graph.ops[k], tuple(number[a] for a in graph.args[k]), graph.values[k]) for k in order)
    return TracedProgram(
        name, tuple(inputs), tuple(signals), nodes, tuple(tuple(number[k] for k in r) for r in results), single
    )


def _root(graph: Graph, label: str, element: Symbolic) -> Expr:
    if isinstance(element, Expr):
        if element.graph is not graph:
            raise TraceError(f"output {label!r} contains a value traced elsewhere")
        return element.as_number()
    try:
        return graph.constant(float(element))
    except (TypeError, ValueError) as error:
        raise TraceError(f"output {label!r} contains {type(element).__name__}, not a number") from error


def trace(
    function: Callable[..., Any],
    shapes: Mapping[str, tuple[int, ...]],
    *,
    constants: Mapping[str, Any] | None = None,
    name: str | None = None,
    naive: bool = False,
) -> TracedProgram:
    """Run `function` on symbols and record what it does.

    Args:
        function: NumPy code; called with keyword arguments ``shapes`` (as symbol arrays) and `constants` (as they are).
        shapes: shape of every traced argument, in the order in which the program takes them.
        constants: the remaining arguments.
        name: name of the program; the function's name if omitted.
        naive: neither share nor fold; for counting what the written loops do.

    Raises:
        TraceError: if the code branches on an input, leaves NumPy, or does not return arrays.

    >>> trace(lambda x: x @ x, {"x": (3,)}).counts.mul
    3
    """
    graph = NaiveGraph() if naive else Graph()
    inputs = [ProgramSignal(label, tuple(shape)) for label, shape in shapes.items()]
    arguments = {signal.name: inputs_of(graph, k, signal.shape) for k, signal in enumerate(inputs)}
    label = name or str(getattr(function, "__name__", "function"))
    label = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in label)
    try:
        value = call_by_name(function, {**arguments, **(constants or {})})
    except ArmwrightError:
        raise
    except (TypeError, AttributeError) as error:
        raise TraceError(f"{label} cannot be traced: {error}") from error
    if value is None:
        raise TraceError(f"{label} returned nothing; it must return an array or a tuple of arrays")
    single = not isinstance(value, tuple)
    values = (value,) if single else value
    numbered = [label] if single else [f"{label}_{k}" for k in range(len(values))]
    names = list(getattr(value, "_fields", numbered))
    outputs = list(zip(names, values, strict=True))
    return finish(graph, label, inputs, outputs, single=single, drop_dead=not naive)
