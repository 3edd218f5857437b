# SPDX-License-Identifier: Apache-2.0
"""RODAS3: a linearly implicit (Rosenbrock) method of order 3, L-stable, with an embedded estimate of order 2.

Coefficients: Sandu et al., Atmospheric Environment 31 (1997) 3459–3472. Each stage solves

    (1/(γh) − J) K_i = f(t + α_i h, x + Σ a_ij K_j) + Σ (c_ij/h) K_j + γ_i h ∂f/∂t,     x⁺ = x + Σ m_i K_i

with the exact Jacobian J of the closed loop, taken from the graph. The rows of the accelerations are multiplied by M
and the positions eliminated, which leaves M/(γh) + D + γh·K: nearly symmetric and positive definite, so elimination
needs no pivoting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from armwright.simulation.system import System
    from armwright.types import Traced

GAMMA = 0.5
A = ((), (0.0,), (2.0, 0.0), (2.0, 0.0, 1.0))
COUPLING = ((), (4.0,), (1.0, -1.0), (1.0, -1.0, -8.0 / 3.0))
ALPHA = (0.0, 0.0, 1.0, 1.0)
GAMMAS = (0.5, 1.5, 0.0, 0.0)


def rodas3(system: System, t: Traced, x: Traced, h: Traced) -> tuple[Traced, Traced]:
    """Return the third-order result and its difference to the embedded second-order one."""
    n = system.n
    slope, M, scaled, drift = system.linearised(t, x)  # f, mass matrix, ∂(M f_v, f_rest)/∂x, the same by t
    g = 1.0 / (GAMMA * h)
    A_q, A_r = scaled[:, :n], scaled[:, n:]
    size = scaled.shape[0]
    mass = _mass(M, size, n)
    factors = _lu(
        [
            [
                g * mass[i][j] - A_r[i, j] - (1.0 / g) * A_q[i, j] if j < n else g * mass[i][j] - A_r[i, j]
                for j in range(size)
            ]
            for i in range(size)
        ]
    )
    K: list[Any] = []
    for i in range(4):
        at = x + sum((a * k for a, k in zip(A[i], K, strict=True) if a), start=0.0 * x)
        f = slope if i < 2 else system.derivative(t + ALPHA[i] * h, at)
        right = f + sum((c * k for c, k in zip(COUPLING[i], K, strict=True)), start=0.0 * x) / h
        lower = np.concatenate([M @ right[n : 2 * n], right[2 * n :]])
        if GAMMAS[i]:
            lower = lower + (GAMMAS[i] * h) * drift
        # first block row: g·K_q − K_v = r_q, so K_q = (r_q + K_v)/g
        lower = lower + A_q @ right[:n] / g
        K_r = _solve(factors, list(lower))
        K.append(np.concatenate([(right[:n] + K_r[:n]) / g, K_r]))
    return x + 2.0 * K[0] + K[2] + K[3], K[3]


def _mass(M: Traced, size: int, n: int) -> list[list[Traced]]:
    return [[M[i, j] if i < n and j < n else float(i == j) for j in range(size)] for i in range(size)]


def _lu(A: list[list[Traced]]) -> tuple[list[list[Traced]], list[Traced]]:
    """Factor in place, L with unit diagonal below, U above; reciprocals of the pivots apart."""
    n = len(A)
    inverse: list[Any] = []
    for k in range(n):
        inverse.append(1.0 / A[k][k])
        for i in range(k + 1, n):
            A[i][k] = A[i][k] * inverse[k]
            for j in range(k + 1, n):
                A[i][j] = A[i][j] - A[i][k] * A[k][j]
    return A, inverse


def _solve(factors: tuple[list[list[Traced]], list[Traced]], b: list[Traced]) -> Traced:
    A, inverse = factors
    n = len(b)
    for i in range(n):
        for j in range(i):
            b[i] = b[i] - A[i][j] * b[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] = b[i] - A[i][j] * b[j]
        b[i] = b[i] * inverse[i]
    return np.array(b)
