# SPDX-License-Identifier: Apache-2.0
"""Q11 of 003: joint-limit avoidance in the null space (Eqs. 7–9, Code 7), and its two faults, one by one.

Code 7 takes J and ∇H along the path of Q9 and integrates the velocities that come out: another path, which J and ∇H do
not belong to. That is what takes the tool off the line. The figures behind the print also have Eq. 9's mid-range, half
the width in place of the middle: it sends the joints elsewhere, and harms the line only along the wrong path.
`scheme` has both faults as switches; `closed_loop` adds feedback.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.kinematics import fk, jacobian, joint_rates
from armwright.motion import track_path
from armwright.studies.doc003_rob315.line import limits_are_kept, line, path, violation
from armwright.studies.doc003_rob315.setting import T_e, V, X_df, X_di, arm, draw_paths, q_i
from armwright.studies.printed_numbers import match, read_numbers
from armwright.studies.study import Claim, Formula, Item, Numbers, Picture, Shown
from armwright.studies.study_pictures import curves, joint_panels
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.types import Traced

K = 100.0  # 1/s, of the closed loop
MIDDLES, PLACES = ("as published", "right"), ("as published", "own")


def mid_range_as_published() -> Array:
    """Return Eq. 9 of the report: (q_max − q_min)/2, half the width instead of the middle."""
    return 0.5 * (arm().upper - arm().lower)


def mid_range() -> Array:
    """Return the middle of the joints' ranges, (q_max + q_min)/2."""
    return 0.5 * (arm().upper + arm().lower)


def middle_of(kind: str) -> Array:
    """Return the mid-range "as published" in Eq. 9, or the "right" one, which Code 7 has."""
    return mid_range_as_published() if kind == "as published" else mid_range()


def slope_of_H(q: Array, middle: Array) -> Array:
    """Return ∇H with H(q) = Σ ((q_i − q̄_i)/(q_max,i − q_min,i))² (Eq. 9)."""
    return 2.0 * (q - middle) / (arm().upper - arm().lower) ** 2


def H_about(middle: Array) -> Callable[[Traced], Traced]:
    """Return H of Eq. 9 about a mid-range, as a function of q."""
    width = arm().upper - arm().lower

    def H(q: Traced) -> Traced:
        return (((q - middle) / width) ** 2).sum()

    return H


def H(q: Array) -> float:
    """Return the distance from the middle of the ranges, as the report measures it."""
    return float((((q - mid_range()) / (arm().upper - arm().lower)) ** 2).sum())


class AvoidanceRun(NamedTuple):
    """Joint path (T, 6) and error vectors X_k − f(q_k) (T, 3) [m]."""

    q: Array
    error: Array

    @property
    def spectral(self) -> float:
        """Return the report's ε, norm(X_star − Xdk): the spectral norm of the 3 × T matrix of errors."""
        return float(np.linalg.norm(self.error.T, 2))

    @property
    def worst(self) -> float:
        """Return the largest distance from the line [m]."""
        return float(np.linalg.norm(self.error, axis=1).max())

    @property
    def fifth(self) -> float:
        """Return how far joint 5 goes beyond its limits [rad]."""
        return float(violation(self.q).worst[4])


def direction() -> Array:
    """Return the velocity of the line, V u (3,) [m/s]: the same at every sample, as in Code 7."""
    return V * (X_df - X_di) / float(np.linalg.norm(X_df - X_di))


def rates_along_q9(alpha: float, middle: str) -> Array:
    """Return q̇* (1271, 6) of Code 7: Eq. 7 with J and ∇H at the samples of Q9 (lines 23 to 31)."""
    q, X = path().q, line()
    T = fk(arm(), q)
    point = np.einsum("kji,kj->ki", T[:, :3, :3], X - T[:, :3, 3])
    J_v = jacobian(arm(), q, point=point)[:, :3]
    pseudo = np.linalg.pinv(J_v)
    qd_0 = -alpha * slope_of_H(q, middle_of(middle))
    return np.asarray(pseudo @ direction() + qd_0 - np.einsum("kij,kj->ki", pseudo, np.einsum("kij,kj->ki", J_v, qd_0)))


