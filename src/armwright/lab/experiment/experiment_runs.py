# SPDX-License-Identifier: Apache-2.0
"""The runs of an experiment and the devices they use: a virtual stand as a process of its own, or real ones.

`bench` starts or addresses the devices. `make_run` records one run: the recorder listens, the mover moves, the hand
pushes; the file says whether the run is complete.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from armwright.errors import InputError
from armwright.files import results_looked_at
from armwright.lab.experiment.experiment_file import Experiment, ExperimentRun, Virtual
from armwright.lab.mover import ARRIVED_ERROR, Command, move, start_pose
from armwright.lab.net import LabError
from armwright.lab.packets import read_facts
from armwright.lab.recorder import Recorder
from armwright.lab.robot_link import RobotLink, connect
from armwright.lab.sources import FtSource, ImuSource, PacketSource, RealtimeSource, RtdeSource
from armwright.lab.wire import netft, rtde

DEVICE_PATIENCE = 30.0  # [s] for a process to end


@dataclass
class LabBench:
    """Addresses of the devices.

    Attributes:
        host: of the robot. rtde, script, realtime: its ports.
        ft: host, RDT port and HTTP port of the force sensor, None without. imu: terminal and rate, None without.
        truth: of virtual devices (`armwright.lab.stand`); None of real ones.
        stale: age from which samples are refused [s].
    """

    host: str
    rtde: int = rtde.PORT
    script: int = 30002
    realtime: int = 30003
    ft: tuple[str, int, int] | None = None
    imu: tuple[str, float] | None = None
    truth: dict[str, Any] | None = None
    stale: float = 0.5
    _hand: IO[str] | None = field(default=None, repr=False)

    def sources(self) -> list[PacketSource]:
        """Return everything that is recorded."""
        out: list[PacketSource] = [
            RtdeSource(self.host, port=self.rtde),
            RealtimeSource(self.host, port=self.realtime),
        ]
        if self.ft is not None:
            out.append(FtSource(self.ft[0], port=self.ft[1], http_port=self.ft[2]))
        if self.imu is not None:
            out.append(ImuSource(self.imu[0], rate=self.imu[1]))
        return out

    def push(self, begin: float, seconds: float, force: tuple[float, ...]) -> None:
        """Tell the virtual hand to push, in the controller's time; real devices have none."""
        if self._hand is None:
            return
        try:
            self._hand.write(f"{begin!r} {seconds!r} {force[0]!r} {force[1]!r} {force[2]!r}\n")
            self._hand.flush()
        except OSError as error:
            raise LabError(f"the virtual stand is gone: {error.strerror}") from error


@contextlib.contextmanager
def bench(experiment: Experiment) -> Iterator[LabBench]:
    """Yield the devices, started if they are virtual, ended afterwards whatever happens."""
    if experiment.devices is not None:
        d = experiment.devices
        yield LabBench(
            d.robot,
            ft=(d.ft, netft.RDT_PORT, netft.HTTP_PORT) if d.ft else None,
            imu=(d.imu, d.imu_rate) if d.imu else None,
        )
        return
    assert experiment.virtual is not None
    command = [sys.executable, "-m", "armwright.cli", "lab", "serve", *_options(experiment, experiment.virtual)]
    # a session of its own: Ctrl-C at the terminal reaches only us; the stand ends on command, or with its input
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        yield _ready(process, experiment.virtual)
    finally:
        _end(process)


def _options(experiment: Experiment, virtual: Virtual) -> list[str]:
    def joined(values: tuple[float, ...]) -> str:
        return ",".join(repr(x) for x in values)

    out = ["--json", "--hand", "--free-ports", "--robot", experiment.robot_name]
    out += [
        f"--start={joined(experiment.runs[0].commands[0].goal)}",
        f"--seed={virtual.seed}",
        f"--pace={virtual.pace!r}",
    ]
    out += [f"--current-noise={virtual.current_noise!r}", f"--ft-rate={virtual.ft!r}", f"--imu-rate={virtual.imu!r}"]
    out += [f"--clock-offset={virtual.offset!r}", f"--clock-drift={virtual.drift!r}"]
    out += [f"--ft-bias={joined(virtual.ft_bias)}", f"--ft-sensor={virtual.ft_sensor}"]
    mass, *place = virtual.payload
    out += [f"--payload={mass!r}@{joined(tuple(place))}"] if mass else []
    return out + (["--segment"] if virtual.segment else [])


