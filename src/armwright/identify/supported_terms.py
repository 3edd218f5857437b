# SPDX-License-Identifier: Apache-2.0
"""Which friction terms the logs support: blocked cross-validation with the bounded fit itself.

A short log cannot tell v from v|v|, and both then have deviations that say nothing. So the logs are cut into pieces of
some seconds, dealt to folds; the bounded problem (`bounded_fit`) is solved without a fold, with and without a term, and
judged on the fold. Terms are taken away one at a time from each joint, the least useful first, as long as the pieces
that were not fitted say, with a standard error over them added, that the residual grows by less than a small share.
Joints are tried together: what one joint's friction does to another's residual is small, and each is judged by its own.

The offset always stays: left out, least squares hides it in impossible masses. So does the friction of coupled motors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.identify.bounded_fit import Bounded, BoundedProblems
from armwright.identify.gear_friction import TERMS
from armwright.identify.gram_matrices import Grams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from armwright.identify.gram_matrices import LogColumns
    from armwright.identify.least_squares import Fit
    from armwright.types import Array

DROPPED_FIRST = ("degressive", "load", "viscous", "coulomb")
"""Terms that may be left out, in the order in which they go where they are equally useless."""
FOLDS = 5
LEAST_PIECES = 10
"""Pieces below which nothing is left out: their scatter says too little."""
EXACT_RESIDUAL = 1e-3
"""Residual relative to the current below which data are exact, as simulated ones: they determine every term."""
LONGEST_PIECE_BLOCKS = 8
"""Blocks of a piece, at most."""
MOST_LOSS = 0.02
"""Share of a joint's residual sum of squares, on pieces that were not fitted, that leaving out a term may cost,"""
STANDARD_ERRORS = 1.0
"""with so many standard errors over the pieces added: few seconds that say nothing leave a term where it is."""


class SupportedTerms(NamedTuple):
    """Which terms were chosen.

    Attributes:
        chosen: (n, 5) in the order of `TERMS`.
        pieces: of the cross-validation; 0 where the logs were too short for it and all terms stay.
    """

    chosen: NDArray[np.bool_]
    pieces: int


def choose_friction(fit: Fit, found: Bounded, fastest: Array, prior: float) -> SupportedTerms:
    """Choose the friction terms of every joint.

    Args:
        fit: least squares and its data.
        found: the bounded fit with all terms.
        fastest: (n,) speeds up to which friction dissipates [rad/s].
        prior: weight of the description.
    """
    layout, n = fit.layout, fit.layout.n
    chosen = np.ones((n, len(TERMS)), bool)
    pieces = log_pieces(fit.data)
    fold = np.arange(len(pieces)) % FOLDS
    level = np.sqrt(sum(g.squares for g in fit.grams) / np.maximum(sum(g.rows for g in fit.grams), 1.0))
    if len(pieces) < LEAST_PIECES or (found.solution.sigma <= EXACT_RESIDUAL * level).all():
        return SupportedTerms(chosen, 0)
    total = [data.grams for data in fit.data]
    problems = []
    for k in range(FOLDS):
        left = [
            _without(whole, data.name, pieces, fold == k, log)
            for log, (whole, data) in enumerate(zip(total, fit.data, strict=True))
        ]
        problems.append(BoundedProblems(left, fit.model, layout, found, fastest, prior=prior))

    def held_out(terms: NDArray[np.bool_]) -> Array:
        """Σ r²/σ² of every piece and joint (pieces, n) by the fits that have not seen it."""
        free = layout.free
        for j in range(n):
            free[layout.friction(j)] = terms[j]
        out = np.zeros((len(pieces), n))
        for k, problem in enumerate(problems):
            theta = problem.theta(free)
            for i in np.flatnonzero(fold == k):
                log, matrices, _ = pieces[i]
                v = np.array([layout.vector(theta, log, j) for j in range(n)])
                out[i] = np.einsum("jm,jmk,jk->j", v, matrices, v) / found.solution.sigma**2
        return out

    best = held_out(chosen)
    while True:
        losses = np.full((len(DROPPED_FIRST), n), np.inf)
        trials = []
        for t, word in enumerate(DROPPED_FIRST):
            at = TERMS.index(word)
            trial = chosen.copy()
            trial[:, at] = False
            trials.append(held_out(trial) if chosen[:, at].any() else best)
            apart = trials[t] - best
            loss, error = apart.sum(axis=0), apart.std(axis=0, ddof=1) * np.sqrt(len(pieces))
            useless = loss + STANDARD_ERRORS * error < MOST_LOSS * best.sum(axis=0)
            losses[t] = np.where(useless & chosen[:, at], loss / np.maximum(best.sum(axis=0), 1e-300), np.inf)
        worst = np.argmin(losses, axis=0)
        drop = np.isfinite(losses[worst, np.arange(n)])
        if not drop.any():
            return SupportedTerms(chosen, len(pieces))
        for j in np.flatnonzero(drop).tolist():
            chosen[j, TERMS.index(DROPPED_FIRST[worst[j]])] = False
        best = held_out(chosen)


def log_pieces(logs: Sequence[LogColumns]) -> list[tuple[int, Array, Array]]:
    """Return log, sums (n, m, m) and moving rows (n,) of every piece of some seconds."""
    count = sum(len(data.blocks) for data in logs)
    length = int(np.clip(count // (4 * FOLDS), 1, LONGEST_PIECE_BLOCKS))
    pieces = []
    for log, data in enumerate(logs):
        for start in range(0, len(data.blocks), length):
            span = slice(start, start + length)
            pieces.append((log, data.blocks[span].sum(axis=0), data.rows[span].sum(axis=0)))
    return pieces


def _without(
    whole: Grams, name: str, pieces: list[tuple[int, Array, Array]], out: NDArray[np.bool_], log: int
) -> Grams:
    """Sums of a log without the pieces of a fold."""
    matrices, rows = whole.matrices.copy(), whole.rows.copy()
    for i in np.flatnonzero(out).tolist():
        if pieces[i][0] == log:
            matrices -= pieces[i][1]
            rows -= pieces[i][2]
    return Grams(name, matrices, rows, matrices[:, -1, -1].copy())


def choice_said(choice: SupportedTerms, joints: list[str]) -> str:
    """Return which terms were chosen, as one sentence."""
    if not choice.pieces:
        return "all friction terms were fitted: the logs are too short, or too exact, to choose among them"
    groups: dict[str, list[str]] = {}
    for name, row in zip(joints, choice.chosen, strict=True):
        words = ", ".join(word for word, kept in zip(TERMS, row, strict=True) if kept)
        groups.setdefault(words, []).append(name)
    told = "; ".join(f"{', '.join(names)}: {words}" for words, names in groups.items())
    return f"friction terms chosen by cross-validation over {choice.pieces} pieces: {told}"