@cache
def scheme(alpha: float, middle: str, place: str, integrator: str = "heun") -> AvoidanceRun:
    """Integrate Eq. 7 from q_i without feedback, with either fault or none.

    Args:
        alpha: weight of the secondary task.
        middle: mid-range "as published" in Eq. 9, or "right".
        place: where J and ∇H are taken: "as published" along the path of Q9, or "own", on the path that is integrated.
        integrator: of the own path. Code 7 adds up trapezes, which on the own path is Heun's method.
    """
    X = line()
    if place == "as published":
        qd = rates_along_q9(alpha, middle)
        q = q_i + np.concatenate([np.zeros((1, 6)), np.cumsum(0.5 * T_e * (qd[1:] + qd[:-1]), axis=0)])
    else:
        even = X_di + T_e * np.arange(len(X))[:, None] * direction()  # Ẋ_d = V u to the end, as in Code 7
        q = track_path(
            arm(),
            even,
            T_e,
            q_i,
            gain=0.0,
            prefer=H_about(middle_of(middle)),
            weight=alpha,
            integrator=integrator,  # type: ignore[arg-type]
            tolerance=np.inf,
        ).q
    return AvoidanceRun(q, X - fk(arm(), q)[:, :3, 3])


ALPHAS = (0.0, 0.5, 1.0, 1.5, 1.739, 2.0, 5.0, 10.0, 20.0, 50.0)


@cache
def closed_loop(alphas: tuple[float, ...] = ALPHAS) -> dict[float, AvoidanceRun]:
    """Run closed-loop inverse kinematics, Euler at 1 ms, for several α at once."""
    X = line()
    run = track_path(
        arm(), X, T_e, q_i, gain=K, prefer=H_about(mid_range()), weight=np.array(alphas), integrator="euler"
    )
    error = X - fk(arm(), run.q)[..., :3, 3]
    return {alpha: AvoidanceRun(run.q[k], error[k]) for k, alpha in enumerate(alphas)}


def threshold() -> float:
    """Return the least α that keeps joint 5 from leaving its limit at once, where it starts: q̇5(0) is linear in α."""
    rates = joint_rates(
        arm(), q_i, X_di, direction(), gain=0.0, prefer=H_about(mid_range()), weight=np.array([0.0, 1.0])
    )
    at_0, at_1 = rates[:, 4]
    return float(-at_0 / (at_1 - at_0))


def drift_of_H(factor: float) -> float:
    """Return dH/dt of the secondary task alone at the middle of the line, for qd_0 = factor ∇H."""
    q = path().q[600]
    J_v = jacobian(arm(), q)[:3]
    slope = slope_of_H(q, mid_range())
    qd = factor * slope
    return float(slope @ (qd - np.linalg.pinv(J_v) @ (J_v @ qd)))


def tool_velocity_as_published(alpha: float, sample: int) -> Array:
    """Return the velocity (3,) [m/s] that q̇* of Code 7 gives the tool where the arm of Code 7 is at that sample."""
    q = scheme(alpha, "right", "as published").q[sample]
    return np.asarray(jacobian(arm(), q)[:3] @ rates_along_q9(alpha, "right")[sample])


def right_error(alpha: float) -> Shown:
    """Return ε of Eq. 7 with both faults undone, and with either alone."""
    found = scheme(alpha, "right", "own")
    parts = (
        f"by trapezes, worst {1e3 * found.worst:.2f} mm",
        f"{scheme(alpha, 'right', 'own', 'euler').spectral:.4f} by Euler",
        f"Eq. 9's mid-range alone {scheme(alpha, 'as published', 'own').spectral:.4f}",
        f"J along Q9 alone {scheme(alpha, 'right', 'as published').spectral:.4f}",
    )
    return Shown(found.spectral, "; ".join(parts))


def kept(run: AvoidanceRun) -> Shown:
    """Return whether the limits are kept, and by how much joint 5 leaves them."""
    return Shown(limits_are_kept(run.q), f"joint 5 beyond by {1e3 * run.fifth:.1f} mrad")


def accuracy_must_be_traded() -> Shown:
    """Return whether respecting the limits costs accuracy: false if some α keeps the limits and costs 0.1 mm at most.

    Without feedback, so that nothing but the place of J is undone; what α = 0 leaves is no price of the limits.
    """
    free, run = (scheme(alpha, "right", "own") for alpha in (0.0, 2.0))
    price = run.worst - free.worst
    text = f"α = 2 keeps the limits {1e3 * run.worst:.2f} mm off the line, {1e3 * free.worst:.2f} mm with α = 0"
    return Shown(not (limits_are_kept(run.q) and price < 1e-4), text)


