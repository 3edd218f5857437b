# SPDX-License-Identifier: Apache-2.0
"""What was computed for an arm (trees, kernels, loops, thresholds), kept for the next call and for every equal robot.

`Robot.memo` looks here. Robots of equal content have one memo between them, for as long as one of them lives: a second
``load("ur5")`` finds the kernels of the first. A memo is never pickled and never copied.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakValueDictionary


class Memo:
    """Results by key, in a plain dictionary, which is found quickest; robots of equal content hold the same memo."""

    __slots__ = ("__weakref__", "known")

    def __init__(self) -> None:
        """Know nothing yet."""
        self.known: dict[Hashable, Any] = {}


_memos: WeakValueDictionary[tuple[Any, ...], Memo] = WeakValueDictionary()
_under_way: dict[tuple[int, Hashable], threading.RLock] = {}
_guard = threading.Lock()


def memo_of(content: tuple[Any, ...]) -> Memo:
    """Return the memo of all robots with this content."""
    with _guard:
        memo = _memos.get(content)
        if memo is None:
            memo = _memos[content] = Memo()
        return memo


def make_once(known: dict[Hashable, Any], key: Hashable, make: Callable[[], Any]) -> Any:
    """Make a result that is missing. Threads that ask for the same key wait for the one that makes it.

    The locks are one a key: a maker may ask for other keys, of this robot and of others, but never for its own.
    """
    place = (id(known), key)
    with _guard:
        lock = _under_way.setdefault(place, threading.RLock())
    try:
        with lock:
            return known[key] if key in known else known.setdefault(key, make())
    finally:
        with _guard:
            _under_way.pop(place, None)


def _after_fork() -> None:
    """A child has none of the threads that held these locks."""
    global _guard
    _guard = threading.Lock()
    _under_way.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
