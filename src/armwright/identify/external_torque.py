# SPDX-License-Identifier: Apache-2.0
"""The external torque in a log, from its currents: by a momentum observer, or by the direct method of 004.

`residuals` runs the momentum observer on even ticks (`Evenly`, `Ticking`), causally: a tick comes out as soon as a
sample at or after it has come in; after a pause the monitors restart. `learn_bands` learns from logs without contact
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
from armwright.contact.monitor_run import MonitorStream
from armwright.contact.observers.geared_momentum import geared_momentum_observer
from armwright.contact.wrench_estimate import tool_wrench
from armwright.errors import InputError
from armwright.identify.current_log import Log
from armwright.identify.felt_contacts import WELL_SEEN
from armwright.identify.filtered_log import GAP, even_samples
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


class Evenly:
    """Linear interpolation between the two samples around each tick; pieces of any size give the same bits."""

    def __init__(self, rate: float) -> None:
        """Set the ticks to ``first stamp + k/rate``."""
        if not (np.isfinite(rate) and rate > 0.0):
            raise InputError(f"even ticks: rate must be > 0, got {rate}")
        self.rate = float(rate)
        self._last: tuple[Array, ...] | None = None
        self._first = 0.0
        self._next = 0

    def push(self, t: Array, *signals: Array) -> tuple[Array, ...]:
        """Take the next stamps (k,) and signals (k, n); return the ticks that are now known, (m,) and (m, n)."""
        stamps = np.asarray(t, dtype=np.float64)
        parts = [np.asarray(s, dtype=np.float64) for s in signals]
        if not len(stamps):
            return (np.zeros(0), *(np.zeros((0, s.shape[1])) for s in parts))
        if self._last is None:
            self._first = float(stamps[0])
        else:
            stamps = np.concatenate([self._last[0], stamps])
            parts = [np.concatenate([old, new]) for old, new in zip(self._last[1:], parts, strict=True)]
        steps = np.diff(stamps)
        if not (steps > 0.0).all():
            k = int(np.argmin(steps))
            raise InputError(f"even ticks: stamps must rise, but {stamps[k + 1]:g} s follows {stamps[k]:g} s")
        self._last = (stamps[-1:], *(s[-1:] for s in parts))
        stop = int(np.floor((stamps[-1] - self._first) * self.rate)) + 2
        ticks = self._first + np.arange(self._next, stop) / self.rate
        ticks = ticks[ticks <= stamps[-1]]  # compared as numbers: no tick may depend on how many samples came at once
        self._next += len(ticks)
        if len(stamps) == 1:
            return (ticks, *(np.repeat(s, len(ticks), axis=0) for s in parts))
        before = np.clip(np.searchsorted(stamps, ticks, side="left") - 1, 0, len(stamps) - 2)
        share = ((ticks - stamps[before]) / (stamps[before + 1] - stamps[before]))[:, None]
        return (ticks, *(s[before] + share * (s[before + 1] - s[before]) for s in parts))


class Ticking:
    """Monitors fed with uneven samples of motion and torque; they restart after every pause longer than `GAP`."""

    def __init__(self, monitors: Monitor | Sequence[Monitor], robot: Robot, rate: float) -> None:
        """Compile the monitors for ticks at `rate` [Hz]."""
        self._monitors = MonitorStream(monitors, robot, 1.0 / rate)
        self._even = Evenly(rate)
        self._last: float | None = None

    def push(self, t: Array, q: Array, qd: Array, tau: Array) -> tuple[Array, Array, dict[str, Array]]:
        """Take the next samples, t (k,) and (k, n); return the ticks (m,), q there (m, n) and the outputs by name."""
        before = t[:1] if self._last is None else np.array([self._last])
        cuts = np.flatnonzero(np.diff(np.concatenate([before, t])) > GAP) if len(t) else np.zeros(0, dtype=int)
        parts = []
        for start, stop in zip([0, *cuts], [*cuts, len(t)], strict=True):
            if start in cuts:
                self._monitors.reset()
                self._even = Evenly(self._even.rate)
            rows = slice(int(start), int(stop))
            ticks, at, speed, torque = self._even.push(t[rows], q[rows], qd[rows], tau[rows])
            parts.append((ticks, at, self._monitors.push(ticks, at, speed, torque)))
        if len(t):
            self._last = float(t[-1])
        names = parts[0][2]
        out = {name: np.concatenate([part[2][name] for part in parts]) for name in names}
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), out


OBSERVER_RATE = 100.0
"""[Hz] of the observer's ticks."""
LOG_OBSERVER_GAIN = 20.0
"""[1/s] gain of the momentum observer: 63 % of a contact after 50 ms."""
DEVIATIONS = 9.0
"""Band of a moving joint, in residual deviations of contact-free motion: residuals are ripple, not Gaussian noise,"""
SEEN_TORQUE_FACTOR = 1.3
"""and at least this many times the largest that was seen."""


def observer_of(identified: Identified, gain: float = LOG_OBSERVER_GAIN) -> Monitor:
    """Return the momentum observer with the friction that was identified."""
    return geared_momentum_observer(gain, identified.friction.coefficients, dahl=identified.friction.dahl)


def detector_of(identified: Identified, bands: Bands) -> Monitor:
    """Return the detector with the bands that were learned."""
    c = np.maximum(identified.friction.coefficients, 0.0)
    return friction_band_detector(bands.motion, c[:, 2], c[:, 3], rest_factor=bands.rest)


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
        v[:, model.rank : model.rank + len(TERMS) - 1] = 0.0
    parts = [
        (part.t, identified.gains * np.einsum("tjm,jm->tj", part.columns, v), part.moving)
        for part in chunks(prepared, model, beta, dahl=identified.friction.dahl)
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
