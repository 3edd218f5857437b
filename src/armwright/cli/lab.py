# SPDX-License-Identifier: Apache-2.0
"""``armwright lab``: record, replay, export, move, and 004's whole experiment from one file (``run``, ``example``).

The controller on the wire with an arm behind it is ``lab serve`` (lab_serve.py).
"""

from __future__ import annotations

import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.failures import fail, guarded
from armwright.cli.lab_functions import functions
from armwright.cli.lab_serve import FtHttpPort, UntilCtrlC, check_host, serve, until_told
from armwright.cli.option_groups import ArmReading, grouped
from armwright.cli.option_words import Host, Json, address, address_option, out_option, robot_option
from armwright.cli.output import INTERRUPTED, NEGATIVE, say, say_json, say_json_line, table, tell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from armwright.lab.experiment.experiment_procedure import ExperimentOutcome
    from armwright.lab.mover import Command
    from armwright.lab.sources import PacketSource


@guarded
def run(
    file: Annotated[str, typer.Argument(help="Experiment file (TOML), or `stand`, which comes with the package.")],
    out: Annotated[Path | None, out_option("FOLDER", "For recordings and results; the file's name by default.")] = None,
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
        if not _affirmed("Does the arm stand there, and is nobody near it?"):
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


def _affirmed(question: str) -> bool:
    """Ask on stderr, and return whether the answer is yes; where nobody can answer, say which option does."""
    tell(f"{question} (yes/no)")
    try:
        answer = sys.stdin.readline() if sys.stdin is not None else ""
    except (OSError, ValueError):  # closed, or not text
        answer = ""
    if not answer:
        fail("no answer came (is there a terminal?), and nothing was sent; --yes answers the question beforehand")
    return answer.strip() == "yes"


def _print(done: ExperimentOutcome) -> None:
    from armwright.lab.experiment.chapter_report import motion_rows, torque_rows
    from armwright.lab.experiment.experiment_report import HEADS, OUR_LIMITS, WORDS, sentence
    from armwright.lab.experiment.model_torques import gains_verdict

    found = done.evaluated
    joints = [joint.name for joint in found.robot.joints]
    for one in found.models:
        table(f"{one.run}: torques of models against the controller's", ["mean error [N m]", *joints], torque_rows(one))
        say(f"{one.run}: gains of the controller: {gains_verdict(one.gains)}")
    for motion in found.motions:
        table(f"{motion.run}: inertial unit against joints", ["mean error", "x", "y", "z"], motion_rows(motion))
    rows = [[c.section, c.what, c.limit, c.origin, c.found, WORDS[c.passed]] for c in found.criteria]
    table(OUR_LIMITS, list(HEADS), rows, left=6)
    say(sentence(found.criteria))
    say(f"wrote {done.report} after {done.seconds:.0f} s")


def _kept(folder: Path) -> str:
    files = sorted(file.name for file in folder.glob("*.mcap"))
    return f"recorded so far, in {folder}: {', '.join(files)}" if files else "nothing was recorded"


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """A termination ends the experiment as Ctrl-C does: arm stopped, files closed, stand ended."""

    def interrupt(number: int, frame: FrameType | None) -> None:
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
    from armwright.files import write_file
    from armwright.lab.experiment.experiment_file import FILES

    names = sorted(file.name for file in FILES.iterdir() if file.suffix in (".toml", ".txt"))
    held = [name for name in names if (folder / name).exists()]
    if held:
        fail(f"{folder}: has {', '.join(held)} already; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        write_file(folder / name, (FILES / name).read_bytes())
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
app.command()(serve)
app.command()(functions)


@dataclass(frozen=True)
class DeviceOptions:
    """Whom to listen to."""

    controller: Annotated[str | None, address_option("--address", "A controller, real or virtual.")] = None
    stream: Annotated[str, typer.Option(help="rtde (30004), realtime (30003) or both.")] = "rtde"
    ft: Annotated[str | None, address_option("--ft", "An ATI Net F/T.")] = None
    imu: Annotated[str | None, typer.Option(metavar="FILE", help="Serial port of an Xsens MTi.")] = None
    imu_rate: Annotated[float, typer.Option(metavar="PER_SECOND", help="Samples of the MTi.")] = 100.0

    def sources(self) -> list[PacketSource]:
        """Return one source of packets per device and stream, or end with what would be valid."""
        from armwright.lab.sources import FtSource, ImuSource, RealtimeSource, RtdeSource

        if self.stream not in ("rtde", "realtime", "both"):
            fail(f"--stream {self.stream}: must be rtde, realtime or both")
        out: list[PacketSource] = []
        if self.controller is not None:
            host, port = _host_and_port(self.controller, "--address")
            if port and self.stream == "both":
                fail(f"--address {self.controller}: one port cannot be that of both streams; leave it out")
            out += [RtdeSource(host, **port)] if self.stream != "realtime" else []
            out += [RealtimeSource(host, **port)] if self.stream != "rtde" else []
        if self.ft is not None:
            host, port = _host_and_port(self.ft, "--ft")
            out.append(FtSource(host, **port))
        out += [ImuSource(self.imu, rate=self.imu_rate)] if self.imu is not None else []
        if not out:
            fail("record: name a device: --address HOST, --ft HOST, --imu PORT")
        return out


def _host_and_port(text: str, option: str) -> tuple[str, dict[str, Any]]:
    """Return a host, and the port as a keyword where one is given."""
    host, port = address(text, option)
    return host, {} if port is None else {"port": port}


@app.command()
@guarded
@grouped
def record(
    devices: DeviceOptions,
    out: Annotated[Path | None, out_option("FILE.mcap", "The recording; by default run-DATE-TIME.mcap, here.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace --out when the new recording is whole.")] = False,
    duration: UntilCtrlC = None,
    json: Json = False,
) -> None:
    """Record packets exactly as they come, until Ctrl-C; devices that are missing are waited for."""
    from armwright.lab.net import LabError
    from armwright.lab.recorder import Recorder

    recorder = Recorder(out, devices.sources(), force=force)
    if not json:
        tell(f"recording to {recorder.path}")
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
        fail(f"{recorder.failed}; {recorder.kept()}")
    if not recorder.written:
        raise LabError(f"record: no packet came, and no file was written; {recorder.silent()}")
    found = {topic: {"received": t.received, "lost": t.lost} for topic, t in recorder.tallies.items()}
    if json:
        say_json({"file": str(recorder.path), "written": recorder.written, "devices": found})
    else:
        say(f"wrote {recorder.path}: {recorder.written} packets")
        for topic, tally in recorder.tallies.items():
            say(f"  {topic}: {tally.received} received, {tally.lost} lost, {tally.connections} connections")


Recover = Annotated[bool, typer.Option("--recover", help="Of a damaged file, take what precedes the damage.")]


@app.command()
@guarded
def replay(
    file: Annotated[Path, typer.Argument(help="Recording (MCAP) of armwright lab record.")],
    host: Host = "127.0.0.1",
    loop: Annotated[bool, typer.Option("--loop", help="Begin again at the end.")] = False,
    together: Annotated[bool, typer.Option("--together", help="Begin when every device is listened to.")] = False,
    ft_http_port: FtHttpPort = 80,
    recover: Recover = False,
    duration: UntilCtrlC = None,
    json: Json = False,
) -> None:
    """Serve a recording as its devices: robot (30004, 30003), force sensor, inertial unit; begins when one is heard."""
    from armwright.lab.replay_devices import Replay

    check_host(host)
    ports = {"ft http": ft_http_port}
    with Replay(file, host=host, loop=loop, together=together, ports=ports, recover=recover) as played:
        unit = played.imu.path if played.imu is not None else None
        if json:
            say_json_line({"ready": {"host": host, "ports": played.ports, "samples": played.samples, "imu": unit}})
        else:
            say(f"ready: {file} at {host}, {played.samples} samples")
            if unit is not None:
                say(f"inertial unit at {unit}")
        until_told(duration, lambda: played.clock.running)
    if played.clock.error is not None:
        raise played.clock.error


@dataclass(frozen=True)
class TableOptions:
    """What an exported table is, and how clocks are found for it."""

    kind: Annotated[str, typer.Option(help="csv, parquet or mat; of an aligned table also npz or mcap.")] = "csv"
    aligned: Annotated[
        bool, typer.Option("--aligned", help="One table of all devices, at the robot's samples, on its clock.")
    ] = False
    robot: Annotated[
        str | None, robot_option("With --aligned: clocks by motion and by a tool's weight, not by arrival.")
    ] = None
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="FILE",
            help="Model that `armwright identify --out` wrote; with --aligned: clocks by taps and pushes.",
        ),
    ] = None


