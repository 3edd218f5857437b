# SPDX-License-Identifier: Apache-2.0
"""What a proof of a bound says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """A bound of a quantity over a box of joint coordinates, proved.

    Attributes:
        what: the quantity, e.g. "largest eigenvalue of M(q)".
        attained: the most extreme value found, at the configuration `q` (n,) inside the box.
        proved: no configuration of the box goes beyond this value.
        boxes: number of boxes examined.
        depends: (n,) which coordinates the quantity depends on; the others were not divided.
        seconds: how long the proof took.
    """

    what: str
    attained: float
    proved: float
    q: NDArray[np.float64]
    boxes: int
    depends: NDArray[np.bool_]
    seconds: float

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true extreme value lies: between what is attained and what is proved, the lower end first."""
        return min(self.attained, self.proved), max(self.attained, self.proved)

    @property
    def gap(self) -> float:
        """Relative distance between what is proved and what is attained."""
        return abs(self.proved - self.attained) / abs(self.attained)

    def __str__(self) -> str:
        """One sentence for a person."""
        return (
            f"{self.what}: {self.attained:.6f} attained, {self.proved:.6f} proved "
            f"(gap {self.gap:.1e}, {self.boxes} boxes, {self.seconds:.1f} s)"
        )
