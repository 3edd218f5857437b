# SPDX-License-Identifier: Apache-2.0
"""How late ‖F̂‖ reaches f_min after a head-on touch, at every cell of the patch: no layout is needed for that."""

from __future__ import annotations

from functools import cache

import numpy as np

from armwright.dynamics import mass_matrix
from armwright.exploration.grid.tool_path import HeldTool
from armwright.kinematics import jacobian
from armwright.robot.model import Robot
from armwright.studies.collision.patch import patch
from armwright.studies.collision.runs import ARMS, HELD, LAYOUTS, SPLINE, Setting, fast_run, run
from armwright.studies.collision.setting import K_0, R_t, arm, f_min, q_0
from armwright.types import Array

SPEED = 0.0503
"""Of the desired motion along a straight row of cells [m/s], where the first contacts of the runs happen."""


@cache
def cells() -> tuple[tuple[int, int], ...]:
    """The 18 × 18 cells inside the ring, in an order in which neighbours follow one another."""
    return tuple((u, v) for u in range(2, 20) for v in (range(2, 20) if u % 2 else range(19, 1, -1)))


@cache
def postures() -> Array:
    """Postures (324, 6) of the report's branch with the flange at the centres of the cells."""
    centres = np.array([patch().grid.centre(cell) for cell in cells()])
    return HeldTool(arm(), R_t).configurations(centres, q_0, [f"cell {cell}" for cell in cells()])


def compliance(robot: Robot, q: Array) -> Array:
    """J K_0⁻¹ M⁻¹ Jᵀ (..., 3, 3) [m/N]: how the flange yields to a slow force under the controller of chapter 4."""
    J = jacobian(arm(), q)[..., :3, :]
    return np.asarray(J @ (np.linalg.solve(mass_matrix(robot, q), np.swapaxes(J, -1, -2)) / K_0[:, None]))


@cache
def lags(robot: Robot) -> Array:
    """Delay [s] at every cell (324, 2) of a head-on touch along x and along y: f_min c_nn / SPEED."""
    return np.asarray(f_min * np.diagonal(compliance(robot, postures()), axis1=1, axis2=2)[:, :2] / SPEED)


def lag_span(robot: Robot) -> Array:
    """Shortest and longest delay over all cells and both directions [s]."""
    return np.array([lags(robot).min(), lags(robot).max()])


def predicted_lag(robot: Robot, layout: str, setting: Setting = HELD) -> float:
    """The same for the first hit of a run, n along x [s], at the speed it has there."""
    found = run(robot, layout, setting)
    k = int(np.searchsorted(found.recording.time, found.contacts[0].began))
    q, qd = found.recording["q_ref"][k], found.recording["qd_ref"][k]
    return float(f_min * compliance(robot, q)[0, 0] / (jacobian(arm(), q)[0] @ qd))


def lag_notes() -> list[str]:
    """Ranges by direction, and the lags of the runs beside them."""
    out = []
    for name, robot in ARMS.items():
        low, p5, p95, high = np.percentile(lags(robot()), (0, 5, 95, 100), axis=0)
        out.append(
            f"{name}, 324 cells at {SPEED} m/s: along x {low[0]:.2f}–{high[0]:.2f} s (5–95 %: "
            f"{p5[0]:.2f}–{p95[0]:.2f}), along y {low[1]:.2f}–{high[1]:.2f} s ({p5[1]:.2f}–{p95[1]:.2f})"
        )
    for setting in (HELD, SPLINE):
        for name, robot in ARMS.items():
            for w in LAYOUTS:
                seen = [c.delay for c in run(robot(), w, setting).contacts[:10]]
                out.append(
                    f"{setting.name}, layout {w}, {name}: first ten hits {min(seen):.2f}–{max(seen):.2f} s, brushing "
                    f"ones among them; the first, head-on, {seen[0]:.3f} s, predicted "
                    f"{predicted_lag(robot(), w, setting):.3f} s"
                )
    seen = [c.delay for c in fast_run().contacts]
    out.append(
        "layout A, correct, with the momentum observer that the report gave up and learned thresholds (no noise): "
        f"first {1e3 * seen[0]:.0f} ms, median {1e3 * np.median(seen):.0f} ms, {fast_run().outcome}"
    )
    return out
