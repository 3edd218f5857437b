# SPDX-License-Identifier: Apache-2.0
"""``armwright simulate``: an arm, a law, a reference; a recording, pictures and a report."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.choices import FORMATS, FRICTIONS, INTEGRATORS, LAWS
from armwright.cli import option_words
from armwright.cli.failures import CommandError, error_object, fail
from armwright.cli.option_groups import arm_command
from armwright.cli.option_words import (
    FORMS,
    Json,
    Open,
    Seed,
    duration_option,
    joints_option,
    names_of,
    out_option,
    payload_option,
    report_option,
    rotors_option,
)
from armwright.cli.output import INTERRUPTED, NEGATIVE, page_of, safe, say, say_json, show_page, table
from armwright.cli.simulated_world import MetOptions, observers_of, wrench_of
from armwright.cli.written_files import unfinished
from armwright.errors import InputError, SimulationError
from armwright.files import free_name

if TYPE_CHECKING:
    from armwright.control import Law
    from armwright.motion import Trajectory
    from armwright.recording import Recording
    from armwright.robot.model import Robot
    from armwright.simulation import Drive, FrictionModel, JointSensors
    from armwright.types import Array

VIEWS = ("joints", "errors", "torques", "velocity", "energy", "tool")
LAW_NAMES = names_of(LAWS, last=", ")
OWN_LAW = ". A law of your own is a Python function: aw.simulate(robot, law, …), see docs/howto/law.md"
FREQUENCY = 10.0  # rad/s, where neither gains nor a frequency are given


@dataclass(frozen=True)
class LawOptions:
    """The controller."""

    law: Annotated[str, typer.Option(metavar="LAW", help=f"Control law: {LAW_NAMES}.")] = "computed_torque"
    gain: Annotated[list[str] | None, typer.Option(help="name=value or name=v1,v2,…; may be repeated.")] = None
    frequency: Annotated[float, typer.Option(help="In rad/s; gives kp and kd where you give none.")] = FREQUENCY
    rate: Annotated[float, typer.Option(help="Control ticks per second; the torque is held between them.")] = 1000.0
    continuous: Annotated[bool, typer.Option("--continuous", help="The law acts all the time.")] = False


@dataclass(frozen=True)
class MotionOptions:
    """What to follow, from where, for how long."""

    reference: Annotated[str, typer.Option(help=f"What to follow: {FORMS}.")] = "hold"
    duration: Annotated[float | None, duration_option("A trajectory's own by default.")] = None
    q0: Annotated[str | None, joints_option("--q0", "Start position; the reference's by default.")] = None
    qd0: Annotated[str | None, joints_option("--qd0", "Start velocity, per second; at rest by default.")] = None


@dataclass(frozen=True)
class PlantOptions:
    """What the arm is and how it is seen, beyond its sheet."""

    rotors: Annotated[str | None, rotors_option()] = None
    payload: Annotated[str | None, payload_option("Load at the tool.")] = None
    law_ignores_payload: Annotated[
        bool, typer.Option("--law-ignores-payload", help="The law does not know the load.")
    ] = False
    friction_model: Annotated[
        str | None, typer.Option(metavar="MODEL", help=f"In place of the arm's own: {names_of(FRICTIONS)}.")
    ] = None
    friction_value: Annotated[
        list[str] | None,
        typer.Option(
            help="Of --friction-model: name=value or name=v1,v2,…; may be repeated. The arm's own by default."
        ),
    ] = None
    motors: Annotated[bool, typer.Option("--motors", help="Torque and speed limits of the arm's motors act.")] = False
    limits: Annotated[str, typer.Option(help="At joint limits: record, clamp or stop.")] = "record"
    noise: Annotated[str | None, typer.Option(metavar="RAD,RAD/S", help="Of the encoders, standard deviation.")] = None


@dataclass(frozen=True)
class StepOptions:
    """How the motion is integrated and recorded."""

    integrator: Annotated[str, typer.Option(help=f"{names_of(INTEGRATORS)}.")] = "rk4"
    substeps: Annotated[int, typer.Option(help="Integrator steps per tick.")] = 1
    check_step: Annotated[bool, typer.Option("--check/--no-check", help="Refuse steps that cannot be stable.")] = True
    every: Annotated[int, typer.Option(help="Record every so many ticks.")] = 1
    seed: Seed = 0


@dataclass(frozen=True)
class SimulationFiles:
    """The files to write."""

    out: Annotated[Path | None, out_option("FILE.ext", f"Recording: {names_of(FORMATS)}.")] = None
    plot: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Pictures.")] = None
    animate: Annotated[Path | None, typer.Option(metavar="FILE.ext", help="Film of the arm: .gif or .mp4.")] = None
    report: Annotated[Path | None, report_option("FILE.html", "Page with everything in it, to be played.")] = None
    browse: Open = False


@arm_command()
def simulate(
    arm: Robot,
    control: LawOptions,
    motion: MotionOptions,
    plant: PlantOptions,
    met: MetOptions,
    steps: StepOptions,
    wanted: SimulationFiles,
    json: Json = False,
) -> None:
    """Simulate an arm under a control law; print a summary and write recording, pictures, film and report."""
    from armwright.motion import Trajectory
    from armwright.recording import Recording
    from armwright.recording.formats import discard
    from armwright.simulation import simulate as run

    _check_files(wanted)
    loaded, model = loaded_arms(arm, plant)
    follow = option_words.reference(motion.reference, arm)
    start = None if motion.q0 is None else option_words.configuration(motion.q0, arm, "--q0")
    at = _configuration_of(arm, follow, start)
    given = option_words.gains(control.gain or [])
    chosen = find_law(control.law, model, given, control.frequency, at, observed=met.observer is not None)
    if motion.duration is None and not isinstance(follow, Trajectory):
        fail("--duration: give the seconds to simulate, or a trajectory as --reference")
    options: dict[str, Any] = {
        "q0": start,
        "qd0": None if motion.qd0 is None else option_words.configuration(motion.qd0, arm, "--qd0"),
        "rate": control.rate,
        "substeps": steps.substeps,
        "integrator": steps.integrator,
        "continuous": control.continuous,
        "limits": plant.limits,
        "seed": steps.seed,
        "every": steps.every,
        "check_step": steps.check_step,
        "model": None if model is loaded else model,
        "drive": motors_of(arm) if plant.motors else None,
        "sensors": sensors_of(plant.noise),
        "wrench": wrench_of(met, loaded),
        "monitors": observers_of(met, chosen, model, at, control.rate),
        "friction": friction_by_name(arm, plant, at),
    }
    began, ending = time.perf_counter(), None
    stream = _stream_for(wanted.out)
    try:
        with progress(f"{arm.name}: {chosen.name}", json) as tell:
            recording = run(loaded, chosen, follow, motion.duration, progress=tell, save=stream, **options)
    except SimulationError as error:
        if not isinstance(error.recording, Recording) or not len(error.recording):
            raise  # nothing was run
        recording, ending = error.recording, CommandError(str(error), NEGATIVE, kind="SimulationError", answered=json)
    took = time.perf_counter() - began
    if ending is None and recording.outcome == "interrupted":
        reached = recording.time[-1] if len(recording) else 0.0
        kept = f"interrupted at t = {reached:.4g} s; what was recorded is kept"
        ending = CommandError(kept, INTERRUPTED, kind="Interrupted", answered=json)
    recording = _complete(recording, chosen if model is loaded else None)
    if ending is not None and recording.outcome != "diverged":
        wanted = _half_done(wanted, stream)
    files = write(recording, wanted, json)
    if stream is not None and wanted.out != stream:
        discard(stream)
    if json:
        say_json(
            {
                **recording.summary(),
                "law": chosen.name,
                "gains": recording.settings.get("gains", {}),
                "seconds": took,
                "files": files,
                "error": error_object(ending) if ending else None,
            }
        )
    else:
        print_summary(recording, took)
        for file in files:
            say(f"wrote {file}")
    if wanted.report is not None or wanted.browse:
        show_page(page_of(files), opened=wanted.browse, quiet=json)
    if ending is not None:
        raise ending


def loaded_arms(arm: Robot, plant: PlantOptions) -> tuple[Robot, Robot]:
    """Return the arm with its load, and the arm that the law knows; both have the motors that were asked for."""
    if plant.rotors not in (None, "sheet"):
        inertia = [0.0] if plant.rotors == "none" else option_words.numbers(str(plant.rotors), "--rotors")
        arm = arm.with_rotors(inertia[0] if len(inertia) == 1 else inertia)
    if plant.payload is None:
        if plant.law_ignores_payload:
            fail("--law-ignores-payload: there is no --payload")
        return arm, arm
    mass, com = option_words.payload(plant.payload)
    loaded = arm.with_payload(mass, com=com)
    return loaded, arm if plant.law_ignores_payload else loaded


def find_law(
    name: str, model: Robot, given: dict[str, Any], frequency: float, q: Array, *, observed: bool = False
) -> Law:
    """Build a law of `armwright.control.LAWS`; kp and kd that are not given come from a natural frequency.

    Args:
        name: of the law.
        model: the controller's arm.
        given: values by parameter name.
        frequency: [rad/s], critically damped.
        q: configuration (n,) at which the inertia scales the gains of laws that act in torques.
        observed: an observer runs: a law that can feel through it does, unless told otherwise.
    """
    from armwright.control import adaptation_rates, check_gains, frequency_gains, inertia_gains

    make: Callable[..., Law] = LAWS.find(
        name, lambda valid: CommandError(f"--law {name}: choose from {valid}{OWN_LAW}")
    )
    takes = inspect.signature(make).parameters
    parameters = [p for p in takes.values() if p.name != "robot"]
    names = [p.name for p in parameters]
    strange = sorted(set(given) - set(names))
    if strange:
        fail(f"--law {name}: no gain {', '.join(strange)}; it takes {', '.join(names) or 'none'}")
    values = {"feel": "observer", **given} if observed and "feel" in names else dict(given)
    if {"kp", "kd"} & {p.name for p in parameters if p.default is p.empty} - set(values):
        accelerations = name in ("computed_torque", "task_space", "lyapunov_redesign")
        rule = frequency_gains(frequency) if accelerations else inertia_gains(model, q, frequency)
        values = {**{k: v for k, v in rule._asdict().items() if k in names}, **values}
    if name == "adaptive" and "gamma" not in values:
        values["gamma"] = adaptation_rates(model)
    missing = [p.name for p in parameters if p.default is p.empty and p.name not in values]
    if missing:
        fail(f"--law {name}: give {' '.join(f'--gain {label}=…' for label in missing)}")
    try:
        law = make(model, **values) if "robot" in takes else make(**values)
        check_gains(law, model.n)
    except TypeError as error:
        raise InputError(f"--law {name}: {error}") from error
    return law


def _configuration_of(arm: Robot, follow: Trajectory | Array | None, start: Array | None) -> Array:
    import numpy as np

    from armwright.motion import Trajectory

    if start is not None:
        return start
    return follow.evaluate(0.0).q if isinstance(follow, Trajectory) else np.zeros(arm.n) if follow is None else follow


def _check_files(wanted: SimulationFiles) -> None:
    """Find out before a long run whether its results can be kept."""
    from armwright.recording.formats import module_for

    out, plot, animate, report = wanted.out, wanted.plot, wanted.animate, wanted.report
    for path, suffixes in ((animate, (".gif", ".mp4")), (report, (".html", ".htm"))):
        if path is not None and path.suffix.lower() not in suffixes:
            fail(f"{path}: expected a name that ends in {' or '.join(suffixes)}")
    if out is not None:
        module_for(out)
    for path in (out, animate, report):
        if path is not None and not path.parent.is_dir():
            fail(f"{path}: no such folder")
    if plot is not None and plot.exists() and not plot.is_dir():
        fail(f"{plot}: not a folder")


def _stream_for(out: Path | None) -> Path | None:
    """The file to write while the run goes on, next to an older one: an NPZ archive has to be written in one piece."""
    from armwright.recording.formats import beside

    return None if out is None or out.suffix.lower() == ".npz" else free_name(out, beside(out))


def _half_done(wanted: SimulationFiles, stream: Path | None) -> SimulationFiles:
    """Where the results of a run that did not come to its end go: not in the place of older ones."""
    out, animate, report = (file and unfinished(file) for file in (wanted.out, wanted.animate, wanted.report))
    return replace(wanted, out=stream or out, animate=animate, report=report)


def motors_of(arm: Robot) -> Drive:
    """Return the torque and speed limits of the arm's motors."""
    from armwright.simulation import drive_of

    return drive_of(arm)


