# SPDX-License-Identifier: Apache-2.0
"""Appendix B of 001: the 154 coefficient vectors of RL15 as printed, as corrected, and by closed forms of ours.

Names are the document's: "b_312" is the factor of q̇_1 q̇_2 in the acceleration of the centre of link 3, "d_44" that of
q̈_4 in the moment of link 4. Signs of q4 are the `CONSISTENT` ones of `coefficients`.

Some symbols of the print are never defined. v38–v46 and v50–v52 are read as what they must be: z1×z4, z3×z4, z1×z5 and
z4×z5. v81 and v91 of b_i12 are read as v8 a2 and v9 a2, after b_212, or left out of the count (`UNDEFINED`).
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from armwright.kinematics import fk_all
from armwright.robot.model import Robot
from armwright.studies.doc001_erfd.setting import arm
from armwright.types import Array

Vectors = dict[str, Array]
UNDEFINED = ("b_312", "b_412", "b_512", "b_612")
"""Vectors of (B.4) that hold v81 and v91."""


class Bodies(NamedTuple):
    """One posture in base axes: joint axes z_0…z_5, origins p_0…p_6, r_i and I_i of links 1…6 (index i − 1)."""

    q: Array
    z: Array
    p: Array
    r: Array
    inertia: Array


def bodies(q: Array, robot: Robot | None = None) -> Bodies:
    """Return the posture q (6,); frame 3 sits at the wrist centre, as in the document."""
    robot = robot or arm()
    T = fk_all(robot, q)
    p = np.concatenate([np.zeros((1, 3)), T[:, :3, 3]])
    p[3] = p[4]
    R = T[:, :3, :3]
    com = np.array([body.com for body in robot.bodies]) + np.array([[0.0, 0.0, -0.825 * (i == 2)] for i in range(6)])
    inertia = np.array([R[i] @ robot.bodies[i].inertia @ R[i].T for i in range(6)])
    z = np.concatenate([[[0.0, 0.0, 1.0]], R[:5, :, 2]])
    return Bodies(np.asarray(q), z, p, np.einsum("kij,kj->ki", R, com), inertia)


def V(*x: float) -> Array:
    """Return a vector of three components, as the tables print them."""
    return np.array(x, dtype=np.float64)


def closed_forms(at: Bodies) -> Vectors:
    """Return all vectors by closed forms that hold for any revolute chain; they follow from (4), (7) and (B.1).

    With s_ik = p_i + r_i − p_{k−1}: b_ik = z_{k−1} × s_ik, d_ik = I_i z_{k−1}, and for k < j b_ikj = 2 z_{k−1} × b_ij,
    d_ikj = I_i (z_{k−1} × z_{j−1}) + z_{k−1} × d_ij + z_{j−1} × d_ik; half of that for k = j.
    """
    out: Vectors = {}
    for i in range(6):
        s = at.p[i + 1] + at.r[i] - at.p[: i + 1]
        b = np.cross(at.z[: i + 1], s)
        d = at.z[: i + 1] @ at.inertia[i]
        for k in range(i + 1):
            out[f"b_{i + 1}{k + 1}"], out[f"d_{i + 1}{k + 1}"] = b[k], d[k]
        for k, j in combinations_with_replacement(range(i + 1), 2):
            zk, zj = at.z[k], at.z[j]
            name = f"{i + 1}{k + 1}{j + 1}"
            out[f"b_{name}"] = (1.0 if k == j else 2.0) * np.cross(zk, b[j])
            turned = at.inertia[i] @ np.cross(zk, zj) + np.cross(zk, d[j]) + np.cross(zj, d[k])
            out[f"d_{name}"] = np.cross(zk, d[k]) if k == j else turned
    out["d_11"], out["d_111"] = out["d_11"] * [0, 0, 1], out["d_111"] * [0, 0, 1]  # only z is printed, and used
    return out


def tabulated(at: Bodies, *, as_published: bool) -> Vectors:
    """Return the vectors by the component forms of Appendix B: as printed, or with its misprints mended."""
    wrong = as_published
    a1, a2, a3, d4 = 0.2, 0.6, 0.115, 0.825
    (c1, c2, c4), (s1, s2, s4) = np.cos(at.q[[0, 1, 3]]), np.sin(at.q[[0, 1, 3]])
    c23, s23 = np.cos(at.q[1] + at.q[2]), np.sin(at.q[1] + at.q[2])
    v1, v2, v3, v4 = c1 * s23, c1 * c23, s1 * s23, s1 * c23
    v13, v14 = a2 * s2, a2 * c2
    v5, v12, v31 = a1 - v13, a3 * c23 + d4 * s23, d4 * c23 - a3 * s23
    X6, Y6 = c1 * (v5 + v31), s1 * (v5 + v31)
    v16, v18, v20 = s1 * c4 + v1 * s4, v3 * s4 - c1 * c4, -c23 * s4
    v8, v9 = (-c1 * s2, -s1 * s2) if wrong else (2.0 * s1 * c2, -2.0 * c1 * c2)
    v81, v91 = v8 * a2, v9 * a2
    z3, z4, z5 = at.z[3], at.z[4], at.z[5]
    out: Vectors = {}
    rx, ry, _ = at.r[0]
    first = -a1 * s1 - ry
    out["b_11"] = V(-first if wrong else first, a1 * c1 + rx, 0)
    out["b_111"] = V(-out["b_11"][1], out["b_11"][0], 0)
    rx, ry, rz = at.r[1]
    v6, v7, v10 = -rz - v14, v13 - s1 * ry - c1 * rx, 2.0 * rz
    v11 = rz - v14 if wrong else -rz - v14
    out["b_21"] = V(-s1 * v5 - ry, c1 * v5 + rx, 0)
    out["b_211"] = V(-out["b_21"][1], out["b_21"][0], 0)
    out["b_22"] = V(c1 * v6, s1 * v6, -v7)
    out["b_212"] = V(v8 * a2 + s1 * v10, v9 * a2 - c1 * v10, 0)
    out["b_222"] = V(c1 * v7, s1 * v7, v11)
    B9s = {}
    for i in range(3, 7):
        rx, ry, rz = at.r[i - 1]
        B9 = B9s[i] = s1 * ry + c1 * rx
        B2, B3, B4 = v12 + v14 + rz, v31 + B9, 2.0 * (v12 + rz)
        B5, B6, B7, B8 = s1 * B4, c1 * B4, v13 - B3, (v12 - rz if wrong else -v12 - rz)
        b1 = out[f"b_{i}1"] = V(-Y6 - ry, X6 + rx, 0)
        out[f"b_{i}11"] = V(-b1[1], b1[0], 0)
        out[f"b_{i}2"] = V(-c1 * B2, -s1 * B2, B3 - v13)
        out[f"b_{i}12"] = V(B5 + v81, -B6 + v91, 0)
        out[f"b_{i}22"] = V(c1 * B7, s1 * B7, B8 - v14)
        half = 1.0 if wrong else 0.5
        out[f"b_{i}3"] = V(-c1 * B4 * half, -s1 * B4 * half, B3)
        out[f"b_{i}13"] = V(B5, -B6, 0)
        out[f"b_{i}33"] = V(-c1 * B3, -s1 * B3, B8)
        out[f"b_{i}23"] = 2.0 * out[f"b_{i}33"]
        if i >= 4:
            B10, B11, B12 = v4 * rz - s23 * ry, s23 * rx - v2 * rz, v2 * ry - v4 * rx
            B13 = v3 * rx - v1 * ry
            out[f"b_{i}4"], out[f"b_{i}14"] = V(B10, B11, B12), 2.0 * V(-B11, B10, 0)
            sign, nine = (-1.0, v9) if wrong else (1.0, B9)
            out[f"b_{i}24"] = out[f"b_{i}34"] = V(
                -sign * c23 * ry - c1 * B12 + v4 * nine,
                sign * c23 * rx - s1 * B12 - v2 * nine,
                B13 + s1 * B11 + c1 * B10,
            )
            out[f"b_{i}44"] = V(v4 * B12 - s23 * B11, s23 * B10 - v2 * B12, v2 * B11 - v4 * B10)
        if i >= 5:
            B14, B15, B16 = v16 * ry - v18 * rx, v20 * rx - v16 * rz, v18 * rz - v20 * ry
            b5 = out[f"b_{i}5"] = V(B16, B15, B14)
            out[f"b_{i}15"] = 2.0 * V(-B15, B16, 0)
            B17 = v20 * (s1 * rx - c1 * ry)
            out[f"b_{i}25"] = out[f"b_{i}35"] = 2.0 * V(-c1 * B14, -s1 * B14, B17 - c4 * rz)
            out[f"b_{i}45"], out[f"b_{i}55"] = 2.0 * np.cross(z3, b5), np.cross(z4, b5)
    v35, v36, v37 = b66 = out["b_66"] = np.cross(z5, at.r[5])
    out["b_666"] = np.cross(z5, b66)
    out["b_616"] = 2.0 * V(-v36, v35, 0)
    out["b_626"] = out["b_636"] = 2.0 * V(-c1 * v37, -s1 * v37, s1 * v36 + c1 * v35)
    # (B.7): v47…v49 = z3 × a6, v61…v63 = z3 × b_66; a6 × (z3 × r6) is missing
    out["b_646"] = np.cross(z3, b66) + (np.cross(np.cross(z3, z5), at.r[5]) if wrong else np.cross(z3, b66))
    out["b_656"] = 2.0 * np.cross(z4, b66) + (out["b_666"] if wrong else 0.0)
    return out | _moments(at, B9s, wrong=wrong)


def _moments(at: Bodies, B9s: dict[int, float], *, wrong: bool) -> Vectors:
    c1, s1 = np.cos(at.q[0]), np.sin(at.q[0])
    c23, s23 = np.cos(at.q[1] + at.q[2]), np.sin(at.q[1] + at.q[2])
    v1, v2, v3, v4 = c1 * s23, c1 * c23, s1 * s23, s1 * c23
    z1, z3, z4, z5 = at.z[1], at.z[3], at.z[4], at.z[5]
    v16, v18, v20 = z4
    out: Vectors = {"d_11": V(0, 0, at.inertia[0][2, 2]), "d_111": V(0, 0, 0)}
    for i in range(2, 7):
        matrix = at.inertia[i - 1]
        Ix, Iy, Iz = np.diag(matrix)
        Ixy, Ixz, Iyz = -matrix[0, 1], -matrix[0, 2], -matrix[1, 2]
        d1, d2, d3 = Ix * s1 + Ixy * c1, Ixy * s1 + Iy * c1, Ixz * s1 - Iyz * c1
        d4, d5, d6 = Ix + Iy - Iz, Ixz * c1 + Iyz * s1, s1 * c1 * (Ix - Iy)
        out[f"d_{i}1"], out[f"d_{i}2"] = V(-Ixz, -Iyz, Iz), V(d1, -d2, -d3)
        out[f"d_{i}11"], out[f"d_{i}12"] = V(Iyz, -Ixz, 0), V(c1 * d4, s1 * d4, -2.0 * d5)
        out[f"d_{i}22"] = V(c1 * d3, s1 * d3, (c1**2 - s1**2) * Ixy + d6)
        if i >= 3:
            out[f"d_{i}3"], out[f"d_{i}13"] = out[f"d_{i}2"], out[f"d_{i}12"]
            out[f"d_{i}23"], out[f"d_{i}33"] = 2.0 * out[f"d_{i}22"], out[f"d_{i}22"]
        if i >= 4:
            d7, d8, d9 = out[f"d_{i}4"] = matrix @ z3
            d10 = Ixz * v4 - Iyz * v2
            out[f"d_{i}14"] = V(2.0 * Iyz * s23 - v4 * d4, v2 * d4 - 2.0 * Ixz * s23, 2.0 * d10)
            sign, nine = (-1.0, B9s[i]) if wrong else (1.0, d9)
            d11 = sign * (-Ix * v1 + Ixy * v3) - Ixz * c23
            d12 = sign * (-Iy * v3 + Ixy * v1) - Iyz * c23
            d13 = Iz * c23 + sign * (Ixz * v1 + Iyz * v3)
            out[f"d_{i}24"] = out[f"d_{i}34"] = V(
                d11 - sign * v4 * d3 + s23 * d2 - c1 * nine,
                d12 + v2 * d3 + s23 * d1 - s1 * nine,
                d13 - v4 * d1 - v2 * d2 + s1 * d8 + c1 * d7,
            )
            out[f"d_{i}44"] = V(v4 * d9 - sign * s23 * d8, s23 * d7 - v2 * d9, v2 * d8 - v4 * d7)
        if i >= 5:
            d_5 = out[f"d_{i}5"] = matrix @ z4
            out[f"d_{i}15"] = V(2.0 * Iyz * v20 - v18 * d4, v16 * d4 - 2.0 * Ixz * v20, 2.0 * (Ixz * v18 - Iyz * v16))
            d_2, d_4 = out[f"d_{i}2"], out[f"d_{i}4"]
            out[f"d_{i}25"] = out[f"d_{i}35"] = _both(matrix, z1, z4, d_2, d_5)
            out[f"d_{i}45"], out[f"d_{i}55"] = _both(matrix, z3, z4, d_4, d_5), np.cross(z4, d_5)
    matrix = at.inertia[5]
    d_66 = out["d_66"] = matrix @ z5
    out["d_666"] = np.cross(z5, d_66)
    for k in range(1, 6):
        zk = at.z[k - 1]
        out[f"d_6{k}6"] = matrix @ np.cross(zk, z5) if wrong else _both(matrix, zk, z5, matrix @ zk, d_66)
    return out


def _both(matrix: Array, zk: Array, zj: Array, dk: Array, dj: Array) -> Array:
    """Return I(z_k × z_j) + z_k × d_j + z_j × d_k."""
    return np.asarray(matrix @ np.cross(zk, zj) + np.cross(zk, dj) + np.cross(zj, dk))
