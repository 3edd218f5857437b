# SPDX-License-Identifier: Apache-2.0
"""Chapter 5 of 002, closed loop: PD with gravity compensation, three set points, both formulations (5.4, 6.1).

Its figures are positions, torques, the Lyapunov function, and the difference of the formulations.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from armwright.control import linearise, loop_poles, pd_gravity
from armwright.dynamics.newton_euler import gravity_torque as gravity_of_one
from armwright.motion.trajectory import Reference
from armwright.robot.model import Robot
from armwright.robot.tree import Tree
from armwright.studies.doc002_irb140.listing import ALL, indefinite
from armwright.studies.doc002_irb140.runs import (
    at,
    dissipation_error,
    errors_at,
    feedback,
    overshoot,
    peak_speeds,
    run,
    settling,
    speed_limits,
    storage_falls,
    within_range,
)
from armwright.studies.doc002_irb140.setting import RUNS, K_d, K_p, arm, joint_curves, row_of_panels
from armwright.studies.doc002_irb140.twin import closed_twins
from armwright.studies.study import Claim, Item, Picture, Shown, Supposed, Undetermined
from armwright.types import Array, Traced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.figure import Figure

    from armwright.control.law import Law


def draw_runs() -> Figure:
    """Draw the positions of the three runs."""
    figure, panels = row_of_panels([f"{name}: position" for name in RUNS], height=2.7)
    for panel, name in zip(panels, RUNS, strict=True):
        joint_curves(panel, run(name).time[::20], run(name)["q"][::20], label=name == "CL1")
        for j, goal in enumerate(RUNS[name].q_ref):
            panel.plot([4.6, 5.0], [goal, goal], color="black", linewidth=0.5, zorder=1 + j)
        panel.set_xlabel("time [s]")
    panels[0].set_ylabel("[rad]")
    figure.legend(loc="outside lower center", ncols=6, handlelength=1.2)
    return figure


def draw_torques() -> Figure:
    """Draw the torques without gravity."""
    figure, panels = row_of_panels([f"{name}: torque − g(q)" for name in RUNS], height=2.7, share_y=True)
    for panel, name in zip(panels, RUNS, strict=True):
        seen = run(name).time <= 2.0
        joint_curves(panel, run(name).time[seen][::5], feedback(name)[seen][::5], label=name == "CL1")
        panel.set_xlabel("time [s]")
    panels[0].set_ylabel("[N m]")
    figure.legend(loc="outside lower center", ncols=6, handlelength=1.2)
    return figure


def draw_storage() -> Figure:
    """Draw the Lyapunov function, and the difference of the formulations."""
    figure, (left, right) = row_of_panels(
        ["Lyapunov function V(t)", "|q Newton–Euler − q exponentials|, largest joint"], height=2.7
    )
    twins = closed_twins()
    for k, name in enumerate(RUNS):
        colour = ("#0072b2", "#d55e00", "#009e73")[k]
        left.semilogy(run(name).time[::20], run(name)["storage"][::20], color=colour, label=name)
        apart = np.abs(twins["Newton–Euler"].q[k] - twins["exponentials"].q[k]).max(axis=1)
        right.semilogy(twins["Newton–Euler"].time, np.maximum(apart, 1e-18), color=colour, label=name, linewidth=0.7)
    right.set_ylim(1e-18, 1e-14)
    for panel, label in ((left, "V [J]"), (right, "[rad]")):
        panel.set_xlabel("time [s]")
        panel.set_ylabel(label)
    left.legend()
    return figure


def law_as_published(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference) -> Traced:
    """Return −K_p q̃ − K_d q̇ + g(q) with the printed q̃ = q_ref − q: it pushes away from the goal."""
    return -K_p * (ref.q - q) - K_d * qd + gravity_of_one(arm, q)


def formulations_apart() -> Array:
    """Return the largest |q_NE − q_PoE| of each run (3,) [rad] over 5 s."""
    twins = closed_twins()
    return np.asarray(np.abs(twins["Newton–Euler"].q - twins["exponentials"].q).max(axis=(1, 2)))


def stable(law: Law | Callable[..., Traced]) -> Shown:
    """Return whether the loop at the goal of CL1 has no pole on the right."""
    worst = float(loop_poles(linearise(arm(), law, RUNS["CL1"].q_ref)).real.max())
    return Shown(worst < 1e-6, f"slowest pole {worst:+.1f} 1/s")


def _join(values: Iterable[float], form: str) -> str:
    return ", ".join("–" if np.isnan(x) else format(x, form) for x in values)


def _notes(name: str) -> list[str]:
    recording = run(name)
    lines = [
        f"2 % settling by joint: {_join(settling(name), '.2f')} s; the slowest at 3, 0.75, 0.3, 0.2 %: "
        f"{_join([settling(name, band).max() for band in (0.03, 0.0075, 0.003, 0.002)], '.2f')} s",
        f"overshoot: {_join(100 * overshoot(name), '.1f')} % of the step",
        f"peak speeds {_join(peak_speeds(name), '.0f')} °/s (data sheet {_join(speed_limits(), '.0f')}); start and "
        f"goal {'within' if within_range(name) else 'not within'} the joint ranges, which the thesis leaves out of "
        "account",
        f"feedback torque at the start ({_join(feedback(name)[0], '.2f')}) N m, peak with gravity "
        f"({_join(np.abs(recording['tau']).max(axis=0), '.0f')})",
        f"largest error at 2.3, 3, 5 s: {_join(errors_at(name), '.2g')} rad",
    ]
    lines += [f"q({t:g} s) = ({_join(at(name, t), '.4f')})" for t in (0.25, 0.5, 1.0, 2.0)]
    return lines


def _stability_notes() -> list[str]:
    poles = loop_poles(linearise(arm(), pd_gravity(K_p, K_d), RUNS["CL1"].q_ref))
    lines = [
        f"{name}: V falls from {run(name)['storage'][0]:.1f} J to {run(name)['storage'][-1]:.1e} J; V̇ + "
        "q̇ᵀK_d q̇ closes to "
        f"{dissipation_error(name):.0e} of V(0)"
        for name in RUNS
    ]
    lines.append(
        f"poles at the goal of CL1: fastest {poles[0].real:.0f} and {poles[1].real:.0f} 1/s, slowest "
        f"{poles.real.max():.1f} 1/s: stiff, because joints 5 and 6 have 2.3e-3 and 9.7e-4 kg m² against K_d = 20"
    )
    return lines


ABOUT_THREE = ((0.05, 2.5, 3.5), (0.02, 2.5, 3.5), (0.0075, 2.0, 4.0))
"""Ways to read “converge in about 3 seconds”: band of the joint's step, earliest and latest time [s]."""