def friction_by_name(arm: Robot, plant: PlantOptions, at: Array) -> FrictionModel | None:
    """Return the friction model by its name, with the arm's own values where none are given."""
    given = option_words.gains(plant.friction_value or [], "--friction-value")
    if plant.friction_model is None:
        if given:
            fail("--friction-value: there is no --friction-model")
        return None
    from armwright.simulation import friction_of

    FRICTIONS.check(
        plant.friction_model,
        lambda valid: CommandError(f"--friction-model {plant.friction_model}: choose from {valid}"),
    )
    return friction_of(arm, plant.friction_model, at, **given)


def sensors_of(noise: str | None) -> JointSensors | None:
    """Read ``--noise``: encoders with noise, or None."""
    if noise is None:
        return None
    from armwright.simulation import JointSensors

    try:
        position, velocity = (float(word) for word in noise.split(","))
    except ValueError:
        raise InputError(f"--noise {noise!r}: expected two numbers, rad,rad/s") from None
    return JointSensors(position_noise=position, velocity_noise=velocity)


def _complete(recording: Recording, law: Law | None) -> Recording:
    """Add energies and, where the law has one and knows the arm, its storage function."""
    from armwright.simulation import with_energy, with_storage

    if not len(recording):
        return recording
    recording = with_energy(recording)
    return with_storage(recording, law) if law is not None and law.storage is not None else recording


