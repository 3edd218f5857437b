# SPDX-License-Identifier: Apache-2.0
"""A loop taken out of the simulation: its controller, the whole tick with the arm, or the arm alone, as one program.

    controller   reference → law → observer → detector, with their memory. What is measured is its input: positions,
                 velocities and, for laws that name it, the wrench. The sensor model is not part of it.
    tick         the same, and then drives, friction, forces from outside, the integrator, sensors and stops.
    arm          the tick without law and monitors: the torque that is held during a tick is its input.

They are made of the stages of the loop by the linker (`armwright.graph.link`): a strict loop gives the same numbers to
the last bit. `rates_program` is the differential equation of the arm between two ticks, for integrators of others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armwright.contact import monitor as monitors
from armwright.control.tick_function import initial_memory
from armwright.errors import InputError, NotSupportedError
from armwright.graph.link import link, ordered, split_signals
from armwright.graph.loop_plan import LoopPlan, Slots, Stage, stage, traced_stage
from armwright.graph.ops import Op
from armwright.graph.tick_program import NEXT, Port, TickProgram
from armwright.graph.traced_program import ProgramSignal
from armwright.simulation.loop_stages import gain_slot, law_stage, monitor_stage, slot_name
from armwright.simulation.rows_to_recording import units
from armwright.simulation.step_stages import step_stages, system_of, system_slots
from armwright.simulation.tool_push import PUSH_MEANING, PUSH_UNIT, tool_push

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.graph.traced_program import TracedProgram
    from armwright.motion import Trajectory
    from armwright.simulation.control_loop import Loop
    from armwright.simulation.lanes import Lanes
    from armwright.types import Array

ProgramKind = Literal["controller", "tick", "arm"]
WITH_ARM = ("tick", "arm")
PARAMETER = "parameter"
MOST_COEFFICIENTS = 4000  # of a trajectory that is part of a program: each is chosen by a comparison
MOST_STEPS_IN_A_TICK = 16  # each is written out: 2,000 operations of a UR5 under RK4


def loop_program(
    loop: Loop,
    kind: ProgramKind = "controller",
    q0: ArrayLike | None = None,
    *,
    name: str | None = None,
    reference: Trajectory | None = None,
) -> TickProgram:
    """Return the controller of a loop, or its whole tick, as one program.

    Args:
        loop: reference → law → drive → arm → sensors, and what watches it.
        kind: "controller" (measured positions and velocities are inputs), "tick" (the arm is part of it), or "arm"
            (without law and monitors: the torque is an input).
        q0: posture (n,) at which the arm stands and the reference starts [rad or m]; zero if omitted.
        name: of the program, an identifier; arm and kind if omitted.
        reference: a motion that the program follows by itself, from its first tick on; it is an input otherwise.

    Raises:
        NotSupportedError: the loop has no tick of fixed length (adaptive steps, a law that acts all the time), or
            several arms.
        TraceError: the law cannot be traced.
    """
    if kind not in ("controller", *WITH_ARM):
        raise InputError(f"loop program: kind must be 'controller', 'tick' or 'arm', got {kind!r}")
    if kind == "arm" and reference is not None:
        raise InputError("loop program: an arm without a controller follows nothing; leave the reference out")
    parts = _supported(loop, kind)
    posture = _posture(parts, q0)
    stages = _stages(parts, kind, reference)
    plan = _plan(parts, stages)
    wanted = [] if kind == "arm" else ["tau"]
    wanted += [*(["ref"] if reference else []), *(["measured"] if "measured" in plan.slots else [])]
    wanted += [slot_name(label) for label in monitors.labels(parts.monitors).values()]
    written = {slot for part in stages for slot in part.writes.values()}
    label = name or _identifier(f"{parts.robot.name}_{kind}")
    states: list[str] = ["x"] if kind in WITH_ARM else []
    while True:  # what is read of what is remembered may read more
        linked = link(plan, stages, [*wanted, *states], name=label)
        more = [s.name for s in linked.inputs if s.name in written and s.name not in states]
        if not more:
            break
        states += more
    states = [slot for slot in plan.slots if slot in states]
    linked = link(plan, stages, [*wanted, *states], name=label)
    return _named(parts, kind, linked, plan.slots, wanted, states, posture)


def rates_program(loop: Loop, q0: ArrayLike | None = None, *, name: str | None = None) -> TickProgram:
    """Return the differential equation of the arm of a loop: motion, torque and forces in, its rates out.

    Inputs are those of the arm and, instead of its state, ``q``, ``qd`` and further states; outputs are ``rate_`` and
    their names, in the same order. Time counts from the beginning of the tick, as for functions of the loop.
    """
    parts = replace(_supported(loop, "arm"), limits="record")
    shapes = {"x": (parts.size,), **system_slots(parts)}

    def body(s: Slots) -> Slots:
        return {"rate": system_of(parts, s).derivative(0.0, s["x"])}

    only = stage(traced_stage(body, shapes, "rates"), "before")
    ports = _ports(parts, "arm", _posture(parts, q0))
    motion = ports["x"]
    linked = link(_plan(parts, [only]), [only], ["rate"], name=name or _identifier(f"{parts.robot.name}_rates"))
    ports["t"] = [Port("t", (), "s", "time of the beginning of the tick")]
    rates = [Port(f"rate_{port.name}", port.shape, "", f"rate of change of {port.name}") for port in motion]
    slots = ["x", "tau", *(s.name for s in linked.inputs if s.name not in ("x", "tau"))]
    given = [port for slot in slots for port in ports[slot]]
    parameters = tuple(port for port in given if port.meaning.startswith(PARAMETER))
    inputs = tuple(port for port in given if port not in parameters)
    pieces = {slot: [(port.name, port.shape) for port in each] for slot, each in ports.items()}
    pieces["rate"] = [(port.name, port.shape) for port in rates]
    order = [ProgramSignal(port.name, port.shape) for port in (*inputs, *parameters)]
    program = ordered(split_signals(linked, pieces), order)
    words = (f"arm {parts.robot.name}",)
    return TickProgram(
        linked.name, "rates", parts.robot.name, parts.period, words, inputs, parameters, (), tuple(rates), program
    )


def _posture(parts: Loop, q0: ArrayLike | None) -> Array:
    posture = np.zeros(parts.n) if q0 is None else np.asarray(q0, dtype=np.float64)
    if posture.shape != (parts.n,) or not np.isfinite(posture).all():
        raise InputError(f"loop program: q0 must be ({parts.n},) finite numbers, got shape {posture.shape}")
    return posture


def _supported(loop: Loop, kind: str) -> Loop:
    """Return the loop as it is written; refuse what has no tick of its own."""
    if len(loop.robots) > 1 or loop.batch:
        raise NotSupportedError(f"loop program: one arm at a time, this loop has {len(loop.robots)}")
    if loop.continuous:
        raise NotSupportedError("loop program: a law that acts all the time has no tick; use continuous=False")
    if kind == "controller":
        return replace(loop, sensors=None, stop_on_alarm=False)
    if kind == "arm":
        loop = replace(loop, sensors=None, monitors=())
    if loop.method.adaptive:
        raise NotSupportedError(
            f"loop program: {loop.integrator} takes as many steps as it needs; "
            "choose 'rk4', 'semi-implicit' or 'rodas3'"
        )
    if loop.substeps > MOST_STEPS_IN_A_TICK:
        raise NotSupportedError(
            f"loop program: every step is written out, at most {MOST_STEPS_IN_A_TICK} in a tick; "
            f"this loop takes {loop.substeps}"
        )
    return replace(loop, stop_on_alarm=False)


def _stages(parts: Loop, kind: str, reference: Trajectory | None) -> list[Stage]:
    clock = stage(traced_stage(lambda s: _clock(parts, s), {"ticks": (1,)}, "clock"), "before")
    if kind == "arm":
        return [clock, *step_stages(parts) * parts.substeps]
    watching = [monitor_stage(parts)] if parts.monitors else []
    law = law_stage(parts, measured=kind == "controller")
    inside = step_stages(parts) * parts.substeps if kind == "tick" else []
    leading = [] if reference is None else [reference_stage(reference, parts.n)]
    return [clock, *leading, law, *watching, *inside]


def _clock(parts: Loop, s: Slots) -> Slots:
    """Time from ticks, never by adding periods; the integrator's step; whether a slow sensor has measured anew."""
    ticks = s["ticks"][0]
    out: Slots = {
        "t": np.array([ticks * parts.period]),
        "ticks": np.array([ticks + 1.0]),
        "past": np.array([0.0]),
        "h": np.array([parts.period / parts.substeps]),
    }
    if parts.sensors is not None and parts.sensors.every > 1:
        every = parts.sensors.every
        whole = every * np.floor((ticks + 0.5) * (1.0 / every))
        out["fresh"] = np.array([np.where(ticks - whole > 0.5, 0.0, 1.0)])
    return out


