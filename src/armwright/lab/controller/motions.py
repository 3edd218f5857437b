# SPDX-License-Identifier: Apache-2.0
"""Motions of the controller: each is a reference that every tick asks where to be.

A motion starts from the reference before it (position and velocity), so that one can take over from another.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from armwright.motion.trajectory import Reference
from armwright.spatial.rotations import exp_so3, log_so3

if TYPE_CHECKING:
    from armwright.types import Array

MOTION_TICK = 0.002  # of a tick [s]
NO_TIME = 1e-6  # [s]: less is no time left
REACHED_SPEED = 1e-9  # [rad/s] from the speed that is wanted
SERVO_PATIENCE = 0.1  # [s] that the last target of a servoj counts after its time
STEP_SHARE = 0.98  # of the joints' speed limits that a tick of a tool's motion uses
SLOWEST_SCALE = 0.01  # of the wanted step: a way that can only be followed slower than that is lost
LOST_IK_ERROR = 1e-3  # error of the inverse kinematics at which a Cartesian motion gives up [m, rad]
Towards = Callable[["Array", "Array"], "tuple[Array, float]"]
"""(q, pose) → configuration near q that reaches the TCP pose, and the error left."""


class PathLostError(Exception):
    """A Cartesian motion cannot be followed by the joints (out of reach, or through a singularity)."""


class JointLimits(NamedTuple):
    """Largest speeds (n,) [rad/s] and accelerations (n,) [rad/s²]."""

    speed: Array
    acceleration: Array


class Motion(Protocol):
    """A reference under way.

    Attributes:
        resumes: it stands still where `scale` is 0, and goes on later; what is steered from moment to moment does not.
    """

    @property
    def resumes(self) -> bool:
        """Return whether a pause keeps it."""

    @property
    def returned(self) -> bool:
        """Return whether the instruction that began it is over for its program; the arm may still be under way."""

    def step(self, scale: float) -> tuple[Reference, bool]:
        """Go on by one tick, slowed by `scale` in (0, 1]; return the reference and whether the motion has ended."""


def trapezoid(length: float, v: float, a: float, t: float) -> tuple[float, float, float, float]:
    """Return distance, speed and acceleration at t of a rest-to-rest profile over `length` ≥ 0, and its duration."""
    if length <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    rise = min(v / a, float(np.sqrt(length / a)))
    top = a * rise
    whole = length / top + rise
    if t >= whole:
        return length, 0.0, 0.0, whole
    if t < rise:
        return 0.5 * a * t * t, a * t, a, whole
    if t <= whole - rise:
        return top * (t - 0.5 * rise), top, 0.0, whole
    left = whole - t
    return length - 0.5 * a * left * left, a * left, -a, whole


class Hold:
    """Stay at the reference."""

    resumes = True
    returned = True

    def __init__(self, q: Array) -> None:
        self._at = Reference(q.copy(), np.zeros_like(q), np.zeros_like(q))

    def step(self, scale: float) -> tuple[Reference, bool]:
        """Return the same reference for ever."""
        return self._at, True


class Stretch:
    """A path from rest to rest under a trapezoid of speed; what a blend needs to know of it."""

    resumes = True
    radius = 0.0

    def __init__(self, length: float, v: float, a: float) -> None:
        self._length, self._v, self._a, self._t = length, v, a, 0.0

    @property
    def returned(self) -> bool:
        """See `Motion`: it is over where the blend of `radius` [m] at its end begins."""
        return self.radius > 0.0 and self.left <= self.time_within(self.radius, last=True)

    @property
    def left(self) -> float:
        """Return the time to its end at full speed [s]."""
        return trapezoid(self._length, self._v, self._a, 0.0)[3] - self._t

    def last(self, time: float, most_v: float, most_a: float) -> None:
        """Make it take `time` [s], with ramps of a quarter each, or as long as the limits demand."""
        self._v = min(self._length / (0.75 * time), most_v) or self._v
        self._a = min(self._v / (0.25 * time), most_a)

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        raise NotImplementedError

    def end(self) -> Array:
        """Return the joints (n,) at its end."""
        raise NotImplementedError

    def distance(self, s: float, *, last: bool) -> float:
        """Return how far the TCP is from the beginning (or end) when s of the length is past (or left) [m]."""
        raise NotImplementedError

    def time_within(self, radius: float, *, last: bool = False) -> float:
        """Return the time of the first (last) part that stays within `radius` [m], on the ramp, in its half [s]."""
        low, high = 0.0, 0.5 * min(self._length, self._v * self._v / self._a)
        if high <= 0.0:
            return 0.0
        if self.distance(high, last=last) > radius:
            for _ in range(20):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if self.distance(middle, last=last) <= radius else (low, middle)
            high = low
        return float(np.sqrt(2.0 * high / self._a))


class JointMove(Stretch):
    """A straight motion in joint space, all joints together; v and a are those of the leading axis (movej)."""

    def __init__(
        self,
        start: Array,
        goal: Array,
        v: float,
        a: float,
        place: Callable[[Array], Array],
        limits: JointLimits | None = None,
        *,
        radius: float = 0.0,
    ) -> None:
        """Take the goal; `place`: joints → position (3,) of the TCP, for blends; `limits` that no joint exceeds."""
        self._start, self._way, self._place, self._limits = start.copy(), goal - start, place, limits
        self.radius, self._zone = radius, -1.0
        super().__init__(float(np.abs(self._way).max()), v, a)
        self._v, self._a = self._within(v, a)

    def _within(self, v: float, a: float) -> tuple[float, float]:
        """Return speed and acceleration of the leading axis, lowered so that no joint exceeds its limits."""
        if self._limits is None or not self._length > 0.0:
            return v, a
        share = np.maximum(np.abs(self._way) / self._length, 1e-12)
        return min(v, float((self._limits.speed / share).min())), min(
            a, float((self._limits.acceleration / share).min())
        )

    def last(self, time: float, most_v: float, most_a: float) -> None:
        """See `Stretch`."""
        super().last(time, most_v, most_a)
        self._v, self._a = self._within(self._v, self._a)

    @property
    def returned(self) -> bool:
        """See `Stretch`."""
        if not self.radius > 0.0:
            return False
        if self._zone < 0.0:
            self._zone = self.time_within(self.radius, last=True)
        return self.left <= self._zone

    def end(self) -> Array:
        """See `Stretch`."""
        return self._start + self._way

    def distance(self, s: float, *, last: bool) -> float:
        """See `Stretch`."""
        origin, sign = (self.end(), -1.0) if last else (self._start, 1.0)
        return float(np.linalg.norm(self._place(origin + sign * s / self._length * self._way) - self._place(origin)))

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        self._t += MOTION_TICK * scale
        s, sd, sdd, whole = trapezoid(self._length, self._v, self._a, self._t)
        way = self._way / self._length if self._length else self._way
        at = Reference(self._start + s * way, scale * sd * way, scale * scale * sdd * way)
        return at, self._t >= whole


class TcpMotion:
    """Follows TCP poses by small steps of the inverse kinematics; joint speeds by differences."""

    @property
    def returned(self) -> bool:
        """See `Motion`."""
        return False

    def __init__(self, start: Reference, towards: Towards) -> None:
        self.q, self._qd, self._towards = np.array(start.q), np.array(start.qd), towards

    def follow(self, pose: Array) -> Reference:
        """Return the joints at the next pose."""
        q, error = self._towards(self.q, pose)
        if not error <= LOST_IK_ERROR:
            raise PathLostError(f"the path leaves what the joints can follow by {error:.2g} m or rad")
        return self.reached(q)

    def reached(self, q: Array) -> Reference:
        """Take joints (n,) as those of the next tick."""
        qd = (q - self.q) / MOTION_TICK
        at = Reference(q, qd, (qd - self._qd) / MOTION_TICK)
        self.q, self._qd = q, qd
        return at


class SteeredTool(TcpMotion):
    """A TCP that goes on by one speed after the other, straight on but slower where the joints cannot keep up."""

    def __init__(self, start: Reference, pose: Array, towards: Towards, most_speed: Array) -> None:
        super().__init__(start, towards)
        self._p, self._R, self._most = pose[:3].copy(), exp_so3(pose[3:]), most_speed

    def go_on(self, speed: Array) -> tuple[Reference, float]:
        """Go on for a tick at a speed (6,) in base axes; return the joints and the share of it that they could follow.

        Raises:
            PathLostError: the joints cannot follow it at all.
        """
        share = 1.0
        while True:
            step = share * MOTION_TICK * speed
            p, R = self._p + step[:3], exp_so3(step[3:]) @ self._R
            q, error = self._towards(self.q, np.concatenate([p, log_so3(R)]))
            fast = float(np.max(np.abs(q - self.q) / self._most)) / MOTION_TICK
            if not error <= LOST_IK_ERROR:
                raise PathLostError(f"the path leaves what the joints can follow by {error:.2g} m or rad")
            if fast <= 1.0:
                break
            share *= STEP_SHARE / fast
            if share < SLOWEST_SCALE:
                raise PathLostError("the path is singular: the joints cannot pass it")
        self._p, self._R = p, R
        return self.reached(q), share


class Spell:
    """How long a speed is kept: its time, then one step more for a program that renews its instruction, then no more.

    Attributes:
        over: the time has passed, or the speed is reached where no time was given.
    """

    def __init__(self, time: float | None) -> None:
        self._left, self._until_reached = inf if time is None else time, time is None
        self.over, self._more = False, True

    def keeps(self) -> bool:
        """Return whether the speed is kept in this step."""
        more, self._more = self._more, self._more and not self.over
        return more

    def passes(self, scale: float, *, reached: bool) -> None:
        """Let a step pass, of time that is scaled."""
        self._left -= MOTION_TICK * scale
        self.over = self.over or self._left <= NO_TIME or (self._until_reached and reached)


class JointSpeed:
    """Accelerate to joint speeds and keep them for a time (speedj); then brake. See `Spell`."""

    resumes = False

    def __init__(self, start: Reference, speed: Array, a: float, time: float | None) -> None:
        self.q, self.qd, self._goal = np.array(start.q), np.array(start.qd), np.array(speed)
        self._a, self._spell = a, Spell(time)

    @property
    def returned(self) -> bool:
        """See `Motion`."""
        return self._spell.over

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        ended = self._spell.over
        goal = scale * self._goal if self._spell.keeps() else 0.0 * self._goal
        change = np.clip(goal - self.qd, -self._a * MOTION_TICK, self._a * MOTION_TICK)
        self.qd = self.qd + change
        self.q = self.q + self.qd * MOTION_TICK
        self._spell.passes(scale, reached=bool(np.abs(goal - self.qd).max() < REACHED_SPEED))
        return Reference(self.q, self.qd, change / MOTION_TICK), bool(ended and not self.qd.any())


class ToolSpeed(SteeredTool):
    """Accelerate the TCP to a speed (6,) in base axes and keep it for a time (speedl); then brake. See `Spell`."""

    resumes = False

    def __init__(
        self,
        start: Reference,
        pose: Array,
        speed: Array,
        a: float,
        time: float | None,
        towards: Towards,
        most_speed: Array,
    ) -> None:
        super().__init__(start, pose, towards, most_speed)
        self._speed, self._goal, self._a, self._spell = np.zeros(6), np.array(speed), a, Spell(time)

    @property
    def returned(self) -> bool:
        """See `Motion`."""
        return self._spell.over

    def take_over(self, other: object) -> None:
        """Go on with the speed of an earlier motion of the tool."""
        if isinstance(other, ToolSpeed):
            self._speed = other._speed

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        ended = self._spell.over
        missing = (scale if self._spell.keeps() else 0.0) * self._goal - self._speed
        size = max(float(np.linalg.norm(missing[:3])), 0.25 * float(np.linalg.norm(missing[3:])))
        self._speed = self._speed + missing * min(1.0, self._a * MOTION_TICK / size if size else 1.0)
        self._spell.passes(scale, reached=size <= self._a * MOTION_TICK)
        at, share = self.go_on(self._speed)
        self._speed = share * self._speed
        return at, bool(ended and not self._speed.any())


class JointServo:
    """Follows a target that is set again and again (servoj): a critically damped filter with limits.

    The target goes evenly from the one before to the new one within the time of the instruction, so that targets which
    come less often than the ticks make no steps. The filter's frequency is that of the look-ahead time, raised by the
    gain: ω = (2/lookahead) √(gain/300). The slider does not scale it: the client says where to be and when.
    """

    resumes = False

    def __init__(self, start: Reference, most_speed: Array, most_acceleration: Array) -> None:
        self.q, self.qd = np.array(start.q), np.array(start.qd)
        self._v, self._a = most_speed, most_acceleration
        self._w, self._left = 20.0, 0.0
        self._goal = self._aim = self.q
        self._steps = 0

    @property
    def returned(self) -> bool:
        """See `Motion`."""
        return self._left <= SERVO_PATIENCE + NO_TIME

    def aim(self, goal: Array, time: float, lookahead: float, gain: float) -> None:
        """Set a new target; it counts for `time` and `SERVO_PATIENCE` more, then the arm brakes."""
        lookahead, gain = float(np.clip(lookahead, 0.03, 0.2)), float(np.clip(gain, 100.0, 2000.0))
        self._w = 2.0 / lookahead * float(np.sqrt(gain / 300.0))
        self._goal, self._left = np.array(goal), time + SERVO_PATIENCE
        self._steps = max(1, round(time / MOTION_TICK))

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        self._left -= MOTION_TICK
        if self._steps > 0:
            self._aim = self._aim + (self._goal - self._aim) / self._steps
            self._steps -= 1
        w = min(self._w, 0.4 / MOTION_TICK)
        a = w * w * (self._aim - self.q) - 2.0 * w * self.qd if self._left > 0.0 else -self.qd / MOTION_TICK
        a = np.clip(a, -self._a, self._a)
        qd = np.clip(self.qd + a * MOTION_TICK, -self._v, self._v)
        if self._left <= 0.0:
            qd = np.where(np.abs(self.qd) <= self._a * MOTION_TICK, 0.0, qd)
        at = Reference(self.q + qd * MOTION_TICK, qd, (qd - self.qd) / MOTION_TICK)
        self.q, self.qd = at.q, qd
        return at, bool(self._left <= 0.0 and not qd.any())


def brake(start: Reference, deceleration: float) -> JointSpeed:
    """Return a motion that comes to rest (stopj)."""
    return JointSpeed(start, np.zeros_like(start.q), deceleration, 0.0)
