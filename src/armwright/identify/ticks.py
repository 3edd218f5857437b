# SPDX-License-Identifier: Apache-2.0
"""What was felt, tick by tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class Ticks:
    """What was felt, K ticks of 10 ms.

    Attributes:
        t: (K,) [s]. q: (K, n).
        tau_ext: (K, n) what the world does to the joints [N m].
        band: (K, n) what does not count as contact [N m].
        level: (K,) largest |tau_ext|/band.
        alarm: (K,) whether a contact is felt.
        resting: (K, n) time for which each joint has rested [s], 0 while it moves.
    """

    t: Array
    q: Array
    tau_ext: Array
    band: Array
    level: Array
    alarm: Any
    resting: Array

    def __len__(self) -> int:
        return len(self.t)
