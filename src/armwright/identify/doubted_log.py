# SPDX-License-Identifier: Apache-2.0
"""The load that an arm carries in a log, as it becomes known while the log goes on: doubt about an identified model.

`payload` weighs the load of a whole log. Here a filter (`armwright.contact.doubt`) reads the log once, as it would be
read while the arm moves, and says at every time the mass and how sure it is. What the model leaves on a log without
load is what the filter takes for noise (`log_unspanned`); where innovations are larger than that, the interval is
widened.

Degressive and load-dependent friction of the identified gears are taken out of the torque before; viscous and Coulomb
friction are the model's, and may be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.doubt.doubt_filter import DoubtFilter, Unspanned
from armwright.contact.doubt.doubt_learning import learned_unspanned
from armwright.contact.doubt.doubt_watch import DoubtWatch, residual_with, sample_ticks
from armwright.contact.doubt.model_errors import Doubts
from armwright.errors import InputError
from armwright.identify.even_ticks import Evenly
from armwright.identify.external_torque import LOG_OBSERVER_GAIN, OBSERVER_RATE
from armwright.identify.log_checks import check_log

if TYPE_CHECKING:
    from armwright.identify.current_log import Log
    from armwright.identify.identified import Identified
    from armwright.robot.model import Robot
    from armwright.types import Array

IDENTIFIED_DOUBTS = Doubts(mass=0.03, centre=0.005, gain=0.002, coulomb=0.2, viscous=0.2, dry=0.01, wet=0.01)
"""How wrong an identified model may be. Gains hardly: masses and friction were identified with them, so that their
error is in those already. Found on logs of a UR10e."""
TURNING = 0.01
"""Speed [rad/s] at which friction has turned its sign."""
BEGIN = 1.0
"""Time [s] in which the observer begins, which teaches nothing about noise."""


LogSignals = Callable[["Identified", "Log"], "tuple[Array, Array, Array, Array]"]
"""From a model and a log to even times (T,), q, q̇ and the torque (1, T, n) that the filter's arm is told."""


class LoadOverTime(NamedTuple):
    """A load as it becomes known.

    Attributes:
        t: (S,) [s] since the beginning of the log. mass, std: (S,) estimate and standard deviation [kg].
    """

    t: Array
    mass: Array
    std: Array

    def at(self, seconds: float) -> tuple[float, float, float]:
        """Return the mass at a time, and its 95 % interval [kg]."""
        if not self.t[0] <= seconds <= self.t[-1] + 1e-9:
            raise InputError(f"load: {seconds:g} s is not in the log, which has {self.t[-1]:g} s")
        k = int(np.searchsorted(self.t, seconds - 1e-9))
        m, s = float(self.mass[k]), float(self.std[k])
        return m, m - 1.96 * s, m + 1.96 * s


def load_over_time(identified: Identified, log: Log, unspanned: Unspanned) -> LoadOverTime:
    """Read a log once and say at every time what load the tool carries more than in the logs of the model.

    Args:
        identified: the model, identified without that load.
        log: as read.
        unspanned: of `log_unspanned`.

    Example:
        >>> load_over_time(model, log, log_unspanned(model, [free])).at(20.0)
    """
    dt = 1.0 / OBSERVER_RATE
    sample = sample_ticks(dt) * dt
    doubt = DoubtFilter(log_arm(identified), unspanned=unspanned, doubts=IDENTIFIED_DOUBTS, sample=sample)
    mass, std = DoubtWatch(doubt, dt, LOG_OBSERVER_GAIN).run(*log_signals(identified, log), None).load[0].T
    return LoadOverTime(sample * np.arange(1.0, len(mass) + 1.0), mass, std)


def log_unspanned(
    identified: Identified,
    logs: Sequence[Log],
    *,
    doubts: Doubts = IDENTIFIED_DOUBTS,
    signals: LogSignals | None = None,
) -> Unspanned:
    """Return what the model leaves on logs without load and contact, per joint.

    Args:
        identified: the model.
        logs: without load and contact.
        doubts: how wrong the model may be.
        signals: how a log is read, `log_signals` by default.
    """
    if not logs:
        raise InputError("log unspanned: no logs given")
    robot, dt, left, still = log_arm(identified), 1.0 / OBSERVER_RATE, [], []
    ticks = sample_ticks(dt)
    begin = round(BEGIN / (ticks * dt))
    for log in logs:
        read = (signals or log_signals)(identified, log)
        doubt = DoubtFilter(robot, doubts=doubts, sample=ticks * dt)
        stood = DoubtWatch(doubt, dt, LOG_OBSERVER_GAIN).run(*read, None).still
        e = residual_with(robot, doubt.theta, dt, LOG_OBSERVER_GAIN, *read)
        count = stood.shape[1]
        means = e[:, : count * ticks].reshape(1, count, ticks, robot.n).mean(axis=2)
        left.append(means[:, begin:])
        still.append(stood[:, begin:])
    return learned_unspanned(left, still, ticks * dt)


def log_arm(identified: Identified) -> Robot:
    """Return the identified arm with the viscous and Coulomb friction that the filter may doubt."""
    c = np.maximum(identified.friction.coefficients, 0.0)
    return identified.robot.with_friction(c[:, 0], c[:, 2])


def log_signals(identified: Identified, log: Log) -> tuple[Array, Array, Array, Array]:
    """Return even times from 0 (T,), and q, q̇ and the torque less what friction has besides (1, T, n) each."""
    check_log(log, identified.robot)
    t, q, qd, current = Evenly(OBSERVER_RATE).push(log.t, log.q, log.qd, log.current)
    tau, c = identified.motor_torque(q, qd, current), identified.friction.coefficients
    tau = tau - identified.friction.motors_without_memory(qd)
    besides = c[:, 1] * qd * np.abs(qd) + c[:, 3] * np.tanh(qd / TURNING) * np.abs(tau) + c[:, 4]
    return t - t[0], q[None], qd[None], (tau - besides)[None]
