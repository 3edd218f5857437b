# SPDX-License-Identifier: Apache-2.0
"""The engine `processes`: one process per core on this machine, each with its own pipe; one that dies costs its chunk.

A lost chunk is halved until the guilty item is alone. An item that ends its process twice, or takes longer than the
limit, gets a marked row: a worker that somebody killed costs nothing but time. Workers notice when the coordinator is
gone and leave, so that no process stays behind.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from armwright.campaigns.campaign_plan import CampaignPlan
from armwright.campaigns.chunk_file import CRASHED, HUNG, Chunk, chunk_from, chunk_of, joined, marked_row, rows_of
from armwright.campaigns.engines.child import READY, prepare, serve
from armwright.campaigns.kind import Kind, place_of
from armwright.campaigns.store import Store, accepted
from armwright.campaigns.work import WORKER_START_SECONDS, PreparedWork
from armwright.errors import SimulationError, tell_user

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

CONTEXT = multiprocessing.get_context("spawn")  # a forked child would share locks and compiled code half-way


@dataclass
class Child:
    """A worker process and what it is doing."""

    process: SpawnProcess
    tasks: Connection
    life: Connection
    ready: bool = False
    chunk: tuple[int, int] | None = None
    began: float = 0.0
    until: float = field(default_factory=lambda: time.monotonic() + WORKER_START_SECONDS)

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.tasks.close()
        self.life.close()


class LostChunk:
    """A chunk that was lost, coming back in parts."""

    def __init__(self, store: Store, first: int, last: int) -> None:
        """Wait for all items of the chunk."""
        self.store, self.left, self.tables = store, last - first, list[Any]()

    def add(self, part: Chunk) -> Chunk | None:
        """Take a part; return the whole chunk with the last one."""
        rows = rows_of(part.content, self.store.kind, self.store.digest, part.first, part.last)
        self.tables.append(rows)
        self.left -= len(rows)
        return chunk_of(joined(self.tables), self.store.digest) if self.left == 0 else None


def prepared_apart(plan: CampaignPlan, kind: Kind) -> PreparedWork:
    """Prepare a campaign in a process of its own; raise what it raised."""
    child = _child(prepare, plan.text(), place_of(kind), daemon=False)  # so that it may have processes of its own
    try:
        said = json.loads(accepted(child.tasks.recv_bytes(), "the campaign could not be prepared"))
        data = child.tasks.recv_bytes()
    except (EOFError, OSError):
        child.process.join(1.0)
        raise SimulationError(
            f"the process that prepared a campaign of kind {plan.kind!r} ended (exit code {child.process.exitcode})"
        ) from None
    finally:
        child.stop()
    for text in said["warnings"]:
        tell_user(text)
    return PreparedWork(data, said["canary"])


def processes(store: Store, chunks: Sequence[tuple[int, int]], workers: int, *, mixed: bool = False) -> Iterator[Chunk]:
    """Yield the chunks as they are done.

    Args:
        store: the campaign.
        chunks: (first, last) each.
        workers: number of processes.
        mixed: whether machines whose arithmetic differs from the coordinator's may take part.
    """
    queue = deque(chunks)
    lost: dict[tuple[int, int], tuple[int, int]] = {}  # part → the chunk it belongs to
    pieces: dict[tuple[int, int], LostChunk] = {}
    children: list[Child] = []
    task = store.task(mixed=mixed)
    crashed = set[int]()  # items that ended a process while they were alone, once
    failed_starts = 0
    try:
        while queue or any(child.chunk for child in children):
            while len(children) < min(workers, len(queue) + sum(child.chunk is not None for child in children)):
                children.append(_child(serve, *task))
            for child in _heard(children):
                answer = _answer(child)
                if answer is None:  # dead, hung, or never ready
                    children.remove(child)
                    failed_starts = failed_starts + 1 if not child.ready else 0
                    if failed_starts >= 3:
                        raise SimulationError(f"workers of kind {store.kind.name!r} end before they are ready")
                    part = _again(store, child, queue, lost, pieces, crashed) if child.chunk else None
                    child.stop()
                else:
                    part = _taken(child, answer)
                if part is not None:
                    whole = lost.get((part.first, part.last))
                    chunk = pieces[whole].add(part) if whole else part
                    if chunk is not None:
                        yield chunk
            for child in children:
                if child.ready and child.chunk is None and queue:
                    _give(child, queue.popleft(), store.plan.limit)
    finally:
        for child in children:
            child.stop()


def _child(target: Callable[..., None], *task: Any, daemon: bool = True) -> Child:
    tasks, theirs = CONTEXT.Pipe()
    alive, life = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=target, args=(theirs, alive, *task), daemon=daemon)
    with one_thread():
        process.start()
    theirs.close()
    alive.close()
    return Child(process, tasks, life)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Give workers one thread each, for BLAS as well: they share the cores by processes."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "ARMWRIGHT_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _heard(children: list[Child]) -> list[Child]:
    """Return the workers that answered, died, or are overdue; wait for one."""
    now = time.monotonic()
    busy = [child for child in children if child.chunk is not None or not child.ready]
    pause = max(0.0, min((child.until for child in busy), default=now) - now)
    sources = {child.tasks: child for child in busy}
    spoke = [sources[source] for source in wait(list(sources), timeout=pause)]  # type: ignore[index]
    return spoke or [child for child in busy if child.until <= time.monotonic()]


def _answer(child: Child) -> bytes | None:
    try:
        return child.tasks.recv_bytes() if child.tasks.poll() else None
    except (EOFError, OSError):
        return None


def _taken(child: Child, answer: bytes) -> Chunk | None:
    if child.chunk is None:
        child.ready = accepted(answer, "a worker could not start") == READY
        return None
    asked, child.chunk = child.chunk, None
    return chunk_from(answer, asked)


def _give(child: Child, chunk: tuple[int, int], limit: float) -> None:
    child.chunk, child.began = chunk, time.monotonic()
    child.until = child.began + limit
    with contextlib.suppress(OSError):  # a worker that died in the meantime is noticed in the next round
        child.tasks.send_bytes(json.dumps(chunk).encode())


def _again(
    store: Store,
    child: Child,
    queue: deque[tuple[int, int]],
    lost: dict[tuple[int, int], tuple[int, int]],
    pieces: dict[tuple[int, int], LostChunk],
    crashed: set[int],
) -> Chunk | None:
    """Halve the chunk of a lost worker; an item alone is tried once more, and then marked."""
    assert child.chunk is not None
    first, last = child.chunk
    whole = lost.get((first, last), (first, last))
    pieces.setdefault(whole, LostChunk(store, *whole))
    parts = [(first, last)]
    if last - first == 1:
        hung = time.monotonic() - child.began >= store.plan.limit
        if hung or first in crashed:
            child.process.join(1.0)
            code = child.process.exitcode
            what = f"no result within {store.plan.limit:g} s" if hung else f"its process ended (exit code {code})"
            lost[first, last] = whole
            return chunk_of(marked_row(store.kind, first, HUNG if hung else CRASHED, what), store.digest)
        crashed.add(first)
    else:
        middle = (first + last) // 2
        parts = [(middle, last), (first, middle)]
    for part in parts:
        lost[part] = whole
        queue.appendleft(part)
    return None
