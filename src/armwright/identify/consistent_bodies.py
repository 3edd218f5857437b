# SPDX-License-Identifier: Apache-2.0
"""Physically consistent bodies: the fit's base parameters on bodies whose pseudo-inertias are positive definite.

Least squares leaves most combinations open and knows no physics. Here the bodies are chosen to explain the currents
almost as well, and otherwise to resemble the description:

    minimise ½ (Bπ − β̂)ᵀ S (Bπ − β̂) + λN Σ_i [tr(P_i⁰⁻¹ P_i) − log det(P_i⁰⁻¹ P_i) − 4]

P is the pseudo-inertia of a body, P⁰ that of the description; the bracket is 0 where they agree, infinite where P stops
being positive definite, and does not depend on frames (Lee, Wensing and Park 2020). A rotor is a body of one parameter.
Newton's method solves it, with steps halved until every P is positive definite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import ArmwrightError, InputError

if TYPE_CHECKING:
    from armwright.types import Array

MOST_NEWTON_STEPS = 60
OBJECTIVE_DECREASE = 1e-9
"""Decrease of the objective, relative to N, at which Newton stops."""
LEAST_SIZE = 0.01
"""[m] A point mass in the description is taken for a ball of this radius of gyration."""


def pseudo_inertia(p: Array) -> Array:
    """Return P (..., 4, 4) of body parameters p (..., 10): m, mc, then I about the link origin (as `regressor`)."""
    m, h = p[..., 0], p[..., 1:4]
    xx, xy, yy, xz, yz, zz = np.moveaxis(p[..., 4:10], -1, 0)
    half = 0.5 * (xx + yy + zz)
    P = np.empty((*p.shape[:-1], 4, 4))
    P[..., 0, 0], P[..., 1, 1], P[..., 2, 2] = half - xx, half - yy, half - zz
    P[..., 0, 1] = P[..., 1, 0] = -xy
    P[..., 0, 2] = P[..., 2, 0] = -xz
    P[..., 1, 2] = P[..., 2, 1] = -yz
    P[..., 3, :3] = P[..., :3, 3] = h
    P[..., 3, 3] = m
    return P


_UNITS = pseudo_inertia(np.eye(10))


@dataclass(frozen=True, eq=False)
class Consistent:
    """Result of `consistent_parameters`.

    Attributes:
        parameters: (10 nb + n,) rigid parameters of bodies and rotors.
        smallest: (nb,) smallest eigenvalue of each pseudo-inertia, relative to its trace; all > 0.
        misfit: growth of the residual's sum of squares, relative to least squares.
        steps: Newton steps taken.
    """

    parameters: Array
    smallest: Array
    misfit: float
    steps: int


def consistent_parameters(
    B: Array, beta: Array, S: Array, rows: float, sheet: Array, *, bodies: int, prior: float = 1e-3
) -> Consistent:
    """Find consistent rigid parameters for base parameters β̂ with information matrix S.

    Args:
        B: (rank, 10 nb + n) base parameters of rigid ones.
        beta: (rank,) least-squares estimate.
        S: (rank, rank) its information, friction, payloads and gains profiled out, in units of the residual.
        rows: number N of equations.
        sheet: (10 nb + n,) description: 10 per body, then the rotors; rotors of 0 are unknown.
        bodies: nb.
        prior: λ ≥ 1e-9, weight of the description.
    """
    if not (np.isfinite(prior) and prior >= 1e-9):
        raise InputError(f"consistent parameters: prior must be ≥ 1e-9 (without it masses run away), got {prior}")
    x = _plausible(B, beta, sheet, bodies)
    P0 = np.linalg.inv(pseudo_inertia(x[: 10 * bodies].reshape(bodies, 10)))
    r0 = 1.0 / x[10 * bodies :]
    weight = prior * rows
    A, b = B.T @ S @ B, B.T @ (S @ beta)

    def objective(x: Array) -> float:
        P = pseudo_inertia(x[: 10 * bodies].reshape(bodies, 10))
        rotor = x[10 * bodies :]
        try:
            L = np.linalg.cholesky(P)
        except np.linalg.LinAlgError:
            return np.inf
        if (rotor <= 0.0).any():
            return np.inf
        far = np.einsum("bij,bji->", P0, P) - 2.0 * np.sum(np.log(np.diagonal(L, axis1=1, axis2=2)))
        far += np.sum(rotor * r0 - np.log(rotor))
        return float(0.5 * (x @ A @ x) - b @ x + weight * far)

    value, steps = objective(x), 0
    for steps in range(1, MOST_NEWTON_STEPS + 1):  # noqa: B007 - counted
        inverse = np.linalg.inv(pseudo_inertia(x[: 10 * bodies].reshape(bodies, 10)))
        pull = np.einsum("bij,kji->bk", P0 - inverse, _UNITS).ravel()
        half = np.einsum("bij,kjl->bkil", inverse, _UNITS)
        curve = np.einsum("bkil,bmli->bkm", half, half)
        rotor = x[10 * bodies :]
        gradient = A @ x - b + weight * np.concatenate([pull, r0 - 1.0 / rotor])
        H = A.copy()
        for i in range(bodies):
            at = slice(10 * i, 10 * i + 10)
            H[at, at] += weight * curve[i]
        at = slice(10 * bodies, None)
        H[at, at] += weight * np.diag(1.0 / rotor**2)
        scale = 1.0 / np.sqrt(np.diag(H))
        step = -scale * np.linalg.solve(H * np.outer(scale, scale), scale * gradient)
        length = 1.0
        while (new := objective(x + length * step)) > value + 1e-4 * length * float(gradient @ step):
            length *= 0.5
            if length < 1e-10:
                new = value
                break
        if length >= 1e-10:
            x = x + length * step
        if value - new < OBJECTIVE_DECREASE * rows:
            break
        value = new
    P = pseudo_inertia(x[: 10 * bodies].reshape(bodies, 10))
    smallest = np.linalg.eigvalsh(P)[:, 0] / np.trace(P, axis1=1, axis2=2)
    if not (smallest > 0.0).all():  # cannot be: every step was checked
        raise ArmwrightError("consistent parameters: a pseudo-inertia is not positive definite")
    away = B @ x - beta
    misfit = float(away @ S @ away) / rows
    return Consistent(x, smallest, misfit, steps)


def _plausible(B: Array, beta: Array, sheet: Array, bodies: int) -> Array:
    """Return the description with point masses given a size and unknown rotors a guess from the fit."""
    x = np.array(sheet, dtype=np.float64)
    for i in range(bodies):
        p = x[10 * i : 10 * i + 10]
        if p[0] <= 0.0:
            p[:] = 0.0
            p[0] = 0.1
        values = np.linalg.eigvalsh(pseudo_inertia(p))
        if values[0] <= 1e-6 * values[-1]:
            c = p[1:4] / p[0]
            p[4:10] += p[0] * LEAST_SIZE**2 * np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
            least = p[0] * (c @ c * np.eye(3) - np.outer(c, c)) + p[0] * LEAST_SIZE**2 * np.eye(3)
            if np.linalg.eigvalsh(pseudo_inertia(p))[0] <= 0.0:
                p[4:10] = least[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    rotor = x[10 * bodies :]
    alone = {int(np.flatnonzero(row)[0]): value for row, value in zip(B, beta, strict=True) if (row != 0.0).sum() == 1}
    told = {k - 10 * bodies: v for k, v in alone.items() if k >= 10 * bodies and v > 0.0}
    usual = float(np.median(list(told.values()))) if told else 0.1
    for j in range(len(rotor)):
        if rotor[j] <= 0.0:
            rotor[j] = told.get(j, usual)
    return x
