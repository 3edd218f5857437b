# SPDX-License-Identifier: Apache-2.0
"""Q11 of 003: joint-limit avoidance in the null space (§4.6): as published, with the right mid-range, closed loop."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, stage
from armwright.graph.traced_program import trace
from armwright.kinematics import fk, jacobian
from armwright.kinematics.jacobians import pose_jacobian
from armwright.robot.kernels import kernel
from armwright.studies.doc003_rob315.inverse import least_norm
from armwright.studies.doc003_rob315.line import limits_are_kept, line, path, violation
from armwright.studies.doc003_rob315.setting import T_e, V, X_df, X_di, arm, draw_paths, q_i
from armwright.studies.printed_numbers import match, read_numbers
from armwright.studies.study import Claim, Formula, Item, Numbers, Picture
from armwright.studies.study_pictures import curves, joint_panels
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Scalar, Traced

K = 100.0  # 1/s, of the closed loop


def mid_range_as_published() -> Array:
    """Return eq. 9 of the report: (q_max − q_min)/2, half the width instead of the middle."""
    return 0.5 * (arm().upper - arm().lower)


def mid_range() -> Array:
    """Return the middle of the joints' ranges, (q_max + q_min)/2."""
    return 0.5 * (arm().upper + arm().lower)


def slope_of_H(q: Traced, middle: Array) -> Traced:
    """Return ∇H with H(q) = Σ ((q_i − q̄_i)/(q_max,i − q_min,i))²."""
    return 2.0 * (q - middle) / (arm().upper - arm().lower) ** 2


def H(q: Array) -> float:
    """Return the distance from the middle of the ranges, as the report measures it."""
    return float((((q - mid_range()) / (arm().upper - arm().lower)) ** 2).sum())


class AvoidanceRun(NamedTuple):
    """Joint path (T, 6) and error vectors X_k − f(q_k) (T, 3) [m]."""

    q: Array
    error: Array

    @property
    def spectral(self) -> float:
        """Return the report's "error": the spectral norm of the 3 × T matrix of errors, which grows with T."""
        return float(np.linalg.norm(self.error.T, 2))

    @property
    def worst(self) -> float:
        """Return the largest distance from the line [m]."""
        return float(np.linalg.norm(self.error, axis=1).max())


@cache
def open_loop_as_published(alpha: float, middle: str) -> AvoidanceRun:
    """Run the report's scheme: J and ∇H on the path of Q9, qd integrated by trapezes from q_i, nothing fed back.

    Args:
        alpha: weight of the secondary task.
        middle: "as published" or "right" mid-range.
    """
    q, X = path().q, line()
    T = fk(arm(), q)
    point = np.einsum("kji,kj->ki", T[:, :3, :3], X - T[:, :3, 3])
    J_v = jacobian(arm(), q, point=point)[:, :3]
    pseudo = np.linalg.pinv(J_v)
    u = (X_df - X_di) / np.linalg.norm(X_df - X_di)
    qd_0 = -alpha * slope_of_H(q, mid_range_as_published() if middle == "as published" else mid_range())
    qd = pseudo @ (V * u) + qd_0 - np.einsum("kij,kj->ki", pseudo, np.einsum("kij,kj->ki", J_v, qd_0))
    moved = np.concatenate([np.zeros((1, 6)), np.cumsum(0.5 * T_e * (qd[1:] + qd[:-1]), axis=0)])
    out = q_i + moved
    return AvoidanceRun(out, X - fk(arm(), out)[:, :3, 3])


def clik(arm: Robot | Tree, q: Traced, x: Traced, xd: Traced, alpha: Scalar) -> Traced:
    """Return the joint velocity J⁺(ẋ + K e) + (1 − J⁺J)(−α ∇H), e = x − f(q)."""
    T, J = pose_jacobian(arm, q)
    J_v = J[:3]
    qd_0 = -alpha * slope_of_H(q, mid_range())
    return least_norm(J_v, xd + K * (x - T[:3, 3]) - J_v @ qd_0) + qd_0


@cache
def _loop(count: int) -> CompiledLoop:
    robot = arm()

    def step(q: Traced, x: Traced, xd: Traced, alpha: Traced) -> Traced:
        return q + T_e * clik(robot, q, x, xd, alpha[0])

    program = trace(step, {"q": (6,), "x": (3,), "xd": (3,), "alpha": (1,)})
    plan = LoopPlan(
        slots={"x": 3, "xd": 3, "q": 6, "alpha": 1},
        stages=(stage(program, "inside", writes={program.outputs[0].name: "q"}),),
        shared=("x", "xd"),
        record=("q",),
        state=("q",),
    )
    return CompiledLoop(plan, count)


