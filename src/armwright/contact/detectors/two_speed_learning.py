# SPDX-License-Identifier: Apache-2.0
"""Thresholds of a two-speed detector from contact-free runs: half of the stated false alarms for either channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors.gathered import Runs, runs_of
from armwright.contact.detectors.latch import RELEASE
from armwright.contact.detectors.learning import CONFIDENCE, MOTIONS, RATE, Raised, motions, raised_envelope
from armwright.contact.detectors.rehearsed import Rehearsed, rehearsed
from armwright.contact.detectors.two_speed import WIDEN, TwoSpeed, channel_monitor, two_speed_detector
from armwright.contact.monitor import Monitor
from armwright.contact.offline import run_monitors
from armwright.dynamics import gravity_torque
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion.reference import Reference
    from armwright.robot.model import Robot
    from armwright.types import Array

_GIVEN = Monitor("given", lambda tau: {"tau_ext": tau}, outputs=("tau_ext",))


@dataclass(frozen=True, eq=False)
class TwoSpeedFit:
    """Learned thresholds of both channels.

    Attributes:
        quick, slowly: coefficients, margin, and false alarms on runs that were not fitted, of either channel.
        kind: bandwidths and times.
        rate: false alarms per hour of both channels together that are not exceeded, with `confidence`.
        rehearsed: positions and speeds of the motions that this was learned from.
    """

    quick: Raised
    slowly: Raised
    kind: TwoSpeed
    rate: float
    confidence: float
    rehearsed: Rehearsed

    def detector(self, *, release: float = RELEASE) -> Monitor:
        """The two-speed detector with these thresholds."""
        return two_speed_detector(self.quick.coefficients, self.slowly.coefficients, kind=self.kind, release=release)


def learn_two_speed(
    tau_ext: ArrayLike | Sequence[ArrayLike],
    ref: Reference | Sequence[Reference],
    dt: float,
    robot: Robot,
    *,
    kind: TwoSpeed | None = None,
    rate: float = RATE,
    confidence: float = CONFIDENCE,
) -> TwoSpeedFit:
    """Learn a two-speed detector from an observer's output on contact-free runs; arguments as `learn_thresholds`."""
    if not (dt > 0.0 and rate > 0.0 and 0.5 <= confidence < 1.0):
        raise InputError(
            f"learn two-speed: need dt > 0, rate > 0 and 0.5 ≤ confidence < 1, got {dt}, {rate} and {confidence}"
        )
    chosen = kind or TwoSpeed()
    stacks, refs = motions(tau_ext, ref)
    least = 2 if len(stacks) < MOTIONS else 1
    runs = [channel_runs(x, r, dt, robot, chosen, least) for x, r in zip(stacks, refs, strict=True)]
    return two_speed_from(runs, refs, dt, kind=chosen, rate=rate, confidence=confidence)


def two_speed_from(
    runs: Sequence[tuple[Runs, Runs]],
    refs: Sequence[Reference],
    dt: float,
    *,
    kind: TwoSpeed,
    rate: float = RATE,
    confidence: float = CONFIDENCE,
) -> TwoSpeedFit:
    """Learn a two-speed detector from runs as `channel_runs` returns them, merged or not; one entry per motion."""
    sure = 1.0 - 0.5 * (1.0 - confidence)  # of either channel, so that both hold with the confidence that is asked for
    options: dict[str, Any] = {"rate": 0.5 * rate, "confidence": sure, "each": True}
    quick, slowly = (raised_envelope([pair[k] for pair in runs], dt, **options) for k in (0, 1))
    return TwoSpeedFit(quick, slowly, kind, rate, confidence, rehearsed(refs))


def channel_runs(
    tau_ext: ArrayLike, ref: Reference, dt: float, robot: Robot, kind: TwoSpeed, least: int = 1
) -> tuple[Runs, Runs]:
    """Return the quick and the slow channel of what an observer said on runs (B, T, n) of one motion."""
    x = np.asarray(tau_ext, dtype=np.float64)
    if x.ndim != 3 or len(x) < least or x.shape[1] < 2:
        raise InputError(
            f"learn two-speed: tau_ext must be (B, T, n) with B ≥ {least} runs, finite; got shape {x.shape}"
        )
    wide = _widened(ref, robot, dt, kind.standstill)
    if wide.shape[-2:] != x.shape[-2:] or wide.shape[1] not in (1, len(x)):
        raise InputError(f"learn two-speed: runs of shape {x.shape} for references of {wide.shape[1:]}")
    chain, time = [_GIVEN, channel_monitor(kind)], dt * np.arange(x.shape[1])
    out = run_monitors(chain, robot, time, x, x, x, ref, keep=("quick", "slowly"))
    return runs_of(np.abs(out["quick"]), wide), runs_of(np.abs(out["slowly"]), wide)


def _widened(ref: Reference, robot: Robot, dt: float, standstill: float) -> Array:
    """Features (4, B or 1, T, n) behind the filter of the thresholds, which starts at rest at the first of them."""
    from scipy.signal import lfilter  # imported here: tenths of a second that few calls need

    speed = np.abs(np.asarray(ref.qd, dtype=np.float64))
    parts: list[Any] = [speed, np.abs(ref.qdd), np.abs(gravity_torque(robot, ref.q))]
    x = np.stack([*parts, np.maximum(1.0 - speed / standstill, 0.0)])
    x = x if x.ndim == 4 else x[:, None]
    keep = np.exp(-WIDEN * dt)
    return np.asarray(lfilter([1.0 - keep], [1.0, -keep], x, axis=2, zi=keep * x[:, :, :1])[0])
