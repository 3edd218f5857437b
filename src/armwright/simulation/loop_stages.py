# SPDX-License-Identifier: Apache-2.0
"""The stages of a loop that run once per tick: sense, law, monitors."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact import monitor as monitors
from armwright.control.law import run
from armwright.control.tick_function import initial_memory
from armwright.graph.loop_plan import Slots, Stage, stage, traced_stage
from armwright.motion.trajectory import Reference
from armwright.simulation.sensors import tool_wrench

if TYPE_CHECKING:
    from armwright.simulation.control_loop import Loop
    from armwright.types import Traced


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
    """The law at work on symbols: its varying gains and its memory come from slots.

    Outside of a simulation the wrench that it feels is measured: with `measured` it comes from a slot (6,), too.
    """

    def __init__(self, parts: Loop, *, measured: bool = False) -> None:
        self.parts, self.measured = parts, measured
        law, n = parts.law, parts.n
        self.memory = {f"memory_{k}": tuple(np.shape(v)) for k, v in initial_memory(law, n).items()}
        self.varying = {f"gain_{k}": tuple(np.shape(law.gains[k])[1:]) for k in parts.gains_vary}
        self.shapes: dict[str, tuple[int, ...]] = {"t": (1,), "ref": (3 * n,), **self.memory, **self.varying}
        wants = "wrench" in signature(law.function).parameters
        self.feels = parts.wrench is not None and wants and not measured
        self.shapes |= parts.model_slots
        self.shapes |= {"wrench": (6,)} if measured and wants else {}
        if self.feels and parts.lanes.places:
            self.shapes["parameters"] = (len(parts.lanes.places),)

    def __call__(
        self,
        t: Traced,
        q: Traced,
        qd: Traced,
        ref: Reference,
        slots: Mapping[str, Any],
        true: tuple[Traced, Traced] | None = None,
    ) -> tuple[Traced, dict[str, Traced]]:
        """Torque and new memory at what is measured; `true` is (q, qd) where that differs."""
        parts = self.parts
        gains = {k: slots[f"gain_{k}"] if k in parts.gains_vary else v for k, v in parts.law.gains.items()}
        memory = {k: slots[f"memory_{k}"] for k in parts.law.memory}
        signals = {"arm": parts.model_in(slots), "t": t, "q": q, "qd": qd, "ref": ref, "dt": parts.period}
        if self.feels:
            assert parts.wrench is not None
            plant = parts.lanes.fill(slots.get("parameters"))
            signals["wrench"] = tool_wrench(parts.wrench, plant, t, *(true or (q, qd)))
        elif "wrench" in self.shapes:
            signals["wrench"] = slots["wrench"]
        tau, after = run(parts.law, signals, gains, memory)
        return tau, after


def law_stage(parts: Loop, *, measured: bool = False) -> Stage:
    """Sense, then compute the torque for the tick and the law's new memory (once a tick in every mode)."""
    n, law = parts.n, LawAtWork(parts, measured=measured)
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


def monitor_stage(parts: Loop) -> Stage:
    """Watch: every monitor once per tick, after the law, on what the controller measures and commands."""
    n = parts.n
    shapes: dict[str, tuple[int, ...]] = {"t": (1,), "ref": (3 * n,), "tau": (n,)}
    shapes |= {"x": (parts.size,)} if parts.sensors is None else {"measured": (2 * n,)}
    shapes |= parts.model_slots
    starts = [initial_memory(monitor, n) for monitor in parts.monitors]
    shapes |= {f"monitor{k}_{name}": np.shape(value) for k, start in enumerate(starts) for name, value in start.items()}
    shapes |= {
        gain_slot(k, name): np.shape(monitor.gains[name]) or (1,)
        for k, monitor in enumerate(parts.monitors)
        for name in monitor.vary
    }

    def body(s: Slots) -> Slots:
        state = s["x"] if parts.sensors is None else s["measured"]
        ref = reference_of(s["ref"], n)
        signals = {
            "arm": parts.model_in(s),
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
        gains = [
            {
                name: s[gain_slot(k, name)] if np.ndim(monitor.gains[name]) else s[gain_slot(k, name)][0]
                for name in monitor.vary
            }
            for k, monitor in enumerate(parts.monitors)
        ]
        out, kept = monitors.run_chain(parts.monitors, signals, memories, gains)
        values = {slot_name(name): np.atleast_1d(value) for name, value in out.items()}
        return values | {f"monitor{k}_{name}": value for k, memory in enumerate(kept) for name, value in memory.items()}

    return stage(traced_stage(body, shapes, "monitors"), "before")


def gain_slot(k: int, name: str) -> str:
    """Name of the slot of a gain of monitor k that varies."""
    return f"gain{k}_{name}"


def slot_name(label: str) -> str:
    """Name of the slot and recorded signal of a monitor's output ("observer.tau_ext" → "observer_tau_ext")."""
    return "".join(c if c.isalnum() else "_" for c in label)