@app.command()
@guarded
@grouped
def export(
    *,
    file: Annotated[Path, typer.Argument(help="Recording (MCAP) of armwright lab record.")],
    out: Annotated[Path | None, out_option("FOLDER", "The file's name without .mcap by default.")] = None,
    tables: TableOptions,
    reading: ArmReading,
    recover: Recover = False,
    json: Json = False,
) -> None:
    """Write one table a device, or one of all devices on one clock (--aligned)."""
    from armwright.lab.lab_export import export as write
    from armwright.lab.packets import read_packets

    if not tables.aligned and (tables.robot or tables.model):
        fail("export: --robot and --model find clocks for one table: add --aligned")
    folder = out or file.with_suffix("")
    if tables.aligned:
        _export_aligned(file, folder, tables, reading, recover, json)
        return
    recorded = read_packets(file, recover=recover)
    files = write(recorded, folder, tables.kind)
    if json:
        say_json({"files": [str(f) for f in files], "whole": recorded.whole, "notes": recorded.notes})
    else:
        for path in files:
            say(f"wrote {path}")


def _export_aligned(
    file: Path, folder: Path, tables: TableOptions, reading: ArmReading, recover: bool, json: bool
) -> None:
    from armwright.identify.model_file import load_model
    from armwright.lab.experiment.aligned_table import KINDS, aligned, write_aligned
    from armwright.lab.packets import read_packets

    if tables.kind not in KINDS:
        fail(f"--kind {tables.kind}: an aligned table is written as {', '.join(KINDS)}")
    if tables.robot and tables.model:
        fail("export: --model has its own arm; give --robot or --model")
    robot = None if tables.robot is None else reading.load(tables.robot)
    model = None if tables.model is None else load_model(tables.model)
    recorded = read_packets(file, recover=recover)
    table_of_all = aligned(recorded, robot=robot, model=model, name=str(file))
    path = write_aligned(table_of_all, folder, tables.kind)
    sensors = table_of_all.settings["sensors"]
    if json:
        facts = {"files": [str(path)], "whole": recorded.whole, "notes": recorded.notes}
        say_json({**facts, "rows": len(table_of_all), **table_of_all.settings})
        return
    say(f"wrote {path}: {len(table_of_all)} rows at the robot's samples, on its clock")
    for name, said in sensors.items():
        told = f"  {name}: {said['clock']}"
        if "rows" in said:
            told += f"; {said['rows']} rows, {said['rows_without']} without, {said['gaps']} gaps"
        if "largest_reach" in said:
            mean, largest = 1e3 * said["mean_reach"], 1e3 * said["largest_reach"]
            told += f"; nearest sample {mean:.1f} ms away, {largest:.1f} ms at most"
        say(told)


@app.command()
@guarded
def move(
    file: Annotated[Path, typer.Argument(help="A movej([…]) a line.")],
    controller: Annotated[str, address_option("--address", "The controller.")] = "127.0.0.1",
    wait: Annotated[float, typer.Option(metavar="SECONDS", help="Between commands.", min=0.1)] = 3.0,
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
        if not _affirmed("Does the arm stand there?"):
            fail("move: nothing was sent")
    host, port = _host_and_port(controller, "--address")
    with connect(host, **port) as link:
        send(link, commands, wait=wait, told=lambda k, c: None if json else tell(f"{k} of {len(commands)}: {c.line}"))
    if json:
        say_json({"sent": len(commands)})
    else:
        say(f"{len(commands)} moves done")
