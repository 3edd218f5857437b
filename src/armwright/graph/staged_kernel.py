# SPDX-License-Identifier: Apache-2.0
"""Kernels of a `StagedProgram`: several programs that run in order over a memory of slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armwright.graph import fast_call, jit
from armwright.graph.array import cells, traced
from armwright.graph.emit.llvm import kernel_ir
from armwright.graph.emit.llvm_loop import emit_stages
from armwright.graph.kernel import Kernel, compiled
from armwright.graph.kernel_arguments import in_graph, over_rows
from armwright.graph.staged_program import StagedProgram
from armwright.graph.tape import Tape
from armwright.graph.thread_pool import once
from armwright.graph.traced_program import TracedProgram, trace

if TYPE_CHECKING:
    from armwright.types import Symbolic


class StagedKernel(Kernel):
    """A kernel of a `StagedProgram`: called, batched and checked as any other kernel."""

    program: Any

    def function_address(self, width: int) -> int:
        """Return the address of the machine code that computes `width` rows at a time; compiled on first use."""
        p: StagedProgram = self.program
        name = f"armwright_{p.digest}_{width}_{int(self.check_finite)}"
        fma = jit.host().fma
        columns = partial(emit_stages, p.plan, p.inputs, name)
        return compiled(
            (name,),
            name,
            lambda: kernel_ir(p, name, width=width, check_finite=self.check_finite, fma=fma, body=columns),
        )

    def _on_tape(self) -> Callable[[list[Any], list[Any]], None]:
        p: StagedProgram = self.program
        tapes = {id(part.program): Tape(part.program) for part in p.plan.stages}

        def run(inputs: list[Any], outputs: list[Any]) -> None:
            slots = {signal.name: array for signal, array in zip(p.inputs, inputs, strict=True)}
            rows = len(outputs[0])
            for part in p.plan.stages:
                found = [np.empty((rows, signal.size)) for signal in part.program.outputs]
                tapes[id(part.program)].run([slots[part.reads[s.name]] for s in part.program.inputs], found)
                slots |= {part.writes[s.name]: array for s, array in zip(part.program.outputs, found, strict=True)}
            for signal, output in zip(p.outputs, outputs, strict=True):
                output[...] = slots[signal.name]

        return run

    def inlined(self, *values: Symbolic) -> Symbolic:
        """Return the results for symbols: the nodes of all stages, built again in the graph of the caller."""
        p: StagedProgram = self.program

        def one(*row: Symbolic) -> Symbolic:
            slots = {s.name: traced(np.ravel(cells(value))) for s, value in zip(p.inputs, row, strict=True)}
            for part in p.plan.stages:
                given = [slots[part.reads[s.name]] for s in part.program.inputs]
                made = in_graph(part.program, given)
                if made is None:  # a stage that reads numbers alone
                    made = _numbers(part.program, given)
                results = (made,) if part.program.single else made
                slots |= {
                    part.writes[s.name]: traced(np.ravel(cells(result)))
                    for s, result in zip(part.program.outputs, results, strict=True)
                }
            shaped = tuple(traced(cells(slots[s.name]).reshape(s.shape)) for s in p.outputs)
            return shaped[0] if p.single else shaped

        return over_rows(one, self.name, p.inputs, values)

    def source(self, target: str, **options: Any) -> str:
        """Return the same computation as source text, all stages in one piece."""
        from armwright.graph.emit import source

        return source(self.linked(), target, **options)

    def linked(self) -> TracedProgram:
        """Return the whole computation as one program."""
        from inspect import Parameter, Signature

        def whole(**arguments: Any) -> Symbolic:
            return self.inlined(*arguments.values())

        shapes = {s.name: s.shape for s in self.program.inputs}
        whole.__signature__ = Signature([Parameter(k, Parameter.KEYWORD_ONLY) for k in shapes])  # type: ignore[attr-defined]
        return trace(whole, shapes, name=self.name)


def _numbers(program: TracedProgram, given: Sequence[Symbolic]) -> Symbolic:
    outputs = [np.empty((1, signal.size)) for signal in program.outputs]
    Tape(program).run([np.asarray(cells(value), dtype=np.float64).reshape(1, -1) for value in given], outputs)
    return outputs[0] if program.single else tuple(outputs)


@once
def _staged_type() -> type[StagedKernel]:
    return fast_call.fast_type(StagedKernel)


def staged_kernel(program: StagedProgram, *, check_finite: bool = True) -> StagedKernel:
    """Return a kernel of the fastest kind this interpreter allows."""
    return _staged_type()(cast("Any", program), check_finite=check_finite)
