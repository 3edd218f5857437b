# SPDX-License-Identifier: Apache-2.0
"""An arm that doubts its own model before it blames the world.

A load that the model does not know, or friction that it lacks, is felt as a contact is. What tells them apart:

- A contact comes quickly; what a wrong model leaves changes as the arm moves. So the change of the felt torque just
  before an alarm is compared with what the doubt about the model may change in that time (`ModelDoubt.suspects`).
- If the doubt explains it, the arm tries: it steps back along its way, and moves a little about that place (`probe`).
  A load comes along and friction turns with the speed; a contact is left behind. From the motion the errors of the
  model are learned (`armwright.contact.doubt`), and the alarm is judged again with what is known now.
- Explained: law, observer and detector go on with the corrected model; nothing is marked. Not explained: a contact.

What is recorded tells the filter everything, so nothing runs beside the loop: a run whose alarms leave no doubt is what
it would be without this file. An arm that rehearses (learned thresholds, or the whole arm) learns the same from its
rehearsal, where it knows that nothing touches it (`known_from`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.doubt.doubt_filter import DoubtFilter, KnownErrors, Unspanned, assumed_unspanned
from armwright.contact.doubt.doubt_watch import DoubtWatch, sample_ticks
from armwright.contact.doubt.model_errors import LOAD, ErrorLayout, weight_scale
from armwright.kinematics import fk
from armwright.kinematics.jacobians import frame_jacobian
from armwright.motion import Trajectory
from armwright.motion.point_to_point import quintic_coefficients
from armwright.robot.kernels import kernel
from armwright.robot.tree import tree_of
from armwright.simulation.lanes import Lanes

if TYPE_CHECKING:
    from armwright.exploration.ride import DoubtingRide, RideSamples
    from armwright.robot.model import Robot
    from armwright.types import Array

GAIN = 50.0
"""Of the observer whose residual is learned from [1/s]."""
CHANGE_SECONDS = 0.06
"""Time over which a change of the felt torque is looked at [s]: three time constants of that observer."""
UNLIKELY = 1e-4
"""Probability below which the doubt about the model is no explanation."""
UNUSUAL = 0.05
"""Probability below which a known doubt does not excuse an alarm without a test: a hand that pushes goes unnoticed."""
CLEAR = 3.5
"""Standard deviations from which on an error of the model counts as found: 1 in 2,000 by chance."""
INTERVAL_DEVIATIONS = 1.96
"""Deviations, as they are told, of a 95 % interval: an error whose interval does not hold zero is told by itself."""
FARTHEST_LOAD = 0.3
"""Largest distance of a load's centre from the tool frame that a model is corrected by [m]."""
LEFT = 2.0
"""What a rehearsal leaves unexplained counts twice: the run will go elsewhere."""
SKIPPED = 10
"""Samples at the beginning of a rehearsal that tell nothing: the observer starts at zero."""
RECENT_SECONDS = 0.3
"""Time before an alarm that is looked at [s]: the observer forgets within a third of it."""
PROBE_STEP = 0.02
"""How far a probing motion moves the tool at most [m]: less than half a cell of the usual maps."""
PROBE_ANGLE = 0.12
"""Amplitude of the joint that turns most in it [rad]."""
PROBE_SECONDS = 0.6
"""Of one stretch of it [s]: the joint that turns most does so at 0.75 rad/s."""
PROBE_CHOICES = 256
"""Combinations of joint motions that a probe is chosen from."""


class Errors(NamedTuple):
    """Errors of a model that were found.

    Attributes:
        load: mass beyond the model's [kg]. load_std: its standard deviation.
        joints: names of joints whose dry friction is clearly wrong. coulomb, coulomb_std: theirs [N m, or N].
        units: of their friction.
    """

    load: float
    load_std: float
    joints: tuple[str, ...]
    coulomb: tuple[float, ...]
    coulomb_std: tuple[float, ...]
    units: tuple[str, ...]

    def __str__(self) -> str:
        """Return one sentence: what would explain what was felt."""
        parts = []
        if abs(self.load) > INTERVAL_DEVIATIONS * self.load_std:
            more = "more" if self.load > 0.0 else "less"
            told = f"{abs(self.load):.1f} ± {INTERVAL_DEVIATIONS * self.load_std:.1f} kg"
            parts.append(f"the arm carries {told} {more} than its model")
        for name, value, std, unit in zip(self.joints, self.coulomb, self.coulomb_std, self.units, strict=True):
            more = "more" if value > 0.0 else "less"
            parts.append(f"{name} takes {abs(value):.1f} ± {INTERVAL_DEVIATIONS * std:.1f} {unit} {more} friction")
        return "; ".join(parts) or "errors of masses, centres and friction together, none of them clear by itself"


