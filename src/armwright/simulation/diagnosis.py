# SPDX-License-Identifier: Apache-2.0
"""Why a loop cannot run, or stopped: the joint, the moment, the likely cause, and what would work.

Before a run, the loop is linearised numerically around its present state: the compiled tick is run on perturbed states.
If the largest factor by which one tick multiplies a small deviation means a growth faster than any arm can fall, the
cause is the step, not the physics; the limit and a step that works are said (`explain_stability`). After a run that
failed, `explain` says the same of the state it failed in.
"""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.control.gains import Linear, hold_radius
from armwright.control.law import run
from armwright.errors import SimulationError
from armwright.graph.by_name import call_by_name
from armwright.graph.loop import LoopOutcome
from armwright.motion.trajectory import Reference
from armwright.robot.tree import Tree
from armwright.simulation.dry_friction_check import (
    check_dry_friction,
    has_dry_friction,
    holding_remedies,
    plant_of,
    switching,
)
from armwright.simulation.integrators import SEMI_IMPLICIT, Integrator
from armwright.simulation.sensors import tool_wrench
from armwright.simulation.simulate_checks import PLAUSIBLE
from armwright.simulation.step_advice import Remedy, higher_rate, more_substeps, runs, tried
from armwright.simulation.system import System

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from armwright.motion import Trajectory
    from armwright.simulation.running_loop import RunningLoop
    from armwright.types import Array, Traced

IMPLAUSIBLE_RATE = 100.0  # 1/s: an inverted forearm falls with 10 to 30
GROWN = "the state grew without bound"
NEAR_LIMIT = 1.2  # a step this near the linear limit is to blame: contacts and friction are stiffer a little further on


def growth(J: Traced) -> tuple[float, Traced]:
    """Largest eigenvalue modulus of a tick's Jacobian and its eigenvector."""
    if not np.isfinite(J).all():
        return np.inf, np.zeros(len(J))
    values, vectors = np.linalg.eig(J)
    k = int(np.argmax(np.abs(values)))
    return float(np.abs(values[k])), np.abs(vectors[:, k])


def largest_period(linear: Linear) -> float:
    """Longest control period for which the held loop does not grow faster than the continuous one, by bisection [s]."""
    own = max(0.0, float(np.linalg.eigvals(linear.A + linear.B @ linear.K).real.max()))

    def stable(period: float) -> bool:
        return hold_radius(linear, period) <= float(np.exp((own + 1.0) * period))

    return _bisect(stable)


def largest_step(linear: Linear, method: Integrator) -> float:
    """Longest step of an explicit method for the continuous closed loop [s]."""
    values = np.linalg.eigvals(linear.A + linear.B @ linear.K)
    decaying = values[values.real < 0.0]
    return _bisect(lambda h: all(method.growth(complex(h * z)) <= 1.0 + 1e-9 for z in decaying))


def _bisect(stable: Callable[[float], bool]) -> float:
    low, high = 1e-7, 1.0
    if not stable(low):
        return 0.0
    if stable(high):
        return high
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def linearise(
    derivative: Callable[[Any, Any], Any], law: Callable[[Any], Any], x: Traced, u: Traced, step: float = 1e-6
) -> Linear:
    """A, B, K by central differences of float functions derivative(x, u) and law(x)."""

    def slope(f: Callable[[Any], Any], at: Traced) -> Traced:
        columns = []
        for k in range(len(at)):
            d = step * max(1.0, abs(at[k])) * np.eye(len(at))[k]
            columns.append((f(at + d) - f(at - d)) / (2.0 * d[k]))
        return np.array(columns).T

    return Linear(slope(lambda z: derivative(z, u), x), slope(lambda v: derivative(x, v), u), slope(law, x))


def unstable(linear: Linear) -> bool:
    """Whether the continuous closed loop itself grows faster than an arm can fall: then no step is to blame."""
    return float(np.linalg.eigvals(linear.A + linear.B @ linear.K).real.max()) > IMPLAUSIBLE_RATE


def _fastest(poles: NDArray[Any]) -> str:
    """Write the pole that is farthest from zero; one that swings with its imaginary part."""
    pole = complex(poles[int(np.argmax(np.abs(poles)))])
    return f"{pole.real:.0f}" if abs(pole.imag) < abs(pole.real) else f"{pole.real:.0f} ± {abs(pole.imag):.0f}i"


