# SPDX-License-Identifier: Apache-2.0
"""What a loop is made of, and its stages that run once per tick: sense, law, monitors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact import monitor as monitors
from armwright.control.law import Law, run
from armwright.control.simple_laws import zero
from armwright.control.tick_function import initial_memory
from armwright.graph.fingerprint import NotComparable, fingerprint
from armwright.graph.loop_plan import Slots, Stage, stage, traced_stage
from armwright.motion.trajectory import Reference
from armwright.simulation.integrators import Integrator
from armwright.simulation.sensors import tool_wrench

if TYPE_CHECKING:
    from armwright.contact.monitor import Monitor
    from armwright.robot.tree import Tree
    from armwright.simulation.drives import Drive
    from armwright.simulation.friction_models import FrictionModel
    from armwright.simulation.lanes import Lanes
    from armwright.simulation.sensors import JointSensors
    from armwright.types import Traced


@dataclass(frozen=True, eq=False)
class Ingredients:
    """What a loop is made of; see `armwright.simulation.simulation_run` for the meaning of each."""

    lanes: Lanes
    model: Tree | None
    law: Law
    method: Integrator
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
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.lanes.tree.n

    def key(self) -> tuple[Traced, ...] | None:
        """What the traced loop depends on, for reuse within a process; None if that cannot be told."""
        try:
            return self._key()
        except NotComparable:
            return None

    def step_key(self) -> tuple[Traced, ...] | None:
        """The same for the step alone: a held torque hides the law from it."""
        if self.continuous:
            return self.key()
        return replace(self, law=zero(), gains_vary=()).key()

    def _key(self) -> tuple[Traced, ...]:
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
            tuple(self.inputs.items()),
        )

    @property
    def extra_names(self) -> tuple[str, ...]:
        """States beyond q and qd, each of n numbers."""
        return (self.drive.state_names if self.drive else ()) + (self.friction.state_names if self.friction else ())

    @property
    def size(self) -> int:
        """Length of the state x."""
        return self.n * (2 + len(self.extra_names))


def hermite(s: Traced, dt: float, a: Reference, b: Reference) -> Reference:
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


def reference_of(row: Traced, n: int) -> Reference:
    """The reference in a row of a table or a slot (3n,)."""
    return Reference(row[:n], row[n : 2 * n], row[2 * n :])


class LawAtWork:
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
        self, t: Traced, q: Traced, qd: Traced, ref: Reference, slots: Mapping[str, Any], true: Traced = None
    ) -> tuple[Traced, dict[str, Traced]]:
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


def law_stage(parts: Ingredients) -> Stage:
    """Sense, then compute the torque for the tick and the law's new memory (once a tick in every mode)."""
    n, law = parts.n, LawAtWork(parts)
    shapes = {"x": (parts.size,), **law.shapes}
    sensors = parts.sensors
    if sensors is not None:
        shapes |= {"noise": (2 * n,), "line": ((sensors.delay + 1) * 2 * n,), "fresh": (1,)}

    def body(s: Slots) -> Slots:
        q, qd = s["x"][:n], s["x"][n : 2 * n]
        out: Slots = {}
        if sensors is not None:
            measured = np.concatenate(sensors.read(q, qd, s["noise"]))
            if sensors.every > 1:
                measured = np.where(s["fresh"][0] > 0.0, measured, s["line"][: 2 * n])
            out["line"] = np.concatenate([measured, s["line"][: -2 * n]]) if sensors.delay else measured
            q, qd = out["line"][-2 * n : -n], out["line"][-n:]
            out["measured"] = np.concatenate([q, qd])
        true = s["x"][:n], s["x"][n : 2 * n]
        tau, after = law(s["t"][0], q, qd, reference_of(s["ref"], n), s, true)
        out["tau"] = tau
        return out | {f"memory_{k}": v for k, v in after.items()}

    return stage(traced_stage(body, shapes, "law"), "before")


def monitor_stage(parts: Ingredients) -> Stage:
    """Watch: every monitor once per tick, after the law, on what the controller measures and commands."""
    n = parts.n
    shapes: dict[str, tuple[int, ...]] = {"t": (1,), "ref": (3 * n,), "tau": (n,)}
    shapes |= {"x": (parts.size,)} if parts.sensors is None else {"measured": (2 * n,)}
    if parts.model is None and parts.lanes.places:
        shapes["parameters"] = (len(parts.lanes.places),)
    starts = [initial_memory(monitor, n) for monitor in parts.monitors]
    shapes |= {f"monitor{k}_{name}": np.shape(value) for k, start in enumerate(starts) for name, value in start.items()}

    def body(s: Slots) -> Slots:
        state = s["x"] if parts.sensors is None else s["measured"]
        ref = reference_of(s["ref"], n)
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
