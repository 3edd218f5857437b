# SPDX-License-Identifier: Apache-2.0
"""Thresholds from contact-free runs: an envelope a + b|q̇_ref| + c|q̈_ref| + d|g(q_ref)| of what was observed, × margin.

*Envelope and margin* (`learn_thresholds`). The motions shape the envelope (a linear programme per joint: least mean
threshold that no sample exceeds). How far it has to be raised for the rate of false alarms that is asked for is told by
motions that it has not seen: each half of them is judged by the envelope of the other half. Runs of one motion share
its errors, so a stretch of motion is one piece of evidence, however many runs went through it. Where there are fewer
than four motions, the runs of each are halved instead: that gives thresholds for an arm that repeats just these.

*Memory* (`Runs`). Runs that share a reference differ in nothing that thresholds depend on, so the largest residual of
all of them at every tick shapes the envelope and tells its margin. Runs that come in batches are merged as they come.

*Domain* (`Rehearsed`). Thresholds are learned in a box of joint positions and speeds; a monitor says when a motion
leaves it. Beyond the box they are extrapolated, and their rate of false alarms is not vouched for: 10 % of mass error
gave most of its false alarms there.

*Tail* (`tail_margin`): the margin for a stated rate of false alarms, from less motion than one alarm would take. The
level of a detector (1 at the threshold) is cut into blocks, long compared with the time in which it forgets; x is the
square of a block's largest level. Normal noise leaves the excesses of x over a high value u exponential, and bounded
errors of the model leave them shorter. With the k largest of the blocks beyond u, of mean excess θ, observed in a time
T, the rate at which x exceeds u + z is at most

    ν exp(−z/θ'),   ν = χ²_{1−α}(2k + 2)/2T,   θ' = 2kθ/χ²_α(2k)

with ν and θ' the exact upper limits of the rate of a Poisson process and of the mean of an exponential distribution,
each missed with the probability α = (1 − confidence)/2. The margin is the root of the u + z at which this falls to the
rate that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.detectors.adaptive_threshold import adaptive_detector
from armwright.contact.detectors.joint_threshold import THRESHOLD_RELEASE_SHARE, worst
from armwright.contact.monitor import Monitor
from armwright.contact.monitor_run import rising_edges, run_monitors
from armwright.dynamics import gravity_torque
from armwright.errors import InputError
from armwright.motion.trajectory import Reference
from armwright.statistics import Interval
from armwright.statistics import rate as events_per_time

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array, Traced


class Runs(NamedTuple):
    """Runs of one motion.

    Attributes:
        size: |tau_ext| (B, T, n); the largest of all runs (1, T, n) where they were merged.
        features: what thresholds may grow with, (k, B or 1, T, n), such as |q̇_ref|.
        mean, square: (n,) of |tau_ext| and of its square over all runs.
        number: number of runs.
    """

    size: Array
    features: Array
    mean: Array
    square: Array
    number: int


def runs_of(size: Array, features: Array) -> Runs:
    """Return runs |tau_ext| (B, T, n) with features (k, B or 1, T, n)."""
    return Runs(size, features, size.mean(axis=(0, 1)), (size**2).mean(axis=(0, 1)), len(size))


def merged(before: Runs | None, runs: Runs) -> Runs:
    """Return both batches of runs of one motion, merged to the memory of one run."""
    if runs.features.shape[1] != 1:
        raise InputError("learn thresholds: only runs that share their reference can be merged")
    worst = runs.size.max(axis=0)[None]
    if before is None:
        return runs._replace(size=worst)
    number = before.number + runs.number
    share = runs.number / number
    mean = before.mean + share * (runs.mean - before.mean)
    square = before.square + share * (runs.square - before.square)
    return Runs(np.maximum(before.size, worst), runs.features, mean, square, number)


def appended(before: Runs | None, runs: Runs) -> Runs:
    """Return all runs of both batches of one motion."""
    if before is None:
        return runs
    return runs_of(np.concatenate([before.size, runs.size]), runs.features)


BOX_SLACK = 0.02
"""Share of half the box's size within which a state outside still counts as inside: envelopes hardly change there."""
HELD_JOINT_TREMBLE = 1e-3
"""Motion [rad, rad/s] that a joint which was held may make: the slack of a box without size."""


