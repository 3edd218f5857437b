# SPDX-License-Identifier: Apache-2.0
"""An arm among what it has felt: spheres at felt places, and configurations that are known to touch something."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.planning.joint.cspace import WholeArm

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.graph.least import Least
    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class KnownArm(WholeArm):
    """A `WholeArm` that also keeps away from configurations in which it touched something.

    A configuration q is too near to a blocked one p if no point of the arm can have moved farther than `reach` between
    them: Σ_j levers_j |q_j − p_j| ≤ reach. That distance changes no faster than any point of the arm can move, so
    proofs that a motion is free hold for these too.

    Attributes:
        configurations: (k, n). reach: (k,) [m].
    """

    configurations: Array = field(default_factory=lambda: np.zeros((0, 0)))
    reach: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Check the shapes."""
        super().__post_init__()
        k = len(self.configurations)
        if k and (self.configurations.shape != (k, self.robot.n) or np.shape(self.reach) != (k,)):
            raise InputError(
                f"configurations and reach: expected shapes ({k}, {self.robot.n}) and ({k},), "
                f"got {self.configurations.shape} and {np.shape(self.reach)}"
            )

    @cached_property
    def gaps(self) -> Least:
        """As of any arm, and how far q is from the configurations."""
        configurations = self.configurations.reshape(-1, self.robot.n)
        rows = np.hstack([configurations * self.levers, np.asarray(self.reach).reshape(-1, 1)])
        return self._gaps(tuple(self.levers.tolist()), rows)

    def wider(self, by: float) -> KnownArm:
        """Return the same with everything kept away from by so much more [m]."""
        return replace(self, margin=self.margin + by, reach=np.asarray(self.reach) + by)

    def away(self, q: ArrayLike) -> Array:
        """Return the bound (..., k) [m] on how far any point of the arm moves from q (..., n) to the configurations."""
        Q = np.asarray(q, dtype=np.float64)
        return np.asarray(np.abs(Q[..., None, :] - self.configurations) @ self.levers)
