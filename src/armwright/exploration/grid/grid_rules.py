# SPDX-License-Identifier: Apache-2.0
"""The decisions of a run on a grid that another run may take otherwise: the library's own rules, as an object.

The way back is planned along the way that was driven. The cell where the tool is gets marked. While stepping back, only
a force that rises again counts as another contact. A study of other rules derives from `Rules`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.choices import REACTIONS
from armwright.errors import InputError
from armwright.exploration.exploration_run import SET_OUT_SECONDS, STALLED
from armwright.exploration.grid.grid_run import marked, pass_on, stand_back
from armwright.exploration.grid.held_tool import paced, path_rows
from armwright.exploration.ride_steps import followed, glide, wait
from armwright.motion.trajectory import Reference
from armwright.planning import Hopfield

if TYPE_CHECKING:
    from armwright.exploration.exploration_result import Contact
    from armwright.exploration.grid.grid_run import GridRun
    from armwright.exploration.ride import ArmMeasured
    from armwright.motion import Trajectory
    from armwright.planning.grid.grid_map import GridMap
    from armwright.planning.grid.path_plan import GridPlanner, PathPlan
    from armwright.types import Array

CHATTER = 200  # alarms of one contact before the run is given up: a bound that ends it, far above what a wall gives
WITHDRAW = 0.3  # [s] to bring the reference to the arm: seven time constants of its slowest joint (22.5 rad/s)


class Rules:
    """The library's rules of a run on a grid.

    Attributes:
        reaction: to a contact. free_ends: whether start and goal have to be free as far as known.
        doubts: whether the arm may doubt its model before it blames the world.
        held: whether the torque is held between ticks, whatever the observer.
        patience: [s] after a motion's end without arriving that count as a contact; see `ExplorationRun`.
        at_once: [s] before which a first contact means that the arm began in contact; see `ExplorationRun`.
    """

    free_ends = True
    doubts = True
    held = False
    patience = STALLED
    at_once = SET_OUT_SECONDS

    def __init__(self, reaction: str = "back off") -> None:
        """Check the reaction."""
        if reaction not in REACTIONS:
            raise InputError(f"explore: reaction must be one of {REACTIONS.listed()}; got {reaction!r}")
        self.reaction = reaction

    def planner(self) -> GridPlanner:
        """Return the planner to use where none is named."""
        return Hopfield()

    def settings(self) -> dict[str, Any]:
        """Return what the settings of a run say about its rules."""
        return {"reaction": self.reaction}

    def plan(self, run: GridRun) -> tuple[PathPlan | None, list[Array]]:
        """Plan from the nearest configuration back along the way driven whose cell is free and from where it goes on.

        Returns:
            The plan, and the configurations to step back along first. Without any way, the plan from the nearest free
            cell, which says so; None if no cell on the trail is free.
        """
        grid = run.map.grid
        if not run.contacts:
            return run.planner(run.map, run.cell, run.goal), []
        blocked, tried, back = run.map.blocked(), set(), []
        nearest: tuple[PathPlan | None, list[Array]] = (None, [])
        for row in reversed(run.trail):
            back.append(row)
            cell = tuple(int(c) for c in grid.cell(run.held_tool.place(row)))
            if cell in tried or not grid.inside(cell) or blocked[grid.index(cell)]:
                continue
            tried.add(cell)
            plan = run.planner(run.map, cell, run.goal)
            if plan.ok:
                del run.trail[len(run.trail) - len(back) + 1 :]
                return plan, back
            nearest = nearest if nearest[0] is not None else (plan, list(back))
        return nearest

    def motion(self, run: GridRun, plan: PathPlan, back: list[Array]) -> Trajectory:
        """Return the motion back along the trail, then along the path."""
        forward = path_rows(run.held_tool, run.map, plan, back[-1] if back else run.q, cut=not run.careful)
        rows = np.concatenate([run.q[None], *(row[None] for row in back), forward])
        motion, times = paced(run.held_tool, rows, run.pace, run.size)
        run.way = (rows[1 + len(back) :], times[1 + len(back) :])
        run.back_seconds = float(times[len(back)])
        return motion

    def goes_on_from(self, reference: Reference, seen: ArmMeasured) -> tuple[Array, Array]:
        """Return where the next motion begins, q and qd, after an alarm."""
        return reference.q, reference.qd

    def marked_point(self, run: GridRun, desired: Array, actual: Array) -> Array:
        """Return the point whose cell is marked: the tool's, or where it should be if it stands for the whole arm."""
        return desired if run.links else actual

    def mark(self, run: GridRun, known: GridMap, contact: Contact) -> GridMap:
        """Put a contact on the map."""
        pass_on(run, contact.time)
        if not run.ride.goes_on:
            stand_back(run, contact)
        return marked(run, known, contact)

    def back_off(self, run: GridRun, contact: Contact) -> None:
        """Do nothing: stepping back is the first part of the next plan."""

    def heard(self, run: GridRun, event: str) -> Contact | None:
        """Return the contact behind an alarm, or behind a force that rises while stepping back; None if not new."""
        ride, tick = run.ride, run.ride.period
        if event == "alarm":
            contact = run.place()
            if not self._bounced(run, contact):
                return contact
            if not ride.goes_on and len(run.trail) > 1:
                run.trail.pop()  # the way back led to the surface, and the reflex has taken the arm off it
            if ride.time < run.back_until - 0.5 * tick:
                return None
            # in the last tick of the way back: nothing would handle this alarm later
        if not run.stepping_back:
            return None
        if not run.links and self._pushes_again(run):
            run.trail = run.trail[:-1] or run.trail
            contact = run.place()
            self._withdraw(run)
            return contact
        if ride.time >= run.back_until - 0.5 * tick:
            run.farther_back = self._still_touching(run)
        return None

    def _bounced(self, run: GridRun, contact: Contact) -> bool:
        """Return whether an alarm while stepping back is the same surface still being felt."""
        if not run.contacts or run.ride.time >= run.back_until:
            return False
        run.bounces += 1
        if run.bounces > CHATTER:
            run.end("chattering", f"{CHATTER} alarms while stepping back; widen the detector's hysteresis")
            return False
        return float(contact.felt @ run.contacts[-1].felt) > 0.0

    def _pushes_again(self, run: GridRun) -> bool:
        """Return whether the force rises while stepping back: the alarm may still be on from the last contact.

        It does if it exceeds its least value since then by more than what free motion feels, or rises above twice that.
        """
        force, noticed = run.force(), run.ride.noticed_force
        run.least = min(run.least, force)
        if force > run.least + noticed or force > max(run.last, 2.0 * noticed):
            return True
        run.last = force
        return False

    def _withdraw(self, run: GridRun) -> None:
        """Bring the reference to where the arm is, so that it pushes no more."""
        q = run.ride.measured().q
        still = np.zeros(len(q))
        followed(run.ride, glide(Reference(run.q, still, still), q, still, WITHDRAW))
        wait(run.ride, WITHDRAW)
        run.q, run.qd = q, still

    def _still_touching(self, run: GridRun) -> bool:
        """Return whether stepping back did not end the alarm; then the configuration reached leaves the trail.

        An alarm that never ends hides every further contact, for only its rise stops the loop.
        """
        if not run.ride.alarmed:
            return False
        q_ref = run.ride.reference().q
        run.q, run.qd = q_ref, np.zeros(len(q_ref))
        run.trail.pop()
        if not run.trail:
            run.end("boxed in", "still in contact after going back all the way to the start")
        return True
