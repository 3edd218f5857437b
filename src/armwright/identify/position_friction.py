# SPDX-License-Identifier: Apache-2.0
"""Friction that depends on where a joint stands: harmonics of its angle, as gears and their teeth make them.

    τ_p = Σ a sin(k q) + b cos(k q) [+ the same times tanh(v/`TURNING_SPEED`)]

A *ripple* is the same in both directions (cogging, eccentric gears); a *drag* turns round with the speed (Coulomb
friction that is not the same everywhere). k counts cycles a turn of the joint. It stands beside the five terms of
`gear_friction`, and has no coefficient that logs do not support (`position_selection`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.identify.filtered_log import Prepared
    from armwright.types import Array

TURNING_SPEED = 0.01
"""[rad/s] Speed at which friction has turned its sign."""
POSITION_KINDS = ("ripple", "drag")
MOST_CYCLES = 1000


class PositionTerm(NamedTuple):
    """One harmonic of one joint.

    Attributes:
        joint: its number. kind: "ripple" or "drag". cycles: k, a turn of the joint.
        sine, cosine: a and b [N m]. deviation: of their amplitude [N m].
        gain: share of the residual's sum of squares that it takes away on logs that it was not fitted to.
    """

    joint: int
    kind: str
    cycles: int
    sine: float
    cosine: float
    deviation: float
    gain: float

    @property
    def amplitude(self) -> float:
        """√(a² + b²) [N m]."""
        return float(np.hypot(self.sine, self.cosine))


@dataclass(frozen=True, eq=False)
class PositionFriction:
    """All harmonics of an arm of n joints."""

    n: int
    terms: tuple[PositionTerm, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no harmonic of a joint of this arm."""
        for term in self.terms:
            numbers = (term.sine, term.cosine, term.deviation, term.gain)
            if not (0 <= term.joint < self.n and term.kind in POSITION_KINDS and 1 <= term.cycles <= MOST_CYCLES):
                raise InputError(
                    f"position friction: a term needs a joint from 0 to {self.n - 1}, a kind of "
                    f"{' or '.join(POSITION_KINDS)} and 1 to {MOST_CYCLES} cycles, got {term}"
                )
            if not np.isfinite(numbers).all() or term.deviation < 0.0:
                raise InputError(f"position friction: numbers must be finite, the deviation ≥ 0, got {term}")

    def torque(self, q: Array, qd: Array) -> Array:
        """Return τ_p (..., n) [N m] at positions and speeds (..., n): what the motor must give besides."""
        out = np.zeros(np.shape(q))
        for term in self.terms:
            basis = harmonic(q[..., term.joint], qd[..., term.joint], term.kind, term.cycles)
            out[..., term.joint] += basis @ np.array([term.sine, term.cosine])
        return out


def harmonic(q: Array, qd: Array, kind: str, cycles: int) -> Array:
    """Return the two columns (..., 2) of a harmonic of one joint, positions and speeds (...)."""
    columns = np.stack([np.sin(cycles * q), np.cos(cycles * q)], axis=-1)
    return columns if kind == "ripple" else columns * np.tanh(qd / TURNING_SPEED)[..., None]


def filtered_torque(friction: PositionFriction, prepared: Prepared) -> Array:
    """Return τ_p (K, n) [N m] along a prepared log, through its filter, pieces one after the other."""
    smooth = prepared.filter.without_phase
    return np.concatenate([smooth(friction.torque(piece.q, piece.qd)) for piece in prepared.pieces])


def position_rows(friction: PositionFriction, joints: Sequence[str]) -> list[list[str]]:
    """Return one row per term: joint, kind, cycles a turn, amplitude with two deviations [N m], gain in %."""
    return [
        [
            joints[t.joint],
            t.kind,
            str(t.cycles),
            f"{t.amplitude:.3g} ± {2.0 * t.deviation:.2g}",
            f"{100.0 * t.gain:.1f}",
        ]
        for t in friction.terms
    ]
