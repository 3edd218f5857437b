# SPDX-License-Identifier: Apache-2.0
"""Over which travel δ the friction of each joint reverses, as far as the logs tell.

Stiff gears reverse within 0.2 mrad, less than an encoder shows. Where belts, seals or a torque sensor give way, the
torque takes milliradians to change sides. Taken for a sharp edge, such a reversal looks like a spring, and that is
explained by rotors of negative inertia; bodies that can exist are then far from what least squares finds.

So the bounded problem is solved with one δ after another, the same for all joints, and each joint takes the one that
leaves the least, if pieces of some seconds agree that it is less. The number of unknowns does not change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.identify.bounded_fit import Bounded, bounded_fit
from armwright.identify.finished_fit import fastest, physical
from armwright.identify.least_squares import Fit, loaded_again, with_travel
from armwright.identify.supported_terms import EXACT_RESIDUAL, log_pieces

if TYPE_CHECKING:
    from armwright.types import Array

TRAVELS = (5e-4, 1e-3, 2e-3, 5e-3)
"""[rad] δ that are tried besides that of a stiff gear."""
LEAST_TRAVEL_PIECES = 8
"""Pieces below which δ stays: their scatter says too little."""
LEAST_TRAVEL_SHARE = 0.02
"""Share of a joint's residual sum of squares that another δ must save,"""
TRAVEL_ERRORS = 1.0
"""and standard errors over the pieces."""


def choose_travel(fit: Fit, prior: float) -> tuple[Fit, tuple[str, ...]]:
    """Return the fit with the δ that the logs support, and what was chosen as sentences.

    Args:
        fit: least squares with the δ of stiff gears.
        prior: weight of the description.
    """
    rows = np.sum([g.rows for g in fit.grams], axis=0)
    level = np.sqrt(np.sum([g.squares for g in fit.grams], axis=0) / np.maximum(rows, 1.0))
    found, _ = physical(fit, prior)
    before = _left(fit, found)
    if len(before) < LEAST_TRAVEL_PIECES or (found.solution.sigma <= EXACT_RESIDUAL * level).all():
        return fit, ()
    n, speed = fit.layout.n, fastest(fit)
    best, travel = before.sum(axis=0), fit.travel.copy()
    for delta in TRAVELS:
        trial = np.where(np.arange(len(travel)) < n, delta, fit.travel)
        grams = loaded_again(fit.data, fit.layout, found.solution.theta, trial)
        other = bounded_fit(grams, fit.model, fit.layout, fit.solution, speed, prior=prior, rounds=1, again=found)
        saved = before - _left(fit, other)
        total, error = saved.sum(axis=0), saved.std(axis=0, ddof=1) * np.sqrt(len(saved))
        worth = total - TRAVEL_ERRORS * error > LEAST_TRAVEL_SHARE * before.sum(axis=0)
        better = np.flatnonzero(worth & (before.sum(axis=0) - total < best))
        best[better] = (before.sum(axis=0) - total)[better]
        travel[better] = delta
    if (travel != fit.travel).any():
        chosen = with_travel(fit, travel)
        again, _ = physical(chosen, prior)
    if (travel == fit.travel).all() or float(rows @ np.log(again.solution.sigma / found.solution.sigma)) >= 0.0:
        loaded_again(fit.data, fit.layout, fit.solution.theta, fit.travel)
        return fit, ()
    told = ", ".join(
        f"{joint.name} {1e3 * delta:g} mrad"
        for joint, delta, old in zip(fit.model.robot.joints, travel, fit.travel, strict=False)
        if delta != old
    )
    return chosen, (f"friction reverses over more travel than that of a stiff gear: {told}",)


def _left(fit: Fit, found: Bounded) -> Array:
    """Return Σ r² of every piece and joint (pieces, n)."""
    pieces = log_pieces(fit.data)
    out = np.zeros((len(pieces), fit.layout.n))
    for i, (log, matrices, _) in enumerate(pieces):
        v = np.array([fit.layout.vector(found.solution.theta, log, j) for j in range(fit.layout.n)])
        out[i] = np.einsum("jm,jmk,jk->j", v, matrices, v)
    return out
