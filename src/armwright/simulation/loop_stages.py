# SPDX-License-Identifier: Apache-2.0
"""From robot, law and surroundings to the stages of one compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact import monitor as monitors
from armwright.control.law import Law, initial_memory, run
from armwright.control.zero import zero
from armwright.errors import InputError
from armwright.graph import Program, trace
from armwright.graph.loop import LoopPlan, Stage, stage
from armwright.graph.program import call_by_name
from armwright.graph.reuse import NotComparable, fingerprint
from armwright.motion.reference import Reference
from armwright.simulation.integrators import Method
from armwright.simulation.integrators.adaptive import accept
from armwright.simulation.system import System
from armwright.simulation.wrist import tool_wrench

if TYPE_CHECKING:
    from armwright.contact.monitor import Monitor
    from armwright.robot.tree import Tree
    from armwright.simulation.drives import Drive
    from armwright.simulation.friction import FrictionModel
    from armwright.simulation.lanes import Lanes
    from armwright.simulation.sensors import JointSensors


@dataclass(frozen=True, eq=False)
class Ingredients:
    """What a loop is made of; see `armwright.simulation.simulate` for the meaning of each."""

    lanes: Lanes
    model: Tree | None
    law: Law
    method: Method
    period: float
    continuous: bool = False
    drive: Drive | None = None
    friction: FrictionModel | None = None
    sensors: JointSensors | None = None
    wrenches: Callable[..., Any] | None = None
    external: Callable[..., Any] | None = None
    events: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    clamp: tuple[Any, Any] | None = None
    gains_vary: tuple[str, ...] = ()
    model_key: object = None
    monitors: tuple[Monitor, ...] = ()
    stop_on_alarm: bool = True

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.lanes.tree.n

    def key(self) -> tuple[Any, ...] | None:
        """What the traced loop depends on, for reuse within a process; None if that cannot be told."""
        try:
            return self._key()
        except NotComparable:
            return None

    def step_key(self) -> tuple[Any, ...] | None:
        """The same for the step alone: a held torque hides the law from it."""
        if self.continuous:
            return self.key()
        return replace(self, law=zero(), gains_vary=()).key()

    def _key(self) -> tuple[Any, ...]:
        gains = tuple((k, np.shape(v)[1:] if k in self.gains_vary else v.tobytes()) for k, v in self.law.gains.items())
        memory = tuple((k, v.tobytes(), np.shape(v)) for k, v in self.law.memory.items())
        clamp = None if self.clamp is None else tuple(part.tobytes() for part in self.clamp)
        watching = tuple(
            (m.name, fingerprint(m.function), *((k, v.tobytes()) for k, v in m.gains.items())) for m in self.monitors
        )
        events = tuple((name, fingerprint(f)) for name, f in self.events.items())
        return (
            self.lanes.places,
            self.model_key,
            fingerprint(self.law.function),
            gains,
            memory,
            self.method.name,
            self.period,
            self.continuous,
            self.drive,
            self.friction,
            self.sensors,
            fingerprint(self.wrenches),
            fingerprint(self.external),
            events,
            clamp,
            watching,
            self.stop_on_alarm,
        )

    @property
    def extra_names(self) -> tuple[str, ...]:
        """States beyond q and qd, each of n numbers."""
        return (self.drive.state_names if self.drive else ()) + (self.friction.state_names if self.friction else ())

    @property
    def size(self) -> int:
        """Length of the state x."""
        return self.n * (2 + len(self.extra_names))


def hermite(s: Any, dt: float, a: Reference, b: Reference) -> Reference:
    """Quintic through two references dt apart, at fraction s of the way: exact for quintic trajectories."""
    va, vb, aa, ab = dt * a.qd, dt * b.qd, dt * dt * a.qdd, dt * dt * b.qdd
    d = b.q - a.q
    c3 = 10.0 * d - 6.0 * va - 4.0 * vb - 1.5 * aa + 0.5 * ab
    c4 = -15.0 * d + 8.0 * va + 7.0 * vb + 1.5 * aa - ab
    c5 = 6.0 * d - 3.0 * (va + vb) - 0.5 * aa + 0.5 * ab
    q = a.q + s * (va + s * (0.5 * aa + s * (c3 + s * (c4 + s * c5))))
    qd = (va + s * (aa + s * (3.0 * c3 + s * (4.0 * c4 + s * (5.0 * c5))))) / dt
    qdd = (aa + s * (6.0 * c3 + s * (12.0 * c4 + s * (20.0 * c5)))) / (dt * dt)
    return Reference(q, qd, qdd)


def _reference(row: Any, n: int) -> Reference:
    return Reference(row[:n], row[n : 2 * n], row[2 * n :])


class _Law:
    """The law at work on symbols: its varying gains and its memory come from slots."""

    def __init__(self, parts: Ingredients) -> None:
        self.parts = parts
        law, n = parts.law, parts.n
        self.memory = {f"memory_{k}": tuple(np.shape(v)) for k, v in initial_memory(law, n).items()}
        self.varying = {f"gain_{k}": tuple(np.shape(law.gains[k])[1:]) for k in parts.gains_vary}
        self.shapes: dict[str, tuple[int, ...]] = {"t": (1,), "ref": (3 * n,), **self.memory, **self.varying}
        self.feels = parts.wrenches is not None and "wrench" in signature(law.function).parameters
        if (parts.model is None or self.feels) and parts.lanes.places:
            self.shapes["parameters"] = (len(parts.lanes.places),)

    def __call__(
        self, t: Any, q: Any, qd: Any, ref: Any, slots: Mapping[str, Any], true: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        """Torque and new memory at what is measured; `true` is (q, qd) where that differs."""
        parts = self.parts
        gains = {k: slots[f"gain_{k}"] if k in parts.gains_vary else v for k, v in parts.law.gains.items()}
        memory = {k: slots[f"memory_{k}"] for k in parts.law.memory}
        model = parts.lanes.fill(slots.get("parameters")) if parts.model is None else parts.model
        signals = {"arm": model, "t": t, "q": q, "qd": qd, "ref": ref, "dt": parts.period}
        if self.feels:
            assert parts.wrenches is not None
            plant = parts.lanes.fill(slots.get("parameters"))
            signals["wrench"] = tool_wrench(parts.wrenches, plant, t, *(true or (q, qd)))
        tau, after = run(parts.law, signals, gains, memory)
        return tau, after


def traced_stage(
    function: Callable[[dict[str, Any]], dict[str, Any]], shapes: Mapping[str, tuple[int, ...]], name: str
) -> Program:
    """Trace a function of a dictionary of slots that returns a dictionary of slots."""
    from collections import namedtuple
    from inspect import Parameter, Signature

    def body(**slots: Any) -> Any:
        result = function(slots)
        return namedtuple("Slots", list(result))(**result)

    body.__signature__ = Signature([Parameter(k, Parameter.KEYWORD_ONLY) for k in shapes])  # type: ignore[attr-defined]
    return trace(body, dict(shapes), name=name)


def law_stage(parts: Ingredients) -> Stage:
    """Sense, then compute the torque for the tick and the law's new memory (once a tick in every mode)."""
    n, law = parts.n, _Law(parts)
    shapes = {"x": (parts.size,), **law.shapes}
    sensors = parts.sensors
    if sensors is not None:
        shapes |= {"noise": (2 * n,), "line": ((sensors.delay + 1) * 2 * n,), "fresh": (1,)}

    def body(s: dict[str, Any]) -> dict[str, Any]:
        q, qd = s["x"][:n], s["x"][n : 2 * n]
        out: dict[str, Any] = {}
        if sensors is not None:
            measured = np.concatenate(sensors.read(q, qd, s["noise"]))
            if sensors.every > 1:
                measured = np.where(s["fresh"][0] > 0.0, measured, s["line"][: 2 * n])
            out["line"] = np.concatenate([measured, s["line"][: -2 * n]]) if sensors.delay else measured
            q, qd = out["line"][-2 * n : -n], out["line"][-n:]
            out["measured"] = np.concatenate([q, qd])
        true = s["x"][:n], s["x"][n : 2 * n]
        tau, after = law(s["t"][0], q, qd, _reference(s["ref"], n), s, true)
        out["tau"] = tau
        return out | {f"memory_{k}": v for k, v in after.items()}

    return stage(traced_stage(body, shapes, "law"), "before")


