# SPDX-License-Identifier: Apache-2.0
"""Expressions, folding, differentiation, counting, and code. Knows numbers and operations; nothing of robots."""

from armwright.graph.derive import jacobian
from armwright.graph.kernel import Kernel, compile_function
from armwright.graph.thread_pool import set_threads, threads
from armwright.graph.traced_program import Counts, Program, Signal, trace

__all__ = ["Counts", "Kernel", "Program", "Signal", "compile_function", "jacobian", "set_threads", "threads", "trace"]


def __dir__() -> list[str]:
    return __all__
