# SPDX-License-Identifier: Apache-2.0
"""``armwright run detection``: how soon contacts are noticed, how many are missed, how often nothing was there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli.campaign import campaign_rows
from armwright.cli.failures import fail, guarded
from armwright.cli.option_groups import ArmReading, grouped
from armwright.cli.option_words import RANGE, Jobs, Json, Seed, out_option, robot_option, value_range
from armwright.cli.output import INTERRUPTED, say, say_json, table
from armwright.errors import NotSupportedError

if TYPE_CHECKING:
    from armwright.detection.detection_result import DetectionStudy

FREE_RUNS, LEARNING_RUNS = 4, 2  # runs without contact and to learn from, for each with one


@dataclass(frozen=True)
class StudyOptions:
    """What is studied."""

    preset: Annotated[str, typer.Option(help="torque, ur5-cb3, ur5-e-series; 'list' says their sources.")] = "torque"
    contact: Annotated[str, typer.Option(help="wall, soft (1 kN/m), ramp (20 N/s) or link.")] = "wall"
    count: Annotated[
        int, typer.Option(metavar="NUMBER", help="Runs with contact; 4 times as many without.", min=24, max=100_000)
    ] = 480
    false_alarms: Annotated[
        float, typer.Option(metavar="PER_HOUR", help="False alarms that thresholds are learned for.", min=1e-6)
    ] = 0.01
    seed: Seed = 0


@dataclass(frozen=True)
class UnknownToModel:
    """How the arm differs from what the model believes."""

    unknown_payload: Annotated[
        str | None, typer.Option(metavar=RANGE, help="Load that nobody told the model about [kg].")
    ] = None
    friction_drift: Annotated[str | None, typer.Option(metavar=RANGE, help="Factor that friction has drifted to.")] = (
        None
    )
    stribeck: Annotated[float, typer.Option(help="Share by which friction at rest exceeds Coulomb's.", min=0.0)] = 0.0

    def spread(self) -> dict[str, Any]:
        """Return it as the study takes it."""
        given = {"payload": self.unknown_payload, "drift": self.friction_drift}
        names = {"payload": "--unknown-payload", "drift": "--friction-drift"}
        ranges = {key: value_range(text, names[key]) for key, text in given.items() if text}
        return {"stribeck": self.stribeck, **ranges}


@guarded
@grouped
def detection(
    *,
    study: StudyOptions,
    robot: Annotated[str | None, robot_option("The preset's by default.")] = None,
    ignorance: UnknownToModel,
    jobs: Jobs = None,
    out: Annotated[Path | None, out_option("FOLDER", "For rows, detection.json and .png.")] = None,
    reading: ArmReading,
    json: Json = False,
) -> None:
    """Learn thresholds on some moves, then meet contacts on others: delay, force at the alarm, false alarms."""
    from armwright.campaigns import CampaignPlan
    from armwright.campaigns.kinds.detection_kind import study_of
    from armwright.detection.detection_presets import CONTACTS, PRESETS
    from armwright.detection.detection_settings import experiment

    preset, contact, count, seed = study.preset, study.contact, study.count, study.seed
    if preset == "list":
        for name, item in PRESETS.items():
            for what, source in item.sources.items():
                say(f"{name}: {what}: {source}")
        return
    if contact not in CONTACTS:
        fail(f"--contact {contact}: choose from {', '.join(CONTACTS)}")
    settings = {
        "preset": preset,
        "contact": contact,
        "free": FREE_RUNS,
        "learning_runs": LEARNING_RUNS * count,
        "false_alarms": study.false_alarms,
        "spread": ignorance.spread(),
        "robot": robot,
        "load": reading.options(),
    }
    bench = experiment(settings, seed).bench  # what is wrong with it shows here, not in every process
    done, interrupted = campaign_rows(CampaignPlan("detection", count * (1 + FREE_RUNS), seed, settings), out, jobs)
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
