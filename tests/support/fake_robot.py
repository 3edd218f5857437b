# SPDX-License-Identifier: Apache-2.0
"""A robot that plays what it is given over RTDE, and keeps every byte that it is sent."""

from __future__ import annotations

import contextlib
import socket
import threading

import numpy as np

from armwright.lab.wire import rtde
from armwright.lab.wire.rtde import RtdeConnection
from support.patience import PATIENCE

DEFAULTS = {"robot_mode": 7, "safety_mode": 1, "runtime_state": 2, "speed_scaling": 1.0}


class _Host:
    version, rate = (3, 15, 0, 0), 125.0

    def claim(self, names, owner):
        return False

    def release(self, owner):
        pass

    def write_inputs(self, values):
        raise AssertionError("a listener has written inputs")


class FakeRobot:
    """Plays samples (t, q, qd, current[, values]) to every client, then hangs up, or is silent.

    Attributes:
        sent: bytes of every client, in order. clients: how many there were.
    """

    def __init__(self, samples, *, end="hang up", pace=None):
        self._samples, self._end, self._pace = list(samples), end, pace
        self.sent, self.clients = bytearray(), 0
        self.played, self._over = threading.Event(), threading.Event()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self._thread.join(PATIENCE)

    def _serve(self):
        with contextlib.suppress(OSError):
            while not self._over.is_set():
                client, _ = self._door.accept()
                self.clients += 1
                with client:
                    self._talk(client)

    def _talk(self, client):
        client.settimeout(PATIENCE)
        connection, buffer = RtdeConnection(_Host()), bytearray()
        while not connection.streaming:
            self._read(client, buffer)
            while (answer := connection.take(buffer)) is not None:
                client.sendall(answer)
        for t, q, qd, current, *more in self._samples:
            values = dict.fromkeys(connection.outputs[1][0].names, 0) | DEFAULTS
            values |= {"timestamp": t, "actual_q": q, "actual_qd": qd, "actual_current": current, "target_q": q}
            values |= more[0] if more else {}
            client.sendall(connection.data(0, {k: list(v) if np.ndim(v) else v for k, v in values.items()}))
            if self._pace is not None:
                self._pace(self)
        self.played.set()
        client.settimeout(0.05)
        while self._end == "silent" and not self._over.is_set():
            with contextlib.suppress(TimeoutError):
                self._read(client, buffer)
        client.shutdown(socket.SHUT_WR)
        client.settimeout(PATIENCE)
        with contextlib.suppress(OSError):  # what the client still sends
            while part := client.recv(1 << 16):
                self.sent += part

    def _read(self, client, buffer):
        part = client.recv(1 << 16)
        if not part:
            raise OSError("the client hung up")
        self.sent += part
        buffer += part


def subscription(data):
    """Return the kinds of packets in what a client sent; everything must be one."""
    buffer = bytearray(data)
    kinds = [kind for kind, _ in rtde.packets(buffer)]
    assert not buffer
    return "".join(map(chr, kinds))
