# SPDX-License-Identifier: Apache-2.0
"""The thesis's product-of-exponentials listing (002, A3) as printed, its errors one at a time. Deliberately wrong.

Nothing here is used by the library. Each error is a switch, so that its share can be seen alone; with none of them the
functions give the correct M, which the study checks. Inertias of links 4 and 6 are lost in our text and follow from
the printed constants r6c, r7c; that of link 2 is damaged there, so "p_2" and "m_2" may be mistakes of our text.

    "xi_1"   ξ_1 through (a1, 0, ·)                       "M'"    M' without −m p̂², off-diagonal sign reversed
    "xi_4"   third entry of ξ_4 is a1                     "1/2"   C without the factor ½
    "A_ij"   first and last exponential of a chain only   "p_2"   home position of link 2 without a1
    "skew"   skew operator with wrong signs               "m_2"   m1 for m2 beside p̂_2

"skew in A" keeps the operator of "skew" out of M': which one M' has, only the damaged M0[1] tells.

Its "gravity" is a stack of 3-vectors with g_0 = (0, 0, +g), in `gravity_as_published`.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from armwright.spatial import cylinder_inertia, exp_se3
from armwright.studies.doc002_irb140.setting import BASE_AXES, CYLINDERS, GRAVITY, MASSES, a1, e1, e2, e4, screws
from armwright.types import Array

MASS_ERRORS = ("xi_1", "xi_4", "A_ij", "skew", "M'")
"""Errors that enter M."""
OF_OUR_TEXT = ("p_2", "m_2")
"""Two more that our text of M0[2] shows; it is damaged there, so they may be the transcription's."""

HOME = {1: (0.014, 0.067, 0.264), 2: (a1, -0.070, 0.553), 4: (0.150, 0.0, 0.712), 6: (0.479, 0.0, 0.712)}
"""Centres of mass p_i in the home pose [m], base frame."""


def screws_as_published(errors: Set[str]) -> Array:
    """Return ξ_i (6, 6) with two of them as printed."""
    xi = screws().copy()
    if "xi_1" in errors:
        xi[0] = (0.0, -a1, 0.0, 0.0, 0.0, 1.0)
    if "xi_4" in errors:
        xi[3, 2] = a1
    return xi


def exponentials(xi: Array, q: Array) -> list[Array]:
    """Return e^{ξ̂_iθ_i} (N, 4, 4) of six revolute joints for q (N, 6), by Rodrigues."""
    out = []
    for i in range(6):
        v, w = xi[i, :3], xi[i, 3:]
        W = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
        angle = q[:, i, None, None]
        E = np.zeros((len(q), 4, 4))
        E[:, :3, :3] = np.eye(3) + W * np.sin(angle) + W @ W * (1.0 - np.cos(angle))
        E[:, :3, 3] = (np.eye(3) - E[:, :3, :3]) @ np.cross(w, v) + w * (w @ v) * q[:, i, None]
        E[:, 3, 3] = 1.0
        out.append(E)
    return out


