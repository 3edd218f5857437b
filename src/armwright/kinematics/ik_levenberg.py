# SPDX-License-Identifier: Apache-2.0
"""Levenberg–Marquardt on pose errors, the whole iteration compiled; every start of every target is a lane.

A step evaluates pose and Jacobian at the trial, keeps the trial if it is better, and solves for the next one. Joint
limits are kept by projection with an active set: a coordinate at its bound whose descent points outwards is held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.graph.kernel import Kernel, backend
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, Slots, stage, traced_stage
from armwright.kinematics.ik_goal import Aim, measure
from armwright.kinematics.ik_result import EXACT
from armwright.spatial.linear import dot, ltdl, ltdl_solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

    Mask = NDArray[np.bool_]

GOAL_TOLERANCE = 0.01 * EXACT
"""Error [m, rad] at which a start has arrived: the last step of Newton's method then lies well inside the promise."""
GRADIENT_AT_MINIMUM = 1e-9
"""Projected gradient over error [-] that counts as a minimum: what 1e-9 rad of joint motion would change."""
FIRST_DAMPING = 1e-2
"""Damping of the first step [-]: the square of singular values of 0.1, for Jacobians that are weighed to be about 1."""
LEAST_DAMPING = 1e-15
"""Damping [-] below which it has no effect on such Jacobians in double precision."""
LARGEST_DAMPING = 1e12
"""Damping [-] at which a step is shorter than 1e-12 rad, so that no step helps."""
LEAST_DAMPING_FACTOR = 0.1
"""Least factor by which a good step lowers the damping (Nielsen's rule)."""

LEAST_PIVOT = 1e-18
"""Number [-] that keeps the pivots of a singular J Jᵀ above 0; far below what counts as singular, 1e-12."""
FIRST = {"cost": np.inf, "promised": 1.0, "damping": FIRST_DAMPING / LEAST_DAMPING_FACTOR, "grow": 2.0, "open": 1.0}
"""Slots before the first step. No trial has a cost yet: the first one is kept, and lowers the damping."""


class IkOutcome(NamedTuple):
    """Where the iteration ended: q (N, n), errors (N,) [m], [rad]; `flat` where it rests in a local minimum."""

    q: Array
    position: Array
    rotation: Array
    flat: Mask


class IkTask(NamedTuple):
    """What is minimised: the aim, the bounds (n,), and the iteration.

    `rows_at` gives the weighted Jacobians (N, rows, n) at configurations (N, n) for goals (N, numbers); `spare` keeps
    the workspaces of `ik_numeric.solve_one`, by the number of lanes, for the next call.
    """

    aim: Aim
    lower: Array
    upper: Array
    length: float
    plan: LoopPlan
    rows_at: Callable[[Array, Array], Array]
    spare: dict[int, list[Any]]


def iteration(
    robot: Robot, body: int | None, aim: Aim, length: float, lower: Array, upper: Array
) -> Callable[[Slots], Slots]:
    """Return one step as a function of its slots; `length` [m] weighs metres against radians."""
    n, rows = robot.n, aim.rows

    def step(s: Slots) -> Slots:
        going = s["open"][0] > 0.0
        f_new, J_new, position_new, rotation_new = measure(robot, body, s["trial"], s["goal"], aim, length)
        gained = 0.5 * (s["cost"][0] - dot(f_new, f_new))
        better = (gained > 0.0) & going
        q, f = np.where(better, s["trial"], s["q"]), np.where(better, f_new, s["f"])
        J = np.where(better, J_new, s["J"].reshape(rows, n))
        position = np.where(better, position_new, s["position"][0])
        rotation = np.where(better, rotation_new, s["rotation"][0])
        ratio = np.minimum(np.where(s["promised"][0] > 0.0, gained / s["promised"][0], 1.0), 1.0)
        bend = 2.0 * ratio - 1.0
        good = np.maximum(s["damping"][0] * np.maximum(LEAST_DAMPING_FACTOR, 1.0 - bend * bend * bend), LEAST_DAMPING)
        damping = np.where(better, good, s["damping"][0] * s["grow"][0])
        grow = np.where(better, 2.0, 2.0 * s["grow"][0])

        g = f @ J
        held = ((q <= lower) & (g < 0.0)) | ((q >= upper) & (g > 0.0))
        cost = dot(f, f)
        largest: Any = 0.0
        for j in range(n):
            largest = np.maximum(largest, np.where(held[j], 0.0, np.abs(g[j])))
        resting = (largest <= GRADIENT_AT_MINIMUM * np.sqrt(cost)) | (damping > LARGEST_DAMPING)
        arrived = np.maximum(position, rotation) <= GOAL_TOLERANCE
        trial = np.minimum(np.maximum(q + _solve(np.where(held, 0.0, J), f, damping), lower), upper)
        left: Traced = f - J @ (trial - q)
        new = {
            "q": q,
            "trial": trial,
            "f": f,
            "J": J.reshape(-1),
            "cost": cost,
            "promised": 0.5 * (cost - dot(left, left)),
            "damping": damping,
            "grow": grow,
            "position": position,
            "rotation": rotation,
            "flat": np.where(resting & ~arrived, 1.0, 0.0),
            "open": np.where(resting | arrived, -1.0, 1.0),
        }
        # a lane that has ended waits for its neighbours
        return {name: np.where(going, np.atleast_1d(np.asarray(value)), s[name]) for name, value in new.items()}

    return step


