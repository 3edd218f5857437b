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
from armwright.cli.option_words import (
    RANGE,
    Jobs,
    Json,
    Seed,
    numbers,
    out_option,
    robot_option,
    rotors_option,
    value_range,
)
from armwright.cli.output import INTERRUPTED, say, say_json, table
from armwright.errors import NotSupportedError
from armwright.files import write_file

if TYPE_CHECKING:
    from armwright.detection.detection_result import DetectionStudy

WORDS = ("sheet", "none")
FREE_RUNS, LEARNING_RUNS = 4, 2  # runs without contact and to learn from, for each with one
FREE_CHAINS, LEARNING_CHAINS = 1, 1  # the same where runs are chains of moves, ten times as long
LOADS = ("estimate", "none")


@dataclass(frozen=True)
class StudyOptions:
    """What is studied."""

    preset: Annotated[
        str, typer.Option(help="torque, torque-rough, ur5-cb3, ur5-e-series; 'list' says their sources.")
    ] = "torque"
    contact: Annotated[str, typer.Option(help="wall, soft (1 kN/m), ramp (20 N/s) or link.")] = "wall"
    links: Annotated[
        str | None, typer.Option(metavar="LIST", help="Links that are pushed in turn, from 0, or tool: 1,2,tool.")
    ] = None
    at: Annotated[str, typer.Option(help="speed (pushed while the tool is fast) or rest.")] = "speed"
    count: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="Runs with contact; as many without, or 4 times with --load none.",
            min=24,
            max=100_000,
        ),
    ] = 480
    false_alarms: Annotated[
        float, typer.Option(metavar="PER_HOUR", help="False alarms that thresholds are learned for.", min=1e-6)
    ] = 0.01
    load: Annotated[
        str,
        typer.Option(
            metavar="estimate|none",
            help="estimate: the detector that doubts its model is studied, too, on chains of moves; none: not.",
        ),
    ] = "estimate"
    seed: Seed = 0

    def settings(self) -> dict[str, Any]:
        """Return detectors and numbers of runs."""
        if self.load not in LOADS:
            fail(f"--load {self.load}: choose from {', '.join(LOADS)}")
        doubts = self.load == "estimate"
        free, learning = (FREE_CHAINS, LEARNING_CHAINS) if doubts else (FREE_RUNS, LEARNING_RUNS)
        names = ["absolute", "two-speed", *(["doubt"] if doubts else [])]
        return {"detectors": names, "free": free, "learning_runs": learning * self.count}


@dataclass(frozen=True)
class JointOptions:
    """Friction and rotors of the arm and of its model."""

    friction: Annotated[
        str | None,
        typer.Option(metavar="VISCOUS/COULOMB", help="One number or one per joint each; or sheet, none."),
    ] = None
    rotors: Annotated[str | None, rotors_option()] = None

    def settings(self) -> dict[str, Any]:
        """Return it as the study takes it."""
        rotors = self.rotors if self.rotors in (None, *WORDS) else numbers(str(self.rotors), "--rotors")
        friction: Any = self.friction
        if friction not in (None, *WORDS):
            parts = str(friction).split("/")
            if len(parts) != 2:
                fail(f"--friction {friction}: expected VISCOUS/COULOMB, such as 5/4 or 7,5,1/6,5,1; or sheet, none")
            friction = dict(zip(("viscous", "coulomb"), (numbers(p, "--friction") for p in parts), strict=True))
        return {"friction": friction, "rotors": rotors}


@dataclass(frozen=True)
class UnknownToModel:
    """How the arm differs from what the model believes."""

    plant: Annotated[
        str, typer.Option(help="plain (masses, friction), rough (centres, gears, motors, too), or preset.")
    ] = "preset"

    unknown_payload: Annotated[
        str | None, typer.Option(metavar=RANGE, help="Load that nobody told the model about [kg].")
    ] = None
    friction_drift: Annotated[str | None, typer.Option(metavar=RANGE, help="Factor that friction has drifted to.")] = (
        None
    )
    stribeck: Annotated[float, typer.Option(help="Share by which friction at rest exceeds Coulomb's.", min=0.0)] = 0.0
    payload_at: Annotated[
        str | None, typer.Option(metavar="X,Y,Z", help="Centre of the unknown load in the tool frame [m].")
    ] = None
    missing_coulomb: Annotated[
        str | None, typer.Option(metavar=RANGE, help="Coulomb friction that the model lacks [N m], strongest joint.")
    ] = None
    centres: Annotated[float | None, typer.Option(help="How far off centres of mass are [m].", min=0.0)] = None
    ripple: Annotated[float | None, typer.Option(help="Gear ripple of the strongest joint [N m].", min=0.0)] = None
    load_friction: Annotated[
        float | None, typer.Option(help="Dry friction per transmitted torque.", min=0.0, max=0.99)
    ] = None
    torque_constants: Annotated[
        float | None, typer.Option(help="Share by which torque constants are off.", min=0.0, max=0.99)
    ] = None

    def spread(self) -> dict[str, Any]:
        """Return it as the study takes it."""
        ranges = {
            "payload": (self.unknown_payload, "--unknown-payload"),
            "drift": (self.friction_drift, "--friction-drift"),
            "missing_coulomb": (self.missing_coulomb, "--missing-coulomb"),
        }
        out: dict[str, Any] = {"stribeck": self.stribeck}
        out |= {key: value_range(text, option) for key, (text, option) in ranges.items() if text}
        if self.payload_at is not None:
            out["payload_at"] = numbers(self.payload_at, "--payload-at")
        off = {"centre": self.centres, "ripple": self.ripple, "load_friction": self.load_friction}
        off["torque_constant"] = self.torque_constants
        return out | {key: value for key, value in off.items() if value is not None}