def _about_three(name: str, band: float, first: float, last: float) -> Shown:
    """Return whether the last joint settles between two instants [s]."""
    slowest = float(settling(name, band).max())
    return Shown(first <= slowest <= last, f"{slowest:.2f} s")


ITEMS: tuple[Item, ...] = (
    Item(
        "5.q",
        "error of the PD law",
        Claim("u = −K_p(q_ref − q) − K_d q̇ + g(q) makes q_ref “globally asymptotic stable”"),
        None,
        lambda: stable(law_as_published),
        reason="with this q̃ the law pushes away from the goal; (5.24) and the runs have q̃ = q − q_ref, but nothing in "
        "the thesis says so",
        faults=("(5.19): q̃ = q_ref − q for q − q_ref",),
    ),
    Item(
        "5.V",
        "Lyapunov function of the three runs",
        Claim("V > 0, V̇ = −q̇ᵀK_d q̇ ≤ 0"),
        None,
        lambda: all(storage_falls(name) and dissipation_error(name) < 1e-4 for name in RUNS),
        rule="V never rises, and V̇ + q̇ᵀK_d q̇ closes to 1e-4 of V(0), by quadrature of the recorded run",
        notes=_stability_notes,
        pictures=(
            Picture(
                "Left, V(t) of the three runs. Right, the difference between the two formulations, integrated alike.",
                draw_storage,
            ),
        ),
    ),
    *(
        Item(
            name,
            f"{name}: time to converge to the reference",
            Claim("All simulations show that the states converge to the reference in about 3 seconds"),
            None,
            readings=tuple(
                Supposed(
                    f"within {100 * band:g} %, {first:g} to {last:g} s", partial(_about_three, name, band, first, last)
                )
                for band, first, last in ABOUT_THREE
            ),
            reason="the thesis says neither what “converge” nor what “about” means, and the two usual bands of a "
            "settling time and one that a reader of a curve can just see disagree",
            rule="bands of the joint's step, and as many rad for a joint that should not move",
            notes=partial(_notes, name),
            pictures=(
                Picture("The three closed-loop runs; black ticks mark the goals.", draw_runs),
                Picture("Torque without g(q), as the thesis plots it (first two seconds).", draw_torques),
            )
            if name == "CL1"
            else (),
        )
        for name in RUNS
    ),
    Item(
        "5.ov",
        "Newton–Euler and exponentials in closed loop",
        Undetermined("Figs 6.3, 6.5, 6.7: comparison of the methods, position control"),
        reason="the curves are not in our text, and no sentence says that they coincide. Ours, from the corrected "
        "listing, do; M of the listing as printed is indefinite, and no curve can come from it",
        notes=lambda: [
            f"largest |Δq| over 5 s: {_join(formulations_apart(), '.0e')} rad (CL1–CL3), the same integrator",
            f"M of the listing as printed is indefinite at {indefinite(ALL)} of 300 postures",
        ],
    ),
)
