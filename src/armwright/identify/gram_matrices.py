# SPDX-License-Identifier: Apache-2.0
"""Gram matrices of a log, accumulated over chunks: all that fitting needs of it, whatever its length.

For each joint j the columns are C_j = [base columns, friction columns, current]. Columns and current pass the same
filter (parallel filtering), so that it cancels; then only rows in which joint j moves are kept. A joint that rests
carries its load by stiction, anywhere in the Coulomb band: its current cannot be predicted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.identify import gear_friction as friction
from armwright.identify.filtered_log import Piece, Prepared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.identify.identifiable import Structure
    from armwright.types import Array

MOVING_SPEED = 0.02
"""[rad/s] Slower joints count as resting."""
FORGOTTEN = 25.0
"""Travel in units of δ after which the hysteresis has forgotten where it began (to 1e-11)."""
SAMPLES_AT_ONCE = 8192
"""Samples whose regressor is in memory at a time: 26 MB for six joints."""


@dataclass(frozen=True, eq=False)
class Grams:
    """Sums over the moving rows of one log.

    Attributes:
        name: of the log.
        matrices: (n, m, m) CᵀC of each joint, m = rank + 5 + 1.
        rows: (n,) moving rows of each joint.
        squares: (n,) Σ i² over them [A²].
    """

    name: str
    matrices: Array
    rows: Array
    squares: Array


@dataclass(frozen=True, eq=False)
class FilteredColumns:
    """Filtered columns of some samples of one piece.

    Attributes:
        t: (K,). columns: (K, n, m), currents last; columns that a joint cannot see are zero. moving: (K, n).
        block: (K,) number of the block of time each sample belongs to, counted over the log.
    """

    t: Array
    columns: Array
    moving: NDArray[np.bool_]
    block: NDArray[np.int64]


def chunks(
    prepared: Prepared, model: Structure, beta: Array, *, dahl: float = friction.DAHL, block: float = 1.0
) -> Iterator[FilteredColumns]:
    """Yield filtered columns of a log, piece by piece, at most `SAMPLES_AT_ONCE` samples at a time.

    Args:
        prepared: the log.
        model: structure of the arm.
        beta: (rank,) base parameters whose rigid-body torque loads the friction, payload included.
        dahl: δ of the hysteresis [rad].
        block: length of a block [s].
    """
    margin = 2 * prepared.filter.margin
    dt = 1.0 / prepared.filter.rate
    per = max(1, round(block / dt))
    offset = 0
    for piece in prepared.pieces:
        h = friction.hysteresis(piece.qd, dt, dahl)
        # until a joint has moved, its side of the hysteresis is unknown
        known = np.cumsum(np.abs(piece.qd), axis=0) * dt > FORGOTTEN * dahl
        for start in range(0, len(piece.t), SAMPLES_AT_ONCE):
            stop = min(start + SAMPLES_AT_ONCE, len(piece.t))
            a, b = max(0, start - margin), min(len(piece.t), stop + margin)
            inner = slice(start - a, stop - a)
            C = _filtered(piece, h, slice(a, b), prepared, model, beta)[inner]
            moving = (np.abs(piece.qd[start:stop]) > MOVING_SPEED) & known[start:stop]
            yield FilteredColumns(piece.t[start:stop], C, moving, offset + np.arange(start, stop) // per)
        offset += -(-len(piece.t) // per)


def _filtered(piece: Piece, h: Array, rows: slice, prepared: Prepared, model: Structure, beta: Array) -> Array:
    q, qd, qdd = piece.q[rows], piece.qd[rows], piece.qdd[rows]
    Y = model.columns(q, qd, qdd)
    F = friction.columns(qd, h[rows], Y @ beta)
    K, n, rank = Y.shape
    out = np.zeros((K, n, rank + len(friction.TERMS) + 1))
    # one call of the filter for all columns of all joints that are not zero
    parts = [Y[:, j, model.seen[j]] for j in range(n)]
    flat = np.concatenate([*parts, F[..., :-1].reshape(K, -1), piece.current[rows]], axis=1)
    smooth = prepared.filter.without_phase(flat)
    at = 0
    for j in range(n):
        out[:, j, model.seen[j]] = smooth[:, at : at + len(model.seen[j])]
        at += len(model.seen[j])
    free = len(friction.TERMS) - 1
    out[..., rank : rank + free] = smooth[:, at : at + n * free].reshape(K, n, free)
    out[..., rank + free] = 1.0  # a constant passes a low-pass as it is
    out[..., -1] = smooth[:, at + n * free :]
    return out


def accumulate(prepared: Prepared, model: Structure, beta: Array, *, dahl: float = friction.DAHL) -> Grams:
    """Sum CᵀC over the moving rows of a log."""
    n, m = model.robot.n, model.rank + len(friction.TERMS) + 1
    matrices, rows = np.zeros((n, m, m)), np.zeros(n)
    for chunk in chunks(prepared, model, beta, dahl=dahl):
        for j in range(n):
            C = chunk.columns[chunk.moving[:, j], j]
            matrices[j] += C.T @ C
            rows[j] += len(C)
    return Grams(prepared.name, matrices, rows, matrices[:, -1, -1].copy())


def scores(prepared: Prepared, model: Structure, beta: Array, v: Array, *, dahl: float = friction.DAHL) -> Array:
    """Return sums Cᵀr of every block of time, (blocks, n, m), with residuals r = C v_j (v: (n, m), current's entry −1).

    Their scatter is the noise of the fit without the wrong assumption that neighbouring samples are independent.
    """
    found: dict[int, Array] = {}
    n, m = v.shape
    for chunk in chunks(prepared, model, beta, dahl=dahl):
        r = np.einsum("tjm,jm->tj", chunk.columns, v) * chunk.moving
        each = np.einsum("tjm,tj->tjm", chunk.columns, r)
        edges = np.flatnonzero(np.diff(chunk.block, prepend=-1))
        for number, total in zip(chunk.block[edges], np.add.reduceat(each, edges, axis=0), strict=True):
            found[int(number)] = found.get(int(number), np.zeros((n, m))) + total
    return np.array([found[k] for k in sorted(found)]).reshape(-1, n, m)
