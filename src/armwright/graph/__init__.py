# SPDX-License-Identifier: Apache-2.0
"""Expressions, folding, differentiation, counting, and code. Knows numbers and operations; nothing of robots."""

from armwright.graph.derive import jacobian
from armwright.graph.kernel import Kernel, compile_function
from armwright.graph.program import Counts, Program, Signal, trace
from armwright.graph.threads import set_threads, threads

__all__ = ["Counts", "Kernel", "Program", "Signal", "compile_function", "jacobian", "set_threads", "threads", "trace"]


def __dir__() -> list[str]:
    return __all__