@contextmanager
def progress(title: str, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """Show a bar on a terminal's stderr; give nothing to call elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(escape(safe(title)), total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)


def write(recording: Recording, wanted: SimulationFiles, quiet: bool) -> list[str]:
    """Write what was asked for and return the files; the recording first, it is what cannot be made again."""
    files: list[Path] = []
    out, plot, animate, report = wanted.out, wanted.plot, wanted.animate, wanted.report
    if out is not None:
        files.append(recording.save(out))
    if len(recording) and plot is not None:
        plot.mkdir(parents=True, exist_ok=True)
        for view in VIEWS:
            recording.plot(view, plot / f"{view}.png")
            files.append(plot / f"{view}.png")
    if len(recording) and animate is not None:
        with progress(f"drawing {animate.name}", quiet) as tell:
            done = None if tell is None else lambda k, n: tell(k / n)
            files.append(recording.animate(animate, progress=done))
    if report is not None:
        files.append(recording.report(report))
    return [str(file) for file in files]


def _friction_words(friction: dict[str, Any]) -> str:
    """Name the friction model with its values, and say if it can give energy back."""
    values = [
        f"{name} {', '.join(f'{v:.4g}' for v in (value if isinstance(value, list) else [value]))}"
        for name, value in friction.items()
        if name not in ("model", "passive")
    ]
    said = f"friction {friction['model']}: {' · '.join(values) or 'none'}"
    if not friction.get("passive", True):
        said += " (these values can give energy back: take --friction-value damping_speed=… smaller or sigma2=… larger)"
    return said


def print_summary(recording: Recording, took: float) -> None:
    """Print one row a joint and a few lines about the whole run."""
    figures, settings, names = recording.summary(), recording.settings, recording.labels("q")
    rows = []
    for i, name in enumerate(names):
        share = figures.get("share.tau", [0.0] * len(names))[i]
        values = [figures[key][i] for key in ("peak.qd", "peak.tau", "error_rms", "error_max", "error_end")]
        cells = [f"{value:.3g}" for value in values]
        rows.append([name, *cells[:2], f"{100.0 * share:.1f} %" if share else "–", *cells[2:]])
    arm = recording.robot.name if recording.robot else "arm"
    q, qd, tau = (recording.unit(name) for name in ("q", "qd", "tau"))
    table(
        f"{arm}: {settings.get('law', '')} (qd in {qd}, tau in {tau}, errors in {q})",
        ["joint", "peak qd", "peak tau", "of limit", "rms error", "largest", "at end"],
        rows,
    )
    acts = "continuous" if settings.get("continuous") else f"held at {settings.get('rate', 0.0):g} 1/s"
    say(
        f"{figures['duration']:g} s simulated in {took:.3g} s, compiling included · {settings.get('integrator')}, "
        f"{acts} · {figures['samples']} samples · outcome: {recording.outcome}"
    )
    if settings.get("friction"):
        say(_friction_words(settings["friction"]))
    if "energy_end" in figures:
        change = figures["energy_end"] - figures["energy_start"]
        say(f"energy {figures['energy_start']:.4g} → {figures['energy_end']:.4g} J ({change:+.4g} J)")
    if "storage_rise" in figures and not recording["qd_ref"].any():  # the laws claim nothing for a reference that moves
        say(
            f"storage function {recording['storage'][0]:.4g} → {recording['storage'][-1]:.4g}, "
            f"largest rise between samples {figures['storage_rise']:.2g}"
        )
    for event in recording.events:
        say(f"event at {event.time:.6g} s: {event.name}")
