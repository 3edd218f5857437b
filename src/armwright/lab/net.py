# SPDX-License-Identifier: Apache-2.0
"""Sockets of the lab. `Network.serve` does a bounded piece of work and never waits; the tick of the clock calls it.

What is published comes first in a tick. Then every client that has sent something gets its turn, one message after the
other in turns, until `STEPS_PER_TICK` or the processor time of the tick are used up; a tick that is late does one step
only, so that what clients send is read in the time that is left over. The rest waits: in the client's
own buffer of one message and `RECEIVED_BYTES`, and behind it in the system's, which stops the client (TCP) or loses
what does not fit (UDP). A flood therefore costs the others nothing but their turns.

There are `MOST_CLIENTS` places. A new client gets the place of another if all are taken: see `Connection.worth`.
"""

from __future__ import annotations

import contextlib
import math
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from armwright.errors import ArmwrightError, InputError

MOST_PENDING = 2 << 20  # bytes that wait to be sent to one client before it is dropped: two seconds at the fullest rate
MOST_UNREAD = 1 << 16  # bytes that wait to be sent to one client before nothing more is taken from it
MOST_STREAMED = 1 << 15  # bytes that wait for a sender of scripts; what is published beyond them passes it by
MOST_CLIENTS = 64
RECEIVED_BYTES = 4096  # that are taken from a socket at once
SENT_BYTES = 1 << 16  # that the system keeps for a client: one that does not read shows within seconds
STEPS_PER_TICK = 32  # messages or parts of them that one tick handles for all clients, datagrams that it takes
SERVED_SECONDS = 3e-4  # [s] of processor time that a tick may give to clients: a seventh of 2 ms
MOST_DEBT = 0.02  # [s] of processor time over that, which the ticks that follow save again
ACTIVE_TICKS = 1000  # ticks since a sign of life, in which a client counts as active: 2 s
GRACE_TICKS = 250  # ticks that a client has to say something, or a new one waits for a place: 0.5 s
WAITING_CLIENTS = 128  # that the system keeps until they are accepted, one a tick
KEEPALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPALIVE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3}
"""[s] of silence before a client's system is asked, [s] between questions, questions: a dead one goes after 11 s."""
UNACKNOWLEDGED_MS = 10_000  # [ms] after which sent bytes that nobody acknowledges end a connection (Linux)
RECEIVE_ERRORS = 11  # Linux' IP_RECVERR: a datagram that nobody took is reported with its address


class LabError(ArmwrightError):
    """Something on the wire is not as it should be."""


class Talk(Protocol):
    """The protocol of one connection."""

    def take(self, buffer: bytearray) -> bytes | None:
        """Take one message, or a bounded part of one, off the front of what has arrived; return the answer to it.

        None says that no whole message is there yet. `EOFError` ends the connection when all answers are sent, any
        other exception at once. The time that it takes must be bounded; so must what it leaves in the buffer.
        """