def traded_as_published() -> Shown:
    """Return whether the limits cost accuracy in the report's own runs."""
    low, high = (scheme(alpha, "as published", "as published") for alpha in (0.5, 1.0))
    return Shown(
        bool(high.worst > low.worst > 1e-4), f"{1e3 * low.worst:.0f} and {1e3 * high.worst:.0f} mm off the line"
    )


def _notes() -> list[str]:
    out = []
    for place in PLACES:
        for middle in MIDDLES:
            for alpha in (0.5, 1.0, 2.0):
                run = scheme(alpha, middle, place)
                where = "along Q9" if place == "as published" else "on the own path"
                out.append(
                    f"J and ∇H {where}, mid-range {middle}, α = {alpha:g}: ε = {run.spectral:.4f}, worst "
                    f"{1e3 * run.worst:.2f} mm, joint 5 out by {1e3 * run.fifth:.1f} mrad at "
                    f"{violation(run.q).samples[4]} samples"
                )
    for alpha in (0.5, 1.0, 2.0):
        run = scheme(alpha, "right", "own", "euler")
        off = f"ε = {run.spectral:.4f}, worst {1e3 * run.worst:.2f} mm"
        out.append(f"J and ∇H on the own path, mid-range right, by Euler, α = {alpha:g}: {off}")
    return out


def _closed_notes() -> list[str]:
    out = [
        f"joint 5 starts on its limit: no violation needs α ≥ {threshold():.4f}; H at q_i = {H(q_i):.4f}",
        f"with the third member of Eq. 8, which has lost −α, dH/dt would be {drift_of_H(1.0):+.3f} 1/s in the middle "
        f"of the line, and {drift_of_H(-1.0):+.3f} with it (α = 1)",
    ]
    for alpha, run in closed_loop().items():
        speed = np.abs(np.diff(run.q, axis=0)).max() / T_e
        out.append(
            f"closed loop, α = {alpha:g}: worst {1e3 * run.worst:.4f} mm, joint 5 out by "
            f"{1e3 * run.fifth:.1f} mrad, H at the end {H(run.q[-1]):.4f}, fastest joint {speed:.2f} rad/s"
        )
    return out


def _paths() -> Figure:
    t = np.asarray(T_e * np.arange(len(line())), dtype=np.float64)
    shown = {
        "as published, α = 1": scheme(1.0, "as published", "as published").q,
        "J on the own path, α = 2": scheme(2.0, "right", "own").q,
        "without avoidance": path().q,
    }
    return joint_panels(t, shown, arm())


def _errors() -> Figure:
    t = np.asarray(T_e * np.arange(len(line())), dtype=np.float64)
    series = []
    for label, run in (
        ("as published, both faults", scheme(1.0, "as published", "as published")),
        ("J along Q9 alone", scheme(1.0, "right", "as published")),
        ("Eq. 9's mid-range alone", scheme(1.0, "as published", "own")),
        ("neither", scheme(1.0, "right", "own")),
        ("neither, by Euler", scheme(1.0, "right", "own", "euler")),
        ("neither, by Euler, with feedback", closed_loop()[1.0]),
    ):
        # the last sample is X_df, 0.118 mm ahead of the even motion: it says nothing of the faults
        series.append((label, t[1:-1], 1e3 * np.linalg.norm(run.error[1:-1], axis=1)))
    return curves(series, "time [s]", "distance from the line [mm]", logarithmic=True)


def _tool_paths() -> Figure:
    paths = {"line": line()}
    for alpha in (0.5, 1.0):
        paths[f"as published, α = {alpha:g}"] = fk(arm(), scheme(alpha, "as published", "as published").q)[:, :3, 3]
    paths["J on the own path, α = 2"] = fk(arm(), scheme(2.0, "right", "own").q)[:, :3, 3]
    return draw_paths(paths)


def printed_code_gives_the_print() -> Shown:
    """Return whether Code 7, whose mid-range is the right one, leads to 1.46 and 3.40, cut off or rounded."""
    found = [scheme(alpha, "right", "as published").spectral for alpha in (0.5, 1.0)]
    return Shown(match(read_numbers("1.46, 3.40"), found) != "no", f"{found[0]:.2f} and {found[1]:.2f}")


