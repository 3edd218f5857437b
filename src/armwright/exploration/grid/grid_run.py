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
from armwright.exploration.exploration_run import ExplorationRun, Progress
from armwright.exploration.grid.held_tool import paced
from armwright.exploration.ride import Passed
from armwright.exploration.ride_steps import SETTLE, followed, wait
from armwright.planning.grid.map_marking import mark

if TYPE_CHECKING:
    from armwright.exploration.grid.grid_job import GridJob
    from armwright.exploration.ride import Ride
    from armwright.motion.trajectory import Reference
    from armwright.planning.grid.grid_map import GridMap
    from armwright.planning.grid.path_plan import PathPlan
    from armwright.types import Array

Cell = tuple[int, ...]
PASSED = 0.2  # cells: a waypoint this near was passed; the tool was in its cell, not next to it
TRAIL_STEP = 0.5  # cells between measured configurations of a trail
GRID_ROW_STRIDE = 5  # rows apart: at 50 mm/s and 500 Hz half a millimetre


def swept(run: GridRun, grid: GridMap, until: float) -> GridMap:
    """Return the map with what the tool passed in the present leg, until an instant [s], known to be free."""
    rows = run.trusted(until).q[::GRID_ROW_STRIDE]
    return grid.sweep(run.held_tool.place(rows)) if len(rows) else grid


def pass_on(run: GridRun, until: float) -> None:
    """Put the waypoints that the arm really passed before an instant [s] on the trail.

    A ride with a reflex of its own may rest on its way, so that waypoints come later than planned: what was measured is
    put there, as far as it is not the way back.
    """
    rows, times = run.way
    passed = run.trusted(until)
    if not run.ride.goes_on:
        places = run.held_tool.place(passed.q)
        last = run.held_tool.place(run.trail[-1])
        for k in np.flatnonzero(passed.t > run.back_until).tolist():
            if np.linalg.norm(places[k] - last) >= TRAIL_STEP * run.size:
                run.trail.append(passed.q[k])
                last = places[k]
        return
    for row, at in zip(rows, times, strict=True):
        k = int(np.searchsorted(passed.t, run.set_out_at + at))
        if (
            k >= len(passed.t)
            or np.linalg.norm(run.held_tool.place(passed.q[k]) - run.held_tool.place(row)) > PASSED * run.size
        ):
            break
        run.trail.append(row)


def stand_back(run: GridRun, contact: Contact) -> None:
    """Let the trail end where a reflex has left the arm: what lies nearer to the contact is no way back."""
    away = np.linalg.norm(run.held_tool.place(run.ride.reference().q) - contact.actual)
    while len(run.trail) > 1 and np.linalg.norm(run.held_tool.place(run.trail[-1]) - contact.actual) < away:
        run.trail.pop()


def marked(run: GridRun, known: GridMap, contact: Contact) -> GridMap:
    """Mark the contact's cell.

    If that is known already, the next leg keeps to the middle of its cells; if that does not help either, the next
    cell on the way is marked, too. So every other contact at least teaches something.
    """
    grid = mark(known, run.rules.marked_point(run, contact.desired, contact.actual)).map
    nothing_new = contact.again or not known.grid.inside(contact.cell)
    if nothing_new and run.careful:
        heading = _heading(run, contact.time)
        grid = grid if heading is None else grid.with_felt(heading)
    run.careful = nothing_new and not run.careful
    return grid


