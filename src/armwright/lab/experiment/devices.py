# SPDX-License-Identifier: Apache-2.0
"""The devices of an experiment: a virtual stand as a process of its own, or real ones by their addresses."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from armwright.lab.experiment.file import Experiment, Virtual
from armwright.lab.net import LabError
from armwright.lab.sources import FtSource, ImuSource, RealtimeSource, RtdeSource, Source
from armwright.lab.wire import netft, rtde

PATIENCE = 30.0  # [s] for a process to end


@dataclass
class Bench:
    """Where the devices are.

    Attributes:
        host: of the robot. rtde, script, realtime: its ports.
        ft: host, RDT port and HTTP port of the force sensor, None without. imu: terminal and rate, None without.
        truth: of virtual devices (`armwright.lab.truth`); None of real ones.
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

    def sources(self) -> list[Source]:
        """Everything that is recorded."""
        out: list[Source] = [
            RtdeSource(self.host, port=self.rtde),
            RealtimeSource(self.host, port=self.realtime),
        ]
        if self.ft is not None:
            out.append(FtSource(self.ft[0], port=self.ft[1], http_port=self.ft[2]))
        if self.imu is not None:
            out.append(ImuSource(self.imu[0], rate=self.imu[1]))
        return out

    def push(self, begin: float, seconds: float, force: tuple[float, ...]) -> None:
        """Tell the virtual hand, in the controller's time; there is none at real devices."""
        if self._hand is None:
            return
        try:
            self._hand.write(f"{begin!r} {seconds!r} {force[0]!r} {force[1]!r} {force[2]!r}\n")
            self._hand.flush()
        except OSError as error:
            raise LabError(f"the virtual stand is gone: {error.strerror}") from error


@contextlib.contextmanager
def bench(experiment: Experiment) -> Iterator[Bench]:
    """The devices, started if they are virtual, ended afterwards whatever happens."""
    if experiment.devices is not None:
        d = experiment.devices
        yield Bench(
            d.robot,
            ft=(d.ft, netft.RDT_PORT, netft.HTTP_PORT) if d.ft else None,
            imu=(d.imu, d.imu_rate) if d.imu else None,
        )
        return
    assert experiment.virtual is not None
    command = [sys.executable, "-m", "armwright.cli", "lab", "serve", *_options(experiment, experiment.virtual)]
    # a session of its own: Ctrl-C at the terminal is ours; the stand ends when we say so, or with its input
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
    out += [f"--current-noise={virtual.current_noise!r}", f"--ft={virtual.ft!r}", f"--imu={virtual.imu!r}"]
    out += [f"--offset={virtual.offset!r}", f"--drift={virtual.drift!r}", f"--ft-bias={joined(virtual.ft_bias)}"]
    out += [f"--payload={joined(virtual.payload)}"] if virtual.payload[0] else []
    return out + (["--segment"] if virtual.segment else [])


def _ready(process: subprocess.Popen[str], virtual: Virtual) -> Bench:
    assert process.stdout is not None
    assert process.stderr is not None
    text = ""
    while not text.endswith("\n}\n"):
        line = process.stdout.readline()
        if not line:
            process.wait(PATIENCE)
            raise LabError(f"the virtual stand did not start: {process.stderr.read().strip()[-500:]}")
        text += line
    said = json.loads(text)["ready"]
    host, ports = said["host"], said["ports"]
    return Bench(
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
        process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
