# SPDX-License-Identifier: Apache-2.0
"""Section 5.5 of 004: the tool's acceleration by joints and by the inertial unit (Table 5.7, Figures 5.14, 5.15)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.identify.filtered_log import low_pass
from armwright.kinematics import acceleration, analytic_jacobian, analytic_jacobian_dot, fk, jacobian
from armwright.simulation import accelerometer
from armwright.studies.doc004_force.models import G0, SIGN
from armwright.studies.doc004_force.setting import LOG_RATE, PRINTED_WAYPOINT, SampledMotion, model, sampled, trapezoids
from armwright.studies.study import Claim, Formula, Item, Numbers, Picture, Shown
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILTER = (4.7 / (2.0 * np.pi), 8)
"""[Hz] and order (section 5.5)."""
SENSOR = np.array([0.01735, 0.00605, 0.0095])
"""[m] o_acc (5.9)."""
PEAKS = np.array([5.6, 7.4, 11.95, 13.77, 18.35, 20.15])
"""[s] where the modelled angular accelerations have peaks."""
LINEAR_ERRORS = (0.6929, 0.1810, 0.1793)
"""[m/s²] Table 5.7."""
FAR = PRINTED_WAYPOINT + 1.5 * np.array([-0.6, -0.2, -0.3, -0.5097, 1.3808, 0.7])
"""[rad] ours: two thirds of the way to it ϑ comes to 3.02 rad, as in the thesis."""
THERE_AND_BACK = (
    "seven moves of 3.2 s between the printed waypoint and one of ours, on which ϑ comes to 3.02 rad, as in the thesis"
)


@cache
def motion() -> SampledMotion:
    """Moves to and fro between two waypoints, 3.2 s each: the peaks of the thesis repeat every 6.4 s."""
    return sampled(trapezoids((PRINTED_WAYPOINT, FAR) * 4))


@cache
def accelerations() -> tuple[Array, Array]:
    """Return Ẍ (T, 6) by (2.35), three last rows second derivatives of Euler angles, and [v̇; ω̇] (T, 6)."""
    m, arm = motion(), model("c")
    rates = np.asarray(analytic_jacobian(arm, m.q)) @ m.qdd[..., None]
    euler = rates + np.asarray(analytic_jacobian_dot(arm, m.q, m.qd)) @ m.qd[..., None]
    return euler[..., 0], np.asarray(acceleration(arm, m.q, m.qd, m.qdd))


def nutation() -> Array:
    """Return ϑ (T,) [rad], the second Euler angle."""
    return np.asarray(np.arccos(np.clip(fk(model("c"), motion().q)[:, 2, 2], -1.0, 1.0)))


def mean_error(found: Array, exact: Array) -> Array:
    """Return the MAE (k,) of filtered accelerations (T, k)."""
    smooth = low_pass(LOG_RATE, *FILTER).without_phase
    return np.asarray(np.abs(smooth(found) - smooth(exact)).mean(axis=0))


def euler_angles_give_angular_acceleration() -> Shown:
    """Return whether rows 4–6 of (2.35) are the angular acceleration that an inertial unit can show."""
    e = mean_error(*accelerations())[3:]
    text = f"the difference is {e[0]:.1f} {e[1]:.1f} {e[2]:.1f} rad/s² in the mean, printed errors 5.1 1.4 5.0"
    return Shown(bool((e < 0.01).all()), text)


def peaks_where_degenerate() -> Shown:
    """Return whether φ̈ and ψ̈ are largest next to ϑ = π."""
    euler, exact = accelerations()
    theta, far = nutation(), np.sin(nutation()) > 0.4
    size = np.abs(euler[:, [3, 5]])
    places = theta[size.argmax(axis=0)]
    peaks = f"φ̈, ψ̈ reach {_pair(size.max(axis=0), 0)} rad/s² at ϑ = {_pair(places, 2)} rad"
    rest = f"at most {size[far].max():.0f} where sin ϑ > 0.4; ω̇ at most {np.abs(exact[:, 3:]).max():.1f}"
    return Shown(bool((places > 2.9).all()), f"{peaks}, {rest}")


def _pair(values: Array, digits: int) -> str:
    return " and ".join(f"{x:.{digits}f}" for x in values)


def peaks_repeat() -> Shown:
    """Return whether the printed instants repeat every 6.4 s, two commands of Figure 4.5."""
    periods = PEAKS[2:] - PEAKS[:-2]
    return Shown(
        bool((np.abs(periods - 6.4) <= 0.05 + 1e-9).all()),
        f"{' '.join(f'{x:.2f}' for x in periods)} s, two waits of 3.2 s",
    )


def lever_is_small() -> Shown:
    """Return whether the unit's distance from o_6 changes the acceleration by less than half the smallest error."""
    m, arm = motion(), model("c")
    r = np.asarray(fk(arm, m.q))[:, :3, :3] @ SENSOR
    w = (np.asarray(jacobian(arm, m.q))[:, 3:] @ m.qd[..., None])[..., 0]
    change = np.cross(accelerations()[1][:, 3:], r) + np.cross(w, np.cross(w, r))
    e, allowed = mean_error(change, np.zeros_like(change)).max(), 0.5 * min(LINEAR_ERRORS)
    return Shown(bool(e < allowed), f"{e:.3f} m/s² in the mean, {allowed:.2f} allowed")


