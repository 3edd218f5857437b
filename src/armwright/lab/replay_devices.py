# SPDX-License-Identifier: Apache-2.0
"""`Replay`: a recording played back *as the devices*: the same ports, the same bytes.

Fields that were not recorded are not known. `Replay` is the robot; `ReplayedFt` and `ReplayedMti` put its sensors on
the wire again: an ATI Net F/T on UDP and HTTP, an Xsens MTi on a pseudo-terminal. `score` says when each packet is due.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.lab.lab_clock import Clock
from armwright.lab.net import Network
from armwright.lab.packets import Packet, Recorded, read_packets, recipe_from
from armwright.lab.rdt_streams import RdtStreams
from armwright.lab.sources import ASSUMED
from armwright.lab.virtual_sensors import Terminal
from armwright.lab.wire import netft, xsens
from armwright.lab.wire.dashboard import BANNER, MOST_DASHBOARD_LINE
from armwright.lab.wire.rtde import RtdeConnection
from armwright.lab.wire.text_lines import first_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from armwright.lab.wire.rtde import Recipe


class ReplayedFt:
    """Sends recorded RDT records, bit by bit, to whoever asked for a stream; its page is the recorded one.

    Attributes:
        rdt_port, http_port: numbers.
    """

    def __init__(self, network: Network, host: str, rdt_port: int, http_port: int, facts: Mapping[str, str]) -> None:
        page = facts.get("netftapi2.xml") or _page(facts)
        self.http_port = network.listen(host, http_port, "ft http", lambda: (netft.HttpConnection(page.encode()), b""))
        self._streams = RdtStreams(network, host, rdt_port)
        self.rdt_port = self._streams.port

    @property
    def sent(self) -> int:
        """Return the records so far, to all clients."""
        return self._streams.sent

    @property
    def heard(self) -> bool:
        """Return whether anybody listens."""
        return bool(self._streams)

    def send(self, record: bytes) -> None:
        """Send one record to all."""
        self._streams.send(lambda _: record)


def _page(facts: Mapping[str, str]) -> str:
    """Return a page for a recording that holds none: what its channel says."""
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
        """Return the bytes that nobody read."""
        return self._terminal.lost

    def poll(self) -> None:
        """Answer the driver."""
        asked = self._terminal.read()
        self.heard |= bool(asked)
        self._terminal.write(self._device.receive(asked))

    def send(self, message: bytes) -> None:
        """Send one message, if the device measures."""
        if self._device.measuring:
            self._terminal.write(message)


PORTS = {"realtime": 30003, "rtde": 30004, "dashboard": 29999, "rdt": netft.RDT_PORT, "ft http": netft.HTTP_PORT}
ROBOT = ("/robot/rtde", "/robot/realtime")
REPLAY_TICK = 0.002  # [s]
MOST_RATE = 1e6  # [1/s] of a device: above what any wire carries


class _Listener:
    """A port that only sends."""

    def take(self, buffer: bytearray) -> None:
        """Ignore everything: nothing that is said to a recording has an effect."""
        buffer.clear()


class _Dashboard:
    """Gives the same answer to everything."""

    def take(self, buffer: bytearray) -> bytes | None:
        """Answer one line for each."""
        return None if first_line(buffer, MOST_DASHBOARD_LINE) is None else b"This is a recording\n"


class _Host:
    """The controller behind a recording: it publishes, and takes no inputs."""

    def __init__(self, version: tuple[int, int, int, int], rate: float) -> None:
        self.version, self.rate = version, rate

    def claim(self, names: tuple[str, ...], owner: object) -> bool:
        """Refuse: no input is free."""
        return False

    def release(self, owner: object) -> None:
        """Do nothing: nothing is held."""

    def write_inputs(self, values: Mapping[str, Any]) -> None:
        """Ignore inputs."""


class Replay:
    """A recording on the wire, on the robot's time base: what came together comes together again.

    Attributes:
        ports: by name. samples: RTDE samples to come. sent: robot's steps so far. done: whether all were sent.
        ft, imu: the sensors that were recorded, else None.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        host: str = "127.0.0.1",
        ports: dict[str, int] | None = None,
        loop: bool = False,
        wait: bool = True,
        together: bool = False,
        recover: bool = False,
    ) -> None:
        """Open the ports.

        Args:
            path: of the recording.
            host: to listen on.
            ports: other numbers than the usual ones; 0 chooses a free one.
            loop: begin again at the end.
            wait: begin when the first client listens.
            together: begin when one listens to every device.
            recover: of a damaged file, play what precedes the damage.

        Raises:
            InputError: the file cannot be read, is damaged, or holds nothing that can be played.
        """
        recorded = read_packets(path, recover=recover)
        if not recorded.packets:
            raise InputError(f"{path}: holds nothing to replay")
        self.recipe: Recipe | None = None
        version, rate, head = (3, 15, 8, 0), 125.0, 4
        channel = recorded.channels.get("/robot/rtde")
        if channel is not None:
            facts = channel.facts or {}
            self.recipe = recipe_from(channel.recipe)
            head = 3 + (facts.get("protocol", "2") == "2")
            version, rate = _version(facts.get("version", "3.15.8.0")), _rate(facts, 125.0)
        self._score = score(recorded)
        self.samples = max(len(recorded.of(topic)) for topic in ROBOT) or len(self._score)
        self._head, self._loop, self._wait, self._together = head, loop, wait, together
        self.host, self._ticks, self._next, self._count, self.sent = host, 0, 0, 0, 0
        self.network = Network()
        self._controller = _Host(version, rate)
        self.ft: ReplayedFt | None = None
        self.imu: ReplayedMti | None = None
        try:
            self.ports = self._open(recorded, {**PORTS, **(ports or {})})
        except BaseException:
            self._close()
            raise
        self._begun = False
        self.clock = Clock(self._tick, REPLAY_TICK, fifo=False)

    def _open(self, recorded: Recorded, wanted: dict[str, int]) -> dict[str, int]:
        listen, host = self.network.listen, self.host
        out = {}
        if any(topic in recorded.channels for topic in ROBOT):
            out["rtde"] = listen(host, wanted["rtde"], "rtde", lambda: (self._connection(), b""))
            out["realtime"] = listen(host, wanted["realtime"], "realtime", lambda: (_Listener(), b""))
            out["dashboard"] = listen(host, wanted["dashboard"], "dashboard", lambda: (_Dashboard(), BANNER))
        if "/ft" in recorded.channels:
            facts = recorded.channels["/ft"].facts or {}
            self.ft = ReplayedFt(self.network, host, wanted["rdt"], wanted["ft http"], facts)
            out |= {"rdt": self.ft.rdt_port, "ft http": self.ft.http_port}
        if "/imu" in recorded.channels:
            self.imu = ReplayedMti(_rate(recorded.channels["/imu"].facts or {}, 100.0))
        return out

    def _connection(self) -> RtdeConnection:
        connection = RtdeConnection(self._controller)
        connection.known = dict(zip(self.recipe.names, self.recipe.kinds, strict=True)) if self.recipe else {}
        return connection

    @property
    def done(self) -> bool:
        """Return whether it is at its end."""
        return self._next >= len(self._score) and not self._loop

    def _heard(self) -> list[bool]:
        """Return whether anybody listens, per device."""
        streams = any(getattr(c.talk, "streaming", False) for c in self.network.connections("rtde"))
        out = [streams or bool(self.network.connections("realtime"))] if "rtde" in self.ports else []
        out += [self.ft.heard] if self.ft is not None else []
        return out + ([self.imu.heard] if self.imu is not None else [])

    def _tick(self) -> None:
        with self.network.lock:
            if self.imu is not None:
                self.imu.poll()
            if not self._begun:
                heard = self._heard()
                self._begun = not self._wait or (all(heard) if self._together else any(heard))
            if self._begun and not self.done:
                self._play()
        self.network.serve()

    def _play(self) -> None:
        """Send what is due by now."""
        if self._next >= len(self._score):
            self._next = self._ticks = 0
        due = self._ticks * REPLAY_TICK + 1e-9
        self._ticks += 1
        while self._next < len(self._score) and self._score[self._next][0] <= due:
            _, packet = self._score[self._next]
            self._next += 1
            self._send(packet)

    def _send(self, packet: Packet) -> None:
        if packet.topic == "/robot/rtde":
            assert self.recipe is not None
            self.sent += 1
            try:
                sample = self.recipe.unpack(packet.data[self._head :])
            except struct.error:
                return
            self._count += 1
            for connection in self.network.connections("rtde"):
                assert isinstance(connection.talk, RtdeConnection)
                if connection.talk.streaming:
                    connection.send(connection.talk.data(self._count, sample))
        elif packet.topic == "/robot/realtime":
            for connection in self.network.connections("realtime"):
                connection.send(packet.data)
        elif packet.topic == "/ft" and self.ft is not None:
            self.ft.send(packet.data)
        elif packet.topic == "/imu" and self.imu is not None:
            self.imu.send(packet.data)

    def _close(self) -> None:
        self.network.close()
        if self.imu is not None:
            self.imu.close()

    def __enter__(self) -> Replay:
        self.clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.clock.stop()
        self._close()


