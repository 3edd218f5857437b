# SPDX-License-Identifier: Apache-2.0
"""Sockets of the lab: one thread listens and reads; whoever publishes writes, and never waits.

A client that does not read is dropped when more than `MOST_PENDING` bytes wait for it.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable
from typing import Any, Protocol

from armwright.errors import ArmwrightError, InputError
from armwright.lab.lab_clock import PRIORITY, real_time

MOST_PENDING = 2 << 20
MOST_CLIENTS = 64
RECEIVED_BYTES = 1 << 16
LOOK_ROUND = 0.5  # [s] after which clients that do not read are dropped at the latest


class LabError(ArmwrightError):
    """Something on the wire is not as it should be."""


class Talk(Protocol):
    """The protocol of one connection."""

    def receive(self, data: bytes) -> bytes:
        """Take bytes, return answers; any exception ends the connection."""


class Connection:
    """One client: its socket, what waits to be sent, its protocol.

    Attributes:
        port: on which it came. talk: the protocol's state. open: whether it still is. dropped: why it was closed.
    """

    def __init__(self, sock: socket.socket, port: str, talk: Talk, lock: threading.RLock) -> None:
        self._sock, self.port, self.talk, self._lock = sock, port, talk, lock
        self._pending = bytearray()
        self.open, self.dropped = True, ""

    def send(self, data: bytes) -> None:
        """Send as much as goes without waiting; keep the rest for `flush`."""
        with self._lock:
            if not self.open:
                return
            if data:
                self._pending += data
            self.flush()

    def flush(self) -> None:
        """Try to send what waits."""
        with self._lock:
            if not (self.open and self._pending):
                return
            try:
                sent = self._sock.send(self._pending)
                del self._pending[:sent]
            except (BlockingIOError, InterruptedError):
                pass
            except OSError as error:
                self.open, self.dropped = False, f"{error.strerror}"
            if len(self._pending) > MOST_PENDING:
                self.open, self.dropped = False, "does not read"


class Network:
    """Listening sockets, their connections, and the thread that reads.

    Attributes:
        lock: taken around every call into a protocol. dropped: clients that were cut off, with reasons (last 100).
    """

    def __init__(self, lock: threading.RLock | None = None, *, fifo: bool = False) -> None:
        self._fifo = fifo
        self.lock = lock if lock is not None else threading.RLock()
        self._selector = selectors.DefaultSelector()
        self._connections: dict[socket.socket, Connection] = {}
        self._makers: dict[socket.socket, tuple[str, Callable[[], tuple[Talk, bytes]]]] = {}
        self._datagrams: dict[socket.socket, Callable[[bytes, Any], None]] = {}
        self._wake, self._waker = socket.socketpair()
        self._wake.setblocking(False)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="lab network", daemon=True)
        self._end = False
        self.dropped: list[str] = []

    def listen(self, host: str, port: int, name: str, make: Callable[[], tuple[Talk, bytes]]) -> int:
        """Accept clients; `make` gives a protocol and a greeting. Returns the port (0 chooses one)."""
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
            sock.listen(16)
        except OSError as error:
            sock.close()
            raise InputError(f"lab: {host}:{port} ({name}) cannot be opened: {error.strerror}") from error
        sock.setblocking(False)
        self._makers[sock] = (name, make)
        self._selector.register(sock, selectors.EVENT_READ)
        return int(sock.getsockname()[1])

    def datagrams(self, host: str, port: int, receive: Callable[[bytes, Any], None]) -> socket.socket:
        """Open a UDP port; every datagram goes to `receive(data, address)`. Returns the socket, for sending."""
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            sock.bind((host, port))
        except OSError as error:
            sock.close()
            raise InputError(f"lab: udp {host}:{port} cannot be opened: {error.strerror}") from error
        sock.setblocking(False)
        self._datagrams[sock] = receive
        self._selector.register(sock, selectors.EVENT_READ)
        return sock

    def start(self) -> None:
        """Begin to accept and read."""
        self._thread.start()

    def connections(self, *ports: str) -> list[Connection]:
        """Return the connections that are open, on the named ports."""
        return [c for c in list(self._connections.values()) if c.open and (not ports or c.port in ports)]

    def disconnect(self, *ports: str) -> None:
        """Cut clients off: a fault for tests."""
        for connection in self.connections(*ports):
            connection.open, connection.dropped = False, "fault"
        self._waker.send(b"x")

    def close(self) -> None:
        """End the thread and every socket."""
        self._end = True
        self._waker.send(b"x")
        if self._thread.ident is not None:
            self._thread.join()
        for sock in list(self._connections):
            self._drop(sock)
        for sock in (*self._makers, *self._datagrams, self._wake, self._waker):
            sock.close()
        self._selector.close()

    def _run(self) -> None:
        if self._fifo:
            real_time(PRIORITY - 1)
        while not self._end:
            for key, _ in self._selector.select(timeout=LOOK_ROUND):
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if sock is self._wake:
                    with contextlib.suppress(BlockingIOError):
                        self._wake.recv(100)
                elif sock in self._makers:
                    self._accept(sock)
                elif sock in self._datagrams:
                    self._datagram(sock)
                elif sock in self._connections:
                    self._read(sock)
            for sock, connection in list(self._connections.items()):
                if not connection.open:
                    self._drop(sock)

    def _accept(self, listening: socket.socket) -> None:
        try:
            sock, _ = listening.accept()
        except OSError:
            return
        if len(self._connections) >= MOST_CLIENTS:
            sock.close()
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        name, make = self._makers[listening]
        with self.lock:
            talk, greeting = make()
            connection = Connection(sock, name, talk, self.lock)
            self._connections[sock] = connection
            connection.send(greeting)
        self._selector.register(sock, selectors.EVENT_READ)

    def _read(self, sock: socket.socket) -> None:
        connection = self._connections[sock]
        try:
            data = sock.recv(RECEIVED_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            data, connection.dropped = b"", str(error.strerror)
        if not data:
            connection.open = False
            return
        with self.lock:
            try:
                connection.send(connection.talk.receive(data))
            except EOFError:
                connection.open = False
            except Exception as error:  # noqa: BLE001 - whatever a client sends, only that client ends
                connection.open, connection.dropped = False, f"{type(error).__name__}: {error}"

    def _datagram(self, sock: socket.socket) -> None:
        try:
            data, address = sock.recvfrom(RECEIVED_BYTES)
        except OSError:
            return
        with self.lock, contextlib.suppress(Exception):
            self._datagrams[sock](data, address)

    def _drop(self, sock: socket.socket) -> None:
        connection = self._connections.pop(sock)
        connection.open = False
        if connection.dropped:
            self.dropped = [*self.dropped[-99:], f"{connection.port}: {connection.dropped}"]
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(sock)
        sock.close()
        closed = getattr(connection.talk, "closed", None)
        if closed is not None:
            with self.lock:
                closed()