def _picture() -> Figure:
    from matplotlib.figure import Figure

    (euler, exact), t = accelerations(), motion().t
    smooth = low_pass(LOG_RATE, *FILTER).without_phase
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    axes = figure.subplots(1, 2)
    names = ((axes[0], 1, r"$\ddot y$", r"$\ddot y$"), (axes[1], 3, r"$\ddot\varphi$", r"$\dot\omega_x$"))
    for axis, column, modelled, real in names:
        axis.plot(t, smooth(euler)[:, column], lw=1.0, label=f"{modelled} by (2.35)")
        axis.plot(t, smooth(exact)[:, column], "--", lw=1.0, label=f"{real} of the tool")
        axis.set(xlabel="time [s]", ylabel="[m/s²]" if column < 3 else "[rad/s²]")
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    twin = axes[1].twinx()
    twin.plot(t, nutation(), color="0.7", lw=0.8)
    twin.set(ylabel="ϑ [rad], grey", ylim=(0.0, np.pi))
    return figure


def _tilt() -> list[str]:
    return [
        f"a mounting {np.rad2deg(np.arcsin(LINEAR_ERRORS[0] / 9.81)):.1f}° askew would look like the 0.69 m/s² along x"
    ]


def resting_acceleration_as_published() -> float:
    """Return ‖R f − g₀‖ of a sensor at rest (5.11)."""
    arm = model("c")
    f = accelerometer(arm, PRINTED_WAYPOINT, np.zeros(6), np.zeros(6))
    return float(np.linalg.norm(fk(arm, PRINTED_WAYPOINT)[:3, :3] @ f - G0))


def linear_part_depends_on_euler_angles() -> Shown:
    """Return whether rows 1–3 of J_a differ from J_g's anywhere: only then could its singularity spoil them."""
    q = motion().q[::25]
    gap = float(np.abs(np.asarray(analytic_jacobian(model("c"), q)) - np.asarray(jacobian(model("c"), q)))[:, :3].max())
    return Shown(gap > 1e-12, f"rows 1–3 of J_a and J_g differ by {gap:.0g}, ϑ up to {nutation().max():.2f} rad")


ITEMS = (
    Item(
        "5.9",
        "the distance of the inertial unit from the flange",
        Claim("“left out”, since the translation “is small”"),
        correct=lever_is_small,
        rule=f"mean against mean: below half of the smallest error of Table 5.7; {THERE_AND_BACK}",
    ),
    Item(
        "5.11",
        "acceleration of a sensor at rest",
        Formula("X_acc⁰ = R X_acc − g₀, g₀ = (0, 0, −9.81)", "m/s²"),
        as_published=resting_acceleration_as_published,
        correct=lambda: 0.0,
        reason="an accelerometer shows a − g, so a = R f + g₀; as printed a resting sensor has 19.62 m/s². A slip of "
        "the print: an error of 0.18 m/s² along z (Table 5.7) does not come from it",
        faults=(SIGN,),
    ),
    Item(
        "T5.7",
        "errors of the linear acceleration",
        Numbers("0.6929 0.1810 0.1793", "m/s²"),
        reason="trajectory, curves and the unit's mounting are lost",
        notes=_tilt,
    ),
    Item(
        "T5.7a",
        "errors of the angular acceleration",
        Claim("X̂₄, X̂₅, X̂₆ by (2.35) are “angular accelerations around the x-, y-, z-axes”"),
        correct=euler_angles_give_angular_acceleration,
        reason="(2.35) gives φ̈, ϑ̈, ψ̈ of Euler angles; φ̈ and ψ̈ grow without bound towards ϑ = π, ϑ̈ does not: the "
        "pattern of the printed errors",
        faults=("second derivatives of Euler angles are taken for angular accelerations",),
        rule=f"equal to 0.01 rad/s² in the mean; {THERE_AND_BACK}",
        pictures=(Picture("acceleration by (2.35) and of the tool: linear alike, angular not (grey: ϑ)", _picture),),
    ),
    Item(
        "5.14",
        "peaks of the modelled angular acceleration",
        Claim("“occur because the manipulator comes close to a singular configuration”, ϑ = 3.02 rad ≈ π"),
        correct=peaks_where_degenerate,
        rule=f"largest where ϑ > 2.9 rad; {THERE_AND_BACK}",
    ),
    Item(
        "5.14t",
        "instants of these peaks",
        Claim("5.6, 7.4, 11.95, 13.77, 18.35, 20.15 s; a “characteristic periodic movement”"),
        correct=peaks_repeat,
        rule="the same period to 0.05 s",
    ),
    Item(
        "5.15",
        "the Euler singularity and the linear acceleration",
        Claim("“this singularity also affects the accuracy of the modeled linear acceleration”"),
        correct=linear_part_depends_on_euler_angles,
        reason="the first three rows of J_a are those of J_g: no Euler angle enters",
        faults=("a singularity of Euler angles is said to reach the linear acceleration",),
    ),
)
