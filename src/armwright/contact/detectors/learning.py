"""Thresholds from contact-free runs: an envelope a + b|q̇_ref| + c|q̈_ref| + d|g(q_ref)| of what was observed, × margin.

Half of the runs shape the envelope (a linear programme a joint: least mean threshold that no sample exceeds); the other
half, which it has not seen, tells the rate of false alarms to expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog

from armwright.arguments import names_culprit
from armwright.contact.detectors.adaptive import adaptive_detector
from armwright.contact.detectors.statistics import Estimate, poisson_rate
from armwright.contact.monitor import Monitor
from armwright.contact.offline import rising_edges, run_monitors
from armwright.dynamics import gravity_torque
from armwright.errors import InputError
from armwright.motion.reference import Reference

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot

    Array = NDArray[np.float64]

BINS = 12  # per feature: the envelope is fitted to the largest residual of each cell of speeds, accelerations, loads


@dataclass(frozen=True, eq=False)
class ThresholdFit:
    """Learned thresholds and what to expect of them.

    Attributes:
        a, b, c, d: coefficients (n,) of a + b|q̇_ref| + c|q̈_ref| + d|g(q_ref)|, margin included.
        peak: (n,) largest |tau_ext| seen without contact [N m].
        spread: (n,) root mean square of tau_ext without contact [N m].
        false_alarms: per hour of motion on runs that were not fitted, with the exact 95 % Poisson interval.
        hours: of contact-free motion, fitted and held out together.
        margin: factor on the envelope.
    """

    a: Array
    b: Array
    c: Array
    d: Array
    peak: Array
    spread: Array
    false_alarms: Estimate
    hours: float
    margin: float

    def detector(self, *, release: float = 0.7) -> Monitor:
        """The adaptive detector with these thresholds."""
        return adaptive_detector(self.a, self.b, self.c, self.d, release=release)


@names_culprit
def learn_thresholds(
    tau_ext: ArrayLike | Sequence[ArrayLike],
    ref: Reference | Sequence[Reference],
    dt: float,
    robot: Robot,
    *,
    margin: float = 1.5,
) -> ThresholdFit:
    """Learn adaptive thresholds from an observer's output on contact-free runs.

    Args:
        tau_ext: (B, T, n), B ≥ 2 runs; or a list of such stacks, one a trajectory.
        ref: desired motion, each part (T, n) or (B, T, n); or a list of them, as `tau_ext`.
        dt: control period [s].
        robot: the model, for its gravity torques.
        margin: ≥ 1, factor on the envelope of what was seen.
    """
    if not (np.isfinite(margin) and margin >= 1.0 and dt > 0.0):
        raise InputError(f"learn thresholds: need margin ≥ 1 and dt > 0, got {margin} and {dt}")
    stacks = [tau_ext] if isinstance(ref, Reference) else list(tau_ext)  # type: ignore[arg-type]
    refs = [ref] if isinstance(ref, Reference) else list(ref)
    if not stacks or len(stacks) != len(refs):
        raise InputError(f"learn thresholds: {len(stacks)} stacks of runs for {len(refs)} references")
    batches = [_features(x, r, robot) for x, r in zip(stacks, refs, strict=True)]
    held = _envelope([batch[:, 0::2] for batch in batches], margin)
    alarms, samples = 0, 0
    for r, *features in (batch[:, 1::2] for batch in batches):
        level = (r / (held[0] + sum(k * x for k, x in zip(held[1:], features, strict=True)))).max(axis=-1)
        alarms += int(rising_edges(level - 1.0).sum())
        samples += level.size
    a, b, c, d = _envelope(batches, margin)
    total = sum(batch[0, ..., 0].size for batch in batches)
    peak = np.max([batch[0].max(axis=(0, 1)) for batch in batches], axis=0)
    spread = np.sqrt(sum((batch[0] ** 2).sum(axis=(0, 1)) for batch in batches) / total)
    rate = poisson_rate(alarms, samples * dt / 3600.0)
    return ThresholdFit(a, b, c, d, peak, spread, rate, total * dt / 3600.0, float(margin))


def _features(tau_ext: Any, ref: Reference, robot: Robot) -> Array:
    """|tau_ext|, |q̇_ref|, |q̈_ref|, |g(q_ref)| as one array (4, B, T, n)."""
    r = np.abs(np.asarray(tau_ext, dtype=np.float64))
    if r.ndim != 3 or len(r) < 2 or r.shape[1] < 2 or not np.isfinite(r).all():
        raise InputError(f"learn thresholds: tau_ext must be (B, T, n) with B ≥ 2 runs, finite; got shape {r.shape}")
    features = (
        np.asarray(ref.qd, dtype=np.float64),
        np.asarray(ref.qdd, dtype=np.float64),
        gravity_torque(robot, ref.q),
    )
    return np.stack([r, *(np.broadcast_to(np.abs(x), r.shape) for x in features)])


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
        **options: margin.
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


def _envelope(batches: list[Array], margin: float) -> Array:
    """Coefficients (4, n)."""
    out = []
    for j in range(batches[0].shape[-1]):
        r, *features = np.concatenate([batch[..., j].reshape(4, -1) for batch in batches], axis=1)
        out.append(_joint_envelope(r, features))
    return margin * np.array(out).T


def _joint_envelope(r: Array, features: list[Array]) -> Array:
    """Least mean of a + Σ k x with a + Σ k x ≥ r in every cell of the features, taken at the cell's lower corner."""
    reach = np.array([max(float(x.max()), 1e-9) * (1.0 + 1e-9) for x in features])
    cell = np.ravel_multi_index(
        [(x / top * BINS).astype(int) for x, top in zip(features, reach, strict=True)], (BINS,) * 3
    )
    peak = np.full(BINS**3, -1.0)
    np.maximum.at(peak, cell, r)
    used = np.flatnonzero(peak >= 0.0)
    scale = max(float(peak.max()), 1e-12)
    A = np.stack([np.ones(len(used)), *(k / BINS for k in np.unravel_index(used, (BINS,) * 3))], axis=1)
    mean = np.array([1.0, *(float(x.mean()) / top for x, top in zip(features, reach, strict=True))])
    lowest = max(1e-3, 0.05 * float(r.mean()) / scale)  # an arm at rest has noise, too
    found = linprog(mean, A_ub=-A, b_ub=-peak[used] / scale, bounds=[(lowest, None), *[(0.0, None)] * len(features)])
    if not found.success or found.x is None:
        raise InputError(f"learn thresholds: no envelope was found ({found.message})")
    return np.asarray(scale * found.x / np.array([1.0, *reach]))
