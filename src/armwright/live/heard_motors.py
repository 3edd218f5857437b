# SPDX-License-Identifier: Apache-2.0
"""`HeardMotors`: what the motors of a robot that is listened to do now, by its targets and by its currents.

Use by targets is that of `MotorMonitor`: the torque that the controller's targets take of the arm as described, over
the torque at hand, or their speed over the speed limit, whichever is more. With an identified model the currents tell
a second one, of the torque that the motors really give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.programs.motors.motor_monitor import DONE, MotorMonitor, Reading
from armwright.programs.outcome.program_execution import basis_of

if TYPE_CHECKING:
    from armwright.identify.identified import Identified
    from armwright.live.wire_ear import HeardSample
    from armwright.robot.model import Robot
    from armwright.types import Array


class HeardMotors:
    """Motors of one robot.

    Attributes:
        basis: what the use is of, the most telling that the sheet has; see `basis_of`.
        counts: samples by outcome, in the words of `MotorMonitor`. use: (n,) by targets, NaN before the second sample.
        given: (n,) torque by currents over the torque at hand; NaN without a model.
    """

    def __init__(self, robot: Robot, period: float, identified: Identified | None = None) -> None:
        """Compile for samples that are `period` [s] apart."""
        self.basis = basis_of(robot)
        self._monitor = MotorMonitor(robot, period, basis=self.basis)
        self._identified = identified
        self._fastest = np.array([joint.limits.velocity for joint in robot.joints])
        self.counts = self._monitor.counts
        self.use = self.given = np.full(robot.n, np.nan)

    def take(self, sample: HeardSample) -> Reading:
        """Take one sample."""
        reading = self._monitor(sample.stamp, sample.target_q)
        if reading.status in DONE:
            self.use = np.fmax(reading.use, np.abs(reading.qd) / self._fastest)
            if self._identified is not None:
                torque = self._identified.motor_torque(sample.q, sample.qd, sample.current)
                with np.errstate(divide="ignore", invalid="ignore"):
                    self.given = np.abs(torque) / reading.limit
        return reading


def most_used(use: Array) -> int | None:
    """Return the joint that is nearest its limit; None where nothing is known."""
    known = np.where(np.isfinite(use), use, -1.0)
    return int(known.argmax()) if (known >= 0.0).any() else None
