# SPDX-License-Identifier: Apache-2.0
"""A run in joint space under way: plan with the whole arm, follow, bump, find the place, react, until it ends.

Every contact blocks the posture in which it was felt together with all within a fixed distance of motion, or blocks
more around one that was blocked before. The space of postures is bounded, so a run ends after finitely many contacts.
"""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import SimulationError
from armwright.exploration.joints.felt import Felt, contact_of, listen, measured
from armwright.exploration.joints.motion import joint_motion
from armwright.exploration.joints.react import go, hold, retract, still_touching
from armwright.exploration.joints.task import Caution, JointTask
from armwright.exploration.joints.touch_map import RADIUS, TouchMap, link_ends, thinned
from armwright.exploration.result import keep_recording
from armwright.kinematics import fk
from armwright.motion.reference import Reference
from armwright.planning.joint.sampling import connected

if TYPE_CHECKING:
    from armwright.exploration.result import Contact
    from armwright.planning.grid.occupancy import GridMap
    from armwright.planning.joint.known_arm import KnownArm
    from armwright.planning.joint.plan import JointPlan
    from armwright.simulation.session import Session
    from armwright.types import Array

CAUTIONS = (
    Caution("all", RADIUS, 1.0, True, False),
    Caution("likely", RADIUS, 1.0, True, True),
    Caution("likely", 0.005, 0.4, True, False),
    Caution("sure", RADIUS, 0.5, True, False),
    Caution("sure", 0.004, 0.0, False, True),
    Caution("confirmed", 0.004, 0.0, False, True),
)
STILL = 0.1  # [s] in which the arm listens before it moves
STALLED = 1.5  # [s] after a motion's end without arriving
SLICE = 0.5  # [s] between signs of progress
SPARE = 0.004  # [m] more than is asked for: planners look at postures, not at what lies between
DOUBT = 0.05  # [s] before an alarm in which the arm may have touched already
STEP = 0.01  # [m] of motion between postures of the trail
CONFINED = 0.12  # [m]: an arm of which no part gets farther is boxed in
ALONG = np.linspace(0.0, 1.0, 7)  # of a link's axis, for the grid that is drawn