def errors_of(robot: Robot, layout: ErrorLayout, known: KnownErrors) -> Errors:
    """Return what is clearly wrong with a model, from the first arm of an estimate."""
    theta, std = known.theta[0], known.std()[0]
    dry, doubt = theta[layout.coulomb], std[layout.coulomb]
    clear = [j for j in range(robot.n) if abs(dry[j]) > INTERVAL_DEVIATIONS * doubt[j]]
    return Errors(
        float(theta[0]),
        float(std[0]),
        tuple(robot.joints[j].name for j in clear),
        tuple(float(dry[j]) for j in clear),
        tuple(float(doubt[j]) for j in clear),
        tuple("N" if robot.joints[j].kind == "prismatic" else "N m" for j in clear),
    )


def usable(layout: ErrorLayout, known: KnownErrors) -> Array:
    """Return the errors (p,) that a model can be corrected by: a load that has mass, and friction.

    Gravity tells a load from heavier links only by degrees. Put into the links, small errors can make inertias that no
    body has, and a law that divides by them unstable; so what the links would explain is given to load and friction:
    the estimate under the condition that all else is right. A load without mass, or far from the tool, is left out.
    """
    free = [*range(LOAD), *range(layout.coulomb.start, layout.viscous.stop)]
    theta = _given_zero(known, free)
    lever = np.linalg.norm(theta[1:LOAD]) / max(abs(theta[0]), 1e-12)
    if theta[0] <= 0.0 or lever > FARTHEST_LOAD:
        theta = _given_zero(known, free[LOAD:])
    return theta


def _given_zero(known: KnownErrors, free: list[int]) -> Array:
    """Return the best estimate (p,) under the condition that all but the entries `free` are zero."""
    theta, P = known.theta[0], known.covariance[0]
    rest = np.setdiff1d(np.arange(len(theta)), free)
    out = np.zeros(len(theta))
    gain = np.linalg.lstsq(P[np.ix_(rest, rest)], P[np.ix_(rest, np.array(free))], rcond=None)[0]
    out[free] = theta[free] - gain.T @ theta[rest]
    return out


def corrected(robot: Robot, layout: ErrorLayout, theta: Array) -> Lanes:
    """Return the model with load and friction of the errors θ (p,) added; its numbers are inputs of a compiled loop.

    Friction never falls below zero: a brake that pushes is no friction.
    """
    mass = float(theta[0])
    heavier = robot.with_payload(mass, theta[1:LOAD] / mass) if mass > 0.0 else robot
    plain, tree, n = tree_of(robot, regroup=True), tree_of(heavier, regroup=True), robot.n
    dry = np.maximum(plain.coulomb + theta[layout.coulomb], 0.0)
    wet = np.maximum(np.diag(plain.viscous) + theta[layout.viscous], 0.0)
    places, values = list[tuple[str, int]](), list[float]()
    for name in ("m", "h", "J"):
        flat = np.ravel(np.asarray(getattr(tree, name), dtype=np.float64))
        places += [(name, k) for k in range(len(flat))]
        values += flat.tolist()
    places += [("coulomb", j) for j in range(n)] + [("viscous", j * n + j) for j in range(n)]
    return Lanes(plain, tuple(places), np.array([[*values, *dry, *wet]]))


def clearly_wrong(layout: ErrorLayout, known: KnownErrors) -> bool:
    """Return whether load or friction differ from the model's beyond doubt, in the first arm of an estimate."""
    std = np.sqrt(np.diagonal(known.covariance[0]))
    score = np.abs(known.theta[0]) / np.maximum(std, 1e-300)
    return bool(max(score[:LOAD].max(), score[layout.coulomb].max(), score[layout.viscous].max()) > CLEAR)


def probe(robot: Robot, q: Array) -> Trajectory:
    """Return a motion about q (n,) that tells load from friction: every joint back and forth, the tool stays put.

    Where the arm has joints to spare (n > 3), they turn it about the tool's place. Joints that hardly move in that have
    their turn afterwards. The tool moves by `PROBE_STEP` at most, also where joints are near their limits.
    """
    J = kernel(robot, frame_jacobian)(q)[:3]
    ways = _turns(J)
    room = np.maximum(np.minimum(robot.upper - q, q - robot.lower), 0.0)
    rest, way = np.zeros(robot.n), [q]
    for turn in (*ways, ways[-1]):
        step = PROBE_ANGLE * turn / np.abs(turn).max()
        moved = float(np.linalg.norm(J @ step))
        step = step * min(1.0, PROBE_STEP / max(moved, 1e-12))
        step = np.clip(step, -room, room)
        while _farthest(robot, q, step) > PROBE_STEP:  # the Jacobian told of small steps, and limits bend them
            step = 0.8 * step
        way += [q + step, q - step]
    way.append(q)
    pieces = [quintic_coefficients(PROBE_SECONDS, a, b, rest, rest, rest, rest) for a, b in pairwise(way)]
    return Trajectory(PROBE_SECONDS * np.arange(len(way), dtype=np.float64), np.array(pieces))