def monitor_stage(parts: Ingredients) -> Stage:
    """Watch: every monitor once a tick, after the law, on what the controller measures and commands."""
    n = parts.n
    shapes: dict[str, tuple[int, ...]] = {"t": (1,), "ref": (3 * n,), "tau": (n,)}
    shapes |= {"x": (parts.size,)} if parts.sensors is None else {"measured": (2 * n,)}
    if parts.model is None and parts.lanes.places:
        shapes["parameters"] = (len(parts.lanes.places),)
    starts = [monitors.initial_memory(monitor, n) for monitor in parts.monitors]
    shapes |= {f"monitor{k}_{name}": np.shape(value) for k, start in enumerate(starts) for name, value in start.items()}

    def body(s: dict[str, Any]) -> dict[str, Any]:
        state = s["x"] if parts.sensors is None else s["measured"]
        ref = _reference(s["ref"], n)
        model = parts.lanes.fill(s.get("parameters")) if parts.model is None else parts.model
        signals = {
            "arm": model,
            "t": s["t"][0],
            "dt": parts.period,
            "q": state[:n],
            "qd": state[n : 2 * n],
            "tau": s["tau"],
            "q_ref": ref.q,
            "qd_ref": ref.qd,
            "qdd_ref": ref.qdd,
        }
        memories = [{name: s[f"monitor{k}_{name}"] for name in start} for k, start in enumerate(starts)]
        out, kept = monitors.run_chain(parts.monitors, signals, memories)
        values = {slot_name(name): np.atleast_1d(value) for name, value in out.items()}
        return values | {f"monitor{k}_{name}": value for k, memory in enumerate(kept) for name, value in memory.items()}

    return stage(traced_stage(body, shapes, "monitors"), "before")


