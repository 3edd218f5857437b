# SPDX-License-Identifier: Apache-2.0
"""``armwright lab``: a UR controller on the wire with an arm behind it, and a recorder for it and for real ones.

``armwright lab run`` and ``lab example``: 004's whole experiment from one file.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.failures import fail, guarded
from armwright.cli.option_words import WHICH, Base, Implausible, Tip, load_arm
from armwright.cli.output import INTERRUPTED, NEGATIVE, Json, say, say_json, table, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from armwright.lab.experiment.experiment_procedure import ExperimentOutcome
    from armwright.lab.mover import Command
    from armwright.robot.model import Robot


@guarded
def run(
    file: Annotated[str, typer.Argument(help="Experiment file (TOML), or `stand`, which comes with the package.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for recordings and results; the file's name otherwise.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Keep the runs that are recorded to their end.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="A real arm stands at the first positions: do not ask.")] = False,
    json: Json = False,
) -> None:
    """Run a whole experiment: start devices, move, record, align clocks, identify, feel, report."""
    from armwright.errors import ArmwrightError
    from armwright.lab.experiment.experiment_file import read_experiment
    from armwright.lab.experiment.experiment_procedure import conduct

    experiment = read_experiment(file)
    folder = out or Path(Path(file).stem)
    again = f"go on with: armwright lab run {file} --out {folder} --resume"

    def ready(command: Command) -> None:
        from armwright.lab.mover import start_pose

        if yes or experiment.virtual is not None:
            return
        tell(f"first position: {start_pose(command)}")
        if typer.prompt("Does the arm stand there, and is nobody near it? (yes/no)", err=True) != "yes":
            fail(f"run: nothing was sent; {again}")

    try:
        with _terminated_like_interrupted():
            done = conduct(experiment, folder, resume=resume, tell=tell, ready=ready)
    except KeyboardInterrupt:
        fail(f"interrupted; {_kept(folder)}; {again}", INTERRUPTED, kind="Interrupted")
    except ArmwrightError as error:
        if not any(folder.glob("*.mcap")):
            raise
        hint = f"; {_kept(folder)}; {again}" if "--resume" not in str(error) else ""
        fail(f"{error}{hint}", kind=type(error).__name__)
    failed = [c for c in done.evaluated.criteria if c.passed is False]
    if json:
        say_json({"folder": str(folder), "report": str(done.report), "seconds": done.seconds, **done.facts})
    else:
        _print(done)
    if failed:
        raise typer.Exit(NEGATIVE)


def _print(done: ExperimentOutcome) -> None:
    from armwright.lab.experiment.experiment_report import WORDS, sentence

    criteria = done.evaluated.criteria
    rows = [[c.experiment, c.what, c.limit, c.found, WORDS[c.passed]] for c in criteria]
    table("what 004 demands", ["", "demand", "limit", "found", ""], rows, left=5)
    say(sentence(criteria))
    say(f"wrote {done.report} after {done.seconds:.0f} s")


def _kept(folder: Path) -> str:
    files = sorted(file.name for file in folder.glob("*.mcap"))
    return f"recorded so far, in {folder}: {', '.join(files)}" if files else "nothing was recorded"


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """A termination ends the experiment as Ctrl-C does: arm stopped, files closed, stand ended."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    kept = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, kept)


