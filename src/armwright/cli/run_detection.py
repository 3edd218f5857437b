# SPDX-License-Identifier: Apache-2.0
"""``armwright run detection``: how soon contacts are noticed, how many are missed, how often nothing was there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.arms import WHICH, Base, Implausible, Tip, load_arm
from armwright.cli.failures import fail, guarded
from armwright.cli.output import INTERRUPTED, Json, say, say_json, table
from armwright.errors import NotSupportedError

if TYPE_CHECKING:
    from armwright.simulation.detection.result import DetectionStudy

EVERY = 20.0  # [s] between lines where there is no terminal
FREE, LEARNED, MOVES = 4, 2, 24  # runs without contact and to learn from, for each with one; moves of either kind


@guarded
def detection(
    preset: Annotated[str, typer.Option(help="torque, ur5-cb3, ur5-e-series; 'list' says their sources.")] = "torque",
    contact: Annotated[str, typer.Option(help="wall, soft (1 kN/m), ramp (20 N/s) or link.")] = "wall",
    count: Annotated[int, typer.Option(help="Runs with contact; 4 times as many without.", min=24, max=100_000)] = 480,
    payload: Annotated[str | None, typer.Option(help="Load nobody told the model about [kg]: least,largest.")] = None,
    drift: Annotated[str | None, typer.Option(help="Factor that friction has drifted to: least,largest.")] = None,
    stribeck: Annotated[float, typer.Option(help="Share by which friction at rest exceeds Coulomb's.", min=0.0)] = 0.0,
    rate: Annotated[float, typer.Option(help="False alarms an hour that thresholds are learned for.", min=1e-6)] = 0.01,
    seed: Annotated[int, typer.Option(help="Of everything random.", min=0)] = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for detection.json and .png.")] = None,
    robot: Annotated[str | None, typer.Option(help=f"{WHICH} The preset's by default.")] = None,
    implausible: Implausible = "refuse",
    base: Base = None,
    tip: Tip = None,
    json: Json = False,
) -> None:
    """Learn thresholds on some moves, then meet contacts on others: delay, force at the alarm, false alarms."""
    from armwright.simulation.detection.presets import CONTACTS, PRESETS
    from armwright.simulation.detection.presets import preset as find
    from armwright.campaigns.study import detection_study
from armwright.simulation.detection.moves import study_law, tool_moves

    if preset == "list":
        for name, item in PRESETS.items():
            for what, source in item.sources.items():
                say(f"{name}: {what}: {source}")
        return
    if contact not in CONTACTS:
        fail(f"--contact {contact}: choose from {', '.join(CONTACTS)}")
    if out is not None and out.exists() and not out.is_dir():
        fail(f"{out}: not a folder")
    chosen, (kind, horizon, travel) = find(preset), CONTACTS[contact]
    given = (("payload", payload), ("drift", drift))
    ranges: dict[str, Any] = {name: _range(text, f"--{name}") for name, text in given if text}
    spread = chosen.spread._replace(stribeck=stribeck, **ranges)
    arm = load_arm(robot or chosen.robot, implausible, base, tip)
    if len(chosen.torque_noise) != arm.n:
        fail(f"--preset {preset} has sensors for {len(chosen.torque_noise)} joints, robot {arm.name!r} has {arm.n}")
    with _progress() as tell:
        found = detection_study(
            arm,
            study_law(chosen.omega**2, 2.0 * chosen.omega),
            tool_moves(arm, MOVES, seed=seed, travel=travel),
            chosen.observers(),
            chosen.detectors(),
            contact=kind,
            runs=count,
            free_runs=FREE * count,
            learning_runs=LEARNED * count,
            learning_trajectories=tool_moves(arm, MOVES, seed=seed + 1_000_003, travel=travel),
            spread=spread,
            sensors=chosen.sensors,
            torque_noise=chosen.torque_noise,
            rate=chosen.rate,
            substeps=chosen.substeps,
            horizon=horizon,
            false_alarms=rate,
            scales=[1.0],
            seed=seed,
            progress=tell,
        )
    result = {"preset": preset, "contact": contact, "sources": dict(chosen.sources), **found.to_dict(1.0)}
    files = _write(found, result, out) if out is not None else []
    if json:
        say_json(result)
    else:
        _table(found, f"{preset}, {contact}: {found.contacts} contacts, {found.hours:.2f} h without")
        for file in files:
            say(f"wrote {file}")
    if found.outcome == "interrupted":
        fail("interrupted: the figures above are of the runs until then", INTERRUPTED)


def _range(text: str, option: str) -> tuple[float, float]:
    try:
        low, high = (float(word) for word in text.split(","))
    except ValueError:
        fail(f"{option} {text}: expected two numbers, least,largest, such as 1,3")
    return low, high


def _table(found: DetectionStudy, title: str) -> None:
    rows = []
    for curve in found.curves:
        p = curve.point(0)
        rows.append(
            [
                f"{curve.observer} / {curve.detector}",
                f"{1e3 * p.delay.value:.1f}",
                f"{1e3 * p.slow:.1f}",
                f"{p.force.value:.1f}",
                f"{100 * p.missed.value:.1f}",
                p.said(),
            ]
        )
    heads = ["observer / detector", "delay [ms]", "95 % [ms]", "force at alarm [N]", "missed [%]", "false alarms"]
    table(title, heads, rows)


@contextmanager
def _progress() -> Iterator[Callable[[float], None]]:
    """Show how far the study is: a bar on a terminal's stderr, else a line now and then."""
    from rich.console import Console

    console, began, last = Console(stderr=True), time.monotonic(), time.monotonic()
    if console.is_terminal:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("meeting contacts", total=1.0)
            yield lambda fraction: bar.update(task, completed=fraction)
        return

    def line(fraction: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY:
            last = now
            typer.echo(f"{now - began:.0f} s: {100 * fraction:.0f} %", err=True)

    yield line


def _write(found: DetectionStudy, result: dict[str, Any], out: Path) -> list[Path]:
    from json import dumps

    out.mkdir(parents=True, exist_ok=True)
    files = [out / "detection.json"]
    files[0].write_text(dumps(result, indent=1, allow_nan=False), encoding="utf-8")
    try:
        found.plot(out / "detection.png")
        files.append(out / "detection.png")
    except NotSupportedError as error:
        say(f"no picture: {error}")
    return files
