# SPDX-License-Identifier: Apache-2.0
"""A recording played back *as a robot*: the same ports, the same bytes; fields that were not recorded are not known."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.errors import InputError
from armwright.lab.clock import Clock
from armwright.lab.net import Network
from armwright.lab.packets import read_packets, recipe_from
from armwright.lab.wire.dashboard import BANNER
from armwright.lab.wire.rtde import RtdeConnection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from armwright.lab.wire.rtde_fields import Recipe

PORTS = {"realtime": 30003, "rtde": 30004, "dashboard": 29999}


class _Listener:
    """A port that only tells."""

    def receive(self, data: bytes) -> bytes:
        """Nothing that is said to a recording has an effect."""
        return b""


class _Dashboard:
    """Answers everything alike."""

    def receive(self, data: bytes) -> bytes:
        """One line for each."""
        return b"This is a recording\n" * data.count(b"\n")


class _Host:
    """The controller that a recording can stand for: it tells, and takes no inputs."""

    def __init__(self, version: tuple[int, int, int, int], rate: float) -> None:
        self.version, self.rate, self.e_series = version, rate, version[0] >= 5

    def claim(self, names: tuple[str, ...], owner: object) -> bool:
        """No input is free."""
        return False

    def release(self, owner: object) -> None:
        """Nothing is held."""

    def write_inputs(self, values: Mapping[str, Any]) -> None:
        """Nothing is taken."""


class Replay:
    """A recording on the wire, at the pace of its device clock.

    Attributes:
        ports: by name. samples: RTDE samples to come. sent: so far. done: whether all have been.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        host: str = "127.0.0.1",
        ports: dict[str, int] | None = None,
        loop: bool = False,
        wait: bool = True,
    ) -> None:
        """Open the ports.

        Args:
            path: of the recording.
            host: to listen on.
            ports: other numbers than the usual ones; 0 chooses a free one.
            loop: begin again at the end.
            wait: begin when the first client streams.
        """
        recorded = read_packets(path)
        self._realtime = [packet.data for packet in recorded.of("/robot/realtime")]
        self._samples: list[dict[str, Any]] = []
        self.recipe: Recipe | None = None
        version, rate = (3, 15, 8, 0), 125.0
        channel = recorded.channels.get("/robot/rtde")
        if channel is not None:
            facts = channel.facts or {}
            self.recipe = recipe_from(channel.recipe)
            head = 3 + (facts.get("protocol", "2") == "2")
            for packet in recorded.of("/robot/rtde"):
                with contextlib.suppress(struct.error):
                    self._samples.append(self.recipe.unpack(packet.data[head:]))
            numbers = [int(part) for part in facts.get("version", "3.15.8.0").split(".")]
            version = (numbers[0], numbers[1], numbers[2], numbers[3] if len(numbers) > 3 else 0)
            rate = float(facts.get("rate", 125.0))
        if not (self._samples or self._realtime):
            raise InputError(f"{path}: holds no robot to replay")
        self._loop, self._wait = loop, wait
        self.host, self._count = host, 0
        self.network = Network()
        self._controller = _Host(version, rate)
        wanted = {**PORTS, **(ports or {})}
        try:
            self.ports = {
                "rtde": self.network.listen(host, wanted["rtde"], "rtde", lambda: (self._connection(), b"")),
                "realtime": self.network.listen(host, wanted["realtime"], "realtime", lambda: (_Listener(), b"")),
                "dashboard": self.network.listen(
                    host, wanted["dashboard"], "dashboard", lambda: (_Dashboard(), BANNER)
                ),
            }
        except BaseException:
            self.network.close()
            raise
        self.clock = Clock(self._tick, 1.0 / rate, fifo=False)

    def _connection(self) -> RtdeConnection:
        connection = RtdeConnection(self._controller)
        assert self.recipe is not None or not self._samples
        connection.known = dict(zip(self.recipe.names, self.recipe.kinds, strict=True)) if self.recipe else {}
        return connection

    @property
    def samples(self) -> int:
        """Steps of the recording."""
        return max(len(self._samples), len(self._realtime))

    @property
    def sent(self) -> int:
        """Steps played."""
        return self._count

    @property
    def done(self) -> bool:
        """Whether it is at its end."""
        return self._count >= self.samples and not self._loop

    def _tick(self) -> None:
        with self.network.lock:
            clients = [c for c in self.network.connections("rtde") if getattr(c.talk, "streaming", False)]
            listeners = self.network.connections("realtime")
            if self.done or (self._wait and self._count == 0 and not clients and not listeners):
                return
            k = self._count % self.samples
            self._count += 1
            if k < len(self._samples):
                for connection in clients:
                    assert isinstance(connection.talk, RtdeConnection)
                    connection.send(connection.talk.data(self._count, self._samples[k]))
            if k < len(self._realtime):
                for connection in listeners:
                    connection.send(self._realtime[k])
        for connection in self.network.connections():
            connection.flush()

    def __enter__(self) -> Replay:
        self.network.start()
        self.clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.clock.stop()
        self.network.close()
