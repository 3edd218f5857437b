# SPDX-License-Identifier: Apache-2.0
"""Things a process makes once, and the one lock they are made under.

`functools.lru_cache` computes a value twice if two threads ask for it at the same time, and drops one of the two: no
matter for a number, a crash for an engine whose code is in use. Everything here is made and changed under `LOCK`. A
fork waits for it, so that a child never inherits half a compilation, nor a lock whose owner it does not have.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")


def fork_safe_lock(in_child: Callable[[], None] | None = None) -> Any:
    """Return a re-entrant lock that a fork waits for; `in_child` runs in the child before it is released there."""
    lock = threading.RLock()

    def enter_child() -> None:
        if in_child is not None:
            in_child()
        lock.release()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=enter_child)
    return lock


LOCK = fork_safe_lock()  # of compiling, loading and connecting kernels


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function that calls `make` the first time, whichever threads ask, and gives its value ever after."""
    made: list[T] = []

    @wraps(make)
    def get() -> T:
        if not made:
            with LOCK:
                if not made:
                    made.append(make())
        return made[0]

    return get
