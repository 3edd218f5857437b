# SPDX-License-Identifier: Apache-2.0
"""``armwright lab``: a UR controller on the wire with an arm behind it, and a recorder for it and for real ones."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from armwright.cli.failures import fail, guarded
from armwright.cli.output import Json, say, say_json, tell

app = typer.Typer(
    name="lab",
    help="A UR controller on the wire with a simulated arm behind it; recording and replay.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
Host = Annotated[str, typer.Option(help="Address to listen on; anything but 127.x.y.z opens the lab to a network.")]
Duration = Annotated[float | None, typer.Option(help="Stop after so many seconds; until Ctrl-C by default.")]


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


@app.command()
@guarded
def serve(
    robot: Annotated[str, typer.Option(help="Catalogue name, sheet or URDF of a six-axis arm.")] = "ur5",
    host: Host = "127.0.0.1",
    world: Annotated[str | None, typer.Option(help="World file or name: what the arm can touch.")] = None,
    series: Annotated[str, typer.Option(help="cb3 (125 Hz, 3.15) or e (500 Hz, 5.11).")] = "cb3",
    payload: Annotated[str | None, typer.Option(help="kg or kg,x,y,z [m] at the flange.")] = None,
    tcp: Annotated[str | None, typer.Option(help="x,y,z,rx,ry,rz of the TCP at the flange [m, rad].")] = None,
    mount: Annotated[str | None, typer.Option(help="rx,ry,rz: how the base is turned against the floor [rad].")] = None,
    ft: Annotated[float, typer.Option(help="Rate of a virtual ATI Net F/T [1/s]; 0 for none.")] = 0.0,
    ft_http_port: Annotated[int, typer.Option(help="Of the sensor's page; below 1024 may need rights.")] = 80,
    imu: Annotated[float, typer.Option(help="Rate of a virtual Xsens MTi [1/s]; 0 for none.")] = 0.0,
    offset: Annotated[float, typer.Option(help="Of the sensors' clocks [s].")] = 0.0,
    drift: Annotated[float, typer.Option(help="Of the sensors' clocks [-].")] = 0.0,
    sensitivity: Annotated[float, typer.Option(help="Of the collision detector; 2 halves its thresholds.")] = 1.0,
    skip: Annotated[float, typer.Option(help="Fraction of publications that are skipped.")] = 0.0,
    segment: Annotated[bool, typer.Option("--segment", help="Cut the real-time stream as 756 + 694 | 62.")] = False,
    duration: Duration = None,
    json: Json = False,
) -> None:
    """Serve a UR controller: RTDE 30004, scripts 30001–30003, dashboard 29999; loopback unless --host says otherwise."""
    from armwright.lab.devices import VirtualMti, VirtualNetFt
    from armwright.lab.faults import Faults
    from armwright.lab.sensing import DeviceClock
    from armwright.lab.stand import Stand

    if series not in ("cb3", "e"):
        fail(f"--series {series}: must be cb3 or e")
    check_host(host)
    load = _numbers(payload, "--payload", (1, 4))
    stand = Stand(
        _arm(robot, mount),
        host=host,
        world=_world(world),
        e_series=series == "e",
        payload=(load[0], (load[1], load[2], load[3]) if len(load) == 4 else (0.0, 0.0, 0.0)) if load else None,
        tcp=tuple(_numbers(tcp, "--tcp", (6,))) or None,
        sensitivity=sensitivity,
        faults=Faults(segment=segment, skip=skip),
    )
    clock = DeviceClock(offset, drift)
    try:
        sensor = VirtualNetFt(stand, rate=ft, http_port=ft_http_port, clock=clock) if ft else None
        unit = VirtualMti(stand, rate=imu, clock=clock) if imu else None
        stand.start()
        ready: dict[str, Any] = {"host": host, "ports": stand.ports}
        if sensor is not None:
            ready["ft"] = {"rdt": sensor.rdt_port, "http": sensor.http_port}
        if unit is not None:
            ready["imu"] = unit.path
        if json:
            say_json({"ready": ready})
        else:
            say(f"ready: {robot} at {host}, " + ", ".join(f"{name} {port}" for name, port in stand.ports.items()))
            if unit is not None:
                say(f"inertial unit at {unit.path}")
        until_told(duration, lambda: stand.clock.running)
    finally:
        stand.close()
    if stand.clock.error is not None:
        raise stand.clock.error
    if not json:
        scheduled = "SCHED_FIFO" if stand.clock.fifo else "ordinary scheduling"
        say(f"{stand.clock.ticks} ticks of 2 ms, {scheduled}; how late they were:\n{stand.clock.late.table()}")


def _arm(name: str, mount: str | None) -> Any:
    import numpy as np

    from armwright.robot.load import load
    from armwright.spatial.rotations import exp_so3

    arm = load(name)
    turn = _numbers(mount, "--mount", (3,))
    return arm.with_gravity(exp_so3(np.array(turn)).T @ arm.gravity) if turn else arm


def _world(name: str | None) -> Any:
    if name is None:
        return None
    from armwright.world import load_world

    return load_world(name)


def _numbers(text: str | None, what: str, counts: tuple[int, ...]) -> list[float]:
    if text is None:
        return []
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in counts or not all(abs(v) < 1e6 for v in values):
        fail(f"{what} {text}: must be {' or '.join(map(str, counts))} numbers with commas between")
    return values
