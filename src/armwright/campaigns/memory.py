# SPDX-License-Identifier: Apache-2.0
"""A small campaign without a folder: items that exist only as Python objects, in this process, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Part = TypeVar("Part")
CHUNK = 1000


def in_memory(
    rows: Callable[[int, int], Part],
    items: int,
    *,
    chunk: int = CHUNK,
    progress: Callable[[int, Part], Any] | None = None,
) -> tuple[list[Part], bool]:
    """Compute items in chunks; Ctrl-C ends it and keeps what was done.

    Args:
        rows: (first, last) → what became of the items first ≤ item < last.
        items: how many.
        chunk: of them at once.
        progress: called after every chunk with the number of items done and the chunk's part.

    Returns:
        The parts in order, and whether it was interrupted.
    """
    parts: list[Part] = []
    try:
        for first in range(0, items, chunk):
            last = min(first + chunk, items)
            parts.append(rows(first, last))
            if progress is not None:
                progress(last, parts[-1])
    except KeyboardInterrupt:
        return parts, True
    return parts, False