def explain_stability(running: RunningLoop, linear: Linear, joint: str) -> tuple[str, list[Remedy]]:
    """Say why the loop cannot run as asked, and what might."""
    parts, method, step = running.parts, running.parts.method, running.step
    poles = np.linalg.eigvals(linear.A + linear.B @ linear.K)
    growing = float(poles.real.max())
    if not parts.continuous:
        limit = largest_period(linear)
        if limit < parts.period:
            rate = higher_rate(max(limit, 1e-9))
            said = (
                f"this law held for {parts.period * 1e3:.4g} ms cannot be stable here: the closed loop has a pole at "
                f"{_fastest(poles)} 1/s (joint {joint}); the limit is about {limit * 1e3:.3g} ms "
                f"(rate ≥ {1.0 / max(limit, 1e-9):.0f} 1/s)"
            )
            stiff = {"continuous": True, "integrator": "rodas3"}
            return said, [
                Remedy(f"rate={rate:g}", {"rate": rate}),
                Remedy('the law acting continuously (continuous=True) with the stiff integrator "rodas3"', stiff),
            ]
        # the law may be held that long; can the integrator follow the arm, its friction, its drive and its contacts?
        linear = Linear(linear.A, linear.B, 0.0 * linear.K)
        poles = np.linalg.eigvals(linear.A)
    limit = largest_step(linear, method)
    if limit < NEAR_LIMIT * step:
        what = "the closed loop has" if parts.continuous else "arm, friction, drive and contacts have"
        said = (
            f"{method.name} with a step of {step * 1e3:.4g} ms cannot be stable here: {what} a pole at "
            f"{_fastest(poles)} 1/s (joint {joint}); the limit is about {limit * 1e3:.3g} ms"
        )
        return said, step_remedies(running, linear, max(limit, 1e-9))
    if growing > 0.5:
        said = (
            f"the closed loop is unstable in itself, whatever the step: a deviation grows with "
            f"{growing:.3g} 1/s (joint {joint}); "
            "look at the signs of the gains, the drive's lag and the model"
        )
        return said, []
    return f"{GROWN} (joint {joint}), though the loop is stable around where it was", []


def step_remedies(running: RunningLoop, linear: Linear, limit: float) -> list[Remedy]:
    """Steps and integrators that may follow an arm for which a step is too long; `limit` [s] of the present method."""
    if has_dry_friction(running):  # explicit steps chatter where a joint should rest
        number = more_substeps(running, min(limit, max(largest_step(linear, SEMI_IMPLICIT), 1e-9)))
        return holding_remedies(running, number)
    number = more_substeps(running, limit)
    return [
        Remedy(f"more substeps ({number})", {"substeps": number}),
        Remedy('the stiff integrator "rodas3"', {"integrator": "rodas3"}),
    ]


FRICTION_SLOPE_SPEED = 0.1  # rad/s (m/s): speed at which dry friction has a slope
USUAL_ROTORS = 0.1  # kg m² at the joint of an arm like the UR5, see `Robot.with_rotors`
MOST_LANES = 64  # of a batch whose eigenvalues are computed: those with the largest Jacobians


def check_step(running: RunningLoop) -> None:
    """Raise `SimulationError` if the step cannot be stable at the present state, or cannot hold dry friction."""
    if running.called or running.parts.method.adaptive:
        return
    refused = too_long(running)
    if refused is not None:
        lane, joint, x = refused
        which = f"simulation {lane}: " if running.count > 1 else ""
        raise SimulationError(which + explain(running, x, joint, lane, (running.state, running.following[1])))
    check_dry_friction(running, lambda lane: law_of(running, lane), _is_sound)


def _is_sound(running: RunningLoop) -> bool:
    """Whether a trial passes the checks that a loop is refused by."""
    if running.parts.method.adaptive:
        return True
    return too_long(running) is None and switching(running, lambda lane: law_of(running, lane)) is None


def too_long(running: RunningLoop) -> tuple[int, str, Array] | None:
    """Lane, joint and state (size,) for which the step cannot be stable, None if there is none."""
    parts, n = running.parts, running.parts.n
    x = running.state
    if (np.any(parts.lanes.tree.coulomb != 0.0) and parts.friction is None) or parts.dry_friction is not None:
        # at rest Coulomb friction jumps: its slope says nothing about the step
        x[:, n : 2 * n] = np.where(
            np.abs(x[:, n : 2 * n]) < FRICTION_SLOPE_SPEED, FRICTION_SLOPE_SPEED, x[:, n : 2 * n]
        )
    J = tick_jacobians(running, x)
    if not np.isfinite(J).all():
        _check_first_torque(running)
        J = np.nan_to_num(J, nan=0.0, posinf=0.0, neginf=0.0)  # the run will say where the state goes
    suspects = np.argsort(-np.abs(J).sum(axis=2).max(axis=1), kind="stable")[:MOST_LANES]
    for lane in suspects.tolist():
        radius, direction = growth(J[lane])
        if np.log(radius) > IMPLAUSIBLE_RATE * parts.period and not unstable(linearised(running, x[lane], lane)):
            return lane, running.robot.joints[int(np.argmax(direction)) % n].name, x[lane]
    return None


