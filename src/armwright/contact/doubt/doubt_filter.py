# SPDX-License-Identifier: Apache-2.0
"""Estimates the errors of a model while the arm moves, and says how far what is felt exceeds what they explain.

Every `SAMPLE` seconds it is told what the momentum observer says, r (n,), and the columns H (n, p) of `model_columns`:

    r = H θ + b + contact + white noise

θ are the errors of the model (`model_errors`), b one slow offset per joint for all that the columns do not span
(Ornstein–Uhlenbeck: standard deviation `Unspanned.offset`, forgotten in `Unspanned.time`). A Kalman filter learns both
from means over `BLOCK_SAMPLES` samples.

- A block is learned `QUARANTINE` blocks after it came, and thrown away if an alarm comes in the meantime: a push that
  is noticed within that time is never taken for a load.
- A joint that creeps or stands shows its weight behind dry friction of unknown sign: its noise grows by `STICK` times
  the friction that it may have, the doubt about that friction included.
- An innovation beyond what the filter expects is weighed down (Huber).

*Tests* (`DoubtFilter.push`). What is left, e = r − H θ̂, is compared with its covariance, in which the filter's own
doubt about θ counts, `DOUBT_FACTOR` times: while the model is unsure the tests are tolerant by themselves.

    level    of means over `WINDOWS` samples:                     D² = ē' (H̄ P H̄' + C)⁻¹ ē
    change   between the last samples and some `CHANGES` before:  the same with Δē and ΔH̄

Weights of links and of a load that are not known well change little while the arm moves a little: a change shows a
contact that grows sooner than the level does. The level shows one that has stayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.doubt.doubting_detector import IMPACTS
from armwright.contact.doubt.model_errors import LOAD, Doubts, ErrorLayout, layout_of, prior_of, weight_scale
from armwright.contact.doubt.recent_samples import PastSpan, RecentSamples
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

SAMPLE = 0.02
"""Time between samples [s]: one time constant of an observer of 50 1/s, so that neighbours are nearly independent."""
BLOCK_SAMPLES = 5
"""Samples whose mean is learned at once: 0.1 s, in which a slow arm's columns hardly change."""
QUARANTINE = 10
"""Blocks between the coming of a block and its being learned: 1 s."""
WINDOWS = (2, 8, 20, 45)
"""Lengths of the tests of the level [samples]: 40, 160, 400 and 900 ms."""
CHANGES = (10, 20, 30)
"""How far tests of the change look back [samples]: 200, 400 and 600 ms. They compare the shortest window with a block
of then."""
TESTS = len(WINDOWS) + len(CHANGES)
"""Number of tests: of the level, then of the change."""
DOUBT_FACTOR = 3.0
"""How much more the filter's covariance counts in the tests than it says. It takes what the columns do not span for
noise that is forgotten within a second; some of that (friction that grows with the load) comes back with the pose."""
CREEPING = 0.06
"""Speed [rad/s] below which a joint's dry friction is not known."""
RELEASE = 0.7
"""Share of what a creeping joint left that is still there a sample later: the observer forgets it so."""
STICK = 12.0
"""How much less a creeping joint teaches: its friction counts as an error so many times its size."""
HUBER = 6.7
"""Expected squared innovation per joint above which a block is weighed down."""
WALK_LOAD, WALK_FRICTION = 0.03, 0.02
"""Random walk per √s: of the load [share of a kilogram], of friction [share of what it may be]."""
TOLD_FACTOR = 1.5
"""The same for a load that is told with its interval, which is to hold as often as it says, by an arm whose unspanned
errors were learned from many; what one arm learned from itself alone counts as in the tests (`KnownErrors.std`)."""
STARVED, OPEN = 4.0, 3.0
"""Seconds without anything learned after which an alarm is overruled, and for how long: the quarantine and two more."""
REMEMBER = 10.0
"""Time [s] in which innovations are forgotten in `DoubtFilter.surprise`."""
LONGEST_SAMPLE = 0.05
"""Longest time between samples [s]: a window of 40 ms must hold one."""


