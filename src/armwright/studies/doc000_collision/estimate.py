# SPDX-License-Identifier: Apache-2.0
"""Chapters 4 and 5 of 000: the force estimate of the closed loop, its delay, and the observer that was given up.

`lags` says how late ‖F̂‖ reaches f_min after a head-on touch, at every cell of the patch; no layout is needed for that.
The items compare the estimate with an arm that is pushed while it holds q_0.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from armwright.contact.observers.momentum import generalised_momentum
from armwright.control import computed_torque
from armwright.dynamics import bias, mass_matrix
from armwright.exploration.grid.held_tool import HeldTool
from armwright.kinematics import jacobian
from armwright.recording import Recording
from armwright.robot.kernels import kernel
from armwright.robot.model import Robot
from armwright.simulation import simulate
from armwright.studies.doc000_collision import as_published
from armwright.studies.doc000_collision.runs import ARMS, HELD, LAYOUTS, SPLINE, RunReading, fast_run, run
from armwright.studies.doc000_collision.setting import (
    K_0,
    K_1,
    R_t,
    arm,
    f_min,
    omega,
    patch,
    q_0,
)
from armwright.studies.doc000_collision.setting import (
    postures as random_postures,
)
from armwright.studies.study import Claim, Formula, Item
from armwright.types import Array

TOUCH_SPEED = 0.0503
"""Speed of the desired motion along a straight row of cells [m/s], where the first contacts of the runs happen."""


@cache
def cells() -> tuple[tuple[int, int], ...]:
    """Return the 18 × 18 cells inside the ring, in an order in which neighbours follow one another."""
    return tuple((u, v) for u in range(2, 20) for v in (range(2, 20) if u % 2 else range(19, 1, -1)))


@cache
def postures() -> Array:
    """Return the postures (324, 6) of the report's branch with the flange at the centres of the cells."""
    centres = np.array([patch().grid.centre(cell) for cell in cells()])
    return HeldTool(arm(), R_t).configurations(centres, q_0, [f"cell {cell}" for cell in cells()])


def compliance(robot: Robot, q: Array) -> Array:
    """Return J K_0⁻¹ M⁻¹ Jᵀ (..., 3, 3) [m/N]: how the flange yields to a slow force under chapter 4's controller."""
    J = jacobian(arm(), q)[..., :3, :]
    return np.asarray(J @ (np.linalg.solve(mass_matrix(robot, q), np.swapaxes(J, -1, -2)) / K_0[:, None]))


@cache
def lags(robot: Robot) -> Array:
    """Return the delay [s] at every cell (324, 2) of a head-on touch along x and along y: f_min c_nn / TOUCH_SPEED."""
    return np.asarray(f_min * np.diagonal(compliance(robot, postures()), axis1=1, axis2=2)[:, :2] / TOUCH_SPEED)


def lag_span(robot: Robot) -> Array:
    """Return the shortest and longest delay over all cells and both directions [s]."""
    return np.array([lags(robot).min(), lags(robot).max()])


def predicted_lag(robot: Robot, layout: str, setting: RunReading = HELD) -> float:
    """Return the same for the first hit of a run, n along x [s], at the speed it has there."""
    found = run(robot, layout, setting)
    k = int(np.searchsorted(found.recording.time, found.contacts[0].began))
    q, qd = found.recording["q_ref"][k], found.recording["qd_ref"][k]
    return float(f_min * compliance(robot, q)[0, 0] / (jacobian(arm(), q)[0] @ qd))


def lag_notes() -> list[str]:
    """Return the ranges by direction, and the lags of the runs."""
    out = []
    for name, robot in ARMS.items():
        low, p5, p95, high = np.percentile(lags(robot()), (0, 5, 95, 100), axis=0)
        out.append(
            f"{name}, 324 cells at {TOUCH_SPEED} m/s: along x {low[0]:.2f}–{high[0]:.2f} s (5–95 %: "
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


F = np.array([0.01, -0.005, 0.008, 0.0002, 0.0003, -0.0001])
"""A constant wrench at the flange [N, N m]; small, so that the arm stays where M and J are those of q_0."""


@cache
def pushed() -> Recording:
    """Return a recording: the arm holds q_0 under inverse dynamics while F pushes it from t = 0 on, 1.5 s."""
    found: Recording = simulate(
        arm(), computed_torque(K_0, K_1), q_0, 1.5, rate=2000.0, continuous=True, wrench=F, check_step=False
    )
    return found


def F_hat(q: Array, q_ref: Array) -> Array:
    """Return (5.x) F̂ = (Jᵀ)⁻¹ M(q) K_0 q̃ (6,)."""
    return np.asarray(np.linalg.solve(jacobian(arm(), q).T, mass_matrix(arm(), q) @ (K_0 * (q - q_ref))))


def measured_delay() -> Array:
    """Return ∫(1 − r̂_i/r_i) dt of the step response of each joint [s]: the delay of a slow force."""
    recording = pushed()
    r_hat = K_0 * (recording["q"] - q_0)
    share = 1.0 - r_hat / r_hat[-1]
    return np.asarray(np.trapezoid(share, recording.time, axis=0))


@cache
def transport_mismatch() -> float:
    """Return the largest |Ṁq̇ − Cq̇ − Cᵀq̇|: left from a recursion for M and Cq̇, right from the momentum observer."""
    out = []
    transport = kernel(arm(), generalised_momentum, regroup=True)
    for q, qd in zip(random_postures(10), random_postures(20)[10:], strict=True):
        Md = as_published.slopes(arm(), q) @ qd
        out.append(Md @ qd - bias(arm(), q, qd, gravity=False, friction=False) - transport(q, qd)[1])
    return float(np.abs(out).max())


def momentum_needs_a_skew_C() -> bool:
    """Return False if the observer's Cᵀq̇ follows from M and the vector Cq̇ alone, to the error of the differences."""
    return transport_mismatch() > 1e-8


def _delay_notes() -> list[str]:
    corner = omega * np.sqrt(np.sqrt(2.0) - 1.0) / (2.0 * np.pi)
    return [
        "ours, from (5.5): r̂_i/r_i = ω_i²/(s + ω_i)², so a slow force is felt K_1/K_0 = 2/ω_i late: "
        + ", ".join(f"{1e3 * x:.0f}" for x in K_1 / K_0)
        + " ms; measured on this push "
        + ", ".join(f"{1e3 * x:.0f}" for x in measured_delay())
        + " ms",
        "−3 dB at " + ", ".join(f"{x:.1f}" for x in corner) + " Hz; an impact is over before",
    ]


ITEMS: tuple[Item, ...] = (
    Item(
        "5.F",
        "force estimate under a constant push",
        Formula("F̂ = (Jᵀ)⁻¹ M(q) K_0 q̃", "N, N m", tolerance=1e-6),
        lambda: F_hat(pushed()["q"][-1], q_0),
        lambda: F,
        rule="to 1e-6, not to rounding: after 1.5 s of the run the arm still moves by that much",
        notes=_delay_notes,
    ),
    Item(
        "5.mom",
        "a momentum observer needs Ṁ − 2C skew, which Newton–Euler does not give",
        Claim("dropped for that reason", True),
        None,
        momentum_needs_a_skew_C,
        reason="only Cᵀq̇ = Ṁq̇ − Cq̇ is needed, and M and the vector Cq̇ come from any recursion",
        faults=("momentum observer given up for want of a skew Ṁ − 2C",),
        notes=lambda: [f"Ṁq̇ − Cq̇ against the observer's Cᵀq̇: {transport_mismatch():.0e} N m at ten states"],
    ),
)
