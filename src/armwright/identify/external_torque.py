# SPDX-License-Identifier: Apache-2.0
"""The external torque in a log, from its currents: by a momentum observer, or by the direct method of 004.

`residuals` runs the momentum observer on even ticks (even_ticks.py), causally: a tick comes out as soon as a sample at
or after it has come in; after a pause the monitors restart. `learn_bands` learns from logs without contact
how large the residual gets. `direct_residuals` takes measured minus modelled torque, offline. `tool_wrenches` turns
either into wrenches at the tool.

The thesis writes F = J⁻ᵀ(k i + b − τ_μ [− τ_fr]) (6.8, 6.9), what the **arm** exerts; here, as everywhere in this
library, it is what the **world** does to the arm, the negative of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.detectors.friction_band import SETTLING_SECONDS, friction_band_detector
from armwright.contact.felt_wrench import felt_wrench_monitor
from armwright.contact.observers.geared_momentum import geared_momentum_observer
from armwright.contact.wrench_estimate import tool_wrench
from armwright.errors import InputError
from armwright.identify.current_log import Log
from armwright.identify.even_ticks import Ticking
from armwright.identify.felt_contacts import WELL_SEEN
from armwright.identify.filtered_log import even_samples
from armwright.identify.gear_friction import TERMS
from armwright.identify.gram_matrices import chunks
from armwright.identify.identifiable import structure
from armwright.identify.identified import (
    RESTING_BAND_FACTOR,
    Bands,
    Identified,
    Load,
    PayloadEstimate,
    payload_parameters,
)
from armwright.identify.log_checks import check_log
from armwright.identify.position_friction import filtered_torque
from armwright.kinematics import condition_number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.contact.monitor import Monitor
    from armwright.robot.model import Robot
    from armwright.types import Array


OBSERVER_RATE = 100.0
"""[Hz] of the observer's ticks."""
LOG_OBSERVER_GAIN = 20.0
"""[1/s] gain of the momentum observer: 63 % of a contact after 50 ms."""
DEVIATIONS = 9.0
"""Band of a moving joint, in residual deviations of contact-free motion: residuals are ripple, not Gaussian noise,"""
SEEN_TORQUE_FACTOR = 1.3
"""and at least this many times the largest that was seen."""

LEAST_TORQUE_DEVIATION = 1e-3
"""[N m] Nothing is known better."""


def observer_of(identified: Identified, gain: float = LOG_OBSERVER_GAIN) -> Monitor:
    """Return the momentum observer with the friction that was identified."""
    friction = identified.friction
    return geared_momentum_observer(
        gain,
        friction.coefficients,
        dahl=friction.travel,
        motors=np.concatenate([friction.turned, friction.of_motors], axis=1),
    )


def detector_of(identified: Identified, bands: Bands) -> Monitor:
    """Return the detector with the bands that were learned."""
    c = np.maximum(identified.friction.coefficients, 0.0)
    return friction_band_detector(bands.motion, c[:, 2], c[:, 3], rest_factor=bands.rest)


def wrench_of(identified: Identified, bands: Bands, gain: float = LOG_OBSERVER_GAIN) -> Monitor:
    """Return the estimate of the tool's wrench, with its interval, that goes with `observer_of`."""
    c = np.maximum(identified.friction.coefficients, 0.0)
    # a joint that never moved has shown no ripple: it may be anything that its friction hides
    sigma = np.where(np.isfinite(bands.sigma), bands.sigma, c[:, 2])
    return felt_wrench_monitor(np.maximum(sigma, LEAST_TORQUE_DEVIATION), c[:, 2], c[:, 3], gain)


def carrying(identified: Identified, payload: PayloadEstimate | ArrayLike | None) -> Robot:
    """Return the identified arm with a payload (10,) in the frame of the tool's link (`PayloadEstimate.parameters`)."""
    if payload is None:
        return identified.robot
    from armwright.dynamics.regressor import parameters

    p = parameters(identified.robot).copy()
    at = 10 * identified.robot.tip
    p[at : at + 10] += payload_parameters(payload)
    return identified.robot.with_parameters(p)


