# SPDX-License-Identifier: Apache-2.0
"""Experiment files: TOML in, `Experiment` out.

The format by example, with the defaults as comments where there are some::

    title = "The stand of 004"
    robot = "ur5"                       # catalogue name, sheet or URDF; paths count from this file

    [devices]
    kind = "virtual"                    # or "real"; then
    robot = "192.168.0.10"              #   its address, and if they are there
    ft = "192.168.0.11"                 #   the address of an ATI Net F/T,
    imu = "/dev/ttyUSB0"                #   the serial port of an Xsens MTi
    imu_rate = 100.0                    #   and its samples per second

    [virtual]                           # only for virtual devices
    seed = 0                            # of all noise
    pace = 6.0                          # seconds of the devices in one of ours
    current_noise = 0.15                # [A] a sample
    payload = [0.0, 0.0, 0.0, 0.0]      # the tool beyond the sensor: kg, centre at the flange [m]
    ft = 250.0                          # samples per second; 0 for no sensor
    ft_bias = [0, 0, 0, 0, 0, 0]        # [N, N m]
    imu = 100.0                         # samples per second; 0 for no unit
    offset = 0.0                        # of the sensors' clocks [s]
    drift = 0.0                         # of the sensors' clocks
    segment = false                     # cut the stream of port 30003 as 004 saw it

    [runs.free]                         # runs are made in the order of the file
    moves = "path.txt"                  # a movej([…], a=…, v=…) a line; the arm stands at the first
    wait = 3.2                          # seconds between commands
    contact = false                     # whether anybody pushes; the model is identified from runs without
    [runs.pushed]
    moves = "path.txt"
    wait = 3.2
    contact = true
    pushes = [[3.4, 2.0, 30, 0, 0]]     # a virtual hand: begin [s after the first command], seconds, force [N];
                                        # if a command is late, so are the pushes that were to come in its time

    [feel]
    threshold = 10.0                    # [N] of the detector on F_z
    least_push = 20.0                   # [N] pushes along z from which none may be missed
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from armwright.errors import DescriptionError
from armwright.lab.hand import MOST_FORCE, MOST_SECONDS
from armwright.lab.mover import Command, read_commands
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.schema.checks import checked, number_at, numbers_at, one_of_at, read_table, rows, sub_table, yes_or_no
from armwright.schema.toml_text import Table

FILES = Path(__file__).parent / "files"
"""Experiments that come with the package."""
MOST_RUNS = 100
REAL, VIRTUAL = "real", "virtual"


@dataclass(frozen=True)
class Devices:
    """Addresses of real devices; empty where there is none."""

    robot: str
    ft: str = ""
    imu: str = ""
    imu_rate: float = 100.0


@dataclass(frozen=True)
class Virtual:
    """How the virtual stand is made; see the module text."""

    seed: int
    pace: float
    current_noise: float
    payload: tuple[float, ...]
    ft: float
    ft_bias: tuple[float, ...]
    imu: float
    offset: float
    drift: float
    segment: bool


@dataclass(frozen=True)
class ExperimentRun:
    """One recording: commands, seconds between them, and whether somebody pushes.

    Attributes:
        pushes: of a virtual hand: begin after the first command, seconds, fx, fy, fz, base axes.
    """

    name: str
    moves: Path
    commands: tuple[Command, ...]
    wait: float
    contact: bool
    pushes: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, eq=False)
class Experiment:
    """An experiment file, read and checked."""

    path: Path
    title: str
    robot_name: str
    robot: Robot
    devices: Devices | None
    virtual: Virtual | None
    runs: tuple[ExperimentRun, ...]
    threshold: float
    least_push: float


def find_experiment(name: str | Path) -> Path:
    """The file of this name, or one that comes with the package.

    Raises:
        DescriptionError: neither.
    """
    path = Path(name)
    if path.exists():
        return path
    shipped = {file.stem: file for file in sorted(FILES.glob("*.toml"))}
    if str(name) in shipped:
        return shipped[str(name)]
    raise DescriptionError(
        f"no such file; experiments that come with the package: {', '.join(shipped)}", where=str(name), rule="file"
    )


def read_experiment(name: str | Path) -> Experiment:
    """Read an experiment file, or one that comes with the package by its name.

    Raises:
        DescriptionError: with file, line and key.
    """
    path = find_experiment(name)
    top = read_table(path)
    top.only("title", "robot", "devices", "virtual", "runs", "feel")
    said = top.text_of("robot", "ur5")
    robot = checked(top, "robot", lambda: load(_beside(path, said)))
    if robot.n != 6:
        raise top.refuse(f"must be a six-axis arm, {said!r} has {robot.n} joints", "robot", "robot")
    devices = sub_table(top, "devices")
    kind = one_of_at(devices, "kind", VIRTUAL, (VIRTUAL, REAL))
    if kind == REAL and top.table("virtual") is not None:
        raise top.refuse('is only for [devices] kind = "virtual"', "virtual", "virtual")
    feel = sub_table(top, "feel")
    feel.only("threshold", "least_push")
    return Experiment(
        path,
        top.text_of("title", path.stem),
        str(_beside(path, said)),
        robot,
        _real(devices) if kind == REAL else None,
        _virtual(devices, sub_table(top, "virtual")) if kind == VIRTUAL else None,
        _runs(top, path, kind),
        number_at(feel, "threshold", 10.0, 0.1, 1000.0),
        number_at(feel, "least_push", 20.0, 0.1, 1000.0),
    )


def _beside(path: Path, name: str) -> str:
    """A file beside the experiment, or the name as it is."""
    near = path.parent / name
    return str(near) if near.is_file() else name


def _real(table: Table) -> Devices:
    table.only("kind", "robot", "ft", "imu", "imu_rate")
    return Devices(
        table.text_of("robot"),
        table.text_of("ft", ""),
        table.text_of("imu", ""),
        number_at(table, "imu_rate", 100.0, 1.0, 512.0),
    )


def _virtual(devices: Table, table: Table) -> Virtual:
    devices.only("kind")
    table.only(
        *("seed", "pace", "current_noise", "payload", "ft", "ft_bias", "imu", "offset", "drift", "segment"),
    )
    seed = table.entries.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**31:
        raise table.refuse(f"must be a whole number from 0 to {2**31 - 1}, got {seed!r:.60}", "range", "seed")
    return Virtual(
        seed,
        number_at(table, "pace", 6.0, 0.1, 50.0),
        number_at(table, "current_noise", 0.15, 0.0, 10.0),
        numbers_at(table, "payload", [0.0] * 4, 4, 10.0),
        _rate(table, "ft", 250.0),
        numbers_at(table, "ft_bias", [0.0] * 6, 6, 1000.0),
        _rate(table, "imu", 100.0),
        number_at(table, "offset", 0.0, 0.0, 1e6),
        number_at(table, "drift", 0.0, -5e-3, 5e-3),
        yes_or_no(table, "segment", False),
    )


def _rate(table: Table, key: str, default: float) -> float:
    value = number_at(table, key, default, 0.0, 500.0)
    if value and abs(500.0 / value - round(500.0 / value)) > 1e-9:
        raise table.refuse(f"must divide 500 (500, 250, 125, 100, 50, …) or be 0, got {value:g}", "rate", key)
    return value


def _runs(top: Table, path: Path, kind: str) -> tuple[ExperimentRun, ...]:
    table = sub_table(top, "runs")
    if not 1 <= len(table.entries) <= MOST_RUNS:
        raise top.refuse(f"1 to {MOST_RUNS} tables [runs.NAME] needed", "required key", "runs")
    out = []
    for name in table.entries:
        one = table.table(name)
        assert one is not None
        if not name.replace("-", "").replace("_", "").isalnum():
            raise table.refuse("a run's name has letters, digits, - and _", "name", name)
        one.only("moves", "wait", "contact", "pushes")
        moves = path.parent / one.text_of("moves")
        pushes = rows(one, "pushes", 5, max(MOST_FORCE, 1e4))
        if kind == REAL and pushes:
            raise one.refuse("nobody but a virtual hand pushes by plan: use contact = true", "pushes", "pushes")
        for which, (begin, seconds, *force) in enumerate(pushes, start=1):
            if begin < 0.0 or not 0.0 < seconds <= MOST_SECONDS or max(map(abs, force)) > MOST_FORCE:
                raise one.refuse(
                    f"entry {which}: a push begins at ≥ 0 s, lasts up to {MOST_SECONDS:g} s, forces ±{MOST_FORCE:g} N",
                    "push",
                    "pushes",
                )
        contact = yes_or_no(one, "contact", bool(pushes))
        if pushes and not contact:
            raise one.refuse("a run with pushes is one with contact", "contact", "contact")
        commands = tuple(checked(one, "moves", partial(read_commands, moves)))
        wait = number_at(one, "wait", 3.2, 0.1, 60.0)
        late = next((k for k, p in enumerate(pushes, start=1) if p[0] >= wait * len(commands)), None)
        if late is not None:
            raise one.refuse(
                f"entry {late}: begins after the run of {len(commands)} commands, {wait * len(commands):g} s",
                "push",
                "pushes",
            )
        out.append(ExperimentRun(name, moves, commands, wait, contact, pushes))
    if all(run.contact for run in out):
        raise table.refuse("at least one run without contact is needed, to identify the arm", "runs")
    return tuple(out)
