# SPDX-License-Identifier: Apache-2.0
"""How honest live feeling is: coverage of the stated intervals and how alarms end, against the lab's own truth.

python docs/measure_feeling.py [first seed] [runs of a minute each] [rate, Hz]

The lab's arm, servo, friction and current noise, without sockets and as fast as it goes. An arm is identified from 50 s
of excitation, its bands are learned from a minute of free motion. Then every seed is a minute of motions and rests with
pushes on the tool, and the same minute without. A stretch is an unbroken part of a run in one state; limits take
stretches, not samples, for independent: friction at rest is one draw however long the rest lasts.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import armwright as aw
from armwright.identify import Known, Log, fit, fit_current_map, learn_bands, with_bands
from armwright.identify.excitation import excite
from armwright.identify.feeling import SEEN_SHARE, Feeler
from armwright.lab.lab_plant import PLANT_RATE, LabPlant
from armwright.lab.stand import HOME
from armwright.statistics import quantile, share

if TYPE_CHECKING:
    from armwright.identify.felt_contacts import Ticks
    from armwright.identify.identified import Identified
    from armwright.types import Array

DT = 1.0 / PLANT_RATE  # [s]
NOISE = 0.15  # of a published current [A]
SECONDS = 60.0
STATES = ("moving", "at rest", "between")
SETTLED = 0.3  # [s] after which a joint counts as moving or resting


class Way(NamedTuple):
    """Reference of every tick, (T, 6) each, and pushes: force on the tool (T, 3) [N] and their spans [s]."""

    q: Array
    qd: Array
    qdd: Array
    force: Array
    spans: tuple[tuple[float, float], ...] = ()


def trapezoids(seed: int, seconds: float, pushed: bool) -> Way:
    """Moves of all or some joints around a bend, at 0.15 to 0.6 rad/s, with rests of 1 to 4 s; pushes of 15 to 45 N."""
    rng, q, total, count = np.random.default_rng(seed), HOME.copy(), round(seconds / DT), 0
    parts: list[Array] = []
    while count < total:
        goal = HOME + rng.uniform(-0.5, 0.5, 6)
        if rng.random() < 0.4:
            goal = np.where(rng.random(6) < 0.5, q, goal)
        length = max(0.4, float(np.abs(goal - q).max()) / rng.uniform(0.15, 0.6))
        steps, rest = round(length / DT), round(rng.uniform(1.0, 4.0) / DT)
        s = (np.arange(steps) + 1) / steps
        v, r = 1.25, 0.2
        place = np.select([s < r, s < 1 - r], [0.5 * v / r * s**2, v * (s - 0.5 * r)], 1.0 - 0.5 * v / r * (1 - s) ** 2)
        speed = np.select([s < r, s < 1 - r], [v / r * s, v], v / r * (1 - s))
        push = np.select([s < r, s < 1 - r], [v / r, 0.0], -v / r)
        d = goal - q
        move = np.concatenate(
            [q + np.outer(place, d), np.outer(speed, d) / length, np.outer(push, d) / length**2], axis=1
        )
        still = np.concatenate([goal, np.zeros(12)])
        parts += [move, np.tile(still, (rest, 1))]
        q, count = goal, count + steps + rest
    rows = np.concatenate(parts)[:total]
    force, spans, at = np.zeros((total, 3)), [], 2.0
    chance = np.random.default_rng((seed, 1))
    t = np.arange(total) * DT
    while pushed:
        at += chance.uniform(1.0, 3.0)
        lasts, direction = chance.uniform(0.4, 1.5), chance.normal(size=3)
        if at + lasts + 1.0 > seconds:
            break
        on = (t > at) & (t < at + lasts)
        size = chance.uniform(15.0, 45.0) / np.linalg.norm(direction)
        force[on] = np.outer(np.sin(np.pi * (t[on] - at) / lasts), size * direction)
        spans.append((at, at + lasts))
        at += lasts
    return Way(rows[:, :6], rows[:, 6:12], rows[:, 12:], force, tuple(spans))


def drive(way: Way, seed: int, rate: float = PLANT_RATE) -> Log:
    """Drive the lab's arm along a way; return what a controller would publish at `rate` [Hz]."""
    plant = LabPlant(aw.load("ur5"), q0=way.q[0], current_noise=NOISE, seed=seed)
    n, tip, lever = len(way.q), plant.robot.tip, plant.robot.T_tip_tool
    rows = np.empty((n, 18))
    for k in range(n):
        F = way.force[k]
        moment = np.cross(plant.flange()[:3, :3] @ lever[:3, :3].T @ lever[:3, 3], F) if F.any() else F
        plant.push(tip, np.concatenate([F, moment]))
        plant.step(way.q[k], way.qd[k], way.qdd[k])
        rows[k] = np.concatenate([plant.live.q, plant.live.qd, plant.measured_current()])
    every = round(PLANT_RATE / rate)
    t = (np.arange(n) + 1) * DT
    return Log(t[::every], *(rows[::every, part : part + 6] for part in (0, 6, 12)), name=f"seed {seed}")


