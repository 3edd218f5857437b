# SPDX-License-Identifier: Apache-2.0
"""`ExplorationRun`: set out, watch, feel, mark, react, plan again, until the arm arrives or says why not.

A run thinks and a `Ride` moves: the ride comes back with an alarm, the run changes its map, hands over another motion,
and the ride goes on. This file has the order of events. The grid of tool cells (`grid.grid_run`) and the whole arm
(`arm.arm_run`) fill in the steps: where the arm may be, what it touched, what that blocks, how to get there. All that a
run knows is what its ride measured and felt; what really happened is told afterwards (`truth_told`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from armwright.errors import SimulationError
from armwright.exploration.exploration_result import Contact, keep_recording
from armwright.exploration.model_doubt import Alarm, ModelDoubt, clearly_wrong, probe
from armwright.exploration.ride_steps import (
    SETTLE,
    RideOverError,
    RideRefusedError,
    advance,
    followed,
    glide,
    hold,
    wait,
)
from armwright.kinematics.jacobians import pose_jacobian
from armwright.motion.trajectory import Reference
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from armwright.exploration.explore_options import Budget
    from armwright.exploration.ride import Ride
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

SLIDE_STEP = 0.04  # [s] between corrections of a slide: in it the tool moves by 2 mm at half a second per cell
SLIDE_PATIENCE = 1.5  # [s] without headway after which a slide is given up: three times what it takes to settle
DIRECTION_SMOOTHING = 0.3  # share of a new direction while sliding: noise is averaged over three steps


def tool_place(arm: Robot | Tree, q: Traced) -> Traced:
    """Return the tool's position (3,) [m], base frame."""
    return pose_jacobian(arm, q)[0][:3, 3]


Felt = TypeVar("Felt")
Progress = Callable[[float, int], Any]
SLICE = 0.5  # [s] between reports of progress: often enough for a person
STALLED = 4.0 * SETTLE  # [s] after a motion's end without arriving: something holds the arm
EXCUSED_LOOK = 0.02  # [s] between looks at an alarm that is excused: a sample of the filter
MOST_TESTS = 4  # how often a run doubts its model: load and friction together took two at most
STEP_BACK = 0.03  # [m] of the tool, back along its way: off a surface, and still on ground that was passed
BACK_SECONDS = 0.6  # [s] for that: 50 mm/s
WITHDRAWN = 0.3  # [s] to come to rest there
BLAMES = ("unreachable", "boxed in", "start in contact")  # outcomes that blame the world
CORRECTIONS = 8  # of the reference by what is missing to the goal: what is in the way is pressed nine times as hard as
# at the first stop, which makes an alarm; a load that the model lacks is overcome by the first or second
STANDING = ("diverged", "interrupted", "lost")  # outcomes of an arm that stands where nobody knows
SET_OUT_SECONDS = (
    0.1  # [s] in which an arm that sets out from rest moves by a millimetre or two: it touched before it moved
)


