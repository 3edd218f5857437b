# SPDX-License-Identifier: Apache-2.0
"""The report's own rules of a run (000), where they differ from the library's, and a run by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armwright.errors import InputError
from armwright.exploration.explore_options import Budget, GridTask
from armwright.exploration.grid.explore_grid import explore_grid
from armwright.exploration.grid.grid_rules import Rules
from armwright.exploration.ride_steps import advance
from armwright.exploration.touch_sensing import arm_of
from armwright.kinematics import jacobian
from armwright.planning.grid.map_marking import mark
from armwright.studies.doc000_collision.hopfield_published import HopfieldPublished
from armwright.studies.doc000_collision.setting import (
    GOAL_CELL,
    START_CELL,
    R_t,
    arm,
    generated,
    held_table,
    patch,
    q_0,
    reduced,
    step_back,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from armwright.exploration.exploration_result import Contact, Exploration
    from armwright.exploration.grid.grid_run import GridRun
    from armwright.exploration.ride import ArmMeasured
    from armwright.motion import Trajectory
    from armwright.motion.trajectory import Reference
    from armwright.planning.grid.grid_map import GridMap
    from armwright.planning.grid.path_plan import GridPlanner, PathPlan
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced
    from armwright.world.world import World

WORDS = {"trigger": ("edge", "level"), "table": ("spline", "hold"), "place": ("desired", "actual")}


class Published(Rules):
    """The rules of 000.

    The desired cell is marked; its back-off rule and clamp; its planner; the state of the reference is taken over at a
    trigger; no test whether start or goal are free. What the report leaves open:

    Attributes:
        trigger: "edge": an alarm fires when it rises; "level": at every tick while it lasts. A re-plan at every tick
            never lets the arm leave, so the report's run cannot have been "level" at the rate of its simulation.
        table: "spline": the desired motion is the spline itself; "hold": its table of 100 samples per segment, each
            held until the next, which explains the tracking error of 1e-3 rad in free motion that the report shows.
            The torque is then held between ticks, too. The estimate jitters across the threshold: without hysteresis
            (``norm_detector(12.0, of="wrench_ext", release=1.0)``) contacts are counted many times over.
        place: "desired": a contact is marked, and the new motion begins, where the arm should be, as the report does;
            "actual": where it is, with its velocity, which the report gave up.
    """

    free_ends = False
    doubts = False
    patience = np.inf
    at_once = -np.inf

    def __init__(
        self,
        trigger: Literal["edge", "level"] = "edge",
        table: Literal["spline", "hold"] = "spline",
        place: Literal["desired", "actual"] = "desired",
        *,
        reaction: Literal["back off", "stop"] = "back off",
    ) -> None:
        """Check the words."""
        super().__init__(reaction)
        for name, value in (("trigger", trigger), ("table", table), ("place", place)):
            if value not in WORDS[name]:
                raise InputError(f"published: {name} must be {' or '.join(WORDS[name])}, got {value!r}")
        if reaction not in ("back off", "stop"):
            raise InputError(f"published: the report knows no reaction {reaction!r}; valid: back off, stop")
        self.trigger, self.table, self.place, self.held = trigger, table, place, table == "hold"

    def planner(self) -> GridPlanner:
        """Return the report's network."""
        return HopfieldPublished()

    def settings(self) -> dict[str, Any]:
        """Return what the settings of a run say about its rules."""
        said = {"published": True, "trigger": self.trigger, "table": self.table, "place": self.place}
        return super().settings() | said

    def plan(self, run: GridRun) -> tuple[PathPlan | None, list[Array]]:
        """Plan from the cell that the step back led to."""
        return run.planner(run.map, run.cell, run.goal), []

    def motion(self, run: GridRun, plan: PathPlan, back: list[Array]) -> Trajectory:
        """Return splines from the desired state through the centres of the path's cells (000 C.2.2)."""
        cells, grid = list(plan.path), run.map.grid
        if np.linalg.norm(grid.centre(cells[0]) - run.held_tool.place(run.q)) < 1e-6:
            cells = cells[1:]  # the arm is there already: a waypoint twice has no spline
        points = np.array([grid.centre(cell) for cell in cells]).reshape(-1, 3)
        names = [f"cell {cell}" for cell in cells]
        rows = np.concatenate([run.q[None], run.held_tool.configurations(points, run.q, names)])
        motion = generated(rows if cells else np.array([run.q, run.q + 1e-9]), run.qd, run.pace)
        return held_table(motion, run.ride.period) if self.table == "hold" else motion

    def heard(self, run: GridRun, event: str) -> Contact | None:
        """Return every alarm; with a level trigger also one that is still on a tick after the arm set out again."""
        if event == "set out" and self.trigger == "level" and run.contacts and run.ride.alarmed:
            advance(run.ride, run.ride.period)
            return run.place() if run.ride.alarmed else None
        return run.place() if event == "alarm" else None

    def goes_on_from(self, reference: Reference, seen: ArmMeasured) -> tuple[Array, Array]:
        """Return where the arm should be, or where it is."""
        return (reference.q, reference.qd) if self.place == "desired" else (seen.q, seen.qd)

    def marked_point(self, run: GridRun, desired: Array, actual: Array) -> Array:
        """Return where the tool should be, or where it is."""
        return desired if self.place == "desired" or run.links else actual

    def mark(self, run: GridRun, known: GridMap, contact: Contact) -> GridMap:
        """Mark the cell of that point."""
        return mark(known, contact.desired if self.place == "desired" else contact.actual).map

    def back_off(self, run: GridRun, contact: Contact) -> None:
        """Step one cell back against the desired velocity."""
        velocity = jacobian(run.held_tool.robot, run.q)[:3] @ run.qd
        run.cell = step_back(contact.cell, velocity)
        if not run.map.grid.inside(run.cell):
            run.end("boxed in", f"the step back leads out of the grid, to {run.cell}")


def task_of(robot: Robot) -> GridTask:
    """Return the report's task: its patch, start posture and tool orientation; FK and IK are always of its true arm."""
    other = arm() if robot.name == reduced().name else None
    return GridTask(START_CELL, GOAL_CELL, patch(), q_0, R_t, kinematics=other)


def explore_published(
    robot: Robot | str,
    world: World | str | Path | Callable[[Traced], Traced],
    rules: Published | None = None,
    *,
    budget: Budget | None = None,
    **options: Any,
) -> Exploration:
    """Explore by the report's rules; options of `explore_grid`."""
    chosen = arm_of(robot)
    return explore_grid(chosen, world, task_of(chosen), reaction=rules or Published(), budget=budget, **options)
