# SPDX-License-Identifier: Apache-2.0
"""The other end of `processes`: a fresh interpreter that prepares a campaign, or computes chunks for its parent.

Only bytes cross the pipe: the plan's text, what was prepared, pairs of numbers, files. Nothing is unpickled here. It
leaves when the parent is gone; the parent ends it when it takes too long.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from multiprocessing.connection import Connection

from armwright.campaigns.plan import plan_of
from armwright.campaigns.work import prepared_here, refusal, worker_of

READY = b"ready"
CANARY = 32  # bytes of `canary` before what was prepared


def prepare(answer: Connection, life: Connection, plan: str) -> None:
    """Prepare a campaign and leave: what learning takes in memory is gone before the coordinator goes on."""
    _end_with_parent(life)
    try:
        found = prepared_here(plan_of(plan))
    except Exception as error:  # noqa: BLE001 — a kind may raise anything; the coordinator says it
        answer.send_bytes(refusal(error))
        return
    answer.send_bytes(found.canary.encode() + found.data)


def serve(tasks: Connection, life: Connection, plan: str, prepared: bytes, digest: str, expected: str) -> None:
    """Compute the chunks that come through `tasks`; end with the parent, which holds the other end of `life`."""
    _end_with_parent(life)
    try:
        worker = worker_of(plan, prepared, digest, expected)
    except Exception as error:  # noqa: BLE001 — a kind may raise anything; the coordinator says it once for all
        tasks.send_bytes(refusal(error))
        return
    tasks.send_bytes(READY)
    with contextlib.suppress(EOFError, OSError):
        while True:
            first, last = json.loads(tasks.recv_bytes())
            tasks.send_bytes(worker.chunk(first, last).to_bytes())


def _end_with_parent(life: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the coordinator's
    threading.Thread(target=_wait_for_end, args=(life,), daemon=True).start()


def _wait_for_end(life: Connection) -> None:
    """Leave at once when the coordinator is gone, whatever is under way."""
    with contextlib.suppress(EOFError, OSError):
        life.recv_bytes()
    os._exit(1)
