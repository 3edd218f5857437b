# SPDX-License-Identifier: Apache-2.0
"""How fast a tool may go along its way so that no joint exceeds its limits: σ̇ over σ, and σ over time.

With q(σ) sampled along the way, q̇ = q′ σ̇ and q̈ = q″ σ̇² + q′ σ̈. So σ̇ ≤ V/|q′|, σ̇² ≤ A/|q″|, and what is left of A
is for σ̈. One sweep forward from the speed at the beginning and one backward from rest at the end give the fastest
speeds under these and under the tool's own speed and acceleration. Where nothing of a joint matters that is the usual
trapezoid, and exactly that is used then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator
from math import inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.lab.controller.motions import JointLimits, Towards, trapezoid

if TYPE_CHECKING:
    from armwright.lab.controller.tool_way import ToolWay
    from armwright.types import Array

SAMPLES_ON_A_WAY = 48  # at least, evenly, where no joint moves much
WIDEST_JOINT_STEP = 0.05  # between two samples [rad]
FINEST_STEP = 1e-4  # [m] between two samples: where the joints move far within it, the way is lost
SAMPLE_ERROR = 2e-5  # of the inverse kinematics at a sample [m, rad]
MOST_SAMPLES = 600  # of a way
SAMPLE_ROUNDS = 3  # of Newton's method at a sample
SAMPLED_AT_ONCE = 120  # calls of it in a tick: 0.3 to 1 ms; most ways need fewer
FEW_SAMPLES = 150  # whose law is made in the tick in which the last of them is found
SPEED_SHARE, ACCELERATION_SHARE = 0.95, 0.85  # of the joints' limits that a plan uses: samples miss peaks
LEAST_SHARE = 0.1  # of the joints' acceleration that is always left for σ̈
HARD_BRAKING = 4.0  # times the tool's acceleration, where a way begins faster than it can be followed


class WaySamples(NamedTuple):
    """Joints q (k, n) at σ (k,); `lost` [m]: where the joints cannot follow any more, inf if they can to the end."""

    s: Array
    q: Array
    lost: float


def sampled(way: ToolWay, q: Array, towards: Towards) -> Generator[None, None, WaySamples]:
    """Follow a way from a configuration (n,) on, in steps that are fine where the joints move fast.

    It yields where a tick has done enough: how long a way takes to be planned is a number of ticks, on any machine.
    """
    most = way.length / SAMPLES_ON_A_WAY
    calls = 0
    least, h, s = min(FINEST_STEP, most), most, 0.0
    places, rows = [0.0], [np.array(q)]
    corners = [x for x in way.joints[1:] if x > 0.0]
    while s < way.length and len(rows) < MOST_SAMPLES:
        nearest = next((x for x in corners if x > s + 1e-12), way.length)
        step = min(h, nearest - s)
        found, error = rows[-1], inf
        pose = way.pose(s + step)
        if calls > SAMPLED_AT_ONCE:
            calls = 0
            yield
        for _ in range(SAMPLE_ROUNDS):
            found, error = towards(found, pose)
            calls += 1
            if error < 1e-7:
                break
        moved = float(np.abs(found - rows[-1]).max())
        if not (error < SAMPLE_ERROR and moved < WIDEST_JOINT_STEP):
            if step <= least:
                return WaySamples(np.array(places), np.array(rows), s)
            h = 0.5 * step
            continue
        s = nearest if step >= nearest - s else s + step
        places.append(s)
        rows.append(found)
        if moved < 0.4 * WIDEST_JOINT_STEP:
            h = min(most, 2.0 * h)
    if len(rows) > FEW_SAMPLES:
        yield
    return WaySamples(np.array(places), np.array(rows), inf if s >= way.length else s)


class PathLaw:
    """σ over time: pieces of constant σ̈ between samples, or a trapezoid.

    Attributes:
        whole: duration [s].
    """

    def __init__(self, s: Array, x: Array) -> None:
        """Take σ (k,) and σ̇² (k,)."""
        speed = np.sqrt(x)
        t = np.concatenate([[0.0], np.cumsum(2.0 * np.diff(s) / np.maximum(speed[1:] + speed[:-1], 1e-9))])
        self._s, self._x, self._u, self._t = s.tolist(), x.tolist(), speed.tolist(), t.tolist()
        self.whole: float = self._t[-1]

    def at(self, t: float) -> tuple[float, float]:
        """Return σ and σ̇ at a time [s]."""
        if t >= self.whole:
            return self._s[-1], self._u[-1]
        k = max(0, bisect_right(self._t, t) - 1)
        a = 0.5 * (self._x[k + 1] - self._x[k]) / (self._s[k + 1] - self._s[k])
        tau = t - self._t[k]
        return min(self._s[k] + (self._u[k] + 0.5 * a * tau) * tau, self._s[k + 1]), max(0.0, self._u[k] + a * tau)

    def time_at(self, s: float) -> float:
        """Return when σ = s is passed [s]."""
        if s <= self._s[0]:
            return 0.0
        if s >= self._s[-1]:
            return self.whole
        k = bisect_right(self._s, s) - 1
        part = s - self._s[k]
        a = 0.5 * (self._x[k + 1] - self._x[k]) / (self._s[k + 1] - self._s[k])
        speed = sqrt(max(0.0, self._x[k] + 2.0 * a * part))
        return self._t[k] + 2.0 * part / max(self._u[k] + speed, 1e-9)

    @property
    def braking(self) -> float:
        """Return when the last braking begins [s]: from then on the speed only falls."""
        k = len(self._x) - 1
        while k > 0 and self._x[k - 1] > self._x[k] + 1e-12:
            k -= 1
        return self._t[k]


class TrapezoidLaw:
    """σ over time where no joint matters: rest to rest at v and a."""

    def __init__(self, length: float, v: float, a: float) -> None:
        self._length, self._v, self._a = length, v, a
        self.whole = trapezoid(length, v, a, 0.0)[3]

    def at(self, t: float) -> tuple[float, float]:
        """See `PathLaw`."""
        s, u, _, _ = trapezoid(self._length, self._v, self._a, t)
        return s, u

    def time_at(self, s: float) -> float:
        """See `PathLaw`."""
        rise = min(self._v / self._a, sqrt(self._length / self._a))
        if s >= self._length:
            return self.whole
        if s <= 0.5 * self._a * rise * rise:
            return sqrt(2.0 * max(0.0, s) / self._a)
        left = self._length - s
        if left <= 0.5 * self._a * rise * rise:
            return self.whole - sqrt(2.0 * left / self._a)
        return s / (self._a * rise) + 0.5 * rise

    @property
    def braking(self) -> float:
        """See `PathLaw`."""
        return self.whole - min(self._v / self._a, sqrt(self._length / self._a))


def law_of(
    way: ToolWay, found: WaySamples, v: float, a: float, limits: JointLimits, start: float = 0.0
) -> PathLaw | TrapezoidLaw:
    """Return the fastest law along a way that was sampled.

    Args:
        way: of the tool.
        found: its samples.
        v: tool speed [m/s].
        a: tool acceleration [m/s²].
        limits: of the joints.
        start: σ̇ at the beginning [m/s]; the end is at rest, also where the joints cannot follow any more.
    """
    s, q = found.s, found.q
    if len(s) < 2:
        return TrapezoidLaw(way.length, v, a)
    slopes = np.abs(np.diff(q, axis=0)) / np.diff(s)[:, None]
    q1 = np.maximum(np.vstack([slopes[:1], slopes]), np.vstack([slopes, slopes[-1:]]))
    gradient = np.gradient(q, s, axis=0)
    q2 = np.abs(np.gradient(gradient, s, axis=0)) if len(s) > 2 else np.zeros_like(q)
    V, A = SPEED_SHARE * limits.speed, ACCELERATION_SHARE * limits.acceleration
    with np.errstate(divide="ignore"):
        cap = np.minimum(np.min((V / q1) ** 2, axis=1), np.min((1.0 - LEAST_SHARE) * A / q2, axis=1))
    wanted = (v * np.array([way.ease(x) for x in s.tolist()])) ** 2
    bends = np.array([way.curvature(x) for x in s.tolist()])
    bound = np.minimum(cap, np.where(bends > 0.0, a / np.maximum(bends, 1e-9), inf))
    if start == 0.0 and s[0] == 0.0 and found.lost == inf and (wanted == v * v).all():
        top = min(v * v, a * way.length)
        if (bound >= top).all() and (top * q2 + a * q1 <= A).all():
            return TrapezoidLaw(way.length, v, a)
    cap = np.minimum(bound, wanted)
    ramp = 0.5 * abs(v * v - start * start) / a
    for place in (s[0] + ramp, s[-1] - 0.5 * v * v / a):  # a ramp ends between two samples
        k = int(np.searchsorted(s, place))
        if 0 < k < len(s) and min(place - s[k - 1], s[k] - place) > FINEST_STEP:
            s = np.insert(s, k, place)
            cap = np.insert(cap, k, min(cap[k - 1], cap[k]))
            q1 = np.insert(q1, k, np.maximum(q1[k - 1], q1[k]), axis=0)
            q2 = np.insert(q2, k, np.maximum(q2[k - 1], q2[k]), axis=0)
    return PathLaw(s, _sweeps(s, cap, a, (A, q1, q2), start))


def _sweeps(s: Array, cap: Array, a: float, joints: tuple[Array, Array, Array], start: float) -> Array:
    """Return σ̇² (k,) after a sweep backward and one forward."""
    A, q1, q2 = joints
    room = (LEAST_SHARE * np.min(A / np.maximum(q1, 1e-9), axis=1)).tolist()
    # σ̈ of a joint: (A − q″ σ̇²)/q′; plain numbers, because arrays of six cost several times as much
    most_left = (A / np.maximum(q1, 1e-9)).tolist()
    taken = (q2 / np.maximum(q1, 1e-9)).tolist()
    steps, n = np.diff(s).tolist(), len(s)

    def most(k: int, y: float) -> float:
        """σ̈ that the joints have left at sample k at σ̇² = y."""
        free = min([left - share * y for left, share in zip(most_left[k], taken[k], strict=True)])
        return min(a, max(free, room[k]))

    x = cap.tolist()
    x[-1] = 0.0
    for k in range(n - 2, -1, -1):
        x[k] = min(x[k], x[k + 1] + 2.0 * steps[k] * most(k + 1, x[k + 1]))
    hard = start * start  # the speed that it has cannot be taken away at once
    x[0] = hard
    for k in range(n - 1):
        x[k + 1] = min(x[k + 1], x[k] + 2.0 * steps[k] * most(k, x[k]))
        hard -= 2.0 * steps[k] * HARD_BRAKING * a
        if k + 2 < n:
            x[k + 1] = max(x[k + 1], hard)
    made = np.array(x)
    made[1:-1] = np.maximum(made[1:-1], 1e-8)
    return made