class Connection:
    """One client: its socket, what has arrived, what waits to be sent, its protocol.

    Attributes:
        sock: its socket. port: on which it came. talk: the protocol's state. open: whether it still is.
        dropped: why it was closed. more: whether what has arrived may hold a message. ending: whether it closes when
        all is sent. turn: when it was served last.
    """

    def __init__(self, sock: socket.socket, port: str, talk: Talk, network: Network, greeting: bytes) -> None:
        self.sock, self.port, self.talk, self._network = sock, port, talk, network
        with contextlib.suppress(OSError):  # that it took the greeting shows nothing yet
            sock.send(greeting)
        self._arrived, self._pending = bytearray(), bytearray()
        self.open, self.dropped = True, ""
        self.more = self.ending = self._published = self._gone = False
        self.turn = 0
        self._came, self._heard, self._took = float(network.ticks), -math.inf, -math.inf

    def send(self, data: bytes) -> None:
        """Publish: send as much as goes without waiting; keep the rest for `flush`."""
        with self._network.lock:
            if self.open and data and not self._gone:
                self._published = True
                self._pending += data
                self.flush()

    def flush(self) -> None:
        """Try to send what waits.

        Whoever takes nothing any more may have said something before it left: it is heard before the connection ends.
        """
        with self._network.lock:
            if not (self.open and self._pending):
                return
            try:
                sent = self.sock.send(self._pending)
                del self._pending[:sent]
            except (BlockingIOError, InterruptedError):
                pass
            except OSError as error:
                self._pending.clear()
                self._gone, self._published, self.dropped = True, False, f"{error.strerror}"
            if not self._pending and self._published:
                self._took, self._published = self._network.ticks, False
            elif len(self._pending) > MOST_PENDING:
                self.open, self.dropped = False, "does not read"

    @property
    def keeps_up(self) -> bool:
        """Return whether what is published should go to a client that may only be there to send scripts.

        Clients such as ur_rtde hold a script port for hours and never read what it publishes. They are not to lose the
        port for that: packages pass them by whole, until they read.
        """
        return len(self._pending) < MOST_STREAMED

    @property
    def done(self) -> bool:
        """Return whether nothing more will be said and everything has been sent."""
        return self.ending and not self._pending

    @property
    def listens(self) -> bool:
        """Return whether something may be taken from it: it is open, and reads its answers."""
        return self.open and not self.ending and len(self._pending) < MOST_UNREAD

    @property
    def worth(self) -> tuple[int, float]:
        """Return how active it is, 0 to 3, and the tick of its last sign of life; the least makes room for another.

        3 who has spoken and takes what is published, 2 who spoke within `ACTIVE_TICKS`, 1 who only takes what is
        published, 0 the silent. Taking alone is no sign of life: the client's system takes for some seconds what
        nobody reads.
        """
        now = self._network.ticks
        takes = self._took > now - ACTIVE_TICKS and not self._pending
        if takes and self._heard > -math.inf:
            return 3, now
        level = 2 if self._heard > now - ACTIVE_TICKS else 1 if takes else 0
        return level, max(self._came, self._heard)

    def notice(self) -> None:
        """Remember that something has arrived, though its turn to be read has not come."""
        if self.listens:
            self._heard = self._network.ticks

    def read(self) -> None:
        """Take what has arrived, `RECEIVED_BYTES` at most."""
        try:
            data = self.sock.recv(RECEIVED_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.open, self.dropped = False, str(error.strerror)
            return
        if not data:
            self.open = False
            return
        self.notice()
        self.more = True
        self._arrived += data

    def step(self) -> None:
        """Let the protocol take one message; its answer waits for `flush`."""
        try:
            answer = self.talk.take(self._arrived)
        except EOFError:
            self.ending = True
        except Exception as error:  # noqa: BLE001 - whatever a client sends, only that client ends
            self.open, self.dropped = False, f"{type(error).__name__}: {error}"
        else:
            self.more = answer is not None
            self._pending += answer or b""


@dataclass(frozen=True)
class Datagrams:
    """Who gets the datagrams of a UDP port, and who is told of addresses at which nobody listens any more."""

    receive: Callable[[bytes, Any], None]
    gone: Callable[[Any], None]


class Network:
    """Listening sockets and their connections.

    Attributes:
        lock: taken around every call into a protocol. ticks: how often it has served.
        dropped: clients that were cut off, with reasons (last 100).
    """

    def __init__(self, lock: threading.RLock | None = None) -> None:
        self.lock = lock if lock is not None else threading.RLock()
        self._selector = selectors.DefaultSelector()
        self._connections: dict[socket.socket, Connection] = {}
        self._makers: dict[socket.socket, tuple[str, Callable[[], tuple[Talk, bytes]]]] = {}
        self._datagrams: dict[socket.socket, Datagrams] = {}
        self.ticks, self._turn, self._credit = 0, 0, 0.0
        self._waited = 0  # ticks that a new client has waited for a place
        self.dropped: list[str] = []

    def listen(self, host: str, port: int, name: str, make: Callable[[], tuple[Talk, bytes]]) -> int:
        """Accept clients; `make` gives a protocol and a greeting. Returns the port (0 chooses one)."""
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
            sock.listen(WAITING_CLIENTS)
        except OSError as error:
            sock.close()
            raise InputError(f"lab: {host}:{port} ({name}) cannot be opened: {error.strerror}") from error
        sock.setblocking(False)
        self._makers[sock] = (name, make)
        self._selector.register(sock, selectors.EVENT_READ)
        return int(sock.getsockname()[1])

    def datagrams(
        self, host: str, port: int, receive: Callable[[bytes, Any], None], gone: Callable[[Any], None]
    ) -> socket.socket:
        """Open a UDP port; every datagram goes to `receive(data, address)`. Returns the socket, for sending.

        `gone(address)` is called where the other system says that nobody listens there (Linux; elsewhere never).
        """
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            sock.bind((host, port))
        except OSError as error:
            sock.close()
            raise InputError(f"lab: udp {host}:{port} cannot be opened: {error.strerror}") from error
        sock.setblocking(False)
        if sys.platform == "linux":
            sock.setsockopt(socket.IPPROTO_IP, RECEIVE_ERRORS, 1)
        self._datagrams[sock] = Datagrams(receive, gone)
        self._selector.register(sock, selectors.EVENT_READ)
        return sock

    def connections(self, *ports: str) -> list[Connection]:
        """Return the connections that are open, on the named ports."""
        return [c for c in list(self._connections.values()) if c.open and (not ports or c.port in ports)]

    def disconnect(self, *ports: str) -> None:
        """Cut clients off: a fault for tests."""
        for connection in self.connections(*ports):
            connection.open, connection.dropped = False, "fault"

    def close(self) -> None:
        """End every socket. Nobody may serve any more."""
        for sock in list(self._connections):
            self._drop(sock)
        for sock in (*self._makers, *self._datagrams):
            sock.close()
        self._selector.close()

    def serve(self, seconds: float = SERVED_SECONDS, steps: int = STEPS_PER_TICK) -> None:
        """Send what waits, accept one client, read and answer as much as a tick may; never wait.

        Args:
            seconds: processor time for it [s]; what goes beyond is saved later.
            steps: that are done for all connections together, and datagrams that are taken from each port.
        """
        self.ticks += 1
        self._credit = min(seconds, self._credit + seconds)
        if self._credit > 0.0:
            begun = time.thread_time()
            self._answer(begun + self._credit, steps)
            self._credit = max(self._credit - (time.thread_time() - begun), -MOST_DEBT)
        for sock, connection in list(self._connections.items()):
            connection.flush()
            if not connection.open or connection.done:
                self._drop(sock)

    def _answer(self, until: float, steps: int) -> None:
        """Accept and answer, in so many steps at most, until so much processor time of this thread has passed."""
        ready = {key.fileobj for key, _ in self._selector.select(timeout=0)}
        for sock in ready & self._connections.keys():
            assert isinstance(sock, socket.socket)
            self._connections[sock].notice()
        for sock in ready & self._datagrams.keys():
            assert isinstance(sock, socket.socket)
            self._take_datagrams(sock, steps)
        waiting = [sock for sock in self._makers if sock in ready]
        self._waited = self._waited + 1 if waiting else 0
        if waiting and self._has_room():
            self._accept(waiting[self._turn % len(waiting)])  # another port every time
            self._waited = 0
        self._turn += 1
        busy = [c for sock, c in self._connections.items() if c.listens and (c.more or sock in ready)]
        busy.sort(key=lambda connection: connection.turn)
        for done in range(steps):
            if not busy or (done and time.thread_time() > until):
                return
            connection = busy.pop(0)
            self._turn += 1
            connection.turn = self._turn
            if not connection.more and connection.sock in ready:
                ready.discard(connection.sock)
                connection.read()
            if connection.more and connection.open:
                with self.lock:
                    connection.step()
            if connection.listens and (connection.more or connection.sock in ready):
                busy.append(connection)

    def _has_room(self) -> bool:
        """Return whether there is a place; the least active client gives its own after some silence, or some time."""
        if len(self._connections) < MOST_CLIENTS:
            return True
        least = min(self._connections.values(), key=lambda connection: connection.worth)
        if max(self.ticks - least.worth[1], self._waited) < GRACE_TICKS:
            return False
        least.open, least.dropped = False, "silent longest, and another came"
        self._drop(least.sock)
        return True

    def _accept(self, listening: socket.socket) -> None:
        try:
            sock, _ = listening.accept()
        except OSError:
            return
        _prepare(sock)
        name, make = self._makers[listening]
        with self.lock:
            talk, greeting = make()
            self._connections[sock] = Connection(sock, name, talk, self, greeting)
        self._selector.register(sock, selectors.EVENT_READ)

    def _take_datagrams(self, sock: socket.socket, most: int) -> None:
        to = self._datagrams[sock]
        for _ in range(most):
            try:
                data, address = sock.recvfrom(RECEIVED_BYTES)
            except BlockingIOError:
                break
            except OSError:  # of something sent earlier; the queue of errors knows to whom
                continue
            with self.lock, contextlib.suppress(Exception):
                to.receive(data, address)
        for address in _unreachable(sock):
            with self.lock:
                to.gone(address)

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


def _prepare(sock: socket.socket) -> None:
    """Set an accepted socket up: it never waits, sends at once, and notices that its client has died."""
    sock.setblocking(False)
    options = [(socket.SOL_SOCKET, "SO_KEEPALIVE", 1), (socket.SOL_SOCKET, "SO_SNDBUF", SENT_BYTES)]
    options += [(socket.IPPROTO_TCP, name, value) for name, value in KEEPALIVE.items()]
    options += [(socket.IPPROTO_TCP, "TCP_NODELAY", 1), (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", UNACKNOWLEDGED_MS)]
    for level, name, value in options:
        if hasattr(socket, name):  # systems differ in what they can set
            with contextlib.suppress(OSError):
                sock.setsockopt(level, getattr(socket, name), value)


def _unreachable(sock: socket.socket) -> list[Any]:
    """Return addresses to which datagrams could not be delivered, as far as the system says so."""
    found: list[Any] = []
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # no more of them
            while len(found) < STEPS_PER_TICK:
                found.append(sock.recvmsg(0, 0, socket.MSG_ERRQUEUE)[3])
    return found
