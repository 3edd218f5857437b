# SPDX-License-Identifier: Apache-2.0
"""A virtual hand at the force sensor: half-sines of force in base axes, no moment about the sensor.

Pushes are told as lines of text, ``begin seconds fx fy fz``, with `begin` in seconds of the controller's clock; one
that lies in the past is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.lab.flange_sensing import FT_AT

if TYPE_CHECKING:
    from armwright.lab.flange_sensing import FeltWrench
    from armwright.lab.lab_plant import LabPlant
    from armwright.types import Array

MOST_FORCE, MOST_SECONDS, MOST_PUSHES = 500.0, 60.0, 1000


class HandPush(NamedTuple):
    """F(t) = force · sin(π (t − begin)/seconds); controller time [s], force (3,) [N] on the arm, base axes."""

    begin: float
    seconds: float
    force: tuple[float, float, float]

    def at(self, t: float) -> Array:
        """Return the force (3,) at controller time t."""
        share = (t - self.begin) / self.seconds
        return np.sin(np.pi * share) * np.array(self.force) if 0.0 < share < 1.0 else np.zeros(3)


def push(begin: float, seconds: float, fx: float, fy: float, fz: float) -> HandPush:
    """Return a push, checked."""
    numbers = np.array([begin, seconds, fx, fy, fz])
    if not np.isfinite(numbers).all() or not 0.0 < seconds <= MOST_SECONDS or np.abs(numbers[2:]).max() > MOST_FORCE:
        raise InputError(
            f"push: five finite numbers (begin, seconds, fx, fy, fz), up to {MOST_SECONDS:g} s and {MOST_FORCE:g} N, "
            f"got {numbers.tolist()}"
        )
    return HandPush(begin, seconds, (fx, fy, fz))


def push_of(line: str) -> HandPush:
    """Return the push that a line of text describes."""
    try:
        numbers = [float(word) for word in line.split()]
    except ValueError:
        numbers = []
    if len(numbers) != 5:
        raise InputError(f"push: expected begin, seconds, fx, fy, fz as five numbers, got {line[:80]!r}")
    return push(*numbers)


class Hand:
    """Pushes an arm; called every tick like a sensor, and acts on the next one."""

    def __init__(self, plant: LabPlant) -> None:
        self._plant, self._pushes = plant, list[HandPush]()
        self._to_link = np.linalg.inv(plant.robot.T_tip_tool)[:3, 3]
        self._busy = False

    def add(self, one: HandPush) -> None:
        """Plan a push."""
        if len(self._pushes) >= MOST_PUSHES:
            raise InputError(f"hand: at most {MOST_PUSHES} pushes can be planned")
        self._pushes.append(one)

    def __call__(self, ticks: int, felt: FeltWrench) -> None:
        """Push as planned."""
        t = ticks * 0.002
        self._pushes = [p for p in self._pushes if p.begin + p.seconds > t]
        if not any(p.begin < t for p in self._pushes):
            if self._busy:
                self._plant.push(self._plant.robot.tip, np.zeros(6))
                self._busy = False
            return
        self._busy = True
        force = np.sum([p.at(t) for p in self._pushes], axis=0)
        R = self._plant.flange()[:3, :3]
        lever = R @ (FT_AT - self._to_link)  # from the link's origin, where pushes are told, to the sensor
        self._plant.push(self._plant.robot.tip, np.concatenate([force, np.cross(lever, force)]))
