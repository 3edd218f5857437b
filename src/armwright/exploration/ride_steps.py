# SPDX-License-Identifier: Apache-2.0
"""What every run does with a `Ride`: go on, wait, hold, glide to another place; and how a ride that is over ends it.

A run never looks whether its ride still goes: `advance` raises `RideOverError` where it does not, and `followed`
raises `RideRefusedError` where a motion is not allowed. `ExplorationRun.drive` turns both into outcomes, so that map,
contacts and recording are kept wherever it happens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from armwright.errors import ArmwrightError, InputError
from armwright.exploration.ride import ENDED
from armwright.motion import Trajectory
from armwright.motion.trajectory import Reference

if TYPE_CHECKING:
    from armwright.exploration.ride import Ride, Why
    from armwright.types import Array

SETTLE = 0.5
"""Time in which the controlled arm comes to rest [s]: eleven time constants of its slowest joint (22.5 rad/s)."""


class RideOverError(ArmwrightError):
    """The arm was stopped, or is lost; `why` is the outcome."""

    def __init__(self, why: Why, reason: str) -> None:
        """Keep the word and the sentence about it."""
        super().__init__(f"{why}: {reason}" if reason else why)
        self.why, self.reason = why, reason


class RideRefusedError(InputError):
    """The ride refused a motion, and the arm stands; the text says why."""


def advance(ride: Ride, seconds: float) -> Literal["end", "alarm"]:
    """Go on for so long, or until an alarm; return which.

    Raises:
        RideOverError: the ride is over.
    """
    why = ride.run(seconds)
    if why in ENDED:
        raise RideOverError(why, ride.reason)
    return cast('Literal["end", "alarm"]', why)


def followed(ride: Ride, motion: Trajectory | Reference) -> float:
    """Follow a motion from now on; return the instant at which it begins [s].

    Raises:
        RideRefusedError: the ride does not allow it.
    """
    try:
        return ride.follow(motion)
    except InputError as error:
        raise RideRefusedError(str(error)) from error


def wait(ride: Ride, seconds: float) -> None:
    """Go on, whatever is felt; after a reflex that is to stand."""
    until = ride.time + seconds
    while ride.time < until - 0.5 * ride.period:
        advance(ride, until - ride.time)


def hold(ride: Ride) -> None:
    """Stand still where the arm is, pushing no further."""
    q = ride.measured().q
    followed(ride, Reference(q, np.zeros(len(q)), np.zeros(len(q))))
    wait(ride, SETTLE)


def glide(a: Reference, q1: Array, qd1: Array, seconds: float) -> Trajectory:
    """Return the cubic from the reference a (positions and velocities) to (q1, qd1) within `seconds`."""
    h = seconds
    d = (q1 - a.q) / h
    c2, c3 = (3.0 * d - 2.0 * a.qd - qd1) / h, (a.qd + qd1 - 2.0 * d) / (h * h)
    return Trajectory(np.array([0.0, h]), np.stack([a.q, a.qd, c2, c3])[None])
