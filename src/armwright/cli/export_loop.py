# SPDX-License-Identifier: Apache-2.0
"""``armwright export`` of a controller, an arm, or both: law, observer and detector by name, as C, an FMU and so on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from armwright.choices import ARTEFACTS, DETECTORS, INTEGRATORS, LAWS, OBSERVERS, STUDY_DETECTORS
from armwright.cli import option_words
from armwright.cli.failures import CommandError, fail
from armwright.cli.option_words import FORMS, names_of, numbers
from armwright.cli.output import say_json, tell
from armwright.cli.simulate_command import (
    FREQUENCY,
    PlantOptions,
    find_law,
    friction_by_name,
    loaded_arms,
    motors_of,
    sensors_of,
)
from armwright.cli.simulated_world import MetOptions, observers_of
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.contact import Monitor
    from armwright.contact.detectors import TwoSpeed
    from armwright.control import Law
    from armwright.detection.learned_thresholds import LearnedThresholds
    from armwright.motion import Trajectory
    from armwright.robot.model import Robot
    from armwright.simulation import Loop
    from armwright.simulation.artefact import Artefact
    from armwright.simulation.loop_programs import ProgramKind
    from armwright.types import Array

TWO_SPEED = STUDY_DETECTORS.some("two-speed")[0]
TUNED = ("gains", "payload", "friction")
LEARNED = "learned"
RATE = 1000.0
VALUES = "name=value or name=v1,v2,…; may be repeated."


@dataclass(frozen=True)
class ChosenController:
    """Law, observer and detector."""

    law: Annotated[
        str | None,
        typer.Option("--law", "--controller", metavar="LAW", help=f"A controller: {names_of(LAWS, last=', ')}."),
    ] = None
    gain: Annotated[list[str] | None, typer.Option(help=f"Of the law: {VALUES}")] = None
    frequency: Annotated[float, typer.Option(help="In rad/s; gives kp and kd where you give none.")] = FREQUENCY
    rate: Annotated[float, typer.Option(help="Control ticks per second.")] = RATE
    observer: Annotated[
        str | None,
        typer.Option(metavar="OBSERVER", help=f"Beside the law: {names_of(OBSERVERS)}."),
    ] = None
    observer_gain: Annotated[list[str] | None, typer.Option(help=f"Of the observer: {VALUES}")] = None
    detector: Annotated[
        str | None,
        typer.Option(metavar="DETECTOR", help=f"Behind the observer: {names_of(DETECTORS, last=', ')} or {TWO_SPEED}."),
    ] = None
    detector_gain: Annotated[list[str] | None, typer.Option(help=f"Of the detector: {VALUES}")] = None
    thresholds: Annotated[
        str | None,
        typer.Option(
            metavar="A[,B,…]|learned",
            help="Of the detector [N m], one or one per joint, or learned in simulation. 2 and 1 % of the effort.",
        ),
    ] = None
    reference: Annotated[str | None, typer.Option(help=f"What it follows by itself: {FORMS}. An input if omitted.")] = (
        None
    )


@dataclass(frozen=True)
class SimulatedArm(PlantOptions):
    """The arm, if it is exported with its controller, or alone."""

    plant: Annotated[
        bool, typer.Option("--plant", help="With the arm, its integrator, friction, motors and sensors.")
    ] = False
    integrator: Annotated[str, typer.Option(help=f"{names_of(INTEGRATORS)}.")] = "rk4"
    substeps: Annotated[int, typer.Option(help="Integrator steps per tick.")] = 1


@dataclass(frozen=True)
class ArtefactOptions:
    """How a controller or an arm is written."""

    name: Annotated[str | None, typer.Option(metavar="NAME", help="What files and functions are called.")] = None
    tune: Annotated[
        str | None,
        typer.Option(metavar="LIST", help=f"What may change while it runs: {', '.join(TUNED)}, or none. FMU: all."),
    ] = None
    float32: Annotated[bool, typer.Option("--float32", help="C: single precision; says how far off it is.")] = False
    libm: Annotated[bool, typer.Option("--libm", help="C: sines and exponentials of the C library.")] = False
    fmi: Annotated[str | None, typer.Option(metavar="3.0|2.0", help="FMU: version of the standard. 3.0.")] = None
    binaries: Annotated[
        str | None,
        typer.Option(metavar="local|none|all|LIST", help="FMU: machines to compile for, such as windows-x86_64."),
    ] = None

    def options(self, to: str) -> dict[str, Any]:
        """Return what `export` is told; an option of another form is refused."""
        given: dict[str, Any] = {
            "float32": self.float32,
            "libm": self.libm,
            "fmi": self.fmi,
            "binaries_for": self.binaries,
        }
        given = {name: value for name, value in given.items() if value not in (None, False)}
        for name in given:
            if name not in ARTEFACTS.find(to).options:
                fail(f"--{name.removesuffix('_for')}: not with --to {to}")
        if self.name is not None and not (self.name.isidentifier() and self.name.isascii()):
            fail(f"--name {self.name!r}: letters, digits and _, beginning with a letter")
        if self.name is not None:
            given["name"] = self.name
        if self.tune is not None:
            words = [word for word in self.tune.split(",") if word != "none"]
            if strange := [word for word in words if word not in TUNED]:
                fail(f"--tune {strange[0]}: choose from {', '.join(TUNED)}, none")
            given["tune"] = words
        return given


@dataclass(frozen=True)
class LoopExport(ArtefactOptions, SimulatedArm, ChosenController):
    """A controller, an arm, or both, and how they are written."""

    @property
    def is_asked(self) -> bool:
        """Whether a controller or an arm is to be exported, rather than equations."""
        return self.law is not None or self.plant

    def refuse(self, group: type, needs: str) -> None:
        """Refuse options of a group that go with what is not exported."""
        for field in fields(group):
            if getattr(self, field.name) != field.default:
                fail(f"--{field.name.replace('_', '-')}: goes with {needs}")

    def refuse_all(self) -> None:
        """Refuse all options."""
        for group, needs in ((ArtefactOptions, "--law or --plant"), (SimulatedArm, "--plant")):
            self.refuse(group, needs)
        self.refuse(ChosenController, "--law")


@dataclass(frozen=True, eq=False)
class Chosen:
    """What the options name.

    Attributes:
        loop: all of it.
        law: the controller; None for an arm alone.
        posture: (n,) at which it starts.
        path: what it follows by itself.
    """

    loop: Loop
    law: Law | None
    posture: Array
    path: Trajectory | None


def chosen_loop(arm: Robot, asked: LoopExport, world: str | None, q0: str | None) -> Chosen:
    """Return the loop that the options name."""
    from armwright.contact import contact_wrench
    from armwright.motion import Trajectory, quintic
    from armwright.simulation import Loop
    from armwright.simulation.tool_push import PUSH_INPUT, tool_push
    from armwright.world import load_world

    if not asked.plant:
        asked.refuse(SimulatedArm, "--plant")
        if world is not None:
            fail("--world: goes with --plant, or --to page")
    if asked.law is None:
        replace(asked, rate=RATE).refuse(ChosenController, "--law")
    loaded, model = loaded_arms(arm, asked)
    start = None if q0 is None else option_words.configuration(q0, arm, "--q0")
    follow = None if asked.reference is None else option_words.reference(asked.reference, arm)
    if asked.reference is not None and not isinstance(follow, Trajectory):
        goal = follow if follow is not None else np.zeros(arm.n) if start is None else start
        follow = quintic(goal, goal, 1.0)  # a configuration that is held
    path = follow if isinstance(follow, Trajectory) else None
    posture = start if start is not None else np.zeros(arm.n) if path is None else path.evaluate(0.0).q
    options: dict[str, Any] = {"rate": asked.rate, "stop_on_alarm": False}
    law = None
    if asked.law is not None:
        given = option_words.gains(asked.gain or [])
        law = find_law(asked.law, model, given, asked.frequency, posture, observed=asked.observer is not None)
        options["monitors"] = monitors_of(asked, law, model, posture)
    if asked.plant:
        touching = None if world is None else contact_wrench(loaded, load_world(world))
        options |= {
            "model": None if model is loaded else model,
            "wrench": touching or tool_push,
            "inputs": {} if touching else PUSH_INPUT,
            "integrator": asked.integrator,
            "substeps": asked.substeps,
            "limits": asked.limits,
            "drive": motors_of(arm) if asked.motors else None,
            "sensors": sensors_of(asked.noise),
            "friction": friction_by_name(arm, asked, posture),
        }
    return Chosen(Loop.of(loaded if asked.plant else model, law, **options), law, posture, path)


def monitors_of(control: ChosenController, law: Law, model: Robot, q: Array) -> list[Monitor]:
    """Return observer and detector, with the gains that were given."""
    chain = observers_of(MetOptions(observer=control.observer), law, model, q, control.rate)
    given = option_words.gains(control.observer_gain or [], "--observer-gain")
    if chain:
        chain = [*chain[:-1], _with_gains(chain[-1], given, "--observer-gain", model.n)]
    elif given:
        fail("--observer-gain: goes with --observer")
    if control.detector is None:
        if control.detector_gain or control.thresholds:
            fail("--detector-gain, --thresholds: go with --detector")
        return chain
    if not chain:
        fail("--detector: reads what an observer says; give --observer")
    return [*chain, *_detector(control, law, chain, model)]


def _detector(control: ChosenController, law: Law, chain: list[Monitor], model: Robot) -> list[Monitor]:
    """Return the detector, behind the estimate of the tool's force if it reads that."""
    from armwright.contact.detectors import ThresholdFit, TwoSpeed, two_speed_detector
    from armwright.contact.monitor_makers import is_learned
    from armwright.exploration.touch_sensing import tool_estimate
    from armwright.simulation.arm_page.arm_page import thresholds as unlearned
    from armwright.statistics import NOTHING

    name, n = str(control.detector), model.n
    given = option_words.gains(control.detector_gain or [], "--detector-gain")
    a = np.asarray(unlearned(model))
    learns = control.thresholds == LEARNED
    if control.thresholds is not None and not learns:
        a = np.array(numbers(control.thresholds, f"--thresholds (numbers or {LEARNED})"))
        if len(a) not in (1, n) or not (a > 0.0).all():
            raise InputError(
                f"--thresholds {control.thresholds!r}: expected 1 or {n} positive numbers [N m], or {LEARNED}"
            )
        a = np.broadcast_to(a, (n,))
    if name == TWO_SPEED:
        rows = np.vstack([a, np.zeros((4, n))])
        known = [field.name for field in fields(TwoSpeed)]
        kind = TwoSpeed(**{key: value for key, value in given.items() if key in known})
        made = two_speed_detector(rows, rows, kind=kind)
        if learns:
            made = _learned(control, law, chain, model, kind).two_speed.detector()
        rest = {key: value for key, value in given.items() if key not in known}
        return [_with_gains(made, rest, "--detector-gain", n)]

    def refuse(valid: str) -> CommandError:
        return CommandError(f"--detector {name}: choose from {valid}, {TWO_SPEED}")

    make = DETECTORS.find(name, refuse)
    if not is_learned(make):
        if control.thresholds is not None:
            fail(f"--thresholds: {name} has none per joint; give --detector-gain")
        return [tool_estimate(None), _with_gains(make(), given, "--detector-gain", n)]
    if learns:
        return [_with_gains(make(_learned(control, law, chain, model).fit), given, "--detector-gain", n)]
    zero = np.zeros(n)
    fit = ThresholdFit(a, zero, zero, zero, peak=a, spread=zero, false_alarms=NOTHING, hours=0.0, margin=1.0)
    return [_with_gains(make(fit), given, "--detector-gain", n)]