class JointRun:
    """The state of a run."""

    def __init__(self, task: JointTask, session: Session, known: TouchMap, grid: GridMap, q0: Array) -> None:
        """Begin at rest at q0, knowing nothing."""
        self.task, self.session = task, session
        self.maps: list[TouchMap] = [known]
        self.grids: list[GridMap] = [grid]
        self.plans: list[JointPlan] = []
        self.contacts: list[Contact] = []
        self.outcome, self.message = "", ""
        self.trail: list[Array] = [q0]  # postures driven through without contact, the last one free as far as known
        self.row = 0  # first recorded row of the present leg
        self.planning = 0.0  # [s] of computing

    @property
    def map(self) -> TouchMap:
        """What is known now."""
        return self.maps[-1]

    def end(self, outcome: str, message: str = "") -> None:
        """Give the run its outcome."""
        self.outcome, self.message = outcome, message

    def drive(self) -> None:
        """Go on until there is an outcome; an interrupt is one."""
        try:
            self._begin()
            while not self.outcome:
                self._leg()
        except KeyboardInterrupt:
            self.end("interrupted", f"at {self.session.time:.3f} s; what was recorded until then is kept")
        except SimulationError as error:
            self.end("diverged", str(error))
        except Exception as error:
            keep_recording(self.session, error)
            raise

    def _begin(self) -> None:
        q0 = self.trail[0]
        self.session.follow(Reference(q0, np.zeros(len(q0)), np.zeros(len(q0))))
        if self.session.run(min(STILL, self.task.duration)) == "alarm":
            felt = listen(self)
            self._note(felt)
            self.end("start in contact", f"the arm felt {np.abs(felt.tau).max():.1f} N m before it moved")

    def _leg(self) -> None:
        found = self.plan()
        if found is None:
            return
        plan, back, known = found
        if self.contacts:
            end = len(self.trail) - back
            go(self, np.array(self.trail[end - 1 :][::-1]))
            del self.trail[end:]
        if self._over() or (self.contacts and self._leave()):
            return
        self.plans[len(self.maps) - 1 :] = [plan]
        motion = joint_motion(self.task.believed, self.map.links, plan.path, self.task.speed, known)
        self.session.follow(motion)
        self.row = self.session.log.count
        if self._bumped(motion.duration):
            self._react(listen(self))

    def _leave(self) -> bool:
        """Whether the arm still touches after stepping back; boxed in if that is so all the way."""
        if not still_touching(self):
            return False
        if not self.trail:
            self.end("boxed in", "still in contact after going back all the way to the start")
        return True

    def _over(self) -> bool:
        if self.session.time >= self.task.duration - 0.5 * self.session.parts.period:
            self.end("out of time", f"{self.task.duration:g} s were not enough")
        return bool(self.outcome)

    def plan(self) -> tuple[JointPlan, int, KnownArm] | None:
        """Plan to a goal from the nearest posture back along the trail that is free as far as known.

        With all places that may have been touched; if that leaves no way, with the likely ones, then with those that
        are sure, then closer to them, at last with those that more than one contact told of: a mark that nothing else
        speaks for is touched again before it decides how the run ends.

        Returns:
            The plan, by how many postures of the trail to step back, and what was planned against; None if the run
            ends for want of a way.
        """
        began = clock.perf_counter()
        task, refused, last = self.task, 0, None
        goals = np.asarray(task.goals)
        if self.map.shut(goals):
            self._no_way(None, True)
            return None
        for caution in CAUTIONS:
            known = caution.arm(self.map, task.margin)
            free = np.flatnonzero(~known(np.array(self.trail)))
            if not len(free):
                refused, last = 0, None
                continue
            start, back = self.trail[int(free[-1])], len(self.trail) - 1 - int(free[-1])
            open_ = goals[~known(goals)]
            refused = len(goals) - len(open_)
            last = last if last and caution.trust == "confirmed" else (known, start)
            for goal in open_[:2]:
                plan = self._planned(known, start, goal, caution.patient)
                if plan.ok:
                    self.planning += clock.perf_counter() - began
                    return plan, back, known
            if not len(self.map.points) and not len(self.map.postures):
                break
        self._no_way(last, refused == len(goals))
        self.planning += clock.perf_counter() - began
        return None

    def _planned(self, known: KnownArm, start: Array, goal: Array, patient: bool) -> JointPlan:
        """Plan by looking at postures a few hundredths of a radian apart, with something to spare in between."""
        task = self.task
        planner = task.planner if patient else task.quick
        wide = known.wider(SPARE)
        chosen = known if wide(np.stack([start, goal])).any() else wide
        return planner(chosen.__call__, start, goal, *self._bounds(start))

    def _bounds(self, start: Array) -> tuple[Array, Array]:
        """Bounds of the search; a contact may have pushed the arm beyond them, and it has to start from where it is."""
        return np.minimum(self.task.lower, start), np.maximum(self.task.upper, start)

    def _no_way(self, last: tuple[KnownArm, Array] | None, blocked: bool) -> None:
        if self.contacts:
            hold(self)
            if len(self.trail) > 1:
                go(self, np.array(self.trail[-2::-1][:20]))
        if last is None and not blocked:
            return self.end("boxed in", "every posture on the way back to the start has been felt to be blocked")
        if last is None or blocked:
            return self.end("unreachable", "the goal posture itself, or one hardly different, touches what was felt")
        known, start = last
        for what, q in (("boxed in", start), ("unreachable", np.asarray(self.task.goals)[0])):
            if known(q):
                continue
            nodes = connected(known.__call__, q, *self._bounds(q))
            here = link_ends(self.task.believed, self.map.links, q)
            far = np.linalg.norm(link_ends(self.task.believed, self.map.links, nodes) - here, axis=-1).max()
            if far < CONFINED:
                where = "the arm" if what == "boxed in" else "around the goal it"
                return self.end(
                    what,
                    f"{where} can move by no more than {1e3 * far:.0f} mm among what was felt, as "
                    "far as sampling tells",
                )
        return self.end(
            "gave up", "the planner found no way around what was felt; sampling cannot prove that there is none"
        )

    def _bumped(self, length: float) -> bool:
        """Run until a contact, the goal or the end of time; False if there is an outcome."""
        session, task = self.session, self.task
        begun, tick = session.time, session.parts.period
        while not self._over():
            left = length - (session.time - begun)
            part = min(SLICE, task.duration - session.time, left if left > 0.5 * tick else SLICE)
            what = session.run(max(part, tick))
            task.progress(session.time / task.duration, len(self.contacts))
            if what == "alarm":
                return True
            past = session.time - begun - length
            if past > -0.5 * tick:
                there = fk(task.believed, measured(session))[:3, 3]
                if np.linalg.norm(there - task.place) < task.tolerance:
                    self._sweep(0.0)
                    self.end("reached")
                    return False
                if past > STALLED:
                    return True  # something holds the arm that no alarm told about
        return False

    def _sweep(self, doubt: float) -> None:
        """Take what the arm drove through in this leg for free space, and put it on the trail."""
        session, n = self.session, self.session.parts.n
        rows = session.log.rows(self.row)[0, :, : 1 + n]
        rows = rows[rows[:, 0] < session.time - doubt][:, 1:]
        rows = thinned(self.task.believed, self.map.links, rows[::5], STEP)
        self.row = session.log.count
        if not len(rows):
            return
        self.trail.extend(rows[1:])
        self.maps[-1] = self.map.with_swept(rows)
        ends = link_ends(self.task.believed, self.map.links, rows)
        points = ends[:, :, 0, None] + ALONG[:, None] * (ends[:, :, 1] - ends[:, :, 0])[:, :, None]
        grid = self.grids[-1]
        inside = points.reshape(-1, 3)[grid.grid.inside(grid.grid.cell(points.reshape(-1, 3)))]
        self.grids[-1] = grid.sweep(inside) if len(inside) else grid

    def _note(self, felt: Felt) -> None:
        """Record a contact and put it on the maps."""
        contact = contact_of(self, felt)
        self._sweep(self.session.time - felt.time + DOUBT)
        self.contacts.append(contact)
        self.mark(felt, new=True)

    def mark(self, felt: Felt, *, new: bool = False) -> None:
        """Put what was felt on the maps: on new ones for a new contact."""
        places = felt.places
        number, trail = len(self.contacts) - 1, np.array(self.trail)
        known = self.map.with_contact(places.points, places.share, places.sure, number, felt.q, trail)
        grid = self.grids[-1]
        cells = [tuple(c) for c in grid.grid.cell(felt.places.points).tolist()] if len(felt.places.points) else []
        cells = [c for c in dict.fromkeys(cells) if grid.grid.inside(np.array(c))]
        grid = grid.with_felt(*cells) if cells else grid
        if new:
            self.maps.append(known)
            self.grids.append(grid)
        else:
            self.maps[-1], self.grids[-1] = known, grid

    def _react(self, felt: Felt) -> Any:
        self._note(felt)
        task = self.task
        if task.reaction == "stop":
            hold(self)
            return self.end("stopped", "at the first contact, as asked")
        if len(self.contacts) >= task.budget:
            hold(self)
            return self.end("contact budget", f"{task.budget} contacts were not enough")
        if task.reaction == "retract":
            retract(self, felt.q, felt.tau)
        elif task.reaction == "slide":
            from armwright.exploration.joints.slide import slide

            slide(self, felt)
        return None
