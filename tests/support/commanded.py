# SPDX-License-Identifier: Apache-2.0
"""A command of ours as a process of its own, watched: what it waits for is an event, and its end is one, too."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from support.patience import PATIENCE, until


class Commanded(NamedTuple):
    """The process, and the file that its standard error goes to: a pipe that nobody reads would hold it up."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]

    def said(self) -> str:
        """What it has said on standard error so far."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def until(self, happened: Callable[[], Any], what: str) -> Any:
        """Wait for an event that it brings about; its end before that is told with what it said."""

        def looked() -> Any:
            assert self.process.poll() is None, f"it ended with {self.process.returncode} before {what}:\n{self.said()}"
            return happened()

        return until(looked, what)

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def ended(self) -> int:
        """Wait until it has ended; its exit code."""
        return self.process.wait(timeout=PATIENCE)


@contextlib.contextmanager
def commanded(*words: str) -> Iterator[Commanded]:
    """``armwright`` with these words; it does not outlive the block."""
    with tempfile.TemporaryFile() as errors:
        command = [sys.executable, "-m", "armwright.cli", *words]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            yield Commanded(process, errors)
        finally:
            process.kill()
            process.wait()
