# SPDX-License-Identifier: Apache-2.0
"""`WorkProcess`: one task in a process of its own, which can be ended at any moment, whatever it is doing.

Only lines of JSON cross the pipes, so a task takes and returns plain data. The process is started by the name of a
function, not by copying the program that runs: a script that opened the studio is not run again.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from armwright.errors import ArmwrightError

MOST_ANSWER_BYTES = 256 << 20  # bytes of one answer: the largest replay page has a few MiB
CHILD = (sys.executable, "-P", "-m", "armwright.studio.work_child")  # -P: nothing of the present folder is imported

Progress = Callable[[float, str], None]
Task = Callable[..., dict[str, Any]]
"""A function at the top of a module: takes a `Progress` and plain fields by name, returns plain data."""


class WorkCancelledError(ArmwrightError):
    """The user no longer wants the result."""


class WorkProcess:
    """A task under way. `run` waits for it; `end` may be called from any thread, before, during and after that."""

    def __init__(self, task: Task, fields: dict[str, Any]) -> None:
        """Start the process.

        Args:
            task: what to do.
            fields: its arguments by name; plain data.
        """
        self._request = {"task": f"{task.__module__}:{task.__qualname__}", "fields": fields}
        self._why: ArmwrightError | None = None
        try:
            self._process = subprocess.Popen(
                CHILD,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # a Ctrl-C of the terminal is the studio's
            )
        except OSError as error:
            raise ArmwrightError(f"studio: no process could be started ({error.strerror or error})") from error

    def run(self, tell: Progress, seconds: float | None = None) -> dict[str, Any]:
        """Return the result; `tell` hears of progress.

        Args:
            tell: called in this thread.
            seconds: after which the process is ended; None lets it take its time.

        Raises:
            ArmwrightError: what the task raised, or why it was ended.
        """
        late = ArmwrightError(
            f"this took longer than {seconds or 0:g} s and was ended; the command line has no such limit"
        )
        watch = threading.Timer(seconds or 0.0, self.end, [late])
        watch.daemon = True
        if seconds is not None:
            watch.start()
        try:
            return self._answer(tell)
        finally:
            watch.cancel()
            self.end(WorkCancelledError("cancelled"))
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                with contextlib.suppress(OSError):
                    pipe.close()

    def _answer(self, tell: Progress) -> dict[str, Any]:
        ask, answers = self._process.stdin, self._process.stdout
        assert ask is not None
        assert answers is not None
        with contextlib.suppress(OSError):  # it has ended already; the answers tell
            ask.write(json.dumps(self._request).encode() + b"\n")
            ask.flush()
        while (line := answers.readline(MOST_ANSWER_BYTES)).endswith(b"\n"):
            said = json.loads(line)
            if self._why is not None:
                break
            if "progress" in said:
                tell(*said["progress"])
            elif "error" in said:
                raise ArmwrightError(said["error"])
            else:
                result: dict[str, Any] = said["result"]
                return result
        code = self._process.wait() if not line else None
        raise self._why or ArmwrightError(f"the process that did this work ended without an answer (exit code {code})")

    def end(self, why: ArmwrightError) -> None:
        """End the process at once, with all that it started; the first reason counts."""
        self._why = self._why or why
        if self._process.poll() is not None:
            return
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
