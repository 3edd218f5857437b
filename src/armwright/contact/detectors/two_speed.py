# SPDX-License-Identifier: Apache-2.0
"""A quick and a slow channel in one detector: impacts within milliseconds, and contacts that only grow.

Errors of the model last: they are an offset that wanders as the arm moves. What a contact adds is a change. So the
offset is followed, b ← b + (tau_ext − b)(1 − e^(−follow·dt)), and two channels look at what is left:

    quick: x = tau_ext − b           slow: y ← y + (x − y)(1 − e^(−slow·dt))

Each has thresholds of its own,

    a + b|q̇_ref| + c|q̈_ref| + d|g(q_ref)| + e max(0, 1 − |q̇_ref|/standstill),

the last term because friction is not known while a joint stands: without it the sticking joint sets the threshold of
the moving one. Thresholds pass a filter of 1/50 ms, as what sticking leaves in the observer does. The offset is taken
over (`tare`) at the beginning and is held while the alarm lasts: a contact is not forgotten, nor is a new load.
`learn_two_speed` learns the thresholds from contact-free runs, half of the stated false alarms for each channel.

What the offset swallows: a torque that grows by less than `follow` times the slow threshold per second is never
noticed, however large it becomes. Near standstill the offset is followed faster, by up to `settle`: friction that
breaks loose is over when the joint moves; a joint that stands notices only what comes quickly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors.joint_threshold import THRESHOLD_RELEASE_SHARE, latched, release_ratio, worst
from armwright.contact.detectors.threshold_learning import (
    DEFAULT_CONFIDENCE,
    DEFAULT_FALSE_ALARMS,
    MOTIONS_TO_SPLIT,
    Raised,
    Rehearsed,
    Runs,
    motions,
    raised_envelope,
    rehearsed,
    runs_of,
)
from armwright.contact.monitor import Monitor
from armwright.contact.monitor_run import run_monitors
from armwright.contact.tick_counts import ticks_until
from armwright.control.tick_function import gain as checked
from armwright.dynamics import gravity_torque as compiled_gravity_torque
from armwright.dynamics.newton_euler import gravity_torque
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Outputs, Scalar, Traced

WIDEN = 20.0
"""Filter of the thresholds [1/s]: 50 ms, in which observers of 20 … 50 1/s forget what a sticking joint left."""
TARE_SHARE = 10.0
"""Time constants of the offset that fit into `tare`: e⁻¹⁰ of what was there before is left."""


@dataclass(frozen=True)
class TwoSpeed:
    """The settings of a two-speed detector, before its thresholds are known.

    Attributes:
        slow: bandwidth of the slow channel [1/s].
        follow: how fast the offset is followed [1/s]; below `slow`.
        settle: how much faster at standstill [1/s].
        standstill: desired speed below which friction is unsure [rad/s].
        tare: time at the beginning in which the offset is taken over; nothing is noticed in it [s].
    """

    slow: float = 50.0
    follow: float = 2.0
    settle: float = 20.0
    standstill: float = 0.1
    tare: float = 0.1

    def __post_init__(self) -> None:
        """Refuse channels that are not in order."""
        positive = min(self.follow, self.standstill, self.tare) > 0.0 and self.settle >= 0.0
        if not (positive and self.follow < self.slow and np.isfinite(list(self.gains().values())).all()):
            raise InputError(
                "two-speed detector: need 0 < follow < slow, settle ≥ 0, standstill > 0 and tare > 0, "
                f"got {self.follow}, {self.slow}, {self.settle}, {self.standstill} and {self.tare}"
            )

    def gains(self) -> dict[str, Any]:
        """The numbers by name."""
        return {name: getattr(self, name) for name in ("slow", "follow", "settle", "standstill", "tare")}


def channels(
    tau_ext: Traced,
    dt: float,
    qd_ref: Traced,
    slow: Traced,
    follow: Scalar,
    settle: Scalar,
    standstill: Scalar,
    tare: Scalar,
    past: Traced,
    held: Scalar,
    bias: Traced,
    low: Traced,
) -> tuple[Traced, Traced, Traced, Traced]:
    """Return quick and slow signal, offset, and ticks since the beginning; the offset stays where `held` > 0."""
    taring = past[0] < ticks_until(tare, dt)
    near = np.maximum(1.0 - np.abs(qd_ref) / standstill, 0.0)
    step = np.where(held > 0.0, 0.0, 1.0 - np.exp(-(follow + settle * near) * dt))
    bias = bias + (tau_ext - bias) * np.where(taring, 1.0 - np.exp(-TARE_SHARE * dt / tare), step)
    quick = np.where(taring, 0.0, 1.0) * (tau_ext - bias)
    low = low + (quick - low) * (1.0 - np.exp(-slow * dt))
    return quick, low, bias, past + 1.0


def features(arm: Robot | Tree, q_ref: Traced, qd_ref: Traced, qdd_ref: Traced, standstill: Scalar) -> list[Traced]:
    """Return what thresholds grow with: |q̇_ref|, |q̈_ref|, |g(q_ref)|, and nearness to standstill, (n,) each."""
    speed = np.abs(qd_ref)
    return [speed, np.abs(qdd_ref), np.abs(gravity_torque(arm, q_ref)), np.maximum(1.0 - speed / standstill, 0.0)]


def _watch(
    tau_ext: Traced,
    dt: float,
    qd_ref: Traced,
    slow: Traced,
    follow: Scalar,
    settle: Scalar,
    standstill: Scalar,
    tare: Scalar,
    past: Traced,
    bias: Traced,
    low: Traced,
) -> Outputs:
    quick, low, bias, past = channels(tau_ext, dt, qd_ref, slow, follow, settle, standstill, tare, past, 0.0, bias, low)
    return {"quick": quick, "slowly": low, "low": low, "bias": bias, "past": past}


def channel_monitor(kind: TwoSpeed) -> Monitor:
    """Return a monitor of the two signals ``quick`` and ``slowly`` (n,), as while no alarm holds the offset."""
    return Monitor("channels", _watch, kind.gains(), {"bias": 0.0, "low": 0.0, "past": [0.0]}, ("quick", "slowly"))


def _detect(
    arm: Robot | Tree,
    tau_ext: Traced,
    dt: float,
    q_ref: Traced,
    qd_ref: Traced,
    qdd_ref: Traced,
    quick: Traced,
    slowly: Traced,
    slow: Traced,
    follow: Scalar,
    settle: Scalar,
    standstill: Scalar,
    tare: Scalar,
    release: Scalar,
    past: Traced,
    bias: Traced,
    low: Traced,
    wide: Traced,
    active: Traced,
) -> Outputs:
    here = features(arm, q_ref, qd_ref, qdd_ref, standstill)
    step = np.where(past[0] > 0.0, 1.0 - np.exp(-WIDEN * dt), 1.0)
    wide = np.array([wide[k] + (here[k] - wide[k]) * step for k in range(4)])
    x, y, bias, past = channels(tau_ext, dt, qd_ref, slow, follow, settle, standstill, tare, past, active[0], bias, low)
    level: Any = 0.0
    for signal, k in ((x, quick), (y, slowly)):
        threshold = k[0] + k[1] * wide[0] + k[2] * wide[1] + k[3] * wide[2] + k[4] * wide[3]
        level = np.maximum(level, worst(np.abs(signal) / threshold))
    return latched(level, release, active) | {"past": past, "bias": bias, "low": y, "wide": wide}


def two_speed_detector(
    quick: ArrayLike, slowly: ArrayLike, *, kind: TwoSpeed | None = None, release: float = THRESHOLD_RELEASE_SHARE
) -> Monitor:
    """Alarm while a joint's torque has changed by more than the thresholds of the quick or of the slow channel.

    Its false alarms are at most those of both channels added.

    Args:
        quick: (5, n) coefficients a, b, c, d, e of the quick channel, see the module text; a > 0.
        slowly: (5, n) of the slow one.
        kind: bandwidths and times.
        release: fraction of the threshold at which the alarm ends.

    Outputs: ``level``, the largest signal over its threshold; ``alarm``.
    """
    rows = {}
    for name, value in (("quick", quick), ("slowly", slowly)):
        array = np.asarray(value, dtype=np.float64)
        if array.ndim != 2 or len(array) != 5:
            raise InputError(f"two-speed detector: {name} must be (5, n), got shape {array.shape}")
        checked(array[0], f"{name}: a", positive=True)
        for row, label in zip(array[1:], "bcde", strict=True):
            checked(row, f"{name}: {label}")
        rows[name] = array
    if rows["quick"].shape != rows["slowly"].shape:
        raise InputError(
            f"two-speed detector: quick is {rows['quick'].shape}, slowly {rows['slowly'].shape}; they must agree"
        )
    gains = {**rows, **(kind or TwoSpeed()).gains(), "release": release_ratio(release)}
    memory = {
        "past": [0.0],
        "bias": 0.0,
        "low": 0.0,
        "wide": np.zeros((4, rows["quick"].shape[1])),
        "active": [0.0],
    }
    return Monitor("two-speed", _detect, gains, memory, ("alarm", "level"), two_speed_detector.__doc__ or "")


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

    def detector(self, *, release: float = THRESHOLD_RELEASE_SHARE) -> Monitor:
        """Return the two-speed detector with these thresholds."""
        return two_speed_detector(self.quick.coefficients, self.slowly.coefficients, kind=self.kind, release=release)


def learn_two_speed(
    tau_ext: ArrayLike | Sequence[ArrayLike],
    ref: Reference | Sequence[Reference],
    dt: float,
    robot: Robot,
    *,
    kind: TwoSpeed | None = None,
    rate: float = DEFAULT_FALSE_ALARMS,
    confidence: float = DEFAULT_CONFIDENCE,
) -> TwoSpeedFit:
    """Learn a two-speed detector from an observer's output on contact-free runs; arguments as `learn_thresholds`."""
    if not (dt > 0.0 and rate > 0.0 and 0.5 <= confidence < 1.0):
        raise InputError(
            f"learn two-speed: need dt > 0, rate > 0 and 0.5 ≤ confidence < 1, got {dt}, {rate} and {confidence}"
        )
    chosen = kind or TwoSpeed()
    stacks, refs = motions(tau_ext, ref)
    least = 2 if len(stacks) < MOTIONS_TO_SPLIT else 1
    runs = [channel_runs(x, r, dt, robot, chosen, least) for x, r in zip(stacks, refs, strict=True)]
    return two_speed_from(runs, refs, dt, kind=chosen, rate=rate, confidence=confidence)


def two_speed_from(
    runs: Sequence[tuple[Runs, Runs]],
    refs: Sequence[Reference],
    dt: float,
    *,
    kind: TwoSpeed,
    rate: float = DEFAULT_FALSE_ALARMS,
    confidence: float = DEFAULT_CONFIDENCE,
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
    parts: list[Any] = [speed, np.abs(ref.qdd), np.abs(compiled_gravity_torque(robot, ref.q))]
    x = np.stack([*parts, np.maximum(1.0 - speed / standstill, 0.0)])
    x = x if x.ndim == 4 else x[:, None]
    keep = np.exp(-WIDEN * dt)
    return np.asarray(lfilter([1.0 - keep], [1.0, -keep], x, axis=2, zi=keep * x[:, :, :1])[0])
