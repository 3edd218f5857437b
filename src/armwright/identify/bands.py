# SPDX-License-Identifier: Apache-2.0
"""How much external torque does not count as contact, joint by joint, at rest and in motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.types import Array

REST = 1.4
"""Band of a resting joint, in Coulomb bands."""


@dataclass(frozen=True, eq=False)
class Bands:
    """What contact-free motion looks like.

    Attributes:
        sigma: (n,) rms of the observer's residual while a joint moves [N m]; NaN for joints that never did.
        largest: (n,) the largest seen [N m].
        motion: (n,) band of moving joints [N m].
        rest: band of resting joints, in Coulomb bands.
        seconds: of log that it was learned from.
    """

    sigma: Array
    largest: Array
    motion: Array
    rest: float = REST
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse bands that no detector can use."""
        motion = np.asarray(self.motion, dtype=np.float64)
        if motion.ndim != 1 or not (np.isfinite(motion) & (motion > 0.0)).all():
            raise InputError(f"bands: motion must be (n,), finite and > 0, got {motion.tolist()}")
        if not (np.isfinite(self.rest) and self.rest > 0.0):
            raise InputError(f"bands: rest must be > 0, got {self.rest}")
