# SPDX-License-Identifier: Apache-2.0
"""The sign of q4 (001 §3.2): the printed transforms turn axes 4 and 6 one way, the dynamics the other.

Arm and recursion are written here as the document has them (base axes, §3.3–3.6), with the sense of axes 4 and 6 left
open. Taken literally the model is no mechanism: a free swing gains or loses energy.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from armwright.graph.kernel import compile_function
from armwright.spatial.linear import ltdl_solve
from armwright.studies.erfd.setting import QD, Q, arm
from armwright.types import Array

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

    H: Any
    u: Any
    V: Any


def transforms(q: Any, sense: tuple[float, float]) -> tuple[list[Any], list[Any]]:
    """Rotations D_0…D_6 and origins p_0…p_6 of the document's frames."""
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


def terms(q: Any, qd: Any, sense: tuple[float, float]) -> Terms:
    """H, u′ and V with joint axes z_{i−1} and transforms of the given sense (001 §3.3, 3.5, 3.6)."""
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


def backward(z: Any, levers: Any, force: Any, moment: Any, e_k: Any, d_k: Any) -> tuple[Any, Any]:
    """The single loop of §3.6: H (all n² entries of it, not mirrored) and u′ from e_i, d_i, e_ik, d_ik."""
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

    def free(q: Any, qd: Any) -> Any:
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
