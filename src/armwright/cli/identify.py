# SPDX-License-Identifier: Apache-2.0
"""``armwright identify``, ``feel``, ``excite``: logs to a model, a model and a log to contacts, an arm to a motion."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli import option_words
from armwright.cli.failures import fail
from armwright.cli.option_groups import arm_command, grouped
from armwright.cli.option_words import (
    Json,
    Open,
    Seed,
    duration_option,
    out_option,
    payload_option,
    report_option,
    world_option,
)
from armwright.cli.output import say, say_json, show_page, table, tell
from armwright.files import write_file

if TYPE_CHECKING:
    from armwright.identify.current_log import Log
    from armwright.identify.drive_gains import Gains
    from armwright.identify.feeling import FeltLog
    from armwright.identify.felt_contacts import FoundContact
    from armwright.identify.friction_over_time import FrictionOverTime
    from armwright.identify.identified import Identified, Load, PayloadEstimate
    from armwright.identify.validation import Held
    from armwright.robot.model import Robot
    from armwright.types import Array

Layout = Annotated[
    str | None, typer.Option("--columns", metavar="LAYOUT", help="Built-in layout of the CSV files, such as ur10e.")
]


@dataclass(frozen=True)
class ModelFiles:
    """What ``identify`` writes."""

    out: Annotated[Path | None, out_option("FILE.json", "The model, for `armwright feel`.")] = None
    sheet: Annotated[Path | None, typer.Option(metavar="FILE.toml", help="The arm as a sheet.")] = None
    report: Annotated[Path | None, report_option("FILE.md", "The whole report as Markdown.")] = None


@dataclass(frozen=True)
class FitOptions:
    """What is fitted: gains, payloads, friction beyond the five terms of the fit."""

    gains: Annotated[
        str, typer.Option(metavar="targets|free|K1,K2,…", help="Drive gains: the controller's, estimated, or given.")
    ] = "targets"
    load: Annotated[
        list[str] | None,
        typer.Option(metavar="LOG[=KG]", help="This log carries a payload, of this mass if it is known. Repeatable."),
    ] = None
    position: Annotated[
        bool, typer.Option("--position", help="Friction against the joint angles, as far as logs left out support it.")
    ] = False
    adapt: Annotated[
        list[Path] | None,
        typer.Option(metavar="LOG", help="Follow the friction of this log over time, without contact. Repeatable."),
    ] = None


@dataclass(frozen=True)
class FeltFiles:
    """What ``feel`` writes."""

    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="The timeline with its bands.")] = None
    report: Annotated[Path | None, report_option("FILE.html", "A page to be played.")] = None
    browse: Open = False


@dataclass(frozen=True)
class SearchOptions:
    """How the motion of ``excite`` is looked for."""

    harmonics: Annotated[int, typer.Option(min=2, max=40, help="Of its period.")] = 5
    starts: Annotated[int, typer.Option(min=1, help="Random starting motions.")] = 2
    iterations: Annotated[int, typer.Option(min=1, help="Of the optimiser, each start.")] = 60
    seed: Seed = 0


@arm_command()
def identify(
    *,
    arm: Robot,
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="CSV, Parquet, MCAP or NPZ files.")],
    asked: FitOptions,
    wanted: ModelFiles,
    validate: Annotated[
        bool, typer.Option("--validate", help="Leave one log out after another and judge on it.")
    ] = False,
    columns: Layout = None,
    json: Json = False,
) -> None:
    """Identify an arm from logs of its joints and motor currents: base parameters, friction, gains, payloads."""
    from armwright.identify.external_torque import learn_bands, with_bands
    from armwright.identify.fit_report import held_rows, markdown, summary
    from armwright.identify.model_file import save_model
    from armwright.identify.model_fit import fit
    from armwright.identify.validation import validate as leave_out

    read = [read_told(path, columns) for path in logs]
    carried = _loads(read, logs, asked.load or [])
    how = _gains(asked.gains)
    model = fit(read, arm, gains=how, payloads=carried)
    if asked.position:
        from armwright.identify.position_selection import fit_position_friction

        model = fit_position_friction(model, read, payloads=_on_tool(model, read, carried))
    model = with_bands(model, learn_bands(model, read, payloads=_on_tool(model, read, carried)))
    held: tuple[Held, ...] = leave_out(read, arm, gains=how, payloads=carried) if validate else ()
    if wanted.out is not None:
        save_model(model, wanted.out)
    if wanted.sheet is not None:
        write_file(wanted.sheet, model.robot.to_sheet())
    if wanted.report is not None:
        write_file(wanted.report, markdown(model, held))
    followed = _followed(model, read, [read_told(path, columns) for path in asked.adapt or []])
    if json:
        left = [{"log": h.log, "error": h.error, "controller": h.controller, "floor": h.floor} for h in held]
        say_json(summary(model) | {"left_out": left, "adapted": [seen.as_plain() for seen in followed]})
        return
    _print_model(model)
    for seen in followed:
        head = ["joint", "Coulomb N m, fit", "at the end", "viscous, fit", "at the end", "residual N m, fit", "adapted"]
        table(f"{seen.log}: friction followed", head, seen.rows([joint.name for joint in arm.joints]))
    if held:
        names = [joint.name for joint in arm.joints]
        table("left out, error in % of the current", ["log", "", *names], held_rows(held), left=2)


def _followed(model: Identified, training: list[Log], logs: list[Log]) -> list[FrictionOverTime]:
    """Follow the friction of logs; the training logs without load tell what the model leaves."""
    from armwright.identify.friction_over_time import friction_over_time, friction_unspanned

    if not logs:
        return []
    loaded = {p.log for p in model.payloads}
    free = [log for log in training if log.name not in loaded]
    if not free:
        fail("--adapt: every log carries a load; one without is needed to tell what the model leaves")
    unspanned = friction_unspanned(model, free)
    return [friction_over_time(model, log, unspanned=unspanned) for log in logs]


def _print_model(model: Identified) -> None:
    from armwright.identify.fit_report import joint_rows
    from armwright.identify.gear_friction import TERMS
    from armwright.identify.position_friction import position_rows

    table(f"{model.robot.name}, two deviations", ["joint", "gain N m/A", *TERMS, "residual A"], joint_rows(model))
    for p in model.payloads:
        say(f" {p.mass.cell} kg at {', '.join(e.cell for e in p.com)} m of the tool's link", lead=f"{p.log}:")
    if model.position is not None and model.position.terms:
        names = [joint.name for joint in model.robot.joints]
        head = ["joint", "kind", "cycles a turn", "amplitude N m", "gain on logs left out, %"]
        table("friction against position", head, position_rows(model.position, names), left=2)
    say(f"{len(model.base)} base parameters, condition {model.condition:.0f}; --report lists them")
    if model.undetermined:
        say(", ".join(model.undetermined), lead="undetermined: ")
    for text in model.remarks:
        tell(f"armwright: {text}")


def read_told(path: Path, columns: str | None) -> Log:
    """Read a log and tell what was dropped."""
    from armwright.identify.log_reader import read_log

    log = read_log(path, columns)
    for dropped in log.dropped:
        tell(f"armwright: {path}: dropped {dropped}")
    return log


def _on_tool(
    model: Identified, logs: list[Log], carried: list[Load | None] | None
) -> list[PayloadEstimate | None] | None:
    """What the fit weighed, log by log; None leaves it to the logs' names."""
    if carried is None:
        return None
    weighed = iter(model.payloads)
    return [next(weighed) if load is not None else None for load in carried]


