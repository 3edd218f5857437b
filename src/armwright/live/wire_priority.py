# SPDX-License-Identifier: Apache-2.0
"""Real-time priority of the thread that answers a controller, for as long as it does nothing else.

Thinking and compiling keep the ordinary priority: a thread that computes for seconds at this one would starve others.
The thread that records has it too: it holds Python's lock now and then, and must not be put aside while it does.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

FIFO_PRIORITY = 20  # of 1 to 99: above everything ordinary, below the threads of the kernel that move bytes


@contextlib.contextmanager
def in_real_time() -> Iterator[bool]:
    """Run the calling thread first among all ordinary ones; yield whether the system allows it (Linux, privileged)."""
    try:
        before, how = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(FIFO_PRIORITY))
    except (AttributeError, OSError):
        yield False
        return
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, before, how)
