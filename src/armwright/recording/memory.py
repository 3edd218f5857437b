# SPDX-License-Identifier: Apache-2.0
"""Memory of recordings, used again: large blocks that nobody looks into any more serve the next run.

The system hands out fresh memory page by page, each with a fault, which takes as long as the simulation that fills it.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from armwright.types import Array

SMALL = 8192  # numbers that are not worth keeping
KEPT, MOST = 8_000_000, 64  # numbers and blocks that are kept at most
SLACK = 2  # times what is needed that a block may have
_blocks: list[Array] = []  # given out before, the latest last; some are still looked into
_lock = threading.Lock()


def _references(blocks: list[Array], k: int) -> int:
    return sys.getrefcount(blocks[k])


_ALONE = _references([np.empty(1)], 0)  # when only the list refers to a block; every view refers to it too


def empty(shape: tuple[int, ...]) -> Array:
    """Return an uninitialised array, like `numpy.empty`; its memory is used again when no view of it is left.

    Blocks are found free when the next is asked for. Nothing is called when a view dies: Ctrl-C in such a call would be
    swallowed, since Python has nobody to raise it to.
    """
    need = int(np.prod(shape, dtype=np.int64))
    if need < SMALL:
        return np.empty(shape)
    with _lock:
        sizes = [block.size for block in _blocks]
        near = [k for k, size in enumerate(sizes) if need <= size <= SLACK * need]
        fitting = [k for k in near if _references(_blocks, k) == _ALONE]
        memory = _blocks.pop(min(fitting, key=sizes.__getitem__)) if fitting else np.empty(need)
        _blocks.append(memory)
        total = sum(sizes) + (0 if fitting else need)
        while _blocks and (total > KEPT or len(_blocks) > MOST):
            total -= _blocks.pop(0).size
    return memory[:need].reshape(shape)