def _hat(p: Array, wrong: bool) -> Array:
    """Return the skew matrices (N, 3, 3) of points (N, 3)."""
    if wrong:
        p = p * np.array([-1.0, 1.0, -1.0])  # what the printed signs amount to
    out = np.zeros((len(p), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -p[:, 2], p[:, 1], -p[:, 0]
    return out - np.swapaxes(out, 1, 2)


def A_as_published(E: list[Array], i: int, j: int, errors: Set[str]) -> Array:
    """Return A_ij = Ad⁻¹(e^{ξ_{j+1}} ⋯ e^{ξ_i}) (N, 6, 6), i > j; "A_ij" omits the middle and doubles adjacent ones."""
    if "A_ij" in errors:
        T = E[j + 1] @ E[i]
    else:
        T = E[j + 1]
        for k in range(j + 2, i + 1):
            T = T @ E[k]
    Rt = np.swapaxes(T[:, :3, :3], 1, 2)
    out = np.zeros((len(T), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = Rt
    out[:, :3, 3:] = -Rt @ _hat(T[:, :3, 3], "skew" in errors)
    return out


def link_inertia_as_published(link: int, errors: Set[str]) -> Array:
    """Return M'_l (6, 6) of a link (1, 2, 4 or 6) about the base's origin."""
    m, (r, h) = MASSES[link], CYLINDERS[link]
    p = np.array(HOME[link])
    if "p_2" in errors and link == 2:  # the link whose offset is missing
        p[0] = 0.0
    hat = _hat(p[None], "skew" in errors and "skew in A" not in errors)[0]
    s = (MASSES[1] if "m_2" in errors and link == 2 else m) * hat
    inertia = cylinder_inertia(m, r, h, BASE_AXES[link])
    if "M'" in errors:
        return np.block([[m * np.eye(3), s], [-s, inertia]])
    return np.block([[m * np.eye(3), -s], [s, inertia - m * hat @ hat]])


def mass_as_published(q: Array, errors: Set[str]) -> Array:
    """Return M(θ) (N, 6, 6) by (2.58) from the listing with the given errors, for q (N, 6).

    The closed forms of its blocks A_ij come from the right screws; the listed ones are what the blocks are applied to.
    """
    xi, E = screws_as_published(errors), exponentials(screws(), q)
    M = np.zeros((len(q), 6, 6))
    for link in MASSES:
        x = np.zeros((len(q), 6, 6))
        for j in range(link):
            carried = A_as_published(E, link - 1, j, errors) @ xi[j] if j < link - 1 else xi[j]
            x[:, :, j] = carried
        M += np.swapaxes(x, 1, 2) @ link_inertia_as_published(link, errors) @ x
    return M


def coriolis_as_published(q: Array, qd: Array, errors: Set[str], step: float = 1e-5) -> Array:
    """Return C (6, 6) from differences of M; "1/2" leaves out the ½ of the Christoffel symbols."""
    points = q + step * np.concatenate([np.eye(6), -np.eye(6)])
    M = mass_as_published(points, errors)
    slope = (M[:6] - M[6:]) / (2.0 * step)  # ∂M/∂θ_k
    C = np.einsum("kij,k->ij", slope, qd) + np.einsum("jik,k->ij", slope, qd) - np.einsum("ikj,k->ij", slope, qd)
    return np.asarray(C if "1/2" in errors else 0.5 * C)


def gravity_as_published(q: Array) -> Array:
    """Return the listing's "gravity vector": R_0^iᵀ g_0 of every link, a stack of six 3-vectors (6, 3) [m/s²]."""
    R, out = np.eye(3), []
    for xi, angle in zip(screws(), q, strict=True):
        R = R @ exp_se3(xi * angle)[:3, :3]
        out.append(R.T @ np.array([0.0, 0.0, GRAVITY]))
    return np.array(out)


def adjoint_column(X: float, Z: float, angle: float) -> Array:
    """Return entries (1, 5), (3, 5) of Ad⁻¹ of a turn about a y-axis through (X, ·, Z), by the listing's operator."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([Z * (1.0 - c) - X * s, -X * (1.0 - c) - Z * s])


def a54_as_published(q5: float) -> float:
    """Return entry (3, 5) of a[5,4]; (1, 5) is damaged in print."""
    drop, double = np.cos(q5) ** 2 - 1.0, np.sin(2.0 * q5)
    return float(2.0 * a1 * drop - e2 * double - e1 * double + 2.0 * e4 * drop)


def a21_as_published(q2: float) -> Array:
    """Return entries (1, 5) and (3, 5) of a[2,1]; "a2" in one term is read as a1, which makes it no worse."""
    s1, s2, s4 = np.sin(q2), np.sin(2.0 * q2), np.sin(4.0 * q2)
    first = 2.0 * a1 * s1**2 - e1 * s2 - 2.0 * a1 * s2**2 + e1 * s4
    return np.array([first, 2.0 * e1 * s2**2 - a1 * s2 - 2.0 * e1 * s1**2 + a1 * s4])