@dataclass(frozen=True, eq=False)
class Unspanned:
    """What the columns do not explain, per joint (n,).

    Attributes:
        offset: standard deviation of the slow part b [N m]. time: in which it is forgotten [s].
        white: standard deviation of the part that is new in every sample [N m].
    """

    offset: Array
    time: Array
    white: Array


def assumed_unspanned(robot: Robot) -> Unspanned:
    """Return what is assumed of an arm that never rehearsed: 2 % of its weight's torque and a tenth of its friction."""
    heavy, dry = weight_scale(robot), np.asarray(robot.tree.coulomb, dtype=np.float64)
    offset = np.sqrt((0.02 * heavy) ** 2 + (0.1 * dry) ** 2)
    return Unspanned(offset, np.full(robot.n, 1.0), 0.5 * offset)


class KnownErrors(NamedTuple):
    """What is known of the errors of a model, for each of B arms.

    Attributes:
        theta: (B, p). covariance: (B, p, p).
    """

    theta: Array
    covariance: Array

    def std(self) -> Array:
        """Return the standard deviation (B, p) of every error, as it is told."""
        return np.sqrt(DOUBT_FACTOR * np.diagonal(self.covariance, axis1=1, axis2=2))


class DoubtFilter:
    """The filter for B arms of one model at once.

    Attributes:
        robot: the model. layout: of θ. count: B. sample: time between samples [s].
        x: (B, p + n) θ and b. P: (B, p + n, p + n).
        left: (B, n) what the estimate does not explain of the newest sample [N m].
        still: (B, n) how much of that may be dry friction of unknown sign: 1 for a joint that stands, 0 for one that
            moves.
    """

    def __init__(
        self,
        robot: Robot,
        count: int = 1,
        *,
        unspanned: Unspanned | None = None,
        doubts: Doubts | None = None,
        sample: float = SAMPLE,
        patience: float = np.inf,
        load_walks: bool = True,
    ) -> None:
        """Begin with nothing but the prior.

        Args:
            robot: the model.
            count: number of arms.
            unspanned: what the columns do not span; assumed by default.
            doubts: how wrong the model may be.
            sample: time between samples [s].
            patience: time [s] without anything learned after which an alarm is overruled, such as `STARVED`; never by
                default, for whoever says itself when to learn.
            load_walks: the load may change while the arm moves; False where it is known.
        """
        if not (np.isfinite(sample) and 0.0 < sample <= LONGEST_SAMPLE):
            raise InputError(f"doubt: time between samples must lie in (0, {LONGEST_SAMPLE:g}] s, got {sample}")
        self.robot, self.layout, self.count, self.sample = robot, layout_of(robot), count, sample
        self.patience = patience
        self.unspanned = unspanned or assumed_unspanned(robot)
        self.doubts = doubts or Doubts()
        n, p = robot.n, self.layout.size
        self.prior = prior_of(robot, self.doubts)
        self._dry = np.asarray(robot.tree.coulomb, dtype=np.float64)
        walk = np.zeros(p)
        walk[:LOAD] = WALK_LOAD * np.array([1.0, 0.1, 0.1, 0.1]) if load_walks else 0.0
        for part in (self.layout.coulomb, self.layout.viscous):
            walk[part] = WALK_FRICTION * np.sqrt(np.diag(self.prior)[part])
        self._walk = walk**2 * BLOCK_SAMPLES * sample
        self._keep = np.exp(-BLOCK_SAMPLES * sample / self.unspanned.time)
        self._ahead = np.exp(-QUARANTINE * BLOCK_SAMPLES * sample / self.unspanned.time)
        self._release = RELEASE ** (sample / SAMPLE)
        self.x = np.zeros((count, p + n))
        self.P = np.zeros((count, p + n, p + n))
        self.P[:, :p, :p] = self.prior
        self.P[:, range(p, p + n), range(p, p + n)] = self.unspanned.offset**2
        spans = [*(PastSpan(0, length) for length in WINDOWS), *(PastSpan(ago, BLOCK_SAMPLES) for ago in CHANGES)]
        self._recent = RecentSamples(spans, count, ((n,), (n, p), (n,)))  # r, H, stick²
        self.left, self.still = np.zeros((count, n)), np.zeros((count, n))
        self._followed = np.zeros((count, n, p))
        self._waiting: list[tuple[Array, Array, Array, Array]] = []
        self._starved, self._open = np.zeros(count), np.zeros(count)
        self._surprise, self._learned = np.zeros(count), np.zeros(count)

    @property
    def samples(self) -> int:
        """Number of samples since the beginning, or since the last interruption."""
        return self._recent.samples

    # -- what is known -------------------------------------------------------------------------------------------------

    @property
    def theta(self) -> Array:
        """The estimate (B, p)."""
        return self.x[:, : self.layout.size]

    def known(self) -> KnownErrors:
        """Return estimate and covariance of the errors."""
        p = self.layout.size
        return KnownErrors(self.theta.copy(), self.P[:, :p, :p].copy())

    @property
    def surprise(self) -> Array:
        """Mean squared innovation over what is expected (B,), at least 1."""
        return np.maximum(1.0, self._surprise / np.maximum(self._learned, 1.0))

    @property
    def load_std(self) -> Array:
        """Standard deviation (B,) of the load's mass [kg], widened where innovations are larger than expected."""
        return np.sqrt(TOLD_FACTOR * self.P[:, 0, 0] * self.surprise)

    # -- a sample ------------------------------------------------------------------------------------------------------

    def push(self, r: Array, columns: Array, drives: Array, qd: Array, held: NDArray[np.bool_]) -> Array:
        """Take a sample of every arm, learn what has been waiting long enough, and return D² (B, `TESTS`).

        Args:
            r: what the observer says (B, n), nothing taken out.
            columns: memory of `model_columns` (B, n, bodies).
            drives: the same (B, 3, n).
            qd: measured velocities (B, n).
            held: whether a contact is felt (B,): then nothing is learned, and what waits is forgotten. An alarm that
                keeps a filter from learning for longer than its patience is overruled, see `reopen`.
        """
        H = full_columns(self.layout, columns, drives)
        if r.shape != (self.count, self.layout.n) or not (np.isfinite(r).all() and np.isfinite(H).all()):
            raise InputError(f"doubt: r must be ({self.count}, {self.layout.n}) and finite, got shape {r.shape}")
        self.still = np.maximum(np.maximum(1.0 - np.abs(qd) / CREEPING, 0.0), self._release * self.still)
        share = 1.0 if self.samples == 0 else 1.0 - np.exp(-IMPACTS.follow * self.sample)
        self._followed += (H - self._followed) * share
        self._recent.keep(r, H, (self.still * self._friction()) ** 2)
        held = self._overruled(np.asarray(held, dtype=bool))
        if self.samples % BLOCK_SAMPLES == 0:
            self._block(held)
        elif held.any():
            self._forget(held)
        self.left = r - (H @ self.theta[..., None])[..., 0]
        return self._test()

    def unsure(self) -> Array:
        """Return how much (B, n) [N m] the doubt about θ may change what the quick channel feels: one deviation.

        Older doubt is no change: that channel follows it (`IMPACTS`).

        The quick channel of a detector adds `DEVIATIONS` of it to its thresholds. A joint that stands although it
        should move is held by dry friction that nobody knows: with those deviations once its whole size.
        """
        p = self.layout.size
        change = self._recent.newest(1) - self._followed
        spread = ((change @ self.P[:, :p, :p]) * change).sum(axis=2)
        return np.sqrt(np.maximum(spread, 0.0) + 0.25 * self._recent.newest(2))

    def reopen(self, arms: NDArray[np.bool_]) -> None:
        """Let some arms (B,) doubt load and friction again as much as at the beginning; the estimate stays.

        For whoever knows that the arm has changed: it has picked something up. A filter with patience does it by itself
        where an alarm has kept it from learning for that long: a contact does not last in an arm that reacts to it, so
        the model is in doubt. Learning then goes on for `OPEN` seconds, whatever is felt.
        """
        which = np.flatnonzero(arms)
        for part in (slice(0, LOAD), self.layout.coulomb, self.layout.viscous):
            for k in range(part.start, part.stop):
                self.P[which, k, k] = np.maximum(self.P[which, k, k], self.prior[k, k])

    def _overruled(self, held: NDArray[np.bool_]) -> NDArray[np.bool_]:
        self._starved += self.sample
        late = held & (self._starved > self.patience) & (self._open <= 0.0)
        if late.any():
            self.reopen(late)
            self._open[late] = OPEN
        self._open = np.maximum(self._open - self.sample, 0.0)
        return np.asarray(held & (self._open <= 0.0))

    @property
    def overruled(self) -> NDArray[np.bool_]:
        """Whether alarms are overruled at present (B,): they lasted too long."""
        return np.asarray(self._open > 0.0)

    def felt_columns(self, samples: int) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Return columns (n, p) and the variance (n,) of the rest for the first arm: of the last change, and of now.

        The rest of a change within some samples is noise and joints that crept; that of the level also the offset.
        """
        # a model whose dry friction has the wrong sign is wrong by twice the friction
        crept = 4.0 * self._recent.past(2, 0, samples + 1)[:, 0].max(axis=0)
        white = self.unspanned.white**2
        now, then = (self._recent.past(1, ago, 1)[0, 0] for ago in (0, samples))
        return (now - then, 2.0 * white + crept), (now, white + self.unspanned.offset**2 + crept)

    def stretches(self, count: int, samples: int) -> list[tuple[Array, Array, Array]]:
        """Return means over the last stretches, oldest first: r (B, n), H (B, n, p), variance of sticking (B, n).

        Args:
            count: how many stretches.
            samples: of each; all of them must lie within the longest window, and have been pushed.
        """
        there = min(self._recent.longest, self.samples)
        if min(samples, count) < 1 or count * samples > there:
            raise InputError(f"doubt: {count} stretches of {samples} samples; there are {there} samples")
        out = []
        for k in range(count - 1, -1, -1):
            r, H, stick = (self._recent.past(what, k * samples, samples).mean(axis=0) for what in range(3))
            out.append((r, H, stick))
        return out

    def flush(self) -> Array:
        """Learn what waits, because nothing touched the arm; return D² (B, `TESTS`) with that knowledge."""
        for waiting in self._waiting:
            self._learn(*waiting)
        self._waiting.clear()
        return self._test()

    def interrupt(self) -> None:
        """Forget what was felt last, not what was learned: the next sample does not follow the last one."""
        self._recent.clear()
        self.still[...] = self._followed[...] = 0.0
        self._waiting.clear()

    def _friction(self) -> Array:
        """Dry friction (B, n) that a joint may have while it creeps: half of what is believed, and the doubt in it."""
        at = self.layout.coulomb
        doubt = np.sqrt(np.diagonal(self.P, axis1=1, axis2=2)[:, at])
        return 0.5 * (self._dry + np.abs(self.x[:, at])) + doubt

    def _block(self, held: NDArray[np.bool_]) -> None:
        r, H, stick = (self._recent.past(what, 0, BLOCK_SAMPLES).mean(axis=0) for what in range(3))
        self._waiting.append((r, H, stick * STICK**2, np.full(self.count, 1.0)))
        self._forget(held)
        if len(self._waiting) > QUARANTINE:
            self._learn(*self._waiting.pop(0))

    def _forget(self, held: NDArray[np.bool_]) -> None:
        for _, _, _, size in self._waiting:
            size[held] = 0.0

    def _learn(self, r: Array, H: Array, stick: Array, size: Array) -> None:
        """One step of the filter with a block; arms whose block was thrown away only predict."""
        n, p = self.layout.n, self.layout.size
        self.x[:, p:] *= self._keep
        self.P[:, p:, :] *= self._keep[:, None]
        self.P[:, :, p:] *= self._keep
        self.P[:, range(p, p + n), range(p, p + n)] += self.unspanned.offset**2 * (1.0 - self._keep**2)
        self.P[:, range(p), range(p)] += self._walk
        noise = self.unspanned.white**2 / BLOCK_SAMPLES + stick
        PH = self.P[:, :, :p] @ H.transpose(0, 2, 1)
        PH += self.P[:, :, p:]
        S = H @ PH[:, :p] + PH[:, p:]
        S[:, range(n), range(n)] += noise
        y = r - (H @ self.x[:, :p, None])[..., 0] - self.x[:, p:]
        solved = np.linalg.solve(S, np.concatenate([y[..., None], PH.transpose(0, 2, 1)], axis=2))
        white = solved[..., 0]
        d2 = (y * white).sum(axis=1)
        weight = np.minimum(1.0, HUBER * n / np.maximum(d2, 1e-300)) * size
        self.x += weight[:, None] * (PH @ white[..., None])[..., 0]
        gained = PH @ solved[..., 1:]
        self.P -= weight[:, None, None] * 0.5 * (gained + gained.transpose(0, 2, 1))
        self._starved[size > 0.0] = 0.0
        # the Huber weight says what counts: an innovation is not held against the model beyond what was learned of it
        forget = np.exp(-BLOCK_SAMPLES * self.sample / REMEMBER)
        self._surprise = np.where(size > 0.0, forget * self._surprise + weight * d2 / n, self._surprise)
        self._learned = np.where(size > 0.0, forget * self._learned + 1.0, self._learned)

    def _test(self) -> Array:
        n, p = self.layout.n, self.layout.size
        r, H, stick = self._recent.means()  # (spans, B, …)
        levels = len(WINDOWS)
        length = np.array(WINDOWS, dtype=np.float64)[:, None, None]
        P = DOUBT_FACTOR * self.P[:, :p, :p]
        white, offset, time = self.unspanned.white**2, self.unspanned.offset**2, self.unspanned.time
        e = r - (H @ self.x[:, :p, None])[..., 0]
        # level: what the offset was a second ago says something about now
        ahead, now = self._ahead, H[:levels]
        cross = now @ (self.P[:, :p, p:] * ahead)
        S = now @ P @ now.swapaxes(2, 3) + cross + cross.swapaxes(2, 3)
        S += self.P[:, p:, p:] * (ahead[:, None] * ahead)
        S[..., range(n), range(n)] += offset * (1.0 - ahead**2) + white / length + stick[:levels]
        found = _squared(e[:levels] - ahead * self.x[:, p:], S)
        # change: so much of the offset is new since then
        since = self.sample * np.array(CHANGES, dtype=np.float64)[:, None, None]
        new = 2.0 * offset * (1.0 - np.exp(-since / time)) + white * (1.0 / WINDOWS[0] + 1.0 / BLOCK_SAMPLES)
        moved = H[0] - H[levels:]
        S = moved @ P @ moved.swapaxes(2, 3)
        S[..., range(n), range(n)] += new + stick[0] + stick[levels:]
        found = np.concatenate([found, _squared(e[0] - e[levels:], S)])
        return np.where(self._recent.full(), found.T, 0.0)


def _squared(e: Array, S: Array) -> Array:
    """Return e' S⁻¹ e (...,) for e (..., n) and S (..., n, n)."""
    return np.asarray((e * np.linalg.solve(S, e[..., None])[..., 0]).sum(axis=-1))


def full_columns(layout: ErrorLayout, columns: Array, drives: Array) -> Array:
    """Return H (B, n, p) from the memory of `model_columns`: (B, n, bodies) and (B, 3, n)."""
    n = layout.n
    H = np.zeros((len(columns), n, layout.size))
    H[:, :, : layout.bodies] = columns
    for k, part in enumerate((layout.gain, layout.coulomb, layout.viscous)):
        H[:, range(n), range(part.start, part.stop)] = drives[:, k]
    return H
