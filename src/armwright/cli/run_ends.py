# SPDX-License-Identifier: Apache-2.0
"""Where ``armwright run collision`` begins and ends: cells of a map, or postures for the whole arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from armwright.cli.failures import fail
from armwright.cli.run_grid import cell_of, grid_of

if TYPE_CHECKING:
    from armwright.exploration.result import Contact
    from armwright.robot.model import Robot


def ends_of(
    arm: Robot,
    world: str,
    planner: str | None,
    contact: str | None,
    published: bool,
    grid: str | None,
    start: str | None,
    goal: str | None,
) -> dict[str, Any]:
    """Return planner, map, start and goal as `explore` takes them.

    Planned in joint space if the planner does so, or if none is named and the world was made for an errand of this arm.
    """
    from armwright.exploration.joints.explore import chosen_planner, plans_joints
    from armwright.planning.grid.marking import GOAL_000, START_000

    found = chosen_planner(planner, arm, world, None, None, grid, contact, published)
    if plans_joints(found):
        if grid is not None:
            fail(f"--grid {grid}: a planner in joint space needs no map; leave it out, or choose a planner on the map")
        return {"planner": found, "start": _numbers(start, "--start"), "goal": _numbers(goal, "--goal")}
    where = grid_of(grid or "patch")
    return {
        "planner": "hopfield-published" if published else planner,
        "where": where,
        "start": cell_of(start, "--start", where, START_000),
        "goal": cell_of(goal, "--goal", where, GOAL_000),
    }


def _numbers(text: str | None, option: str) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        fail(
            f"{option} {text}: expected a posture [rad] such as 0.5,-1.2,1.6,0,1.57,0"
            + (", or a position [m] x,y,z" if option == "--goal" else "")
        )


def place_json(contact: Contact) -> dict[str, Any]:
    """Where the whole arm was touched as far as it knows, for JSON; nothing for contacts of the tool."""
    places = contact.places
    if places is None:
        return {}
    return {"place_m": places.points[:1], "sure": places.sure, "links": places.links, "q": contact.q}
