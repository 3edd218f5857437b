# SPDX-License-Identifier: Apache-2.0
"""Which harmonics of the joint angles the logs support: looked for in some logs, confirmed on another, or not reported.

The model's residual currents are what is left to explain. One log after another is left out. Logs that run the same
path do not confirm each other: they are left out together, and where there is no other path, halves of the time take
the place of logs. What is not left out is compared with harmonics of 1 to `MOST_SOUGHT_CYCLES` cycles a turn; the
`CANDIDATES` strongest of each kind are candidates. One is kept only if

- *every* choice of what is left out has found it,
- its coefficients, fitted without the log that was left out, lower the residual there by at least `LEAST_GAIN` and by
  `LEAST_SIGNIFICANCE` standard errors of one-second blocks,
- it does better than one cycle a turn more or less, by as many standard errors: else the motion does not resolve which
  it is, and elsewhere it would be out of phase.

The best one is taken out of the residual, and the search begins again. Columns and residual pass the same filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.identify.current_log import Log
from armwright.identify.filtered_log import even_samples
from armwright.identify.gram_matrices import chunks
from armwright.identify.identifiable import structure
from armwright.identify.identified import payload_parameters
from armwright.identify.log_checks import check_log
from armwright.identify.position_friction import POSITION_KINDS, PositionFriction, PositionTerm, harmonic
from armwright.identify.validation import path_distance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.identify.filtered_log import LowPass
    from armwright.identify.identified import Identified, PayloadEstimate
    from armwright.types import Array

MOST_SOUGHT_CYCLES = 256
"""Cycles a turn that are looked at: teeth of harmonic drives have 100 and 200."""
CANDIDATES = 4
"""Strongest harmonics of a joint, of each kind, that are tried on the log that was left out."""
LEAST_GAIN = 0.01
"""Share of the residual's sum of squares that a harmonic must take away on a log it was not fitted to."""
LEAST_SIGNIFICANCE = 2.0
"""Standard errors of that."""
SAME_PATH_DISTANCE = 0.1
"""[rad, m] Logs that are nearer than this at their best lag run the same path."""
MOST_TERMS = 6
"""Harmonics of a joint, at most."""
LEAST_POSITION_ROWS = 500
"""Moving samples (five seconds) of a joint from which harmonics are looked for."""
BLOCK_ROWS = 100
"""Samples of a block: one second."""


@dataclass(frozen=True, eq=False)
class Left:
    """What a model leaves of one log, pieces one after the other, K samples.

    Attributes:
        q, qd: (K, n), filtered. residual: (K, n) measured − predicted [N m], filtered. moving: (K, n).
        pieces: where unbroken pieces begin, and the end. filter: of the log.
    """

    q: Array
    qd: Array
    residual: Array
    moving: NDArray[np.bool_]
    pieces: tuple[int, ...]
    filter: LowPass

    def columns(self, joint: int, kind: str, cycles: int) -> Array:
        """Return the filtered columns (K, 2) of a harmonic."""
        raw = harmonic(self.q[:, joint], self.qd[:, joint], kind, cycles)
        parts = [slice(a, b) for a, b in zip(self.pieces[:-1], self.pieces[1:], strict=True)]
        return np.concatenate([self.filter.without_phase(raw[part]) for part in parts])

    def rows(self, joint: int) -> NDArray[np.bool_]:
        """Rows (K,) in which a joint moves."""
        return np.asarray(self.moving[:, joint])


def left_of(identified: Identified, log: Log, payload: PayloadEstimate | ArrayLike | None = None) -> Left:
    """Return what the five terms and the rigid body leave of a log."""
    check_log(log, identified.robot)
    prepared = even_samples(log)
    model = structure(identified.robot)
    beta = identified.beta if payload is None else identified.beta + model.loads @ payload_parameters(payload)
    v = identified.vectors(beta)
    residual, moving = [], []
    for part in chunks(prepared, model, beta, dahl=identified.friction.travel):
        residual.append(-identified.gains * np.einsum("tjm,jm->tj", part.columns, v))
        moving.append(part.moving)
    q, qd = (np.concatenate([getattr(piece, name) for piece in prepared.pieces]) for name in ("q", "qd"))
    begins = np.cumsum([0, *(len(piece.t) for piece in prepared.pieces)])
    return Left(q, qd, np.concatenate(residual), np.concatenate(moving), tuple(int(b) for b in begins), prepared.filter)


