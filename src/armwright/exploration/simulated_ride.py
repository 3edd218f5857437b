# SPDX-License-Identifier: Apache-2.0
"""`SimulatedRide`: a `Session` as a run drives it.

This is the only file of a run that knows of the loop, its log and its slots; what a run learns from it is what sensors
and observers say. The truth of the plant is in the recording alone, for whoever tells it afterwards (`truth_of`).

Time stands still outside `run` and `listen`: nothing has to be done after an alarm, so there is no reflex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armwright.contact.monitor_makers import FORCE
from armwright.dynamics import mass_matrix
from armwright.errors import InputError
from armwright.exploration.ride import ArmMeasured, Look, Passed, RideMoment, RideSamples, TouchFelt, Why
from armwright.exploration.ride_steps import glide, wait
from armwright.motion.trajectory import Reference

if TYPE_CHECKING:
    from armwright.exploration.ride import Reflex
    from armwright.motion import Trajectory
    from armwright.recording.recording import Recording
    from armwright.simulation.lanes import Lanes
    from armwright.simulation.session import Session
    from armwright.types import Array


def samples_since(session: Session, row: int, lane: int = 0) -> RideSamples:
    """Return what a session recorded of one simulation from a row on."""
    n, first = session.parts.n, _columns(session)
    rows = session.log.rows(row)[lane]
    at = first.get("measured", first["x"])
    return RideSamples(
        rows[:, 0],
        rows[:, at : at + n],
        rows[:, at + n : at + 2 * n],
        rows[:, first["tau"] : first["tau"] + n],
        rows[:, first["tau_ext"] : first["tau_ext"] + n],
    )


def _columns(session: Session) -> dict[str, int]:
    """Return the first column of every slot in a row."""
    plan, first, column = session.loop.plan, dict[str, int](), 0
    for name in plan.record:
        first[name] = column
        column += plan.slots[name]
    return first


class SimulatedRide:
    """A simulated arm; see `Ride` for what its members mean.

    Attributes:
        session: what is driven.
    """

    reflex: Reflex = "give way"
    lag = 0.0
    goes_on = True
    presses = True
    reason = ""

    def __init__(self, session: Session, noticed_force: float = FORCE) -> None:
        """Drive a session from where it stands: of one simulation, recorded at every tick, stopped by alarms only."""
        if session.count != 1 or session.every != 1 or session.parts.stops:
            raise InputError("a ride drives one simulation that records every tick and stops at nothing but alarms")
        self.session, self.noticed_force = session, noticed_force
        self.n, self.period = session.parts.n, session.parts.period

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.session.time

    def measured(self) -> ArmMeasured:
        """Return the newest sample of the sensors; the state itself where there are none, or not yet any sample."""
        session, n = self.session, self.n
        seen = session.parts.sensors is not None and session.tick > 0
        now = np.array((session.loop.get("measured") if seen else session.state)[0][: 2 * n])
        return ArmMeasured(now[:n], now[n:])

    def felt(self) -> TouchFelt:
        """Return what the observers said last; a wrench of NaN where none of them estimates it."""
        slots, wrench = self.session.loop.plan.slots, np.full(6, np.nan)
        if "wrench_ext" in slots:
            given = self.session.loop.get("wrench_ext")[0]
            wrench[:] = 0.0
            wrench[: len(given)] = given
        return TouchFelt(np.array(self.session.loop.get("tau_ext")[0]), wrench)

    @property
    def alarmed(self) -> bool:
        """Whether an alarm is on."""
        loop = self.session.loop
        return any(float(loop.get(name)[0, 0]) >= 0.0 for name in loop.plan.alarms)

    def moment(self) -> RideMoment:
        """Return the present: time stands still at an alarm."""
        return RideMoment(self.time, self.measured(), self.felt(), self.reference(), self.alarmed)

    def reference(self) -> Reference:
        """Return where the arm should be now."""
        return Reference(*(np.array(part[0]) for part in self.session.reference_at(np.array([self.time]))))

    def follow(self, motion: Trajectory | Reference) -> float:
        """Follow a motion from now on."""
        self.session.follow(motion)
        return self.session.time

    def run(self, seconds: float) -> Why:
        """Run until the time is over, or an alarm rises."""
        return cast(Why, self.session.run(max(seconds, self.period)))

    def listen(self, brake: float, seconds: float, every: float) -> tuple[Look, ...]:
        """Bring the reference to a stand and look meanwhile."""
        begun, looks, now = self.time, [self._look()], self.reference()
        self.follow(glide(now, now.q + 0.5 * brake * now.qd, np.zeros(self.n), brake))
        while self.time < begun + seconds - 0.5 * self.period:
            wait(self, max(every, self.period))
            looks.append(self._look())
        return tuple(looks)

    def _look(self) -> Look:
        return Look(self.time, self.measured().q, self.felt().tau_ext)

    def _row(self, instant: float) -> int:
        """Return the number of the first row from an instant on; a row is a tick."""
        return max(self.session.log.first, round(instant / self.period))

    def passed(self, since: float) -> Passed:
        """Return the rows from an instant on, as the sensors saw them."""
        session, n, row = self.session, self.n, self._row(since)
        first = _columns(session)
        at = first.get("measured", first["x"])
        rows, given = session.log.rows(row)[0], session.log.given(row)
        return Passed(rows[:, 0], rows[:, at : at + n], rows[:, at + n : at + 2 * n], given[:, 1 : 1 + n])

    def torques(self, seconds: float) -> Array:
        """Return the torques felt last."""
        return np.array(samples_since(self.session, self._row(self.time - seconds)).tau_ext)

    def gives_way(self, q: Array, tau: Array) -> Array | None:
        """Return K_0⁻¹ M⁻¹ tau by the controller's model; None if the law has no K_0."""
        parts = self.session.parts
        kp: Any = parts.law.gains.get("kp")
        if kp is None:
            return None
        model = parts.robot if parts.model is None else parts.model
        return np.asarray(np.linalg.solve(mass_matrix(model, q), tau) / np.broadcast_to(kp, np.shape(q)))

    def recording(self, outcome: str, **settings: Any) -> Recording:
        """Return everything recorded so far; q and qd are the plant's."""
        self.session.outcome = outcome
        return self.session.recording(**settings)

    def samples(self, since: float) -> RideSamples:
        """Return rows for learning errors of a model."""
        return samples_since(self.session, self._row(since))

    def believe(self, model: Lanes) -> None:
        """Go on with another model in law and observers."""
        self.session.believe(model)