def slot_name(label: str) -> str:
    """Name of the slot and recorded signal of a monitor's output ("observer.tau_ext" → "observer_tau_ext")."""
    return "".join(c if c.isalnum() else "_" for c in label)


def system_slots(parts: Ingredients, continuous: bool) -> dict[str, tuple[int, ...]]:
    """Slots that the differential equation reads besides its state: torque or law and references, time, parameters."""
    n = parts.n
    slots: dict[str, tuple[int, ...]] = {"t": (1,)}
    slots |= {"ref_next": (3 * n,), **_Law(parts).shapes} if continuous else {"tau": (n,)}
    if parts.lanes.places:
        slots["parameters"] = (len(parts.lanes.places),)
    return slots


def system_of(parts: Ingredients, continuous: bool, s: Mapping[str, Any]) -> System:
    """The differential equation with its inputs from slots `s`."""
    n, law, dt, start = parts.n, _Law(parts), parts.period, s["t"][0]

    def torque(past: Any, q: Any, qd: Any) -> Any:
        if not continuous:
            return s["tau"]
        ref = hermite(past / dt, dt, _reference(s["ref"], n), _reference(s["ref_next"], n))
        return law(start + past, q, qd, ref, s)[0]

    tree = parts.lanes.fill(s.get("parameters"))

    def acting(
        function: Callable[..., Any] | None, what: str, *shapes: tuple[int, ...]
    ) -> Callable[[Any, Any, Any], Any] | None:
        if function is None:
            return None
        return lambda past, q, qd: outer(
            function, {"arm": tree, "t": start + past, "q": q, "qd": qd}, f"simulate: {what}", *shapes
        )

    extra = {name: slice((2 + k) * n, (3 + k) * n) for k, name in enumerate(parts.extra_names)}
    return System(
        tree,
        torque,
        parts.drive,
        parts.friction,
        acting(parts.wrenches, "wrench", (6,), (tree.nb, 6)),
        acting(parts.external, "external", (n,)),
        extra,
    )


def outer(function: Callable[..., Any], signals: Mapping[str, Any], what: str, *shapes: tuple[int, ...]) -> Any:
    """Call a user's function of (arm, t, q, qd) and check the shape of what it returns."""
    value = call_by_name(function, signals)
    if np.shape(value) not in shapes:
        raise InputError(f"{what} must return shape {' or '.join(map(str, shapes))}, got {np.shape(value)}")
    return value


def step_end(parts: Ingredients, tree: Tree, start: Any, x: Any, past: Any, x1: Any, past1: Any) -> dict[str, Any]:
    """What every step ends with: stops at the joint limits, the time since the tick, and the events."""
    n = parts.n
    out: dict[str, Any] = {"past": np.array([past1]), "x": _clamped(x1, parts.clamp, n)}
    if parts.events:
        after = {"arm": tree, "t": start + past1, "q": out["x"][:n], "qd": out["x"][n : 2 * n]}
        out["event"] = np.array([outer(f, after, f"event {name!r}", ()) for name, f in parts.events.items()])
        out["x_before"], out["past_before"] = x, np.array([past])
    return out