def _check_first_torque(running: RunningLoop) -> None:
    """Raise `SimulationError` if the law returns no torque at the start; nothing moves."""
    loop = running.loop
    lanes = np.zeros((running.count, 1, len(loop.plan.lane_slots))) if loop.plan.lanes else None
    with loop.trial():
        loop.run(1, substeps=0, shared=running.shared_table(1), lanes=lanes)
        tau = loop.get("tau")
    for lane in np.flatnonzero(~np.isfinite(tau).all(axis=1)).tolist():
        raise SimulationError(not_a_torque(running, tau[lane], running.time, lane))


def not_a_torque(running: RunningLoop, tau: Array, t: float, lane: int = 0) -> str:
    """What is wrong with torques tau (n,) at time t."""
    joint = running.robot.joints[int(np.argmin(np.isfinite(tau)))].name
    which = f" (simulation {lane})" if running.count > 1 else ""
    return (
        f"law {running.parts.law.name!r} returned {tau.tolist()} at t = {t:.6g} s (joint {joint}){which}; "
        "torques must be finite"
    )


def tick_jacobians(running: RunningLoop, x: Array) -> Array:
    """∂x⁺/∂x (B, N, N) of one tick of every simulation at states x (B, N), by central differences of the loop."""
    loop, N = running.loop, x.shape[1]
    shared = running.shared_table(1)
    lanes = np.zeros((running.count, 1, len(loop.plan.lane_slots))) if loop.plan.lanes else None
    with loop.trial():
        loop.set("x", x)
        start = loop.memory.copy()
        first = loop.plan.offset("x")
        state = loop.memory[:, first : first + N]  # (groups, N, width), as the loop has it
        moved = _perturbation(running) * np.maximum(1.0, np.abs(state))

        def after(k: int, sign: float) -> Array:
            loop.memory[...] = start
            state[:, k] += sign * moved[:, k]
            loop.run(1, substeps=running.substeps, shared=shared, lanes=lanes)
            return state.copy()

        columns = [(after(k, 1.0) - after(k, -1.0)) / (2.0 * moved[:, k : k + 1]) for k in range(N)]
    return np.stack(columns, axis=-1).transpose(0, 2, 1, 3).reshape(-1, N, N)[: running.count]


def _perturbation(running: RunningLoop) -> float:
    """Small, but wider than the steps of a quantised sensor."""
    sensors = running.parts.sensors
    if sensors is None:
        return 1e-6
    coarse = max(float(np.max(r)) for r in (sensors.position_resolution, sensors.velocity_resolution))
    return max(1e-6, 50.5 * coarse)


def law_of(running: RunningLoop, lane: int = 0, plant: Tree | None = None) -> Callable[[Array], Array]:
    """The law of one simulation as a function of the state x (size,) → tau (n,), at the present time, on floats."""
    parts = running.parts
    n, ref = parts.n, Reference(*(part[0] for part in running.reference_at(np.array([running.time]))))
    arm = plant_of(running, lane) if plant is None else plant
    model = arm if parts.model_tree is None else parts.model_tree
    felt = parts.wrench if "wrench" in signature(parts.law.function).parameters else None

    def law(z: Array) -> Array:
        signals = {"arm": model, "t": running.time, "q": z[:n], "qd": z[n : 2 * n], "ref": ref, "dt": parts.period}
        if felt is not None:
            signals["wrench"] = tool_wrench(felt, arm, np.array(running.time), z[:n], z[n : 2 * n])
        gains = {k: v[lane] if k in parts.gains_vary else v for k, v in parts.law.gains.items()}
        return np.asarray(run(parts.law, signals, gains, running.memory).tau, dtype=np.float64)

    return law


