# SPDX-License-Identifier: Apache-2.0
"""`FencedPlanner`: a planner in joint space that stays where an arm may be, whatever is known of obstacles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.planning.joint.joint_plan import Colliding, JointPlan, JointPlanner
    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class FencedPlanner:
    """Plans as another planner does, with what `outside` says added to what collides.

    Attributes:
        planner: the other one. outside: configurations (m, n) → (m,) of bool.
    """

    planner: JointPlanner
    outside: Callable[[Array], NDArray[np.bool_]]
    space: ClassVar[str] = "joint"

    @property
    def name(self) -> str:
        """The other planner's name."""
        return str(getattr(self.planner, "name", type(self.planner).__name__))

    def __call__(
        self, colliding: Colliding, start: ArrayLike, goal: ArrayLike, lower: ArrayLike, upper: ArrayLike
    ) -> JointPlan:
        """Plan from start to goal within the fence."""

        def forbidden(q: ArrayLike) -> NDArray[np.bool_]:
            rows = np.atleast_2d(np.asarray(q, dtype=np.float64))
            found = np.asarray(colliding(rows), dtype=np.bool_) | self.outside(rows)
            return np.asarray(found.reshape(np.shape(q)[:-1]))

        return self.planner(forbidden, start, goal, lower, upper)

    def quick(self, hasten: Callable[[JointPlanner], JointPlanner]) -> FencedPlanner:
        """Return it with less patience."""
        return replace(self, planner=hasten(self.planner))