def step_program(parts: Ingredients, *, command: str = "held") -> Program:
    """One integrator step. Slots: x, h, tau (held) or ref, ref_next, t (continuous), past (time since the tick)."""
    continuous = command == "law"
    shapes = {"x": (parts.size,), "h": (1,), "past": (1,), **system_slots(parts, continuous)}
    if parts.method.adaptive:
        shapes["left"] = (1,)

    def body(s: dict[str, Any]) -> dict[str, Any]:
        system = system_of(parts, continuous, s)
        x, h, past = s["x"], s["h"][0], s["past"][0]
        out: dict[str, Any] = {}
        if parts.method.adaptive:
            h = np.minimum(h, s["left"][0])
            new, error = parts.method.step(system, past, x, h)
            x1, moved, out["h"] = accept(parts.method, x, new, error, h, s["h"][0], s["left"][0])
            out["left"] = np.array([s["left"][0] - moved])
        else:
            (x1, _), moved = parts.method.step(system, past, x, h), h
        return out | step_end(parts, system.tree, s["t"][0], x, past, x1, past + moved)

    return traced_stage(body, shapes, "step")


def _clamped(x: Any, limits: tuple[Any, Any] | None, n: int) -> Any:
    """Mechanical stops: a joint past its limit is put back and loses the speed that drives it further."""
    if limits is None:
        return x
    lower, upper = limits
    q, qd = list(x[:n]), list(x[n : 2 * n])
    for k in range(n):
        if np.isfinite(upper[k]):
            qd[k] = np.where(q[k] > upper[k], np.minimum(qd[k], 0.0), qd[k])
            q[k] = np.minimum(q[k], upper[k])
        if np.isfinite(lower[k]):
            qd[k] = np.where(q[k] < lower[k], np.maximum(qd[k], 0.0), qd[k])
            q[k] = np.maximum(q[k], lower[k])
    return np.concatenate([np.array(q), np.array(qd), x[2 * n :]])


def loop_plan(parts: Ingredients, law: Stage | None) -> LoopPlan:
    """Put the stages and slots together; without the law's stage, Python calls the law."""
    n, law_in_loop = parts.n, law is not None
    stages = [] if law is None else [law]
    stages += [monitor_stage(parts)] if parts.monitors else []
    if parts.method.name == "rk4":
        from armwright.simulation.staged import rk4_stages  # builds on this module

        stages += rk4_stages(parts)
    else:
        stages.append(stage(step_program(parts, command="law" if parts.continuous else "held"), "inside"))
    slots: dict[str, int] = {"x": parts.size, "tau": n, "t": 1, "past": 1, "h": 1, "ref": 3 * n}
    for part in stages:
        for signals, names in ((part.program.inputs, part.reads), (part.program.outputs, part.writes)):
            slots |= {names[s.name]: s.size for s in signals}
    adaptive = parts.method.adaptive

    def begin(s: dict[str, Any]) -> dict[str, Any]:
        none = 0.0 * s["t"]
        return {"past": none, "left": none + parts.period} if adaptive else {"past": none}

    reset = traced_stage(begin, {"t": (1,)}, "reset")
    shared = ["t", "ref", *(["ref_next"] if parts.continuous else [])]
    lanes = []
    if parts.sensors is not None and law_in_loop:
        lanes = ["noise"]
        shared += ["fresh"] if parts.sensors.every > 1 else []
    record = (
        ["t", "x", "tau"]
        + [k for k in slots if k.startswith("memory_")]
        + (["measured"] if "measured" in slots else [])
    )
    watched = [slot_name(name) for name in monitors.labels(parts.monitors).values()]
    record += watched
    alarms = tuple(name for name in watched if name.endswith("alarm")) if parts.stop_on_alarm else ()
    slots |= {"left": 1} if parts.method.adaptive else {}
    return LoopPlan(
        slots,
        (stage(reset, "before"), *stages),
        tuple(shared),
        tuple(lanes),
        tuple(record),
        ("event",) if parts.events else (),
        ("x", "tau"),
        "left" if adaptive else None,
        alarms,
    )
