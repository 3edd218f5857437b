# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments that all of motion shares: joint vectors, durations, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array


def numbers(value: ArrayLike, what: str, ndim: int, valid: str) -> Array:
    """Return a copy of `value` as finite float64 with `ndim` axes; `valid` says what was expected."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected {valid}, got {value!r}") from error
    if array.ndim != ndim:
        raise InputError(f"{what}: expected {valid}, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{what}: every entry must be finite, got {array.tolist()}")
    return array


def joint_vector(value: ArrayLike, what: str, n: int | None = None) -> Array:
    """Return one joint vector (n,)."""
    array = numbers(value, what, 1, f"one vector of shape ({'n' if n is None else n},)")
    if array.size == 0 or (n is not None and array.size != n):
        raise InputError(f"{what}: expected shape ({'n' if n is None else n},), got {array.shape}")
    return array


def optional_vector(value: ArrayLike | None, what: str, n: int) -> Array:
    """Return one joint vector (n,), zeros for None."""
    return np.zeros(n) if value is None else joint_vector(value, what, n)


def positive(value: float, what: str, unit: str = "s") -> float:
    """Return a finite number greater than zero."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected one number > 0 [{unit}], got {value!r}") from error
    if not (np.isfinite(number) and number > 0.0):
        raise InputError(f"{what}: must be finite and > 0 [{unit}], got {value!r}")
    return number


def bounds(value: ArrayLike, what: str, n: int) -> Array:
    """Return n limits > 0 from a scalar or (n,) vector; `inf` means no limit."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected one limit or {n} of them, got {value!r}") from error
    if array.shape not in ((), (n,)):
        raise InputError(f"{what}: expected one limit or shape ({n},), got shape {array.shape}")
    if not (array > 0.0).all():  # NaN fails this too
        raise InputError(f"{what}: every limit must be > 0 (inf for none), got {array.tolist()}")
    return np.broadcast_to(array, (n,)).copy()


def waypoint_rows(value: ArrayLike, least: int = 2) -> Array:
    """Return waypoints (N, n), N ≥ `least`, no two neighbours equal."""
    Q = numbers(value, "waypoints", 2, "an array of shape (N, n), one waypoint a row")
    if Q.shape[0] < least or Q.shape[1] == 0:
        raise InputError(f"waypoints: need at least {least} rows and one joint, got shape {Q.shape}")
    same = np.flatnonzero((np.diff(Q, axis=0) == 0.0).all(axis=1))
    if same.size:
        k = int(same[0])
        raise InputError(
            f"waypoints: rows {k} and {k + 1} coincide; drop one, or stop there by joining two motions with `hold`"
        )
    return Q
