# SPDX-License-Identifier: Apache-2.0
"""The virtual UR controller: the arm, its controller, its ports and its clock, put together."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.lab.clock import Clock
from armwright.lab.controller.core import TICK, Controller
from armwright.lab.controller.program import run_text
from armwright.lab.controller.published import realtime_packet, values
from armwright.lab.faults import STALL_AT, Faults, Segmentation
from armwright.lab.net import Connection, Network
from armwright.lab.plant import Plant
from armwright.lab.wire.dashboard import BANNER, DashboardConnection
from armwright.lab.wire.rtde import RtdeConnection
from armwright.lab.wire.script import ScriptReader
from armwright.lab.wire.secondary import RATE as SECONDARY_RATE
from armwright.lab.wire.secondary import robot_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from armwright.lab.sensing import Felt
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.world import World

PORTS = {"primary": 30001, "secondary": 30002, "realtime": 30003, "rtde": 30004, "dashboard": 29999}
MOST_PACE = 50.0
HOME = np.array([0.0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0.0])


def start_of(robot: Robot) -> Array:
    """Where an arm begins if nobody says: a UR's usual bend, or the middle of the ranges where that is not allowed."""
    if robot.n == len(HOME) and (robot.lower <= HOME).all() and (robot.upper >= HOME).all():
        return HOME
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    low, high = np.where(bounded, robot.lower, 0.0), np.where(bounded, robot.upper, 0.0)
    return np.clip(0.5 * (low + high), robot.lower, robot.upper)


class ScriptConnection:
    """Script text in; what goes out is streamed."""

    def __init__(self, controller: Controller) -> None:
        self._controller, self._reader = controller, ScriptReader()
        self.segments = Segmentation()

    def receive(self, data: bytes) -> bytes:
        """Obey what is recognised."""
        for text in self._reader.receive(data):
            run_text(self._controller, text)
        return b""


class Stand:
    """A controller on the wire. Use it as a context, or `start` and `close` it.

    Attributes:
        controller: behind the ports. ports: name → number. clock: the pace. network: the sockets. faults: injected.
        gaps: publications that came more than two periods after the last.
        sensors: called every tick with its number and what sensors feel. closers: called at the end.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        host: str = "127.0.0.1",
        ports: dict[str, int] | None = None,
        q0: Array | None = None,
        world: World | None = None,
        e_series: bool = False,
        payload: tuple[float, tuple[float, float, float]] | None = None,
        tcp: tuple[float, ...] | None = None,
        sensitivity: float = 1.0,
        faults: Faults | None = None,
        fifo: bool = True,
        software: str | None = None,
        pace: float = 1.0,
        current_noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        """Compile everything and open the ports; nothing moves before `start`.

        Args:
            robot: six axes; rotors and friction are added where it has none.
            host: address to listen on.
            ports: other numbers than `PORTS`; 0 chooses a free one.
            q0: start [rad]; see `start_of`.
            world: what stands around it.
            e_series: 500 Hz and version 5.11 instead of CB3.
            payload: mass [kg] and centre [m] in the flange's frame, hung on and told.
            tcp: pose (6,) at the flange.
            sensitivity: of the collision detector; 2 halves its thresholds.
            faults: to inject.
            fifo: ask for real-time scheduling of the clock.
            software: version to report, such as "5.26.0"; clients ask newer ones for more.
            pace: seconds of the controller that pass in one; clients that live by its clock notice nothing.
            current_noise: deviation of a published motor current [A].
            seed: of that noise.
        """
        if not 0.1 <= pace <= MOST_PACE:
            raise InputError(f"lab: pace must be 0.1 to {MOST_PACE:g}, got {pace}")
        start = start_of(robot) if q0 is None else q0
        plant = Plant(robot, q0=start, world=world, sensitivity=sensitivity, current_noise=current_noise, seed=seed)
        self.controller = Controller(plant, e_series=e_series, software=software)
        if payload is not None:
            plant.carry(payload[0], np.array(payload[1]))
            plant.told(payload[0], np.array(payload[1]))
        if tcp is not None:
            plant.tcp[...] = tcp
        self.faults = faults or Faults()
        self.host = host
        self.network = Network(self.controller.lock, fifo=fifo)
        self.sensors: list[Callable[[int, Felt], None]] = []
        self.closers: list[Callable[[], None]] = []
        self.gaps, self._published = 0, math.inf
        self._values: dict[str, Any] = {}
        self._stall_at = round(STALL_AT / TICK)
        self.clock = Clock(self.tick, TICK / pace, fifo=fifo)
        try:
            self.ports = self._listen({**PORTS, **(ports or {})})
            for _ in range(8):  # whatever is slow the first time is slow before anybody waits
                self.tick()
        except BaseException:
            self.network.close()
            raise

    def _listen(self, wanted: dict[str, int]) -> dict[str, int]:
        c = self.controller
        makers: dict[str, Callable[[], Any]] = {
            "rtde": lambda: (RtdeConnection(c), b""),
            "dashboard": lambda: (DashboardConnection(c), BANNER),
        }
        script = lambda: (ScriptConnection(c), b"")  # noqa: E731 - one line among others
        return {
            name: self.network.listen(self.host, port, name, makers.get(name, script)) for name, port in wanted.items()
        }

    def start(self) -> None:
        """Let the clock run and accept clients."""
        self._published = math.inf
        self.network.start()
        self.clock.start()

    def close(self) -> None:
        """Stop the clock, close every socket."""
        self.clock.stop()
        self.network.close()
        self.controller.solver.close()
        for close in self.closers:
            close()

    def __enter__(self) -> Stand:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def tick(self) -> None:
        """One tick of 2 ms: the arm goes on, clients get what is due."""
        c = self.controller
        with c.lock:
            c.tick()
            if self.faults.stall and c.ticks == self._stall_at:
                self.clock.stall(self.faults.stall)
            due = c.ticks % c.ticks_per_publication == 0
            if due:
                self._publish()
            else:
                for connection in self.network.connections("realtime"):
                    self._finish(connection)
            if self.sensors:
                felt = c.plant.feel()
                for sensor in self.sensors:
                    sensor(c.ticks, felt)
        for connection in self.network.connections():
            connection.flush()

    def _publish(self) -> None:
        c = self.controller
        c.plant.look()
        v = self._values = values(c)
        c.publications += 1
        now = time.monotonic()
        self.gaps += now - self._published > 2.0 / c.rate
        self._published = now
        if self.faults.skips():
            return
        for connection in self.network.connections("rtde"):
            assert isinstance(connection.talk, RtdeConnection)
            connection.send(connection.talk.data(c.publications, v))
        streams = self.network.connections("realtime")
        if streams and c.ticks % 4 == 0:
            packet = realtime_packet(v)
            for connection in streams:
                self._stream(connection, packet)
        if c.ticks % round(1.0 / (SECONDARY_RATE * TICK)) == 0:
            state = robot_state(v, c.plant.tcp.tolist())
            for connection in self.network.connections("primary", "secondary"):
                connection.send(state)

    def _stream(self, connection: Connection, packet: bytes) -> None:
        assert isinstance(connection.talk, ScriptConnection)
        segments = connection.talk.segments
        if self.faults.segment and self.controller.moving:
            connection.send(segments.send(packet))
        else:
            connection.send(segments.flush() + packet)

    def _finish(self, connection: Connection) -> None:
        assert isinstance(connection.talk, ScriptConnection)
        connection.send(connection.talk.segments.rest())
