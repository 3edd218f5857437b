# SPDX-License-Identifier: Apache-2.0
"""7.3 of 000: are cells marked inside the objects? The answer turns on where a wall lies on the grid, so it is moved.

The report's objects are lost. The stand-in wall stands on the centres of cells; whether a marked cell then holds an
edge of it, or lies inside with all four corners, depends on that place. So the wall is moved along x over the width of
a cell, and everything else stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

from armwright.exploration.surroundings import find_world
from armwright.robot.model import Robot
from armwright.studies.doc000_collision.runs import (
    ARMS,
    HELD,
    LAYOUTS,
    SPLINE,
    RunReading,
    cylinders_of,
    depth_of_corners,
    explored,
    run,
)
from armwright.studies.study import Shown
from armwright.world.shapes import Cylinder
from armwright.world.world import World

SHIFTS = tuple(range(-14, 11, 4))
"""Of the wall along x [mm]: seven places, 26.3 mm being the width of a cell."""


def moved_wall(shift: int) -> tuple[Cylinder, ...]:
    """Return the cylinders of layout A, moved along x by so many millimetres."""
    wall = cylinders_of(find_world("A"))
    return tuple(replace(s, centre=(s.centre[0] + 1e-3 * shift, *s.centre[1:])) for s in wall)


class Marks(NamedTuple):
    """How many cells were marked, and how many of them lie wholly inside the obstacles."""

    inside: int
    cells: int


@cache
def marks(robot: Robot, shift: int, setting: RunReading = HELD) -> Marks:
    """Count the marked cells of a run along the moved wall."""
    wall = moved_wall(shift)
    world = World(wall, name=f"wall {shift:+d} mm")
    found = explored(robot, world, setting) if shift else run(robot, "A", setting)
    depth = depth_of_corners(found, wall)
    return Marks(int((depth > 0.0).sum()), len(depth))


def marks_inside(robot: Robot) -> Shown:
    """Return whether somewhere a marked cell has no edge in it, and the counts."""
    seen = {shift: marks(robot, shift) for shift in SHIFTS}
    some = [shift for shift, found in seen.items() if found.inside]
    first, there = seen[SHIFTS[0]], marks(robot, 0)
    return Shown(
        bool(some),
        f"in {len(some)} of {len(SHIFTS)} places of the wall on the grid; moved by {SHIFTS[0]} mm {first.inside} of "
        f"{first.cells} cells, as laid out {there.inside} of {there.cells}",
    )


def depth_notes() -> list[str]:
    """Return the counts at every place of the wall, and those of both layouts as they are."""
    out = []
    for name, robot in ARMS.items():
        places = ", ".join(
            f"{shift:+d}: {marks(robot(), shift).inside} of {marks(robot(), shift).cells}" for shift in SHIFTS
        )
        out.append(f"{name}, wall moved by so many mm: cells wholly inside, {places}")
    for setting in (HELD, SPLINE):
        for name, robot in ARMS.items():
            for w in LAYOUTS:
                found = run(robot(), w, setting)
                depth = depth_of_corners(found, cylinders_of(find_world(w)))
                out.append(
                    f"{setting.name}, layout {w}, {name}: {(depth > 0).sum()} of {len(depth)} cells wholly inside"
                )
    return out
