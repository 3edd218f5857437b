"""Everything about a run that does not change on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armwright.planning.path_plan import GridPlanner
    from armwright.simulation.explore_field import Field
    from armwright.simulation.explore_motion import Hand

Cell = tuple[int, ...]


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