class ExplorationRun(ABC, Generic[Felt]):
    """The state of a run, and the order of events in it. `Felt` is what a kind of run keeps of one contact."""

    reaction: str = "back off"
    patience: float = STALLED
    at_once: float = SET_OUT_SECONDS

    def __init__(self, ride: Ride, budget: Budget, progress: Progress | None) -> None:
        """Begin at rest, now."""
        self.ride, self.budget = ride, budget
        self.began = ride.time  # [s] by the ride's clock, as all instants
        self.until = self.began + budget.duration
        self._progress = progress
        self._slice = np.inf if progress is None else SLICE
        self.contacts: list[Contact] = []
        self.outcome, self.message = "", ""
        self.farther_back = False  # the arm still touches where it stepped back to: the leg is over without a contact
        self.doubt: ModelDoubt | None = None  # what the arm knows about the errors of its model; None: no doubt
        self.alarm: Alarm | None = None  # what was felt at the last alarm
        self.set_out_at = self.began  # when the motion of the present leg began: a reflex or a probe is no part of it
        self.since = self.began  # from when on what was passed counts to the present leg
        self.spans: list[tuple[float, float]] = []  # of every contact: its `since`, and when it was felt most
        self.doubted = False  # an alarm was taken for a contact though the model may have been wrong
        self.excused = False  # an alarm is on that the known errors of the model explain
        self.tests = 0  # how often the arm tried whether an alarm was its own doing

    def drive(self) -> None:
        """Go on until there is an outcome; an interrupt is one, and so is the end of the ride."""
        try:
            self.begin()
            while not self.outcome:
                self.leg()
        except KeyboardInterrupt:
            self.end("interrupted", f"at {self.ride.time:.3f} s; what was recorded until then is kept")
        except SimulationError as error:
            self.end("diverged", str(error))
        except RideOverError as over:
            self.end(over.why, over.reason)
        except RideRefusedError as refused:
            self.end("out of reach", str(refused))
        except Exception as error:
            keep_recording(self.ride, error)
            raise
        if self.outcome not in STANDING:
            self.message = "; ".join(text for text in (self.message, self.stands()) if text)

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
        ride, begun, tick = self.ride, self.set_out_at, self.ride.period
        self.farther_back = False
        felt = self.heard("set out")
        while felt is None and not self.out_of_time():
            past = ride.time - begun - length
            left = (SETTLE if past < SETTLE - 0.5 * tick else self.patience + tick) - past
            event = advance(ride, max(min(self._slice, self.until - ride.time, self.glance(), left), tick))
            self.tell()
            self.notice(event)
            grown = self.excused
            excused = self.excuse(event)
            grown = grown and not excused and ride.alarmed
            felt = None if excused else self.heard("alarm" if grown else event)
            if felt is not None or self.farther_back or self.outcome:
                break
            if event == "alarm" and not ride.goes_on:  # nothing new, but the motion ended with the reflex
                self.resume()
                break
            past = ride.time - begun - length
            if past > SETTLE - tick and np.linalg.norm(self.tool() - self.goal_point) < self.budget.tolerance:
                self.arrive()
                self.end("reached")
                break
            if past > self.patience:  # an alarm that is still on is a contact that never ended
                self.notice("alarm")
                if ride.alarmed:
                    felt = self.place()
                elif self.own_doing():
                    break
                else:
                    felt = self.close_in()
        return felt

    def close_in(self) -> Felt | None:
        """Correct the reference by what is missing to the goal, where the arm stands off it and felt nothing.

        A load or friction that the model lacks holds the controlled arm off by K_0⁻¹ M⁻¹ tau: the reference moves on by
        q_goal − q again and again (integral control), and the arm arrives. Something in the way is pressed a little
        harder each time, until there is an alarm: only that is a contact.
        """
        ride, last = self.ride, self.ride.reference()
        for _ in range(CORRECTIONS):
            now = ride.reference()
            followed(ride, glide(now, now.q + last.q - ride.measured().q, 0.0 * now.q, SETTLE))
            until = min(ride.time + 2.0 * SETTLE, self.until)
            while ride.time < until - 0.5 * ride.period:
                event = advance(ride, until - ride.time)
                self.notice(event)
                felt = self.heard(event)
                if felt is not None or self.outcome:
                    return felt
            self.tell()
            if np.linalg.norm(self.tool() - self.goal_point) < self.budget.tolerance:
                self.arrive()
                self.end("reached")
            if self.out_of_time():
                return None
        off = ", ".join(f"{1e3 * x:+.1f}" for x in self.tool() - self.goal_point)
        self.end(
            "not arrived",
            f"nothing was felt, and {CORRECTIONS} corrections left the tool ({off}) mm off the goal: a load or "
            "friction that the model lacks, motors that are too weak, or a tolerance below what the sensors resolve",
        )
        return None

    def touched(self, felt: Felt) -> None:
        """Put a contact on the record and on the map, and react; a run that cannot go on ends."""
        if self.own_doing() or self.outcome:
            return None
        since = self.since
        contact = self.record(felt)
        self.contacts.append(contact)
        self.spans.append((since, self.loudest(felt)))
        if len(self.contacts) == 1 and contact.time - self.began < self.at_once + 0.5 * self.ride.period:
            return self.end("start in contact", f"the arm felt {self.loudness(felt)} before it moved")
        self.mark(felt)
        if self.reaction == "stop":
            hold(self.ride)
            return self.end("stopped", "at the first contact, as asked")
        if len(self.contacts) >= self.budget.contacts:
            hold(self.ride)
            return self.end("contact budget", f"{self.budget.contacts} contacts were not enough")
        return {"retract": self.retract, "slide": self.slide}.get(self.reaction, self.back_off)(felt)

    def notice(self, event: str) -> None:
        """Keep what was felt at an alarm, before anything moves on."""
        if self.doubt is not None and event == "alarm":
            self.alarm = self.doubt.felt()

    def glance(self) -> float:
        """Return the time to the next look at the arm [s]: shorter while an alarm is excused."""
        return min(self.look(), EXCUSED_LOOK) if self.excused else self.look()

    def excuse(self, event: str) -> bool:
        """Return whether an alarm is on that what is known about the model explains; it is looked at until it ends.

        A joint that starts or stands holds back as much as its friction; an arm that knows this does not stop for it.
        """
        doubt = self.doubt
        if doubt is None or not (event == "alarm" or self.excused):
            return False
        if not self.ride.alarmed:
            self.excused = False
            return False
        alarm = self.alarm if event == "alarm" and self.alarm is not None else doubt.felt()
        self.excused = (self.tests > 0 or doubt.rehearsed) and doubt.expects(alarm)
        self.alarm = None if self.excused else alarm  # one that was excused may have grown beyond it
        return self.excused

    def own_doing(self) -> bool:
        """Return whether the last alarm was the arm's own doing: a load or friction that its model does not have.

        If errors of the model may be what was felt, the arm steps back along its way and moves a little about that
        place. What goes along with it is its own; then law and observer go on with a corrected model. An arm that is
        asked to stop does not try anything.
        """
        alarm, doubt, ride = self.alarm, self.doubt, self.ride
        self.alarm = None
        if alarm is None or doubt is None or self.tests >= MOST_TESTS or self.reaction == "stop":
            return False
        if not doubt.suspects(alarm):
            return False
        there = ride.reference()
        still, back = np.zeros(ride.n), self.way_back()
        motion = probe(doubt.robot, back)
        left = self.until - ride.time
        if left < BACK_SECONDS + WITHDRAWN + motion.duration + SETTLE:
            hold(ride)
            self.end("out of time", f"{left:.1f} s were left, too little to try whether a load or friction was felt")
            return False
        self.tests += 1
        self.leave()
        followed(ride, glide(there, back, still, BACK_SECONDS))
        wait(ride, BACK_SECONDS + WITHDRAWN)
        doubt.catch_up()  # the way back may still touch: only the probe is free
        followed(ride, motion)
        free = self.try_out(motion.duration)
        fits = free and doubt.settle()
        mine = fits and doubt.explains(alarm)
        if fits and clearly_wrong(doubt.filter.layout, doubt.rest()):
            doubt.ride.believe(doubt.correct())
            doubt.said.append((ride.time, str(doubt.errors())))
            wait(ride, SETTLE)
        if mine:
            self.resume()
            self.out_of_time()
            return True
        self.doubted |= free and not fits
        self.come_back(there)
        return False

    def leave(self) -> None:
        """Keep what the present leg taught, before the arm leaves its way to try something."""
        return None

    def come_back(self, there: Reference) -> None:
        """Go back to where an alarm came, because it was a contact after all."""
        followed(self.ride, glide(self.ride.reference(), there.q, np.zeros(len(there.q)), BACK_SECONDS))
        wait(self.ride, BACK_SECONDS)

    def try_out(self, seconds: float) -> bool:
        """Follow a probing motion; stop and return False where something is felt that comes too quickly to be ours."""
        ride, doubt = self.ride, self.doubt
        assert doubt is not None
        until = ride.time + seconds
        while ride.time < until - 0.5 * ride.period:
            advance(ride, min(EXCUSED_LOOK, until - ride.time))
            if not doubt.suspects(doubt.felt(free=True)):
                doubt.watch.restart()  # what waits to be learned was a contact
                hold(ride)
                return False
        return True

    def way_back(self) -> Array:
        """Return a configuration (n,) that the arm was asked to pass a little before: `STEP_BACK` of the tool away."""
        assert self.doubt is not None
        rows = self.ride.passed(self.since).q_ref
        if not len(rows):
            return self.ride.reference().q
        place = kernel(self.doubt.robot, tool_place)
        away = np.linalg.norm(place(rows) - place(rows[-1]), axis=1) >= STEP_BACK
        return np.array(rows[np.flatnonzero(away)[-1]] if away.any() else rows[0])

    def end(self, outcome: str, message: str = "") -> None:
        """Give the run its outcome; nobody is blamed while the arm is unsure of itself."""
        if self.doubted and outcome in BLAMES:
            message = f"{outcome} ({message}), unless the arm's own model is wrong: {self.contradiction()}"
            outcome = "model in doubt"
        self.outcome, self.message = outcome, message

    def found_errors(self) -> dict[str, Any]:
        """Return what the settings of a run say about errors of the model that it found; nothing if it did not look."""
        doubt = self.doubt
        if doubt is None or not doubt.used.any():
            return {}
        errors = doubt.errors()
        return {
            "model_errors": {
                "said": [f"{time:.1f} s: {text}" for time, text in doubt.said] or [str(errors)],
                **errors._asdict(),
            }
        }

    def contradiction(self) -> str:
        """Return what was felt that neither the model nor a contact explains well, as text."""
        assert self.doubt is not None
        felt, names = self.ride.felt().tau_ext, self.doubt.robot.joints
        worst = int(np.argmax(np.abs(felt)))
        return f"it feels {felt[worst]:.1f} N m in {names[worst].name} that comes and goes without an obstacle"

    def stands(self) -> str:
        """Return how far from the goal the tool stands, as the arm sees it."""
        return f"the tool stands {1e3 * np.linalg.norm(self.tool() - self.goal_point):.1f} mm from the goal"

    def out_of_time(self) -> bool:
        """Return whether the run is over; if its time has run out, end it."""
        if not self.outcome and self.ride.time >= self.until - 0.5 * self.ride.period:
            self.end("out of time", f"{self.budget.duration:g} s were not enough")
        return bool(self.outcome)

    def tell(self) -> None:
        """Say how far the run is."""
        if self._progress is not None:
            self._progress((self.ride.time - self.began) / self.budget.duration, len(self.contacts))

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
    def resume(self) -> None:
        """Take note that the arm stands elsewhere on its way, and that there was no contact."""

    @abstractmethod
    def place(self) -> Felt:
        """Find what was touched, and where."""

    @abstractmethod
    def record(self, felt: Felt) -> Contact:
        """Return the contact as the arm knows it; what really happened is told afterwards."""

    @abstractmethod
    def loudest(self, felt: Felt) -> float:
        """Return the instant at which it was felt most [s]."""

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
