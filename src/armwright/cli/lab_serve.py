# SPDX-License-Identifier: Apache-2.0
"""``armwright lab serve``: a UR controller on the wire, with an arm, sensors and faults behind it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.choices import FORCE_SENSORS
from armwright.cli import option_words
from armwright.cli.failures import fail, guarded
from armwright.cli.option_groups import ArmReading, grouped
from armwright.cli.option_words import (
    Host,
    Json,
    Seed,
    duration_option,
    joints_option,
    names_of,
    payload_option,
    robot_option,
    world_option,
)
from armwright.cli.output import say, say_json_line, tell
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller
    from armwright.lab.flange_sensing import DeviceClock
    from armwright.lab.force_sensors import ForceSensor
    from armwright.lab.foxglove_feed import FoxgloveFeed
    from armwright.lab.stand import Stand
    from armwright.robot.model import Robot
    from armwright.world.world import World

MOST_NEWS = 20  # lines of what the controller says that are printed at a time, five times a second
UntilCtrlC = Annotated[float | None, duration_option("After which it stops; until Ctrl-C by default.")]
FtHttpPort = Annotated[
    int, typer.Option(metavar="PORT", help="Of the force sensor's page; below 1024 may need rights.")
]


@dataclass(frozen=True)
class ControllerOptions:
    """The controller and what is mounted on its arm."""

    world: Annotated[str | None, world_option("What the arm can touch.")] = None
    series: Annotated[str, typer.Option(help="cb3 (125 Hz, 3.15), e (500 Hz, 5.11), or arm: that of the arm.")] = "arm"
    software: Annotated[str | None, typer.Option(help="Version to report, such as 5.26.0.")] = None
    payload: Annotated[str | None, payload_option("Load, hung on and told.")] = None
    tcp: Annotated[str | None, typer.Option(help="x,y,z,rx,ry,rz of the TCP at the flange [m, rad].")] = None
    mount: Annotated[str | None, typer.Option(help="rx,ry,rz: how the base is turned against the floor [rad].")] = None
    start: Annotated[str | None, joints_option("--start", "Where the arm stands at first.")] = None
    programs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of .script and .urp programs for the dashboard.")
    ] = None
    remote: Annotated[bool, typer.Option("--remote", help="The dashboard says that it is in remote control.")] = False
    script_hosts: Annotated[
        str, typer.Option(metavar="HOST[,HOST]", help="Addresses that scripts may dial besides loopback.")
    ] = ""
    sensitivity: Annotated[float, typer.Option(help="Of the collision detector; 2 halves its thresholds.")] = 1.0

    def stand_options(self, arm: Robot) -> dict[str, Any]:
        """Return them as `Stand` takes them."""
        from armwright.lab.wire.arm_parts import is_e_series

        load = None if self.payload is None else option_words.payload(self.payload)
        return {
            "world": _world(self.world),
            "e_series": self.series == "e" or (self.series == "arm" and is_e_series(arm)),
            "software": self.software,
            "payload": None if load is None else (load[0], tuple(load[1])),
            "tcp": tuple(_numbers(self.tcp, "--tcp", 6)) or None,
            "q0": None if self.start is None else option_words.configuration(self.start, arm, "--start"),
            "sensitivity": self.sensitivity,
            "programs": self.programs,
            "remote": self.remote,
            "script_hosts": [host.strip() for host in self.script_hosts.split(",") if host.strip()],
        }


@dataclass(frozen=True)
class SensorOptions:
    """Sensors at the flange, their clocks, and the noise of the motor currents."""

    ft_rate: Annotated[
        float, typer.Option(metavar="PER_SECOND", help="Samples of a virtual ATI Net F/T; 0 for none.")
    ] = 0.0
    ft_sensor: Annotated[
        str, typer.Option(metavar="SENSOR", help=f"What it presents itself as: {names_of(FORCE_SENSORS)}.")
    ] = "axia"
    ft_http_port: FtHttpPort = 80
    ft_bias: Annotated[str | None, typer.Option(help="fx,fy,fz,tx,ty,tz that the sensor shows at rest.")] = None
    imu_rate: Annotated[
        float, typer.Option(metavar="PER_SECOND", help="Samples of a virtual Xsens MTi; 0 for none.")
    ] = 0.0
    clock_offset: Annotated[float, typer.Option(metavar="SECONDS", help="Of the sensors' clocks.")] = 0.0
    clock_drift: Annotated[float, typer.Option(metavar="SHARE", help="Of the sensors' clocks [-].")] = 0.0
    current_noise: Annotated[float, typer.Option(help="Deviation of a motor current [A].")] = 0.0


@dataclass(frozen=True)
class FaultOptions:
    """What goes wrong on the wire."""

    skip: Annotated[float, typer.Option(help="Fraction of publications that are skipped.")] = 0.0
    stall: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="The controller stands still, five seconds after the start.", min=0.0),
    ] = 0.0
    segment: Annotated[bool, typer.Option("--segment", help="Cut the real-time stream as 756 + 694 | 62.")] = False


@dataclass(frozen=True)
class ServeOptions:
    """How the process runs."""

    fifo: Annotated[bool, typer.Option("--fifo/--no-fifo", help="Real-time scheduling of the clock.")] = True
    pace: Annotated[float, typer.Option(help="Seconds of the controller that pass in one.")] = 1.0
    free_ports: Annotated[bool, typer.Option("--free-ports", help="Take ports that are free, and tell them.")] = False
    hand: Annotated[
        bool, typer.Option("--hand", help="Push as lines of standard input say: begin seconds fx fy fz; end with it.")
    ] = False
    foxglove: Annotated[
        int | None, typer.Option(metavar="PORT", help="Show the arm live in Foxglove, at ws://HOST:PORT.", min=0)
    ] = None
    seed: Seed = 0
    duration: UntilCtrlC = None


@guarded
@grouped
def serve(
    *,
    robot: Annotated[str, robot_option("Six axes.")] = "ur5",
    host: Host = "127.0.0.1",
    controller: ControllerOptions,
    sensors: SensorOptions,
    faults: FaultOptions,
    how: ServeOptions,
    reading: ArmReading,
    json: Json = False,
) -> None:
    """Serve a UR controller: RTDE 30004, scripts 30001–30003, 30020, dashboard 29999; loopback unless --host."""
    from armwright.lab.flange_sensing import DeviceClock
    from armwright.lab.lab_clock import live_beside_clock, without_collections
    from armwright.lab.stand import PORTS, Faults, Stand, truth_of

    if controller.series not in ("cb3", "e", "arm"):
        fail(f"--series {controller.series}: must be cb3, e or arm")
    check_host(host)
    FORCE_SENSORS.check(sensors.ft_sensor, lambda valid: InputError(f"--ft-sensor {sensors.ft_sensor}: valid: {valid}"))
    with without_collections():  # a start makes many objects that stay
        arm = reading.load(robot)
        stand = Stand(
            _turned(arm, controller.mount),
            host=host,
            **controller.stand_options(arm),
            faults=Faults(segment=faults.segment, skip=faults.skip, stall=faults.stall),
            fifo=how.fifo,
            ports=dict.fromkeys(PORTS, 0) if how.free_ports else None,
            pace=how.pace,
            current_noise=sensors.current_noise,
            seed=how.seed,
        )
    clock = DeviceClock(sensors.clock_offset, sensors.clock_drift)
    gone = threading.Event()
    try:
        sensor, unit = _flange_sensors(stand, clock, sensors, how)
        if how.hand:
            _follow_hand(stand, gone)
        shown = _foxglove(stand, controller.world, host, how.foxglove)
        stand.start()
        live_beside_clock(fifo=how.fifo)
        ready: dict[str, Any] = {"host": host, "ports": stand.ports, "truth": truth_of(stand, clock)}
        if sensor is not None:
            ready["ft"] = {"rdt": sensor.rdt_port, "http": sensor.http_port}
        if unit is not None:
            ready["imu"] = unit.path
        if shown is not None:
            ready["foxglove"] = shown.port
        if json:
            say_json_line({"ready": ready})
        else:
            say(f"ready: {robot} at {host}, " + ", ".join(f"{name} {port}" for name, port in stand.ports.items()))
            if unit is not None:
                say(f"inertial unit at {unit.path}")
            if shown is not None:
                say(f"Foxglove: open connection ws://{host}:{shown.port}")
        news = OperatorNews(stand.controller)

        def going() -> bool:
            if not json:
                news.tell()
            return stand.clock.running and not gone.is_set()

        until_told(how.duration, going)
    finally:
        stand.close()
    if stand.clock.error is not None:
        raise stand.clock.error
    if not json:
        scheduled = "SCHED_FIFO" if stand.clock.fifo else "ordinary scheduling"
        say(f"{stand.clock.ticks} ticks of 2 ms, {scheduled}; how late they were:")
        for line in stand.clock.late.table().splitlines():
            say(line)
        period = 1e3 / stand.controller.rate
        say(f"{stand.controller.publications} publications, {stand.gaps} gaps > {2 * period:g} ms between them")


class OperatorNews:
    """What the screen of a teach pendant would show: programs that begin and end, their faults, stops, popups."""

    def __init__(self, controller: Controller) -> None:
        """Begin with what comes from now on."""
        self._c, self._told = controller, controller.noted

    def tell(self) -> None:
        """Print what has come since the last time, `MOST_NEWS` lines at most."""
        with self._c.lock:
            fresh, last, time = self._c.noted - self._told, list(self._c.messages)[-MOST_NEWS:], self._c.time
            self._told = self._c.noted
        if fresh > MOST_NEWS:
            tell(f"{time:9.1f} s  … and {fresh - len(last)} lines before this one")
        for words in last[-fresh:] if fresh else ():
            tell(f"{time:9.1f} s  {words}")


def until_told(seconds: float | None, going: Callable[[], bool]) -> None:
    """Wait for Ctrl-C, a termination, the end of the time, or of what is going on."""
    end = threading.Event()
    kept = {number: signal.signal(number, lambda *_: end.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    deadline = None if seconds is None else time.monotonic() + seconds
    try:
        while going() and (deadline is None or time.monotonic() < deadline):
            if end.wait(0.2 if deadline is None else max(0.0, min(0.2, deadline - time.monotonic()))):
                return
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def check_host(host: str) -> None:
    """Warn about addresses that others can reach."""
    if not host.startswith("127.") and host != "localhost":
        tell(f"warning: {host} can be reached from other machines; there is no password, and clients move the arm")


def _foxglove(stand: Stand, world: str | None, host: str, port: int | None) -> FoxgloveFeed | None:
    """Show the stand in Foxglove until it closes, if a port is given."""
    if port is None:
        return None
    from armwright.lab.foxglove_feed import FoxgloveFeed

    feed = FoxgloveFeed(stand, _world(world), host, port)
    stand.closers.append(feed.close)
    return feed


def _follow_hand(stand: Stand, gone: threading.Event) -> None:
    """Push as standard input says; its end is that of whoever started this, and sets `gone`."""
    import sys

    from armwright.errors import ArmwrightError
    from armwright.lab.hand import Hand, push_of

    virtual = Hand(stand.controller.plant)
    stand.sensors.append(virtual)

    def read() -> None:
        for line in sys.stdin:
            try:
                with stand.controller.lock:
                    virtual.add(push_of(line))
            except ArmwrightError as error:
                tell(f"armwright: {error}")
        gone.set()

    threading.Thread(target=read, name="hand", daemon=True).start()


def _turned(arm: Robot, mount: str | None) -> Robot:
    import numpy as np

    from armwright.spatial.rotations import exp_so3

    turn = _numbers(mount, "--mount", 3)
    return arm.with_gravity(exp_so3(np.array(turn)).T @ arm.gravity) if turn else arm


def _world(name: str | None) -> World | None:
    if name is None:
        return None
    from armwright.world import load_world

    return load_world(name)


def _flange_sensors(stand: Stand, clock: DeviceClock, sensors: SensorOptions, how: ServeOptions) -> tuple[Any, Any]:
    """Return the force sensor and the inertial unit, None for one that is not wanted."""
    from armwright.lab.virtual_sensors import VirtualMti, VirtualNetFt
    from armwright.lab.wire.netft import RDT_PORT

    force = unit = None
    bias = _numbers(sensors.ft_bias, "--ft-bias", 6) or 0.0
    if sensors.ft_rate:
        kind: ForceSensor = FORCE_SENSORS.find(sensors.ft_sensor)
        force = VirtualNetFt(
            stand,
            rate=sensors.ft_rate,
            http_port=0 if how.free_ports else sensors.ft_http_port,
            rdt_port=0 if how.free_ports else RDT_PORT,
            sensor=kind,
            bias=bias,
            clock=clock,
            seed=how.seed + 1,
        )
    if sensors.imu_rate:
        unit = VirtualMti(stand, rate=sensors.imu_rate, clock=clock, seed=how.seed + 2)
    return force, unit


def _numbers(text: str | None, what: str, count: int) -> list[float]:
    """Read so many numbers, none where none are given."""
    if text is None:
        return []
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count or not all(abs(v) < 1e6 for v in values):
        fail(f"{what} {text}: must be {count} numbers with commas between")
    return values
