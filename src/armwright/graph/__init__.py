# SPDX-License-Identifier: Apache-2.0
"""Traced expressions: folding, differentiation, counting, and code. Numbers and operations only, nothing of robots."""

from armwright.graph.derive import derivative_matrix
from armwright.graph.jax_call import jax_function
from armwright.graph.kernel import Kernel, compile_function
from armwright.graph.thread_pool import set_threads, threads
from armwright.graph.torch_call import torch_function
from armwright.graph.traced_program import Counts, ProgramSignal, TracedProgram, trace
from armwright.packages import former_names

__all__ = [
    "Counts",
    "Kernel",
    "ProgramSignal",
    "TracedProgram",
    "compile_function",
    "derivative_matrix",
    "jax_function",
    "set_threads",
    "threads",
    "torch_function",
    "trace",
]


def __dir__() -> list[str]:
    return __all__


__getattr__ = former_names(
    __name__, {"Program": "TracedProgram", "Signal": "ProgramSignal", "jacobian": "derivative_matrix"}
)