def _learned(
    control: ChosenController, law: Law, chain: list[Monitor], model: Robot, kind: TwoSpeed | None = None
) -> LearnedThresholds:
    """Return thresholds that simulated arms have taught, and say what they rest on."""
    from armwright.detection.learned_thresholds import learned_thresholds

    found = learned_thresholds(model, law, chain, control.rate, kind=kind)
    tell(f"thresholds: {found.words}")
    return found


def _with_gains(monitor: Monitor, given: dict[str, Any], option: str, n: int) -> Monitor:
    """Return a monitor with other gains, each of the size and sign of what it replaces."""
    gains: dict[str, Any] = dict(monitor.gains)
    for name, value in given.items():
        if name not in gains:
            fail(f"{option} {name}: {monitor.name} has {', '.join(gains) or 'no gains'}")
        before, new = np.asarray(gains[name]), np.asarray(value, dtype=np.float64)
        if new.shape not in ((), before.shape, (n,)) or ((before > 0.0).all() and not (new > 0.0).all()):
            positive = "positive " if (before > 0.0).all() else ""
            raise InputError(f"{option} {name}: expected 1 or {max(before.size, 1)} {positive}numbers, got {value}")
        gains[name] = np.broadcast_to(new, before.shape) if new.shape != (n,) else new
    return replace(monitor, gains=gains)