@guarded
@grouped
def detection(
    *,
    study: StudyOptions,
    robot: Annotated[str | None, robot_option("The preset's by default.")] = None,
    joints: JointOptions,
    ignorance: UnknownToModel,
    jobs: Jobs = None,
    out: Annotated[Path | None, out_option("FOLDER", "For rows, detection.json and .png.")] = None,
    reading: ArmReading,
    json: Json = False,
) -> None:
    """Learn thresholds on some moves, then meet contacts on others: delay, force at the alarm, false alarms."""
    from armwright.campaigns import CampaignPlan
    from armwright.campaigns.kinds.detection_kind import load_told, study_of
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
        "links": None if study.links is None else _links(study.links),
        "at": study.at,
        "plant": ignorance.plant,
        **joints.settings(),
        **study.settings(),
        "false_alarms": study.false_alarms,
        "spread": ignorance.spread(),
        "robot": robot,
        "load": reading.options(),
    }
    begun = experiment(settings, seed)  # what is wrong with it shows here, not in every process
    bench = begun.bench
    done, interrupted = campaign_rows(
        CampaignPlan("detection", count * (1 + settings["free"]), seed, settings), out, jobs
    )
    if done is None:
        fail("interrupted before anything was done", INTERRUPTED, kind="Interrupted")
    told = {**settings, "robot": bench.robot.name, "rate": bench.rate, "spread": bench.spread._asdict(), "seed": seed}
    found = study_of(done, told, outcome="interrupted" if interrupted else "end")
    result: dict[str, Any] = {"preset": preset, "contact": contact, "sources": dict(PRESETS[preset].sources)}
    result |= {"rests on": dict(begun.basis), "horizon": begun.horizon, **found.to_dict(1.0)}
    doubted = load_told(done)
    if doubted is not None:
        result["load"] = {"ready_s": begun.ready, **doubted}
    del result["seconds"]  # of computing: the same study has the same bytes
    files = _write(found, result, out) if out is not None else []
    if json:
        say_json(result)
    else:
        title = f"{preset}, {contact}, {bench.robot.name}: {found.contacts} contacts, {found.hours:.2f} h without"
        _table(found, title, begun.horizon)
        if doubted is not None:
            low, high = (100.0 * doubted["held"][end] for end in ("low", "high"))
            say(
                f"load: told after {begun.ready:g} s, before which nothing counts, to {doubted['rms_kg']:.2f} kg rms "
                f"(± {1.96 * doubted['std_kg']:.2f} kg said; held in {100.0 * doubted['held']['value']:.0f} %, "
                f"{low:.0f}–{high:.0f} %, of {doubted['runs']} runs)"
            )
        for what, words in begun.basis.items():
            say(f"{what}: {words}")
        for file in files:
            say(f"wrote {file}")
    if interrupted:
        fail("interrupted: the figures above are of the runs until then", INTERRUPTED)


def _links(text: str) -> list[int | str]:
    words = [word.strip() for word in text.split(",")]
    return [int(word) if word.isdigit() else word for word in words]


def _table(found: DetectionStudy, title: str, horizon: float) -> None:
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
    heads = ["observer / detector", "delay [ms]", "95 % [ms]", "force at alarm [N]"]
    heads += [f"not within {horizon:g} s [%]", "false alarms"]
    table(title, heads, rows)


def _write(found: DetectionStudy, result: dict[str, Any], out: Path) -> list[Path]:
    from json import dumps

    files = [out / "detection.json"]
    write_file(files[0], dumps(result, indent=1, allow_nan=False))
    try:
        found.plot(out / "detection.png")
        files.append(out / "detection.png")
    except NotSupportedError as error:
        say(f"no picture: {error}")
    return files