def _farthest(robot: Robot, q: Array, step: Array) -> float:
    """Return how far [m] the tool is moved by a step (n,), there or back."""
    here, *there = np.asarray(fk(robot, np.stack([q, q + step, q - step])))[:, :3, 3]
    return float(max(np.linalg.norm(place - here) for place in there))


def _turns(J: Array) -> list[Array]:
    """Return directions (n,) of joint motion in which all joints move and the tool, with Jacobian J (3, n), little.

    Of many combinations of those that leave the tool where it is, two whose slowest joint is fastest; then all joints
    by as much as moves the tool equally, with the signs that add up least.
    """
    n = J.shape[1]
    rng = np.random.default_rng(0)
    _, size, V = np.linalg.svd(J)
    still = V[int((size > 1e-6 * max(float(size.max(initial=0.0)), 1e-12)).sum()) :]
    out = []
    if len(still) >= 2:
        mixed = rng.normal(size=(PROBE_CHOICES, len(still))) @ still
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
        slowest = np.abs(mixed).min(axis=1)
        first = mixed[int(np.argmax(slowest))]
        other = np.where(np.abs(mixed @ first) < 0.5, slowest, -1.0)
        out = [first, mixed[int(np.argmax(other))]]
    lever = np.maximum(np.linalg.norm(J, axis=0), PROBE_STEP / PROBE_ANGLE)
    signed = rng.choice([-1.0, 1.0], size=(PROBE_CHOICES, n)) / lever
    return [*out, signed[int(np.argmin(np.linalg.norm(signed @ J.T, axis=1)))]]


class Felt(NamedTuple):
    """A torque (n,) [N m] that was felt, its columns (n, p), and the variance (n,) of what the columns do not span."""

    torque: Array
    columns: Array
    rest: Array

    def excess(self, known: KnownErrors | None, used: Array) -> float:
        """Return by how much it exceeds what is known of the errors: squared, in deviations.

        Args:
            known: of the errors; None for a model that is believed as it is.
            used: errors (p,) that the observer's model has been corrected by.
        """
        e, S = self.torque, np.diag(self.rest)
        if known is not None:
            e = e - self.columns @ (known.theta[0] - used)
            S = S + self.columns @ known.covariance[0] @ self.columns.T
        return float(e @ np.linalg.solve(S, e))


class Alarm(NamedTuple):
    """What was felt when an alarm came: its change within `CHANGE_SECONDS`, and its level."""

    change: Felt
    level: Felt


class SelfKnowledge(NamedTuple):
    """What a rehearsal taught: state and covariance of the filter, errors (p,) in use, and what is left unexplained."""

    x: Array
    P: Array
    used: Array
    unspanned: Unspanned