@dataclass(frozen=True, eq=False)
class Rehearsed:
    """Desired positions and speeds that occurred while thresholds were learned.

    Attributes:
        lower, upper: (n,) [rad or m].
        speed: (n,) largest |q̇_ref| [rad/s or m/s].
    """

    lower: Array
    upper: Array
    speed: Array

    def outside(self, ref: Reference) -> Array:
        """Return how far a desired motion (..., n) lies outside, in half sizes of the box (...,); ≤ 0 inside."""
        n = len(self.lower)
        q, qd = (np.asarray(part, dtype=np.float64) for part in (ref.q, ref.qd))
        if q.shape[-1:] != (n,) or qd.shape != q.shape:
            raise InputError(f"rehearsed: the motion must be (..., {n}), got {q.shape} and {qd.shape}")
        out = _outside(q.reshape(-1, n).T, qd.reshape(-1, n).T, *(x[:, None] for x in self._box))
        return np.asarray(out).reshape(q.shape[:-1])

    def warning(self, ref: Reference) -> str | None:
        """One sentence that names the joint that leaves the box the farthest; None where all of `ref` was rehearsed."""
        if np.max(self.outside(ref)) <= 0.0:
            return None
        q, qd = (np.reshape(part, (-1, len(self.lower))) for part in (ref.q, ref.qd))
        beyond = np.maximum(self.lower - q.min(axis=0), q.max(axis=0) - self.upper)
        j = int(np.argmax(np.maximum(beyond, np.abs(qd).max(axis=0) - self.speed)))
        return (
            f"thresholds were not rehearsed here: joint {j + 1} moves within [{q[:, j].min():.3g}, {q[:, j].max():.3g}]"
            f" at up to {np.abs(qd[:, j]).max():.3g}/s, learned was [{self.lower[j]:.3g}, {self.upper[j]:.3g}] at up "
            f"to {self.speed[j]:.3g}/s; their rate of false alarms does not hold"
        )

    def monitor(self) -> Monitor:
        """Return a monitor with the output ``outside``: > 0 while the motion lies outside, in half sizes of the box."""
        gains = dict(zip(("lower", "upper", "speed"), self._box, strict=True))
        return Monitor("rehearsed", _watch, gains, {}, ("outside",), Rehearsed.__doc__ or "")

    @property
    def _box(self) -> tuple[Array, Array, Array]:
        return self.lower, self.upper, self.speed


def _outside(q: Traced, qd: Traced, lower: Traced, upper: Traced, speed: Traced) -> Traced:
    half = 0.5 * (upper - lower) + HELD_JOINT_TREMBLE
    place = np.abs(q - 0.5 * (upper + lower)) / half
    return worst(np.maximum(place, np.abs(qd) / (speed + HELD_JOINT_TREMBLE))) - (1.0 + BOX_SLACK)


def _watch(q_ref: Traced, qd_ref: Traced, lower: Traced, upper: Traced, speed: Traced) -> dict[str, Traced]:
    return {"outside": _outside(q_ref, qd_ref, lower, upper, speed)}


def rehearsed(refs: Sequence[Reference]) -> Rehearsed:
    """Return the box around desired motions, each part (..., n)."""
    if not refs:
        raise InputError("rehearsed: no motions given")
    n = np.shape(refs[0].q)[-1]
    q = np.concatenate([np.reshape(ref.q, (-1, n)) for ref in refs])
    qd = np.concatenate([np.reshape(ref.qd, (-1, n)) for ref in refs])
    return Rehearsed(q.min(axis=0), q.max(axis=0), np.abs(qd).max(axis=0))


