# SPDX-License-Identifier: Apache-2.0
"""Workers of a host for a dask scheduler, one process each, bound to the address that they are told."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from armwright.campaigns.engines.addresses import check_address
from armwright.campaigns.engines.dask import TUNED
from armwright.campaigns.engines.processes import one_thread
from armwright.campaigns.work import START
from armwright.errors import InputError, SimulationError
from armwright.optional import need


def serve_scheduler(
    address: str,
    *,
    workers: int | None = None,
    bind: str | None = None,
    security: Any = None,
    insecure: bool = False,
    ready: Callable[[str, int], None] = lambda host, workers: None,
) -> None:
    """Compute for a scheduler until it is gone; raise `SimulationError` then.

    Args:
        address: of the scheduler.
        workers: processes; one per core by default.
        bind: address of this host that they listen on; the one that reaches the scheduler by default.
        security: dask's `Security`, for TLS.
        insecure: whether a plain connection may leave this machine.
        ready: called with the address and the number of workers when the scheduler has them.
    """
    check_address(address, insecure=insecure)
    host = bind or _towards(address)
    check_address(f"{urlsplit(address).scheme}://{host}:1", insecure=insecure)
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


async def _serve(address: str, host: str, count: int, security: Any, ready: Callable[[str, int], None]) -> None:
    distributed = need("distributed", "scale", "campaign worker")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said below
    nannies = [
        distributed.Nanny(
            address,
            nthreads=1,
            host=host,
            dashboard_address="127.0.0.1:0",  # its page has no lock of its own: never beyond this machine
            security=security,
            death_timeout=START,
            silence_logs=logging.CRITICAL,
        )
        for _ in range(count)
    ]
    try:
        try:
            await asyncio.wait_for(asyncio.gather(*nannies), START)
        except (OSError, TimeoutError, RuntimeError) as error:
            raise InputError(f"scheduler {address}: no connection ({type(error).__name__}: {error})") from None
        ready(host, count)
        await asyncio.wait([asyncio.ensure_future(nanny.finished()) for nanny in nannies])
    finally:
        with contextlib.suppress(Exception):
            await asyncio.gather(*(nanny.close(timeout=2.0) for nanny in nannies))
    raise SimulationError(f"scheduler {address} is gone; start this worker again when it is back")
