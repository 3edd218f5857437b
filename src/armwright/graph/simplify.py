# SPDX-License-Identifier: Apache-2.0
"""The one place that decides which form of a program is written: to be read or to be run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from armwright.graph.angles import merge_angles
from armwright.graph.collect import collect
from armwright.graph.ops import Op
from armwright.graph.program import Program

WORTH, SHORT = (
    3,
    300,
)  # a collected form may have so many times the operations of one with shared terms, and so many more
TRIG = 15  # multiplications for which one could have a sine in C


def readable(program: Program) -> Program:
    """Return the collected form, or one with merged angles where the collected form is too long to read."""
    collected, merged = collect(program), merge_angles(program)
    if collected is None or collected.counts.flops > WORTH * merged.counts.flops + SHORT:
        return merged
    return collected


def cheapest(program: Program, *, multiply_out: bool = False) -> Program:
    """Return an equal program with the fewest operations that rewriting finds; the program itself if it finds none.

    Args:
        program: what to write.
        multiply_out: also look at the collected form. It is exact in real arithmetic, and as good as the recursions for
            equations of arms; in others, (x − y)² multiplied out may cancel.
    """
    forms = [program, merge_angles(program)]
    collected = collect(program, to_read=False) if multiply_out else None
    return min(forms if collected is None else [*forms, collected], key=cost)


def cost(program: Program) -> int:
    """Operations, a sine counted as `TRIG` of them."""
    counts = program.counts
    return counts.flops + counts.other + TRIG * counts.trig


def without_idle(program: Program, names: Collection[str]) -> Program:
    """Return the program without those of the named inputs that it does not read."""
    used = {node.value[0] for node in program.nodes if node.op is Op.INPUT}
    kept = [k for k, signal in enumerate(program.inputs) if k in used or signal.name not in names]
    number = {old: new for new, old in enumerate(kept)}
    nodes = tuple(
        node._replace(value=(number[node.value[0]], node.value[1])) if node.op is Op.INPUT else node
        for node in program.nodes
    )
    return replace(program, inputs=tuple(program.inputs[k] for k in kept), nodes=nodes)