def linearised(running: RunningLoop, x: Array, lane: int = 0, rotors: float = 0.0) -> Linear:
    """The loop of one simulation around state x: arm, drive, friction, what the world does to it, and the law.

    `rotors` is added to the inertia of every joint [kg m²].
    """
    parts, n, plant = running.parts, running.parts.n, plant_of(running, lane)
    if rotors:
        plant = replace(plant, armature=plant.armature + rotors * np.eye(n))
    law = law_of(running, lane, plant)
    extra = {name: slice((2 + k) * n, (3 + k) * n) for k, name in enumerate(parts.extra_names)}

    given = {name: np.zeros(shape) for name, shape in parts.inputs.items()}  # of a loop stepped by hand: at rest

    def world(function: Callable[..., Traced] | None) -> Callable[..., Traced] | None:
        if function is None:
            return None

        def act(t: Traced, q: Traced, qd: Traced, tau: Traced | None = None) -> Traced:
            signals = {"arm": plant, "t": running.time + t, "q": q, "qd": qd, **given}
            return call_by_name(function, signals if tau is None else {**signals, "tau": tau})

        return act

    # a stiff contact may be what the step cannot follow
    surroundings = world(parts.wrench), world(parts.external), world(parts.dry_friction)

    def derivative(z: Traced, u: Traced) -> Traced:
        return System(plant, lambda *_: u, parts.drive, parts.friction, *surroundings, extra).derivative(0.0, z)

    return linearise(derivative, law, x, law(x))


def explain(
    running: RunningLoop, x: Array, joint: str, lane: int = 0, start: tuple[Array, Trajectory | Reference] | None = None
) -> str:
    """Say why the step is too long at x (size,), and what runs from `start`: states (B, size) and the reference."""
    parts, linear = running.parts, linearised(running, x, lane)
    said, remedies = explain_stability(running, linear, joint)
    bare = not np.any(parts.lanes.tree.armature) and parts.model_tree is None and not parts.continuous
    if start is None or not running.advises:
        return said
    if remedies:
        said += f"; {tried(running, remedies, start, _is_sound)}"
    if bare and type(parts.lanes.tree) is Tree and largest_period(linear) < parts.period:
        heavier = tuple(robot.with_rotors(USUAL_ROTORS) for robot in parts.robots)
        rotors = Remedy(f"robot.with_rotors({USUAL_ROTORS:g})", {"robots": heavier, "plant": None})
        if runs(running, rotors, start, _is_sound):
            said += (
                ". The description has no rotors, which carry most of the inertia in the joints of such an arm: "
                f"{rotors.words} runs as asked"
            )
    return said


def _first_state(running: RunningLoop) -> tuple[Array, Trajectory | Reference] | None:
    """Where a run began, for trials: recorded states (B, size) and the reference; None if that was forgotten."""
    log = running.log
    if log.first or not log.count or running.following[0] != 0.0:
        return None
    return log.rows()[:, 0, 1 : 1 + running.parts.size].copy(), running.following[1]


def diverged(running: RunningLoop, outcomes: list[LoopOutcome]) -> None:
    """Raise `SimulationError`: when, which joint, and the likely cause."""
    parts, n = running.parts, running.parts.n
    running.outcome = "diverged"
    x, tau = running.loop.get("x"), running.loop.get("tau")
    bad = np.flatnonzero(~np.isfinite(np.concatenate([x, tau], axis=1)).all(axis=1))
    lane = int(bad[0]) if len(bad) else 0
    which = f" (simulation {lane})" if running.count > 1 else ""
    rows = running.log.rows()[lane, :, : 1 + parts.size]
    last = rows[np.isfinite(rows).all(axis=1)]
    if not np.isfinite(tau[lane]).all() and (len(last) == 0 or np.abs(last[-1][1:]).max() < PLAUSIBLE):
        raise SimulationError(not_a_torque(running, tau[lane], running.time, lane))
    if any(outcome.reason == "stuck" for outcome in outcomes):
        raise SimulationError(
            f"{parts.method.name} made no progress at t = {running.time:.6g} s{which}: its step shrank to nothing; "
            'a law or friction that jumps, or returns NaN, needs a fixed step ("semi-implicit" for dry friction)'
        )
    if len(last) == 0:
        raise SimulationError(
            f"the state is not finite after the first tick (t = {running.time:.6g} s){which}: "
            "check gains and initial state"
        )
    qd = last[-1][1 + n : 1 + 2 * n]
    joint = running.robot.joints[int(np.argmax(np.abs(qd)))].name
    raise SimulationError(
        f"diverged at t = {running.time:.6g} s{which}: joint {joint} reached {np.abs(qd).max():.3g} rad/s; "
        f"likely cause: {_cause(running, last[:, 1:], joint, lane)}"
    )


def _cause(running: RunningLoop, states: Array, joint: str, lane: int) -> str:
    """Say why it diverged: what is wrong shortly before the end, or else what was wrong at the start already."""
    start = _first_state(running)
    for x in (states[max(0, len(states) - 10)], states[0]):
        try:
            with np.errstate(all="ignore"):
                cause = explain(running, x, joint, lane, start)
        except (FloatingPointError, np.linalg.LinAlgError, ValueError, TypeError):
            continue  # numbers too large to be judged
        if GROWN not in cause:
            return cause
    return f"{GROWN} (joint {joint})"