def _solve(J: Traced, f: Traced, damping: Traced) -> Traced:
    """Solve (JᵀJ + damping) dq = Jᵀf in whichever of the two equivalent forms is smaller."""
    m, n = J.shape
    if m <= n:
        return ltdl_solve(J @ J.T + damping * np.eye(m), f) @ J
    return ltdl_solve(J.T @ J + damping * np.eye(n), f @ J)


def iteration_plan(robot: Robot, body: int | None, aim: Aim, length: float, lower: Array, upper: Array) -> LoopPlan:
    """Return the iteration as a loop of one tick, whose substeps continue while any lane is open."""
    n, rows = robot.n, aim.rows
    one = ("cost", "promised", "damping", "grow", "position", "rotation", "flat", "open")
    slots = {"goal": aim.numbers, "q": n, "trial": n, "f": rows, "J": rows * n, **dict.fromkeys(one, 1), "volume": 2}
    step = iteration(robot, body, aim, length, lower, upper)
    inside = traced_stage(step, {name: (size,) for name, size in slots.items() if name != "volume"}, "ik_step")
    after = traced_stage(lambda s: {"volume": volume(s["J"].reshape(rows, n))}, {"J": (rows * n,)}, "ik_volume")
    return LoopPlan(slots, (stage(inside, "inside"), stage(after, "after")), until="open")


def volume(J: Traced) -> Traced:
    """Determinant and trace of J Jᵀ (2,), which bound the least singular value; nothing for more rows than joints."""
    if J.shape[0] > J.shape[1]:
        return np.array([0.0, 1.0])
    G = J @ J.T
    out: Any = 1.0
    for pivot in ltdl(G + LEAST_PIVOT * np.eye(len(G))).d:
        out = out * pivot
    return np.array([out, np.trace(G)])


def minimise(task: IkTask, goal: Array, start: Array, iterations: int) -> IkOutcome:
    """Minimise the pose error from `start` (N, n) towards `goal` (N, numbers); every start ends on its own.

    A start ends when its error is below `GOAL_TOLERANCE`, when the projected gradient vanishes (a local minimum, where
    no joint motion inside the limits helps), or after `iterations` steps.
    """
    q = np.clip(start, task.lower, task.upper)
    count = len(q)
    given = {
        "goal": goal,
        "q": q,
        "trial": q,
        **FIRST,
    }
    end = (_compiled if backend() == "llvm" else _on_tape)(task.plan, given, count, iterations + 1)
    return IkOutcome(end("q"), end("position")[:, 0], end("rotation")[:, 0], end("flat")[:, 0] > 0.0)


def _compiled(plan: LoopPlan, given: Mapping[str, Any], count: int, most: int) -> Callable[[str], Array]:
    loop = CompiledLoop(plan, count)
    for name, value in given.items():
        loop.set(name, value)
    loop.run(1, substeps=most)
    return loop.get


def _on_tape(plan: LoopPlan, first: Mapping[str, Any], count: int, most: int) -> Callable[[str], Array]:
    """Run the same steps where there is no compiler."""
    step = Kernel(plan.stages[0].program, check_finite=False)
    slots = {name: np.zeros((count, size)) for name, size in plan.slots.items()}
    for name, value in first.items():
        slots[name][...] = value
    for _ in range(most):
        given = {signal.name: slots[signal.name] for signal in step.program.inputs}
        slots.update(zip((signal.name for signal in step.program.outputs), step(**given), strict=True))
        if not (slots["open"] > 0.0).any():
            break
    return slots.__getitem__
