# SPDX-License-Identifier: Apache-2.0
"""Large programs as several functions.

The time that LLVM takes for a block of straight-line code grows faster than its length. Beyond `WHOLE` nodes a program
is cut into parts of about `PART`, each a function; values that are needed in a later part are handed on in memory,
where most of them would have to be kept anyway. The cuts depend on the program alone, so that all widths give the same
numbers.
"""

from __future__ import annotations

from armwright.graph.emit.llvm_math import Writer
from armwright.graph.emit.llvm_nodes import emit_nodes
from armwright.graph.emit.walk import is_boolean, last_uses
from armwright.graph.ops import Op
from armwright.graph.program import Program

WHOLE = 5000
PART = 1000
Columns = list[list[str | None]]


def emit_program(w: Writer, program: Program, columns: Columns, trig_width: int = 4) -> dict[int, str]:
    """Emit a program; return the registers of its results by node. `columns` holds the registers of the inputs."""
    value: dict[int, str] = {}
    for k, node in enumerate(program.nodes):
        if node.op is Op.INPUT:
            signal, element = node.value
            column = columns[signal][element]
            assert column is not None, "every input that occurs in a node is loaded"
            value[k] = column
    if len(program.nodes) <= WHOLE:
        emit_nodes(w, program, value, range(len(program.nodes)), trig_width)
        return value
    count = -(-len(program.nodes) // PART)
    step = -(-len(program.nodes) // count)
    places = _Places(program, step)
    w.memory["values"] = places.count * w.width
    handed = Handed(w, program, places, "%values", "%values")
    for k, register in value.items():
        handed[k] = register
    for part, start in enumerate(range(0, len(program.nodes), step)):
        own = Writer(w.width, fma=w.fma)
        span = range(start, min(start + step, len(program.nodes)))
        emit_nodes(own, program, handed.inside(own), span, trig_width)
        outline(w, own, f"armwright_part_{program.digest}_{w.width}_{part}", "%values")
    return handed


def outline(w: Writer, own: Writer, name: str, target: str) -> None:
    """Make what `own` has written a function that reads values from %known and writes to %target, and call it.

    Both may point to the same memory: no place is read and written in one part.
    """
    head = f"define internal void @{name}(ptr noalias readonly %known, ptr noalias %target) #0 {{"
    w.declarations |= {*own.declarations, "\n".join([head, *own.start(), *own.lines, "  ret void", "}"])}
    w.line(f"call void @{name}(ptr %values, ptr {target})")


class _Places:
    """Where values that outlive their part are kept: a place is free again after the part that reads it last."""

    def __init__(self, program: Program, step: int) -> None:
        """Assign places; inputs are there from the start, results to the end."""
        self.of: dict[int, int] = {}
        self.count = 0
        nodes, last = program.nodes, last_uses(program)
        free: list[int] = []
        ending: dict[int, list[int]] = {}

        def assign(k: int) -> None:
            if free:
                self.of[k] = free.pop()
            else:
                self.of[k] = self.count
                self.count += 1
            ending.setdefault(last[k] // step if last[k] < len(nodes) else len(nodes), []).append(self.of[k])

        for k, node in enumerate(nodes):
            if node.op is Op.INPUT:
                assign(k)
        for k, node in enumerate(nodes):
            if k and k % step == 0:
                free += ending.pop(k // step - 1, [])
            if node.op not in (Op.INPUT, Op.CONST) and (last[k] == len(nodes) or last[k] // step > k // step):
                assign(k)


class Handed(dict[int, str]):
    """Registers by node: what is not there is loaded from `source`, what outlives its part is stored to `target`."""

    def __init__(self, w: Writer, program: Program, places: _Places, source: str, target: str) -> None:
        super().__init__()
        self.w, self.program, self.places = w, program, places
        self.source, self.target = source, target

    def inside(self, w: Writer) -> Handed:
        """The same values in a function of their own (see `outline`)."""
        return Handed(w, self.program, self.places, "%known", "%target")

    def __missing__(self, k: int) -> str:
        w, node = self.w, self.program.nodes[k]
        if node.op is Op.CONST:
            return w.literal(node.value)
        place = w.offset(self.source, self.places.of[k] * w.width)
        register = w.emit(f"load {w.type}, ptr {place}, align 8")
        if is_boolean(node):
            register = w.emit(f"fcmp une {w.type} {register}, {w.literal(0.0)}")
        super().__setitem__(k, register)
        return register

    def __setitem__(self, k: int, register: str) -> None:
        super().__setitem__(k, register)
        if k in self.places.of:
            w = self.w
            if is_boolean(self.program.nodes[k]):
                register = w.emit(f"uitofp {w.truth_type} {register} to {w.type}")
            w.line(f"store {w.type} {register}, ptr {w.offset(self.target, self.places.of[k] * w.width)}, align 8")
