# SPDX-License-Identifier: Apache-2.0
"""Work split over threads, and the lock under which a process makes what it makes once.

`run_rows` splits the rows of a batch over blocks and threads: blocks keep broadcast inputs small (one block of copies
instead of a full array); threads pay above a measured break-even. `once` makes things once per process:
`functools.lru_cache` computes a value twice if two threads ask for it at the same time, and drops one of the two: no
matter for a number, a crash for an engine whose code is in use. Everything of this kind is made and changed under
`LOCK`. A fork waits for it, so that a child never inherits half a compilation, nor a lock whose owner it does not have.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial, reduce, wraps
from operator import or_
from typing import Any, TypeVar

import numpy as np

from armwright.errors import InputError

T = TypeVar("T")


def fork_safe_lock(in_child: Callable[[], None] | None = None) -> threading.RLock:
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
    """Return a function that calls `make` once, whichever threads ask, and returns its value from then on."""
    made: list[T] = []

    @wraps(make)
    def get() -> T:
        if not made:
            with LOCK:
                if not made:
                    made.append(make())
        return made[0]

    return get


REPEATED_ROWS = 4096  # rows for which a broadcast input is repeated
ROWS_PER_THREAD = 4096  # below this, a thread costs more than it saves
_threads = 0
_pool: ThreadPoolExecutor | None = None
Runner = Callable[[list[Any], list[Any], int], int]


def threads() -> int:
    """Return the threads used for large batches: `set_threads`, else $ARMWRIGHT_THREADS, else the cores we may use.

    >>> threads()  # the cores of this process, unless set
    """
    if _threads:
        return _threads
    if given := os.environ.get("ARMWRIGHT_THREADS", ""):
        if not given.isdigit() or int(given) < 1:
            raise InputError(f"ARMWRIGHT_THREADS must be a positive integer, got {given!r}")
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_threads(count: int) -> None:
    """Use `count` threads for large batches from now on; running batches keep those they have.

    >>> set_threads(4)
    """
    global _threads, _pool
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InputError(f"set_threads: count must be a whole number of at least 1, got {count!r}")
    with _lock:
        _threads, old, _pool = count, _pool, None
    if old is not None:
        old.shutdown(wait=False)  # it still finishes what it was given


def _without_threads() -> None:
    """Forget the pool that a forked child inherits: its threads stayed in the parent."""
    global _pool
    _inherited.append(_pool)  # not freed, which would wake threads that are not there
    _pool = None


_inherited: list[Any] = []
_lock = fork_safe_lock(_without_threads)  # of handing over work; not held while it is done
_helper = threading.local()


def _share(jobs: Sequence[Callable[[], T]], stop: threading.Event) -> list[T]:
    """Run the first job in this thread and the others in helpers; no job is running any more when this returns.

    If one fails, `stop` tells the others that nobody waits for their results.
    """
    global _pool
    waiting: list[Future[T]] = []
    try:
        with _lock:
            if _pool is None:  # this thread works too, so there is one helper fewer than threads
                _pool = ThreadPoolExecutor(max(1, threads() - 1), "armwright", initializer=_mark_helper)
            for job in jobs[1:]:
                waiting.append(_pool.submit(job))
        return [jobs[0](), *(future.result() for future in waiting)]
    except BaseException:
        stop.set()
        wait([future for future in waiting if not future.cancel()])
        raise


def _mark_helper() -> None:
    _helper.here = True


def _workers(most: int) -> int:
    """Return the threads worth using for `most` pieces; one in a helper, which must not wait for other helpers."""
    return 1 if most <= 1 or hasattr(_helper, "here") else min(threads(), most)


def run_rows(runner: Runner, inputs: list[Any], outputs: list[Any], rows: int) -> int:
    """Run all rows; an input has `rows` rows, or one that serves all. Returns nonzero if an input was not finite."""
    workers = _workers(rows // ROWS_PER_THREAD)
    if workers <= 1:
        return _run_part(runner, inputs, outputs, 0, rows)
    step = -(-rows // workers)
    step += -step % 64
    parts = [(start, min(rows, start + step)) for start in range(0, rows, step)]
    jobs = [partial(_run_part, runner, inputs, outputs, low, high) for low, high in parts]
    return reduce(or_, _share(jobs, threading.Event()))


def run_jobs(job: Callable[[int], T], count: int) -> list[T]:
    """Return ``[job(0), …, job(count − 1)]``, computed on all threads.

    A job that writes to addresses must refer to the arrays behind them: after an error or Ctrl-C others may be left.
    """
    workers = _workers(count)
    if workers <= 1:
        return [job(k) for k in range(count)]
    stop = threading.Event()

    def span(first: int) -> list[T]:
        results: list[T] = []
        try:
            for k in range(first, count, workers):
                if stop.is_set():
                    break
                results.append(job(k))
        except BaseException:
            stop.set()
            raise
        return results

    results = _share([partial(span, first) for first in range(workers)], stop)
    return [results[k % workers][k // workers] for k in range(count)]


def _run_part(runner: Runner, inputs: list[Any], outputs: list[Any], low: int, high: int) -> int:
    repeated = [k for k, a in enumerate(inputs) if len(a) == 1 and high - low > 1]
    if not repeated:
        return runner([a if len(a) == 1 else a[low:high] for a in inputs], [o[low:high] for o in outputs], high - low)
    status = 0
    copies = {
        k: np.ascontiguousarray(np.broadcast_to(inputs[k], (min(REPEATED_ROWS, high - low), inputs[k].shape[1])))
        for k in repeated
    }
    for start in range(low, high, REPEATED_ROWS):
        stop = min(high, start + REPEATED_ROWS)
        part = [copies[k] if k in copies else a[start:stop] for k, a in enumerate(inputs)]
        status |= runner(part, [o[start:stop] for o in outputs], stop - start)
    return status
