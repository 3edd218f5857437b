# SPDX-License-Identifier: Apache-2.0
"""The engine `dask`: several hosts through dask.distributed, or a cluster on this machine.

`dask` computes chunks; `serve_scheduler` makes this host's workers, one process each, bound to the address that they
are given. Whoever reaches a dask scheduler or worker can run code there (`check_address`, `security_of`): only the name
of `chunk_bytes`, texts, integers and bytes go over dask's wire, and that wire is TLS, on loopback as well, unless the
caller allows a plain one. The cluster on this machine is that of `dask_nodes`. Chunks whose workers died are left to
the end, and to processes of this machine, which find the guilty item.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from armwright.campaigns.chunk_file import Chunk, chunk_from
from armwright.campaigns.engines.processes import one_thread, processes
from armwright.campaigns.store import Store, accepted, refusal
from armwright.campaigns.work import WORKER_START_SECONDS, Worker, ends_within, worker_of
from armwright.errors import InputError, SimulationError, tell_user
from armwright.packages import need

if TYPE_CHECKING:
    from distributed import Security


def check_address(address: str, *, insecure: bool = False) -> None:
    """Raise `InputError` for an invalid address, and for a plain connection unless it is allowed.

    Loopback is no exception: every user of this machine reaches it.
    """
    try:
        parts = urlsplit(address)
        whole = parts.scheme in ("tcp", "tls") and parts.hostname and parts.port and not parts.path
    except ValueError:
        whole = None
    if not whole:
        raise InputError(f"scheduler must be tls://HOST:PORT; got {address!r:.80}")
    if parts.scheme == "tcp" and not insecure:
        raise InputError(
            f"scheduler {address}: {DANGER}; use tls://, or --insecure where nobody else reaches it (all users of a "
            "machine reach its loopback)"
        )


def _warn_of_plain(address: str) -> None:
    if address.startswith("tcp://"):
        tell_user(f"scheduler {address}: {DANGER}")


DANGER = "plain tcp, and whoever reaches it can run code as you"


def security_of(address: str | None, ca: Path | None, certificate: Path | None, key: Path | None) -> Security | None:
    """Return dask's `Security` for TLS from three PEM files, None for a plain address.

    Without files, those of dask's own configuration count (``distributed.comm.tls``).
    """
    files = {"--tls-ca": ca, "--tls-cert": certificate, "--tls-key": key}
    given = {name: path for name, path in files.items() if path is not None}
    secure = address is not None and address.startswith("tls://")
    if given and not secure:
        raise InputError(f"{next(iter(given))}: certificates need an address tls://HOST:PORT, got {address}")
    if not secure:
        return None
    for name, path in given.items():
        if not path.is_file():
            raise InputError(f"{name} {path}: no such file")
    if given and len(given) < len(files):
        missing = next(name for name in files if name not in given)
        raise InputError(f"TLS needs all of {', '.join(files)}; {missing} is missing")
    names = ("client", "worker") if given else ()
    pair = {f"tls_{role}_cert": str(certificate) for role in names} | {f"tls_{role}_key": str(key) for role in names}
    authority = {"tls_ca_file": str(ca)} if given else {}
    found = need("distributed", "scale", "engine dask").Security(require_encryption=True, **authority, **pair)
    if found.tls_ca_file is None or found.tls_client_cert is None:
        raise InputError(f"scheduler {address}: TLS needs --tls-ca, --tls-cert and --tls-key (PEM files)")
    return found


CHUNKS_AHEAD = 3  # chunks per worker under way: enough to keep it busy, few enough to keep memory flat
WORKER_LOOK_SECONDS = 2.0  # [s] between counts of the workers
TUNED = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,  # five times the page faults otherwise
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.allowed-failures": 0,  # a chunk that killed a worker once would kill another
    "distributed.comm.timeouts.connect": "10s",
}


@lru_cache(maxsize=4)
def _worker(*task: Any) -> Worker:
    with ends_within(WORKER_START_SECONDS):
        return worker_of(*task)


def chunk_bytes(plan: str, place: str, prepared: bytes, digest: str, expected: str, first: int, last: int) -> bytes:
    """Compute a chunk on whatever host this runs; the worker is kept for the next one."""
    try:
        worker = _worker(plan, place, prepared, digest, expected)
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
    security: Security | None = None,
    insecure: bool = False,
    mixed: bool = False,
) -> Iterator[Chunk]:
    """Yield the chunks as they are done.

    Args:
        store: the campaign.
        chunks: (first, last) each.
        workers: of the local cluster, if no scheduler is given.
        scheduler: address of a running one.
        security: dask's `Security`, for the TLS of that scheduler.
        insecure: whether the connection to it may be plain.
        mixed: whether hosts whose arithmetic differs may take part.
    """
    need("distributed", "scale", "engine dask")  # first: it brings the settings that are changed here for a while
    config = need("dask", "scale", "engine dask").config
    if scheduler is not None:
        check_address(scheduler, insecure=insecure)
        _warn_of_plain(scheduler)
    elif security is not None:
        raise InputError("security is that of a scheduler; the cluster on this machine makes a certificate of its own")
    lost: list[tuple[int, int]] = []
    with config.set(TUNED), _client(scheduler, security, workers) as client:
        yield from _drive(client, store, chunks, mixed, lost)
    yield from processes(store, lost, min(len(lost), os.cpu_count() or 1), mixed=mixed)


@contextlib.contextmanager
def _client(scheduler: str | None, security: Security | None, workers: int) -> Iterator[Any]:
    distributed = need("distributed", "scale", "engine dask")
    with contextlib.ExitStack() as closing:
        try:
            if scheduler is None:
                from armwright.campaigns.engines.dask_nodes import local_cluster

                closing.enter_context(one_thread())
                cluster = closing.enter_context(local_cluster(workers))
            client = closing.enter_context(distributed.Client(scheduler or cluster, security=security))
            client.wait_for_workers(1, timeout=WORKER_START_SECONDS)
        except TimeoutError:
            raise SimulationError(
                f"no worker has come to {scheduler} within {WORKER_START_SECONDS:g} s; "
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

    with _scheduler_lives(store):
        looked, wanted = time.monotonic(), CHUNKS_AHEAD * len(client.nthreads())
        submit(wanted)
    for future in under_way:
        chunk = chunk_of.pop(future.key)
        answer = None
        with _scheduler_lives(store):
            try:
                answer = future.result()
            except (CancelledError, OSError):
                raise
            except Exception:  # noqa: BLE001 — its worker died; items that raise are rows
                lost.append(chunk)
        if answer is not None:
            yield chunk_from(accepted(answer, "a worker could not start"), chunk)
        with _scheduler_lives(store):
            future.release()
            if time.monotonic() - looked > WORKER_LOOK_SECONDS:  # workers come and go
                looked, wanted = time.monotonic(), CHUNKS_AHEAD * max(1, len(client.nthreads()))
            submit(wanted - len(chunk_of))


@contextlib.contextmanager
def _scheduler_lives(store: Store) -> Iterator[None]:
    """Say how to go on if the scheduler dies meanwhile: every call of the client may be the one that notices."""
    try:
        yield
    except (CancelledError, OSError):
        raise SimulationError(
            f"the scheduler is gone; what is done is kept, go on with: armwright campaign resume {store.folder}"
        ) from None


def serve_scheduler(
    address: str,
    *,
    workers: int | None = None,
    bind: str | None = None,
    security: Security | None = None,
    insecure: bool = False,
    ready: Callable[[str, int], None] = lambda host, workers: None,
) -> None:
    """Compute for a scheduler until it is gone; raise `SimulationError` then.

    Args:
        address: of the scheduler.
        workers: processes; one per core by default.
        bind: address of this host that they listen on; the one that reaches the scheduler by default.
        security: dask's `Security`, for the TLS of that scheduler.
        insecure: whether the connection to it may be plain.
        ready: called with the address and the number of workers when the scheduler has them.
    """
    check_address(address, insecure=insecure)
    host = bind or _towards(address)
    check_address(f"{urlsplit(address).scheme}://{host}:1", insecure=insecure)
    _warn_of_plain(address)
    need("distributed", "scale", "campaign worker")  # first: it brings the settings that are changed here
    config = need("dask", "scale", "campaign worker").config
    with config.set(TUNED), one_thread():
        asyncio.run(_serve(address, host, workers or os.cpu_count() or 1, security, ready))


def _towards(address: str) -> str:
    """Return the address of this host from which packets to the scheduler leave; none is sent."""
    parts = urlsplit(address)
    try:
        family = socket.getaddrinfo(parts.hostname, parts.port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family[0], socket.SOCK_DGRAM) as probe:
            probe.connect(family[4])
            return str(probe.getsockname()[0])
    except OSError as error:
        raise InputError(f"scheduler {address}: no way there ({error.strerror or error})") from None


async def _serve(
    address: str, host: str, count: int, security: Security | None, ready: Callable[[str, int], None]
) -> None:
    from armwright.campaigns.engines.dask_nodes import nanny_options, private_scratch

    distributed = need("distributed", "scale", "campaign worker")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is reported below
    with private_scratch():
        options = nanny_options(f"{urlsplit(address).scheme}://", host, security)
        nannies = [distributed.Nanny(address, death_timeout=WORKER_START_SECONDS, **options) for _ in range(count)]
        try:
            try:
                await asyncio.wait_for(asyncio.gather(*nannies), WORKER_START_SECONDS)
            except (OSError, TimeoutError, RuntimeError) as error:
                raise InputError(f"scheduler {address}: no connection ({type(error).__name__}: {error})") from None
            ready(host, count)
            await asyncio.wait([asyncio.ensure_future(nanny.finished()) for nanny in nannies])
        finally:
            with contextlib.suppress(Exception):
                await asyncio.gather(*(nanny.close(timeout=2.0) for nanny in nannies))
    raise SimulationError(f"scheduler {address} is gone; start this worker again when it is back")
