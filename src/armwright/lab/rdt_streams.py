# SPDX-License-Identifier: Apache-2.0
"""`RdtStreams`: who listens to a Net F/T on UDP, and what each of them is still to get.

A client asks once and is sent records until it stops them, so nothing tells a listener from one that has died, but the
other system: it answers a datagram for which nobody is there any more, and that listener is forgotten. Where even that
does not come, the listener that asked longest ago gives its place to a new one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from armwright.lab.wire import netft

if TYPE_CHECKING:
    from armwright.lab.net import Network

MOST_LISTENERS = 8
STARTS = (netft.START_REALTIME, netft.START_BUFFERED, netft.START_MULTI)


@dataclass
class RdtStream:
    """One listener's stream: records that are left, -1 for no end; the number of the last."""

    left: int
    sequence: int = 0


class RdtStreams:
    """The UDP port of a Net F/T and its listeners.

    Attributes:
        port: its number. sent: records so far, to all. bias: called when a client asks for it.
    """

    def __init__(self, network: Network, host: str, port: int, bias: Callable[[], None] | None = None) -> None:
        self._streams: dict[Any, RdtStream] = {}  # by address; who asked longest ago comes first
        self._socket = network.datagrams(host, port, self._asked, self._gone)
        self.port, self.sent, self.bias = int(self._socket.getsockname()[1]), 0, bias

    def __len__(self) -> int:
        return len(self._streams)

    def _asked(self, data: bytes, address: object) -> None:
        if len(data) != netft.REQUEST.size:
            return
        magic, command, count = netft.REQUEST.unpack(data)
        if magic != netft.MAGIC:
            return
        if command == netft.STOP:
            self._gone(address)
        elif command in STARTS:
            self._gone(address)
            while len(self._streams) >= MOST_LISTENERS:
                self._gone(next(iter(self._streams)))
            self._streams[address] = RdtStream(count or -1)
        elif command == netft.SET_BIAS and self.bias is not None:
            self.bias()

    def _gone(self, address: object) -> None:
        self._streams.pop(address, None)

    def send(self, record: Callable[[int], bytes | None]) -> None:
        """Send the next record to every listener; `record` makes it from its number, None for one that is lost."""
        for address, stream in list(self._streams.items()):
            stream.sequence += 1
            stream.left -= stream.left > 0
            data = record(stream.sequence)
            if data is not None:
                self._send(data, address)
            if stream.left == 0:
                self._gone(address)

    def _send(self, data: bytes, address: Any) -> None:
        for _ in range(2):  # the system tells an earlier failure once, at the next sending to whomever
            with contextlib.suppress(OSError):
                self._socket.sendto(data, address)
                self.sent += 1
                return
