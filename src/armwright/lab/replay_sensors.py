# SPDX-License-Identifier: Apache-2.0
"""The sensors of a recording on the wire again: an ATI Net F/T on UDP and HTTP, an Xsens MTi on a pseudo-terminal."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from armwright.lab.ft_page import ASSUMED
from armwright.lab.terminal import Terminal
from armwright.lab.wire import netft, xsens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from armwright.lab.net import Network

MOST_LISTENERS = 8


class ReplayedFt:
    """Sends recorded RDT records, bit by bit, to whoever asked for a stream; its page is the recorded one.

    Attributes:
        rdt_port, http_port: numbers. sent: records so far.
    """

    def __init__(self, network: Network, host: str, rdt_port: int, http_port: int, facts: Mapping[str, str]) -> None:
        page = facts.get("netftapi2.xml") or _page(facts)
        self.http_port = network.listen(host, http_port, "ft http", lambda: (netft.HttpConnection(page.encode()), b""))
        self._socket = network.datagrams(host, rdt_port, self._asked)
        self.rdt_port = int(self._socket.getsockname()[1])
        self._left: dict[Any, int] = {}  # address → records left, or -1
        self.sent = 0

    def _asked(self, data: bytes, address: Any) -> None:
        if len(data) != netft.REQUEST.size:
            return
        magic, command, count = netft.REQUEST.unpack(data)
        if magic != netft.MAGIC:
            return
        if command == netft.STOP:
            self._left.pop(address, None)
        may = address in self._left or len(self._left) < MOST_LISTENERS
        if may and command in (netft.START, netft.START_BUFFERED, netft.START_MULTI):
            self._left[address] = count or -1

    @property
    def heard(self) -> bool:
        """Whether anybody listens."""
        return bool(self._left)

    def send(self, record: bytes) -> None:
        """One record to all."""
        for address, left in list(self._left.items()):
            with contextlib.suppress(OSError):
                self._socket.sendto(record, address)
                self.sent += 1
            if left == 1:
                del self._left[address]
            elif left > 0:
                self._left[address] = left - 1


def _page(facts: Mapping[str, str]) -> str:
    """A page for a recording that holds none: what its channel says."""
    said = {**ASSUMED, **facts}
    return (
        '<?xml version="1.0"?>\n<netftConfiguration><prodname>recording</prodname>'
        f"<cfgcpf>{said['counts_per_force']}</cfgcpf><cfgcpt>{said['counts_per_torque']}</cfgcpt>"
        f"<scfgfu>{said['force_unit']}</scfgfu><scfgtu>{said['torque_unit']}</scfgtu></netftConfiguration>\n"
    )


class ReplayedMti:
    """Sends recorded MTData messages, bit by bit, on a pseudo-terminal; answers to configuration as the device does.

    Attributes:
        path: of the terminal. heard: whether a driver has sent anything. lost: bytes that nobody read.
    """

    def __init__(self, rate: float) -> None:
        self._terminal = Terminal()
        self.path, self.close = self._terminal.path, self._terminal.close
        self._device, self.heard = xsens.Device(1.0 / rate), False

    @property
    def lost(self) -> int:
        """Bytes that nobody read."""
        return self._terminal.lost

    def poll(self) -> None:
        """Answer the driver."""
        asked = self._terminal.read()
        self.heard |= bool(asked)
        self._terminal.write(self._device.receive(asked))

    def send(self, message: bytes) -> None:
        """One message, if the device measures."""
        if self._device.measuring:
            self._terminal.write(message)
