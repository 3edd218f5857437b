# SPDX-License-Identifier: Apache-2.0
"""Fourier motions: what `excite` proposes, with peaks that are known and not merely sampled.

    q(t) = q₀ + Σ_k a_k sin(2πk t/T) + b_k cos(2πk t/T)

begins and ends at rest (q̇ = q̈ = 0), so that it can be repeated. Between N samples of a period, a trigonometric
polynomial of degree H exceeds them by at most the factor 1/cos(πH/N) (Ehlich and Zeller): limits hold everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.motion.reference import Reference

if TYPE_CHECKING:
    from armwright.types import Array

GRID = 4000
"""Samples of a period at which peaks are looked for."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that shows an arm's parameters.

    Attributes:
        period: T [s]. centre: q₀ (n,). sine, cosine: a, b (H, n) [rad].
        deviations: (p,) expected deviation of each parameter for the stated noise, white, at 100 Hz.
        names: of these parameters.
        condition: of the scaled information matrix' square root.
        clearance: smallest distance to itself and the given shapes on the way [m]; inf if none were given.
    """

    period: float
    centre: Array
    sine: Array
    cosine: Array
    deviations: Array
    names: tuple[str, ...]
    condition: float
    clearance: float = np.inf

    def reference(self, t: Array) -> Reference:
        """Position, speed and acceleration (T, n) at times t (T,) [s]."""
        return Reference(*fourier(np.asarray(t, dtype=np.float64), self.period, self.centre, self.sine, self.cosine))

    def peaks(self) -> tuple[Array, Array, Array, Array]:
        """Lowest and highest position, largest speed and acceleration (n,): bounds at all times, not only samples."""
        t: Array = np.asarray(np.arange(GRID) * (self.period / GRID), dtype=np.float64)
        q, qd, qdd = self.reference(t)
        beyond = 1.0 / np.cos(np.pi * len(self.sine) / GRID)
        swing = q - self.centre
        low = self.centre - beyond * np.abs(np.minimum(swing, 0.0)).max(axis=0) - _slack(swing, beyond)
        high = self.centre + beyond * np.maximum(swing, 0.0).max(axis=0) + _slack(swing, beyond)
        return low, high, beyond * np.abs(qd).max(axis=0), beyond * np.abs(qdd).max(axis=0)


def _slack(swing: Array, beyond: float) -> Array:
    """The bound is on |q − q₀|; one side may gain as much as the other has."""
    return np.asarray((beyond - 1.0) * np.abs(swing).max(axis=0))


def fourier(t: Array, period: float, centre: Array, sine: Array, cosine: Array) -> tuple[Array, Array, Array]:
    """Position, speed, acceleration (..., T, n) of coefficients (..., H, n) and centres (..., n)."""
    w = 2.0 * np.pi / period * np.arange(1, sine.shape[-2] + 1)
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = np.expand_dims(centre, -2) + s @ sine + c @ cosine
    return q, (w * c) @ sine - (w * s) @ cosine, -(w**2 * s) @ sine - (w**2 * c) @ cosine


def at_rest(harmonics: int) -> tuple[Array, Array]:
    """Bases (H, H − 1) of sine and cosine coefficients whose motion begins at rest: Σ k a_k = 0 and Σ k² b_k = 0."""
    if harmonics < 2:
        raise InputError(f"excite: at least 2 harmonics are needed to begin at rest, got {harmonics}")
    k = np.arange(1.0, harmonics + 1)
    bases = []
    for row in (k, k**2):
        _, _, Vt = np.linalg.svd(row[None])
        bases.append(Vt[1:].T)
    return bases[0], bases[1]
