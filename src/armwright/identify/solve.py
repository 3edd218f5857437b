# SPDX-License-Identifier: Apache-2.0
"""Weighted least squares on the currents, from Gram matrices alone.

    i_j = κ_j Y_j (β + L δ_l) + F_j φ_j      joint j, log l

β are the base parameters, δ_l the ten parameters of the payload of log l (none, all, or all but a known mass), φ_j the
friction in amperes, κ_j = 1/gain, fixed or free. Fixed, the problem is linear; free, it is bilinear and a few
Gauss–Newton steps solve it. Weights are 1/σ_j², σ_j from the residuals of each joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.identify.friction import TERMS

if TYPE_CHECKING:
    from armwright.identify.accumulate import Grams
    from armwright.types import Array

STEPS = 30
CLOSE = 1e-11
"""Relative change of the cost at which Gauss–Newton stops."""
SINGULAR = 1e-11
"""Eigenvalue of the scaled normal matrix, against the largest, from which a direction counts as not excited."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the unknowns stand in θ = (β, δ of each loaded log, φ, κ).

    Attributes:
        rank, n: numbers of base parameters and joints.
        loads: (rank, 10) effect of a payload on β.
        payloads: for each log the place of its payload among `masses`, None without.
        masses: of each payload [kg], None where unknown.
        free_gains: whether κ is unknown.
    """

    rank: int
    n: int
    loads: Array
    payloads: tuple[int | None, ...]
    masses: tuple[float | None, ...]
    free_gains: bool

    @property
    def size(self) -> int:
        """Number of unknowns, known masses included as constants."""
        return self.rank + 10 * len(self.masses) + len(TERMS) * self.n + self.n

    def payload(self, g: int) -> slice:
        """Place of payload g."""
        return slice(self.rank + 10 * g, self.rank + 10 * g + 10)

    def friction(self, j: int) -> slice:
        """Place of the friction of joint j."""
        start = self.rank + 10 * len(self.masses) + len(TERMS) * j
        return slice(start, start + len(TERMS))

    def gain(self, j: int) -> int:
        """Place of κ_j."""
        return self.size - self.n + j

    @property
    def free(self) -> Array:
        """Mask of the unknowns that are estimated."""
        free = np.ones(self.size, bool)
        for g, mass in enumerate(self.masses):
            free[self.payload(g).start] = mass is None
        free[self.size - self.n :] = self.free_gains
        return free

    def beta(self, theta: Array, log: int) -> Array:
        """Base parameters of log `log`, payload included."""
        g = self.payloads[log]
        return theta[: self.rank] + (self.loads @ theta[self.payload(g)] if g is not None else 0.0)

    def vector(self, theta: Array, log: int, j: int) -> Array:
        """Return v with residual C_j v."""
        kappa = theta[self.gain(j)]
        return np.concatenate([kappa * self.beta(theta, log), theta[self.friction(j)], [-1.0]])

    def tangent(self, theta: Array, log: int, j: int) -> Array:
        """∂v/∂θ (m, size)."""
        J = np.zeros((self.rank + len(TERMS) + 1, self.size))
        kappa = theta[self.gain(j)]
        J[: self.rank, : self.rank] = kappa * np.eye(self.rank)
        g = self.payloads[log]
        if g is not None:
            J[: self.rank, self.payload(g)] = kappa * self.loads
        J[self.rank : -1, self.friction(j)] = np.eye(len(TERMS))
        J[: self.rank, self.gain(j)] = self.beta(theta, log)
        return J


@dataclass(frozen=True, eq=False)
class Solution:
    """Result of `solve`.

    Attributes:
        theta: (size,) see `Layout`.
        sigma: (n,) rms residual of each joint [A].
        normal: (size, size) JᵀWJ.
        null: (k, size) directions that the data do not determine.
        rows: number of equations, all joints together.
    """

    theta: Array
    sigma: Array
    normal: Array
    null: Array
    rows: float


def solve(grams: Sequence[Grams], layout: Layout, start: Array) -> Solution:
    """Minimise the weighted residual of all logs from a starting θ whose κ, and known masses, are set."""
    theta = start.copy()
    rows = np.maximum(sum(g.rows for g in grams), 1.0)
    sigma = np.sqrt(np.maximum(sum(g.squares for g in grams), 1e-300) / rows)
    before = np.inf
    for _ in range(STEPS):
        H, g = normal_equations(grams, layout, theta, sigma)
        step, _ = _step(H, g, layout.free)
        theta = theta + step
        square = squares(grams, layout, theta) / rows
        floor = 1e-24 * (sum(g.squares for g in grams) / rows) + 1e-300
        new = np.sqrt(np.maximum(square, floor))
        cost = float(np.sum(np.log(new)))
        sigma = new
        if abs(before - cost) < CLOSE * max(1.0, abs(cost)):
            break
        before = cost
    H, g = normal_equations(grams, layout, theta, sigma)
    _, null = _step(H, g, layout.free)
    if layout.free_gains and (theta[layout.size - layout.n :] <= 0.0).any():
        raise InputError(
            "gains: the fit gives a drive gain ≤ 0; the logs do not determine it, use Known or FromTargets"
        )
    return Solution(theta, sigma, H, null, float(np.sum(rows)))


def normal_equations(grams: Sequence[Grams], layout: Layout, theta: Array, sigma: Array) -> tuple[Array, Array]:
    """JᵀWJ and −JᵀWr of all logs."""
    H, g = np.zeros((layout.size, layout.size)), np.zeros(layout.size)
    for k, gram in enumerate(grams):
        for j in range(layout.n):
            J = layout.tangent(theta, k, j)
            GJ = gram.matrices[j] @ J
            w = 1.0 / sigma[j] ** 2
            H += w * (J.T @ GJ)
            g -= w * (GJ.T @ layout.vector(theta, k, j))
    return H, g


def squares(grams: Sequence[Grams], layout: Layout, theta: Array) -> Array:
    """Σ r² of each joint over all logs (n,) [A²]."""
    out = np.zeros(layout.n)
    for k, gram in enumerate(grams):
        for j in range(layout.n):
            v = layout.vector(theta, k, j)
            out[j] += max(float(v @ gram.matrices[j] @ v), 0.0)
    return out


def _step(H: Array, g: Array, free: Array) -> tuple[Array, Array]:
    """Newton step in the free unknowns, along determined directions only; and the others (k, size)."""
    at = np.flatnonzero(free)
    A, b = H[np.ix_(at, at)], g[at]
    scale = np.sqrt(np.maximum(np.diag(A), 0.0))
    scale = np.where(scale > 1e-150, scale, 1.0)
    values, vectors = np.linalg.eigh(A / np.outer(scale, scale))
    good = values > SINGULAR * values[-1]
    along = vectors[:, good]
    step = np.zeros(len(free))
    step[at] = (along @ ((along.T @ (b / scale)) / values[good])) / scale
    null = np.zeros((int((~good).sum()), len(free)))
    null[:, at] = vectors[:, ~good].T / scale
    return step, null
