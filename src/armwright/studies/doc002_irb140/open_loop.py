# SPDX-License-Identifier: Apache-2.0
"""Chapter 5 of 002, open loop: the stretched arm held by u_des (OL1), the hanging arm under it (OL2)."""

from __future__ import annotations

from collections.abc import Set
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.control import constant
from armwright.dynamics import dynamics_derivatives, energy, forward_dynamics, gravity_torque
from armwright.kinematics import fk
from armwright.recording.batch import Recordings
from armwright.recording.recording import Recording
from armwright.simulation import simulate
from armwright.studies.doc002_irb140.kinematics import wrist
from armwright.studies.doc002_irb140.setting import PI, arm, e2, joint_curves, printed_arm, q_des, q_down, row_of_panels
from armwright.studies.doc002_irb140.twin import run_twin
from armwright.studies.study import Claim, Item, Picture, Shown, Supposed
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.robot.model import Robot

NEIGHBOUR_DISTANCE = 1e-9
GROWN = 1e-3  # beyond this a perturbation is no longer small
ESCAPE_SECONDS = 20.0
LOADED, NEUTRAL = frozenset({2, 3, 4, 5}), frozenset({1, 6})
"""Joints whose turning disturbs the balance at q_des, and those that leave it."""


def u_des() -> Array:
    """Return the holding torque of the stretched arm [N m]."""
    return np.asarray(gravity_torque(arm(), q_des))


@cache
def stretched() -> Recording:
    """Return OL1: ten seconds under u_des."""
    return simulate(arm(), constant(u_des()), None, 10.0, q0=q_des, every=10)


@cache
def falling() -> Recording:
    """Return OL1 without torque."""
    return simulate(arm(), None, None, 1.0, q0=q_des, substeps=4)


@cache
def hanging() -> Recordings:
    """Return OL2 for six seconds: the run itself, and six neighbours a NUDGE away in one joint each (a batch)."""
    starts = q_down + np.concatenate([np.zeros((1, 6)), NEIGHBOUR_DISTANCE * np.eye(6)])
    return simulate(arm(), constant(u_des()), None, 6.0, q0=starts, count=len(starts), substeps=8)


def drift(recording: Recording) -> float:
    """Return the largest distance of a joint from its start [rad]."""
    return float(np.abs(recording["q"] - recording["q"][0]).max())


class Escape(NamedTuple):
    """Time [s] until some joint is 1 rad from q_des, after joint `joint` was offset by `offset` [rad]; inf: never."""

    joint: int
    offset: float
    time: float


@cache
def escapes() -> tuple[Escape, ...]:
    """Return how the degenerate equilibrium is left: every joint moved by ±0.01 and ±0.1 rad."""
    cases = [(j, d) for d in (-0.01, 0.01, -0.1, 0.1) for j in range(1, 7)]
    starts = np.array([q_des + d * np.eye(6)[j - 1] for j, d in cases])
    run = simulate(arm(), constant(u_des()), None, ESCAPE_SECONDS, q0=starts, count=len(starts), every=10)
    away = np.abs(run["q"] - q_des).max(axis=2) > 1.0
    times = [float(run[0].time[np.argmax(row)]) if row.any() else np.inf for row in away]
    return tuple(Escape(j, d, t) for (j, d), t in zip(cases, times, strict=True))


def runs_away(joints: Set[int]) -> Shown:
    """Return whether every offset of these joints ends 1 rad away, and after which times."""
    times = [e.time for e in escapes() if e.joint in joints]
    return Shown(bool(np.isfinite(times).all()), f"1 rad away after {min(times):.1f} to {max(times):.1f} s")


def modes(q: Array, u: Array) -> Array:
    """Return the eigenvalues (12,) of the arm at rest at q under constant torque u, the fastest growing first."""
    dq, dqd, _ = dynamics_derivatives(arm(), q, np.zeros(6), u)
    A = np.block([[np.zeros((6, 6)), np.eye(6)], [dq, dqd]])
    found = np.linalg.eigvals(A)
    return np.asarray(found[np.argsort(-found.real)])


def controllability_rank(q: Array) -> int:
    """Return the rank of (B, AB) at rest: 12 means that joint torques reach every state."""
    dq, dqd, dtau = dynamics_derivatives(arm(), q, np.zeros(6), np.zeros(6))
    A = np.block([[np.zeros((6, 6)), np.eye(6)], [dq, dqd]])
    B = np.vstack([np.zeros((6, 6)), dtau])
    return int(np.linalg.matrix_rank(np.hstack([B, A @ B])))


@cache
def sensitivity() -> tuple[Array, Array]:
    """Return time and largest growth ‖δq(t)‖/NUDGE of the six neighbours of OL2."""
    run = hanging()
    return np.asarray(run[0].time), np.linalg.norm(run["q"][1:] - run["q"][0], axis=2).max(axis=0) / NEIGHBOUR_DISTANCE


