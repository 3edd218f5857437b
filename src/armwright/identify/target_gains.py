# SPDX-License-Identifier: Apache-2.0
"""Drive gains from a controller's own targets, τ_t = k i_t + b: slope and offset, at rest or in motion.

At rest a controller holds gravity alone, and its targets lie on the line, if the arm has stood in three poses or more
that ask for different currents. One pose tells τ/i, which is k only where b is 0: nobody can know that. Otherwise the
targets of moving joints are regressed, with the friction that the controller may feed forward:

    i_t = τ_t/k + viscous v + degressive v|v| + coulomb h + offset

The noisy variable is on the left, and the scatter of whole seconds gives the deviation (the sandwich of
`least_squares`). An offset in motion may be friction that differs between the directions: b is taken from rest only.

What is found is what the controller believes. How far the drive itself is from that, a known load tells (`Free`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.identify import gear_friction as friction
from armwright.identify.current_log import Log
from armwright.identify.filtered_log import even_samples
from armwright.identify.gram_matrices import MOVING_SPEED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array

TARGETS_STILL_SPEED = 1e-4
"""[rad/s] All joints slower, for a while: the controller's target holds gravity only."""
STILL_MARGIN_ROWS = 10
"""Rows before and after that must be still, too: targets move before the arm does."""
CURRENT_DIGIT = 1e-9
"""[A] Last digit of currents that were not rounded."""
LEAST_POSES = 3
"""Poses at rest from which a slope and an offset can be told, and whether they fit a line."""
LEAST_CURRENT_SPAN = 20.0
"""Digits of the current that the poses of a joint must span, and be apart to count as two."""
SURE_GAIN = 0.01
"""Standard error of a slope at rest, relative, up to which a gain counts as seen."""
SURE_IN_MOTION = 0.02
"""The same in motion: half of what drives differ by from their controller's gains."""
MOTION_FLOOR = 0.0025
"""Standard deviation, relative, below which no slope in motion is believed: friction that the columns do not have."""
LEAST_MOVING_SECONDS = 10
"""Seconds in which a joint moves that a slope in motion needs."""
DRIVE_SCATTER = 0.04
"""Standard deviation, relative, of drives from their controller's gains: a UR10e's, weighed with a known load, are 1.7
to 6 % off."""
SLOPES_AGREE = 3.0
"""Deviations by which slopes at rest and in motion may differ before it is remarked."""


@dataclass(frozen=True, eq=False)
class TargetGains:
    """Result of `gains_from_targets`.

    Attributes:
        values: (n,) [N m/A]; where undetermined, an assumed one to compute with.
        deviation: (n,) of the controller's own ratio [N m/A]; ∞ where undetermined.
        offset: (n,) b [N m], from rest; NaN where unknown.
        how: for each joint "rest", "motion", or "" where the targets do not determine the gain.
        remarks: sentences.
    """

    values: Array
    deviation: Array
    offset: Array
    how: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def seen(self) -> tuple[bool, ...]:
        """Return for each joint whether its gain was seen."""
        return tuple(word != "" for word in self.how)


def gains_from_targets(logs: Sequence[Log], assumed: float | None = None) -> TargetGains:
    """Read the controller's own drive gains, with their offset, from its targets.

    Args:
        logs: those with target currents and target torques are used.
        assumed: gain where undetermined; by default that of the nearest joint that is seen.

    Raises:
        InputError: no log has targets, or they determine no joint's gain.
    """
    with_targets = [log for log in logs if log.target_current is not None and log.target_torque is not None]
    if not with_targets:
        raise InputError("gains from targets: no log has target currents and target torques; use Known or Free gains")
    n = with_targets[0].n
    rest = [_at_rest(with_targets, j) for j in range(n)]
    motion = _in_motion(with_targets)
    values, deviation, offset = np.zeros(n), np.full(n, np.inf), np.full(n, np.nan)
    how, remarks = [""] * n, []
    for j, (still, moving) in enumerate(zip(rest, motion, strict=True)):
        for word, (k, sd), sure in (("motion", moving, SURE_IN_MOTION), ("rest", still[:2], SURE_GAIN)):
            if k > 0.0 and sd < sure * k:
                values[j], deviation[j], how[j] = k, sd, word
        if how[j] == "rest":
            offset[j] = still[2]
            apart = abs(moving[0] - still[0])
            if np.isfinite(moving[1]) and apart > SLOPES_AGREE * np.hypot(still[1], moving[1]):
                remarks.append(
                    f"joint {j + 1}: the controller's targets give {still[0]:.4g} N m/A at rest and {moving[0]:.4g} in "
                    "motion; that at rest is taken"
                )
    seen = np.flatnonzero([word != "" for word in how])
    if not len(seen):
        raise InputError(
            f"gains from targets: they determine no joint's gain: the arm stands still in "
            f"fewer than {LEAST_POSES} poses, and its motion does not tell torque from friction; use Known or Free "
            "gains"
        )
    for j in range(n):
        if not how[j]:
            values[j] = assumed if assumed is not None else values[seen[np.argmin(np.abs(seen - j))]]
    return TargetGains(values, deviation, offset, tuple(how), tuple(remarks))


def _still(log: Log) -> Array:
    """Mask of rows that stand still together with the rows around them."""
    moved = (np.abs(log.qd) >= TARGETS_STILL_SPEED).any(axis=1).astype(float)
    return np.asarray(np.convolve(moved, np.ones(2 * STILL_MARGIN_ROWS + 1), mode="same") < 0.5)


