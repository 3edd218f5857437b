# SPDX-License-Identifier: Apache-2.0
"""The change of an estimate of external torque since just before a contact, and what that change is worth.

A payload that nobody declared, friction, or a wrong mass turn up in the estimate as torques that hardly change from one
moment to the next. Isolated as they are, they look like a push at some lever. A contact is a change, so what is
isolated is the estimate less its mean over a window that ends some time before the alarm, when nothing touched yet:

    d = r(t) − mean r(t_alarm − gap − window … t_alarm − gap)

Its covariance is learned where nothing touches: the second moment of the same differences in a rehearsal. That holds
the noise of r(t), that of the mean, their correlation, and all errors of the model that change in so short a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array

WINDOW = 0.1  # [s] long beside the time in which an observer forgets
GAP = 0.05  # [s] before an alarm in which something may have touched already


class Episode(NamedTuple):
    """Estimates without contact: before a moment (T, n), which could have been an alarm, and after it (m, n)."""

    before: Array
    after: Array


@names_culprit
def level_before(tau_ext: ArrayLike, period: float, *, window: float = WINDOW, gap: float = GAP) -> Array | None:
    """Return the mean (n,) of an estimate over a window that ends `gap` before its end; None if it is too short.

    Args:
        tau_ext: (T, n) until the alarm [N m].
        period: between samples [s].
        window: length of it [s].
        gap: [s].
    """
    rows = np.asarray(tau_ext, dtype=np.float64)
    if rows.ndim != 2 or not (period > 0.0 and window > 0.0 and gap >= 0.0):
        raise InputError(
            f"level_before: need tau_ext (T, n), period > 0, window > 0 and gap ≥ 0; got shape {rows.shape}, "
            f"{period}, {window} and {gap}"
        )
    count, end = max(1, round(window / period)), len(rows) - round(gap / period)
    return None if end < count else np.asarray(rows[end - count : end].mean(axis=0))


@names_culprit
def change_covariance(episodes: Iterable[Episode], period: float, *, window: float = WINDOW, gap: float = GAP) -> Array:
    """Return the covariance (n, n) [(N m)²] of changes since `level_before`, learned from k > n + 1 episodes.

    A second moment of few episodes is as often too small as too large, and too small does more harm. It is widened by
    (k + 1)/(k − n − 1), the variance of the next change given k of them, if they are normal with unknown covariance.

    Args:
        episodes: without contact.
        period: between samples of what was before [s].
        window: see `level_before` [s].
        gap: [s].
    """
    moments = []
    for before, after in episodes:
        level = level_before(before, period, window=window, gap=gap)
        if level is None:
            raise InputError(f"change_covariance: an episode's {len(before)} samples are too few for window and gap")
        d = np.asarray(after, dtype=np.float64) - level
        moments.append(np.einsum("ti,tj->ij", d, d) / len(d))
    k, n = len(moments), len(moments[0]) if moments else 0
    if k < n + 2 or not k:
        raise InputError(f"change_covariance: needs at least {n + 2} episodes, got {k}")
    return np.asarray(np.mean(moments, axis=0) * (k + 1) / (k - n - 1))
