# SPDX-License-Identifier: Apache-2.0
"""The stages of one integrator step: the arm's differential equation, its stops at the joint limits, its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.graph.by_name import call_by_name
from armwright.graph.loop_plan import Slots, Stage, stage, traced_stage
from armwright.simulation.integrators import POINTS, accept, finished, onward
from armwright.simulation.loop_stages import LawAtWork, hermite, reference_of
from armwright.simulation.system import System

if TYPE_CHECKING:
    from armwright.graph.traced_program import TracedProgram
    from armwright.robot.tree import Tree
    from armwright.simulation.control_loop import Loop
    from armwright.types import Array, Traced


def system_slots(parts: Loop) -> dict[str, tuple[int, ...]]:
    """Slots that the differential equation reads besides its state: torque or law and references, time, parameters."""
    n = parts.n
    slots: dict[str, tuple[int, ...]] = {"t": (1,)}
    slots |= {"ref_next": (3 * n,), **LawAtWork(parts).shapes} if parts.continuous else {"tau": (n,)}
    if parts.lanes.places:
        slots["parameters"] = (len(parts.lanes.places),)
    return slots | {f"input_{name}": shape for name, shape in parts.inputs.items()}


def system_of(parts: Loop, s: Slots) -> System:
    """The differential equation with its inputs from slots `s`."""
    n, law, dt, start = parts.n, LawAtWork(parts), parts.period, s["t"][0]

    def torque(past: Traced, q: Traced, qd: Traced) -> Traced:
        if not parts.continuous:
            return s["tau"]
        ref = hermite(past / dt, dt, reference_of(s["ref"], n), reference_of(s["ref_next"], n))
        return law(start + past, q, qd, ref, s)[0]

    tree = parts.lanes.fill(s.get("parameters"))
    inputs = {name: s[f"input_{name}"] for name in parts.inputs}

    def acting(function: Callable[..., Traced] | None, what: str, *shapes: tuple[int, ...]) -> Any:
        if function is None:
            return None

        def act(past: Traced, q: Traced, qd: Traced, tau: Traced | None = None) -> Traced:
            given = {} if tau is None else {"tau": tau}
            signals = {"arm": tree, "t": start + past, "q": q, "qd": qd, **given, **inputs}
            return outer(function, signals, f"simulate: {what}", *shapes)

        return act

    extra = {name: slice((2 + k) * n, (3 + k) * n) for k, name in enumerate(parts.extra_names)}
    return System(
        tree,
        torque,
        parts.drive,
        parts.friction,
        acting(parts.wrench, "wrench", (6,), (tree.nb, 6)),
        acting(parts.external, "external", (n,)),
        acting(parts.dry_friction, "dry_friction", (n,)),
        extra,
        parts.creep and bool(np.any(tree.dead_zone)),
    )


def outer(function: Callable[..., Traced], signals: Mapping[str, Any], what: str, *shapes: tuple[int, ...]) -> Traced:
    """Call a user's function of (arm, t, q, qd, …) and check the shape of what it returns."""
    value = call_by_name(function, signals)
    if np.shape(value) not in shapes:
        raise InputError(f"{what} must return shape {' or '.join(map(str, shapes))}, got {np.shape(value)}")
    return value


def event_values(parts: Loop, t: float, x: Array) -> Array:
    """Values of all events (k,) at time t [s] and state x (size,)."""
    given = {"arm": parts.lanes.tree, "t": t, "q": x[: parts.n], "qd": x[parts.n : 2 * parts.n]}
    return np.array([float(call_by_name(f, given)) for f in parts.stops.values()])


def step_end(parts: Loop, tree: Tree, start: Traced, x: Traced, past: Traced, x1: Traced, past1: Traced) -> Slots:
    """What every step ends with: stops at the joint limits, the time since the tick, and the events."""
    n = parts.n
    out: Slots = {"past": np.array([past1]), "x": _clamped(x1, parts.clamp, n)}
    if parts.stops:
        after = {"arm": tree, "t": start + past1, "q": out["x"][:n], "qd": out["x"][n : 2 * n]}
        out["event"] = np.array([outer(f, after, f"event {name!r}", ()) for name, f in parts.stops.items()])
        out["x_before"], out["past_before"] = x, np.array([past])
    return out


def step_program(parts: Loop) -> TracedProgram:
    """One integrator step. Slots: x, h, tau (held) or ref, ref_next, t (continuous), past (time since the tick)."""
    shapes = {"x": (parts.size,), "h": (1,), "past": (1,), **system_slots(parts)}
    if parts.method.adaptive:
        shapes["left"] = (1,)

    def body(s: Slots) -> Slots:
        system = system_of(parts, s)
        x, h, past = s["x"], s["h"][0], s["past"][0]
        out: Slots = {}
        if parts.method.adaptive:
            h = np.minimum(h, s["left"][0])
            new, error = parts.method.step(system, past, x, h)
            x1, moved, out["h"] = accept(parts.method, x, new, error, h, s["h"][0], s["left"][0])
            out["left"] = np.array([s["left"][0] - moved])
        else:
            (x1, _), moved = parts.method.step(system, past, x, h), h
        return out | step_end(parts, system.tree, s["t"][0], x, past, x1, past + moved)

    return traced_stage(body, shapes, "step")


def _clamped(x: Traced, limits: tuple[Array, Array] | None, n: int) -> Traced:
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


def step_stages(parts: Loop) -> list[Stage]:
    """The "inside" stages of a loop: one, or for RK4 its slopes and what lies between them."""
    if parts.method.name == "rk4":
        return _rk4_stages(parts)
    return [stage(step_program(parts), "inside")]


def _rk4_stages(parts: Loop) -> list[Stage]:
    """Begin, then four times slope and advance; the slope is traced and compiled once."""
    given = system_slots(parts)
    vector, one = (parts.size,), (1,)
    moving = {"x": vector, "slope": vector, "sum": vector, "h": one, "past": one}
    closing = moving | {"t": one} | ({"parameters": given["parameters"]} if "parameters" in given else {})

    def begin(s: Slots) -> Slots:
        return {"at": s["x"], "at_time": s["past"], "sum": 0.0 * s["x"]}

    def slope(s: Slots) -> Slots:
        return {"slope": system_of(parts, s).derivative(s["at_time"][0], s["at"])}

    def between(point: tuple[float, float]) -> Stage:
        def body(s: Slots) -> Slots:
            total, time, at = onward(s["past"][0], s["x"], s["h"][0], s["sum"], s["slope"], point)
            return {"sum": total, "at": at, "at_time": np.array([time])}

        return stage(traced_stage(body, moving, "onward"), "inside")

    def end(s: Slots) -> Slots:
        x1 = finished(s["x"], s["h"][0], s["sum"], s["slope"])
        tree = parts.lanes.fill(s.get("parameters"))
        return step_end(parts, tree, s["t"][0], s["x"], s["past"][0], x1, s["past"][0] + s["h"][0])

    derivative = stage(traced_stage(slope, {"at": vector, "at_time": one, **given}, "slope"), "inside")
    stages = [stage(traced_stage(begin, {"x": vector, "past": one}, "begin"), "inside")]
    for point in POINTS:
        stages += [derivative, between(point)]
    return [*stages, derivative, stage(traced_stage(end, closing, "end"), "inside")]
