# SPDX-License-Identifier: Apache-2.0
"""Q20 of 003: PD + gravity on the quintic (Eq. 20): errors, torques, and the step-size trap."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.control import hold_limit, linearise, loop_poles, pd, pd_gravity, spectral_radius
from armwright.control.law import Law
from armwright.errors import SimulationError
from armwright.kinematics import fk
from armwright.motion import quintic
from armwright.recording import Recording
from armwright.simulation import simulate
from armwright.studies.doc003_rob315.motion import torque_limits
from armwright.studies.doc003_rob315.setting import K_d, K_p, T_e, arm, q_df, q_di, t_f
from armwright.studies.study import Claim, Item, Numbers, Picture
from armwright.studies.study_pictures import curves, joint_panels
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _run(law: Law, duration: float, T: float = t_f) -> Recording:
    """Run the loop in continuous time, as the report's simulator has it; stiff, so by an implicit method."""
    found: Recording = simulate(arm(), law, quintic(q_di, q_df, T), duration, continuous=True, integrator="rodas3")
    return found


@cache
def run() -> Recording:
    """Return the run of Q20, start at rest at q_di, with the end held until 1 s; the report stops at t_f."""
    return _run(pd_gravity(K_p, K_d), 1.0)


def until_t_f(recording: Recording, name: str, T: float = t_f) -> Array:
    """Return samples of a signal (T, 6) until the move ends, which is where the report's run ends."""
    return np.asarray(recording[name][recording.time <= T + 1e-9])


def peaks(name: str) -> Array:
    """Return the largest |value| per joint in the report's run."""
    return np.asarray(np.abs(until_t_f(run(), name)).max(axis=0))


@cache
def trap() -> str:
    """Return what the simulation says to a law that is held for the stated T_e = 1 ms; "" if it runs."""
    try:
        simulate(arm(), pd_gravity(K_p, K_d), quintic(q_di, q_df, t_f), rate=1.0 / T_e)
    except SimulationError as error:
        return str(error)
    return ""


def _table_notes() -> list[str]:
    rec = run()
    out = []
    for t in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
        k = round(t * 1000)
        errors = ", ".join(f"{x + 0.0:.3f}" for x in 1e3 * rec["error"][k])
        torques = ", ".join(f"{x + 0.0:.2f}" for x in np.round(rec["tau"][k], 9))
        out.append(f"t = {t:.1f} s: e ({errors}) mrad, Γ ({torques}) N m")
    e = np.abs(until_t_f(rec, "error"))
    out.append("peaks of e at t = " + ", ".join(f"{rec.time[k]:.3f}" for k in e.argmax(axis=0)) + " s")
    gap = fk(arm(), until_t_f(rec, "q_ref"))[:, :3, 3] - fk(arm(), until_t_f(rec, "q"))[:, :3, 3]
    distance = 1e3 * np.linalg.norm(gap, axis=1)
    out.append(f"tool: at most {distance.max():.1f} mm off, {distance[-1]:.1f} mm at 0.5 s")
    out.append("|e| at 1 s: " + ", ".join(f"{x:.2f}" for x in 1e3 * np.abs(rec["error"][-1])) + " mrad")
    over = 1e3 * np.maximum(np.sign(q_df - q_di) * (rec["q"] - q_df), 0.0).max(axis=0)
    out.append(
        "overshoot: " + ", ".join(f"{x:.1f}" for x in over) + " mrad; joints 1 and 3 end on their upper limits, "
        "so they overshoot those"
    )
    return out


def _torque_notes() -> list[str]:
    rec, tau = run(), until_t_f(run(), "tau")
    out = [
        "least Γ: " + ", ".join(f"{x + 0.0:.2f}" for x in np.round(tau.min(axis=0), 6)) + " N m",
        "peaks of Γ at t = " + ", ".join(f"{rec.time[k]:.3f}" for k in np.abs(tau).argmax(axis=0)) + " s",
    ]
    fast = _run(pd_gravity(K_p, K_d), 0.5, 0.4102)
    e, tau = (np.abs(until_t_f(fast, name, 0.4102)).max(axis=0) for name in ("error", "tau"))
    out.append("at t_f = 0.4102 s: peaks of e " + ", ".join(f"{x:.4f}" for x in e) + f" rad, Γ2 = {tau[1]:.1f} N m")
    sag = _run(pd(K_p, K_d), 3.0)["error"][-1]
    out.append(f"without G(q) the arm sags by {1e3 * sag[1]:.1f} mrad (joint 2) and {1e3 * sag[2]:.1f} mrad (joint 3)")
    return out


def _trap_notes() -> list[str]:
    robot = arm()
    poles = loop_poles(linearise(robot, pd_gravity(K_p, K_d), q_di))
    radii = ", ".join(
        f"{spectral_radius(robot, q_di, K_p, K_d, h):.3f} at {1e3 * h:g} ms" for h in (1e-3, 2.5e-4, 2e-4)
    )
    return [
        "beyond the report, the same gains with the torque held for 1 ms: " + trap(),
        f"fastest pole of the continuous loop: {poles[0].real:.0f} 1/s (about −K_d6/A_66)",
        f"largest stable period where the move ends: {1e3 * hold_limit(robot, q_df, K_p, K_d):.3f} ms",
        f"spectral radius of one period at q_di: {radii}",
    ]


def _joints() -> Figure:
    return joint_panels(run().time, {"q": run()["q"], "q_c": run()["q_ref"]}, arm())


def _errors() -> Figure:
    e = 1e3 * run()["error"]
    return curves([(f"joint {j + 1}", run().time, e[:, j]) for j in range(6)], "time [s]", "q_c − q [mrad]")


def _torques() -> Figure:
    limits = (-torque_limits(), torque_limits())
    return joint_panels(run().time, {"Γ": run()["tau"]}, arm(), quantity="torque [N m]", limits=limits)


ITEMS: tuple[Item, ...] = (
    Item(
        "Q20a",
        "peaks of the error (read from the curves)",
        Numbers("0.023, 0.023, 0.010, 0.036, 0.0068, 0.0095", "rad"),
        None,
        lambda: peaks("error"),
        rule="no number is printed: our readings of Fig. 7.6 (published PDF), to the digits given",
        notes=_table_notes,
        pictures=(
            Picture("Joint positions and references.", _joints),
            Picture("Tracking errors q_c − q.", _errors),
        ),
    ),
    Item(
        "Q20b",
        "peaks of the torque (read from the curves)",
        Numbers("235, 390, 87, 38.5, 38, 37.5", "N m", reading=(5.0, 10.0, 1.0, 0.5, 1.0, 0.5)),
        None,
        lambda: peaks("tau"),
        rule="no number is printed: our readings of Fig. 7.7 (published PDF), to ±2.5, ±5, ±0.5, ±0.25, ±0.5 and "
        "±0.25 N m: half of what can be told apart on the axes",
        notes=_torque_notes,
        pictures=(Picture("Joint torques; dashed: limits where the run comes near them (wrist: 350 N m).", _torques),),
    ),
    Item(
        "Q20c", "errors stay below 0.05 rad", Claim("|e| < 0.05 rad"), None, lambda: bool(peaks("error").max() < 0.05)
    ),
    Item(
        "Q20d",
        "torques stay below Γ_max",
        Claim("below the limits"),
        None,
        lambda: bool((peaks("tau") <= torque_limits()).all()),
        notes=_trap_notes,
    ),
)
