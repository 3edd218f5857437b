# SPDX-License-Identifier: Apache-2.0
"""`Jobs`: long work of the studio, each job in a process of its own that `cancel` and the studio's end end at once.

`start` lets jobs wait for one another and reports each to all pages; `run` begins at once, for whoever waits for the
result (an upload, another law), and is reported and cancelled in the same way.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from armwright.errors import ArmwrightError, InputError
from armwright.studio.work_process import Progress, Task, WorkCancelledError, WorkProcess
from armwright.studio.work_threads import beside

MOST_STUDIO_JOBS = 4
"""Jobs that may wait or run; as many again for which somebody waits."""

Finish = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(eq=False)
class StudioJob:
    """One job: its number, its name on the page, what is to be done, and the process that does it."""

    number: int
    name: str
    task: Task
    fields: dict[str, Any]
    awaited: bool
    process: WorkProcess | None = None
    cancelled: bool = False


class Jobs:
    """All long work of a studio."""

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        """Begin without work; `tell` hears of everything that pages are to know, in any thread."""
        self._tell = tell
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._jobs: dict[int, StudioJob] = {}
        self._closed = False
        self._waiting: queue.SimpleQueue[tuple[StudioJob, Finish, Callable[[], None]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="studio jobs", daemon=True).start()

    def start(
        self,
        name: str,
        task: Task,
        fields: dict[str, Any],
        finish: Finish = lambda result: result,
        ended: Callable[[], None] = lambda: None,
    ) -> int:
        """Begin a job; every page is told of progress, and of the end with ``result`` or ``error``.

        Args:
            name: on the page.
            task: what to do, in another process.
            fields: its arguments by name.
            finish: makes of the task's result what pages are told; runs in this process.
            ended: called after the end, however it ended.
        """
        job = self._new(name, task, fields, awaited=False)
        self._waiting.put((job, finish, ended))
        return job.number

    async def run(self, name: str, task: Task, fields: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Do a task now, for at most some seconds, and return its result.

        Raises:
            ArmwrightError: what the task raised; or it took too long, or was cancelled.
        """
        job = self._new(name, task, fields, awaited=True)
        return await beside(self._reported, job, lambda result: result, seconds)

    def cancel(self, number: int) -> None:
        """End a job at once."""
        with self._lock:
            job = self._jobs.get(number)
            if job is None:
                raise InputError(f"jobs: {number} is not running")
            self._end(job)

    def close(self) -> None:
        """End everything at once, and begin nothing more."""
        with self._lock:
            self._closed = True
            for job in self._jobs.values():
                self._end(job)
        self._waiting.put(None)

    def _new(self, name: str, task: Task, fields: dict[str, Any], *, awaited: bool) -> StudioJob:
        with self._lock:
            if self._closed:
                raise InputError("jobs: the studio is ending")
            if sum(job.awaited == awaited for job in self._jobs.values()) >= MOST_STUDIO_JOBS:
                raise InputError(f"jobs: {MOST_STUDIO_JOBS} are waiting already; cancel one")
            job = StudioJob(next(self._numbers), name, task, fields, awaited)
            self._jobs[job.number] = job
            return job

    def _end(self, job: StudioJob) -> None:
        job.cancelled = True
        if job.process is not None:
            job.process.end(WorkCancelledError("cancelled"))

    def _work(self) -> None:
        while (given := self._waiting.get()) is not None:
            job, finish, ended = given
            try:
                self._reported(job, finish)
            except Exception:  # noqa: BLE001 - the pages have been told, and nobody else waits
                pass
            finally:
                ended()

    def _reported(self, job: StudioJob, finish: Finish, seconds: float | None = None) -> dict[str, Any]:
        """Do a job and tell the pages about it; raise what went wrong as well."""
        about = {"event": "job", "job": job.number, "name": job.name}

        def progress(fraction: float, text: str = "") -> None:
            self._tell(about | {"state": "running", "fraction": fraction, "text": text})

        end: dict[str, Any] = {}
        try:
            progress(0.0, "begins")
            result = finish(self._carried_out(job, progress, seconds))
            end = {"state": "done", "result": {} if job.awaited else result}
            return result
        except WorkCancelledError:
            end = {"state": "cancelled"}
            raise
        except ArmwrightError as error:
            end = {"state": "failed", "error": str(error)}
            raise
        except Exception as error:
            end = {"state": "failed", "error": f"a defect of this program: {error!r:.200}"}
            raise ArmwrightError(end["error"]) from error
        finally:
            with self._lock:
                self._jobs.pop(job.number, None)
            if job.awaited and end["state"] == "failed":  # told to whoever waits
                end = {"state": "ended"}
            self._tell(about | end)

    def _carried_out(self, job: StudioJob, progress: Progress, seconds: float | None) -> dict[str, Any]:
        with self._lock:
            if job.cancelled:
                raise WorkCancelledError("cancelled")
            job.process = WorkProcess(job.task, job.fields)
        return job.process.run(progress, seconds)
