# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at a good moment: what must not stop half-way is finished first, then the interrupt is delivered."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Uninterrupted:
    """A context in which Ctrl-C (SIGINT) waits; leaving it delivers what came, to whatever handler there was before.

    Pressing a second time does not wait: the disk may hang. Outside the main thread, where Python delivers no signals,
    and where SIGINT is ignored or handled outside Python, nothing is changed.
    """

    def __init__(self) -> None:
        """Prepare; nothing changes yet."""
        self._handler: Any = None
        self._came: FrameType | None = None
        self._waiting = False

    def __enter__(self) -> Uninterrupted:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler  # before ours is there, which needs it
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handler is None:
            return
        signal.signal(signal.SIGINT, self._handler)
        if self._waiting:
            self._handler(signal.SIGINT, self._came)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._waiting:
            self._handler(number, frame)
        self._waiting, self._came = True, frame
