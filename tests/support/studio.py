# SPDX-License-Identifier: Apache-2.0
"""A studio in a thread of this process, and a page that is only a socket."""

from __future__ import annotations

import http.client
import json
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import SHUT_RDWR, SO_LINGER, SOL_SOCKET
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import armwright as aw
from support.patience import PATIENCE


@contextmanager
def running_studio(robot: str = "planar2", recordings: Path | None = None, wire: Any = None) -> Iterator[Any]:
    """Serve a studio on a free port until the block ends; without a folder of its own for recordings in a new one."""
    with TemporaryDirectory() as folder, _served(robot, recordings or Path(folder), wire) as running:
        yield running


@contextmanager
def _served(robot: str, recordings: Path, wire: Any) -> Iterator[Any]:
    from armwright.studio.start_studio import serve

    told: queue.Queue[Any] = queue.Queue()

    def work() -> None:
        try:
            serve(aw.load(robot), port=0, recordings=recordings, wire=wire, ready=told.put)
        except BaseException as error:  # the test is told
            told.put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    running = told.get(timeout=PATIENCE)
    if isinstance(running, BaseException):
        raise running
    try:
        yield running
    finally:
        running.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


@contextmanager
def started_studio(recordings: Path, robot: str = "planar2") -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """Start the command as a process of its own; yield it and what a `Page` needs to know. Killed at the end."""
    words = [sys.executable, "-m", "armwright.cli", "studio", robot, "--port", "0", "--json", "--recordings"]
    with subprocess.Popen([*words, str(recordings)], stdout=subprocess.PIPE, encoding="utf-8") as process:
        try:
            said = ""
            while not said.rstrip().endswith("}"):
                line = process.stdout.readline() if process.stdout else ""
                assert line, "the studio did not start"
                said += line
            base, token = json.loads(said)["address"].split("#")
            yield process, SimpleNamespace(base=base, studio=SimpleNamespace(token=token))
        finally:
            process.kill()


class Page:
    """A page without a browser: says hello, asks, and hears."""

    def __init__(self, running: Any, token: str | None = None, *, origin: str | None = None, **options: Any) -> None:
        from websockets.sync.client import connect

        self.frames: list[bytes] = []
        self.events: list[dict[str, Any]] = []
        self._next = 0
        own = running.base.rstrip("/")
        address = own.replace("http", "ws") + "/socket"
        self.socket = connect(address, origin=origin or own, compression=None, **options).__enter__()
        self.greeting = self.ask("hello", token=running.studio.token if token is None else token)

    def ask(self, what: str, /, **fields: Any) -> dict[str, Any]:
        """Ask and wait for the answer, whole: {"ok": …} or {"error": …}."""
        self._next += 1
        self.socket.send(json.dumps({"do": what, "id": self._next, **fields}))
        return self.answer(self._next)

    def raw(self, text: str | bytes) -> dict[str, Any]:
        """Send anything, and return the answer to no number."""
        self.socket.send(text)
        return self.answer(0)

    def answer(self, number: int) -> dict[str, Any]:
        """Wait for an answer; frames and events on the way are kept."""
        while True:
            message = self.hear()
            if message is not None and message.get("re") == number:
                return message

    def hear(self) -> dict[str, Any] | None:
        """The next message; a frame is kept and gives None."""
        data = self.socket.recv(timeout=PATIENCE)
        if isinstance(data, bytes):
            self.frames.append(data)
            return None
        message: dict[str, Any] = json.loads(data)
        if "event" in message:
            self.events.append(message)
        return message

    def until(self, event: str, **wanted: Any) -> dict[str, Any]:
        """Wait for an event with these fields."""
        while True:
            message = self.hear()
            if message and message.get("event") == event and all(message.get(k) == v for k, v in wanted.items()):
                return message

    def send(self, what: str, /, **fields: Any) -> None:
        """Say something without waiting for an answer."""
        self._next += 1
        self.socket.send(json.dumps({"do": what, "id": self._next, **fields}))

    def close(self) -> None:
        """Leave."""
        self.socket.close()

    def abort(self) -> None:
        """Leave without a word, as a browser that was killed does."""
        with suppress(OSError):
            self.socket.socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            self.socket.socket.shutdown(SHUT_RDWR)
        self.socket.socket.close()


def request(running: Any, method: str, path: str, headers: dict[str, str] | None = None, body: Any = None) -> Any:
    """One HTTP request, path as it is; returns (status, headers, body)."""
    where = urlsplit(running.base)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        given = {"Host": where.netloc, **(headers or {})}
        if isinstance(body, bytes):
            given["Content-Length"] = str(len(body))
        elif body is not None:
            given["Transfer-Encoding"] = "chunked"
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders(body, encode_chunked=not isinstance(body, bytes) and body is not None)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def upload(running: Any, kind: str, name: str, content: Any, **headers: str) -> tuple[int, dict[str, Any]]:
    """Send a file as the page does; headers may be overridden with _ for -."""
    given = {
        "Origin": running.base.rstrip("/"),
        "Authorization": f"Bearer {running.studio.token}",
        "X-File-Name": name,
    } | {key.replace("_", "-"): value for key, value in headers.items()}
    status, _, body = request(running, "POST", f"/upload/{kind}", given, content)
    return status, json.loads(body) if body[:1] == b"{" else {"error": body.decode()}