def _ready(process: subprocess.Popen[str], virtual: Virtual) -> LabBench:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    if not line.startswith('{"ready"'):
        process.wait(DEVICE_PATIENCE)
        raise LabError(f"the virtual stand did not start: {process.stderr.read().strip()[-500:]}")
    said = json.loads(line)["ready"]
    host, ports = said["host"], said["ports"]
    return LabBench(
        host,
        ports["rtde"],
        ports["secondary"],
        ports["realtime"],
        (host, said["ft"]["rdt"], said["ft"]["http"]) if "ft" in said else None,
        (said["imu"], virtual.imu) if "imu" in said else None,
        said["truth"],
        stale=5.0,  # on a busy machine a virtual robot may pause
        _hand=process.stdin,
    )


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=DEVICE_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


Tell = Callable[[str], None]
FINISHED = "finished"
"""The fact in a recording that its run came to its end."""
FIRST_PACKET_PATIENCE = 10.0  # [s] for a device that must be there
LINE_EVERY = 2.0  # [s]
SILENT = 1.0  # [s] after which a device is said to be silent
APPROACH = "movej({goal}, a=1.2, v=1.0)"


@dataclass(frozen=True)
class Made:
    """A recording: run, file, whether it is whole, devices that were silent or missing."""

    run: ExperimentRun
    file: Path
    finished: bool
    missing: tuple[str, ...]


