# SPDX-License-Identifier: Apache-2.0
"""The other end of `processes`: a fresh interpreter that computes chunks until its parent is gone.

Only bytes cross the pipe: the plan's text, what was prepared, pairs of numbers, tables. Nothing is unpickled here.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from multiprocessing.connection import Connection

from armwright.campaigns.table import to_bytes
from armwright.campaigns.work import ends_within, worker_of

READY = b"ready"


def serve(tasks: Connection, life: Connection, plan: str, prepared: bytes, digest: str, expected: str) -> None:
    """Compute the chunks that come through `tasks`; end with the parent, which holds the other end of `life`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the coordinator's
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    try:
        worker = worker_of(plan, prepared, digest, expected)
    except Exception as error:  # noqa: BLE001 — a kind may raise anything; the coordinator says it once for all
        tasks.send_bytes(f"{type(error).__name__}: {error}".encode())
        return
    tasks.send_bytes(READY)
    with contextlib.suppress(EOFError, OSError):
        while True:
            first, last = json.loads(tasks.recv_bytes())
            with ends_within(worker.plan.limit):
                data = to_bytes(worker.table(first, last))
            tasks.send_bytes(data)


def _end_with(life: Connection) -> None:
    """Leave at once when the coordinator is gone, whatever is under way."""
    with contextlib.suppress(EOFError, OSError):
        life.recv_bytes()
    os._exit(1)