def _plan(parts: Loop, stages: Sequence[Stage]) -> LoopPlan:
    slots: dict[str, int] = {"x": parts.size, "ref": 3 * parts.n, "tau": parts.n}
    for part in stages:
        for signals, names in ((part.program.inputs, part.reads), (part.program.outputs, part.writes)):
            slots |= {names[s.name]: s.size for s in signals}
    return LoopPlan(slots, tuple(stages))


def reference_stage(path: Trajectory, n: int) -> Stage:
    """Evaluate a trajectory: the coefficients of the piece that is under way, then Horner's rule."""
    breaks, pieces = path.breaks, path.coefficients
    if path.n != n:
        raise InputError(f"loop program: the trajectory has {path.n} joints, the robot {n}")
    if pieces.size > MOST_COEFFICIENTS:
        raise NotSupportedError(
            f"loop program: the trajectory has {pieces.size} coefficients, of which at most {MOST_COEFFICIENTS} are "
            "written out; let the reference be an input"
        )

    def evaluate(s: Slots) -> Slots:
        t = s["t"][0]
        at = np.minimum(t, breaks[-1])
        chosen, begun = pieces[0], breaks[0]
        for k in range(1, len(pieces)):
            chosen, begun = np.where(at >= breaks[k], pieces[k], chosen), np.where(at >= breaks[k], breaks[k], begun)
        x = at - begun
        q, qd, half = chosen[-1], np.zeros(n), np.zeros(n)
        for row in chosen[-2::-1]:
            half, qd, q = half * x + qd, qd * x + q, q * x + row
        moves = np.where(t <= breaks[-1], 1.0, 0.0)
        return {"ref": np.concatenate([q, moves * qd, moves * 2.0 * half])}

    return stage(traced_stage(evaluate, {"t": (1,)}, "reference"), "before")


