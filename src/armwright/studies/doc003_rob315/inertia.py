# SPDX-License-Identifier: Apache-2.0
"""Q12–Q13 of 003: Jacobians of the centres of mass, inertia matrix A(q), and the traps in its table."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np

from armwright.dynamics import mass_matrix
from armwright.kinematics import com_jacobian, fk_all, jacobian
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body
from armwright.spatial import is_physical, parallel_axis, principal_moments
from armwright.studies.doc003_rob315.setting import arm, q_f, q_i
from armwright.studies.study import Claim, Formula, Item
from armwright.types import Array

REFLECTED = np.array([0.1, 0.1, 0.1, 0.049, 0.049, 0.049])  # r_red² J_m


def J_G_as_published(q: Array) -> Array:
    """Return J_Gi (6, 6, 6): column j ≤ i is [z_j × (G_i − O_j); z_j], zero beyond (Eq. 11, Code 8)."""
    T = fk_all(arm(), q)
    out = np.zeros((6, 6, 6))
    for i, body in enumerate(arm().bodies):
        G = T[i, :3, :3] @ body.com + T[i, :3, 3]
        for j in range(i + 1):
            z = T[j, :3, 2]
            out[i, :, j] = np.concatenate([np.cross(z, G - T[j, :3, 3]), z])
    return out


def J_G(q: Array) -> Array:
    """Return the same from the library."""
    return np.stack([np.vstack([com_jacobian(arm(), q, i), jacobian(arm(), q, i)[3:]]) for i in range(6)])


def A_as_published(q: Array) -> Array:
    """Return A(q) = Σ m Jᵥᵀ Jᵥ + J_wᵀ R I_G Rᵀ J_w + diag(r_red² J_m), I_G by Huygens from the table about O_i."""
    T = fk_all(arm(), q)
    A = np.diag(REFLECTED)
    for i, (body, J) in enumerate(zip(arm().bodies, J_G_as_published(q), strict=True)):
        R = T[i, :3, :3]
        A = A + body.mass * J[:3].T @ J[:3] + J[3:].T @ R @ body.inertia @ R.T @ J[3:]
    return A


@cache
def reading(kind: str) -> Robot:
    """Return the arm under one of the `READINGS` of the table of inertias."""
    robot = arm()
    if kind == "about O_i":
        return robot
    if kind == "about O_i, rotors forgotten":
        return replace(robot, name=kind, actuators=Actuators.none(robot.n))
    times = {"about the centre of mass": 1.0, "about O_i, Huygens with the wrong sign": 2.0}[kind]
    # I_O = I_G + m(…): adding the parallel-axis term once gives the printed tensor, twice the one with the wrong sign
    bodies = tuple(replace(b, inertia=parallel_axis(b.inertia, times * b.mass, b.com)) for b in robot.bodies)
    return replace(robot, name=kind, bodies=bodies)


READINGS = (
    "about O_i",
    "about the centre of mass",
    "about O_i, Huygens with the wrong sign",
    "about O_i, rotors forgotten",
)


def largest_at_q_max(kind: str) -> float:
    """Return λ_max(A(q_max)) under a reading of the table."""
    robot = reading(kind)
    return float(np.linalg.eigvalsh(mass_matrix(robot, arm().upper))[-1])


def reading_behind_the_print() -> str:
    """Return which reading of the table gives the printed 10.1985 at q_max, to its digits."""
    fits = [kind for kind in READINGS if abs(largest_at_q_max(kind) - 10.1985) <= 0.5e-4]
    return fits[0] if len(fits) == 1 else "ambiguous"


@cache
def body_1_as_published() -> Body:
    """Return body 1 with its printed tensor; it loads with a warning only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load("cea-published", implausible="warn").bodies[0]


def _matrix_notes() -> list[str]:
    out = []
    for name, q in (("q_i", q_i), ("q_f", q_f)):
        A = mass_matrix(arm(), q)
        out += [
            f"A({name}) row {i + 1}: " + ", ".join(f"{x + 0.0:.6g}" for x in np.round(row, 9))
            for i, row in enumerate(A)
        ]
        out.append(f"eigenvalues of A({name}): " + ", ".join(f"{x:.6f}" for x in np.linalg.eigvalsh(A)))
    return out


def _trap_notes() -> list[str]:
    return [f"λ_max(A(q_max)), tensors {kind}: {largest_at_q_max(kind):.4f}" for kind in READINGS]


def _body_notes() -> list[str]:
    moments = ", ".join(f"{x:.3f}" for x in np.sort(principal_moments(body_1_as_published().inertia)))
    return [
        f"principal moments of body 1 about its centre of mass as printed: {moments} kg m²",
        "the catalogue's arm has a valid tensor with the same ZZ; A, C and G do not change",
    ]


ITEMS: tuple[Item, ...] = (
    Item(
        "Q12",
        "Jacobians of the centres of mass",
        Formula("J_Gi(q) = [z_j × (G_i − O_j); z_j], j ≤ i"),
        lambda: J_G_as_published(q_f),
        lambda: J_G(q_f),
        notes=lambda: [
            f"J_G6(q_i), row {i + 1}: " + ", ".join(f"{x + 0.0:.1f}" for x in np.round(row, 9))
            for i, row in enumerate(J_G(q_i)[5])
        ],
    ),
    Item(
        "Q13a",
        "inertia matrix",
        Formula("A(q) = Σ m Jᵥᵀ Jᵥ + J_wᵀ I J_w + r_red² J_m"),
        lambda: A_as_published(q_f),
        lambda: mass_matrix(arm(), q_f),
        notes=_matrix_notes,
    ),
    Item(
        "Q13b",
        "tensors of the table are taken",
        Claim("about O_i", "about O_i"),
        None,
        reading_behind_the_print,
        reason="another reading gives the printed eigenvalue",
        notes=_trap_notes,
    ),
    Item(
        "Q13c",
        "tensor of body 1 belongs to a body",
        Claim("table of inertias"),
        None,
        lambda: bool(is_physical(body_1_as_published().inertia)),
        reason="about the centre of mass it has negative moments: m c² = 0.94 exceeds the printed 0.80 kg m²; "
        "only ZZ matters here",
        faults=("inertia of body 1 belongs to no body",),
        notes=_body_notes,
    ),
)