@names_culprit
def fit_position_friction(
    identified: Identified,
    logs: Log | Sequence[Log],
    *,
    payloads: Sequence[PayloadEstimate | ArrayLike | None] | None = None,
) -> Identified:
    """Return the model with those harmonics of the joint angles that the logs support; with none if they support none.

    Args:
        identified: the model; everything else of it stays.
        logs: without contact; the training logs will do. Two or more: each is left out in turn.
        payloads: one per log, as for `learn_bands`; by default what the fit found in the logs of these names.

    Example:
        >>> model = fit_position_friction(model, logs)
        >>> model.position.terms  # () if no harmonic helps on logs that it was not fitted to
    """
    many = (logs,) if isinstance(logs, Log) else tuple(logs)
    own = {p.log: p for p in identified.payloads}
    carried = tuple(payloads) if payloads is not None else tuple(own.get(log.name) for log in many)
    if not many or len(carried) != len(many):
        raise InputError(f"fit_position_friction: {len(many)} logs and {len(carried)} payloads; give a log, one each")
    bare = replace(identified, position=None)
    left = [left_of(bare, log, load) for log, load in zip(many, carried, strict=True)]
    folds = _folds(left, _paths(many))
    terms = [term for j in range(identified.n) for term in _supported(left, folds, j)]
    said = f"{len(terms)} harmonic{'s' * (len(terms) > 1)}" if terms else "no harmonic"
    remark = f"friction against position: {said} of the joint angles lowered the residual of logs that were left out"
    return replace(
        identified, position=PositionFriction(identified.n, tuple(terms)), remarks=(*identified.remarks, remark)
    )


Fold = tuple[list[Left], list[Left]]
"""What is fitted to, and what was left out."""


def _paths(logs: Sequence[Log]) -> list[int]:
    """Number of the path that each log runs; logs that run the same one have the same number."""
    paths: list[int] = []
    for k, log in enumerate(logs):
        same = [paths[i] for i in range(k) if path_distance(log, logs[i]) < SAME_PATH_DISTANCE]
        paths.append(same[0] if same else k)
    return paths


def _folds(left: list[Left], paths: list[int]) -> list[Fold]:
    numbers = sorted(set(paths))
    if len(numbers) > 1:
        chosen = [[p == number for p in paths] for number in numbers]
        return [
            (
                [x for x, out in zip(left, row, strict=True) if not out],
                [x for x, out in zip(left, row, strict=True) if out],
            )
            for row in chosen
        ]
    halves = [[_half(x, late) for x in left] for late in (False, True)]
    return [(halves[0], halves[1]), (halves[1], halves[0])]


