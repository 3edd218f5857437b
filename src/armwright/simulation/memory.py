"""Memory of recordings, used again: large blocks that nobody looks into any more serve the next run.

The system hands out fresh memory page by page, each with a fault, which takes as long as the simulation that fills it.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SMALL = 8192  # numbers that are not worth keeping
KEPT = 8_000_000  # numbers that are kept at most
SLACK = 2  # times what is needed that a block may have
_spare: list[Array] = []
_lock = threading.Lock()


def empty(shape: tuple[int, ...]) -> Array:
    """Return an uninitialised array, like `numpy.empty`; its memory comes back when no view of it is left."""
    need = int(np.prod(shape, dtype=np.int64))
    if need < SMALL:
        return np.empty(shape)
    with _lock:
        fitting = [k for k, block in enumerate(_spare) if need <= block.size <= SLACK * need]
        memory = _spare.pop(min(fitting, key=lambda k: _spare[k].size)) if fitting else np.empty(need)
    # a view on a memoryview: views of it refer to it, not past it to the memory, so that it lives as long as they do
    array: Array = np.frombuffer(memory.data, dtype=np.float64, count=need)
    weakref.finalize(array, _give_back, memory).atexit = False
    return array.reshape(shape)


def _give_back(memory: Array) -> None:
    with _lock:
        _spare.append(memory)
        while sum(block.size for block in _spare) > KEPT:
            _spare.pop(0)
