# SPDX-License-Identifier: Apache-2.0
"""`Stand`: the virtual UR controller on the wire: the arm, its controller, its ports and its clock, put together.

`Faults` can be injected into what is sent: the segmentation that 004 saw, packets that are skipped, a stall. `truth_of`
tells what is true of a stand, to judge what was found out about it; no estimator may look there.
"""

from __future__ import annotations

import math
import select
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller.controller import CONTROLLER_TICK, Controller
from armwright.lab.controller.controller_states import CommandPlace
from armwright.lab.controller.port_commands import obey_port, port_command, refuses
from armwright.lab.controller.published import Outputs, values
from armwright.lab.lab_clock import Clock
from armwright.lab.lab_plant import LabPlant
from armwright.lab.net import STEPS_PER_TICK, Connection, Network
from armwright.lab.operator_panel import OperatorPanel
from armwright.lab.primary_feed import PrimaryFeed
from armwright.lab.program_store import ProgramStore
from armwright.lab.script.script_host import ScriptHost
from armwright.lab.script.script_sockets import addresses_of
from armwright.lab.wire.dashboard import BANNER, DashboardConnection
from armwright.lab.wire.interpreter_mode import InterpreterConnection
from armwright.lab.wire.realtime import realtime_packet
from armwright.lab.wire.rtde import RtdeConnection
from armwright.lab.wire.script_stream import ScriptReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from armwright.lab.flange_sensing import DeviceClock, FeltWrench
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.world import World


def truth_of(stand: Stand, clock: DeviceClock) -> dict[str, Any]:
    """Return current map τ = k i + b, friction, load, and the sensors' clock (t_device = offset + (1 + drift)·t)."""
    plant = stand.controller.plant
    joints = plant.robot.joints
    return {
        "k": plant.map.k.tolist(),
        "b": plant.map.b.tolist(),
        "coulomb": [joint.friction.coulomb for joint in joints],
        "viscous": [joint.friction.viscous for joint in joints],
        "load": plant.load.tolist(),
        "clock": {"offset": clock.offset, "drift": clock.drift},
    }


STALL_AT = 5.0  # [s]
FIRST_BYTES, LATE_BYTES = 694, 62
"""004, section 4.4.1: of a packet of 756 bytes after a late one, 694 come at once and 62 later."""


@dataclass
class Faults:
    """Faults to inject, and how often they happened.

    Attributes:
        segment: send the real-time stream of a moving arm as 756 + 694 | 62 bytes, every third packet late.
        skip: fraction of publications that are not sent to anybody, as a busy controller does.
        seed: of the skipping.
        stall: how long the controller stands still, once, `STALL_AT` seconds after its start [s].
        skipped: publications skipped so far.
    """

    segment: bool = False
    skip: float = 0.0
    seed: int = 0
    stall: float = 0.0
    skipped: int = 0
    _random: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the fraction."""
        if not 0.0 <= self.skip < 1.0:
            raise InputError(f"faults: skip must lie in [0, 1), got {self.skip}")
        if not 0.0 <= self.stall <= 60.0:
            raise InputError(f"faults: a stall of 0 to 60 s, got {self.stall}")
        self._random = np.random.default_rng(self.seed)

    def skips(self) -> bool:
        """Return whether this publication is skipped."""
        lost = self.skip > 0.0 and bool(self._random.random() < self.skip)
        self.skipped += lost
        return lost


class Segmentation:
    """Packets of one stream, cut as 004 saw them (Figure 4.4): 1 whole, 1 held back, then held + 694 bytes, then 62."""

    def __init__(self) -> None:
        self._count, self._held, self.tail = 0, b"", b""

    def send(self, packet: bytes) -> bytes:
        """Return what goes out now; `tail` is to follow a moment later."""
        out, self.tail = self.tail, b""
        self._count = (self._count + 1) % 3
        if self._count == 1:
            return out + packet
        if self._count == 2:
            self._held = packet
            return out
        out += self._held + packet[:FIRST_BYTES]
        self._held, self.tail = b"", packet[FIRST_BYTES:]
        return out

    def flush(self) -> bytes:
        """Return everything that is held back."""
        out, self._held, self.tail, self._count = self._held + self.tail, b"", b"", 0
        return out

    def rest(self) -> bytes:
        """Return the tail that is due, if any."""
        out, self.tail = self.tail, b""
        return out


PORTS = {
    "primary": 30001,
    "secondary": 30002,
    "realtime": 30003,
    "rtde": 30004,
    "dashboard": 29999,
    "interpreter": 30020,
}
MOST_PACE = 50.0
ANSWER_SECONDS = 0.25  # [s] that a stand in lockstep waits for an answer
SERVED_SHARE = 0.15  # of a tick's period that may go into what clients have sent
HOME = np.array([0.0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0.0])


def _owes(connection: Connection) -> bool:
    return isinstance(connection.talk, RtdeConnection) and connection.talk.owes


def start_of(robot: Robot) -> Array:
    """Return where an arm begins by default: a UR's usual bend, or the middle of the ranges if that is not allowed."""
    if robot.n == len(HOME) and (robot.lower <= HOME).all() and (robot.upper >= HOME).all():
        return HOME
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    low, high = np.where(bounded, robot.lower, 0.0), np.where(bounded, robot.upper, 0.0)
    return np.clip(0.5 * (low + high), robot.lower, robot.upper)


