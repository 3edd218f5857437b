# SPDX-License-Identifier: Apache-2.0
"""The child's end of `processes`: a fresh interpreter that prepares a campaign, or computes chunks for its parent.

Only bytes cross the pipe: the plan's text, what was prepared, pairs of numbers, files. Nothing is unpickled here. Where
a kind that has no name of its own is found, is the word of the parent's program. The child leaves when the parent is
gone; the parent ends a child that takes too long.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import warnings
from multiprocessing.connection import Connection

from armwright.campaigns.campaign_plan import plan_of
from armwright.campaigns.kind import kind_at
from armwright.campaigns.store import refusal
from armwright.campaigns.work import prepared_here, worker_of
from armwright.errors import ArmwrightWarning

READY = b"ready"


def prepare(answer: Connection, life: Connection, plan: str, place: str) -> None:
    """Prepare a campaign and leave, so that the memory of learning is freed before the coordinator continues.

    Answers with canary and warnings as JSON, and then with what was prepared.
    """
    _end_with_parent(life)
    try:
        with warnings.catch_warnings(record=True) as told:
            wanted = plan_of(plan)
            found = prepared_here(wanted, kind_at(wanted.kind, place))
    except Exception as error:  # noqa: BLE001 — a kind may raise anything; the coordinator reports it
        answer.send_bytes(refusal(error))
        return
    said = [str(w.message) for w in told if issubclass(w.category, ArmwrightWarning)]
    answer.send_bytes(json.dumps({"canary": found.canary, "warnings": said}).encode())
    answer.send_bytes(found.data)


def serve(
    tasks: Connection, life: Connection, plan: str, place: str, prepared: bytes, digest: str, expected: str
) -> None:
    """Compute the chunks that come through `tasks`; end with the parent, which holds the other end of `life`."""
    _end_with_parent(life)
    try:
        worker = worker_of(plan, place, prepared, digest, expected)
    except Exception as error:  # noqa: BLE001 — a kind may raise anything; the coordinator reports it once for all
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
