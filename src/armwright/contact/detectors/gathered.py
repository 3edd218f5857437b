# SPDX-License-Identifier: Apache-2.0
"""What runs without contact leave behind for thresholds: all of them, or the worst of each motion in little memory.

Runs that share a reference differ in nothing that thresholds depend on, so the largest residual of all of them at every
tick shapes the envelope and tells its margin. Runs that come in batches are merged as they come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.types import Array


class Runs(NamedTuple):
    """Runs of one motion.

    Attributes:
        size: |tau_ext| (B, T, n); the largest of all runs (1, T, n) where they were merged.
        features: what thresholds may grow with, (k, B or 1, T, n), such as |q̇_ref|.
        mean, square: (n,) of |tau_ext| and of its square over all runs.
        number: of runs.
    """

    size: Array
    features: Array
    mean: Array
    square: Array
    number: int


def runs_of(size: Array, features: Array) -> Runs:
    """Return runs |tau_ext| (B, T, n) with features (k, B or 1, T, n)."""
    return Runs(size, features, size.mean(axis=(0, 1)), (size**2).mean(axis=(0, 1)), len(size))


def merged(before: Runs | None, runs: Runs) -> Runs:
    """Return what is left of both batches of runs of one motion, in the memory of one run."""
    if runs.features.shape[1] != 1:
        raise InputError("learn thresholds: only runs that share their reference can be merged")
    worst = runs.size.max(axis=0)[None]
    if before is None:
        return runs._replace(size=worst)
    number = before.number + runs.number
    share = runs.number / number
    mean = before.mean + share * (runs.mean - before.mean)
    square = before.square + share * (runs.square - before.square)
    return Runs(np.maximum(before.size, worst), runs.features, mean, square, number)


def appended(before: Runs | None, runs: Runs) -> Runs:
    """Return all runs of both batches of one motion."""
    if before is None:
        return runs
    return runs_of(np.concatenate([before.size, runs.size]), runs.features)
