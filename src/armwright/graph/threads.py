"""Rows of a batch, split over blocks and threads.

Blocks keep broadcast inputs small (one block of copies instead of a full array); threads pay above a measured
break-even.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from armwright.errors import InputError

BLOCK = 4096  # rows a broadcast input is repeated for
ROWS_PER_THREAD = 4096  # below this handing work to a thread costs more than it saves
_threads = 0
_pool: ThreadPoolExecutor | None = None
T = TypeVar("T")
Runner = Callable[[list[Any], list[Any], int], int]


def threads() -> int:
    """Threads used for large batches: `set_threads`, else $ARMWRIGHT_THREADS, else the cores this process may use."""
    if _threads:
        return _threads
    if given := os.environ.get("ARMWRIGHT_THREADS", ""):
        if not given.isdigit() or int(given) < 1:
            raise InputError(f"ARMWRIGHT_THREADS must be a positive integer, got {given!r}")
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_threads(count: int) -> None:
    """Use `count` threads for large batches from now on."""
    global _threads, _pool
    if count < 1:
        raise InputError(f"set_threads: count must be at least 1, got {count}")
    _threads = count
    if _pool is not None:
        _pool.shutdown(wait=True)
        _pool = None


def pool() -> ThreadPoolExecutor:
    """Return the helper threads; the calling thread works too, so there is one fewer of them."""
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max_workers=max(1, threads() - 1), thread_name_prefix="armwright")
    return _pool


def run_rows(runner: Runner, inputs: list[Any], outputs: list[Any], rows: int) -> int:
    """Run all rows; an input has `rows` rows, or one that serves all. Returns nonzero if an input was not finite."""
    workers = min(threads(), rows // ROWS_PER_THREAD)
    if workers <= 1:
        return _run_part(runner, inputs, outputs, 0, rows)
    step = -(-rows // workers)
    step += -step % 64
    parts = [(start, min(rows, start + step)) for start in range(0, rows, step)]
    jobs = [pool().submit(_run_part, runner, inputs, outputs, low, high) for low, high in parts[1:]]
    status = _run_part(runner, inputs, outputs, *parts[0])
    for job in jobs:
        status |= job.result()
    return status


def run_jobs(job: Callable[[int], T], count: int) -> list[T]:
    """Return ``[job(0), …, job(count − 1)]``, computed on all threads."""
    workers = min(threads(), count)
    if workers <= 1:
        return [job(k) for k in range(count)]
    spans = [range(first, count, workers) for first in range(workers)]
    waiting = [pool().submit(lambda span=span: [job(k) for k in span]) for span in spans[1:]]  # type: ignore[misc]
    results = [[job(k) for k in spans[0]], *(future.result() for future in waiting)]
    return [results[k % workers][k // workers] for k in range(count)]


def _run_part(runner: Runner, inputs: list[Any], outputs: list[Any], low: int, high: int) -> int:
    repeated = [k for k, a in enumerate(inputs) if len(a) == 1 and high - low > 1]
    if not repeated:
        return runner([a if len(a) == 1 else a[low:high] for a in inputs], [o[low:high] for o in outputs], high - low)
    status = 0
    copies = {
        k: np.ascontiguousarray(np.broadcast_to(inputs[k], (min(BLOCK, high - low), inputs[k].shape[1])))
        for k in repeated
    }
    for start in range(low, high, BLOCK):
        stop = min(high, start + BLOCK)
        part = [copies[k] if k in copies else a[start:stop] for k, a in enumerate(inputs)]
        status |= runner(part, [o[start:stop] for o in outputs], stop - start)
    return status