@contextlib.contextmanager
def remade() -> Iterator[None]:
    """Say of a recording that cannot be read how its run is recorded again; nothing is thrown away unasked."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{error}; move it away, and --resume records that run again") from error


def is_finished(file: Path, run: ExperimentRun) -> bool:
    """Return whether a recording of this run, to its end, is there; an `InputError` if it is damaged."""
    with remade(), results_looked_at():  # a recording that is not finished is made again, under the same name
        facts = read_facts(file)
    return bool(facts.get(FINISHED)) and facts.get("commands") == [command.line for command in run.commands]


def make_run(bench: LabBench, run: ExperimentRun, file: Path, tell: Tell, ready: Callable[[Command], None]) -> Made:
    """Record one run.

    Args:
        bench: the devices.
        run: what is done.
        file: of the recording.
        tell: takes lines of progress.
        ready: called when the arm must stand at the first position; returns when it does, or raises.

    Raises:
        LabError: the robot cannot be reached, is not where it must be, skips a command, or is gone. What was recorded
            until then is in the file.
    """
    facts: dict[str, object] = {"run": run.name, "commands": [c.line for c in run.commands], FINISHED: False}
    facts |= {"truth": bench.truth} if bench.truth is not None else {}
    with contextlib.ExitStack() as stack:
        link = stack.enter_context(connect(bench.host, port=bench.rtde, stale=bench.stale))
        _wait_for_sample(link)
        if bench.truth is not None:
            _approach(bench, link, run.commands[0])
        ready(run.commands[0])
        _check_start(link, run)
        # an older recording, of a run that was not finished, stays until this one is
        recorder = stack.enter_context(Recorder(file, bench.sources(), facts, force=True))
        progress = _Progress(recorder, run, tell)
        _wait_for_devices(recorder, tell)

        def plan(number: int, now: float) -> None:
            """Plan the hand's push for when this command's turn comes, however late that is."""
            for begin, seconds, *force in run.pushes:
                if int(begin // run.wait) == number - 1:
                    bench.push(now + begin - (number - 1) * run.wait, seconds, tuple(force))

        try:
            move(link, list(run.commands), wait=run.wait, port=bench.script, told=progress.command, sent=plan)
        except BaseException:
            _stop(bench)
            raise
        facts[FINISHED] = not recorder.failed
    if recorder.failed:  # perhaps at its very end
        raise LabError(f"{recorder.failed}; {recorder.kept()}")
    missing = tuple(topic for topic, tally in recorder.tallies.items() if not tally.received)
    tell(f"{run.name}: {recorder.written} packets in {file.name}; " + _losses(recorder))
    return Made(run, file, True, missing)


class _Progress:
    """Tells a line after every command, with what the devices do."""

    def __init__(self, recorder: Recorder, run: ExperimentRun, tell: Tell) -> None:
        self._recorder, self._run, self._tell = recorder, run, tell
        self._begun, self._last = time.monotonic(), 0.0

    def command(self, number: int, command: Command) -> None:
        if self._recorder.failed:
            raise LabError(f"{self._recorder.failed}; {self._recorder.kept()}")
        now = time.monotonic()
        silent = [
            f"{topic} has been silent for {now - tally.age:.1f} s" + (f" ({tally.error})" if tally.error else "")
            for topic, tally in self._recorder.tallies.items()
            if tally.received and now - tally.age > SILENT
        ]
        for text in silent:
            self._tell(f"{self._run.name}: {text}")
        last = number == len(self._run.commands)
        if now - self._last > LINE_EVERY or last:
            self._last = now
            line = self._recorder.line(self._begun)
            self._tell(f"{self._run.name}: command {number} of {len(self._run.commands)} | {line}")


def _losses(recorder: Recorder) -> str:
    return ", ".join(f"{topic} {t.received} received, {t.lost} lost" for topic, t in recorder.tallies.items())


def _wait_for_sample(link: RobotLink) -> None:
    deadline = time.monotonic() + FIRST_PACKET_PATIENCE
    while True:
        try:
            link.latest()
            return
        except LabError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _wait_for_devices(recorder: Recorder, tell: Tell) -> None:
    """Wait until all are heard; a missing sensor is reported and done without, a missing robot is not."""
    deadline = time.monotonic() + FIRST_PACKET_PATIENCE
    while (
        any(not t.received for t in recorder.tallies.values()) and time.monotonic() < deadline and not recorder.failed
    ):
        time.sleep(0.02)
    for topic, tally in recorder.tallies.items():
        if tally.received:
            continue
        if topic.startswith("/robot"):
            raise LabError(f"{topic}: nothing has come within {FIRST_PACKET_PATIENCE:g} s: {tally.error or 'silence'}")
        tell(
            f"{topic}: nothing has come within {FIRST_PACKET_PATIENCE:g} s ({tally.error or 'silence'}); "
            "going on without it"
        )


def _approach(bench: LabBench, link: RobotLink, first: Command) -> None:
    """Bring a virtual arm to the beginning: nothing stands in its way."""
    sample = link.latest()
    if _off(link, first) <= ARRIVED_ERROR:
        return
    with socket.create_connection((bench.host, bench.script), timeout=5.0) as sock:
        sock.sendall(APPROACH.format(goal=list(first.goal)).encode() + b"\n")
        deadline = sample.device_time + 60.0
        while sample.device_time < deadline:
            sample = link.next(sample)
            if _off(link, first) <= ARRIVED_ERROR and np.abs(sample.values["actual_qd"]).max() < 1e-3:
                return
    raise LabError(f"the virtual arm did not reach its first position: {start_pose(first)}")


def _check_start(link: RobotLink, run: ExperimentRun) -> None:
    off = _off(link, run.commands[0])
    if off > ARRIVED_ERROR:
        raise LabError(
            f"{run.name}: the arm is {np.rad2deg(off):.1f}° from the first position of {run.moves.name} "
            f"({start_pose(run.commands[0])}); bring it there by hand or by the pendant. Nothing was sent"
        )


def _off(link: RobotLink, command: Command) -> float:
    return float(np.abs(np.array(link.latest().values["actual_q"]) - command.goal).max())


def _stop(bench: LabBench) -> None:
    """Stop the arm, whatever went wrong."""
    with contextlib.suppress(OSError), socket.create_connection((bench.host, bench.script), timeout=1.0) as sock:
        sock.sendall(b"stopj(2.0)\n")
