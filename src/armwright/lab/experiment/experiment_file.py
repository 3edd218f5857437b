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
    ft_sensor = "axia"                  # or a Gamma: gamma-si-32-2.5, gamma-si-65-5, gamma-si-130-10
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

    [models]                            # arms whose torques are compared with the controller's, by a name of yours
    A = "ur5-kufieta-a"                 # catalogue name, sheet or URDF; none by default

    [feel]
    threshold = 10.0                    # [N] of the detector on F_z
    least_push = 20.0                   # [N] pushes along z from which none may be missed
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from armwright.choices import FORCE_SENSORS
from armwright.errors import DescriptionError, InputError
from armwright.lab.hand import MOST_FORCE, MOST_SECONDS
from armwright.lab.mover import Command, read_commands
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.schema.checks import (
    Check,
    Refuse,
    by_kind,
    flag,
    listed,
    made,
    named,
    number,
    numbers,
    one_of,
    record,
    text,
    whole,
)
from armwright.schema.toml_text import Table, read_table

FILES = Path(__file__).parent / "files"
"""Experiments that come with the package."""
MOST_RUNS = 100
MOST_MODELS = 8
MOST_PUSH = max(MOST_FORCE, 1e4)
"""Of any number of a push: its begin and length [s], its force [N]."""
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

    seed: int = 0
    pace: float = 6.0
    current_noise: float = 0.15
    payload: tuple[float, ...] = (0.0,) * 4
    ft: float = 250.0
    ft_sensor: str = "axia"
    ft_bias: tuple[float, ...] = (0.0,) * 6
    imu: float = 100.0
    offset: float = 0.0
    drift: float = 0.0
    segment: bool = False


@dataclass(frozen=True)
class ExperimentRun:
    """One recording: commands, seconds between them, and whether somebody pushes.

    Attributes:
        pushes: of a virtual hand: begin after the first command, seconds, fx, fy, fz, base axes.
    """

    name: str
    moves: Path
    commands: tuple[Command, ...]
    wait: float = 3.2
    contact: bool = False
    pushes: tuple[tuple[float, ...], ...] = ()


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
    models: tuple[tuple[str, Robot], ...] = ()
    threshold: float = 10.0
    least_push: float = 20.0


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
    asked = top.entries.get("devices")
    if isinstance(asked, Table) and asked.entries.get("kind") == REAL and "virtual" in top.entries:
        raise top.refuse('is only for [devices] kind = "virtual"', "virtual", "virtual")
    said = experiment_keys(path.parent)(top, top.refuse)
    devices: Devices | None = said.get("devices")
    runs = tuple(replace(run, name=name) for name, run in said.get("runs", {}).items())
    if not 1 <= len(runs) <= MOST_RUNS:
        raise top.refuse(f"1 to {MOST_RUNS} tables [runs.NAME] needed", "required key", "runs")
    for run in runs:
        if not run.name.replace("-", "").replace("_", "").isalnum():
            raise top.refuse("a run's name has letters, digits, - and _", "name", f"runs.{run.name}")
        if devices and run.pushes:
            why = "nobody but a virtual hand pushes by plan: use contact = true"
            raise top.refuse(why, "pushes", f"runs.{run.name}.pushes")
    if all(run.contact for run in runs):
        raise top.refuse("at least one run without contact is needed, to identify the arm", "runs", "runs")
    robot_name, robot = said["robot"] if "robot" in said else ("ur5", load("ur5"))
    virtual = None if devices else said.get("virtual", Virtual())
    title = said.get("title", path.stem)
    models = tuple((name, arm) for name, (_, arm) in said.get("models", {}).items())
    if len(models) > MOST_MODELS:
        raise top.refuse(f"at most {MOST_MODELS} models are compared", "models", "models")
    return Experiment(path, title, robot_name, robot, devices, virtual, runs, models, **said.get("feel", {}))


def experiment_keys(folder: Path) -> Check[dict[str, Any]]:
    """Return the check of an experiment file; the files that it names count from `folder`."""

    def arm(name: str) -> tuple[str, Robot]:
        place = str(folder / name) if (folder / name).is_file() else name
        robot = load(place)
        if robot.n != 6:
            raise InputError(f"must be a six-axis arm, {name!r} has {robot.n} joints")
        return place, robot

    def commands(name: str) -> tuple[Path, tuple[Command, ...]]:
        return folder / name, tuple(read_commands(folder / name))

    addresses = {"kind": text(), "ft": text(), "imu": text(), "imu_rate": number(1.0, 512.0)}
    devices: dict[str, tuple[Check[dict[str, Any]], Callable[..., Devices | None]]] = {
        VIRTUAL: (record({}, {"kind": text()}), lambda: None),
        REAL: (record({"robot": text()}, addresses), Devices),
    }
    run = record(
        {"moves": made(text(), commands, "moves")},
        {"wait": number(0.1, 60.0), "contact": flag, "pushes": listed(numbers(-MOST_PUSH, MOST_PUSH, count=5))},
    )
    feel = record({}, {"threshold": number(0.1, 1000.0), "least_push": number(0.1, 1000.0)})
    return record(
        {},
        {
            "title": text(),
            "robot": made(text(), arm, "robot"),
            "devices": by_kind(devices, VIRTUAL),
            "virtual": made(STAND, lambda found: Virtual(**found), "virtual"),
            "models": named(made(text(), arm, "model")),
            "runs": named(lambda value, refuse: _run(run(value, refuse), refuse)),
            "feel": feel,
        },
    )


def _rate(value: float) -> float:
    if value and abs(500.0 / value - round(500.0 / value)) > 1e-9:
        raise InputError(f"must divide 500 (500, 250, 125, 100, 50, …) or be 0, got {value:g}")
    return value


RATE = made(number(0.0, 500.0), _rate, "rate")
STAND = record(
    {},
    {
        "seed": whole(0, 2**31 - 1),
        "pace": number(0.1, 50.0),
        "current_noise": number(0.0, 10.0),
        "payload": numbers(-10.0, 10.0, count=4),
        "ft": RATE,
        "ft_sensor": one_of(FORCE_SENSORS),
        "ft_bias": numbers(-1000.0, 1000.0, count=6),
        "imu": RATE,
        "offset": number(0.0, 1e6),
        "drift": number(-5e-3, 5e-3),
        "segment": flag,
    },
)


def _run(said: dict[str, Any], refuse: Refuse) -> ExperimentRun:
    """Return a run without its name, once its pushes fit it."""
    (moves, commands), pushes = said.pop("moves"), said.get("pushes", ())
    run = ExperimentRun("", moves, commands, **{"contact": bool(pushes)} | said)
    for k, (begin, seconds, *force) in enumerate(pushes, start=1):
        if begin < 0.0 or not 0.0 < seconds <= MOST_SECONDS or max(map(abs, force)) > MOST_FORCE:
            fits = f"a push begins at ≥ 0 s, lasts up to {MOST_SECONDS:g} s, forces ±{MOST_FORCE:g} N"
            raise refuse(f"entry {k}: {fits}", "push", "pushes")
        if begin >= (lasts := run.wait * len(commands)):
            raise refuse(f"entry {k}: begins after the run of {len(commands)} commands, {lasts:g} s", "push", "pushes")
    if pushes and not run.contact:
        raise refuse("a run with pushes is one with contact", "contact", "contact")
    return run
