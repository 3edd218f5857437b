# SPDX-License-Identifier: Apache-2.0
"""Several programs that run in order over a memory of slots, with the signature of one.

A program that occurs several times is compiled once and called several times. That is what a computation with structure
wants, such as the slopes of an integrator's step: as one graph it would be traced, differentiated and compiled over and
over, and its machine code would not fit into the processor's cache.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from armwright.errors import InputError
from armwright.graph.loop_plan import LoopPlan
from armwright.graph.traced_program import Counts, Node, ProgramSignal


@dataclass(frozen=True, eq=False)
class StagedProgram:
    """A plan whose stages run once, in order, with the names of the slots that it takes and returns.

    It has the signature of a `TracedProgram`; `nodes` is empty, the stages have them.
    """

    name: str
    plan: LoopPlan
    inputs: tuple[ProgramSignal, ...]
    outputs: tuple[ProgramSignal, ...]
    single: bool = False
    nodes: ClassVar[tuple[Node, ...]] = ()

    def __post_init__(self) -> None:
        """Check that the signals fit their slots, and that no stage reads a slot that nobody has written."""
        for signal in (*self.inputs, *self.outputs):
            if self.plan.slots.get(signal.name) != signal.size:
                raise InputError(f"{self.name}: {signal.name} has {signal.size} elements, its slot differs")
        known = {signal.name for signal in self.inputs}
        for part in self.plan.stages:
            if missing := set(part.reads.values()) - known:
                raise InputError(f"{self.name}: {part.program.name} reads {', '.join(sorted(missing))} before written")
            known |= set(part.writes.values())

    @cached_property
    def results(self) -> tuple[tuple[int, ...], ...]:
        """Per output, the places of its elements in the memory."""
        return tuple(tuple(self.plan.positions((signal.name,))) for signal in self.outputs)

    @cached_property
    def counts(self) -> Counts:
        """Operations of all stages, those that occur several times counted several times."""
        return Counts(*(sum(column) for column in zip(*(s.program.counts for s in self.plan.stages), strict=True)))

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the computation."""
        return hashlib.blake2b(repr((self.plan.digest, self.inputs, self.outputs)).encode(), digest_size=20).hexdigest()