def _loads(logs: list[Log], paths: list[Path], words: list[str]) -> list[Load | None] | None:
    from armwright.identify.identified import Load

    if not words:
        return None
    out: list[Load | None] = [None] * len(logs)
    for word in words:
        name, _, mass = word.partition("=")
        matches = [k for k, path in enumerate(paths) if name in (str(path), path.name, path.stem)]
        if not matches:
            fail(f"--load {name}: no such log; there are {', '.join(path.name for path in paths)}")
        try:
            kilograms = float(mass) if mass else None
        except ValueError:
            fail(f"--load {word}: the mass must be a number [kg]")
        out[matches[0]] = Load(kilograms)
    return out


def _gains(word: str) -> Gains:
    from armwright.identify.drive_gains import Free, FromTargets, Known

    if word == "targets":
        return FromTargets()
    if word == "free":
        return Free()
    try:
        return Known([float(part) for part in word.split(",")])
    except ValueError:
        fail(f"--gains {word}: expected targets, free, or one number per joint, separated by commas")


@grouped
def feel(
    *,
    log: Annotated[Path, typer.Argument(metavar="LOG", help="CSV, Parquet, MCAP or NPZ file.")],
    model: Annotated[
        Path, typer.Option("--model", metavar="FILE", help="Model that `armwright identify --out` wrote.")
    ],
    payload: Annotated[
        str | None,
        payload_option(
            "What the tool carries; weighed in this log (log), or in the FILE of another one.", "log", "FILE"
        ),
    ] = None,
    wanted: FeltFiles,
    columns: Layout = None,
    json: Json = False,
) -> None:
    """Feel the contacts in a log: when (from its first stamp on), which link, which force."""
    from armwright.identify.feeling import feel as feel_log
    from armwright.identify.model_file import load_model

    plot, report, browse = wanted.plot, wanted.report, wanted.browse
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        fail(f"{report}: expected a name that ends in .html")
    known, read = load_model(model), read_told(log, columns)
    carried = None if payload is None else carried_payload(known, read, payload, columns)
    felt = feel_log(known, read, payload=carried)
    if plot is not None:
        from armwright.identify.fit_report import timeline

        timeline(felt, known, plot)
    if report is not None:
        from armwright.identify.felt_report import felt_report

        felt_report(felt, known, report, title=f"{known.robot.name}: contacts in {log.name}")
    if json:
        weight = None if carried is None else carried[0]
        say_json({"payload_kg": weight} | _felt(felt))
        show_page(report, opened=browse, quiet=True)
        return
    start = felt.ticks.t[0]
    rows = [
        [f"{c.start - start:.2f}", f"{c.end - start:.2f}", c.joint, c.link or "–", c.level, _force(c)]
        for c in felt.contacts
    ]
    title = f"{log.name}: {len(felt.contacts)} contacts in {60.0 * felt.minutes:.1f} s"
    table(title, ["from s", "to s", "joint", "link", "level", "force N"], rows, left=4)
    if report is not None or browse:
        show_page(report, opened=browse)