def identified(seed: int, rate: float) -> Identified:
    """Identify the lab's arm as a user would: excitation, gains with their offsets, fit, bands of free motion."""
    arm = aw.load("ur5")
    found = excite(arm, seconds=25.0, starts=1, iterations=20, seed=seed)
    q, qd, qdd = found.reference(np.arange(round(50.0 / DT)) * DT)
    log = drive(Way(q, qd, qdd, np.zeros((len(q), 3))), seed)
    model = fit(log, arm, gains=Known(fit_current_map(log, arm).usable()))
    free = drive(trapezoids(seed + 1, SECONDS, pushed=False), seed + 1, rate)
    return with_bands(model, learn_bands(model, [log, free]))


def states(resting: Array, tick: float) -> Array:
    """Return for every tick (K,) which of `STATES` the arm is in."""
    going, clock = np.zeros_like(resting), np.zeros(resting.shape[1])
    for k, rest in enumerate(resting):
        clock = np.where(rest > 0.0, 0.0, clock + tick)
        going[k] = clock
    return np.where((going > SETTLED).all(axis=1), 0, np.where((resting > SETTLED).all(axis=1), 1, 2))


class Stretch(NamedTuple):
    """State, whether it is pushed, how many components of the force were judged and how many the interval held."""

    state: int
    pushed: bool
    count: int
    held: int
    square: float
    half: float


def stretches(ticks: Ticks, force: Array) -> list[Stretch]:
    """Judge the intervals of a run against the true force (K, 3) at its ticks."""
    state, pushed = states(ticks.resting, 0.01), force.any(axis=1)
    error = np.abs(ticks.wrench[:, :3] - force)
    good = (ticks.seen > SEEN_SHARE) & (ticks.t > ticks.t[0] + 1.0)
    edges = np.flatnonzero(np.diff(state * 2 + pushed)) + 1
    out = []
    for part in np.split(np.arange(len(ticks)), edges):
        rows = part[good[part]]
        if len(rows):
            held = int((error[rows] <= ticks.half[rows, :3]).sum())
            sums = float((error[rows] ** 2).sum()), float(ticks.half[rows, :3].sum())
            out.append(Stretch(int(state[part[0]]), bool(pushed[part[0]]), 3 * len(rows), held, *sums))
    return out


class Push(NamedTuple):
    """One push: index in `STATES` when it was hardest; its largest force [N]; that on the joints over their bands."""

    state: int
    force: float
    share: float
    felt: bool


class Alarms(NamedTuple):
    """Alarms of one run.

    Attributes:
        after: seconds from the end of every push that was felt to that of its alarm. missed: pushes not felt.
        false: alarms of nothing. standing: pushes that began while an alarm was on.
    """

    after: tuple[float, ...]
    missed: int
    false: int
    standing: int
    pushes: tuple[Push, ...] = ()


def pushes_of(ticks: Ticks, force: Array, spans: tuple[tuple[float, float], ...]) -> tuple[Push, ...]:
    """Return all pushes, by the true force (K, 3) at the ticks."""
    arm, state, out = aw.load("ur5"), states(ticks.resting, 0.01), []
    for begin, end in spans:
        rows = np.flatnonzero((ticks.t > begin) & (ticks.t < end + 0.05))
        size = np.linalg.norm(force[rows], axis=1)
        k = int(rows[np.argmax(size)])
        at_joints = np.abs(np.asarray(aw.jacobian(arm, ticks.q[k]))[:3].T @ force[k])
        share = float((at_joints / ticks.band[k]).max())
        out.append(Push(int(state[k]), float(size.max()), share, bool(ticks.alarm[rows].any())))
    return tuple(out)


