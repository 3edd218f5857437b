# SPDX-License-Identifier: Apache-2.0
"""``armwright identify``, ``feel``, ``excite``: logs to a model, a model and a log to contacts, an arm to a motion."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.cli import option_words
from armwright.cli.failures import fail
from armwright.cli.identify_kit import follow_friction, updated_arm, write_kit
from armwright.cli.identify_wire import WireIdentifying
from armwright.cli.log_options import LogReading, read_told
from armwright.cli.option_groups import arm_command, grouped
from armwright.cli.option_words import (
    Implausible,
    Json,
    Open,
    Seed,
    duration_option,
    load_options,
    out_option,
    payload_option,
    report_option,
    world_option,
)
from armwright.cli.output import say, say_json, show_page, table, tell
from armwright.cli.wire_options import WireListening
from armwright.files import write_file

if TYPE_CHECKING:
    from armwright.cli.option_groups import NamedArm
    from armwright.identify.current_log import Log
    from armwright.identify.drive_gains import Gains
    from armwright.identify.feeling import FeltLog
    from armwright.identify.felt_contacts import FoundContact
    from armwright.identify.friction_over_time import FrictionOverTime
    from armwright.identify.identified import Identified, Load, PayloadEstimate
    from armwright.identify.validation import Held
    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True)
class ModelFiles:
    """What ``identify`` writes."""

    out: Annotated[Path | None, out_option("FILE.json", "The model, for `armwright feel`.")] = None
    sheet: Annotated[Path | None, typer.Option(metavar="FILE.toml", help="The arm as a sheet.")] = None
    report: Annotated[Path | None, report_option("FILE.html", "The whole report; FILE.md as text alone.")] = None
    corrected: Annotated[
        Path | None,
        typer.Option(metavar="FILE.urdf|FILE.xml", help="ROBOT's own URDF or MJCF with what was identified."),
    ] = None
    update: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Follow this model's friction to new logs: --update FILE.json LOG…"),
    ] = None
    implausible: Implausible = "refuse"

    @property
    def needs_logs(self) -> bool:
        """Return whether a file is wanted that is made of logs."""
        paged = self.report is not None and self.report.suffix.lower() in (".html", ".htm")
        return paged or self.corrected is not None or self.update is not None


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
    validate: Annotated[bool, typer.Option("--validate", help="Leave one log out after another and judge on it.")] = (
        False
    )
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


@arm_command(instead=updated_arm)
def identify(
    *,
    arm: Robot,
    logs: Annotated[list[Path] | None, typer.Argument(metavar="LOG", help="CSV, Parquet, MCAP or NPZ files.")] = None,
    asked: FitOptions,
    wanted: ModelFiles,
    there: WireIdentifying,
    reading: LogReading,
    named: NamedArm,
    json: Json = False,
) -> None:
    """Identify an arm: bodies, friction, gains, payloads from logs. With --wire a UR moves: not a safety function."""
    if there.wire is not None:
        _on_the_wire(arm, logs, asked, wanted, there, reading.given or wanted.needs_logs, json=json)
        return
    there.refuse("identify LOG")
    if wanted.update is not None:
        if asked != FitOptions():
            fail("identify --update: --gains, --load, --position, --adapt, --validate go with a fit")
        follow_friction(wanted.update, logs or [], wanted.out, wanted.sheet, reading, json=json)
        return
    if not logs:
        fail("identify: name a LOG, or an arm with --wire HOST")
    from armwright.identify.external_torque import learn_bands, with_bands
    from armwright.identify.fit_report import held_rows, summary
    from armwright.identify.model_fit import fit
    from armwright.identify.validation import validate as leave_out

    read = [read_told(path, reading, arm) for path in logs]
    carried = _loads(read, logs, asked.load or [])
    how = _gains(asked.gains, read)
    model = fit(read, arm, gains=how, payloads=carried)
    if asked.position:
        from armwright.identify.position_selection import fit_position_friction

        model = fit_position_friction(model, read, payloads=_on_tool(model, read, carried))
    model = with_bands(model, learn_bands(model, read, payloads=_on_tool(model, read, carried)))
    held: tuple[Held, ...] = leave_out(read, arm, gains=how, payloads=carried) if asked.validate else ()
    _write_model(model, wanted, held)
    write_kit(model, read, wanted.report, wanted.corrected, named.word, _on_tool(model, read, carried), held)
    followed = _followed(model, read, [read_told(path, reading, arm) for path in asked.adapt or []])
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


def _write_model(model: Identified, wanted: ModelFiles, held: tuple[Held, ...] = ()) -> None:
    """Write the files that are wanted of a model."""
    from armwright.identify.fit_report import markdown
    from armwright.identify.model_file import save_model

    if wanted.out is not None:
        save_model(model, wanted.out, **load_options(wanted.implausible, None, None))
    if wanted.sheet is not None:
        write_file(wanted.sheet, model.robot.to_sheet())
    if wanted.report is not None and wanted.report.suffix.lower() not in (".html", ".htm"):
        write_file(wanted.report, markdown(model, held))


def _on_the_wire(
    arm: Robot,
    logs: list[Path] | None,
    asked: FitOptions,
    wanted: ModelFiles,
    there: WireIdentifying,
    judged: bool,
    *,
    json: bool,
) -> None:
    """Identify an arm that is moved, instead of logs."""
    from armwright.cli.identify_wire import identify_there
    from armwright.identify.fit_report import summary

    if logs or judged or asked != FitOptions():
        fail(
            "identify --wire: LOG, --columns, --gains, --load, --position, --adapt, --validate, --update, "
            "--corrected and a page (.html) go with logs"
        )
    found = identify_there(arm, there, wanted.out)
    if found is None:
        return
    model, how = found
    _write_model(model, wanted)
    if json:
        say_json(summary(model) | {"outcome": how.outcome, "rides": how.rides, "rehearsals": how.rehearsals})
        return
    _print_model(model)
    if wanted.out is not None:
        say(f"wrote {wanted.out}: `armwright feel --wire`, `studio --wire`, `run collision --wire` ask for it")


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
    from armwright.identify.fit_report import joint_head, joint_rows, told_condition
    from armwright.identify.position_friction import position_rows

    table(f"{model.robot.name}, two deviations", joint_head(model), joint_rows(model))
    for p in model.payloads:
        say(f" {p.mass.cell} kg at {', '.join(e.cell for e in p.com)} m of the tool's link", lead=f"{p.log}:")
    if model.position is not None and model.position.terms:
        names = [joint.name for joint in model.robot.joints]
        head = ["joint", "kind", "cycles a turn", "amplitude N m", "gain on logs left out, %"]
        table("friction against position", head, position_rows(model.position, names), left=2)
    say(
        f"{len(model.base)} base parameters, condition {told_condition(model)}; --report lists them; that bodies "
        f"exist and friction dissipates costs {model.misfit:.1%} of the residual's sum of squares"
    )
    if model.undetermined:
        say(", ".join(model.undetermined), lead="undetermined: ")
    for text in model.remarks:
        tell(f"armwright: {text}")


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


def _gains(word: str, logs: list[Log]) -> Gains:
    """Return the gains that the words ask for; logs of torques have gains of 1."""
    from armwright.identify.drive_gains import Free, FromTargets, Known

    kinds = {log.kind for log in logs}
    if word == "targets" and "effort" in kinds:
        name = next(log.name for log in logs if log.kind == "effort")
        fail(
            f"{name}: its efforts may be torques, as of a Panda or TIAGo, or motor currents, as of a UR: "
            "say --effort torque or --effort current"
        )
    if word == "targets" and "torque" in kinds:
        if kinds != {"torque"}:
            fail("some logs hold currents, others torques: fit them apart, or say --gains K1,K2,…")
        return Known([1.0] * logs[0].n)
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
    log: Annotated[Path | None, typer.Argument(metavar="[LOG]", help="CSV, Parquet, MCAP or NPZ file.")] = None,
    model: Annotated[
        Path, typer.Option("--model", metavar="FILE", help="Model that `armwright identify --out` wrote.")
    ],
    live: WireListening,
    payload: Annotated[
        str | None,
        payload_option(
            "What the tool carries; weighed in this log (log), or in the FILE of another one.", "log", "FILE"
        ),
    ] = None,
    wanted: FeltFiles,
    implausible: Implausible = "refuse",
    reading: LogReading,
    json: Json = False,
) -> None:
    """Feel the contacts in a log, or on a robot: when (from the first stamp on), which link, which force.

    With --wire a UR is listened to over RTDE until Ctrl-C. Not a safety function: nothing is sent, nothing stopped.
    """
    from armwright.identify.feeling import feel as feel_log
    from armwright.identify.felt_contacts import link_told
    from armwright.identify.model_file import load_model

    plot, report, browse = wanted.plot, wanted.report, wanted.browse
    if live.wire is not None:
        from armwright.cli.feel_wire import feel_wire

        if log is not None or plot is not None or report is not None or browse or reading.given:
            fail("feel --wire: a robot is no log; LOG, --columns, --plot, --report, --open go with a recording")
        feel_wire(load_model(model, **load_options(implausible, None, None)), live, payload, json=json)
        return
    if log is None:
        fail("feel: name a LOG, or a robot with --wire HOST")
    live.refuse("feel LOG")
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        fail(f"--report {report}: expected a name that ends in .html")
    known = load_model(model, **load_options(implausible, None, None))
    read = read_told(log, reading, known.robot)
    carried = None if payload is None else carried_payload(known, read, payload, reading)
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
        [f"{c.start - start:.2f}", f"{c.end - start:.2f}", c.joint, link_told(c), c.level, _force(c)]
        for c in felt.contacts
    ]
    title = f"{log.name}: {len(felt.contacts)} contacts in {60.0 * felt.minutes:.1f} s"
    table(title, ["from s", "to s", "joint", "link", "level", "force N"], rows, left=4)
    if carried is None and (longest := max((c.end - c.start for c in felt.contacts), default=0.0)) > LONGEST_TOUCH:
        tell(f"armwright: {longest:.0f} s of contact look like a load that the model lacks: --payload log weighs it")
    if report is not None or browse:
        show_page(report, opened=browse)


def carried_payload(model: Identified, log: Log, word: str, reading: LogReading) -> Array:
    """Parameters (10,) of the payload that the option names."""
    from armwright.identify.external_torque import point_mass
    from armwright.identify.payloads import payload

    try:
        float(word.partition("@")[0])
    except ValueError:
        found = payload(model, log if word == "log" else read_told(Path(word), reading, model.robot))
        tell(f"armwright: payload of {found.mass.cell} kg, weighed in {found.log}")
        return found.parameters
    return point_mass(model, *option_words.payload(word))


LONGEST_TOUCH = 10.0
"""[s] A longer contact is rather a load."""


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
