"""What a run consists of: its loop, and everything about it that does not change on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.motion.reference import Reference
from armwright.simulation.session import Session

if TYPE_CHECKING:
    from armwright.planning.path_plan import GridPlanner
    from armwright.simulation.explore_field import Field
    from armwright.simulation.explore_motion import Hand

Cell = tuple[int, ...]


class Loop000(Session):
    """A session that is given a new reference at every contact; each reference counts until the next."""

    def reference_log(self, t: Any) -> Reference:
        """The references that were followed at recorded times t (m,), in order, whichever it was then."""
        parts = [np.zeros((len(t), self.parts.n)) for _ in range(3)]
        first = [int(np.searchsorted(t, start - 1e-12)) for start, _ in self._references] + [len(t)]
        for k, (start, reference) in enumerate(self._references):
            rows = slice(first[k], first[k + 1])
            if rows.start < rows.stop:
                for part, values in zip(parts, self._evaluate(start, reference, t[rows]), strict=True):
                    part[rows] = values
        return Reference(*parts)


@dataclass(frozen=True, eq=False)
class Task:
    """Everything about a run that does not change on the way; see `explore`."""

    hand: Hand
    field: Field
    links: bool
    goal: Cell
    planner: GridPlanner
    reaction: str
    pace: float
    published: bool
    duration: float
    budget: int
    tolerance: float
    progress: Callable[[float, int], Any]
