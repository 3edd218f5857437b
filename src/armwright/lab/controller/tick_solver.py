# SPDX-License-Identifier: Apache-2.0
"""Work that a tick cannot wait for, such as inverse kinematics: a pose out of reach takes some hundred milliseconds.

It is done in a thread next to the clock and answered in a tick; the command that asked stays under way until then.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from armwright.errors import ArmwrightError, InputError
from armwright.lab.lab_clock import PRIORITY_BESIDE, is_real_time, real_time

MOST_JOBS = 64


class Solver:
    """Runs jobs one after the other; its thread lives only while there are some."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: deque[tuple[Callable[[], Any], Callable[[Any], None]]] = deque()
        self._answers: deque[Callable[[], None]] = deque()
        self._thread: threading.Thread | None = None
        self._forgotten = 0
        self._urgent = False

    @property
    def busy(self) -> bool:
        """Return whether an answer is still to come."""
        with self._lock:
            return bool(self._jobs or self._answers)

    def ask(self, job: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Run `job` in the thread; `deliver` passes its result, or the `ArmwrightError` that it raised, to `then`.

        Where the clock that asks has real-time scheduling, so has the thread, below it: an ordinary one that is put
        aside on a busy machine while it holds Python's lock would delay the clock by tens of milliseconds.

        Raises:
            InputError: too many are waiting.
        """
        with self._lock:
            if len(self._jobs) >= MOST_JOBS:
                raise InputError(f"{MOST_JOBS} jobs are waiting already")
            self._jobs.append((job, then))
            self._urgent = is_real_time()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="lab solver", daemon=True)
                self._thread.start()

    def deliver(self) -> None:
        """Give the answers that have come; called by the tick."""
        while self._answers:
            with self._lock:
                if not self._answers:  # dropped in the meantime
                    return
                answer = self._answers.popleft()
            answer()

    def forget(self) -> None:
        """Drop all answers: what is under way ends unheard."""
        with self._lock:
            self._jobs.clear()
            self._answers.clear()
            self._forgotten += 1

    def close(self) -> None:
        """Forget everything; wait for the thread."""
        self.forget()
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        if self._urgent:
            real_time(PRIORITY_BESIDE)
        while True:
            with self._lock:
                if not self._jobs:
                    self._thread = None
                    return
                job, then = self._jobs[0]
                age = self._forgotten
            try:
                result: Any = job()
            except ArmwrightError as error:
                result = error
            except Exception as error:  # noqa: BLE001 - the thread lives on; who asked is told
                result = ArmwrightError(f"a defect of this program: {error!r:.200}")
            with self._lock:
                if age == self._forgotten:
                    self._jobs.popleft()
                    self._answers.append(lambda then=then, result=result: then(result))  # type: ignore[misc]
