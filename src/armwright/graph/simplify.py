# SPDX-License-Identifier: Apache-2.0
"""One place that decides which form of a program is written: for people the collected one, for machines the cheapest."""

from __future__ import annotations

from armwright.graph.angles import merge_angles
from armwright.graph.collect import collect
from armwright.graph.program import Program

TRIG = 15  # multiplications for which one could have a sine in C


def readable(program: Program) -> Program:
    """Return the collected form, or one with merged angles where the collected form is too long to read."""
    return collect(program) or merge_angles(program)


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
