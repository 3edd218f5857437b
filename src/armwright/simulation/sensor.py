# SPDX-License-Identifier: Apache-2.0
"""A sensor between a true quantity and what is read: its own rate, delay, bias, noise, resolution and range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class Sensor:
    """How a recorded quantity (current, force, acceleration, …) is read.

    The value of a moment `delay` ago, bias and white noise added, rounded to the resolution and cut to the range, is
    taken `rate` times a second and held until the next.

    Attributes:
        rate: samples per second; inf for one at every recorded instant.
        delay: [s].
        bias, noise: offset and standard deviation per sample; scalars or one a component.
        resolution: smallest step; 0 for none. largest: size beyond which it saturates.
    """

    rate: float = np.inf
    delay: float = 0.0
    bias: Any = 0.0
    noise: Any = 0.0
    resolution: Any = 0.0
    largest: Any = np.inf

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not self.rate > 0.0:
            raise InputError(f"sensor: rate must be > 0 samples per second, got {self.rate}")
        for name in ("delay", "noise", "resolution"):
            value = np.asarray(getattr(self, name), dtype=np.float64)
            if not np.isfinite(value).all() or (value < 0.0).any():
                raise InputError(f"sensor: {name} must be finite and ≥ 0, got {value}")
        if not np.isfinite(np.asarray(self.bias, dtype=np.float64)).all():
            raise InputError(f"sensor: bias must be finite, got {self.bias}")
        if not (np.asarray(self.largest, dtype=np.float64) > 0.0).all():
            raise InputError(f"sensor: largest must be > 0 (inf for no limit), got {self.largest}")

    def read(self, time: ArrayLike, values: ArrayLike, *, seed: int = 0) -> Array:
        """Return what is read at every instant, (T, ...).

        Args:
            time: (T,) [s], not falling.
            values: the true quantity (T, ...); between its samples it is linear.
            seed: of the noise.
        """
        t, x = np.asarray(time, dtype=np.float64), np.asarray(values, dtype=np.float64)
        if t.ndim != 1 or len(t) == 0 or x.shape[:1] != t.shape or not np.isfinite(t).all() or (np.diff(t) < 0.0).any():
            raise InputError(
                f"sensor: time must be (T,), finite and not falling, and values (T, ...); got {t.shape} and {x.shape}"
            )
        if np.isfinite(self.rate):
            sample = np.floor((t - t[0]) * self.rate + 1e-9).astype(np.int64)  # number of the sample held at t
            _, first, held = np.unique(sample, return_index=True, return_inverse=True)
            taken = t[0] + sample[first] / self.rate
        else:
            taken, held = t, np.arange(len(t))
        flat = x.reshape(len(t), -1)
        at = np.clip(taken - self.delay, t[0], t[-1])
        true = np.stack([np.interp(at, t, column) for column in flat.T], axis=-1).reshape(len(at), *x.shape[1:])
        seen = true + self.bias + np.asarray(self.noise) * np.random.default_rng(seed).standard_normal(true.shape)
        step = np.broadcast_to(np.asarray(self.resolution, dtype=np.float64), seen.shape)
        seen = np.where(step > 0.0, np.floor(seen / np.where(step > 0.0, step, 1.0) + 0.5) * step, seen)
        return np.asarray(np.clip(seen, -np.asarray(self.largest), self.largest)[held])
