# SPDX-License-Identifier: Apache-2.0
"""Everything about a run that does not change on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.exploration.field import Field
    from armwright.exploration.motion import Hand
    from armwright.planning.grid.path_plan import GridPlanner

Cell = tuple[int, ...]


@dataclass(frozen=True)
class Published:
    """What the report of 000 leaves open about its own run, as ``explore(..., published=Published(...))``.

    Attributes:
        trigger: "edge": an alarm fires when it rises; "level": at every tick while it lasts. A re-plan at every tick
            never lets the arm leave, so the report's run cannot have been "level" at the rate of its simulation.
        table: "spline": the desired motion is the spline itself; "hold": its table of 100 samples a segment, each
            held until the next, which explains the tracking error of 1e-3 rad in free motion that the report shows.
            The torque is then held between ticks, too. The estimate jitters across the threshold: without hysteresis
            (``norm_detector(12.0, of="wrench_ext", release=1.0)``) contacts are counted many times over.
        place: "desired": a contact is marked, and the new motion begins, where the arm should be, as the report does;
            "actual": where it is, with its velocity, which the report gave up.
    """

    trigger: Literal["edge", "level"] = "edge"
    table: Literal["spline", "hold"] = "spline"
    place: Literal["desired", "actual"] = "desired"

    def __post_init__(self) -> None:
        """Check the words."""
        words = {"trigger": ("edge", "level"), "table": ("spline", "hold"), "place": ("desired", "actual")}
        for name, valid in words.items():
            if getattr(self, name) not in valid:
                raise InputError(f"published: {name} must be {' or '.join(valid)}, got {getattr(self, name)!r}")


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
    rules: Published = Published()