def _half(x: Left, late: bool) -> Left:
    """The first or second half of a log's time."""
    rows = (np.arange(len(x.q)) >= len(x.q) // 2) == late
    return replace(x, moving=x.moving & rows[:, None])


def _supported(left: list[Left], folds: list[Fold], joint: int) -> list[PositionTerm]:
    """Harmonics of a joint that every fold finds and that help where they were not fitted."""
    if any(sum(x.rows(joint).sum() for x in part) < LEAST_POSITION_ROWS for fold in folds for part in fold):
        return []
    terms: list[PositionTerm] = []
    while len(terms) < MOST_TERMS:
        best = _best(folds, joint)
        if best is None:
            break
        kind, cycles, gain = best
        (a, b), deviation = _fitted(left, joint, kind, cycles)
        terms.append(PositionTerm(joint, kind, cycles, a, b, deviation, gain))
        left = _without(left, joint, kind, cycles, (a, b))
        folds = [
            (_without(train, joint, kind, cycles, found), _without(test, joint, kind, cycles, found))
            for train, test in folds
            for found in [_fitted(train, joint, kind, cycles)[0]]
        ]
    return terms


def _best(folds: list[Fold], joint: int) -> tuple[str, int, float] | None:
    """Kind, cycles and least gain of the harmonic that helps most where it was left out; None if none is supported."""
    out = None
    for kind in POSITION_KINDS:
        found = [set(_strongest(train, joint, kind)) for train, _ in folds]
        for cycles in sorted(set.intersection(*found)):
            saved = [_saved(train, test, joint, kind, cycles) for train, test in folds]
            gains = [_gain(*each) for each in saved]
            if not all(gain >= LEAST_GAIN and gain >= LEAST_SIGNIFICANCE * error for gain, error in gains):
                continue
            near = [k for k in (cycles - 1, cycles + 1) if k > 0]
            others = [np.concatenate([_saved(*fold, joint, kind, k)[0] for fold in folds]) for k in near]
            own, least = np.concatenate([each for each, _ in saved]), min(gain for gain, _ in gains)
            if all(_better(own - other) for other in others) and (out is None or least > out[2]):
                out = kind, cycles, least
    return out


def _without(parts: list[Left], joint: int, kind: str, cycles: int, found: tuple[float, float]) -> list[Left]:
    """The same with a harmonic taken out of the residual."""
    out = []
    for x in parts:
        residual = x.residual.copy()
        residual[:, joint] -= x.columns(joint, kind, cycles) @ np.array(found)
        out.append(replace(x, residual=residual))
    return out


def _strongest(parts: list[Left], joint: int, kind: str) -> list[int]:
    """Cycles a turn at which the residual of a joint follows its angle most."""
    power = np.zeros(MOST_SOUGHT_CYCLES)
    for x in parts:
        rows = x.rows(joint)
        r, q = x.residual[rows, joint], x.q[rows, joint]
        if kind == "drag":
            r = r * np.sign(x.qd[rows, joint])
        spin, turn = np.exp(1j * q), np.ones(len(q), dtype=complex)
        for k in range(MOST_SOUGHT_CYCLES):
            turn = turn * spin
            power[k] += abs(np.vdot(turn, r - r.mean())) ** 2 / len(q)
    return [int(k) + 1 for k in np.argsort(-power)[:CANDIDATES]]


def _fitted(parts: list[Left], joint: int, kind: str, cycles: int) -> tuple[tuple[float, float], float]:
    """Coefficients (a, b) by least squares, and the deviation of their amplitude from one-second blocks."""
    H, g, scores = np.zeros((2, 2)), np.zeros(2), []
    kept = []
    for x in parts:
        rows = np.flatnonzero(x.rows(joint))
        C, r = x.columns(joint, kind, cycles)[rows], x.residual[rows, joint]
        H += C.T @ C
        g += C.T @ r
        kept.append((C, r))
    found = np.linalg.solve(H + 1e-12 * np.trace(H) * np.eye(2), g)
    for C, r in kept:
        each = C * (r - C @ found)[:, None]
        scores += [each[k : k + BLOCK_ROWS].sum(axis=0) for k in range(0, len(each), BLOCK_ROWS)]
    S = np.array(scores)
    inverse = np.linalg.inv(H)
    spread = inverse @ (S.T @ S) @ inverse
    amplitude = np.linalg.norm(found)
    along = found / max(float(amplitude), 1e-300)
    return (float(found[0]), float(found[1])), float(np.sqrt(along @ spread @ along))


def _saved(train: list[Left], test: list[Left], joint: int, kind: str, cycles: int) -> tuple[Array, float]:
    """Sum of squares that a harmonic of other logs takes away in each block, and that of all before."""
    coefficients = np.array(_fitted(train, joint, kind, cycles)[0])
    before, after = [], []
    for x in test:
        rows = np.flatnonzero(x.rows(joint))
        r = x.residual[rows, joint]
        e = r - x.columns(joint, kind, cycles)[rows] @ coefficients
        before += [float(np.sum(r[k : k + BLOCK_ROWS] ** 2)) for k in range(0, len(r), BLOCK_ROWS)]
        after += [float(np.sum(e[k : k + BLOCK_ROWS] ** 2)) for k in range(0, len(e), BLOCK_ROWS)]
    return np.array(before) - np.array(after), sum(before)


def _gain(saved: Array, total: float) -> tuple[float, float]:
    """Share of the sum of squares that was taken away, and its standard error."""
    if total <= 0.0:
        return 0.0, 0.0
    return float(saved.sum() / total), float(np.sqrt(len(saved)) * saved.std() / total)


def _better(more: Array) -> bool:
    """Whether blocks gain on the whole, beyond chance."""
    return bool(more.sum() > LEAST_SIGNIFICANCE * np.sqrt(len(more)) * more.std())
