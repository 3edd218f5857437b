# SPDX-License-Identifier: Apache-2.0
"""``armwright run detection``: how soon contacts are noticed, how many are missed, how often nothing was there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.campaign import campaign_rows
from armwright.cli.failures import fail, guarded
from armwright.cli.option_words import WHICH, Base, Implausible, Tip, load_options
from armwright.cli.output import INTERRUPTED, Json, say, say_json, table
from armwright.errors import NotSupportedError

if TYPE_CHECKING:
    from armwright.detection.detection_result import DetectionStudy

FREE, LEARNED = 4, 2  # runs without contact and to learn from, for each with one


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
    jobs: Annotated[int | None, typer.Option(help="Processes; one a processor by default.", min=1, max=256)] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for rows, detection.json and .png.")] = None,
    robot: Annotated[str | None, typer.Option(help=f"{WHICH} The preset's by default.")] = None,
    implausible: Implausible = "refuse",
    base: Base = None,
    tip: Tip = None,
    json: Json = False,
) -> None:
    """Learn thresholds on some moves, then meet contacts on others: delay, force at the alarm, false alarms."""
    from armwright.campaigns import CampaignPlan
    from armwright.campaigns.kinds.detection_kind import study_of
    from armwright.detection.detection_presets import CONTACTS, PRESETS
    from armwright.detection.detection_settings import experiment

    if preset == "list":
        for name, item in PRESETS.items():
            for what, source in item.sources.items():
                say(f"{name}: {what}: {source}")
        return
    if contact not in CONTACTS:
        fail(f"--contact {contact}: choose from {', '.join(CONTACTS)}")
    given = (("payload", payload), ("drift", drift))
    ranges: dict[str, Any] = {name: _range(text, f"--{name}") for name, text in given if text}
    settings = {
        "preset": preset,
        "contact": contact,
        "free": FREE,
        "learning_runs": LEARNED * count,
        "false_alarms": rate,
        "spread": {"stribeck": stribeck, **ranges},
        "robot": robot,
        "load": load_options(implausible, base, tip),
    }
    bench = experiment(settings, seed).bench  # what is wrong with it shows here, not in every process
    done, interrupted = campaign_rows(CampaignPlan("detection", count * (1 + FREE), seed, settings), out, jobs)
    if done is None:
        fail("interrupted before anything was done", INTERRUPTED, kind="Interrupted")
    told = {**settings, "robot": bench.robot.name, "rate": bench.rate, "spread": bench.spread._asdict(), "seed": seed}
    found = study_of(done, told, outcome="interrupted" if interrupted else "end")
    result = {"preset": preset, "contact": contact, "sources": dict(PRESETS[preset].sources), **found.to_dict(1.0)}
    del result["seconds"]  # of computing: the same study has the same bytes
    files = _write(found, result, out) if out is not None else []
    if json:
        say_json(result)
    else:
        _table(found, f"{preset}, {contact}: {found.contacts} contacts, {found.hours:.2f} h without")
        for file in files:
            say(f"wrote {file}")
    if interrupted:
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
                f"{1e3 * p.slow.value:.1f}",
                f"{p.force.value:.1f}",
                f"{100 * p.missed.value:.1f}",
                p.said(),
            ]
        )
    heads = ["observer / detector", "delay [ms]", "95 % [ms]", "force at alarm [N]", "missed [%]", "false alarms"]
    table(title, heads, rows)


def _write(found: DetectionStudy, result: dict[str, Any], out: Path) -> list[Path]:
    from json import dumps

    files = [out / "detection.json"]
    files[0].write_text(dumps(result, indent=1, allow_nan=False), encoding="utf-8")
    try:
        found.plot(out / "detection.png")
        files.append(out / "detection.png")
    except NotSupportedError as error:
        say(f"no picture: {error}")
    return files
