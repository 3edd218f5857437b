# SPDX-License-Identifier: Apache-2.0
"""The external torque of a log as a momentum observer sees it, and bands learned from logs without contact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.detectors.friction_band import SETTLING, friction_band_detector
from armwright.contact.observers.geared_momentum import geared_momentum_observer
from armwright.errors import InputError
from armwright.identify.bands import REST, Bands
from armwright.identify.checks import check_log
from armwright.identify.even import Ticking
from armwright.identify.identified import Identified, Load, PayloadEstimate, payload_parameters
from armwright.identify.log import Log

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.contact.monitor import Monitor
    from armwright.robot.model import Robot
    from armwright.types import Array

RATE = 100.0
"""[Hz] of the observer's ticks."""
OBSERVER = 20.0
"""[1/s] gain of the momentum observer: 63 % of a contact after 50 ms."""
DEVIATIONS = 9.0
"""Band of a moving joint, in residual deviations of contact-free motion: residuals are ripple, not Gaussian noise,"""
BEYOND = 1.3
"""and not less than this many times the largest that was seen."""


def observer_of(identified: Identified, gain: float = OBSERVER) -> Monitor:
    """The momentum observer with the friction that was identified."""
    return geared_momentum_observer(gain, identified.friction.coefficients, dahl=identified.friction.dahl)


def detector_of(identified: Identified, bands: Bands) -> Monitor:
    """The detector with the bands that were learned."""
    c = np.maximum(identified.friction.coefficients, 0.0)
    return friction_band_detector(bands.motion, c[:, 2], c[:, 3], rest_factor=bands.rest)


def carrying(identified: Identified, payload: PayloadEstimate | ArrayLike | None) -> Robot:
    """The identified arm with a payload (10,) in the frame of the tool's link (`PayloadEstimate.parameters`)."""
    if payload is None:
        return identified.robot
    from armwright.dynamics.regressor import parameters

    p = parameters(identified.robot).copy()
    at = 10 * identified.robot.tip
    p[at : at + 10] += payload_parameters(payload)
    return identified.robot.with_parameters(p)


def point_mass(identified: Identified, mass: float) -> Array:
    """Parameters (10,) of a mass [kg] at the tool point, in the frame of the tool's link."""
    Load(mass)  # refuses a mass that nothing has
    c = identified.robot.T_tip_tool[:3, 3]
    inertia = np.dot(c, c) * np.eye(3) - np.outer(c, c)
    return np.asarray(mass * np.array([1.0, *c, *inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]))


@dataclass(frozen=True, eq=False)
class Residual:
    """What an observer makes of a log, K ticks.

    Attributes:
        t: (K,) [s]. tau_ext: (K, n) external torque [N m]. q: (K, n).
        moving: (K, n) joints that have moved long enough for their friction to be known.
    """

    t: Array
    tau_ext: Array
    q: Array
    moving: Any

    @property
    def rms(self) -> Array:
        """Noise of a contact-free log, moving joints (n,) [N m]; NaN for joints that never move."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.sqrt(np.sum(self.tau_ext**2 * self.moving, axis=0) / np.sum(self.moving, axis=0)))


@names_culprit
def residuals(
    identified: Identified, log: Log, *, payload: PayloadEstimate | ArrayLike | None = None, gain: float = OBSERVER
) -> Residual:
    """Observe the external torque of a whole log, causally: momentum observer, friction with memory and load.

    Args:
        identified: the model.
        log: as read.
        payload: what the tool carries: a `PayloadEstimate` or its (10,) parameters.
        gain: of the observer [1/s].
    """
    check_log(log, identified.robot)
    ticking = Ticking(observer_of(identified, gain), carrying(identified, payload), RATE)
    t, q, out = ticking.push(log.t, log.q, log.qd, log.current * identified.gains)
    return Residual(t, out["tau_ext"], q, _settled(t, out["resting"] > 0.0))


def _settled(t: Array, resting: Any) -> Any:
    """Mark what lies more than `SETTLING` behind a rest, or behind the beginning of an unbroken part, (K, n)."""
    ticks = int(SETTLING * RATE) + 1
    begins = np.concatenate([[True], np.diff(t) > 1.5 / RATE])
    count = np.cumsum(resting | begins[:, None], axis=0)
    before = np.concatenate([np.zeros((ticks, resting.shape[1])), count])[: len(t)]
    return count == before


@names_culprit
def learn_bands(
    identified: Identified,
    logs: Log | Sequence[Log],
    *,
    payloads: Sequence[PayloadEstimate | ArrayLike | None] | None = None,
    deviations: float = DEVIATIONS,
    rest: float = REST,
) -> Bands:
    """Learn from logs without contact how large the external torque of a moving joint gets; no other signal is needed.

    Args:
        identified: the model.
        logs: without contact; the training logs will do.
        payloads: one a log: a `PayloadEstimate` or its (10,) parameters, or None; by default what the fit found in the
            logs of these names.
        deviations: band in residual deviations.
        rest: band of resting joints in Coulomb bands.
    """
    many = (logs,) if isinstance(logs, Log) else tuple(logs)
    own = {p.log: p for p in identified.payloads}
    carried = tuple(payloads) if payloads is not None else tuple(own.get(log.name) for log in many)
    if not many or len(carried) != len(many):
        raise InputError(f"learn_bands: {len(many)} logs and {len(carried)} payloads; give at least one log, one each")
    squares, count, largest = np.zeros(identified.n), np.zeros(identified.n), np.zeros(identified.n)
    for log, load in zip(many, carried, strict=True):
        found = residuals(identified, log, payload=load)
        squares += np.sum(found.tau_ext**2 * found.moving, axis=0)
        count += np.sum(found.moving, axis=0)
        largest = np.maximum(largest, np.max(np.abs(found.tau_ext) * found.moving, axis=0, initial=0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        sigma = np.sqrt(squares / count)
    # a joint that never moved has shown nothing: its Coulomb friction is what it may be wrong by
    unseen = rest * np.maximum(identified.friction.coefficients[:, 2], 1e-3)
    motion = np.where(count > 0, np.maximum(deviations * sigma, BEYOND * largest), unseen)
    return Bands(sigma, largest, motion, rest, float(sum(log.duration for log in many)))


def with_bands(identified: Identified, bands: Bands) -> Identified:
    """The model with bands to feel by."""
    return replace(identified, bands=bands)
