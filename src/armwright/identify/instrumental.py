# SPDX-License-Identifier: Apache-2.0
"""Instrumental variables: a second estimate that noise in the measured motion does not bias.

Least squares is biased where noise of the speeds enters both the regressor and, squared, its Gram matrix. Instruments
are regressors of the same motion from another measurement of it: here positions alone, smoothed harder and
differentiated twice. ZᵀC θ = Zᵀi then has no such bias. If both agree, the filter has done its work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.identify.current_log import Log
from armwright.identify.drive_gains import Gains
from armwright.identify.filtered_log import Prepared, derivative, low_pass
from armwright.identify.gram_matrices import chunks
from armwright.identify.identified import Load
from armwright.identify.least_squares import Fit
from armwright.identify.model_fit import fit_loads

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

HARDER = 0.6
"""Cutoff of the instruments' motion relative to that of the fit."""


def instrument_motion(prepared: Prepared) -> Prepared:
    """Return the same log with its motion from positions alone, smoothed harder."""
    smooth = low_pass(prepared.filter.rate, HARDER * prepared.filter.cutoff)
    dt = 1.0 / prepared.filter.rate
    pieces = []
    for piece in prepared.pieces:
        q = smooth.without_phase(piece.q)
        qd = derivative(q, dt)
        pieces.append(replace(piece, q=q, qd=qd, qdd=derivative(qd, dt)))
    return replace(prepared, pieces=tuple(pieces))


def instrumental(fit: Fit) -> tuple[Array, Array]:
    """Solve the fit of fixed gains by instruments; return θ and its difference to least squares in torque.

    Returns:
        θ_IV (size,) and, for each joint, rms(C (θ_IV − θ_LS))/rms(i) over the moving rows (n,): how much of the current
        the two methods explain differently.
    """
    layout, theta = fit.layout, fit.solution.theta
    free = layout.free
    free[layout.size - layout.n :] = False
    at = np.flatnonzero(free)
    A, b = np.zeros((layout.size, layout.size)), np.zeros(layout.size)
    for k, prepared in enumerate(fit.prepared):
        beta = layout.beta(theta, k)
        pairs = zip(
            chunks(prepared, fit.model, beta, dahl=fit.travel),
            chunks(instrument_motion(prepared), fit.model, beta, dahl=fit.travel),
            strict=True,
        )
        for own, other in pairs:
            for j in range(layout.n):
                rows = own.moving[:, j]
                J = layout.tangent(theta, k, j) / fit.solution.sigma[j]
                C, Z = own.columns[rows, j], other.columns[rows, j]
                A += J.T @ (Z.T @ C) @ J
                b -= J.T @ (Z.T @ (C @ layout.vector(theta, k, j))) / fit.solution.sigma[j]
    scale = np.sqrt(np.maximum(np.diag(fit.solution.normal), 1e-300))[at]
    step = np.zeros(layout.size)
    step[at] = np.linalg.lstsq(A[np.ix_(at, at)] / np.outer(scale, scale), b[at] / scale, rcond=1e-9)[0] / scale
    return theta + step, _apart(fit, step)


def _apart(fit: Fit, step: Array) -> Array:
    layout = fit.layout
    total, level = np.zeros(layout.n), np.zeros(layout.n)
    for k, gram in enumerate(fit.grams):
        for j in range(layout.n):
            d = layout.tangent(fit.solution.theta, k, j) @ step
            total[j] += d @ gram.matrices[j] @ d
            level[j] += gram.squares[j]
    return np.asarray(np.sqrt(np.maximum(total, 0.0) / np.maximum(level, 1e-300)))


@names_culprit
def cross_check(
    logs: Sequence[Log], robot: Robot, *, gains: Gains | None = None, payloads: Sequence[Load | None] | None = None
) -> Array:
    """Return the rms difference between instruments and least squares in explaining the currents, over rms(i) (n,).

    A few thousandths: the filter has removed the bias. A few hundredths: lower `cutoff`. Arguments as `fit`.

    Example:
        >>> cross_check(logs, robot, gains=Known(gains)).max() < 0.01
    """
    return instrumental(fit_loads(tuple(logs), robot, gains, payloads)[0])[1]