def finite_time_exponent(start: float, end: float) -> float:
    """Return the growth rate [1/s] of small perturbations of OL2 between two instants: log of growth over time."""
    t, growth = sensitivity()
    first, last = np.searchsorted(t, (start - 1e-9, end - 1e-9))
    return float(np.log(growth[last] / growth[first]) / (t[last] - t[first]))


def chaos() -> tuple[float, float]:
    """Start [s] and rate [1/s] of the half second of fastest growth, while perturbations are small."""
    t, growth = sensitivity()
    small = t[: int(np.argmax(NEIGHBOUR_DISTANCE * growth > GROWN))]
    starts = small[(small >= 1.0) & (small <= small[-1] - 0.5)][::10]
    rates = [finite_time_exponent(s, s + 0.5) for s in starts]
    best = int(np.argmax(rates))
    return float(starts[best]), rates[best]


def parting_time(distance: float = 1e-6) -> float:
    """Return when Newton–Euler and exponentials are `distance` [rad] apart in OL2, by rounding alone."""
    t, apart = formulations_apart()
    return float(t[np.argmax(apart > distance)])


@cache
def formulations_apart() -> tuple[Array, Array]:
    """Return time and largest |q_NE − q_PoE| of OL2 up to 6 s, same integrator."""
    runs = [run_twin(kind, q_down[None], u_des()[None], 6.0, closed=False) for kind in ("Newton–Euler", "exponentials")]
    return runs[0].time, np.abs(runs[0].q[0] - runs[1].q[0]).max(axis=1)


def power_balance() -> float:
    """Return the largest |E(t) − E(0) − u_desᵀ(q − q(0))| of OL2 up to 2 s, relative to the largest work."""
    run = hanging()[0]
    first = run.time <= 2.0
    q, qd = run["q"][first], run["qd"][first]
    E = energy(arm(), q, qd)
    total, work = E.kinetic + E.potential, (q - q[0]) @ u_des()
    return float(np.abs(total - total[0] - work).max() / np.abs(work).max())


def inverted(robot: Robot, q: Array = q_down) -> Shown:
    """Return whether at q, the angles stated for OL2, link 2 hangs straight down and the forearm stands on it."""
    shoulder, elbow = (fk(robot, q, frame=k)[2, 3] for k in (0, 1))
    end = float(wrist(robot, q)[2])
    down = abs(shoulder - elbow - e2) < 1e-9
    return Shown(
        bool(down and end > elbow), f"heights of shoulder, elbow, wrist {shoulder:.3f}, {elbow:.3f}, {end:.3f} m"
    )


def _farthest() -> float:
    """Return how far a joint of OL2 is from zero after 2 s [rad]."""
    return float(np.abs(hanging()[0]["q"][2000]).max())


def _ol1_notes() -> list[str]:
    lines = [
        f"drift under u_des over 10 s: {drift(stretched()):.0e} rad; without torque, as τ_init = 0 of (6.3) might be "
        f"read, {drift(falling()):.1f} rad in 1 s",
        f"largest eigenvalue at q_des {np.abs(modes(q_des, u_des())).max():.0e} 1/s: the gravity Hessian is "
        "zero, escape is algebraic",
    ]
    for joint in sorted(LOADED):
        told = ", ".join(f"{e.offset:+g} rad {e.time:.2f} s" for e in escapes() if e.joint == joint)
        lines.append(f"joint {joint} offset, 1 rad away after: {told}")
    E = energy(arm(), falling()["q"], falling()["qd"])
    total = E.kinetic + E.potential
    lines.append(f"free fall: energy {total[0]:.1f} J, drift {np.abs(total - total[0]).max():.0e} J")
    return lines


def _ol2_notes() -> list[str]:
    run = hanging()[0]
    t, apart = formulations_apart()
    lines = [
        f"q({s:g} s) = (" + ", ".join(f"{x:.4f}" for x in run["q"][round(1000 * s)]) + ") rad"
        for s in (0.25, 0.5, 1.0, 2.0)
    ]
    lines.append(
        "q̈(0) = (" + ", ".join(f"{x:.4f}" for x in forward_dynamics(arm(), q_down, np.zeros(6), u_des())) + ") rad/s²"
    )
    lines.append(f"Newton–Euler and exponentials: |Δq| ≤ {apart[t <= 2.0].max():.0e} rad up to 2 s")
    begin, rate = chaos()
    lines.append(
        f"a perturbation grows {sensitivity()[1][2000]:.0f}-fold by 2 s (exponent "
        f"{finite_time_exponent(1.0, 3.5):.1f} 1/s from 1 to "
        f"3.5 s), then at {rate:.0f} 1/s from {begin:.1f} s: rounding alone parts the formulations by 1e-6 rad at "
        f"{parting_time():.2f} s, and by whole turns at 5 s"
    )
    lines.append(f"work of u_des equals the energy gained to {power_balance():.0e} (relative)")
    return lines


