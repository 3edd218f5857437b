# SPDX-License-Identifier: Apache-2.0
"""An artefact: a controller, or a whole simulated arm, as files that run without this library.

    aw.export(loop, "controller", to="c").write("out")                     law, observer and detector of a loop
    aw.export([arm, law, observer, detector], rate=500.0, to="fmu")        the same from its parts
    aw.export(loop, "tick", to="c")                                        with the arm, drives, friction and sensors
    aw.export(["ur5"], "arm", to="fmu")                                    the arm alone: torques in, motion out

What it computes is one program (`TickProgram`): inputs, parameters and state in, outputs and new state out, each array
with name, shape, unit, meaning and start. Every form is written from that, and is equal to the strict loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from armwright.arguments import names_culprit
from armwright.choices import ARTEFACTS
from armwright.contact.monitor import Monitor
from armwright.control.law import Law, as_law
from armwright.errors import InputError
from armwright.files import write_file
from armwright.motion import Trajectory
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.simulation.artefact.form import Origin
from armwright.simulation.artefact.tunable_loop import tunable_loop
from armwright.simulation.control_loop import Loop
from armwright.simulation.loop_programs import ProgramKind, loop_program
from armwright.simulation.session import Session

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.graph.tick_program import Port, TickProgram
    from armwright.types import Array


class FormOptions(TypedDict, total=False):
    """Options of forms: each form has some of them.

    Attributes:
        float32: C in single precision.
        libm: C with the functions of the C library.
        fmi: version of an FMU, "3.0" or "2.0".
        binaries_for: kinds of machines that an FMU has binaries for: "local" (this one, if it has a C compiler), "none"
            (sources only), "all", or names such as "windows-x86_64,macos-aarch64" (extra ``export``).
    """

    float32: bool
    libm: bool
    fmi: str
    binaries_for: str


@dataclass(frozen=True, eq=False, repr=False)
class Artefact:
    """Files that run without this library.

    Attributes:
        to: the form, of `ARTEFACTS`.
        program: what it computes, and what its numbers mean.
        files: content by path, which is relative.
        figures: what was measured when it was made, by name.
    """

    to: str
    program: TickProgram
    files: Mapping[str, bytes]
    figures: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return form, name and files."""
        return f"Artefact({self.to}: {self.program.name}: {', '.join(self.files)})"

    def write(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder, which is made if it is missing; return their places."""
        places = []
        for name, content in self.files.items():
            place = Path(folder) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            write_file(place, content)
            places.append(place)
        return places

    def describe(self) -> dict[str, Any]:
        """Return inputs, parameters, states and outputs with name, shape, unit, meaning and start, as plain data."""
        p = self.program
        groups = {"inputs": p.inputs, "parameters": p.parameters, "states": p.states, "outputs": p.outputs}
        return {
            "name": p.name,
            "kind": p.kind,
            "robot": p.robot,
            "period": p.period,
            "parts": list(p.parts),
            **{group: [_told(port) for port in ports] for group, ports in groups.items()},
        }


def _told(port: Port) -> dict[str, Any]:
    return {
        "name": port.name,
        "shape": list(port.shape),
        "unit": port.unit,
        "meaning": port.meaning,
        "labels": list(port.labels),
        "start": port.start.tolist(),
    }


@names_culprit
def export(
    loop: Loop | Session | Sequence[Any],
    kind: ProgramKind = "controller",
    *,
    to: str = "c",
    q0: ArrayLike | None = None,
    name: str | None = None,
    tune: Sequence[str] | None = None,
    rate: float | None = None,
    reference: Trajectory | None = None,
    **options: Unpack[FormOptions],
) -> Artefact:
    """Write a controller, or a controller with its arm, as files that run without this library.

    Args:
        loop: a loop, a session (which starts where its arm is now), or parts in their order: an arm or its name, a
            trajectory if the artefact is to follow it by itself, a law (not for "arm"), observers and detectors.
        kind: "controller" (measured positions and velocities are inputs; no sensor model), "tick" (with the arm,
            integrator, friction, drives and sensors), or "arm" (without law and monitors: torques are inputs).
        to: the form, of `armwright.choices.ARTEFACTS`.
        q0: posture (n,) at which the arm stands and the reference starts [rad or m]; that of the session or the start
            of the trajectory, zero otherwise.
        name: an identifier; arm and kind if omitted.
        tune: what may be changed while it runs, of "gains", "payload" and "friction"; all of it in an FMU, nothing
            otherwise.
        rate: of parts, ticks per second; 1000 if omitted.
        reference: a motion that the artefact follows by itself, from its first tick on; among parts, or here.
        **options: of the form, see `FormOptions`.

    >>> aw.export(loop, "controller").write("out")
    """
    form = ARTEFACTS.find(to)
    loop, start, path = _loop_of(loop, rate, lawless=kind == "arm")
    if reference is not None and path is not None:
        raise InputError("export: a trajectory is among the parts, and another one is reference=")
    if reference is not None:
        start, path = (reference.evaluate(0.0).q if start is None else start), reference
    posture = start if q0 is None else np.asarray(q0, dtype=np.float64)
    if tune is None:
        tune = form.tune
    made = tunable_loop(loop, tuple(tune)) if tune else loop
    program = loop_program(made, kind, posture, name=name, reference=path)
    strange = sorted(set(options) - set(form.options))
    if strange:
        known = ", ".join(form.options) or "none"
        raise InputError(f"export: {to} has no option {strange[0]!r}; it has {known}")
    more = {"origin": Origin(made, posture, path)} if form.of_loop else {}
    files, figures = form.write(program, **more, **options)
    return Artefact(to, program, files, figures)


def _loop_of(given: object, rate: float | None, *, lawless: bool) -> tuple[Loop, Array | None, Trajectory | None]:
    """Return the loop, the posture at which it starts, and the motion that it follows by itself."""
    if isinstance(given, Loop | Session) and rate is not None:
        raise InputError("export: the loop has its rate; rate= is for parts")
    if isinstance(given, Loop):
        return given, None, None
    if isinstance(given, Session):
        return given.parts, given.state[0, : given.parts.n].copy(), None
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence):
        raise InputError(f"export: expected a Loop, a Session or their parts in a list, got {type(given).__name__}")
    arm: Robot | None = None
    law: Law | None = None
    path: Trajectory | None = None
    monitors: list[Monitor] = []
    for part in given:
        if isinstance(part, str | Robot) and arm is None:
            arm = load(part) if isinstance(part, str) else part
        elif isinstance(part, Trajectory) and path is None:
            path = part
        elif isinstance(part, Monitor):
            monitors.append(part)
        elif (isinstance(part, Law) or (callable(part) and not isinstance(part, str | Robot))) and law is None:
            law = as_law(part)
        else:
            raise InputError(
                f"export: {part!r:.60} is no arm, law, trajectory, observer or detector, or the second one"
            )
    if arm is None or (law is None and not lawless):
        raise InputError(f"export: the parts have no {'arm' if arm is None else 'law'}")
    loop = Loop.of(arm, law, monitors=tuple(monitors), rate=1000.0 if rate is None else rate)
    return loop, None if path is None else path.evaluate(0.0).q, path
