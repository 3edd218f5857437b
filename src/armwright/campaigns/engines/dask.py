# SPDX-License-Identifier: Apache-2.0
"""Several hosts through dask.distributed: a scheduler and workers that somebody started, or a cluster on this machine.

Only the name of `chunk_bytes`, texts, integers and bytes go over dask's wire. Off loopback that wire has to be TLS.
Chunks whose workers died are left to the end, and to processes of this machine, which find the guilty item.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from functools import lru_cache
from itertools import islice
from typing import Any

from armwright.campaigns.chunk_file import Chunk, chunk_from
from armwright.campaigns.engines.addresses import check_address
from armwright.campaigns.engines.processes import one_thread, processes
from armwright.campaigns.refusal import accepted, refusal
from armwright.campaigns.store import Store
from armwright.campaigns.work import START, Worker, ends_within, worker_of
from armwright.errors import InputError, SimulationError
from armwright.optional import need

AHEAD = 3  # chunks per worker under way: enough to keep it busy, few enough to keep memory flat
LOOK = 2.0  # [s] between looks at how many workers there are
TUNED = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,  # five times the page faults otherwise
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.allowed-failures": 0,  # whom a chunk has killed once, it would kill again
    "distributed.comm.timeouts.connect": "10s",
}


@lru_cache(maxsize=4)
def _worker(*task: Any) -> Worker:
    with ends_within(START):
        return worker_of(*task)


def chunk_bytes(plan: str, prepared: bytes, digest: str, expected: str, first: int, last: int) -> bytes:
    """Compute a chunk on whatever host this runs; the worker is kept for the next one."""
    try:
        worker = _worker(plan, prepared, digest, expected)
    except Exception as error:  # noqa: BLE001 — only bytes go back
        return refusal(error)
    with ends_within(worker.plan.limit):
        return worker.chunk(first, last).to_bytes()


def dask(
    store: Store,
    chunks: Sequence[tuple[int, int]],
    workers: int,
    *,
    scheduler: str | None = None,
    security: Any = None,
    insecure: bool = False,
    mixed: bool = False,
) -> Iterator[Chunk]:
    """Yield the chunks as they are done.

    Args:
        store: the campaign.
        chunks: (first, last) each.
        workers: of the local cluster, if no scheduler is given.
        scheduler: address of a running one.
        security: dask's `Security`, for TLS.
        insecure: whether a plain connection may leave this machine.
        mixed: whether hosts whose arithmetic differs may take part.
    """
    need("distributed", "scale", "engine dask")  # first: it brings the settings that are changed here for a while
    config = need("dask", "scale", "engine dask").config
    if scheduler is not None:
        check_address(scheduler, insecure=insecure)
    lost: list[tuple[int, int]] = []
    with config.set(TUNED), _client(scheduler, security, workers) as client:
        yield from _drive(client, store, chunks, mixed, lost)
    yield from processes(store, lost, min(len(lost), os.cpu_count() or 1), mixed=mixed)


@contextlib.contextmanager
def _client(scheduler: str | None, security: Any, workers: int) -> Iterator[Any]:
    distributed = need("distributed", "scale", "engine dask")
    with contextlib.ExitStack() as closing:
        try:
            if scheduler is None:
                closing.enter_context(one_thread())
                cluster = distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    host="127.0.0.1",
                    silence_logs=logging.CRITICAL,
                )
                closing.enter_context(cluster)
            client = closing.enter_context(distributed.Client(scheduler or cluster, security=security))
            client.wait_for_workers(1, timeout=START)
        except TimeoutError:
            raise SimulationError(
                f"no worker has come to {scheduler} within {START:g} s; "
                f"start some with: armwright campaign worker {scheduler}"
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(f"--scheduler {scheduler}: no connection ({error})") from None
        yield client


def _drive(
    client: Any, store: Store, chunks: Sequence[tuple[int, int]], mixed: bool, lost: list[tuple[int, int]]
) -> Iterator[Chunk]:
    distributed = need("distributed", "scale", "engine dask")
    task, todo = store.task(mixed=mixed), iter(chunks)
    # with_results would be cheaper, but waits for ever when the scheduler dies while a result is on its way
    under_way = distributed.as_completed()
    chunk_of: dict[str, tuple[int, int]] = {}

    def submit(count: int) -> None:
        for chunk in islice(todo, max(0, count)):
            future = client.submit(chunk_bytes, *task, *chunk, pure=False)
            chunk_of[future.key] = chunk
            under_way.add(future)

    looked, wanted = time.monotonic(), AHEAD * len(client.nthreads())
    submit(wanted)
    for future in under_way:
        chunk = chunk_of.pop(future.key)
        try:
            answer = future.result()
        except (CancelledError, OSError):
            raise SimulationError(
                f"the scheduler is gone; what is done is kept, go on with: armwright campaign resume {store.folder}"
            ) from None
        except Exception:  # noqa: BLE001 — its worker died; items that raise are rows
            lost.append(chunk)
        else:
            yield chunk_from(accepted(answer, "a worker could not start"), chunk)
        future.release()
        if time.monotonic() - looked > LOOK:  # workers come and go
            looked, wanted = time.monotonic(), AHEAD * max(1, len(client.nthreads()))
        submit(wanted - len(chunk_of))