MIDDLE = "Eq. 9: half the width for the middle of the range"
ELSEWHERE = "Code 7: J and ∇H along the path of Q9, not on the path that is integrated"
MISTAKE = (
    "J and ∇H are those of the path of Q9 (Code 7), not of the path that is integrated: that alone takes the tool off "
    "the line. Eq. 9's mid-range alone does not, but it widens the distance between the two paths"
)
ITEMS: tuple[Item, ...] = (
    Item(
        "Q11a",
        "mid-range of the joints (Eq. 9)",
        Formula("(q_max − q_min)/2", "rad"),
        mid_range_as_published,
        mid_range,
        reason="half the width is not the middle: (q_max + q_min)/2, as Code 7 has it; the printed errors are those of "
        "Eq. 9",
        faults=(MIDDLE,),
    ),
    Item(
        "Q11c",
        "error ε for α = 0.5",
        Numbers("1.46"),
        lambda: scheme(0.5, "as published", "as published").spectral,
        lambda: right_error(0.5),
        reason=MISTAKE,
        faults=(ELSEWHERE, MIDDLE),
        notes=_notes,
        pictures=(
            Picture("Path of the tool with avoidance (Fig. 5.4), from above and from the side.", _tool_paths),
            Picture(
                "Distance from the line for α = 1, by trapezes: which fault costs what. Without the first, the second "
                "makes no difference. Euler's method leaves more, and feedback takes it back.",
                _errors,
            ),
        ),
    ),
    Item(
        "Q11d",
        "error ε for α = 1",
        Numbers("3.40"),
        lambda: scheme(1.0, "as published", "as published").spectral,
        lambda: right_error(1.0),
        reason=MISTAKE,
        faults=(ELSEWHERE, MIDDLE),
    ),
    Item(
        "Q11e",
        "limits kept for α = 0.5",
        Claim("“not well respected”", False),
        lambda: kept(scheme(0.5, "as published", "as published")),
        lambda: kept(scheme(0.5, "right", "own")),
    ),
    Item(
        "Q11f",
        "limits kept for α = 1",
        Claim("“do not exceed the established limits”", True),
        lambda: kept(scheme(1.0, "as published", "as published")),
        lambda: kept(scheme(1.0, "right", "own")),
        reason="true with Eq. 9's mid-range only, wherever J is taken: it lies at π/2 for joint 5, far from the limit "
        "in question; about the middle of its range joint 5 leaves it, by 48.5 mrad with J along Q9",
        faults=(MIDDLE,),
    ),
    Item(
        "Q11g",
        "limits cost accuracy",
        Claim("“the error between the trajectories increases but the angular variables … do not exceed”", True),
        traded_as_published,
        accuracy_must_be_traded,
        reason="a projection into the null space of J at the arm's own configuration does not disturb the task, with "
        "or without feedback; what the report trades is the distance between the path that it integrates and "
        "that of Q9",
        faults=(ELSEWHERE,),
        rule="a price of 0.1 mm or more counts as accuracy lost: a tenth of the report's ε_x",
        notes=_closed_notes,
        pictures=(
            Picture("Joints along the line with avoidance. With J on the own path, line and limits are kept.", _paths),
        ),
    ),
    Item(
        "Q11h",
        "the printed code (Code 7) gives the printed errors",
        Claim("1.46 and 3.40"),
        None,
        printed_code_gives_the_print,
        reason="Code 7 has the right mid-range; the print comes from the mid-range of Eq. 9",
        faults=("Code 7 is not the code behind Fig. 5.3",),
    ),
    Item(
        "Q11i",
        "velocity of the tool by Eq. 7 as Code 7 evaluates it, half-way, α = 1",
        Formula("J = ComputeJac(robot.alpha, robot.d, thetadk(:,k), robot.r, Xdk(:,k), robot.n_joints)", "m/s"),
        lambda: tool_velocity_as_published(1.0, 635),
        direction,
        reason="Eq. 7 moves the tool with Ẋ_d where J is that of the configuration that moves; thetadk is that of Q9",
        faults=(ELSEWHERE,),
    ),
)