@guarded
def example(
    folder: Annotated[Path, typer.Argument(help="Where to write it.")],
    json: Json = False,
) -> None:
    """Write the experiment that comes with the package into a folder, to be edited."""
    import shutil

    from armwright.lab.experiment.experiment_file import FILES

    names = sorted(file.name for file in FILES.iterdir() if file.suffix in (".toml", ".txt"))
    held = [name for name in names if (folder / name).exists()]
    if held:
        fail(f"{folder}: has {', '.join(held)} already; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copyfile(FILES / name, folder / name)
    if json:
        say_json({"files": [str(folder / name) for name in names]})
    else:
        say(f"wrote {', '.join(str(folder / name) for name in names)}")
        say(f"armwright lab run {folder / 'stand.toml'} --out {folder / 'results'}")


app = typer.Typer(
    name="lab",
    help="A UR controller on the wire with a simulated arm behind it; recording, replay, whole experiments.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command()(run)
app.command()(example)
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
    robot: Annotated[str, typer.Option(help=f"{WHICH} Six axes.")] = "ur5",
    host: Host = "127.0.0.1",
    world: Annotated[str | None, typer.Option(help="World file or name: what the arm can touch.")] = None,
    series: Annotated[str, typer.Option(help="cb3 (125 Hz, 3.15) or e (500 Hz, 5.11).")] = "cb3",
    software: Annotated[str | None, typer.Option(help="Version to report, such as 5.26.0.")] = None,
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
    stall: Annotated[
        float, typer.Option(help="Stand still for so long [s], five seconds after the start.", min=0.0)
    ] = 0.0,
    segment: Annotated[bool, typer.Option("--segment", help="Cut the real-time stream as 756 + 694 | 62.")] = False,
    fifo: Annotated[bool, typer.Option("--fifo/--no-fifo", help="Real-time scheduling of the clock.")] = True,
    start: Annotated[str | None, typer.Option(help="Six joint angles at which the arm stands [rad].")] = None,
    pace: Annotated[float, typer.Option(help="Seconds of the controller that pass in one.")] = 1.0,
    current_noise: Annotated[float, typer.Option(help="Deviation of a motor current [A].")] = 0.0,
    ft_bias: Annotated[str | None, typer.Option(help="fx,fy,fz,tx,ty,tz that the sensor shows at rest.")] = None,
    seed: Annotated[int, typer.Option(help="Of all noise.", min=0)] = 0,
    hand: Annotated[
        bool, typer.Option("--hand", help="Push as lines of standard input say: begin seconds fx fy fz; end with it.")
    ] = False,
    free_ports: Annotated[bool, typer.Option("--free-ports", help="Take ports that are free, and tell them.")] = False,
    duration: Duration = None,
    implausible: Implausible = "refuse",
    base: Base = None,
    tip: Tip = None,
    json: Json = False,
) -> None:
    """Serve a UR controller: RTDE 30004, scripts 30001–30003, dashboard 29999; loopback unless --host."""
    from armwright.lab.flange_sensing import DeviceClock
    from armwright.lab.lab_clock import PRIORITY, real_time
    from armwright.lab.stand import PORTS, Faults, Stand, truth_of
    from armwright.lab.virtual_sensors import VirtualMti, VirtualNetFt

    if series not in ("cb3", "e"):
        fail(f"--series {series}: must be cb3 or e")
    check_host(host)
    load = _numbers(payload, "--payload", (1, 4))
    stand = Stand(
        _turned(load_arm(robot, implausible, base, tip), mount),
        host=host,
        world=_world(world),
        e_series=series == "e",
        software=software,
        payload=(load[0], (load[1], load[2], load[3]) if len(load) == 4 else (0.0, 0.0, 0.0)) if load else None,
        tcp=tuple(_numbers(tcp, "--tcp", (6,))) or None,
        sensitivity=sensitivity,
        faults=Faults(segment=segment, skip=skip, stall=stall),
        fifo=fifo,
        ports=dict.fromkeys(PORTS, 0) if free_ports else None,
        q0=_joints(start),
        pace=pace,
        current_noise=current_noise,
        seed=seed,
    )
    clock = DeviceClock(offset, drift)
    sensor_ports = {"http_port": 0, "rdt_port": 0} if free_ports else {"http_port": ft_http_port}
    gone = threading.Event()
    try:
        bias = _numbers(ft_bias, "--ft-bias", (6,)) or 0.0
        sensor = VirtualNetFt(stand, rate=ft, clock=clock, bias=bias, seed=seed + 1, **sensor_ports) if ft else None
        unit = VirtualMti(stand, rate=imu, clock=clock, seed=seed + 2) if imu else None
        if hand:
            _follow_hand(stand, gone)
        stand.start()
        if fifo:
            real_time(PRIORITY - 2)
        ready: dict[str, Any] = {"host": host, "ports": stand.ports, "truth": truth_of(stand, clock)}
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
        until_told(duration, lambda: stand.clock.running and not gone.is_set())
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


@app.command()
@guarded
def record(
    robot: Annotated[str | None, typer.Option(help="Address of a controller, real or virtual.")] = None,
    ft: Annotated[str | None, typer.Option(help="Address of an ATI Net F/T.")] = None,
    imu: Annotated[str | None, typer.Option(help="Serial port of an Xsens MTi.")] = None,
    imu_rate: Annotated[float, typer.Option(help="Of its samples [1/s].")] = 100.0,
    stream: Annotated[str, typer.Option(help="rtde (30004), realtime (30003) or both.")] = "rtde",
    out: Annotated[Path, typer.Option("--out", "-o", help="MCAP file.")] = Path("run.mcap"),
    duration: Duration = None,
    json: Json = False,
) -> None:
    """Record packets exactly as they come, until Ctrl-C; devices that are missing are waited for."""
    from armwright.lab.recorder import Recorder
    from armwright.lab.sources import FtSource, ImuSource, PacketSource, RealtimeSource, RtdeSource

    if stream not in ("rtde", "realtime", "both"):
        fail(f"--stream {stream}: must be rtde, realtime or both")
    sources: list[PacketSource] = []
    if robot is not None:
        sources += [RtdeSource(robot)] if stream != "realtime" else []
        sources += [RealtimeSource(robot)] if stream != "rtde" else []
    sources += [FtSource(ft)] if ft is not None else []
    sources += [ImuSource(imu, rate=imu_rate)] if imu is not None else []
    if not sources:
        fail("record: name a device: --robot HOST, --ft HOST, --imu PORT")
    recorder = Recorder(out, sources)
    began = last = time.monotonic()

    def going() -> bool:
        nonlocal last
        now = time.monotonic()
        if now - last > 2.0 and not json:
            last = now
            tell(recorder.line(began))
        return not recorder.failed

    with recorder:
        until_told(duration, going)
    if recorder.failed:
        fail(f"{recorder.failed}; {recorder.written} packets were written, and can be read")
    found = {topic: {"received": t.received, "lost": t.lost} for topic, t in recorder.tallies.items()}
    if json:
        say_json({"file": str(out), "written": recorder.written, "devices": found})
    else:
        say(f"wrote {out}: {recorder.written} packets")
        for topic, tally in recorder.tallies.items():
            say(f"  {topic}: {tally.received} received, {tally.lost} lost, {tally.connections} connections")


@app.command()
@guarded
def replay(
    file: Annotated[Path, typer.Argument(help="Recording (MCAP) of armwright lab record.")],
    host: Host = "127.0.0.1",
    loop: Annotated[bool, typer.Option("--loop", help="Begin again at the end.")] = False,
    together: Annotated[bool, typer.Option("--together", help="Begin when every device is listened to.")] = False,
    ft_http_port: Annotated[int, typer.Option(help="Of the sensor's page; below 1024 may need rights.")] = 80,
    duration: Duration = None,
    json: Json = False,
) -> None:
    """Serve a recording as its devices: robot (30004, 30003), force sensor, inertial unit; begins when one is heard."""
    from armwright.lab.replay_devices import Replay

    check_host(host)
    ports = {"ft http": ft_http_port}
    with Replay(file, host=host, loop=loop, together=together, ports=ports) as played:
        unit = played.imu.path if played.imu is not None else None
        if json:
            say_json({"ready": {"host": host, "ports": played.ports, "samples": played.samples, "imu": unit}})
        else:
            say(f"ready: {file} at {host}, {played.samples} samples")
            if unit is not None:
                say(f"inertial unit at {unit}")
        until_told(duration, lambda: played.clock.running)
    if played.clock.error is not None:
        raise played.clock.error


@app.command()
@guarded
def export(
    file: Annotated[Path, typer.Argument(help="Recording (MCAP) of armwright lab record.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; the file's name without .mcap.")] = None,
    kind: Annotated[str, typer.Option(help="csv or parquet.")] = "csv",
    json: Json = False,
) -> None:
    """Write one table a device."""
    from armwright.lab.lab_export import export as write

    files = write(file, out or file.with_suffix(""), kind)
    if json:
        say_json({"files": [str(f) for f in files]})
    else:
        for path in files:
            say(f"wrote {path}")


@app.command()
@guarded
def move(
    file: Annotated[Path, typer.Argument(help="A movej([…]) a line.")],
    robot: Annotated[str, typer.Option(help="Address of the controller.")] = "127.0.0.1",
    wait: Annotated[float, typer.Option(help="Seconds between commands.", min=0.1)] = 3.0,
    yes: Annotated[bool, typer.Option("--yes", help="The arm stands at the first position: do not ask.")] = False,
    json: Json = False,
) -> None:
    """Send a file of moves, one after the other; stop where one was skipped."""
    from armwright.lab.mover import move as send
    from armwright.lab.mover import read_commands, start_pose
    from armwright.lab.robot_link import connect

    commands = read_commands(file)
    if not yes:
        tell(f"first position of {file}: {start_pose(commands[0])}")
        if typer.prompt("Does the arm stand there? (yes/no)", err=True) != "yes":
            fail("move: nothing was sent")
    with connect(robot) as link:
        send(link, commands, wait=wait, told=lambda k, c: None if json else tell(f"{k} of {len(commands)}: {c.line}"))
    if json:
        say_json({"sent": len(commands)})
    else:
        say(f"{len(commands)} moves done")


def _follow_hand(stand: Any, gone: threading.Event) -> None:
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


def _joints(text: str | None) -> Any:
    import numpy as np

    return np.array(_numbers(text, "--start", (6,))) if text is not None else None


def _turned(arm: Robot, mount: str | None) -> Robot:
    import numpy as np

    from armwright.spatial.rotations import exp_so3

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