def _posture_notes() -> list[str]:
    up = np.array([0.0, PI, PI / 2, 0.0, 0.0, 0.0])
    return [
        "the inverted posture is q3 = +π/2; its fastest mode grows at "
        f"{modes(up, gravity_torque(arm(), up)).real[0]:.1f} 1/s",
        f"hanging, without torque: fastest growth {max(modes(q_down, np.zeros(6)).real[0], 0.0):.1e} 1/s: it would "
        "stay; the text has u_des act (section 5.3), (6.9) and (6.12) list τ_init = 0",
    ]


def _draw_sensitivity() -> Figure:
    figure, (left, right) = row_of_panels(["OL2 under u_des", "distance of neighbours, of formulations"], height=2.9)
    run = hanging()[0]
    seen = run.time <= 2.0
    joint_curves(left, run.time[seen], run["q"][seen], label=True)
    left.set_xlabel("time [s]")
    left.set_ylabel("position [rad]")
    left.legend(loc="lower left", handlelength=1.2)
    t, growth = sensitivity()
    right.semilogy(t[1:], NEIGHBOUR_DISTANCE * growth[1:], color="#0072b2", label="start 1e-9 rad away")
    s, apart = formulations_apart()
    right.semilogy(s, np.maximum(apart, 1e-17), color="#d55e00", label="Newton–Euler − exponentials")
    begin, rate = chaos()
    for start, slope, length in ((1.0, finite_time_exponent(1.0, 3.5), 2.5), (begin, rate, 0.5)):
        base = NEIGHBOUR_DISTANCE * growth[round(1000 * start)] * 30.0
        line = np.array([start, start + length])
        right.semilogy(
            line, base * np.exp(slope * (line - start)), color="#4d4d4d", linestyle=(0, (4, 2)), linewidth=1.0
        )
        right.annotate(
            f"exp({slope:.1f} t)" if slope < 10.0 else f"exp({slope:.0f} t)",
            (line.mean(), base * np.exp(slope * length / 2)),
            xytext=(-6, 6),
            textcoords="offset points",
            ha="right",
            fontsize=7.5,
            color="#4d4d4d",
        )
    right.axvline(2.0, color="#b2182b", linewidth=0.8)
    right.set_ylim(1e-17, 1e3)
    right.set_xlabel("time [s]")
    right.set_ylabel("distance [rad]")
    right.legend(loc="lower right", handlelength=1.4)
    return figure


ITEMS: tuple[Item, ...] = (
    Item(
        "OL1",
        "stretched arm under u_des",
        Claim("The joints are actuated exactly as required … to keep the manipulator steady"),
        None,
        lambda: Shown(drift(stretched()) < 1e-6, f"moves by {drift(stretched()):.0e} rad in 10 s"),
        rule="no joint moves by 1e-6 rad in 10 s",
        notes=_ol1_notes,
    ),
    Item(
        "OL2",
        "hanging arm under u_des",
        Claim("Simulation 2 show a clearly unstable behavior"),
        None,
        lambda: Shown(_farthest() > PI, f"a joint {_farthest():.1f} rad from zero after 2 s"),
        rule="some joint is more than half a turn from zero after 2 s",
        notes=_ol2_notes,
        pictures=(
            Picture(
                "OL2: the run to 2 s; right, the distance of a neighbour that starts 1e-9 rad away and that "
                "between the two formulations. The red line marks 2 s, up to where runs can be compared.",
                _draw_sensitivity,
            ),
        ),
    ),
    Item(
        "OL2a",
        "a slight disturbance ends in a motion that u_des does not control",
        Claim("the slightest disturbance in the system leads to a completely uncontrollable motion"),
        None,
        lambda: runs_away(LOADED),
        rule="q_des under u_des, joint 2, 3, 4 or 5 moved by ±0.01 or ±0.1 rad: in every case some joint is 1 rad away "
        f"within {ESCAPE_SECONDS:g} s",
        notes=lambda: [
            f"joints 1 and 6 may be moved, the arm {'stays' if not runs_away(NEUTRAL).value else 'leaves, too'}: that "
            "is another posture that u_des holds",
            "meant is the constant input; with feedback nothing is uncontrollable: rank of (B, AB) "
            f"{controllability_rank(q_down)} of 12",
        ],
    ),
    Item(
        "OL2b",
        "posture of OL2",
        Claim("link 2 is hanging straight down, while link 4 and 6 represents a double inverted pendulum on top"),
        None,
        readings=(
            Supposed("angles of the arm that u_des holds", lambda: inverted(arm())),
            Supposed("angles of the printed matrices (3.3)–(3.8)", lambda: inverted(printed_arm())),
        ),
        reason="at q2 = π, q3 = −π/2 of (6.7) the whole arm hangs straight down; in the printed matrices link 2 lies",
        faults=("simulation 2: an inverted pendulum described, a hanging arm given",),
        notes=_posture_notes,
    ),
)