TAIL_SHARE, FEWEST_TAIL_BLOCKS = 0.03, 10
"""Share of the blocks that make the tail, and how many at least."""
TAIL_MEAN_RATIO = 2.1
"""Largest upper limit of the tail's mean, 2k/χ²_α(2k), over the mean: 10 blocks do at 95 %, 20 at 99.6 %. Where that is
more than half of the blocks, half of them must do, but at least 10: more would be no tail."""


def block_peaks(level: ArrayLike, length: int) -> Array:
    """Return the largest values (k,) of blocks of about `length` samples of levels (B, T); a short run is one block."""
    x = np.asarray(level, dtype=np.float64)
    count = max(1, x.shape[1] // max(1, length))
    edges = np.linspace(0, x.shape[1], count + 1).astype(int)[:-1]
    return np.asarray(np.maximum.reduceat(x, edges, axis=1).ravel())


def tail_margin(peaks: ArrayLike, hours: float, *, rate: float, confidence: float) -> float:
    """Return the factor on thresholds at which alarms without cause come at most `rate` times per hour.

    Args:
        peaks: largest level (k,) of every block; k ≥ 2.
        hours: hours of motion in all blocks together.
        rate: [1/h].
        confidence: probability that the rate is not exceeded, if the tail is as described above.
    """
    from scipy.special import chdtri, gammaincinv  # imported here: a tenth of a second that few calls need

    x = np.sort(np.asarray(peaks, dtype=np.float64) ** 2)[::-1]
    if len(x) < 2 or hours <= 0.0 or rate <= 0.0 or not 0.5 <= confidence < 1.0:
        raise InputError(
            f"tail margin: need two blocks, hours > 0, rate > 0 and 0.5 ≤ confidence < 1; got {len(x)}, {hours}, "
            f"{rate} and {confidence}"
        )
    miss, k = 0.5 * (1.0 - confidence), FEWEST_TAIL_BLOCKS
    while k > TAIL_MEAN_RATIO * gammaincinv(k, miss):
        k += 1
    k = min(max(k, round(TAIL_SHARE * len(x))), max(FEWEST_TAIL_BLOCKS, len(x) // 2), len(x) - 1)
    often = 0.5 * float(chdtri(2 * k + 2, miss)) / hours
    excess = float(np.mean(x[:k] - x[k])) * k / float(gammaincinv(k, miss))  # χ²_α(2k) = 2 gammaincinv(k, α)
    return float(np.sqrt(x[k] + excess * max(np.log(often / rate), 0.0)))


DEFAULT_FALSE_ALARMS, DEFAULT_CONFIDENCE = 0.01, 0.95
"""False alarms per hour, and how sure: one in four days of work, the default of a user who does not say."""
EVIDENCE_SECONDS = 1.0
"""Motion [s] that counts as one piece of evidence: far longer than the 0.02 … 0.2 s in which an observer forgets."""
MOTIONS_TO_SPLIT = 4
"""Least number of motions for judging thresholds by others than those that shaped them: two for each half."""
BINS = 12
"""Cells per feature (speed, acceleration, load), whose largest residual the envelope covers: thresholds are too high by
a cell's width at most, 8 % of what a feature adds, and the linear programme has 12³ rows at most."""
LEAST_AT_REST = 0.05
"""Least constant part of a threshold, as a share of the mean residual: an arm at rest has noise, too."""
LEAST_SHARE = 1e-3
"""The same as a share of the largest residual: thresholds stay positive for an arm without noise."""


@dataclass(frozen=True, eq=False)
class ThresholdFit:
    """Learned thresholds and what to expect of them.

    Attributes:
        a, b, c, d: coefficients (n,) of a + b|q̇_ref| + c|q̈_ref| + d|g(q_ref)|, margin included.
        peak: (n,) largest |tau_ext| seen without contact [N m].
        spread: (n,) root mean square of tau_ext without contact [N m].
        false_alarms: per hour of motion on runs judged by the envelope of the others, with the exact 95 % Poisson
            interval; an upper limit where runs were merged (`merged`).
        hours: hours of contact-free motion.
        margin: factor on the envelope.
        rate: false alarms per hour that are not exceeded, with `confidence`; NaN where the margin was given.
        rehearsed: positions and speeds of the motions that this was learned from.
    """

    a: Array
    b: Array
    c: Array
    d: Array
    peak: Array
    spread: Array
    false_alarms: Interval
    hours: float
    margin: float
    rate: float = float("nan")
    confidence: float = float("nan")
    rehearsed: Rehearsed | None = None

    def detector(self, *, release: float = THRESHOLD_RELEASE_SHARE) -> Monitor:
        """Return the adaptive detector with these thresholds."""
        return adaptive_detector(self.a, self.b, self.c, self.d, release=release)


@names_culprit
def learn_thresholds(
    tau_ext: ArrayLike | Sequence[ArrayLike],
    ref: Reference | Sequence[Reference],
    dt: float,
    robot: Robot,
    *,
    rate: float = DEFAULT_FALSE_ALARMS,
    confidence: float = DEFAULT_CONFIDENCE,
    margin: float | None = None,
) -> ThresholdFit:
    """Learn adaptive thresholds from an observer's output on contact-free runs.

    Args:
        tau_ext: (B, T, n), B ≥ 2 runs; or a list of such stacks, one per motion; B ≥ 1 with four motions or more.
        ref: desired motion, each part (T, n) or (B, T, n); or a list of them, as `tau_ext`.
        dt: control period [s].
        robot: the model, for its gravity torques.
        rate: false alarms per hour of motion like this one that are allowed [1/h].
        confidence: probability that they are not exceeded; little motion needs high thresholds.
        margin: factor ≥ 1 on the envelope in place of the one that follows from `rate`.

    >>> detector = learn_thresholds(tau_ext, ref, 0.001, robot).detector()  # tau_ext (B, T, n)
    """
    if not (dt > 0.0 and rate > 0.0 and 0.5 <= confidence < 1.0):
        raise InputError(
            f"learn thresholds: need dt > 0, rate > 0 and 0.5 ≤ confidence < 1, got {dt}, {rate} and {confidence}"
        )
    if margin is not None and not (np.isfinite(margin) and margin >= 1.0):
        raise InputError(f"learn thresholds: margin must be at least 1, got {margin}")
    stacks, refs = motions(tau_ext, ref)
    least = 2 if len(stacks) < MOTIONS_TO_SPLIT else 1
    runs = [felt_runs(x, r, robot, least) for x, r in zip(stacks, refs, strict=True)]
    return thresholds_from(runs, refs, dt, rate=rate, confidence=confidence, margin=margin)


def thresholds_from(
    runs: list[Runs],
    refs: Sequence[Reference],
    dt: float,
    *,
    rate: float = DEFAULT_FALSE_ALARMS,
    confidence: float = DEFAULT_CONFIDENCE,
    margin: float | None = None,
) -> ThresholdFit:
    """Learn adaptive thresholds from runs as `felt_runs` returns them, merged or not; one entry per motion."""
    found = raised_envelope(runs, dt, rate=rate, confidence=confidence, margin=margin)
    if margin is not None:
        rate = confidence = float("nan")
    a, b, c, d = found.coefficients
    ticks = np.array([part.number * part.size.shape[1] for part in runs])
    peak = np.max([part.size.max(axis=(0, 1)) for part in runs], axis=0)
    spread = np.sqrt(np.array([part.square for part in runs]).T @ ticks / ticks.sum())
    hours = float(ticks.sum()) * dt / 3600.0
    return ThresholdFit(
        a, b, c, d, peak, spread, found.false_alarms, hours, found.margin, rate, confidence, rehearsed(refs)
    )


def motions(tau_ext: Any, ref: Reference | Sequence[Reference]) -> tuple[list[Traced], list[Reference]]:
    """Return stacks of runs and their references as lists, one entry per motion."""
    stacks = [tau_ext] if isinstance(ref, Reference) else list(tau_ext)
    refs = [ref] if isinstance(ref, Reference) else list(ref)
    if not stacks or len(stacks) != len(refs):
        raise InputError(f"learn thresholds: {len(stacks)} stacks of runs for {len(refs)} references")
    return stacks, refs


class Raised(NamedTuple):
    """An envelope: coefficients (1 + k, n), margin included; the largest margin; false alarms on runs held out."""

    coefficients: Array
    margin: float
    false_alarms: Interval


def raised_envelope(
    runs: list[Runs],
    dt: float,
    *,
    rate: float,
    confidence: float = DEFAULT_CONFIDENCE,
    margin: float | None = None,
    each: bool = False,
) -> Raised:
    """Fit an envelope and raise it by what motions show that did not shape it, or by a given margin.

    With `each`, every joint has a margin of its own and its share of the rate: one that is hard to foresee does not
    raise the thresholds of the others. The joints share the doubt, too: the stated confidence is that of all together.
    """
    judged = _judged(runs)
    hours = sum(part.number * part.size.shape[1] for part, _ in judged) * dt / 3600.0
    shape = _envelope(runs)
    n = shape.shape[1]
    raised = np.full(n, np.nan if margin is None else margin)
    if margin is None:
        groups = [[j] for j in range(n)] if each else [list(range(n))]
        share, sure = rate / len(groups), 1.0 - (1.0 - confidence) / len(groups)
        for joints in groups:
            worst = [level[..., joints].max(axis=-1) for _, level in judged]
            units = [
                level.max(axis=0)[None] if len(runs) >= MOTIONS_TO_SPLIT and len(part.features[0]) == 1 else level
                for level, (part, _) in zip(worst, judged, strict=True)
            ]
            peaks = np.concatenate([block_peaks(level, round(EVIDENCE_SECONDS / dt)) for level in units])
            span = sum(level.size for level in units) * dt / 3600.0
            raised[joints] = max(1.0, tail_margin(peaks, span, rate=share, confidence=sure))
    edges = [int(rising_edges((level / raised).max(axis=-1) - 1.0).sum()) for _, level in judged]
    # it is unknown which of merged runs had the alarm: each counts
    alarms = sum(e * part.number // len(part.size) for e, (part, _) in zip(edges, judged, strict=True))
    return Raised(raised * shape, float(raised.max()), events_per_time(alarms, hours))


def _judged(runs: list[Runs]) -> list[tuple[Runs, Array]]:
    """Return runs with their levels (B or 1, T, n) under the envelope of the half that they are not in."""
    one, other = _halves(runs)
    return [
        (part, part.size / _threshold(shape, part))
        for shape, held in ((_envelope(one), other), (_envelope(other), one))
        for part in held
    ]


def felt_runs(tau_ext: Traced, ref: Reference, robot: Robot, least: int = 1) -> Runs:
    """Return what an observer said on runs (B, T, n) of one motion, with |q̇_ref|, |q̈_ref| and |g(q_ref)|."""
    r = np.abs(np.asarray(tau_ext, dtype=np.float64))
    if r.ndim != 3 or len(r) < least or r.shape[1] < 2 or not np.isfinite(r).all():
        raise InputError(
            f"learn thresholds: tau_ext must be (B, T, n) with B ≥ {least} runs, finite; got shape {r.shape}"
        )
    parts = (ref.qd, ref.qdd, gravity_torque(robot, ref.q))
    x = np.abs(np.stack([np.asarray(part, dtype=np.float64) for part in parts]))
    x = x if x.ndim == 4 else x[:, None]
    try:
        np.broadcast_to(x, (3, *r.shape))
    except ValueError:
        raise InputError(f"learn thresholds: runs of shape {r.shape} for references of {x.shape[1:]}") from None
    return runs_of(r, x)


def _halves(runs: list[Runs]) -> tuple[list[Runs], list[Runs]]:
    """Return two halves of the motions, or of the runs where there are fewer than four motions, taken in turn."""
    if len(runs) >= MOTIONS_TO_SPLIT:
        return runs[0::2], runs[1::2]

    def half(part: Runs, first: int) -> Runs:
        x = part.features
        return runs_of(part.size[first::2], x if x.shape[1] == 1 else x[:, first::2])

    return [half(part, 0) for part in runs], [half(part, 1) for part in runs]


def _threshold(shape: Array, part: Runs) -> Array:
    """Return thresholds a + Σ k x (B or 1, T, n)."""
    return np.asarray(shape[0] + np.sum(shape[1:, None, None] * part.features, axis=0))


@names_culprit
def learn_from_recordings(
    recordings: Iterable[Any], observer: Monitor | Sequence[Monitor], robot: Robot, **options: Any
) -> ThresholdFit:
    """Learn adaptive thresholds from recordings of contact-free motion of equal length; options as `learn_thresholds`.

    Args:
        recordings: each with ``time`` and the signals q, qd, tau, q_ref, qd_ref, qdd_ref (``measured``, where sensors
            were simulated, goes before q and qd).
        observer: whose tau_ext is to be judged.
        robot: the observer's model.
        **options: rate, confidence, margin.
    """
    runs = list(recordings)
    if len({len(run.time) for run in runs}) != 1:
        raise InputError("learn thresholds: the recordings must be given, and have equally many samples")
    n, names = robot.n, ("q_ref", "qd_ref", "qdd_ref")
    measured = [
        run["measured"] if "measured" in getattr(run, "signals", {}) else np.concatenate([run["q"], run["qd"]], axis=-1)
        for run in runs
    ]
    x = np.stack(measured)
    ref = Reference(*(np.stack([run[name] for run in runs]) for name in names))
    time, tau = runs[0].time, np.stack([run["tau"] for run in runs])
    said = run_monitors(observer, robot, time, x[..., :n], x[..., n:], tau, ref, keep=("tau_ext",))["tau_ext"]
    return learn_thresholds(said, ref, float(time[1] - time[0]), robot, **options)


def _envelope(runs: list[Runs]) -> Array:
    """Return the coefficients (4, n) of the envelope."""
    out = []
    for j in range(runs[0].size.shape[-1]):
        # runs that share a reference differ in nothing that thresholds depend on: their largest counts
        peaks, features = [], []
        for part in runs:
            size, x = part.size, part.features
            shared = x.shape[1] == 1
            peaks.append((size.max(axis=0) if shared else size)[..., j].ravel())
            features.append(x[..., j].reshape(len(x), -1))
        mean = float(np.mean([part.mean[j] for part in runs]))
        out.append(_joint_envelope(np.concatenate(peaks), list(np.concatenate(features, axis=1)), mean))
    return np.array(out).T


def _joint_envelope(r: Array, features: list[Array], mean_size: float) -> Array:
    """Least mean of a + Σ k x with a + Σ k x ≥ r in every cell of the features, taken at the cell's lower corner."""
    from scipy.optimize import linprog  # imported here: tenths of a second that few calls need

    reach = np.array([max(float(x.max()), 1e-9) * (1.0 + 1e-9) for x in features])
    shape = (BINS,) * len(features)
    cell = np.ravel_multi_index([(x / top * BINS).astype(int) for x, top in zip(features, reach, strict=True)], shape)
    peak = np.full(BINS ** len(features), -1.0)
    np.maximum.at(peak, cell, r)
    used = np.flatnonzero(peak >= 0.0)
    scale = max(float(peak.max()), 1e-12)
    A = np.stack([np.ones(len(used)), *(k / BINS for k in np.unravel_index(used, shape))], axis=1)
    mean = np.array([1.0, *(float(x.mean()) / top for x, top in zip(features, reach, strict=True))])
    lowest = max(LEAST_SHARE, LEAST_AT_REST * mean_size / scale)
    found = linprog(mean, A_ub=-A, b_ub=-peak[used] / scale, bounds=[(lowest, None), *[(0.0, None)] * len(features)])
    if not found.success or found.x is None:
        raise InputError(f"learn thresholds: no envelope was found ({found.message})")
    return np.asarray(scale * found.x / np.array([1.0, *reach]))