def alarms_of(ticks: Ticks, spans: tuple[tuple[float, float], ...]) -> Alarms:
    """Compare alarms with the pushes that there were."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], ticks.alarm.astype(int), [0]])))
    found = [(ticks.t[a], ticks.t[b - 1]) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    own = [[end for begin, end in found if begin < b + 0.05 and end > a] for a, b in spans]
    after = tuple(max(ends) - b for ends, (_, b) in zip(own, spans, strict=True) if ends)
    false = sum(not any(begin < b + 0.05 and end > a for a, b in spans) for begin, end in found)
    standing = sum(bool(ticks.alarm[np.searchsorted(ticks.t, a) - 1]) for a, _ in spans)
    return Alarms(after, len(spans) - len(after), false, standing)


def felt_run(model: Identified, seed: int, rate: float, *, pushed: bool) -> tuple[list[Stretch], Alarms]:
    """Drive and feel one minute."""
    way = trapezoids(seed, SECONDS, pushed)
    log = drive(way, seed, rate)
    ticks = Feeler(model).push(log.t, log.q, log.qd, log.current)
    t = (np.arange(len(way.force)) + 1) * DT
    force = np.stack([np.interp(ticks.t, t, way.force[:, k]) for k in range(3)], axis=1)
    alarms = alarms_of(ticks, way.spans)._replace(pushes=pushes_of(ticks, force, way.spans))
    return stretches(ticks, force), alarms


def covered(parts: list[Stretch]) -> tuple[float, float, float]:
    """Return the share held and its 95 % limits, stretches independent."""
    n, k = np.array([p.count for p in parts]), np.array([p.held for p in parts])
    p = k.sum() / n.sum()
    spread = 1.96 * float(np.sqrt(((k - p * n) ** 2).sum())) / n.sum()
    return p, max(0.0, p - spread), min(1.0, p + spread)


FORCES = (15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0)  # [N] edges of the table
SHARES = (0.0, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, np.inf)  # of a band


def tell_pushes(pushes: list[Push]) -> None:
    """Print how many pushes were felt by state, by their force and by the torque at the joints over its band."""
    for what, edges in (("force", FORCES), ("share", SHARES)):
        values = np.array([getattr(push, what) for push in pushes])
        for state, name in enumerate(STATES):
            cells = []
            for low, high in pairwise(edges):
                some = [
                    push.felt for push, x in zip(pushes, values, strict=True) if push.state == state and low <= x < high
                ]
                cells.append(f"{low:g}–{high:g}: {sum(some)} of {len(some)}")
            say(f"felt by {what}, {name:8} {'  '.join(cells)}")
    unfelt = sorted((push.share, push.force, STATES[push.state]) for push in pushes if not push.felt)
    say("not felt (share of a band, N, state): " + "; ".join(f"{s:.2f} {f:.0f} {name}" for s, f, name in unfelt))


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")


def main() -> None:
    """Measure and print."""
    first, runs, rate = (float(x) for x in (sys.argv[1:] + ["700", "12", "125"][len(sys.argv) - 1 :]))
    model = identified(5, rate)
    parts, alarms, free = list[Stretch](), list[Alarms](), list[Alarms]()
    for seed in range(int(first), int(first + runs)):
        for pushed, all_of in ((True, alarms), (False, free)):
            found, rung = felt_run(model, seed, rate, pushed=pushed)
            parts += found
            all_of.append(rung)
    say(f"{rate:g} Hz, seeds {first:g} to {first + runs - 1:g}: 95 % interval of each component of the force")
    for pushed in (False, True):
        for state, name in enumerate(STATES):
            some = [p for p in parts if p.state == state and p.pushed == pushed]
            if not some:
                continue
            value, low, high = covered(some)
            count = sum(p.count for p in some)
            rms, half = np.sqrt(sum(p.square for p in some) / count), sum(p.half for p in some) / count
            text = f"{'pushed' if pushed else 'free':7} {name:8} {100 * value:5.1f} %"
            text += f" ({100 * low:.1f} to {100 * high:.1f})"
            say(f"{text} of {count} in {len(some)} stretches; error {rms:.1f} N rms, stated ±{half:.1f} N")
    after = np.array([x for run in alarms for x in run.after])
    late, missed = int((after > 0.5).sum()), sum(run.missed for run in alarms)
    said = share(late, len(after))
    say(f"pushes felt {len(after)}, not felt {missed}; alarm over {quantile(after, 0.5).value:.2f} s after the push")
    say(f"(median; 95 % {quantile(after, 0.95).value:.2f}, most {after.max():.2f}); later than 0.5 s: {late}, {said}")
    tell_pushes([push for run in alarms for push in run.pushes])
    say(f"pushes that began during an alarm: {sum(run.standing for run in alarms)}")
    false = sum(run.false for run in (*alarms, *free))
    say(f"alarms of nothing: {false} in {2 * runs * SECONDS / 60:g} min")


if __name__ == "__main__":
    main()