def _at_rest(logs: Sequence[Log], j: int) -> tuple[float, float, float]:
    """Slope of torque on current over the poses of all logs, its standard error, and the offset; (0, ∞, NaN) without.

    Targets are written with few digits, and an arm that stands still repeats them: a pose counts once, however many
    rows it has. A log with finer digits weighs more.
    """
    rows = []  # current, torque, digit of each pose
    for log in logs:
        still = _still(log)
        current, torque = (np.asarray(x)[:, j] for x in (log.target_current, log.target_torque))
        edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(int)))
        digit = _digit(current)
        rows += [
            (float(current[a:b].mean()), float(torque[a:b].mean()), digit)
            for a, b in zip(edges[::2], edges[1::2], strict=True)
        ]
    if len(rows) < LEAST_POSES:
        return 0.0, np.inf, np.nan
    i, tau, digit = np.array(rows).T
    apart = LEAST_CURRENT_SPAN * float(digit.max())
    if _levels(i, apart) < LEAST_POSES:
        return 0.0, np.inf, np.nan
    w = 1.0 / digit**2
    mean_i, mean_tau = float(np.average(i, weights=w)), float(np.average(tau, weights=w))
    level = float(np.sum(w * (i - mean_i) ** 2))
    slope = float(np.sum(w * (i - mean_i) * (tau - mean_tau))) / level
    left = tau - mean_tau - slope * (i - mean_i)
    # rounding of the current, and what is not on the line
    spread = left**2 * len(i) / (len(i) - 2) + slope**2 * digit**2 / 12.0
    error = float(np.sqrt(np.sum((w * (i - mean_i)) ** 2 * spread))) / level
    return slope, error, mean_tau - slope * mean_i


def _levels(values: Array, apart: float) -> int:
    """How many of the values are at least so far apart from one another."""
    count, last = 0, -np.inf
    for value in np.sort(values).tolist():
        if value - last >= apart:
            count, last = count + 1, value
    return count


def _digit(values: Array) -> float:
    """Last digit of a column: its decimals, or the smallest step between its numbers if that is finer."""
    steps = np.diff(np.unique(values))
    found = steps[steps > CURRENT_DIGIT]
    digit = float(found.min()) if len(found) else CURRENT_DIGIT
    for decimals in range(9):
        if np.abs(values - np.round(values, decimals)).max() <= CURRENT_DIGIT:
            return min(digit, 10.0**-decimals)
    return digit


def _in_motion(logs: Sequence[Log]) -> list[tuple[float, float]]:
    """Gain of every joint and its standard error, from moving rows; (0, ∞) where a joint moves too little."""
    n = logs[0].n
    gram, cross = np.zeros((n, 5, 5)), np.zeros((n, 5))
    parts: list[tuple[Array, Array, NDArray[np.bool_], Array]] = []
    sums: list[list[Array]] = [[] for _ in range(n)]
    for log in logs:
        try:
            prepared = even_samples(log)
        except InputError:
            continue  # too short to filter; `fit` says so, where it matters
        dt, smooth = 1.0 / prepared.filter.rate, prepared.filter.without_phase
        for piece in prepared.pieces:
            v, h = piece.qd, friction.hysteresis(piece.qd, dt)
            signals = (np.asarray(piece.target_torque), v, v * np.abs(v), h)
            A = np.stack([*(smooth(x) for x in signals), np.ones_like(v)], axis=-1)  # (K, n, 5)
            parts.append(
                (
                    A,
                    smooth(np.asarray(piece.target_current)),
                    np.abs(v) > MOVING_SPEED,
                    np.floor(np.arange(len(v)) * dt),
                )
            )
    for A, i, moving, _ in parts:
        for j in range(n):
            C = A[moving[:, j], j]
            gram[j] += C.T @ C
            cross[j] += C.T @ i[moving[:, j], j]
    inverse = [_inverse(G) for G in gram]
    x = np.array([inverse[j] @ cross[j] for j in range(n)])
    for A, i, moving, second in parts:
        for j in range(n):
            each = A[:, j] * ((i[:, j] - A[:, j] @ x[j]) * moving[:, j])[:, None]
            edges = np.flatnonzero(np.diff(second, prepend=-1.0))
            total = np.add.reduceat(each, edges, axis=0)
            sums[j].append(total[np.add.reduceat(moving[:, j], edges) > 0])
    return [_slope(x[j], inverse[j], np.concatenate(sums[j])) if sums[j] else (0.0, np.inf) for j in range(n)]


def _inverse(gram: Array) -> Array:
    scale = 1.0 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    return np.asarray(scale[:, None] * np.linalg.pinv(gram * np.outer(scale, scale), rcond=1e-12) * scale)


def _slope(x: Array, inverse: Array, sums: Array) -> tuple[float, float]:
    """Gain and standard error from coefficients (5,), inverse normal matrix and sums (seconds, 5) of the residual."""
    count = len(sums)
    if count < LEAST_MOVING_SECONDS or not x[0] > 0.0:
        return 0.0, np.inf
    spread = float((inverse @ (sums.T @ sums) @ inverse)[0, 0]) * count / (count - len(x))
    gain = 1.0 / float(x[0])
    return gain, gain * float(np.hypot(np.sqrt(max(spread, 0.0)) * gain, MOTION_FLOOR))
