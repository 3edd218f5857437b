# SPDX-License-Identifier: Apache-2.0
"""Appendices A and B of 001 and the figures that compare mRNEA with RNEA (A3, A5).

`transforms` and `terms` show the sign of q4: the printed transforms (A.1) turn axes 4 and 6 one way, the dynamics
(B.1) the other. Arm and recursion are written here as the document has them (base axes), with the sense of axes 4 and 6
left open. Taken literally the model is no mechanism: a free swing gains or loses energy.

`as_published_sdt` is the four-axis spatial disorientation trainer (Section 5.4): its recursion as printed, with E_21
and E_22 short of link 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics import bias, forward_dynamics, inverse_dynamics
from armwright.dynamics.crba import crba
from armwright.dynamics.mrnea import coefficients, mrnea
from armwright.dynamics.terms import root_frames, root_masses
from armwright.graph.kernel import compile_function
from armwright.kinematics import fk_all
from armwright.robot.kernels import kernel
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.robot.step import steps
from armwright.spatial.linear import ltdl_solve
from armwright.studies.doc001_erfd import demo
from armwright.studies.doc001_erfd.appendix_b import UNDEFINED, Vectors, bodies, closed_forms, tabulated
from armwright.studies.doc001_erfd.setting import F_E, QD, Q, arm, states
from armwright.studies.study import Claim, Formula, Item, Shown, Supposed
from armwright.types import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.types import Scalar, Traced


POSTURE = np.array([0.4, -0.7, 0.9, 0.3])


@cache
def as_published_sdt() -> tuple[Array, Array]:
    """Return the first two columns of H of the trainer's first joint: by (77)–(88) as printed, and right.

    The columns of n'_1a2 are p*_1 × E_21 and p*_1 × E_22; the print has E_21 = e_31 + e_21 and E_22 = e_32 + e_22.
    """
    robot = load("sdt")
    tree = robot.tree
    frames = root_frames(tree, steps(tree, POSTURE))
    made = coefficients(tree, frames, root_masses(tree, frames), np.zeros(4))
    right = np.asarray(crba(robot, POSTURE, rotors=False))[0, :2]
    lever = frames.p[1] - frames.p[0]
    missing = np.array([frames.z[0] @ np.cross(lever, made.e_k[3][k]) for k in (0, 1)])
    return right - missing, right


G = 9.81
CONSISTENT, A_1, A_2 = (1.0, 1.0), (-1.0, -1.0), (-1.0, 1.0)
"""Sense of q4 and q6 in the transforms: plain DH, equation (A.1), equation (A.2)."""

_TO_X, _FROM_X = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]), np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
_ROWS = (
    (0.2, 0.0, _TO_X),
    (0.6, 0.0, np.eye(3)),
    (0.115, 0.825, _TO_X),
    (0.0, 0.0, _FROM_X),
    (0.0, 0.0, _TO_X),
    (0.0, 0.0, np.eye(3)),
)
"""a, length along the new z, rotation about x: d_4 is absorbed in frame 3."""


class Terms(NamedTuple):
    """H (6, 6), u′ (6,), potential energy () [J]."""

    H: Traced
    u: Traced
    V: Scalar


def transforms(q: Traced, sense: tuple[float, float]) -> tuple[list[Traced], list[Traced]]:
    """Return rotations D_0…D_6 and origins p_0…p_6 of the document's frames."""
    D: list[Any] = [np.eye(3)]
    p: list[Any] = [np.zeros(3)]
    turns = (1.0, 1.0, 1.0, sense[0], 1.0, sense[1])
    for i, (a, along, roll) in enumerate(_ROWS):
        c, s = np.cos(turns[i] * q[i]), np.sin(turns[i] * q[i])
        if i == 1:
            c, s = -s, c  # θ_2 = q2 + 90°
        R = D[-1] @ (np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ roll)
        p.append(p[-1] + a * (D[-1] @ np.array([c, s, 0.0])) + along * R[:, 2])
        D.append(R)
    return D, p


