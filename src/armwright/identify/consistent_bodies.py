# SPDX-License-Identifier: Apache-2.0
"""Bodies that can exist: how far rigid parameters are from those of a description, and the derivatives of that.

    Σ_i [tr(P_i⁰⁻¹ P_i) − log det(P_i⁰⁻¹ P_i) − 4]

P is the pseudo-inertia of a body, P⁰ that of the description; the bracket is 0 where they agree, infinite where P stops
being positive definite, and does not depend on frames (Lee, Wensing and Park 2020). A rotor is a body of one parameter.
A fit that adds this to its residual (`bounded_fit`) finds bodies that explain the currents and otherwise resemble the
description.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.types import Array

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


LEAST_PRIOR = 1e-9
"""Smallest weight of the description: without it masses run away."""


def check_prior(prior: float) -> None:
    """Refuse a weight without which masses run away."""
    if not (np.isfinite(prior) and prior >= LEAST_PRIOR):
        raise InputError(f"fit: prior must be ≥ {LEAST_PRIOR:g} (without it masses run away), got {prior}")


class PriorBodies:
    """The bodies and rotors of a description, as the prior of a fit.

    Attributes:
        start: (10 nb + n,) the description, point masses given a size and unknown rotors a guess.
    """

    def __init__(self, B: Array, beta: Array, sheet: Array, bodies: int) -> None:
        """Take a description.

        Args:
            B: (rank, 10 nb + n) base parameters of rigid ones.
            beta: (rank,) estimate from which unknown rotors are guessed.
            sheet: (10 nb + n,) description: 10 per body, then the rotors; rotors of 0 are unknown.
            bodies: nb.
        """
        self.start = _plausible(B, beta, sheet, bodies)
        self._split = 10 * bodies
        self._inverse = np.linalg.inv(self._pseudo(self.start))
        self._rotors = 1.0 / self.start[self._split :]

    def _pseudo(self, x: Array) -> Array:
        return pseudo_inertia(x[: self._split].reshape(-1, 10))

    def divergence(self, x: Array) -> float:
        """Return the sum of the module text for rigid parameters x (10 nb + n,), without constants; ∞ outside."""
        P, rotor = self._pseudo(x), x[self._split :]
        if (rotor <= 0.0).any():
            return np.inf
        try:
            L = np.linalg.cholesky(P)
        except np.linalg.LinAlgError:
            return np.inf
        far = np.einsum("bij,bji->", self._inverse, P) - 2.0 * np.sum(np.log(np.einsum("bii->bi", L)))
        return float(far + np.sum(rotor * self._rotors - np.log(rotor)))

    def derivatives(self, x: Array) -> tuple[Array, Array]:
        """Return its gradient (m,) and Hessian (m, m)."""
        inverse, rotor = np.linalg.inv(self._pseudo(x)), x[self._split :]
        pull = np.einsum("bij,kji->bk", self._inverse - inverse, _UNITS).ravel()
        half = (inverse[:, None] @ _UNITS[None]).reshape(len(inverse), 10, 16)
        turned = (inverse[:, None] @ _UNITS[None]).transpose(0, 1, 3, 2).reshape(len(inverse), 10, 16)
        blocks = half @ turned.transpose(0, 2, 1)
        H = np.zeros((len(x), len(x)))
        for i, block in enumerate(blocks):
            H[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = block
        at = np.arange(self._split, len(x))
        H[at, at] = 1.0 / rotor**2
        return np.concatenate([pull, self._rotors - 1.0 / rotor]), H


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