def _heading(run: GridRun, time: float) -> Cell | None:
    """Return the next free cell on the planned way from an instant [s] on."""
    rows, times = run.way
    ahead = rows[times > time - run.set_out_at - 1e-9]
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

    def __init__(self, job: GridJob, ride: Ride, progress: Progress | None = None) -> None:
        """Begin at rest in the start cell of an empty or known map."""
        super().__init__(ride, job.budget, progress)
        task, tool, planner, rules = job.task, job.tool, job.planner, job.rules
        assert task.where is not None
        assert task.start is not None
        assert task.goal is not None
        self.held_tool, self.planner, self.rules = tool, planner, rules
        self.links, self.pace, self.goal = task.contact == "links", task.pace, tuple(task.goal)
        self.reaction, self.patience, self.at_once = rules.reaction, rules.patience, rules.at_once
        grid = task.where.grid
        self.goal_point = grid.centre(self.goal)
        self.size = float(np.min(np.asarray(grid.cell_size)))
        self.maps: list[GridMap] = [task.where]
        self.plans: list[PathPlan] = []
        self.cell = tuple(task.start)
        q0 = ride.reference().q
        self.q, self.qd = q0, np.zeros(len(q0))  # where the next motion begins
        self.trail: list[Array] = [q0]  # configurations passed, all of them free of contact
        self.way: tuple[Array, Array] = (np.array([q0]), np.zeros(1))  # configurations planned, and when
        self.careful = False  # keep to the middle of the cells: the last contact taught nothing new
        self.back_seconds, self.back_until = 0.0, -np.inf  # [s] of the present step back, and when it ends
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
        return self.held_tool.place(self.ride.measured().q)

    def force(self) -> float:
        """Return the size of the force that the tool feels [N]."""
        return float(np.linalg.norm(self.ride.felt().wrench[:3]))

    def trusted(self, until: float) -> Passed:
        """Return what was passed in this leg before an instant [s]; not what came so late that the arm may touch."""
        passed = self.ride.passed(self.since)
        keep = int(np.searchsorted(passed.t, until - self.ride.lag - 0.5 * self.ride.period))
        return Passed(*(part[:keep] for part in passed))

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
        self.back_seconds = 0.0
        try:
            motion = self.rules.motion(self, plan, back)
        except InputError as error:
            self.end("out of reach", str(error).removeprefix("explore: "))
            return None
        self.set_out_at = self.since = followed(self.ride, motion)
        self.back_until = self.set_out_at + self.back_seconds
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
            followed(self.ride, motion)
            wait(self.ride, motion.duration + SETTLE)

    def look(self) -> float:
        """Return the time to the next look [s]: shorter while stepping back."""
        back = self.back_until - self.ride.time
        self.stepping_back = back > 0.5 * self.ride.period
        return min(back, WATCH) if self.stepping_back else np.inf

    def heard(self, event: str) -> Contact | None:
        """Return what was felt, by the rules."""
        return self.rules.heard(self, event)

    def leave(self) -> None:
        """Put what was passed on the trail; the rest of the way is given up."""
        pass_on(self, self.ride.time)
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
        q = self.ride.reference().q
        self.q, self.qd, self.back_until = q, np.zeros(len(q)), -np.inf

    def place(self) -> Contact:
        """Return what an alarm says."""
        at = self.ride.moment()
        self.q, self.qd = self.rules.goes_on_from(self.ride.reference(), self.ride.measured())
        desired, actual = self.held_tool.place(at.desired.q), self.held_tool.place(at.measured.q)
        spot = mark(self.map, self.rules.marked_point(self, desired, actual))
        return Contact(
            at.time, float("nan"), spot.cell, spot.again, desired, actual, at.felt.wrench[:3], np.full(3, np.nan)
        )

    def record(self, felt: Contact) -> Contact:
        """Return the contact itself."""
        self.bounces = 0
        return felt

    def loudest(self, felt: Contact) -> float:
        """Return the alarm's instant."""
        return felt.time

    def loudness(self, felt: Contact) -> str:
        """Return the force on the tool, as text."""
        return f"{np.linalg.norm(felt.felt):.1f} N"

    def mark(self, felt: Contact) -> None:
        """Mark a cell, by the rules; what was passed before counts as free."""
        known = swept(self, self.map, felt.time)
        self.maps.append(self.rules.mark(self, known, felt))

    def arrive(self) -> None:
        """Mark what was passed as free."""
        self.maps[-1] = swept(self, self.map, self.ride.time)

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
