# SPDX-License-Identifier: Apache-2.0
"""Long work: one thing at a time in a thread of its own, with progress, and it can be cancelled.

Work reports through ``progress(fraction, text)``; a cancelled job is ended from inside that call. What cannot be
interrupted between two such calls ends with the next.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from armwright.errors import ArmwrightError, InputError

MOST = 4
"""Jobs that may wait or run."""


class WorkCancelledError(ArmwrightError):
    """The user does not want the result any more."""


class Jobs:
    """All long work of a studio."""

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        self._tell = tell
        self._numbers = itertools.count(1)
        self._cancelled: dict[int, threading.Event] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="studio work")

    def start(self, name: str, work: Callable[[Callable[[float, str], None]], dict[str, Any]]) -> int:
        """Begin; every page is told of progress, and of the end with ``result`` or ``error``."""
        if len(self._cancelled) >= MOST:
            raise InputError(f"jobs: {MOST} are waiting already; cancel one")
        number = next(self._numbers)
        stop = self._cancelled[number] = threading.Event()

        def progress(fraction: float, text: str = "") -> None:
            if stop.is_set():
                raise WorkCancelledError("cancelled")
            self._tell(
                {"event": "job", "job": number, "name": name, "state": "running", "fraction": fraction, "text": text}
            )

        def run() -> None:
            end: dict[str, Any] = {"event": "job", "job": number, "name": name}
            try:
                progress(0.0, "begins")
                end |= {"state": "done", "result": work(progress)}
            except WorkCancelledError:
                end |= {"state": "cancelled"}
            except ArmwrightError as error:
                end |= {"state": "failed", "error": str(error)}
            except Exception as error:  # noqa: BLE001 - a thread has no caller; the page is told
                end |= {"state": "failed", "error": f"a defect of this program: {error!r:.200}"}
            self._cancelled.pop(number, None)
            self._tell(end)

        self._pool.submit(run)
        return number

    def cancel(self, number: int) -> None:
        """End a job at its next report."""
        if number not in self._cancelled:
            raise InputError(f"jobs: {number} is not running")
        self._cancelled[number].set()

    def close(self) -> None:
        """Cancel everything; what runs ends at its next report."""
        for stop in self._cancelled.values():
            stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