def write_loop(chosen: Chosen, to: str, asked: LoopExport, out: Path | None, json: bool) -> None:
    """Write the files, and say what they are."""
    from armwright.simulation.artefact import export

    if out is None or out.is_file():
        fail(f"--to {to}: a controller is several files; give a folder, -o FOLDER")
    kind: ProgramKind = "arm" if chosen.law is None else "tick" if asked.plant else "controller"
    options: dict[str, Any] = asked.options(to)
    made = export(chosen.loop, kind, to=to, q0=chosen.posture, reference=chosen.path, **options)
    places = made.write(out)
    if json:
        said = {"to": to, **made.describe(), "files": [str(place) for place in places], "figures": dict(made.figures)}
        say_json(said)
        return
    for place in places:
        tell(f"wrote {place} ({place.stat().st_size / 1000:.1f} kB)")
    for line in summary(made):
        tell(line)


def summary(made: Artefact) -> Sequence[str]:
    """Return what goes in and comes out, in a few lines."""
    p = made.program
    lines = [f"{p.name}: {'; '.join(p.parts)}; {p.period:g} s a tick"]
    groups = (("inputs", p.inputs), ("parameters", p.parameters), ("outputs", p.outputs))
    for word, ports in groups:
        if ports:
            units = (f"{port.name}{f' [{port.unit}]' if port.unit else ''}" for port in ports)
            lines.append(f"{word}: {', '.join(units)}")
    if made.figures:
        lines.append(", ".join(f"{word}: {value:.3g}" for word, value in made.figures.items()))
    return lines
