# SPDX-License-Identifier: Apache-2.0
"""`LiveFeeling`: contacts on a robot that is listened to, as they begin and when they have ended.

Torque, wrench and alarm are those of `Feeler`, the numbers of `armwright feel` on a recording of the same samples. When
an alarm ends, its link is looked for among the ticks that are still remembered.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.identify.external_torque import LOG_OBSERVER_GAIN
from armwright.identify.feeling import Feeler, FeltTick
from armwright.identify.felt_contacts import FoundContact, Ticks, contacts_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.identify.identified import Identified, PayloadEstimate
    from armwright.live.wire_ear import HeardSample

BEFORE_TICKS = 40  # ticks before an alarm that are remembered: its peak, and the level before it
MOST_TICKS = 6000  # of one contact: a minute; of a longer one the first minute is examined
_FLAT = ("tau_ext", "band", "resting")


class TouchBegun(NamedTuple):
    """An alarm has begun: when [s], the joint that is loaded most against its band, and how far beyond [-]."""

    time: float
    joint: str
    level: float


class TouchEnded(NamedTuple):
    """An alarm has ended, and what it was; None where its beginning was not heard."""

    time: float
    contact: FoundContact | None


LiveEvent = TouchBegun | TouchEnded


class LiveFeeling:
    """Feels one robot.

    Attributes:
        feeler: what feels; its `counts` say what the wire did. now: the newest tick, None before the first.
        contacts: that have ended, so far.
    """

    def __init__(
        self,
        identified: Identified,
        *,
        payload: PayloadEstimate | ArrayLike | None = None,
        gain: float = LOG_OBSERVER_GAIN,
    ) -> None:
        """Compile for an arm; arguments as `armwright.identify.feel`."""
        self.feeler = Feeler(identified, payload=payload, gain=gain)
        assert identified.bands is not None
        self._identified, self._bands = identified, identified.bands
        self.now: FeltTick | None = None
        self.contacts = 0
        self._before: deque[FeltTick] = deque(maxlen=BEFORE_TICKS)
        self._during: list[FeltTick] = []
        self._restarts = 0
        for _ in range(3):  # what compiles or loads at first use does so before anybody waits
            zero = np.zeros(identified.n)
            Feeler(identified, payload=payload, gain=gain).take(0.0, zero, zero, zero)

    def take(self, sample: HeardSample) -> list[LiveEvent]:
        """Take one sample; return what has begun or ended with it."""
        if len(sample.q) != self._identified.n:
            raise InputError(f"the robot has {len(sample.q)} joints, the model {self._identified.n}")
        out: list[LiveEvent] = []
        ticks = self.feeler.take(sample.stamp, sample.q, sample.qd, sample.current)
        if self.feeler.counts["restart"] > self._restarts:  # another stream: nothing before it counts
            self._restarts = self.feeler.counts["restart"]
            if self._during:
                out.append(self._ended())
            self._before.clear()
        for tick in ticks:
            was = bool(self._during)
            self.now = tick
            if tick.alarm:
                if not was:
                    out.append(self._begun(tick))
                if len(self._during) < MOST_TICKS:
                    self._during.append(tick)
            else:
                if was:
                    out.append(self._ended())
                self._before.append(tick)
        return out

    def finish(self) -> list[LiveEvent]:
        """End a contact that lasts; for the end of listening."""
        return [self._ended()] if self._during else []

    def _begun(self, tick: FeltTick) -> TouchBegun:
        k = int(np.argmax(np.abs(tick.of("tau_ext")) / tick.of("band")))
        return TouchBegun(tick.t, self._identified.robot.joints[k].name, tick.level)

    def _ended(self) -> TouchEnded:
        last, rows = self._during[-1], [*self._before, *self._during]
        self._during = []
        self._before.clear()
        self.contacts += 1
        found = contacts_of(self._identified, self._bands, _table(rows))
        return TouchEnded(last.t, found[-1] if found else None)


def _table(rows: list[FeltTick]) -> Ticks:
    """Return ticks as `contacts_of` takes them."""
    flat = {name: np.array([row.of(name) for row in rows]) for name in (*_FLAT, "wrench", "half")}
    return Ticks(
        t=np.array([row.t for row in rows]),
        q=np.array([row.q for row in rows]),
        level=np.array([row.level for row in rows]),
        alarm=np.array([row.alarm for row in rows]),
        covariance=np.array([row.of("covariance").reshape(6, 6) for row in rows]),
        seen=np.array([row.of("seen")[0] for row in rows]),
        **flat,
    )