class ModelDoubt:
    """What a run knows about the errors of its model.

    Attributes:
        robot: the model that the run began with. filter: the estimate.
        used: errors (p,) that law and observer have been corrected by. rehearsed: whether it began with a rehearsal.
        said: sentences about what was found, with the time [s].
    """

    def __init__(self, ride: DoubtingRide, robot: Robot, known: SelfKnowledge | None = None) -> None:
        """Begin with the prior, or with what a rehearsal taught."""
        from scipy.stats import chi2  # imported here: tenths of a second that few calls need

        self.ride, self.robot = ride, robot
        period = ride.period
        unspanned = None if known is None else known.unspanned
        self.filter = DoubtFilter(robot, unspanned=unspanned, sample=sample_ticks(period) * period)
        self.used, self.rehearsed = np.zeros(self.filter.layout.size), known is not None
        if known is not None:
            self.filter.x, self.filter.P, self.used = known.x.copy(), known.P.copy(), known.used
        self.watch = DoubtWatch(self.filter, period, GAIN)
        self.limit, self.usual = (float(chi2.isf(p, robot.n)) for p in (UNLIKELY, UNUSUAL))
        self.said: list[tuple[float, str]] = []
        self._since = ride.time  # what was recorded until then is known to the filter

    def catch_up(self, *, free: bool = False) -> None:
        """Take in what was recorded since the last time.

        Only a motion in which nothing touches the arm (`free`) teaches something: a contact too gentle for an alarm
        would be taken for a load. Of all else the last `RECENT_SECONDS` seconds are enough to know the columns.
        """
        ticks, period = self.watch.ticks, self.ride.period
        latest = self.ride.time - ticks * round(RECENT_SECONDS / self.filter.sample) * period
        if not free and latest > self._since + 0.5 * period:
            self._since = latest
            self.watch.restart()
        seen = self.ride.samples(self._since)
        whole = len(seen.time) // ticks * ticks
        if whole:
            q, qd, tau = (x[None, :whole] for x in (seen.q, seen.qd, seen.tau))
            held = None if free else np.ones((1, whole // ticks), dtype=bool)
            self.watch.run(seen.time[:whole], q, qd, tau, None, held=held)
            self._since = float(seen.time[whole - 1]) + period

    def felt(self, *, free: bool = False) -> Alarm:
        """Return what is felt now; with `free` learn from what came before, because nothing touches the arm."""
        ride, period = self.ride, self.ride.period
        back = max(1, round(CHANGE_SECONDS / period))
        self.catch_up(free=free)
        recent, now = ride.samples(ride.time - (back + 1) * period), ride.felt().tau_ext
        before = recent.tau_ext[0] if len(recent.tau_ext) > back else np.zeros(self.robot.n)
        change, level = self.filter.felt_columns(max(1, round(CHANGE_SECONDS / self.filter.sample)))
        return Alarm(Felt(now - before, *change), Felt(now, *level))

    def suspects(self, alarm: Alarm) -> bool:
        """Return whether errors of the model may be what was felt: it came no faster than they may change."""
        return alarm.change.excess(self.filter.known(), self.used) < self.limit

    def expects(self, alarm: Alarm) -> bool:
        """Return whether an alarm is nothing unusual for this arm: change and level are what it often feels."""
        known = self.filter.known()
        return max(part.excess(known, self.used) for part in alarm) < self.usual

    def covers(self, alarm: Alarm) -> bool:
        """Return whether what is known covers what is felt: no more than errors that are left, and friction at rest."""
        return alarm.level.excess(self.filter.known(), self.used) < self.limit

    def explains(self, alarm: Alarm) -> bool:
        """Return whether what is known now explains an alarm that the model in use does not."""
        if not self.covers(alarm):
            return False
        return alarm.level.excess(None, self.used) >= self.limit or clearly_wrong(self.filter.layout, self.rest())

    def rest(self) -> KnownErrors:
        """Return what is known beyond the errors that are corrected already."""
        known = self.filter.known()
        return known._replace(theta=known.theta - self.used)

    def settle(self) -> bool:
        """Learn from the probe that was just recorded; return whether the corrected model explains it."""
        self.catch_up(free=True)
        excess = self.filter.flush()
        return bool(excess.max() < self.limit)

    def correct(self) -> Lanes:
        """Return the model with load and friction put right as far as known, and remember that it is in use."""
        self.used = usable(self.filter.layout, self.filter.known())
        return corrected(self.robot, self.filter.layout, self.used)

    def errors(self) -> Errors:
        """Return what is clearly wrong with the model."""
        return errors_of(self.robot, self.filter.layout, self.filter.known())


def known_from(robot: Robot, seen: RideSamples, period: float) -> SelfKnowledge:
    """Return what a contact-free motion, recorded every `period` [s], teaches about a model.

    The motion is gone through twice: what is left of it with the errors that the first time found is what the columns
    do not span in this arm, `LEFT` times to be safe: it is what was fitted.
    """
    q, qd, tau = (x[None] for x in (seen.q, seen.qd, seen.tau))
    unspanned = assumed_unspanned(robot)
    for _ in range(2):
        doubt = DoubtFilter(robot, unspanned=unspanned, sample=sample_ticks(period) * period)
        watch = DoubtWatch(doubt, period, GAIN)
        watch.kept = []
        watch.run(seen.time, q, qd, tau, None)
        doubt.flush()
        left = np.array([r[0] - H[0] @ doubt.theta[0] for r, H in watch.kept[SKIPPED:]])
        scale, plain = 1e-3 * weight_scale(robot), assumed_unspanned(robot)
        offset = LEFT * np.sqrt(np.mean(left**2, axis=0)) + scale
        white = LEFT * np.sqrt(0.5 * np.mean(np.diff(left, axis=0) ** 2, axis=0)) + scale
        unspanned = Unspanned(np.minimum(offset, plain.offset), plain.time, np.minimum(white, plain.white))
    clear = clearly_wrong(doubt.layout, doubt.known())
    used = usable(doubt.layout, doubt.known()) if clear else np.zeros(doubt.layout.size)
    return SelfKnowledge(doubt.x, doubt.P, used, unspanned)
