# SPDX-License-Identifier: Apache-2.0
"""Where thresholds were learned: the box of joint positions and speeds; a monitor says when a motion leaves it.

Thresholds are envelopes of what was seen. Beyond the box they are extrapolated, and their rate of false alarms is not
vouched for: 10 % of mass error gave most of its false alarms there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.detectors.joints import worst
from armwright.contact.monitor import Monitor
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.motion.reference import Reference
    from armwright.types import Array, Traced

SLACK = 0.02
"""Of half the box's size: what is no farther out counts as inside. Envelopes change by as little over 2 %."""
STILL = 1e-3
"""[rad, rad/s] that a joint which was held may tremble: the slack of a box without size."""


@dataclass(frozen=True, eq=False)
class Rehearsed:
    """Desired positions and speeds that occurred while thresholds were learned.

    Attributes:
        lower, upper: (n,) [rad or m].
        speed: (n,) largest |q̇_ref| [rad/s or m/s].
    """

    lower: Array
    upper: Array
    speed: Array

    def outside(self, ref: Reference) -> Array:
        """How far a desired motion (..., n) lies outside, in half sizes of the box (...,); ≤ 0 inside."""
        n = len(self.lower)
        q, qd = (np.asarray(part, dtype=np.float64) for part in (ref.q, ref.qd))
        if q.shape[-1:] != (n,) or qd.shape != q.shape:
            raise InputError(f"rehearsed: the motion must be (..., {n}), got {q.shape} and {qd.shape}")
        out = _outside(q.reshape(-1, n).T, qd.reshape(-1, n).T, *(x[:, None] for x in self._box))
        return np.asarray(out).reshape(q.shape[:-1])

    def warning(self, ref: Reference) -> str | None:
        """One sentence that names the joint that leaves the box the farthest; None where all of `ref` was rehearsed."""
        if np.max(self.outside(ref)) <= 0.0:
            return None
        q, qd = (np.reshape(part, (-1, len(self.lower))) for part in (ref.q, ref.qd))
        beyond = np.maximum(self.lower - q.min(axis=0), q.max(axis=0) - self.upper)
        j = int(np.argmax(np.maximum(beyond, np.abs(qd).max(axis=0) - self.speed)))
        return (
            f"thresholds were not rehearsed here: joint {j + 1} moves within [{q[:, j].min():.3g}, {q[:, j].max():.3g}]"
            f" at up to {np.abs(qd[:, j]).max():.3g}/s, learned was [{self.lower[j]:.3g}, {self.upper[j]:.3g}] at up "
            f"to {self.speed[j]:.3g}/s; their rate of false alarms does not hold"
        )

    def monitor(self) -> Monitor:
        """Monitor with the output ``outside``: > 0 while the desired motion lies outside, in half sizes of the box."""
        gains = dict(zip(("lower", "upper", "speed"), self._box, strict=True))
        return Monitor("rehearsed", _watch, gains, {}, ("outside",), Rehearsed.__doc__ or "")

    @property
    def _box(self) -> tuple[Array, Array, Array]:
        return self.lower, self.upper, self.speed


def _outside(q: Traced, qd: Traced, lower: Traced, upper: Traced, speed: Traced) -> Traced:
    half = 0.5 * (upper - lower) + STILL
    place = np.abs(q - 0.5 * (upper + lower)) / half
    return worst(np.maximum(place, np.abs(qd) / (speed + STILL))) - (1.0 + SLACK)


def _watch(q_ref: Traced, qd_ref: Traced, lower: Traced, upper: Traced, speed: Traced) -> dict[str, Traced]:
    return {"outside": _outside(q_ref, qd_ref, lower, upper, speed)}


def rehearsed(refs: Sequence[Reference]) -> Rehearsed:
    """The box around desired motions, each part (..., n)."""
    if not refs:
        raise InputError("rehearsed: no motions given")
    n = np.shape(refs[0].q)[-1]
    q = np.concatenate([np.reshape(ref.q, (-1, n)) for ref in refs])
    qd = np.concatenate([np.reshape(ref.qd, (-1, n)) for ref in refs])
    return Rehearsed(q.min(axis=0), q.max(axis=0), np.abs(qd).max(axis=0))