def _identifier(words: str) -> str:
    text = re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_").lower()
    return text if text and text[0].isalpha() else f"arm_{text}"


def _named(
    parts: Loop,
    kind: str,
    linked: TracedProgram,
    sizes: Mapping[str, int],
    wanted: Sequence[str],
    states: Sequence[str],
    posture: Array,
) -> TickProgram:
    """Give slots their names for readers, with units, meanings and starts."""
    ports = _ports(parts, kind, posture)
    ports |= {slot: [_watched_port(parts, slot, sizes[slot])] for slot in wanted if slot not in ports}
    after: list[Port] = [port for slot in states for port in ports[slot]]
    made: list[Port] = [port for slot in wanted for port in ports[slot]]
    read = ["x", "ref"] if "ref" not in wanted else ["x"]  # a reference of its own is an output
    read = ["x", "tau"] if kind == "arm" else read
    read += [s.name for s in linked.inputs if s.name not in read]
    given = [port for slot in read if slot not in states for port in ports[slot]]
    given = [port for port in given if port.name not in parts.extra_names]
    parameters = [port for port in given if port.meaning.startswith(PARAMETER)]
    inputs = [port for port in given if port not in parameters]
    pieces = {slot: [(port.name, port.shape) for port in each] for slot, each in ports.items()}
    program = split_signals(linked, pieces)
    used = {program.inputs[node.value[0]].name for node in program.nodes if node.op is Op.INPUT}
    parameters = [port for port in parameters if port.name in used]
    results = dict(zip([s.name for s in program.outputs], program.results, strict=True))
    if kind in WITH_ARM:
        made = [port for port in ports["x"] if port.name in ("q", "qd")] + made
    order = [ProgramSignal(port.name, port.shape) for port in (*inputs, *parameters, *after)]
    program = replace(
        ordered(program, order),
        outputs=(
            *(ProgramSignal(port.name, port.shape) for port in made),
            *(ProgramSignal(port.name + NEXT, port.shape) for port in after),
        ),
        results=tuple(results[port.name] for port in (*made, *after)),
    )
    words = (f"law {parts.law.name}", *(f"{monitor.kind} {monitor.name}" for monitor in parts.monitors))
    words = () if kind == "arm" else words
    if kind in WITH_ARM:
        words += (f"arm {parts.robot.name}, {parts.integrator}, {parts.substeps} step(s) a tick",)
    return TickProgram(
        linked.name,
        kind,
        parts.robot.name,
        parts.period,
        words,
        tuple(inputs),
        tuple(parameters),
        tuple(after),
        tuple(made),
        program,
    )


