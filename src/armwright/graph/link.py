# SPDX-License-Identifier: Apache-2.0
"""A linker: stages of a loop, one after the other, as one straight-line program.

An input of a stage becomes the node that last wrote its slot; slots that are read before they are written are the
inputs of the whole. Equal nodes are shared, also across stages, and nothing else happens: no constant is folded, no
operand moves, so that every number is rounded as in the loop itself, and the linked program is equal to the stages run
one by one to the last bit. (`rebuilt` would fold across the border of two stages, and round differently.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from armwright.errors import InputError
from armwright.graph.expr import Expr, Graph
from armwright.graph.ops import Op
from armwright.graph.traced_program import ProgramSignal, TracedProgram, finish

if TYPE_CHECKING:
    from armwright.graph.loop_plan import LoopPlan, Stage

Pieces = Sequence[tuple[str, tuple[int, ...]]]
"""Names and shapes of the pieces of a slot, in order."""


def link(plan: LoopPlan, stages: Sequence[Stage], outputs: Sequence[str], *, name: str = "linked") -> TracedProgram:
    """Join stages of a loop into one program.

    Args:
        plan: whose slots the stages share.
        stages: in the order in which they run; one may occur several times.
        outputs: slots whose last values are the results; one that no stage writes is handed through.
        name: of the program, a valid C identifier.

    Returns:
        The program: one input (size,) per slot that is read before it is written, in the order of the plan's slots,
        and one output (size,) per slot in `outputs`.

    Raises:
        InputError: for an output that is no slot.

    >>> before = [stage for stage in plan.stages if stage.when == "before"]
    >>> link(plan, before, ["tau"]).inputs
    """
    strange = [slot for slot in outputs if slot not in plan.slots]
    if strange:
        raise InputError(f"link: {', '.join(strange)}: no such slot; slots are {', '.join(plan.slots)}")
    graph, order = Graph(), list(plan.slots)
    values: dict[str, list[Expr]] = {}

    def slot_values(slot: str) -> list[Expr]:
        if slot not in values:
            values[slot] = [graph.input(order.index(slot), e) for e in range(plan.slots[slot])]
        return values[slot]

    for part in stages:
        program, made = part.program, list[Expr]()
        given = [slot_values(part.reads[signal.name]) for signal in program.inputs]
        for op, args, value in program.nodes:
            if op is Op.INPUT:
                signal, element = value
                made.append(given[signal][element])
            else:
                made.append(graph.node(op, tuple(made[a].index for a in args), value))
        for signal, result in zip(program.outputs, program.results, strict=True):
            values[part.writes[signal.name]] = [made[k] for k in result]
    results = [(slot, slot_values(slot)) for slot in outputs]
    every = [ProgramSignal(slot, (plan.slots[slot],)) for slot in order]
    whole = finish(graph, name, every, results, single=False)
    kept = sorted({node.value[0] for node in whole.nodes if node.op is Op.INPUT})
    return _with_inputs(whole, [every[k] for k in kept], {old: (new, 0) for new, old in enumerate(kept)})


def split_signals(program: TracedProgram, pieces: Mapping[str, Pieces]) -> TracedProgram:
    """Give the pieces of a program's inputs and outputs names and shapes of their own: x → q, qd.

    Args:
        program: as `link` returns it.
        pieces: by signal, its pieces; other signals stay as they are.
    """
    inputs: list[ProgramSignal] = []
    places: dict[int, list[tuple[int, int]]] = {}
    for k, signal in enumerate(program.inputs):
        where = places[k] = []
        for label, shape in pieces.get(signal.name, [signal]):
            where += [(len(inputs), e) for e in range(prod(shape))]
            inputs.append(ProgramSignal(label, shape))
        _check(signal, len(where))
    outputs: list[ProgramSignal] = []
    results: list[tuple[int, ...]] = []
    for signal, result in zip(program.outputs, program.results, strict=True):
        start = 0
        for label, shape in pieces.get(signal.name, [signal]):
            outputs.append(ProgramSignal(label, shape))
            results.append(result[start : start + prod(shape)])
            start += prod(shape)
        _check(signal, start)
    nodes = tuple(
        node._replace(value=places[node.value[0]][node.value[1]]) if node.op is Op.INPUT else node
        for node in program.nodes
    )
    return replace(program, inputs=tuple(inputs), outputs=tuple(outputs), nodes=nodes, results=tuple(results))


def ordered(program: TracedProgram, inputs: Sequence[ProgramSignal]) -> TracedProgram:
    """Return the program with these inputs in this order; it may read fewer."""
    names = {signal.name: k for k, signal in enumerate(inputs)}
    read = {node.value[0] for node in program.nodes if node.op is Op.INPUT}
    missing = [program.inputs[k].name for k in sorted(read) if program.inputs[k].name not in names]
    if missing:
        raise InputError(f"{program.name} reads {', '.join(missing)}, which is none of {', '.join(names)}")
    return _with_inputs(program, inputs, {k: (names[program.inputs[k].name], 0) for k in read})


def _check(signal: ProgramSignal, size: int) -> None:
    if size != signal.size:
        raise InputError(f"{signal.name} has {signal.size} elements, its pieces {size}")


def _with_inputs(
    program: TracedProgram, inputs: Sequence[ProgramSignal], moved: Mapping[int, tuple[int, int]]
) -> TracedProgram:
    """Number the inputs anew: input k becomes input moved[k][0], its elements from moved[k][1] on."""
    nodes = tuple(
        node._replace(value=(moved[node.value[0]][0], moved[node.value[0]][1] + node.value[1]))
        if node.op is Op.INPUT
        else node
        for node in program.nodes
    )
    return replace(program, inputs=tuple(inputs), nodes=nodes)
