# SPDX-License-Identifier: Apache-2.0
"""The closed loop that every peer runs: a UR5 under computed torque, 2 s, torque held for 1 ms, RK4 steps of 1 ms.

The reference is a quintic spline; peers get it as arrays, one row per tick.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from armwright.types import Array


DURATION, PERIOD = 2.0, 1e-3
TICKS = round(DURATION / PERIOD)
KP, KD = 100.0, 20.0
CHECKED_TICKS = 150  # compared with the NumPy source run on floats
BENCH_START = (0.1, -1.2, 1.0, -0.5, 0.3, 0.2)
START_OFFSET = (0.05, -0.05, 0.05, -0.05, 0.05, -0.05)  # the run begins off the reference, so that feedback has work


def waypoints() -> Array:
    """Return the rows (7, 6) of the spline."""
    return np.array(BENCH_START) + np.random.default_rng(3).uniform(-0.6, 0.6, (7, 6))


def start() -> Array:
    """Return the initial position (6,)."""
    return waypoints()[0] + START_OFFSET


def python_loop(
    inverse: Callable[[Array, Array, Array], Array],
    forward: Callable[[Array, Array, Array], Array],
    task: Mapping[str, Array],
    ticks: int = TICKS,
) -> Array:
    """Run the loop in NumPy with a library's inverse(q, v, a) and forward(q, v, tau); return the final state (12,)."""
    q_ref, qd_ref, qdd_ref = (list(task[key]) for key in ("q_ref", "qd_ref", "qdd_ref"))
    q, v = task["q0"].copy(), np.zeros(6)
    h, half, sixth = PERIOD, 0.5 * PERIOD, PERIOD / 6.0
    for k in range(ticks):
        tau = inverse(q, v, qdd_ref[k] + KP * (q_ref[k] - q) + KD * (qd_ref[k] - v))
        a1 = forward(q, v, tau)
        v2 = v + half * a1
        a2 = forward(q + half * v, v2, tau)
        v3 = v + half * a2
        a3 = forward(q + half * v2, v3, tau)
        v4 = v + h * a3
        a4 = forward(q + h * v3, v4, tau)
        q = q + sixth * (v + 2.0 * (v2 + v3) + v4)
        v = v + sixth * (a1 + 2.0 * (a2 + a3) + a4)
    return np.concatenate([q, v])


def made_task() -> dict[str, Any]:
    """Return the reference at every tick (T, 6), the start q0 (6,), and the state (12,) after a few ticks by floats."""
    from armwright.bench.prepare_arms import arm, forward
    from armwright.dynamics.newton_euler import rnea
    from armwright.motion import quintic_spline

    tree = arm("ur5").tree
    ref = quintic_spline(waypoints(), DURATION).evaluate(PERIOD * np.arange(TICKS))
    task = {"q_ref": ref.q, "qd_ref": ref.qd, "qdd_ref": ref.qdd, "q0": start()}
    state = python_loop(
        lambda q, v, a: rnea(tree, q, v, a), lambda q, v, tau: forward(tree, q, v, tau), task, CHECKED_TICKS
    )
    return {"state": state, **task}


def prepare_task(folder: Path) -> None:
    """Write loop/task.npz."""
    (folder / "loop").mkdir()
    np.savez(folder / "loop" / "task.npz", **made_task())


def load_task(folder: Path) -> dict[str, Any] | None:
    """Return the task, or None where the loop is not to be measured."""
    path = folder / "loop" / "task.npz"
    return dict(np.load(path)) if path.exists() else None
