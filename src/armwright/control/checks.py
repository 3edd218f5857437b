# SPDX-License-Identifier: Apache-2.0
"""Checks of what the constructors of the laws are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.types import Array


def gain(value: Any, name: str, *, size: int | None = None, positive: bool = False) -> Array:
    """Return a gain as an array: finite, ≥ 0 (> 0 if `positive`), at most two axes, the last of length `size` (or 1).

    The number of joints is not known where a law is made; `armwright.control.law.check_gains` checks it later.
    """
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected numbers, got {value!r}") from error
    if not np.isfinite(array).all() or (array < 0.0).any() or (positive and (array == 0.0).any()):
        raise InputError(f"{name}: every entry must be finite and {'>' if positive else '≥'} 0, got {array.tolist()}")
    if array.ndim > 2 or (size is not None and array.ndim and array.shape[-1] not in (1, size)):
        wanted = "(n,), (B, n)" if size is None else f"({size},), (B, {size})"
        raise InputError(f"{name}: expected a scalar, {wanted}, got {array.shape}")
    return array


def choice(value: Any, name: str, valid: tuple[str, ...]) -> str:
    """Return one of the `valid` words."""
    if value not in valid:
        raise InputError(f"{name}: expected one of {', '.join(map(repr, valid))}, got {value!r}")
    return str(value)