def _version(text: str) -> tuple[int, int, int, int]:
    """Return the four numbers of a controller's version; the last may be missing."""
    numbers = [int(part) for part in text.split(".") if part.isdecimal() and len(part) < 10]
    if not 3 <= len(numbers) <= 4 or len(numbers) != text.count(".") + 1:
        raise InputError(f"recording: the robot's version {text!r:.40} is not of the form 3.15.8.0")
    return numbers[0], numbers[1], numbers[2], [*numbers, 0][3]


def _rate(facts: Mapping[str, str], usual: float) -> float:
    """Return a device's samples per second."""
    text = facts.get("rate", str(usual))
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0.0 < rate < MOST_RATE:
        raise InputError(
            f"recording: {text!r:.40} samples per second; more than 0 and less than {MOST_RATE:g} are valid"
        )
    return rate


def score(recorded: Recorded) -> list[tuple[float, Packet]]:
    """Return packets with the time [s] at which each is due, in that order.

    The robot's packets are due by its own clock, so that jitter on their way is not played again; those of sensors
    when the host received them, brought to the robot's clock by the packet of the robot that came before.
    """
    leader = next((topic for topic in ROBOT if recorded.of(topic)), None)
    lead = recorded.of(leader) if leader is not None else recorded.packets
    host = np.maximum.accumulate(np.array([p.host for p in lead], dtype=np.float64))
    times = np.array([p.device if leader is not None else p.host for p in lead], dtype=np.float64)
    times = np.concatenate([[0.0], np.cumsum(np.maximum(np.diff(times), 0.0))])  # a controller may have been restarted
    slope = (times[-1] - times[0]) / max(host[-1] - host[0], 1.0)
    out = []
    for topic in dict.fromkeys(packet.topic for packet in recorded.packets):
        own = recorded.of(topic)
        came = np.array([packet.host for packet in own], dtype=np.float64)
        if topic in ROBOT:
            device = np.array([packet.device for packet in own], dtype=np.float64)
            begin = float(np.interp(came[0], host, times))
            due = begin + np.concatenate([[0.0], np.cumsum(np.maximum(np.diff(device), 0.0))])
        else:
            k = np.clip(np.searchsorted(host, came, side="right") - 1, 0, len(host) - 1)
            due = np.maximum.accumulate(times[k] + slope * (came - host[k]))  # never out of order
        out += list(zip(due.tolist(), own, strict=True))
    earliest = min(due for due, _ in out)
    return sorted(((1e-9 * (due - earliest), packet) for due, packet in out), key=lambda entry: entry[0])
