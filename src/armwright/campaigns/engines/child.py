# SPDX-License-Identifier: Apache-2.0
"""The other end of `processes`: a fresh interpreter that computes chunks until its parent is gone.

Only bytes cross the pipe: the plan's text, what was prepared, pairs of numbers, tables. Nothing is unpickled here.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import threading
from multiprocessing.connection import Connection

from armwright.campaigns.canary import canary
from armwright.campaigns.table import to_bytes
from armwright.campaigns.work import worker_of


def serve(tasks: Connection, life: Connection, plan: str, prepared: bytes, expected: str) -> None:
    """Compute the chunks that come through `tasks`; end with the parent, which holds the other end of `life`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the coordinator's
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    worker = worker_of(plan, prepared)
    tasks.send_bytes(b"ready" if not expected or canary() == expected else b"differs")
    limit = worker.plan.limit
    quiet = open(os.devnull, "w")  # noqa: SIM115 — until the process ends
    with contextlib.suppress(EOFError, OSError):
        while True:
            first, last = json.loads(tasks.recv_bytes())
            faulthandler.dump_traceback_later(limit, exit=True, file=quiet)
            data = to_bytes(worker.table(first, last))
            faulthandler.cancel_dump_traceback_later()
            tasks.send_bytes(data)


def _end_with(life: Connection) -> None:
    """Leave at once when the coordinator is gone, whatever is under way."""
    with contextlib.suppress(EOFError, OSError):
        life.recv_bytes()
    os._exit(1)
