# SPDX-License-Identifier: Apache-2.0
"""Q14–Q16 of 003: bounds of A(q), gravity torque and its bound: the report's grids, and proofs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.dynamics import (
    Certificate,
    MassMatrixBounds,
    gravity_bound,
    gravity_torque,
    mass_matrix,
    mass_matrix_bounds,
)
from armwright.studies.doc003_rob315.inertia import J_G_as_published
from armwright.studies.doc003_rob315.setting import PI, arm, q_f, q_i
from armwright.studies.study import Formula, Item, Numbers, Picture, Supposed
from armwright.studies.study_pictures import curves
from armwright.types import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

PROOF_TOLERANCE = 1e-6  # relative, of the proofs: more digits than are printed
LAST = "Q14: the search returns the last point of its grid"


def grid_as_published(points: int) -> Array:
    """Return the report's grid: `points` values per joint over [q_min, q_max], all combinations (points⁶, 6)."""
    axes: list[Array] = [np.linspace(low, high, points) for low, high in zip(arm().lower, arm().upper, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 6)


@cache
def eigenvalues_on_the_grid() -> Array:
    """Return the eigenvalues of A on the 5-point grid (15625, 6)."""
    return np.linalg.eigvalsh(mass_matrix(arm(), grid_as_published(5))).astype(np.float64)


def mu1_as_published() -> float:
    """Return the last grid point's value, at q_max: the search never updates its running extremum."""
    return float(eigenvalues_on_the_grid()[-1, 0])


def mu2_as_published() -> float:
    """Return the same search's result for the largest eigenvalue."""
    return float(eigenvalues_on_the_grid()[-1, -1])


def g_b_as_published() -> float:
    """Return the largest 1-norm of G on the 4-point grid, which skips q2 = 0."""
    return float(np.abs(gravity_torque(arm(), grid_as_published(4))).sum(axis=1).max())


@cache
def inertia_bounds() -> MassMatrixBounds:
    """Return proved bounds mu1 and mu2 of the eigenvalues of A(q) over the joint limits."""
    return mass_matrix_bounds(arm(), tolerance=PROOF_TOLERANCE)


@cache
def certificate(name: str, norm: float = 1) -> Certificate:
    """Return the proved bound "mu1", "mu2" or "g_b" over the joint limits."""
    if name == "g_b":
        return gravity_bound(arm(), norm=norm, tolerance=PROOF_TOLERANCE)
    return inertia_bounds()[("mu1", "mu2").index(name)]


def G_as_published(q: Array) -> Array:
    """Return G(q) = − Σ m_i Jᵥ_Giᵀ g."""
    J = J_G_as_published(q)
    return -sum(
        (body.mass * J[i, :3].T @ np.array([0.0, 0.0, -9.81]) for i, body in enumerate(arm().bodies)), np.zeros(6)
    )


def _sampled(name: str) -> str:
    rng = np.random.default_rng(14)
    q = rng.uniform(arm().lower, arm().upper, (20_000, 6))
    if name == "g_b":
        return f"20,000 random postures reach {np.abs(gravity_torque(arm(), q)).sum(axis=1).max():.4f}"
    values = np.linalg.eigvalsh(mass_matrix(arm(), q))
    best = values[:, 0].min() if name == "mu1" else values[:, -1].max()
    return f"20,000 random postures reach {best:.6f}"


def _notes(name: str) -> Callable[[], list[str]]:
    def notes() -> list[str]:
        found = certificate(name)
        out = [
            str(found),
            "attained at q = (" + ", ".join(f"{x:.4f}" for x in found.q) + ")",
            "depends on q" + ", q".join(str(j + 1) for j in np.flatnonzero(found.depends)) + " only",
            _sampled(name),
        ]
        if name in ("mu1", "mu2"):
            values = eigenvalues_on_the_grid()
            best = values[:, 0].min() if name == "mu1" else values[:, -1].max()
            out.append(f"the 5-point grid, searched properly: {best:.6f}")
        return out

    return notes


def _gravity_notes() -> list[str]:
    q = np.random.default_rng(15).uniform(-PI, PI, (2000, 6))
    c2, c23 = np.cos(q[:, 1]), np.cos(q[:, 1] + q[:, 2])
    closed = np.zeros((len(q), 6))
    closed[:, 1], closed[:, 2] = 9.81 * (10.15 * c2 + 1.8 * c23), 9.81 * 1.8 * c23
    off = np.abs(closed - gravity_torque(arm(), q)).max()
    out = [f"closed form 9.81 (10.15 cos q2 + 1.8 cos(q2 + q3)): agrees to {off:.0e} N m"]
    for name, posture in (("q_i", q_i), ("q_f", q_f)):
        G = np.round(gravity_torque(arm(), posture), 9)
        out.append(f"G({name}) = (" + ", ".join(f"{x + 0.0:.6g}" for x in G) + ") N m")
    return out


def _cut() -> Figure:
    """Draw ‖G‖₁ over q2 with the forearm stretched, and what the grid sees of it."""
    q2 = np.linspace(arm().lower[1], arm().upper[1], 401)
    q = np.zeros((401, 6))
    q[:, 1] = q2
    seen = np.linspace(arm().lower[1], arm().upper[1], 4)
    at = np.zeros((4, 6))
    at[:, 1] = seen
    full, few = (np.abs(gravity_torque(arm(), x)).sum(axis=1) for x in (q, at))
    return curves(
        [("‖G‖₁, q3 = 0", q2, full), ("seen by the 4-point grid", seen, few)],
        "q2 [rad]",
        "‖G‖₁ [N m]",
        levels=((certificate("g_b").proved, "proved bound"), (116.8160, "printed")),
        points=("seen by the 4-point grid",),
    )


ITEMS: tuple[Item, ...] = (
    Item(
        "Q14a",
        "lower bound μ1 of A(q)",
        Numbers("0.0589", "kg m²"),
        mu1_as_published,
        lambda: certificate("mu1").attained,
        reason="the search (authors' public code) never updates its extremum and returns the last grid point, q_max",
        faults=(LAST,),
        notes=lambda: [*_notes("mu1")(), *_notes("mu2")()],
    ),
    Item(
        "Q15",
        "gravity torque",
        Formula("G(q) = − Σ m_i Jᵥ_Giᵀ g", "N m"),
        lambda: G_as_published(q_f),
        lambda: gravity_torque(arm(), q_f),
        notes=_gravity_notes,
    ),
    Item(
        "Q16",
        "maximum of G(q)",
        Numbers("116.8160", "N m"),
        g_b_as_published,
        readings=(
            Supposed("1-norm, as the authors' public code has it", lambda: certificate("g_b").attained),
            Supposed("2-norm", lambda: certificate("g_b", 2).attained),
            Supposed("largest joint torque", lambda: certificate("g_b", np.inf).attained),
        ),
        reason="the norm is not stated, but all are larger: the grid of four points per joint (authors' public code) "
        "skips q2 = 0, the worst posture; with the 1-norm it gives the print, 13 % too low",
        faults=("Q16: a grid of four points skips the worst posture",),
        notes=_notes("g_b"),
        pictures=(Picture("The grid of Q16 misses the maximum.", _cut),),
    ),
)
