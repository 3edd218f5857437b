# SPDX-License-Identifier: Apache-2.0
"""Sockets of a program: dialled without waiting, looked at once a frame, limited in number and in what they keep.

Only loopback is dialled, and hosts that were allowed when the lab began. Names are not looked up.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field

from armwright.errors import InputError
from armwright.lab.script.script_faults import ScriptFault

MOST_SOCKETS = 16
MOST_RECEIVED = 1 << 20  # bytes that wait to be read
MOST_UNSENT = 1 << 20  # bytes that the other side has not taken
RECEIVED_AT_ONCE, READINGS = 1 << 16, 4
"""Bytes of one reading, and readings in a frame: a quarter of a megabyte, so that the end is seen in its frame."""


@dataclass
class ScriptSocket:
    """One socket: whether it is connected, what has arrived, what waits to be sent."""

    sock: socket.socket
    connected: bool = False
    failed: bool = False
    arrived: bytearray = field(default_factory=bytearray)
    unsent: bytearray = field(default_factory=bytearray)

    def poll(self) -> None:
        """Take what has arrived, send what waits; the other side's end closes ours at once."""
        if not self.connected:
            if self.failed:
                return
            code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                self.fail()
                return
            try:
                self.sock.getpeername()
            except OSError:
                return
            self.connected = True
        try:
            for _ in range(READINGS):
                if len(self.arrived) >= MOST_RECEIVED:
                    break
                data = self.sock.recv(min(RECEIVED_AT_ONCE, MOST_RECEIVED - len(self.arrived)))
                if not data:
                    self.fail()
                    return
                self.arrived += data
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.fail()
            return
        self.flush()

    def flush(self) -> None:
        """Send what waits, as far as it goes."""
        try:
            while self.unsent:
                sent = self.sock.send(self.unsent)
                del self.unsent[:sent]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.fail()

    def send(self, data: bytes) -> bool:
        """Send; False if it is not connected or the other side does not read."""
        if not self.connected or len(self.unsent) + len(data) > MOST_UNSENT:
            return False
        self.unsent += data
        self.flush()
        return self.connected

    def fail(self) -> None:
        """Close it; what has arrived can still be read."""
        self.connected, self.failed = False, True
        with contextlib.suppress(OSError):
            self.sock.close()


def addresses_of(hosts: Iterable[str]) -> frozenset[str]:
    """Return addresses that programs may dial besides loopback, as `ipaddress` writes them.

    Raises:
        InputError: one is no address; names are not looked up.
    """
    if isinstance(hosts, str):
        raise InputError(f"script hosts: a list of addresses, got the text {hosts!r}")
    try:
        return frozenset(str(ipaddress.ip_address(host)) for host in hosts)
    except ValueError as error:
        raise InputError(f"script hosts: IPv4 or IPv6 addresses such as 192.168.0.7, no names: {error}") from None


class ScriptSockets:
    """The sockets of one program, by name."""

    def __init__(self, hosts: frozenset[str]) -> None:
        """Take hosts that may be dialled besides loopback."""
        self._hosts = hosts
        self._sockets: dict[str, ScriptSocket] = {}

    def poll(self) -> None:
        """Look at all of them."""
        for one in self._sockets.values():
            one.poll()

    def find(self, name: str) -> ScriptSocket | None:
        """Return a socket by its name."""
        return self._sockets.get(name)

    def dial(self, host: str, port: int, name: str) -> ScriptSocket:
        """Begin to connect; a socket of the same name is closed."""
        address = self.allowed(host)
        self.drop(name)
        if len(self._sockets) >= MOST_SOCKETS:
            raise ScriptFault(f"more than {MOST_SOCKETS} sockets")
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made = ScriptSocket(sock)
        code = sock.connect_ex((address, port))
        if code not in (0, errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY):
            made.fail()
        self._sockets[name] = made
        return made

    def allowed(self, host: str) -> str:
        """Return the address of a host that may be dialled."""
        if host == "localhost":
            return "127.0.0.1"
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            address = None
        if address is not None and (address.is_loopback or str(address) in self._hosts):
            return host
        raise ScriptFault(f"socket_open: only loopback and allowed addresses are dialled here, not {host[:80]!r}")

    def drop(self, name: str) -> None:
        """Close a socket."""
        old = self._sockets.pop(name, None)
        if old is not None:
            old.flush()
            old.fail()

    def close(self) -> None:
        """Close all of them."""
        for name in list(self._sockets):
            self.drop(name)
