# SPDX-License-Identifier: Apache-2.0
"""A run under way: plan, follow, bump, mark, react, until there is an outcome.

The loop (reference → law → arm → observer → detector) is compiled; an alarm stops it, Python changes map and reference,
and it goes on. Of two contacts at least one blocks one more cell, so that a run ends after finitely many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError, SimulationError
from armwright.exploration.marks import marked, pass_on, swept
from armwright.exploration.motion import glide, held_table, path_rows, published_motion, timed_motion
from armwright.exploration.result import Contact, keep_recording
from armwright.exploration.task import Task
from armwright.kinematics import jacobian
from armwright.motion import Trajectory
from armwright.motion.reference import Reference
from armwright.planning.grid.marking import back_off_000, mark
from armwright.simulation.session import Session

if TYPE_CHECKING:
    from armwright.planning.grid.occupancy import GridMap
    from armwright.planning.grid.path_plan import PathPlan

Cell = tuple[int, ...]
BOUNCE = 0.1  # [s] a shorter gap between touches belongs to the same episode
SETTLE = 0.5  # [s] after a motion's end in which the arm may still come within tolerance
STALLED = 2.0  # [s] after a motion's end without arriving
CHATTER = 200  # alarms of one contact before the run is given up
RETRACT = 0.75  # cells along the felt force
WATCH = 0.1  # [s] between looks at the force while stepping back
PUSH = 12.0  # [N] more than the least since then, or rising above twice that: it pushes against something else
WITHDRAW = 0.3  # [s]
AT_ONCE = 0.05  # [s] an alarm so soon means that the arm began in contact


class Run:
    """The state of a run."""

    def __init__(self, task: Task, session: Session, grid: GridMap, start: Cell, q0: Any) -> None:
        """Begin at rest at q0 in cell `start` of an empty or known map."""
        self.task, self.session = task, session
        self.maps: list[GridMap] = [grid]
        self.plans: list[PathPlan] = []
        self.contacts: list[Contact] = []
        self.outcome, self.message = "", ""
        self.cell = start
        self.q, self.qd = q0, np.zeros(len(q0))
        self.trail: list[Any] = [q0]  # postures passed, all of them free of contact
        self.goal_point = grid.grid.centre(task.goal)
        self.size = float(np.min(np.asarray(grid.grid.cell_size)))
        self.bounces = 0
        self.careful = False  # keep to the middle of the cells: the last contact taught nothing new
        self.chunk = 0  # first recorded chunk of the present leg
        self.way: tuple[Any, Any] = (np.array([q0]), np.zeros(1))
        self.quiet_until = 0.0
        self.ways: list[float] = []  # [m] to the goal as far as known, at every contact that was slid from
        self.turned = 1.0  # −1: a surface that has to be followed is followed away from the planner's way

    @property
    def map(self) -> GridMap:
        """What is known now."""
        return self.maps[-1]

    def end(self, outcome: str, message: str = "") -> None:
        """Give the run its outcome."""
        self.outcome, self.message = outcome, message

    def drive(self) -> None:
        """Go on until there is an outcome; an interrupt is one."""
        try:
            while not self.outcome:
                self._leg()
        except KeyboardInterrupt:
            self.end("interrupted", f"at {self.session.time:.3f} s; what was recorded until then is kept")
        except SimulationError as error:
            self.end("diverged", str(error))
        except Exception as error:
            keep_recording(self.session, error)
            raise

    def _leg(self) -> None:
        plan, back = self._plan()
        if plan is None:
            return self.end("boxed in", "every cell on the way back to the start has been felt to be blocked")
        self.plans[len(self.maps) - 1 :] = [plan]
        if not plan.ok:
            self._step_back(back)
            names = {"unreachable": "unreachable", "goal blocked": "unreachable", "start blocked": "boxed in"}
            return self.end(names.get(plan.status, plan.status), plan.message)
        try:
            motion = self._motion(plan, back)
        except InputError as error:
            return self.end("out of reach", str(error).removeprefix("explore: "))
        self.session.follow(motion)
        self.chunk = self.session.log.count
        contact = self._until_contact(motion.duration)
        if contact is None:
            return None
        self.react(contact)
        return None

    def _motion(self, plan: PathPlan, back: list[Any]) -> Trajectory:
        task = self.task
        if task.published:
            motion = published_motion(task.hand, self.map, plan, self.q, self.qd, task.pace)
            return held_table(motion, self.session.parts.period) if task.rules.table == "hold" else motion
        forward = path_rows(task.hand, self.map, plan, back[-1] if back else self.q, cut=not self.careful)
        rows = np.concatenate([self.q[None], *(row[None] for row in back), forward])
        motion, times = timed_motion(task.hand, rows, task.pace, self.size)
        self.way = (rows[1 + len(back) :], times[1 + len(back) :])
        self.quiet_until = self.session.time + float(times[len(back)])
        return motion

    def _step_back(self, back: list[Any]) -> None:
        """Leave what was touched, though there is nowhere to go."""
        if back:
            session, rows = self.session, np.concatenate([self.q[None], *(row[None] for row in back)])
            motion, _ = timed_motion(self.task.hand, rows, self.task.pace, self.size)
            session.follow(motion)
            self._wait(motion.duration + SETTLE)

    def _wait(self, seconds: float) -> None:
        """Run on, whatever is felt."""
        until = self.session.time + seconds
        while self.session.time < until - self.session.parts.period:
            self.session.run(until - self.session.time)

    def _plan(self) -> tuple[PathPlan | None, list[Any]]:
        """Plan from the nearest posture back along the way driven whose cell is free and from where there is a way.

        Returns:
            The plan, and the postures to step back along first. Without any way, the plan from the nearest free cell,
            which says so; None if no cell on the trail is free.
        """
        task, grid = self.task, self.map.grid
        if task.published or not self.contacts:
            return task.planner(self.map, self.cell, task.goal), []
        blocked, tried, back = self.map.blocked(), set(), []
        nearest: tuple[PathPlan | None, list[Any]] = (None, [])
        for row in reversed(self.trail):
            back.append(row)
            cell = tuple(int(c) for c in grid.cell(task.hand.place(row)))
            if cell in tried or not grid.inside(cell) or blocked[grid.index(cell)]:
                continue
            tried.add(cell)
            plan = task.planner(self.map, cell, task.goal)
            if plan.ok:
                del self.trail[len(self.trail) - len(back) + 1 :]
                return plan, back
            nearest = nearest if nearest[0] is not None else (plan, list(back))
        return nearest

    def _until_contact(self, length: float) -> Contact | None:
        """Run until a contact, the goal or the end of time; None if there is an outcome."""
        session, task = self.session, self.task
        begun = session.time
        if task.rules.trigger == "level" and self.contacts and self._alarmed():
            session.run(session.parts.period)
            if self._alarmed():
                return self.felt()
        tick, least = session.parts.period, np.inf
        last = float(np.linalg.norm(self.contacts[-1].felt)) if self.contacts else np.inf
        while session.time < task.duration - 0.5 * tick:
            left = min(task.duration - session.time, max(SETTLE, length + SETTLE - (session.time - begun)))
            back = self.quiet_until - session.time
            what = session.run(min(left, back, WATCH) if back > 0.5 * tick else left)
            task.progress(session.time / task.duration, len(self.contacts))
            if what == "alarm":
                contact = self.felt()
                if not self._bounced(contact):
                    return contact
                if session.time < self.quiet_until - 0.5 * tick:
                    continue
                # in the very last tick of the way back: nothing would look at this alarm any more
            if back > 0.5 * tick and not (task.published or task.links):
                # the alarm may still be on from the last contact: then only the force tells about another one
                force = float(np.linalg.norm(session.loop.get("wrench_ext")[0][:3]))
                least = min(least, force)
                if force > least + PUSH or force > max(last, 2.0 * PUSH):
                    self.trail = self.trail[:-1] or self.trail
                    contact = self.felt()
                    self._withdraw()
                    return contact
                last = force
            if back > 0.5 * tick and session.time >= self.quiet_until - 0.5 * tick and self._still_touching():
                return None  # farther back
            position = task.hand.place(session.state[0][: session.parts.n])
            if session.time - begun > length and np.linalg.norm(position - self.goal_point) < task.tolerance:
                self.end("reached")
                self.maps[-1] = swept(self, self.map)
                return None
            if session.time - begun > length + STALLED and not task.published:
                return (
                    self.felt()
                )  # something holds the arm that no alarm told about: it never let go, or pushes too gently
        self.end("out of time", f"{task.duration:g} s were not enough")
        return None

    def _withdraw(self) -> None:
        """Bring the reference to where the arm is, so that it pushes no more."""
        session, n = self.session, self.session.parts.n
        q = session.loop.get("measured")[0, :n] if session.parts.sensors is not None else session.state[0][:n]
        still = np.zeros(n)
        session.follow(glide(Reference(self.q, still, still), q.copy(), still, WITHDRAW))
        self._wait(WITHDRAW)
        self.q, self.qd = q.copy(), still

    def _still_touching(self) -> bool:
        """Whether stepping back did not end the alarm: then the posture stepped back to is taken off the trail.

        An alarm that never ends hides every further contact, for only its rise stops the loop.
        """
        if self.task.published or not self._alarmed():
            return False
        q_ref = self.session.reference_at(np.array([self.session.time])).q[0]
        self.q, self.qd = q_ref, np.zeros(len(q_ref))
        self.trail.pop()
        if not self.trail:
            self.end("boxed in", "still in contact after going back all the way to the start")
        return True

    def _alarmed(self) -> bool:
        """Whether an alarm is on."""
        return any(float(self.session.loop.get(name)[0, 0]) >= 0.0 for name in self.session.loop.plan.alarms)

    def _bounced(self, contact: Contact) -> bool:
        """Whether an alarm while stepping back is the same surface still being felt."""
        if self.task.published or not self.contacts or self.session.time >= self.quiet_until:
            return False
        self.bounces += 1
        if self.bounces > CHATTER:
            self.end("chattering", f"{CHATTER} alarms while stepping back; widen the detector's hysteresis")
            return False
        return float(contact.felt @ self.contacts[-1].felt) > 0.0

    def felt(self) -> Contact:
        """What an alarm says, with the truth beside it."""
        session, task, n = self.session, self.task, self.session.parts.n
        q_ref, qd_ref = (part[0] for part in session.reference_at(np.array([session.time]))[:2])
        self.q, self.qd = q_ref, qd_ref
        state = session.state[0]
        seen = session.loop.get("measured")[0] if session.parts.sensors is not None else state
        q = seen[:n]
        if task.rules.place == "actual":
            self.q, self.qd = q.copy(), seen[n : 2 * n].copy()
        desired, actual = task.hand.place(q_ref), task.hand.place(q)
        rows = session.log.rows(self.chunk)[0, :, : 1 + 2 * n]
        truth = task.field.truth(
            np.vstack([rows[:, 1 : 1 + n], state[:n]]), np.vstack([rows[:, 1 + n :], state[n : 2 * n]])
        )
        time = np.append(rows[:, 0], session.time)
        touched = np.flatnonzero(np.abs(truth.force).max(axis=1) > 0.0)
        began, link, shape = float("nan"), "", ""
        if len(touched):
            gaps = np.flatnonzero(np.diff(time[touched]) > BOUNCE)
            began = float(time[touched[gaps[-1] + 1 if len(gaps) else 0]])
            link, shape = truth.touching[touched[-1]] or ("", "")
            if time[touched[-1]] < session.time - BOUNCE:  # let go of long ago: not what the alarm is about
                began, link, shape = float("nan"), "", ""
        point = desired if (task.published and task.rules.place == "desired") or task.links else actual
        spot = mark(self.map, point)
        felt = session.loop.get("wrench_ext")[0][:3]
        return Contact(session.time, began, spot.cell, spot.again, desired, actual, felt, truth.force[-1], link, shape)

    def react(self, contact: Contact) -> None:
        """Put a contact on the map and choose where to go on from; a run that cannot go on ends."""
        task = self.task
        if self.outcome:
            return
        if not self.contacts and self.session.time < AT_ONCE and not task.published:
            self.contacts.append(contact)
            return self.end("start in contact", f"the arm felt {np.linalg.norm(contact.felt):.1f} N before it moved")
        self.contacts.append(contact)
        self.bounces = 0
        known = swept(self, self.map)
        if task.published:
            point = contact.desired if task.rules.place == "desired" else contact.actual
            self.maps.append(mark(known, point).map)
        else:
            pass_on(self)
            self.maps.append(marked(self, known, contact))
        if task.reaction == "stop":
            self._hold()
            return self.end("stopped", "at the first contact, as asked")
        if len(self.contacts) >= task.budget:
            self._hold()
            return self.end("contact budget", f"{task.budget} contacts were not enough")
        if task.published:
            velocity = jacobian(task.hand.robot, self.q)[:3] @ self.qd
            self.cell = back_off_000(contact.cell, velocity)
            if not self.map.grid.inside(self.cell):
                return self.end("boxed in", f"the step back leads out of the grid, to {self.cell}")
        elif task.reaction == "retract":
            self._retract(contact)
        elif task.reaction == "slide":
            from armwright.exploration.slide import slide

            slide(self, contact)
        return None

    def _hold(self) -> None:
        """Stand still where the arm is, pushing no further."""
        session, n = self.session, self.session.parts.n
        session.follow(Reference(session.state[0][:n].copy(), np.zeros(n), np.zeros(n)))
        self._wait(SETTLE)

    def _retract(self, contact: Contact) -> None:
        """Put a posture away from the surface, along the felt force, on the trail, unless its cell is blocked."""
        size = float(np.linalg.norm(contact.felt))
        if size == 0.0:
            return
        grid = self.map.grid
        n = grid.frame[:, : grid.dim] @ (grid.frame[:, : grid.dim].T @ (contact.felt / size))
        if np.linalg.norm(n) < 0.3:
            return  # pushed out of the plane of a 2-D map
        target = contact.actual + RETRACT * self.size * n / np.linalg.norm(n)
        if grid.dim == 2:
            normal = grid.frame[:, 2]
            target = target - normal * float(normal @ (target - grid.origin))
        cell = tuple(int(c) for c in grid.cell(target))
        if not grid.inside(cell) or self.map.blocked()[grid.index(cell)]:
            return
        try:
            row = self.task.hand.postures(target[None], self.q, ["point to retract to"])[0]
        except InputError:
            return
        self.trail.append(row)
