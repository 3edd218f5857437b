# SPDX-License-Identifier: Apache-2.0
"""Gram matrices of a log, accumulated over chunks: all that fitting needs of it, whatever its length.

For each joint j the columns are C_j = [base columns, friction columns, those of coupled motors, current]. Columns and
current pass the same filter (parallel filtering), so that it cancels; then only rows in which joint j moves are kept. A
joint that rests carries its load by stiction, anywhere in the Coulomb band: its current cannot be predicted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

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
        matrices: (n, m, m) CᵀC of each joint, m the width of the arm's `Structure`.
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
    prepared: Prepared, model: Structure, beta: Array, *, dahl: Array | float = friction.DAHL, block: float = 1.0
) -> Iterator[FilteredColumns]:
    """Yield filtered columns of a log, piece by piece, at most `SAMPLES_AT_ONCE` samples at a time.

    Args:
        prepared: the log.
        model: structure of the arm.
        beta: (rank,) base parameters whose rigid-body torque loads the friction, payload included.
        dahl: δ of the hysteresis [rad], one or (n + k,), joints before motors.
        block: length of a block [s].
    """
    margin = 2 * prepared.filter.margin
    dt = 1.0 / prepared.filter.rate
    travel = friction.checked_dahl(dahl, model.robot.n + len(model.motors))
    per = max(1, round(block / dt))
    offset = 0
    for piece in prepared.pieces:
        h = friction.hysteresis(np.concatenate([piece.qd, piece.qd @ model.motors.T], axis=1), dt, travel)
        # until a joint has moved, its side of the hysteresis is unknown
        known = np.cumsum(np.abs(piece.qd), axis=0) * dt > FORGOTTEN * travel[: model.robot.n]
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
    K, n, rank = Y.shape
    joints = friction.columns(qd, h[rows, :n], Y @ beta)
    motors = friction.motor_columns(qd @ model.motors.T, h[rows, n:], model.motors)
    out = np.zeros((K, n, model.width))
    # one call of the filter for all columns of all joints that are not zero
    parts = [Y[:, j, model.seen[j]] for j in range(n)]
    parts += [joints[..., :-1].reshape(K, -1), motors.reshape(K, -1), piece.current[rows]]
    smooth = prepared.filter.without_phase(np.concatenate(parts, axis=1))
    at = 0
    for j in range(n):
        out[:, j, model.seen[j]] = smooth[:, at : at + len(model.seen[j])]
        at += len(model.seen[j])
    free, more = len(friction.TERMS) - 1, motors.shape[-1]
    out[..., rank : rank + free] = smooth[:, at : at + n * free].reshape(K, n, free)
    out[..., rank + free] = 1.0  # a constant passes a low-pass as it is
    at += n * free
    out[..., rank + free + 1 : -1] = smooth[:, at : at + n * more].reshape(K, n, more)
    out[..., -1] = smooth[:, at + n * more :]
    return out


def accumulate(prepared: Prepared, model: Structure, beta: Array, *, dahl: Array | float = friction.DAHL) -> Grams:
    """Sum CᵀC over the moving rows of a log."""
    n, m = model.robot.n, model.width
    matrices, rows = np.zeros((n, m, m)), np.zeros(n)
    for chunk in chunks(prepared, model, beta, dahl=dahl):
        for j in range(n):
            C = chunk.columns[chunk.moving[:, j], j]
            matrices[j] += C.T @ C
            rows[j] += len(C)
    return Grams(prepared.name, matrices, rows, matrices[:, -1, -1].copy())


CACHED_SAMPLES = 100_000
"""Samples of a log up to which its columns are kept in memory between passes over the data: 220 MB for six joints."""
GRAM_BLOCK_SECONDS, MOST_BLOCKS = 0.5, 1200
"""Blocks [s] that logs are summed in; a log of more than ten minutes has longer ones."""
INDEPENDENT_BLOCKS = 2
"""So many blocks, a second, count as independent of the next."""


class LogColumns:
    """The columns of one log, filtered once: from pass to pass only the column of the load changes, or those of h.

    Attributes:
        name: of the log.
        blocks: (B, n, m, m) CᵀC of each joint in every block of time, in order.
        rows: (B, n) moving rows in them.
    """

    def __init__(
        self, prepared: Prepared, model: Structure, beta: Array, *, dahl: Array | float = friction.DAHL
    ) -> None:
        """Filter the columns for base parameters beta (rank,), whose torques load the friction."""
        self.name, self._prepared, self._model = prepared.name, prepared, model
        self._dahl = friction.checked_dahl(dahl, model.robot.n + len(model.motors))
        self._seconds = max(GRAM_BLOCK_SECONDS, prepared.duration / MOST_BLOCKS)
        self._keep = sum(len(piece.t) for piece in prepared.pieces) <= CACHED_SAMPLES
        self._parts: list[tuple[Array, NDArray[np.int64]]] = []
        self._stream(beta)

    def _stream(self, beta: Array) -> None:
        """Go through the log once and sum its blocks."""
        blocks, rows = dict[int, Any](), dict[int, Any]()
        for part in chunks(self._prepared, self._model, beta, dahl=self._dahl, block=self._seconds):
            # (n, K, m), rows of resting joints 0: products of blocks are then plain matrix products
            columns = np.ascontiguousarray((part.columns * part.moving[..., None]).transpose(1, 0, 2))
            for span, number in _spans(part.block):
                C = columns[:, span]
                blocks[number] = blocks.get(number, 0.0) + C.transpose(0, 2, 1) @ C
                rows[number] = rows.get(number, 0.0) + part.moving[span].sum(axis=0)
            if self._keep:
                self._parts.append((columns, part.block))
        self.blocks = np.array([blocks[k] for k in sorted(blocks)])
        self.rows = np.array([rows[k] for k in sorted(rows)], dtype=np.float64)

    def load(self, beta: Array, travel: Array | None = None) -> None:
        """Take the torques of base parameters beta (rank,) as the load of the friction, and other δ (n + k,) [rad].

        With other δ the rows stay those of the old: a larger one is felt some travel longer after the start.
        """
        self._dahl = self._dahl if travel is None else travel
        if not self._keep:
            self._stream(beta)
            return
        n, offset = self._model.robot.n, self._model.rank + friction.TERMS.index("offset")
        at = offset - (1 if travel is None else 2)
        new: dict[int, Any] = {}
        for (columns, block), pair in zip(self._parts, self._hysteresis_columns(beta), strict=True):
            moving = columns[..., offset, None]  # the offset's column is 1 where a joint moves
            columns[..., at:offset] = pair.reshape(-1, 2, n).transpose(2, 0, 1)[..., at - offset :] * moving
            for span, number in _spans(block):
                C = columns[:, span]
                new[number] = new.get(number, 0.0) + C.transpose(0, 2, 1) @ C[..., at:offset]
        found = np.array([new[k] for k in sorted(new)])
        self.blocks[..., at:offset] = found
        self.blocks[:, :, at:offset] = found.transpose(0, 1, 3, 2)

    def _hysteresis_columns(self, beta: Array) -> Iterator[Array]:
        """Yield h and h |τ_rb| (K, 2 n), filtered, chunk by chunk; h of joints alone."""
        prepared, model = self._prepared, self._model
        margin, dt = 2 * prepared.filter.margin, 1.0 / prepared.filter.rate
        for piece in prepared.pieces:
            h = friction.hysteresis(piece.qd, dt, self._dahl[: model.robot.n])
            for start in range(0, len(piece.t), SAMPLES_AT_ONCE):
                stop = min(start + SAMPLES_AT_ONCE, len(piece.t))
                rows = slice(max(0, start - margin), min(len(piece.t), stop + margin))
                torque = model.columns(piece.q[rows], piece.qd[rows], piece.qdd[rows]) @ beta
                pair = np.concatenate([h[rows], h[rows] * np.abs(torque)], axis=1)
                yield prepared.filter.without_phase(pair)[start - rows.start : stop - rows.start]

    @property
    def grams(self) -> Grams:
        """Return the sums over the whole log."""
        total = self.blocks.sum(axis=0)
        return Grams(self.name, total, self.rows.sum(axis=0), total[:, -1, -1].copy())

    def scores(self, v: Array) -> Array:
        """Return sums Cᵀr of every second, (seconds, n, m), with r = C v_j (v: (n, m))."""
        each = (self.blocks @ v[None, :, :, None])[..., 0]
        return np.asarray(np.add.reduceat(each, np.arange(0, len(each), INDEPENDENT_BLOCKS), axis=0))


def _spans(block: NDArray[np.int64]) -> Iterator[tuple[slice, int]]:
    """Yield the rows of every block in a chunk, and its number."""
    for start, stop in pairwise([*np.flatnonzero(np.diff(block, prepend=-1)).tolist(), len(block)]):
        yield slice(start, stop), int(block[start])


def scores(
    prepared: Prepared, model: Structure, beta: Array, v: Array, *, dahl: Array | float = friction.DAHL
) -> Array:
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
