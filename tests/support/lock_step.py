# SPDX-License-Identifier: Apache-2.0
"""Devices that wait for those who listen: their time passes as fast as these follow, so no load on the machine shows.

The lab's own clock keeps to the machine's, and who is late misses something. Here a thread makes the ticks, and goes on
after a packet of the robot only when everybody has read what was sent, and when the mover has looked at it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.choices import FORCE_SENSORS
from armwright.lab.controller.controller import CONTROLLER_TICK
from armwright.lab.experiment import experiment_procedure, experiment_runs
from armwright.lab.experiment.experiment_runs import LabBench
from armwright.lab.flange_sensing import DeviceClock
from armwright.lab.hand import Hand, push_of
from armwright.lab.mover import move
from armwright.lab.robot_link import RobotLink, RobotSample
from armwright.lab.sources import PacketSource
from armwright.lab.stand import Stand, truth_of
from armwright.lab.virtual_sensors import VirtualMti, VirtualNetFt
from armwright.lab.wire import netft
from support.lab import PORTS, address
from support.patience import PATIENCE

if TYPE_CHECKING:
    import pytest

    from armwright.lab.experiment.experiment_file import Experiment
    from armwright.lab.packets import Packet
    from armwright.lab.replay_devices import Replay

LOOK_EVERY = 4  # ticks: a CB3 publishes as often
FREE_PACE = 1e-3  # [s] between looks while nothing moves the arm, for others to get their turn


class Followed:
    """A source of packets that tells the device time [ns] of the last that its reader has done with."""

    def __init__(self, source: PacketSource, news: threading.Condition) -> None:
        self.source, self.news, self.device = source, news, -1
        self.topic, self.modulus = source.topic, source.modulus

    def open(self) -> Any:
        """Connect."""
        return self.source.open()

    def read(self) -> Iterator[Any]:
        """Yield packets; who asks for the next has done with the last."""
        for item in self.source.read():
            yield item
            self._tell(item[0])

    def close(self) -> None:
        """Hang up; nobody waits for it any more."""
        self.source.close()
        self._tell(-1)

    def _tell(self, device: int) -> None:
        with self.news:
            self.device = device
            self.news.notify_all()


class LockStep:
    """Makes ticks, as a context; `close` is called at its end.

    Args: sent: the device time [ns] up to which a topic must have been read.
    """

    def __init__(self, tick: Callable[[], None], sent: Callable[[str], int], close: Callable[[], None]) -> None:
        self._tick, self._sent, self._close = tick, sent, close
        self._news, self._end = threading.Condition(), threading.Event()
        self._followed: list[Followed] = []
        self._mover: tuple[RobotLink, int] | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="lock step", daemon=True)

    def followed(self, sources: Sequence[PacketSource]) -> list[Any]:
        """Return sources whose readers are waited for, from their first packet until they hang up."""
        self._followed = [Followed(source, self._news) for source in sources]
        return list(self._followed)

    @contextlib.contextmanager
    def moved_by(self, link: RobotLink) -> Iterator[None]:
        """Wait for whoever looks at this link, too."""
        self._mover = (link, -1)
        try:
            yield
        finally:
            with self._news:
                self._mover = None
                self._news.notify_all()

    def looked_at(self, link: RobotLink, number: int) -> None:
        """Note that the samples of a link up to this one have been dealt with."""
        with self._news:
            if self._mover is not None and self._mover[0] is link:
                self._mover = (link, number)
                self._news.notify_all()

    @property
    def caught_up(self) -> bool:
        """Return whether everything that was sent has been read."""
        with self._news:
            return self._seen()

    def __enter__(self) -> LockStep:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._news:
            self._end.set()
            self._news.notify_all()
        self._thread.join()
        self._close()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        ticks = 0
        try:
            while not self._end.is_set():
                self._tick()
                ticks += 1
                if ticks % LOOK_EVERY == 0:
                    self._wait()
        except BaseException as error:  # raised again at the end
            self._error = error

    def _wait(self) -> None:
        with self._news:
            came = self._news.wait_for(lambda: self._end.is_set() or self._seen(), PATIENCE)
            assert came, f"nobody follows: {[(f.topic, f.device, self._sent(f.topic)) for f in self._followed]}"
        if self._mover is None:
            self._end.wait(FREE_PACE)

    def _seen(self) -> bool:
        if any(0 <= f.device < self._sent(f.topic) for f in self._followed):
            return False
        if self._mover is None:
            return True
        link, number = self._mover
        newest = link._last
        sent = self._sent("/robot/rtde")
        return newest is not None and number == newest.number and round(1e9 * newest.device_time) >= sent


def stand_in_step(stand: Stand, ft: VirtualNetFt, imu: VirtualMti) -> LockStep:
    """Return what makes the ticks of a stand with its sensors."""
    c = stand.controller

    def sent(topic: str) -> int:
        if topic == "/ft":
            every = round(1.0 / (ft.rate * CONTROLLER_TICK))
            ticks = every * (c.ticks // every - (1 if ft.skip else 0))  # the last may be one that is skipped
            return round(int(ft.clock.at(ticks * CONTROLLER_TICK) * netft.INTERNAL_RATE) / netft.INTERNAL_RATE * 1e9)
        if topic == "/imu":
            return round(imu._counter * imu._every * CONTROLLER_TICK * 1e9)
        held = topic == "/robot/realtime" and stand.faults.segment
        return 0 if held else round(c.ticks // LOOK_EVERY * LOOK_EVERY * CONTROLLER_TICK * 1e9)

    stand.scripts.take = stand.scripts.run  # type: ignore[method-assign] # compiled within the tick, not beside it
    return LockStep(stand.tick, sent, stand.close)


def replay_in_step(played: Replay) -> LockStep:
    """Return what makes the ticks of a replay, which begins when everything that was recorded is listened to."""
    last: dict[str, int] = {}
    send, heard, connections = played._send, played._heard, played.network.connections

    def noted(packet: Packet) -> None:
        send(packet)
        last[packet.topic] = packet.device

    played._send = noted  # type: ignore[method-assign]

    def all_heard() -> list[bool]:
        started = any(getattr(c.talk, "streaming", False) for c in connections("rtde"))  # connected is not enough
        return [*heard(), bool(connections("realtime")), started]

    played._heard = all_heard  # type: ignore[method-assign]
    return LockStep(played._tick, lambda topic: last.get(topic, 0), played._close)


@dataclass
class BenchInStep(LabBench):
    """Devices of an experiment, in this process."""

    step: LockStep | None = None

    def sources(self) -> list[PacketSource]:
        """Return everything that is recorded, waited for."""
        assert self.step is not None
        return self.step.followed(super().sources())


class HandText:
    """Takes the lines that the hand of a stand reads from its standard input."""

    def __init__(self, stand: Stand) -> None:
        self.stand, self.hand = stand, Hand(stand.controller.plant)
        stand.sensors.append(self.hand)

    def write(self, line: str) -> None:
        """Plan a push."""
        with self.stand.controller.lock:
            self.hand.add(push_of(line))

    def flush(self) -> None:
        """Nothing waits."""


@contextlib.contextmanager
def bench_in_step(experiment: Experiment) -> Iterator[BenchInStep]:
    """Yield the virtual devices of an experiment as `armwright lab serve` makes them."""
    v = experiment.virtual
    assert v is not None
    mass, *centre = v.payload
    stand = Stand(
        experiment.robot,
        host=address(),
        ports=PORTS,
        q0=np.array(experiment.runs[0].commands[0].goal),
        payload=(mass, tuple(centre)),
        current_noise=v.current_noise,
        seed=v.seed,
    )
    clock = DeviceClock(v.offset, v.drift)
    kind = FORCE_SENSORS.find(v.ft_sensor)
    ft = VirtualNetFt(
        stand, rate=v.ft, http_port=0, rdt_port=0, sensor=kind, bias=v.ft_bias, clock=clock, seed=v.seed + 1
    )
    imu = VirtualMti(stand, rate=v.imu, clock=clock, seed=v.seed + 2)
    hand = HandText(stand)
    with stand_in_step(stand, ft, imu) as step:
        yield BenchInStep(
            stand.host,
            stand.ports["rtde"],
            stand.ports["secondary"],
            stand.ports["realtime"],
            (stand.host, ft.rdt_port, ft.http_port),
            (imu.path, v.imu),
            truth_of(stand, clock),
            stale=PATIENCE,
            _hand=hand,  # type: ignore[arg-type] # of a file it has what is used
            step=step,
        )


def conduct_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `conduct` use such devices, and the mover be waited for."""
    steps: list[LockStep] = []
    plain = RobotLink.next

    @contextlib.contextmanager
    def bench(experiment: Experiment) -> Iterator[BenchInStep]:
        with bench_in_step(experiment) as found:
            assert found.step is not None
            steps[:] = [found.step]
            yield found

    def move_in_step(link: RobotLink, *given: Any, **options: Any) -> None:
        with steps[0].moved_by(link):
            move(link, *given, **options)

    def following(link: RobotLink, after: RobotSample | None = None) -> RobotSample:
        if steps and after is not None:
            steps[0].looked_at(link, after.number)
        return plain(link, after)

    monkeypatch.setattr(experiment_procedure, "bench", bench)
    monkeypatch.setattr(experiment_runs, "move", move_in_step)
    monkeypatch.setattr(RobotLink, "next", following)
