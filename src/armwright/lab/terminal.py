# SPDX-License-Identifier: Apache-2.0
"""A pseudo-terminal with a device at our end: what a driver of a serial device opens."""

from __future__ import annotations

import contextlib
import os


class Terminal:
    """Never waits: what nobody reads is lost and counted.

    Attributes:
        path: that a driver opens. lost: bytes that nobody read.
    """

    def __init__(self) -> None:
        """Open both ends, without echo and line editing."""
        import tty  # not on Windows

        self._own, self._other = os.openpty()
        tty.setraw(self._own)
        tty.setraw(self._other)
        os.set_blocking(self._own, False)
        self.path, self.lost = os.ttyname(self._other), 0

    def read(self) -> bytes:
        """Return what the driver has sent since the last time."""
        try:
            return os.read(self._own, 4096)
        except OSError:  # nothing there, or nobody any more
            return b""

    def write(self, data: bytes) -> None:
        """Send bytes to the driver."""
        try:
            self.lost += len(data) - os.write(self._own, data) if data else 0
        except OSError:
            self.lost += len(data)

    def close(self) -> None:
        """Close both ends."""
        for handle in (self._own, self._other):
            with contextlib.suppress(OSError):
                os.close(handle)