def point_mass(identified: Identified, mass: float, com: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    """Return the parameters (10,), in the frame of the tool's link, of a mass [kg] at `com` (3,) [m], tool frame."""
    Load(mass)  # refuses an impossible mass
    T = identified.robot.T_tip_tool
    c = T[:3, 3] + T[:3, :3] @ np.asarray(com, dtype=np.float64)
    inertia = np.dot(c, c) * np.eye(3) - np.outer(c, c)
    return np.asarray(mass * np.array([1.0, *c, *inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]))


@dataclass(frozen=True, eq=False)
class Residual:
    """External torque of a log by an observer, K ticks.

    Attributes:
        t: (K,) [s]. tau_ext: (K, n) external torque [N m]. q: (K, n).
        moving: (K, n) joints that have moved long enough for their friction to be known.
    """

    t: Array
    tau_ext: Array
    q: Array
    moving: NDArray[np.bool_]

    @property
    def rms(self) -> Array:
        """Return the noise (n,) [N m] of a contact-free log while each joint moves; NaN for joints that never move."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.sqrt(np.sum(self.tau_ext**2 * self.moving, axis=0) / np.sum(self.moving, axis=0)))


@names_culprit
def residuals(
    identified: Identified,
    log: Log,
    *,
    payload: PayloadEstimate | ArrayLike | None = None,
    gain: float = LOG_OBSERVER_GAIN,
) -> Residual:
    """Observe the external torque of a whole log, causally: momentum observer, friction with memory and load.

    Args:
        identified: the model.
        log: as read.
        payload: what the tool carries: a `PayloadEstimate` or its (10,) parameters.
        gain: of the observer [1/s].

    Example:
        >>> residuals(model, log).tau_ext  # (K, n) [N m]
    """
    check_log(log, identified.robot)
    ticking = Ticking(observer_of(identified, gain), carrying(identified, payload), OBSERVER_RATE)
    t, q, out = ticking.push(log.t, log.q, log.qd, identified.motor_torque(log.q, log.qd, log.current))
    return Residual(t, out["tau_ext"], q, _settled(t, out["resting"] > 0.0))


def _settled(t: Array, resting: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark what lies more than `SETTLING_SECONDS` after a rest, or after the beginning of an unbroken part, (K, n)."""
    ticks = int(SETTLING_SECONDS * OBSERVER_RATE) + 1
    begins = np.concatenate([[True], np.diff(t) > 1.5 / OBSERVER_RATE])
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
    rest: float = RESTING_BAND_FACTOR,
) -> Bands:
    """Learn from logs without contact how large the external torque of a moving joint gets; no other signal is needed.

    Args:
        identified: the model.
        logs: without contact; the training logs will do.
        payloads: one per log: a `PayloadEstimate` or its (10,) parameters, or None; by default what the fit found
            in the logs of these names.
        deviations: band in residual deviations.
        rest: band of resting joints in Coulomb bands.

    Example:
        >>> model = with_bands(model, learn_bands(model, free_logs))
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
    motion = np.where(count > 0, np.maximum(deviations * sigma, SEEN_TORQUE_FACTOR * largest), unseen)
    return Bands(sigma, largest, motion, rest, float(sum(log.duration for log in many)))


def with_bands(identified: Identified, bands: Bands) -> Identified:
    """Return the model with bands to feel by.

    Example:
        >>> model = with_bands(model, learn_bands(model, free_logs))
    """
    return replace(identified, bands=bands)


@names_culprit
def direct_residuals(
    identified: Identified,
    log: Log,
    *,
    friction: bool = True,
    payload: PayloadEstimate | ArrayLike | None = None,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
) -> Residual:
    """Return the external torque of a log from its accelerations (004 eq. 6.9), filtered without delay.

    Args:
        identified: the model.
        log: as read.
        friction: False leaves friction in the estimate (004 eq. 6.8; the offset is taken off in both).
        payload: what the tool carries: a `PayloadEstimate` or its (10,) parameters.
        rate: of the even samples [Hz].
        cutoff: of the low-pass [Hz], None without.

    Example:
        >>> direct_residuals(model, log, cutoff=5.0).tau_ext  # (K, n) [N m]
    """
    check_log(log, identified.robot)
    prepared = even_samples(log, rate=rate, cutoff=cutoff)
    model = structure(identified.robot)
    beta = identified.beta if payload is None else identified.beta + model.loads @ payload_parameters(payload)
    v = identified.vectors(beta)
    if not friction:
        offset = model.rank + len(TERMS) - 1
        v[:, model.rank : offset] = 0.0
        v[:, offset + 1 : -1] = 0.0
    parts = [
        (part.t, identified.gains * np.einsum("tjm,jm->tj", part.columns, v), part.moving)
        for part in chunks(prepared, model, beta, dahl=identified.friction.travel)
    ]
    q = np.concatenate([piece.q for piece in prepared.pieces])
    t, tau, moving = (np.concatenate(column) for column in zip(*parts, strict=True))
    if friction and identified.position is not None:
        tau = tau + filtered_torque(identified.position, prepared)
    return Residual(t, tau, q, moving)


@dataclass(frozen=True, eq=False)
class Wrenches:
    """Wrenches at the tool along a log, K instants.

    Attributes:
        t: (K,). wrench: (K, 6) [f; n] that the world exerts, base axes, at the tool's origin.
        condition: (K,) of the Jacobian. valid: (K,) False near singularities: do not use the wrench there.
    """

    t: Array
    wrench: Array
    condition: Array
    valid: NDArray[np.bool_]


@names_culprit
def tool_wrenches(identified: Identified, felt: Residual, *, force_only: bool = False) -> Wrenches:
    """Return external torques as wrenches at the tool: J⁻ᵀ tau_ext, where the Jacobian allows it.

    Args:
        identified: the model.
        felt: of `residuals` or `direct_residuals`.
        force_only: take the moment for zero.

    Example:
        >>> tool_wrenches(model, residuals(model, log)).wrench  # (K, 6) [N, N m]
    """
    found = tool_wrench(identified.robot, felt.q, felt.tau_ext, force_only=force_only)
    condition = np.asarray(condition_number(identified.robot, felt.q))
    return Wrenches(felt.t, found.wrench, condition, condition < WELL_SEEN)
