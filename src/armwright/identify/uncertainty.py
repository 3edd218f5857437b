# SPDX-License-Identifier: Apache-2.0
"""How far estimates can be trusted: deviations from the scatter of whole seconds, and what the data leave open.

Residuals of an arm are ripple, drift and friction, not white noise: neighbouring samples repeat each other. White-noise
formulas give deviations four times too small on real logs. The sums Cᵀr of one-second blocks are nearly independent,
and their scatter gives the covariance H⁻¹ (Σ s sᵀ) H⁻¹ (the sandwich).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.identify.solve import SINGULAR, Layout, Solution

if TYPE_CHECKING:
    from armwright.types import Array

WIDE = 0.25
"""A gain whose deviation exceeds this share of it (±50 % at two deviations) is undetermined."""


def covariance(layout: Layout, solution: Solution, blocks: Sequence[Array]) -> Array:
    """Covariance (size, size) of θ from block sums Cᵀr, one array (blocks, n, m) per log; 0 where θ is fixed.

    Directions that the data do not determine have infinite variance; they show as ``inf`` on the diagonal of the
    unknowns that take part in them.
    """
    free = np.flatnonzero(layout.free)
    meat = np.zeros((layout.size, layout.size))
    count = 0
    for k, sums in enumerate(blocks):
        s = np.zeros((len(sums), layout.size))
        for j in range(layout.n):
            s += sums[:, j] @ layout.tangent(solution.theta, k, j) / solution.sigma[j] ** 2
        meat += s.T @ s
        count += len(sums)
    # as many blocks as unknowns would leave no scatter to see: the usual small-sample factor
    factor = count / max(1, count - len(free) / layout.n)
    H = solution.normal[np.ix_(free, free)]
    scale = np.sqrt(np.maximum(np.diag(H), 0.0))
    scale = np.where(scale > 1e-150, scale, 1.0)
    values, vectors = np.linalg.eigh(H / np.outer(scale, scale))
    good = values > SINGULAR * values[-1]
    inverse = (vectors[:, good] / values[good]) @ vectors[:, good].T / np.outer(scale, scale)
    out = np.zeros((layout.size, layout.size))
    out[np.ix_(free, free)] = factor * inverse @ meat[np.ix_(free, free)] @ inverse
    for direction in solution.null:
        part = np.abs(direction) * np.sqrt(np.maximum(np.diag(solution.normal), 1e-300))
        open_ = np.flatnonzero(part > 1e-3 * part.max(initial=0.0))
        out[open_, open_] = np.inf
    return out


def undetermined(layout: Layout, solution: Solution, variance: Array) -> Any:
    """Mask of θ: estimates that others can replace, so that their value says nothing.

    A base, payload or friction parameter counts as undetermined where two of its deviations move the currents by more
    than their residual; a gain where two deviations exceed half of it.
    """
    sd = np.sqrt(np.maximum(variance, 0.0))
    with np.errstate(invalid="ignore"):
        effect = sd * np.sqrt(np.maximum(np.diag(solution.normal), 0.0) / solution.rows)  # rms, against the residual
    out = np.asarray(~(2.0 * effect <= 1.0))
    gains = slice(layout.size - layout.n, layout.size)
    out[gains] = ~(sd[gains] <= WIDE * np.abs(solution.theta[gains]))
    # a column of zeros: nothing in the logs asks for this parameter
    out |= np.diag(solution.normal) <= 0.0
    out[np.logical_not(layout.free)] = False
    return out
