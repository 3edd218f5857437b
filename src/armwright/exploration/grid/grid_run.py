# SPDX-License-Identifier: Apache-2.0
"""`GridRun`: a run on a grid of tool cells; the tool's cell is where the arm may be, and what a contact blocks.

The functions at the top put cells that were passed, cells that were felt and waypoints for the way back on the map.
Of two contacts at least one blocks one more cell, so a run ends after finitely many contacts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.exploration.exploration_result import Contact
from armwright.exploration.exploration_run import (
    EPISODE,
    SETTLE,
    ExplorationRun,
    Progress,
    measured,
    measured_state,
    reference_now,
    tool_force,
    wait,
)
from armwright.exploration.grid.held_tool import HeldTool, paced
from armwright.planning.grid.map_marking import mark

if TYPE_CHECKING:
    from armwright.exploration.explore_options import Budget, GridTask
    from armwright.exploration.grid.grid_rules import Rules
    from armwright.exploration.surroundings import Surroundings
    from armwright.motion.trajectory import Reference
    from armwright.planning.grid.grid_map import GridMap
    from armwright.planning.grid.path_plan import GridPlanner, PathPlan
    from armwright.simulation.session import Session
    from armwright.types import Array

Cell = tuple[int, ...]
PASSED = 0.2  # cells: a waypoint this near was passed; the tool was in its cell, not next to it
GRID_ROW_STRIDE = 5  # rows apart: at 50 mm/s and 500 Hz half a millimetre


def swept(run: GridRun, grid: GridMap) -> GridMap:
    """Return the map with what the tool passed in the present leg known to be free."""
    n = run.session.parts.n
    rows = run.session.log.rows(run.row)[0, ::GRID_ROW_STRIDE, 1 : 1 + n]
    return grid.sweep(run.held_tool.place(rows)) if len(rows) else grid


def pass_on(run: GridRun) -> None:
    """Put the waypoints that the arm really passed before the contact on the trail."""
    session, n = run.session, run.session.parts.n
    rows, times = run.way
    start = session.following[0]
    log = session.log.rows(run.row)[0, :, : 1 + n]
    for row, at in zip(rows, times, strict=True):
        k = int(np.searchsorted(log[:, 0], start + at))
        if (
            k >= len(log)
            or np.linalg.norm(run.held_tool.place(log[k, 1:]) - run.held_tool.place(row)) > PASSED * run.size
        ):
            break
        run.trail.append(row)


def marked(run: GridRun, known: GridMap, contact: Contact) -> GridMap:
    """Mark the contact's cell.

    If that is known already, the next leg keeps to the middle of its cells; if that does not help either, the next
    cell on the way is marked, too. So every other contact at least teaches something.
    """
    grid = mark(known, run.rules.marked_point(run, contact.desired, contact.actual)).map
    nothing_new = contact.again or not known.grid.inside(contact.cell)
    if nothing_new and run.careful:
        heading = _heading(run)
        grid = grid if heading is None else grid.with_felt(heading)
    run.careful = nothing_new and not run.careful
    return grid


def _heading(run: GridRun) -> Cell | None:
    """Return the next free cell on the planned way."""
    rows, times = run.way
    ahead = rows[times > run.session.time - run.session.following[0] - 1e-9]
    blocked = run.map.blocked()
    for row in ahead:
        cell = tuple(int(c) for c in run.map.grid.cell(run.held_tool.place(row)))
        if run.map.grid.inside(cell) and not blocked[run.map.grid.index(cell)]:
            return cell
    return None


RETRACT = 0.75  # cells along the felt force: more than half, so that it is the next cell, less than one
WATCH = 0.1  # [s] between looks at the force while stepping back: at 50 mm/s the arm moves by 5 mm
IN_PLANE = 0.3  # share of a force that lies in the plane of a 2-D map: less points out of it, by 73 degrees or more
ENDS = {"unreachable": "unreachable", "goal blocked": "unreachable", "start blocked": "boxed in"}


class GridRun(ExplorationRun[Contact]):
    """The state of a run on a grid."""

    def __init__(
        self,
        task: GridTask,
        tool: HeldTool,
        around: Surroundings,
        planner: GridPlanner,
        rules: Rules,
        session: Session,
        budget: Budget,
        progress: Progress | None,
    ) -> None:
        """Begin at rest in the start cell of an empty or known map; the task is complete."""
        super().__init__(session, budget, progress)
        assert task.where is not None
        assert task.start is not None
        assert task.goal is not None
        self.held_tool, self.around, self.planner, self.rules = tool, around, planner, rules
        self.links, self.pace, self.goal = task.contact == "links", task.pace, tuple(task.goal)
        self.reaction, self.patience, self.at_once = rules.reaction, rules.patience, rules.at_once
        grid = task.where.grid
        self.goal_point = grid.centre(self.goal)
        self.size = float(np.min(np.asarray(grid.cell_size)))
        self.maps: list[GridMap] = [task.where]
        self.plans: list[PathPlan] = []
        self.cell = tuple(task.start)
        q0 = np.array(session.state[0][: session.parts.n])
        self.q, self.qd = q0, np.zeros(len(q0))  # where the next motion begins
        self.trail: list[Array] = [q0]  # configurations passed, all of them free of contact
        self.way: tuple[Array, Array] = (np.array([q0]), np.zeros(1))  # configurations planned, and when
        self.careful = False  # keep to the middle of the cells: the last contact taught nothing new
        self.back_until = 0.0  # [s] when the present step back ends
        self.stepping_back, self.bounces = False, 0
        self.least, self.last = np.inf, np.inf  # [N] felt on the present way back: the least, and at the last look
        self.ways: list[float] = []  # [m] known distance to the goal at every contact that was slid from
        self.turned = 1.0  # −1: a surface that has to be followed is followed away from the planner's way

    @property
    def map(self) -> GridMap:
        """Return what is known now."""
        return self.maps[-1]

    def tool(self) -> Array:
        """Return the tool's position (3,) [m]."""
        return self.held_tool.place(measured(self.session))

    def set_out(self) -> float | None:
        """Plan on the map, and follow the path."""
        plan, back = self.rules.plan(self)
        if plan is None:
            self.end("boxed in", "every cell on the way back to the start has been felt to be blocked")
            return None
        self.plans[len(self.maps) - 1 :] = [plan]
        if not plan.ok:
            self._step_back(back)
            self.end(ENDS.get(plan.status, plan.status), self._no_way(plan))
            return None
        try:
            motion = self.rules.motion(self, plan, back)
        except InputError as error:
            self.end("out of reach", str(error).removeprefix("explore: "))
            return None
        self.session.follow(motion)
        self.row = self.session.log.count
        self.least = np.inf
        self.last = float(np.linalg.norm(self.contacts[-1].felt)) if self.contacts else np.inf
        return motion.duration

    def _no_way(self, plan: PathPlan) -> str:
        """Return why there is no way on, from where the tool stands now: a planner's start is the present cell."""
        here = tuple(int(c) for c in self.map.grid.cell(self.tool()))
        if plan.status == "start blocked":
            return f"the present cell {here} was felt to be blocked"
        if plan.status == "goal blocked" and here == self.goal:
            return f"the present cell {here}, which is the goal's, was felt to be blocked"
        if plan.status == "goal blocked":
            return f"the goal cell {self.goal} was felt to be blocked; the present cell is {here}"
        if plan.status == "unreachable":
            count = int((np.asarray(self.map.felt) > 0).sum())
            return f"{count} blocked cells leave no way from the present cell {here} to the goal cell {self.goal}"
        return plan.message

    def _step_back(self, back: list[Array]) -> None:
        """Leave what was touched, though there is nowhere to go."""
        if back:
            rows = np.concatenate([self.q[None], *(row[None] for row in back)])
            motion, _ = paced(self.held_tool, rows, self.pace, self.size)
            self.session.follow(motion)
            wait(self.session, motion.duration + SETTLE)

    def look(self) -> float:
        """Return the time to the next look [s]: shorter while stepping back."""
        back = self.back_until - self.session.time
        self.stepping_back = back > 0.5 * self.session.parts.period
        return min(back, WATCH) if self.stepping_back else np.inf

    def heard(self, event: str) -> Contact | None:
        """Return what was felt, by the rules."""
        return self.rules.heard(self, event)

    def leave(self) -> None:
        """Put what was passed on the trail; the rest of the way is given up."""
        pass_on(self)
        self.way = (self.way[0][:0], self.way[1][:0])

    def come_back(self, there: Reference) -> None:
        """Go on from a step back; only a slide needs the surface."""
        if self.reaction == "slide":
            super().come_back(there)
        else:
            self._stand()

    def resume(self) -> None:
        """Begin the next leg in the present cell."""
        self._stand()
        grid = self.map.grid
        cell = tuple(int(c) for c in grid.cell(self.held_tool.place(self.q)))
        if grid.inside(cell) and not self.map.blocked()[grid.index(cell)]:
            self.cell = cell

    def _stand(self) -> None:
        """Let the next motion begin where the arm was asked to be, at rest."""
        q = reference_now(self.session).q
        self.q, self.qd, self.back_until = q, np.zeros(len(q)), 0.0

    def place(self) -> Contact:
        """Return what an alarm says, with the truth added."""
        session, n = self.session, self.session.parts.n
        reference, seen = reference_now(session), measured_state(session)
        self.q, self.qd = self.rules.goes_on_from(reference, seen)
        desired, actual = self.held_tool.place(reference.q), self.held_tool.place(seen[:n])
        rows, state = session.log.rows(self.row)[0, :, : 1 + 2 * n], session.state[0]
        truth = self.around.truth(
            np.vstack([rows[:, 1 : 1 + n], state[:n]]), np.vstack([rows[:, 1 + n :], state[n : 2 * n]])
        )
        time = np.append(rows[:, 0], session.time)
        touched = np.flatnonzero(np.abs(truth.force).max(axis=1) > 0.0)
        began, link, shape = float("nan"), "", ""
        if len(touched) and time[touched[-1]] >= session.time - EPISODE:  # otherwise the arm let go of it long ago
            gaps = np.flatnonzero(np.diff(time[touched]) > EPISODE)
            began = float(time[touched[gaps[-1] + 1 if len(gaps) else 0]])
            link, shape = truth.touching[touched[-1]] or ("", "")
        spot = mark(self.map, self.rules.marked_point(self, desired, actual))
        felt = tool_force(session)
        return Contact(session.time, began, spot.cell, spot.again, desired, actual, felt, truth.force[-1], link, shape)

    def record(self, felt: Contact) -> Contact:
        """Return the contact itself."""
        self.bounces = 0
        return felt

    def loudness(self, felt: Contact) -> str:
        """Return the force on the tool, as text."""
        return f"{np.linalg.norm(felt.felt):.1f} N"

    def mark(self, felt: Contact) -> None:
        """Mark a cell, by the rules; what was passed before counts as free."""
        known = swept(self, self.map)
        self.maps.append(self.rules.mark(self, known, felt))

    def arrive(self) -> None:
        """Mark what was passed as free."""
        self.maps[-1] = swept(self, self.map)

    def back_off(self, felt: Contact) -> None:
        """Step back, by the rules."""
        self.rules.back_off(self, felt)

    def retract(self, felt: Contact) -> None:
        """Put a configuration away from the surface, along the felt force, on the trail, unless its cell is blocked."""
        size = float(np.linalg.norm(felt.felt))
        if size == 0.0:
            return
        grid = self.map.grid
        n = grid.frame[:, : grid.dim] @ (grid.frame[:, : grid.dim].T @ (felt.felt / size))
        if np.linalg.norm(n) < IN_PLANE:
            return  # pushed out of the plane of a 2-D map
        target = felt.actual + RETRACT * self.size * n / np.linalg.norm(n)
        if grid.dim == 2:
            normal = grid.frame[:, 2]
            target = target - normal * float(normal @ (target - grid.origin))
        cell = tuple(int(c) for c in grid.cell(target))
        if not grid.inside(cell) or self.map.blocked()[grid.index(cell)]:
            return
        try:
            row = self.held_tool.configurations(target[None], self.q, ["point to retract to"])[0]
        except InputError:
            return
        self.trail.append(row)

    def slide(self, felt: Contact) -> None:
        """Slide along the surface."""
        from armwright.exploration.grid.tool_slide import slide

        slide(self, felt)
