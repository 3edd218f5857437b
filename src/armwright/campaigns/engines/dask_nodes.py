# SPDX-License-Identifier: Apache-2.0
"""Parts of a dask cluster without web pages, and a cluster on this machine that nobody else can reach.

Whoever reaches a dask scheduler or worker can run code there, and every user of a machine reaches its loopback. So the
local cluster speaks TLS with a certificate that is made for it, demands the same from all who connect, and its key is
only in the memory of its processes. Dask's own web servers cannot be closed by an option, and speak plain HTTP: these
parts have none. Dask keeps spilled objects in its scratch folder, and imports modules from it: that is a new folder of
this user alone, in place of one in /tmp that everybody can foresee and make.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from distributed import Scheduler, Worker

from armwright.packages import need

if TYPE_CHECKING:
    from distributed import Security


class SchedulerWithoutPages(Scheduler):  # type: ignore[misc, unused-ignore]
    """A scheduler that listens for workers and clients only."""

    def start_http_server(self, *_: object, **__: object) -> None:
        """Start none."""


class WorkerWithoutPages(Worker):  # type: ignore[misc, unused-ignore]
    """A worker that listens for its scheduler and other workers only."""

    def start_http_server(self, *_: object, **__: object) -> None:
        """Start none."""


def nanny_options(protocol: str, host: str, security: Security | None) -> dict[str, Any]:
    """Return the options of one worker process, of one thread, that listens on `host`.

    `protocol` is "tls://", or "tcp://" where the user allows it.
    """
    return {
        "nthreads": 1,
        "host": host,
        "security": security,
        "protocol": protocol,
        "worker_class": WorkerWithoutPages,
        "dashboard": False,
        "silence_logs": logging.CRITICAL,
    }


@contextlib.contextmanager
def private_scratch() -> Iterator[None]:
    """Give all parts that are started meanwhile, and their processes, a scratch folder of this user alone."""
    with (
        tempfile.TemporaryDirectory(prefix="armwright-dask-", ignore_cleanup_errors=True) as folder,
        need("dask", "scale", "engine dask").config.set({"temporary-directory": folder}),
    ):
        yield


@contextlib.contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """Start a cluster on loopback under TLS, with a certificate that lives as long as the cluster."""
    need("cryptography", "scale", "engine dask on this machine")
    distributed = need("distributed", "scale", "engine dask")
    security = distributed.Security.temporary()
    with private_scratch():
        worker = {"cls": distributed.Nanny, "options": nanny_options("tls://", "127.0.0.1", security)}
        scheduler = {
            "cls": SchedulerWithoutPages,
            "options": {
                "host": "127.0.0.1",
                "port": 0,
                "protocol": "tls://",
                "security": security,
                "dashboard": False,
            },
        }
        with distributed.SpecCluster(
            workers=dict.fromkeys(range(workers), worker),
            scheduler=scheduler,
            worker=worker,
            security=security,
            silence_logs=logging.CRITICAL,
        ) as cluster:
            yield cluster
