# SPDX-License-Identifier: Apache-2.0
"""`Hub`: the pages that watch; each has a place for the newest frame and a queue of texts, and none waits for another.

A page says how many frames it has drawn. One that has `FRAMES_UNDER_WAY` frames outstanding gets no more until it says
so, and then the newest: a slow page skips frames, it does not fall behind. One that lets its texts pile up is
disconnected.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.websockets import WebSocket

FRAMES_UNDER_WAY = 12  # frames under way to one page: 0.2 s
MOST_TEXTS = 256


def finite(value: Any) -> Any:
    """Return plain data without NaN and infinities, which JSON does not have: they become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


class Client:
    """One page.

    Attributes:
        owner: whether it may give orders; others only look. live: whether it wants frames. sent, drawn: frames so far.
        pulls: whether it holds the arm; when it leaves, nobody else would let go.
    """

    def __init__(self, socket: WebSocket, owner: bool) -> None:
        self.socket, self.owner, self.live, self.pulls = socket, owner, False, False
        self.sent = self.drawn = 0
        self.overrun = False
        self._texts: deque[str] = deque()
        self._newest: bytes | None = None
        self._wake = asyncio.Event()

    def tell(self, message: dict[str, Any]) -> None:
        """Send a text soon."""
        if len(self._texts) >= MOST_TEXTS:
            self.overrun = True
        else:
            self._texts.append(json.dumps(finite(message), allow_nan=False))
        self._wake.set()

    def show(self, frame: bytes) -> None:
        """Offer the newest frame; one that was not sent yet is dropped."""
        self._newest = frame
        self._wake.set()

    def drew(self, count: int) -> None:
        """Note that the page has drawn `count` frames since it began."""
        self.drawn = min(count, self.sent)
        self._wake.set()

    async def send_all(self) -> None:
        """Send what there is, until the page is gone or disconnected."""
        while not self.overrun:
            await self._wake.wait()
            self._wake.clear()
            while self._texts:
                await self.socket.send_text(self._texts.popleft())
            if self._newest is not None and self.live and self.sent - self.drawn < FRAMES_UNDER_WAY:
                frame, self._newest = self._newest, None
                self.sent += 1
                await self.socket.send_bytes(frame)


class Hub:
    """All pages. Its methods belong to the event loop, but for `publish`."""

    def __init__(self) -> None:
        self.clients: set[Client] = set()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.on_change: Callable[[], None] = lambda: None

    def publish(self, frame: bytes) -> None:
        """Offer a frame to all who watch; from any thread."""
        self.call_soon(lambda: self._show(frame))

    def _show(self, frame: bytes) -> None:
        for client in self.clients:
            if client.live:
                client.show(frame)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a text to all; on the event loop."""
        for client in self.clients:
            client.tell(message)

    def tell_soon(self, message: dict[str, Any]) -> None:
        """Send a text to all; from any thread."""
        self.call_soon(lambda: self.tell(message))

    def call_soon(self, action: Callable[[], None]) -> None:
        """Do something on the event loop; from any thread."""
        loop = self.loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                loop.call_soon_threadsafe(action)

    def add(self, client: Client) -> None:
        """Add a page that came."""
        self.clients.add(client)
        self.on_change()

    def remove(self, client: Client) -> None:
        """Remove a page that left."""
        self.clients.discard(client)
        self.on_change()

    @property
    def watching(self) -> bool:
        """Return whether anybody wants frames."""
        return any(client.live for client in self.clients)