ALPHAS = (0.0, 0.5, 1.0, 1.5, 1.739, 2.0, 5.0, 10.0, 20.0, 50.0)


@cache
def closed_loop(alphas: tuple[float, ...] = ALPHAS) -> dict[float, AvoidanceRun]:
    """Run closed-loop inverse kinematics at 1 ms for several α at once."""
    X = line()
    table = np.concatenate([X[:-1], np.diff(X, axis=0) / T_e], axis=1)
    loop = _loop(len(alphas))
    loop.set("q", q_i)
    loop.set("alpha", np.array(alphas)[:, None])
    record, _ = loop.run(len(table), shared=table)
    q = np.concatenate([record, loop.get("q")[:, None]], axis=1)
    error = X - fk(arm(), q)[..., :3, 3]
    return {alpha: AvoidanceRun(q[k], error[k]) for k, alpha in enumerate(alphas)}


def threshold() -> float:
    """Return the least α that keeps joint 5 from leaving its limit at once, where it starts: q̇5(0) is linear in α."""
    rate = kernel(arm(), clik, shapes={"x": 3, "xd": 3, "alpha": ()})
    X = line()
    xd = (X[1] - X[0]) / T_e
    at_0, at_1 = (float(rate(q_i, X[0], xd, alpha)[4]) for alpha in (0.0, 1.0))
    return -at_0 / (at_1 - at_0)


def drift_of_H(factor: float) -> float:
    """Return dH/dt of the secondary task alone at the middle of the line, for qd_0 = factor ∇H."""
    q = path().q[600]
    J_v = jacobian(arm(), q)[:3]
    slope = slope_of_H(q, mid_range())
    qd = factor * slope
    return float(slope @ (qd - np.linalg.pinv(J_v) @ (J_v @ qd)))


def accuracy_must_be_traded() -> bool:
    """Return whether respecting the limits costs accuracy: false if some α keeps both, to 0.1 mm."""
    run = closed_loop()[2.0]
    return not (limits_are_kept(run.q) and run.worst < 1e-4)


def _notes() -> list[str]:
    out = []
    for middle in ("as published", "right"):
        for alpha in (0.5, 1.0, 2.0):
            run = open_loop_as_published(alpha, middle)
            beyond = violation(run.q)
            out.append(
                f"open loop, mid-range {middle}, α = {alpha:g}: spectral {run.spectral:.4f}, "
                f"worst {1e3 * run.worst:.1f} mm, joint 5 out by {1e3 * beyond.worst[4]:.1f} mrad at "
                f"{beyond.samples[4]} samples"
            )
    return out


def _closed_notes() -> list[str]:
    out = [f"joint 5 starts on its limit: no violation needs α ≥ {threshold():.4f}; H at q_i = {H(q_i):.4f}"]
    for alpha, run in closed_loop().items():
        speed = np.abs(np.diff(run.q, axis=0)).max() / T_e
        out.append(
            f"closed loop, α = {alpha:g}: worst {1e3 * run.worst:.4f} mm, joint 5 out by "
            f"{1e3 * violation(run.q).worst[4]:.1f} mrad, H at the end {H(run.q[-1]):.4f}, "
            f"fastest joint {speed:.2f} rad/s"
        )
    return out


def _paths() -> Figure:
    t = np.asarray(T_e * np.arange(len(line())), dtype=np.float64)
    shown = {
        "as published, α = 1": open_loop_as_published(1.0, "as published").q,
        "closed loop, α = 2": closed_loop()[2.0].q,
        "without avoidance": path().q,
    }
    return joint_panels(t, shown, arm())


def _errors() -> Figure:
    t = np.asarray(T_e * np.arange(len(line())), dtype=np.float64)
    series = []
    for label, run in (
        ("as published, α = 0.5", open_loop_as_published(0.5, "as published")),
        ("as published, α = 1", open_loop_as_published(1.0, "as published")),
        ("right mid-range, open loop, α = 1", open_loop_as_published(1.0, "right")),
        ("closed loop, α = 2", closed_loop()[2.0]),
    ):
        series.append((label, t[1:], 1e3 * np.linalg.norm(run.error[1:], axis=1)))
    return curves(series, "time [s]", "distance from the line [mm]", logarithmic=True)