class ScriptConnection:
    """Takes script text; what goes out is streamed."""

    def __init__(self, controller: Controller) -> None:
        self._controller, self._reader = controller, ScriptReader()
        self.segments = Segmentation()

    def take(self, buffer: bytearray) -> bytes | None:
        """Read some lines; a text that is complete is compiled and run."""
        before, c = len(buffer), self._controller
        if c.scripts is not None and c.scripts.full:
            return b""  # later
        text = self._reader.take(buffer)
        if text is not None:
            command = port_command(text)
            if command is not None:
                obey_port(c, command)
            elif c.scripts is not None and not refuses(c):
                c.scripts.take(text)
        return b"" if len(buffer) < before else None


class Stand:
    """A controller on the wire. Use it as a context, or `start` and `close` it.

    Attributes:
        controller: behind the ports. ports: name → number. clock: the pace. network: the sockets. faults: injected.
        store: programs. panel: what the dashboard sets.
        gaps: publications that came more than two periods after the last.
        sensors: called every tick with its number and what sensors feel. closers: called at the end.
        witnesses: called every tick after the arm has moved; they look at the truth and change nothing.
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
        programs: str | Path | None = None,
        remote: bool = True,
        script_hosts: Iterable[str] = (),
        lockstep: bool = False,
    ) -> None:
        """Compile everything and open the ports; nothing moves before `start`.

        Args:
            robot: six axes; rotors and friction are added where it has none.
            host: address to listen on.
            ports: other numbers than `PORTS`; 0 chooses a free one.
            q0: start [rad]; see `start_of`.
            world: what stands around it.
            e_series: 500 Hz and version 5.11 instead of CB3.
            payload: mass [kg] and centre [m] in the flange's frame, carried by the arm and known to the controller.
            tcp: pose (6,) at the flange.
            sensitivity: of the collision detector; 2 halves its thresholds.
            faults: to inject.
            fifo: ask for real-time scheduling of the clock; never in lockstep, which would starve its clients.
            software: version to report, such as "5.26.0"; clients ask newer ones for more.
            pace: seconds of the controller per second; clients that use its clock notice nothing.
            current_noise: deviation of a published motor current [A].
            seed: of that noise.
            programs: folder of `.script` and `.urp` files that the dashboard loads by name.
            remote: whether an e-Series says that it is in remote control; it obeys the network either way.
            script_hosts: addresses that sockets of scripts may dial besides loopback.
            lockstep: wait `ANSWER_SECONDS` with every tick for clients of RTDE that have been sent data and write
                inputs: then a busy machine makes nobody late by the controller's time, whatever the pace.
        """
        if not 0.1 <= pace <= MOST_PACE:
            raise InputError(f"lab: pace must be 0.1 to {MOST_PACE:g}, got {pace}")
        start = start_of(robot) if q0 is None else q0
        plant = LabPlant(robot, q0=start, world=world, sensitivity=sensitivity, current_noise=current_noise, seed=seed)
        self.controller = Controller(plant, e_series=e_series, software=software)
        self.scripts = ScriptHost(self.controller, hosts=addresses_of(script_hosts))
        if payload is not None:
            plant.carry(payload[0], np.array(payload[1]))
            plant.told(payload[0], np.array(payload[1]))
        if tcp is not None:
            plant.tcp[...] = tcp
        self.faults = faults or Faults()
        self.host, self._lockstep = host, lockstep
        self.network = Network(self.controller.lock)
        self._feed = PrimaryFeed(self.controller, self.network)
        self.store = ProgramStore(self.controller, self.scripts.take, programs)
        self.panel = OperatorPanel(self.controller, self.store)
        self.controller.place = CommandPlace.REMOTE if remote else CommandPlace.OPEN
        self.sensors: list[Callable[[int, FeltWrench], None]] = []
        self.closers: list[Callable[[], None]] = []
        self.witnesses: list[Callable[[], None]] = []
        self.gaps, self._published = 0, math.inf
        self._values: Outputs | None = None  # of the last publication
        self._stall_at = round(STALL_AT / CONTROLLER_TICK)
        self.clock = Clock(self.tick, CONTROLLER_TICK / pace, fifo=fifo and not lockstep)
        try:
            self.ports = self._listen({**PORTS, **(ports or {})})
            for _ in range(8):  # what is slow the first time is done before anybody waits
                self.tick()
        except BaseException:
            self.network.close()
            raise

    def _listen(self, wanted: dict[str, int]) -> dict[str, int]:
        c = self.controller
        makers: dict[str, Callable[[], Any]] = {
            "rtde": lambda: (RtdeConnection(c, self._streamed_fields), b""),
            "dashboard": lambda: (DashboardConnection(self.panel), BANNER),
            "interpreter": lambda: (InterpreterConnection(lambda: getattr(c.program, "interpreter", None)), b""),
            "primary": lambda: (ScriptConnection(c), self._feed.greeting()),
            "secondary": lambda: (ScriptConnection(c), self._feed.greeting()),
        }
        script = lambda: (ScriptConnection(c), b"")  # noqa: E731 - one line among others
        return {
            name: self.network.listen(self.host, port, name, makers.get(name, script)) for name, port in wanted.items()
        }

    def start(self) -> None:
        """Let the clock run and accept clients."""
        self._published = math.inf
        self.clock.start()

    def close(self) -> None:
        """Stop the clock, close every socket."""
        self.clock.stop()
        self.network.close()
        self.controller.solver.close()
        self.scripts.close()
        self.store.close()
        for close in self.closers:
            close()

    def __enter__(self) -> Stand:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def tick(self) -> None:
        """Advance by one tick of 2 ms: the arm moves on, clients get what is due, then what they sent is read."""
        c = self.controller
        if self._lockstep:
            self._wait_for_answers()
        with c.lock:
            begun = time.perf_counter()
            self.store.tick()
            c.tick()
            for witness in self.witnesses:
                witness()
            if self.faults.stall and c.ticks == self._stall_at:
                self.clock.stall(self.faults.stall)
            if c.ticks % c.ticks_per_publication == 0:
                skipped = self._publish()
                self._feed.tick(self._values, skipped=skipped)
            else:
                for connection in self.network.connections("realtime"):
                    self._finish(connection)
                self._feed.tick(None)
            if self.sensors:
                felt = c.plant.feel()
                for sensor in self.sensors:
                    sensor(c.ticks, felt)
            c.execution_time = 1e3 * (time.perf_counter() - begun)
        late = self.clock.lag > self.clock.period
        self.network.serve(SERVED_SHARE * self.clock.period, 1 if late else STEPS_PER_TICK)

    def _wait_for_answers(self) -> None:
        """Let the clients that owe an answer give it; one that takes too long is not waited for until it answers."""
        until = time.monotonic() + ANSWER_SECONDS
        while owing := [one for one in self.network.connections("rtde") if one.open and _owes(one)]:
            left = until - time.monotonic()
            if left <= 0.0:
                for connection in owing:
                    connection.talk.answers = connection.talk.owes = False  # type: ignore[attr-defined]
            else:
                select.select([one.sock for one in owing if not one.more], [], [], 0.0 if owing[0].more else left)
                self.network.serve()

    def _streamed_fields(self) -> int:
        talks = [connection.talk for connection in self.network.connections("rtde")]
        return sum(talk.fields for talk in talks if isinstance(talk, RtdeConnection))

    def _publish(self) -> bool:
        """Publish what is due; return whether the fault of skipping left it out."""
        c = self.controller
        v = self._values = values(c)
        c.publications += 1
        now = time.monotonic()
        self.gaps += now - self._published > 2.0 / c.rate
        self._published = now
        if self.faults.skips():
            return True
        for connection in self.network.connections("rtde"):
            assert isinstance(connection.talk, RtdeConnection)
            connection.send(connection.talk.data(c.publications, v))
        streams = [connection for connection in self.network.connections("realtime") if connection.keeps_up]
        if streams:
            packet = realtime_packet(v, c.version)
            for connection in streams:
                self._stream(connection, packet)
        return False

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
