# SPDX-License-Identifier: Apache-2.0
"""`ExplorationRun`: set out, watch, feel, mark, react, plan again, until the arm arrives or says why not.

The loop (reference → law → arm → observer → detector) is compiled. An alarm stops it, Python changes map and reference,
and it goes on. This file has the order of events. The grid of tool cells (`grid.grid_run`) and the whole arm
(`arm.arm_run`) fill in the steps: where the arm may be, what it touched, what that blocks, how to get there.
The functions at the top are what both do with a session: measure, wait, hold, glide to another reference.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from armwright.errors import SimulationError
from armwright.exploration.exploration_result import Contact, keep_recording
from armwright.motion import Trajectory
from armwright.motion.trajectory import Reference

if TYPE_CHECKING:
    from armwright.exploration.explore_options import Budget
    from armwright.simulation.session import Session
    from armwright.types import Array

SETTLE = 0.5  # [s] in which the controlled arm comes to rest: eleven time constants of its slowest joint (22.5 rad/s)
SLIDE_STEP = 0.04  # [s] between corrections of a slide: in it the tool moves by 2 mm at half a second per cell
SLIDE_PATIENCE = 1.5  # [s] without headway after which a slide is given up: three times what it takes to settle
DIRECTION_SMOOTHING = 0.3  # share of a new direction while sliding: noise is averaged over three steps
EPISODE = 0.1  # [s] a shorter gap between touches belongs to the same contact: two time constants of that joint


def measured(session: Session) -> Array:
    """Return the joint positions (n,) as the arm sees them."""
    return measured_state(session)[: session.parts.n]


def measured_state(session: Session) -> Array:
    """Return the joint positions and velocities (2n,) as the arm sees them."""
    n = session.parts.n
    now = session.loop.get("measured")[0] if session.parts.sensors is not None else session.state[0]
    return np.array(now[: 2 * n])


def torque(session: Session) -> Array:
    """Return the external joint torque (n,) as the arm feels it [N m]."""
    return np.array(session.loop.get("tau_ext")[0])


def tool_force(session: Session) -> Array:
    """Return the external force on the tool (3,) as the arm feels it [N], base axes."""
    return np.array(session.loop.get("wrench_ext")[0][:3])


def reference_now(session: Session) -> Reference:
    """Return where the arm should be now: q, qd, qdd (n,)."""
    return Reference(*(np.array(part[0]) for part in session.reference_at(np.array([session.time]))))


def alarmed(session: Session) -> bool:
    """Return whether an alarm is on."""
    return any(float(session.loop.get(name)[0, 0]) >= 0.0 for name in session.loop.plan.alarms)


def wait(session: Session, seconds: float) -> None:
    """Run on, whatever is felt."""
    until = session.time + seconds
    while session.time < until - 0.5 * session.parts.period:
        session.run(until - session.time)


def hold(session: Session) -> None:
    """Stand still where the arm is, pushing no further."""
    q = measured(session)
    session.follow(Reference(q, np.zeros(len(q)), np.zeros(len(q))))
    wait(session, SETTLE)


def glide(a: Reference, q1: Array, qd1: Array, seconds: float) -> Trajectory:
    """Return the cubic from the reference a (positions and velocities) to (q1, qd1) within `seconds`."""
    h = seconds
    d = (q1 - a.q) / h
    c2, c3 = (3.0 * d - 2.0 * a.qd - qd1) / h, (a.qd + qd1 - 2.0 * d) / (h * h)
    return Trajectory(np.array([0.0, h]), np.stack([a.q, a.qd, c2, c3])[None])


Felt = TypeVar("Felt")
Progress = Callable[[float, int], Any]
SLICE = 0.5  # [s] between reports of progress: often enough for a person
STALLED = 4.0 * SETTLE  # [s] after a motion's end without arriving: something holds the arm
SET_OUT_SECONDS = (
    0.1  # [s] in which an arm that sets out from rest moves by a millimetre or two: it touched before it moved
)


class ExplorationRun(ABC, Generic[Felt]):
    """The state of a run, and the order of events in it. `Felt` is what a kind of run keeps of one contact."""

    reaction: str = "back off"
    patience: float = STALLED
    at_once: float = SET_OUT_SECONDS

    def __init__(self, session: Session, budget: Budget, progress: Progress | None) -> None:
        """Begin at rest."""
        self.session, self.budget = session, budget
        self._progress = progress
        self._slice = np.inf if progress is None else SLICE
        self.contacts: list[Contact] = []
        self.outcome, self.message = "", ""
        self.farther_back = False  # the arm still touches where it stepped back to: the leg is over without a contact

    def drive(self) -> None:
        """Go on until there is an outcome; an interrupt is one."""
        try:
            self.begin()
            while not self.outcome:
                self.leg()
        except KeyboardInterrupt:
            self.end("interrupted", f"at {self.session.time:.3f} s; what was recorded until then is kept")
        except SimulationError as error:
            self.end("diverged", str(error))
        except Exception as error:
            keep_recording(self.session, error)
            raise

    def leg(self) -> None:
        """Set out on a plan, watch, and if there is an alarm: place what was felt, put it on the map, react."""
        length = self.set_out()
        if length is None:
            return
        felt = self.watch(length)
        if felt is not None and not self.outcome:
            self.touched(felt)

    def watch(self, length: float) -> Felt | None:
        """Follow a motion of `length` seconds until a contact; None if there is an outcome, or the leg is over."""
        session, begun, tick = self.session, self.session.time, self.session.parts.period
        self.farther_back = False
        felt = self.heard("set out")
        while felt is None and not self.out_of_time():
            left = length + SETTLE - (session.time - begun)
            look = min(self._slice, self.budget.duration - session.time, self.look())
            event = session.run(max(min(look, left) if left > 0.5 * tick else look, tick))
            self.tell()
            felt = self.heard(event)
            if felt is not None or self.farther_back or self.outcome:
                break
            past = session.time - begun - length
            if past > SETTLE - tick and np.linalg.norm(self.tool() - self.goal_point) < self.budget.tolerance:
                self.arrive()
                self.end("reached")
                break
            if past > self.patience:
                felt = self.place()  # no alarm came: the last contact never ended, or the arm pushes too gently
        return felt

    def touched(self, felt: Felt) -> None:
        """Put a contact on the record and on the map, and react; a run that cannot go on ends."""
        contact = self.record(felt)
        self.contacts.append(contact)
        if len(self.contacts) == 1 and contact.time < self.at_once + 0.5 * self.session.parts.period:
            return self.end("start in contact", f"the arm felt {self.loudness(felt)} before it moved")
        self.mark(felt)
        if self.reaction == "stop":
            hold(self.session)
            return self.end("stopped", "at the first contact, as asked")
        if len(self.contacts) >= self.budget.contacts:
            hold(self.session)
            return self.end("contact budget", f"{self.budget.contacts} contacts were not enough")
        return {"retract": self.retract, "slide": self.slide}.get(self.reaction, self.back_off)(felt)

    def end(self, outcome: str, message: str = "") -> None:
        """Give the run its outcome."""
        self.outcome, self.message = outcome, message

    def out_of_time(self) -> bool:
        """Return whether the run is over; if its time has run out, end it."""
        if not self.outcome and self.session.time >= self.budget.duration - 0.5 * self.session.parts.period:
            self.end("out of time", f"{self.budget.duration:g} s were not enough")
        return bool(self.outcome)

    def tell(self) -> None:
        """Say how far the run is."""
        if self._progress is not None:
            self._progress(self.session.time / self.budget.duration, len(self.contacts))

    # -- what the two kinds of run do ----------------------------------------------------------------------------------

    goal_point: Array  # (3,) where the tool shall be [m]

    def begin(self) -> None:
        """Prepare the first leg."""
        return None

    @abstractmethod
    def set_out(self) -> float | None:
        """Plan from where the arm may be, and follow the motion; return its length [s], None if there is none."""

    def look(self) -> float:
        """Return the time after which this kind of run looks at the arm again [s]."""
        return np.inf

    def heard(self, event: str) -> Felt | None:
        """Return what was felt after "set out", an "alarm" or the "end" of a slice; None if that is nothing new."""
        return self.place() if event == "alarm" else None

    @abstractmethod
    def place(self) -> Felt:
        """Find what was touched, and where."""

    @abstractmethod
    def record(self, felt: Felt) -> Contact:
        """Return the contact with the truth added."""

    @abstractmethod
    def loudness(self, felt: Felt) -> str:
        """Return how much was felt, as text for a person."""

    @abstractmethod
    def mark(self, felt: Felt) -> None:
        """Put what the contact blocks on the map."""

    @abstractmethod
    def tool(self) -> Array:
        """Return the tool's position (3,) [m], as the arm sees it."""

    def arrive(self) -> None:
        """Learn from the last leg."""
        return None

    def back_off(self, felt: Felt) -> None:
        """Step back, which by default is the first part of the next plan."""
        return None

    @abstractmethod
    def retract(self, felt: Felt) -> None:
        """Give way to what was felt first."""

    @abstractmethod
    def slide(self, felt: Felt) -> None:
        """Go on along the surface."""