def _tool_paths() -> Figure:
    paths = {"line": line()}
    for alpha in (0.5, 1.0):
        paths[f"as published, α = {alpha:g}"] = fk(arm(), open_loop_as_published(alpha, "as published").q)[:, :3, 3]
    paths["closed loop, α = 2"] = fk(arm(), closed_loop()[2.0].q)[:, :3, 3]
    return draw_paths(paths)


def printed_code_gives_the_print() -> bool:
    """Return whether Code 7, whose mid-range is the right one, leads to 1.46 and 3.40, cut off or rounded."""
    found = [open_loop_as_published(alpha, "right").spectral for alpha in (0.5, 1.0)]
    return match(read_numbers("1.46, 3.40"), found) != "no"


MISTAKE = (
    "the mid-range of Eq. 9 is half the width, not the middle; and the number is the spectral norm of the "
    "3 × 1271 matrix of errors, no distance"
)
MIDDLE, NORM = "Eq. 9: half the width for the middle of the range", "Q11: a matrix norm called the error"
ITEMS: tuple[Item, ...] = (
    Item(
        "Q11a",
        "mid-range of the joints (Eq. 9)",
        Formula("(q_max − q_min)/2", "rad"),
        mid_range_as_published,
        mid_range,
        reason="half the width is not the middle: (q_max + q_min)/2, as Code 7 has it",
        faults=(MIDDLE,),
    ),
    Item(
        "Q11b",
        "sign of the secondary task (Eq. 8)",
        Formula("q̇_0 = −α∇H = (∂H/∂q_1, …): sign of dH/dt", "1/s"),
        lambda: np.sign(drift_of_H(1.0)),
        lambda: np.sign(drift_of_H(-1.0)),
        reason="the right-hand side has lost the −α of the middle: with it H would grow, and the arm seek its limits",
        faults=("Eq. 8: −α lost on the right-hand side",),
    ),
    Item(
        "Q11c",
        "“error” for α = 0.5",
        Numbers("1.46"),
        lambda: open_loop_as_published(0.5, "as published").spectral,
        lambda: open_loop_as_published(0.5, "right").spectral,
        reason=MISTAKE,
        faults=(MIDDLE, NORM),
        notes=_notes,
        pictures=(
            Picture("Distance from the line: the published scheme drifts, the closed loop does not.", _errors),
            Picture("Path of the tool with avoidance (Fig. 5.4), from above and from the side.", _tool_paths),
        ),
    ),
    Item(
        "Q11d",
        "“error” for α = 1",
        Numbers("3.40"),
        lambda: open_loop_as_published(1.0, "as published").spectral,
        lambda: open_loop_as_published(1.0, "right").spectral,
        reason=MISTAKE,
        faults=(MIDDLE, NORM),
    ),
    Item(
        "Q11e",
        "limits kept for α = 0.5",
        Claim("violated", False),
        lambda: limits_are_kept(open_loop_as_published(0.5, "as published").q),
        lambda: limits_are_kept(open_loop_as_published(0.5, "right").q),
    ),
    Item(
        "Q11f",
        "limits kept for α = 1",
        Claim("no violation", True),
        lambda: limits_are_kept(open_loop_as_published(1.0, "as published").q),
        lambda: limits_are_kept(open_loop_as_published(1.0, "right").q),
        reason="true with the wrong mid-range only; with the right one joint 5 is out by 48.5 mrad",
        faults=(MIDDLE,),
    ),
    Item(
        "Q11g",
        "limits cost accuracy",
        Claim("a trade-off", True),
        lambda: bool(open_loop_as_published(1.0, "as published").worst > 1e-4),
        accuracy_must_be_traded,
        reason="an exact null-space projection does not disturb the task: closed loop, α = 2 keeps both",
        faults=("Q11: drift of the open-loop integration taken for a trade-off",),
        rule="both kept: no joint beyond its limit, and no sample 0.1 mm or more off the line",
        notes=_closed_notes,
        pictures=(
            Picture("Joints along the line with avoidance. The closed loop keeps the line and the limits.", _paths),
        ),
    ),
    Item(
        "Q11h",
        "the printed code (Code 7) gives the printed errors",
        Claim("1.46 and 3.40"),
        None,
        printed_code_gives_the_print,
        reason="Code 7 has the right mid-range and gives 0.47 and 0.96; the print comes from the mid-range of Eq. 9",
        faults=("Code 7 is not the code behind Fig. 5.3",),
    ),
)