def terms(q: Traced, qd: Traced, sense: tuple[float, float]) -> Terms:
    """Return H, u′ and V with joint axes z_{i−1} and transforms of the given sense (001, eq. 4–36)."""
    D, p = transforms(q, sense)
    robot = arm()
    w, wd, vd = np.zeros(3), np.zeros(3), np.array([0.0, 0.0, G])
    V: Any = 0.0
    force, moment, e_k, d_k, levers = [], [], [], [], []
    for i, body in enumerate(robot.bodies):
        z = D[i][:, 2]
        wd = wd + np.cross(w, z) * qd[i]
        w = w + z * qd[i]
        step = p[i + 1] - p[i]
        vd = vd + np.cross(wd, step) + np.cross(w, np.cross(w, step))
        r = D[i + 1] @ (body.com - np.array([0.0, 0.0, 0.825 * (i == 2)]))
        inertia = D[i + 1] @ body.inertia @ D[i + 1].T
        force.append(body.mass * (vd + np.cross(wd, r) + np.cross(w, np.cross(w, r))))
        moment.append(inertia @ wd + np.cross(w, inertia @ w))
        levers.append((step + r, step))
        e_k.append([body.mass * np.cross(D[k][:, 2], p[i + 1] + r - p[k]) for k in range(i + 1)])
        d_k.append([inertia @ D[k][:, 2] for k in range(i + 1)])
        V = V + body.mass * G * (p[i + 1] + r)[2]
    H, u = backward([D[k][:, 2] for k in range(6)], levers, force, moment, e_k, d_k)
    return Terms(H, u, V)


def backward(
    z: Sequence[Traced],
    levers: Sequence[tuple[Traced, Traced]],
    force: Sequence[Traced],
    moment: Sequence[Traced],
    e_k: Sequence[Sequence[Traced]],
    d_k: Sequence[Sequence[Traced]],
) -> tuple[Traced, Traced]:
    """Return H (all n² entries, not mirrored) and u′ in one backward loop (eq. 22–36) from e_i, d_i, e_ik, d_ik."""
    zero = np.zeros(3)
    E, nc = zero, zero
    Ek, na = [zero] * 6, [zero] * 6
    H: list[Any] = [None] * 6
    u: list[Any] = [None] * 6
    for i in range(5, -1, -1):
        arm_i, step = levers[i]
        nc = nc + moment[i] + np.cross(arm_i, force[i]) + np.cross(step, E)
        na = [na[k] + np.cross(step, Ek[k]) for k in range(6)]
        for k in range(i + 1):
            na[k] = na[k] + d_k[i][k] + np.cross(arm_i, e_k[i][k])
            Ek[k] = Ek[k] + e_k[i][k]
        E = E + force[i]
        H[i] = [z[i] @ na[k] for k in range(6)]
        u[i] = z[i] @ nc
    return np.array(H), np.array(u)


class Swing(NamedTuple):
    """End of a free swing: q, q̇ (6,), and the largest change of energy on the way [J]; energy at the start [J]."""

    q: Array
    qd: Array
    drift: float
    start: float


@cache
def swing(sense: tuple[float, float], duration: float, dt: float = 1e-3) -> Swing:
    """Let the arm swing without torque from the golden state, RK4."""

    def free(q: Traced, qd: Traced) -> tuple[Traced, Scalar]:
        made = terms(q, qd, sense)
        return ltdl_solve(made.H, -made.u), 0.5 * qd @ (made.H @ qd) + made.V

    f = compile_function(free, {"q": (6,), "qd": (6,)}, name="free_swing")
    q, qd = Q.copy(), QD.copy()
    start, drift = float(f(q, qd)[1]), 0.0
    for _ in range(round(duration / dt)):
        a1 = f(q, qd)[0]
        v2, a2 = qd + 0.5 * dt * a1, f(q + 0.5 * dt * qd, qd + 0.5 * dt * a1)[0]
        v3, a3 = qd + 0.5 * dt * a2, f(q + 0.5 * dt * v2, qd + 0.5 * dt * a2)[0]
        v4, a4 = qd + dt * a3, f(q + dt * v3, qd + dt * a3)[0]
        q = q + dt / 6.0 * (qd + 2.0 * v2 + 2.0 * v3 + v4)
        qd = qd + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        drift = max(drift, abs(float(f(q, qd)[1]) - start))
    return Swing(q, qd, drift, start)