def carried_payload(model: Identified, log: Log, word: str, columns: str | None) -> Array:
    """Parameters (10,) of the payload that the option names."""
    from armwright.identify.external_torque import point_mass
    from armwright.identify.payloads import payload

    try:
        float(word.partition("@")[0])
    except ValueError:
        found = payload(model, log if word == "log" else read_told(Path(word), columns))
        tell(f"armwright: payload of {found.mass.cell} kg, weighed in {found.log}")
        return found.parameters
    return point_mass(model, *option_words.payload(word))


def _force(contact: FoundContact) -> str:
    if contact.wrench is not None and contact.wrench.valid:
        return " ".join(f"{x:.0f}" for x in contact.wrench.wrench[:3])
    return "near a singularity" if contact.wrench is not None else "not at the tool"


def _felt(felt: FeltLog) -> dict[str, Any]:
    out = []
    begin = felt.ticks.t[0]
    for c in felt.contacts:
        entry: dict[str, Any] = {
            "start": c.start - begin,
            "end": c.end - begin,
            "peak": c.peak - begin,
            "joint": c.joint,
            "tau_ext": c.tau_ext,
            "level": c.level,
            "link": c.link,
            "links": [{"link": name, "probability": p} for name, p in c.links],
            "force": c.force,
            "said": c.said,
            "wrench": None,
        }
        if c.wrench is not None:
            w = c.wrench
            entry["wrench"] = {"valid": w.valid, "values": w.wrench if w.valid else None, "condition": w.condition}
            entry["wrench"] |= {"deviation": w.covariance.diagonal() ** 0.5 if w.valid else None, "lost": w.lost}
        out.append(entry)
    return {"first_stamp": begin, "seconds": 60.0 * felt.minutes, "contacts": out}


@arm_command()
def excite(
    *,
    arm: Robot,
    duration: Annotated[float, duration_option("Period of the motion.", least=1.0)] = 25.0,
    search: SearchOptions,
    world: Annotated[str | None, world_option("Shapes to keep clear of.")] = None,
    out: Annotated[Path | None, out_option("FILE.csv", "t, q, qd, qdd at 100 Hz, with a line of names.")] = None,
    json: Json = False,
) -> None:
    """Propose a motion that identifies an arm well, within its limits and clear of itself and given shapes."""
    import numpy as np

    from armwright.identify.excitation import excite as propose
    from armwright.world import load_world

    around = load_world(world) if world is not None else None
    found = propose(
        arm,
        seconds=duration,
        harmonics=search.harmonics,
        world=around,
        starts=search.starts,
        iterations=search.iterations,
        seed=search.seed,
    )
    if out is not None:
        t = np.arange(round(100.0 * duration) + 1) / 100.0
        names = ["t", *(f"{part}_{j}" for part in ("q", "qd", "qdd") for j in range(arm.n))]
        rows = np.concatenate([t[:, None], *found.reference(t)], axis=1)
        write_file(out, "\n".join([",".join(names), *(",".join(map(repr, row)) for row in rows.tolist())]) + "\n")
    low, high, speed, push = found.peaks()
    if json:
        peaks = {"lower": low, "upper": high, "velocity": speed, "acceleration": push}
        series = {"period": found.period, "centre": found.centre, "sine": found.sine, "cosine": found.cosine}
        say_json(series | {"peaks": peaks, "condition": found.condition, "clearance": found.clearance})
        return
    rows_ = [[joint.name, *values] for joint, *values in zip(arm.joints, low, high, speed, push, strict=True)]
    table(
        f"{arm.name}: {duration:g} s, {search.harmonics} harmonics",
        ["joint", "from", "to", "speed", "acceleration"],
        rows_,
    )
    say(f"condition {found.condition:.0f}, at least {1e3 * found.clearance:.0f} mm clear")
