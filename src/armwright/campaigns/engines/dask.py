# SPDX-License-Identifier: Apache-2.0
"""Several hosts through dask.distributed: a scheduler and workers that somebody started, or a cluster on this machine.

Only the name of `chunk_bytes`, texts, integers and bytes go over dask's wire. Off loopback that wire has to be TLS.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from armwright.campaigns.canary import canary
from armwright.campaigns.store import Store
from armwright.campaigns.table import CRASHED, from_bytes, joined, marked_row, to_bytes
from armwright.campaigns.work import Worker, worker_of
from armwright.errors import InputError, SimulationError
from armwright.optional import need

AHEAD = 3  # chunks per worker under way: enough to keep it busy, few enough to keep memory flat
TUNED = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,  # five times the page faults otherwise
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.allowed-failures": 1,
}
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@lru_cache(maxsize=4)
def _worker(plan: str, prepared: bytes) -> Worker:
    return worker_of(plan, prepared)


def chunk_bytes(plan: str, prepared: bytes, expected: str, first: int, last: int) -> bytes:
    """Compute a chunk on whatever host this runs; the worker is kept for the next one."""
    if expected and canary() != expected:
        raise ArithmeticError("this host's arithmetic differs from the coordinator's; allow it with --mixed")
    return to_bytes(_worker(plan, prepared).table(first, last))


def check_address(address: str, *, insecure: bool = False) -> None:
    """Raise `InputError` for a plain connection that leaves this machine."""
    parts = urlsplit(address)
    if parts.scheme not in ("tcp", "tls") or not parts.hostname or not parts.port:
        raise InputError(
            f"--scheduler must be tls://HOST:PORT, or tcp://127.0.0.1:PORT on this machine; got {address!r}"
        )
    if parts.scheme == "tcp" and parts.hostname not in LOOPBACK and not insecure:
        raise InputError(
            f"--scheduler {address}: plain tcp leaves this machine, and whoever reaches it can run code there; "
            "use tls://, or --insecure on a network that you trust"
        )


def dask(
    store: Store,
    chunks: Sequence[tuple[int, int]],
    workers: int,
    *,
    scheduler: str | None = None,
    security: Any = None,
    mixed: bool = False,
) -> Iterator[Any]:
    """Yield the tables of the chunks as they are done.

    Args:
        store: the campaign.
        chunks: (first, last) each.
        workers: of the local cluster, if no scheduler is given.
        scheduler: address of a running one.
        security: dask's `Security`, for TLS.
        mixed: whether hosts whose arithmetic differs may take part.
    """
    config, distributed = need("dask", "scale", "engine dask").config, need("distributed", "scale", "engine dask")
    with config.set(TUNED):
        cluster = None
        if scheduler is None:
            cluster = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
            )
        try:
            with distributed.Client(cluster or scheduler, security=security) as client:
                yield from _drive(client, distributed, store, chunks, "" if mixed else store.canary)
        finally:
            if cluster is not None:
                cluster.close()


def _drive(
    client: Any, distributed: Any, store: Store, chunks: Sequence[tuple[int, int]], expected: str
) -> Iterator[Any]:
    text, todo = store.plan.text(), iter(chunks)

    def submit(chunk: tuple[int, int]) -> Any:
        future = client.submit(chunk_bytes, text, store.prepared, expected, *chunk, pure=False)
        future.chunk = chunk
        return future

    count = AHEAD * max(1, len(client.scheduler_info()["workers"]))
    under_way = distributed.as_completed([submit(chunk) for chunk in islice(todo, count)])
    for future in under_way:
        chunk = future.chunk
        error = future.exception()
        if isinstance(error, ArithmeticError):
            raise SimulationError(str(error))
        if error is not None:
            yield _alone(submit, store, chunk)
        else:
            yield from_bytes(future.result())
        future.release()
        for following in islice(todo, 1):
            under_way.add(submit(following))


def _alone(submit: Any, store: Store, chunk: tuple[int, int]) -> Any:
    """Compute a chunk whose worker died in halves, down to the guilty item."""
    first, last = chunk
    if last - first == 1:
        return marked_row(store.kind, first, CRASHED, "its process ended")
    tables = []
    middle = (first + last) // 2
    for part in ((first, middle), (middle, last)):
        future = submit(part)
        tables.append(_alone(submit, store, part) if future.exception() else from_bytes(future.result()))
    return joined(tables)
