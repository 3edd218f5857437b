# SPDX-License-Identifier: Apache-2.0
"""In this process, one chunk after another. An item that crashes takes the process with it: for small campaigns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from armwright.campaigns.chunk_file import Chunk
from armwright.campaigns.store import Store
from armwright.campaigns.work import worker_of


def serial(store: Store, chunks: Sequence[tuple[int, int]], *, mixed: bool = False) -> Iterator[Chunk]:
    """Yield the chunks, in order."""
    worker = worker_of(*store.task(mixed=mixed))
    for first, last in chunks:
        yield worker.chunk(first, last)