SAME_TORQUE_SHARE = 1e-9  # of the largest torque: "identical"


@cache
def wrong_vectors(*, off_axis: bool = True, undefined: bool = True) -> tuple[str, ...]:
    """Return the names of the printed vectors that are not those of the arm, found at 40 random postures.

    Args:
        off_axis: put the centre of mass of link 6 off its axis, where b_66 is not zero and b_656 shows.
        undefined: count vectors with v81 and v91, which are read as v8 a2 and v9 a2.
    """
    robot = arm()
    if off_axis:
        last = replace(robot.bodies[5], com=np.array([0.03, 0.02, 0.195]))
        robot = replace(robot, bodies=(*robot.bodies[:5], last))
    found: set[str] = set()
    for q in states(40)[0]:
        at = bodies(q, robot)
        right, printed = closed_forms(at), tabulated(at, as_published=True)
        found |= {name for name in right if np.abs(right[name] - printed[name]).max() > 1e-9}
    return tuple(sorted(found if undefined else found - set(UNDEFINED)))


def terms_of(vectors: Vectors, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return H (6, 6) and u′ (6,) from coefficient vectors (001, eq. 12–17 and 22–36)."""
    at, robot = bodies(q), arm()
    force, moment, e_k, d_k, levers = [], [], [], [], []
    for i, body in enumerate(robot.bodies):
        e, d = np.array([0.0, 0.0, 9.81]), np.zeros(3)
        for k in range(i + 1):
            for j in range(k, i + 1):
                rate = qd[k] * qd[j]
                e = e + vectors[f"b_{i + 1}{k + 1}{j + 1}"] * rate
                d = d + vectors[f"d_{i + 1}{k + 1}{j + 1}"] * rate
        force.append(body.mass * e)
        moment.append(d)
        step = at.p[i + 1] - at.p[i]
        levers.append((step + at.r[i], step))
        e_k.append([body.mass * vectors[f"b_{i + 1}{k + 1}"] for k in range(i + 1)])
        d_k.append([vectors[f"d_{i + 1}{k + 1}"] for k in range(i + 1)])
    return backward(list(at.z), levers, force, moment, e_k, d_k)


@cache
def table_errors() -> tuple[Array, float]:
    """Return rms errors (6,) of the torques by the printed vectors, and the asymmetry of H, both relative.

    Errors are over the rms of the torques, the largest asymmetry over the largest entry of H, at 60 random states
    within the rated speeds and accelerations.
    """
    wrong, right, uneven = [], [], 0.0
    for q, qd, qdd in zip(*(x[:60] for x in states()), strict=True):
        H, u = terms_of(tabulated(bodies(q), as_published=True), q, qd)
        wrong.append(H @ qdd + u)
        right.append(inverse_dynamics(arm(), q, qd, qdd, friction=False, rotors=False))
        uneven = max(uneven, float(np.abs(H - H.T).max() / np.abs(H).max()))
    error = np.array(wrong) - np.array(right)
    return np.sqrt((error**2).mean(axis=0) / (np.array(right) ** 2).mean(axis=0)), uneven


def along_program(torque: Callable[[Array, Array, Array], Array]) -> float:
    """Return the largest |torque − RNEA| over the cycles of the demonstration, of the largest torque."""
    demand = demo.demand()
    q = demand.q
    qd = np.gradient(q, demand.dt, axis=0)
    qdd = np.gradient(qd, demand.dt, axis=0)
    reference = inverse_dynamics(arm(), q, qd, qdd, friction=False, rotors=False)
    return float(np.abs(torque(q, qd, qdd) - reference).max() / np.abs(reference).max())


def mrnea_torque(q: Array, qd: Array, qdd: Array, robot: Robot | None = None) -> Array:
    """Return U = H q̈ + u′ with the published expansion into all b_ikj and d_ikj, batches of states."""
    made = kernel(robot or arm(), mrnea, expanded=True)(q, qd)
    return np.asarray(np.einsum("...ij,...j->...i", made[0], qdd) + made[1])


def printed_torque(q: Array, qd: Array, qdd: Array) -> Array:
    """Return the same by the vectors as printed, for every 20th cycle; the others are taken as right."""
    out = inverse_dynamics(arm(), q, qd, qdd, friction=False, rotors=False)
    for k in range(0, len(q), 20):
        H, u = terms_of(tabulated(bodies(q[k]), as_published=True), q[k], qd[k])
        out[k] = H @ qdd[k] + u
    return np.asarray(out)


def round_trip() -> float:
    """Return the largest relative error of FD(ID(q̈)) at 300 random states."""
    q, qd, qdd = states()
    tau = mrnea_torque(q, qd, qdd)
    back = forward_dynamics(arm(), q, qd, tau, method="mrnea", friction=False, rotors=False)
    return float(np.abs(back - qdd).max() / np.abs(qdd).max())


def sdt_agrees() -> bool:
    """Return whether mRNEA and RNEA coincide on the four-axis device, 100 random states."""
    robot = load("sdt")
    q, qd, qdd = np.random.default_rng(3).uniform(-2.0, 2.0, (3, 100, 4))
    one, other = mrnea_torque(q, qd, qdd, robot), inverse_dynamics(robot, q, qd, qdd, friction=False, rotors=False)
    return bool(np.abs(one - other).max() <= SAME_TORQUE_SHARE * np.abs(other).max())


def bias_with_f_e_twice(*, f_7: bool = True) -> Array:
    """Return u′ with f_e added to e_n (14), where it acts at link 6's centre of mass.

    Args:
        f_7: whether f_e is also carried as f_7 of (56) and (59), as (10) and (18) have it.
    """
    right = bias(arm(), Q, QD, -F_E if f_7 else np.zeros(6), friction=False)
    centre = np.eye(4)
    centre[:3, 3] = arm().bodies[5].com
    at_centre = arm().with_tool(centre)
    more = bias(at_centre, Q, QD, -F_E, friction=False) - bias(at_centre, Q, QD, friction=False)
    return np.asarray(right + more)


def frame_3(*, of_the_table: bool) -> Array:
    """Return the origin of frame 3 in frame 2 (3,) [m] at the golden posture: row 3 of Table A1, or ²T₃ of (A.1)."""
    c, s = np.cos(Q[2]), np.sin(Q[2])
    d_4 = 0.0 if of_the_table else 0.825
    return np.array([0.115 * c + d_4 * s, 0.115 * s - d_4 * c, 0.0])


def wrist_centre() -> Array:
    """Return X6, Y6, Z6 of (A.2) at the golden posture [m]."""
    c1, s1, s2, c2 = np.cos(Q[0]), np.sin(Q[0]), np.sin(Q[1]), np.cos(Q[1])
    c23, s23 = np.cos(Q[1] + Q[2]), np.sin(Q[1] + Q[2])
    v0 = 0.2 - 0.6 * s2 + 0.825 * c23 - 0.115 * s23
    return np.array([c1 * v0, s1 * v0, 0.115 * c23 + 0.825 * s23 + 0.6 * c2])


def _frame_notes() -> list[str]:
    D, p = transforms(Q, CONSISTENT)
    table = fk_all(arm(), Q)
    apart = max(float(np.abs(table[k, :3, 3] - p[k + 1]).max()) for k in (3, 4, 5))
    turned = max(float(np.abs(table[k, :3, :3] - D[k + 1]).max()) for k in (3, 4, 5))
    along = float(arm().bodies[2].com[2])  # the catalogue has it from the frame of Table A1
    return [
        f"T₄ to T₆ by Table A1 and with d₄ in ²T₃: {max(apart, turned):.1g} apart, plain DH signs in both",
        f"centre of mass of link 3, printed −0.7223 m along z₃: by (A.1) {1000 * along:.1f} mm in front of the elbow, "
        "by the frame of Table A1 722.3 mm behind it",
    ]


def _swing_notes() -> list[str]:
    ways = (("plain DH", CONSISTENT), ("(A.1)", A_1), ("(A.2)", A_2))
    out = [f"free swing, 1 s, RK4 at 1 ms, {n}: energy changes by {swing(s, 1.0).drift:.3g} J" for n, s in ways]
    end = swing(CONSISTENT, 0.5)
    out.append(
        f"plain DH after 0.5 s: {end.start:.6f} J to {end.drift:.1g}, q = " + ", ".join(f"{x:.6f}" for x in end.q)
    )
    return out


def _vector_notes() -> list[str]:
    rms, uneven = table_errors()
    found = wrong_vectors()
    return [
        "wrong: " + ", ".join(found),
        f"with the arm's own numbers {len(wrong_vectors(off_axis=False))} of them show: b_656 needs the centre of mass "
        "of link 6 off its axis",
        f"{', '.join(UNDEFINED)} hold v81 and v91, which are never defined",
        "v38–v46 and v50–v52 are not defined either; they are read as what they must be, z1×z4, z3×z4, z1×z5 and z4×z5",
        "torques by the printed vectors, rms error on axes 1–6 at random rated states: "
        + ", ".join(f"{100 * x:.3g} %" for x in rms),
        f"H by the printed vectors is up to {100 * uneven:.0f} % asymmetric",
    ]


ITEMS: tuple[Item, ...] = (
    Item(
        "A.1",
        "transform from frame 3 to frame 4",
        Formula("³T₄ of (A.1), at q4 = 0.6"),
        lambda: transforms(Q, A_1)[0][3].T @ transforms(Q, A_1)[0][4],
        lambda: transforms(Q, CONSISTENT)[0][3].T @ transforms(Q, CONSISTENT)[0][4],
        reason="printed for −q4, while Table A1 has +q4 and the dynamics (B.1) turns joint 4 about +z3; taken "
        "literally the arm is no mechanism",
        faults=("sign of q4 in the transforms",),
        notes=_swing_notes,
    ),
    Item(
        "TA1",
        "frame 3 by Table A1 and by (A.1)",
        Formula("²T₃ of (A.1): (c3 a3 + s3 d4, s3 a3 − c3 d4, 0)", "m"),
        lambda: frame_3(of_the_table=False),
        lambda: frame_3(of_the_table=True),
        reason="Table A1 has d₄ in the row of link 4, (A.1) in ²T₃ and nothing in ³T₄: frame 3 lies 825 mm further on. "
        "T₄ to T₆ stay the same, as d₄ lies along z₃; the centre of mass of link 3 is meant from the frame of (A.1)",
        faults=("Table A1: d₄ in row 4, in (A.1) in ²T₃",),
        notes=_frame_notes,
    ),
    Item(
        "A.2",
        "(A.1) and (A.2) have the same T_6",
        Claim("“based on these matrices”: (A.2) is the product of (A.1)"),
        None,
        lambda: bool(np.allclose(transforms(Q, A_1)[0][6], transforms(Q, A_2)[0][6])),
        reason="(A.1) has −q6, (A.2) +q6",
        faults=("sign of q6 in the transforms",),
    ),
    Item(
        "A.2w",
        "wrist centre by (A.2)",
        Formula("X6 = c1 v0, Y6 = s1 v0, Z6 = v12 + v14", "m"),
        wrist_centre,
        lambda: fk_all(arm(), Q)[3, :3, 3],
        notes=lambda: ["at q = 0: " + ", ".join(f"{x:.3f}" for x in transforms(np.zeros(6), CONSISTENT)[1][3]) + " m"],
    ),
    Item(
        "B",
        "wrong ones among the 154 coefficient vectors of Appendix B",
        Claim("“The vectors … are given in Appendix B”: no wrong ones", 0),
        readings=(
            Supposed(
                "v81 = v8 a2, v91 = v9 a2, after b_212",
                lambda: Shown(len(wrong_vectors()), f"{len(wrong_vectors(off_axis=False))} with the arm's own numbers"),
            ),
            Supposed(
                "the four vectors with v81, v91 given the benefit of the doubt",
                lambda: len(wrong_vectors(undefined=False)),
            ),
        ),
        reason="found by comparison with closed forms that follow from (4), (7) and (B.1), at random postures; signs, "
        "a factor 2, v9 for b_i9, b_i9 for d_i9, a6 × (z3 × r6) left out of b_646, gyroscopic terms left out",
        faults=("Appendix B: misprinted coefficient vectors",),
        rule="a vector is wrong if it is off by more than 1e-9 at one of 40 random postures; v38–v46 and v50–v52, "
        "which are not defined, are read as what they must be",
        notes=_vector_notes,
    ),
    Item(
        "14",
        "bias with the load of the example",
        Formula("e_n = m_n(…) + f_e (14), p_7 × f_7 (56), … + f_7 (59)", "N m"),
        bias_with_f_e_twice,
        lambda: bias(arm(), Q, QD, -F_E, friction=False),
        reason="with f_7 = f_e, as (10) and (18) say, the load is counted twice, once with the lever of the centre of "
        "mass; with f_7 = 0 once, with that lever alone",
        faults=("(14): f_e counted twice",),
        notes=lambda: [
            "with f_7 = 0: " + ", ".join(f"{x:.3f}" for x in bias_with_f_e_twice(f_7=False)) + " N m",
        ],
    ),
    Item(
        "A5",
        "torques of RNEA and mRNEA coincide over the program (Fig. A5)",
        Claim("“identical in each interpolation cycle”"),
        lambda: along_program(printed_torque) <= SAME_TORQUE_SHARE,
        lambda: along_program(mrnea_torque) <= SAME_TORQUE_SHARE,
        reason="with the vectors of Appendix B as printed they do not; with the right ones they do, so the authors' "
        "program had other formulas than their paper",
        rule="identical: 1e-9 of the largest torque; moves 2–10 by our plainest reading of the program",
        notes=lambda: [
            f"largest difference over {len(demo.demand().q)} set-points, right vectors: "
            f"{along_program(mrnea_torque):.1g} of the largest torque; printed vectors, every 20th: "
            f"{along_program(printed_torque):.2g}"
        ],
    ),
    Item(
        "A3a",
        "the same for the four-axis trainer (Fig. A3a)",
        Claim("“the same results”"),
        lambda: bool(np.allclose(*as_published_sdt(), rtol=SAME_TORQUE_SHARE)),
        sdt_agrees,
        reason="(77)–(88) as printed leave e_41 and e_42 out of E_21 and E_22",
        rule="identical: 1e-9 of the largest torque; the device's numbers are our own, none are printed",
    ),
    Item(
        "A3b",
        "forward dynamics of the computed torques gives the accelerations back (Fig. A3b)",
        Claim("“coincides with the input accelerations”"),
        None,
        lambda: round_trip() <= 1e-8,
        rule="coincide: relative error of 1e-8 at 300 random states",
        notes=lambda: [f"largest relative error {round_trip():.1g}"],
    ),
)