def _ports(parts: Loop, kind: str, posture: Array) -> dict[str, list[Port]]:
    """The ports of every slot, by slot."""
    n, (angle, speed, rate, torque) = parts.n, units(parts.robot)
    joints = tuple(joint.name for joint in parts.robot.joints)
    vector = (n,)

    def joint_port(name: str, unit: str, meaning: str, start: Any = 0.0) -> Port:
        return Port(name, vector, unit, meaning, joints, start)

    ports: dict[str, list[Port]] = {
        "x": [
            joint_port("q", angle, "joint positions", posture),
            joint_port("qd", speed, "joint velocities"),
            *(joint_port(name, "", "state of drive or friction") for name in parts.extra_names),
        ],
        "ref": [
            joint_port("q_ref", angle, "desired positions", posture),
            joint_port("qd_ref", speed, "desired velocities"),
            joint_port("qdd_ref", rate, "desired accelerations"),
        ],
        "tau": [joint_port("tau", torque, "commanded torque" if kind == "arm" else "torque that the law commands")],
        "measured": [
            joint_port("q_measured", angle, "what the encoders say"),
            joint_port("qd_measured", speed, "what the encoders say"),
        ],
        "wrench": [Port("wrench", (6,), "N, N m", "measured wrench at the tool, base axes: force, then moment")],
        "noise": [Port("noise", (2 * n,), "", "standard normal numbers, new at every tick")],
        "ticks": [Port("ticks", (), "", "ticks so far")],
    }
    for name, shape in parts.inputs.items():
        pushed = parts.wrench is tool_push
        meaning = (PUSH_UNIT, PUSH_MEANING) if pushed else ("", "input of the forces from outside")
        ports[f"input_{name}"] = [Port(name, shape, *meaning)]
    for name, value in initial_memory(parts.law, n).items():
        ports[f"memory_{name}"] = [Port(f"law_{name}", value.shape, "", f"memory of the law: {name}", (), value)]
    for k, monitor in enumerate(parts.monitors):
        own = _identifier(monitor.name)
        for name, value in initial_memory(monitor, n).items():
            told = f"memory of {monitor.name}: {name}"
            ports[f"monitor{k}_{name}"] = [Port(f"{own}_{name}", value.shape, "", told, (), value)]
    for name in parts.gains_vary:
        value = parts.law.gains[name]
        told = f"{PARAMETER} of the law: {name}"
        ports[f"gain_{name}"] = [Port(f"gain_{name}", value.shape[1:], "", told, (), value[0])]
    for k, monitor in enumerate(parts.monitors):
        own = _identifier(monitor.name)
        for name in monitor.vary:
            gain = monitor.gains[name]
            told = f"{PARAMETER} of {monitor.name}: {name}"
            ports[gain_slot(k, name)] = [Port(f"{own}_{name}", np.shape(gain), "", told, (), gain)]
    for slot, lanes, own in (("parameters", parts.lanes, ""), ("model", parts.believed, "model_" * (kind == "tick"))):
        if lanes is not None and lanes.places:
            ports[slot] = _number_ports(parts, lanes, own)
    if parts.sensors is not None:
        tiled = np.tile(np.concatenate([posture, np.zeros(n)]), parts.sensors.delay + 1)
        ports["line"] = [Port("measured_line", tiled.shape, "", "measurements under way", (), tiled)]
    return ports


def _number_ports(parts: Loop, lanes: Lanes, own: str) -> list[Port]:
    """The ports of the numbers of an arm that are given at run time; `own` is put in front of their names."""
    whose = "the controller's model" if own or lanes is parts.believed else "the arm"
    torque, speed = units(parts.robot)[3], units(parts.robot)[1]
    joints = tuple(joint.name for joint in parts.robot.joints)
    inertia = ("xx", "yy", "zz", "xy", "xz", "yz")
    known: dict[str, list[tuple[str, tuple[int, ...], str, str, tuple[str, ...]]]] = {
        "payload": [
            ("payload_mass", (), "kg", f"{PARAMETER} of {whose}: mass of the load at the tool", ()),
            ("payload_centre", (3,), "m", f"{PARAMETER} of {whose}: its centre of mass in tool axes", ("x", "y", "z")),
            ("payload_inertia", (6,), "kg m^2", f"{PARAMETER} of {whose}: inertia about that centre", inertia),
        ],
        "viscous": [
            ("friction_viscous", (parts.n,), f"{torque}/({speed})", f"{PARAMETER} of {whose}: viscous friction", joints)
        ],
        "coulomb": [("friction_coulomb", (parts.n,), torque, f"{PARAMETER} of {whose}: Coulomb friction", joints)],
    }
    strange = sorted({name for name, _ in lanes.places} - set(known))
    if strange:
        raise NotSupportedError(f"loop program: arms that differ in {', '.join(strange)}; use tune=")
    values, ports = iter(lanes.values[0]), list[Port]()
    for group in dict.fromkeys(name for name, _ in lanes.places):
        for name, shape, unit, meaning, labels in known[group]:
            start = np.array([next(values) for _ in range(prod(shape))]).reshape(shape)
            ports.append(Port(own + name, shape, unit, meaning, labels, start))
    return ports


def _watched_port(parts: Loop, slot: str, size: int) -> Port:
    """The port of an output of a monitor."""
    labels = monitors.labels(parts.monitors)
    monitor, output = next((parts.monitors[k], o) for (k, o), label in labels.items() if slot_name(label) == slot)
    shape, told = () if size == 1 else (size,), f"{output} of {monitor.name}"
    if output == "alarm":
        return Port(slot, shape, "", f"{told}: 0 or more while it lasts, below 0 when quiet", (), -1.0)
    if output == "tau_ext":
        joints = tuple(joint.name for joint in parts.robot.joints)
        return Port(slot, shape, units(parts.robot)[3], f"{told}: what the world does to the joints", joints)
    return Port(slot, shape, "", told)
