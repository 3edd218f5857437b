# SPDX-License-Identifier: Apache-2.0
"""URScript's motion instructions, one function each: what a program calls while another motion may be under way.

Each begins a motion of the controller and returns at once, but for those along a way of the tool (`Planning`): these
brake the arm first where they must, follow the way through, and return what begins the move; they yield where a tick
has done enough. The instruction is over for the program when `Controller.instructed` says so: at the goal, or where the
blend zone of a move with a radius begins. The next move then takes over with the speed that the arm has:

- from a line to a line (movel, movep, optimovel) on a bend within the radius; see `tool_way`,
- where joints or arcs are on one side, by overlap, q(t) = q_a(t) + q_b(t − t_b) − q_w.

A blend takes at most half of the move before and behind it: radii that overlap shrink. If no next move comes, the arm
rests at its goal, so the radius of the last move does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller import move_goals as goals
from armwright.lab.controller.motions import (
    JointLimits,
    JointMove,
    JointServo,
    JointSpeed,
    Motion,
    PathLostError,
    Stretch,
    ToolSpeed,
    brake,
)
from armwright.lab.controller.path_law import sampled
from armwright.lab.controller.path_move import PathMove, PathStop
from armwright.lab.controller.tool_way import LinePiece, ToolWay, arc_piece
from armwright.motion.trajectory import Reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.lab.controller.controller import Controller
    from armwright.types import Array

MOST_RADIUS = 2.0  # of a blend [m]
RESTING_SPEED = 1e-9  # [rad/s]: an arm that is slower rests
TAKEOVER_DECELERATION = 4.0  # [rad/s²] from a speed that is no move's, before a move begins
SERVO_TIME = 0.008  # [s] of servoj where none is given
BEND_ATTEMPTS = 4  # to plan a bend ahead of an arm that goes on meanwhile
Planning = Generator[None, None, "Callable[[], None] | None"]
"""A move that is being planned; gives what begins it, None where another motion has taken its place."""
UNLIMITED_TOOL = 3.0, 150.0  # [m/s, m/s²] of moves that only joints limit


class Overlap:
    """A move that ends and the next one that begins; see the text of this file.

    Attributes:
        before, behind: the goals.
    """

    resumes = True

    def __init__(self, before: Stretch, behind: Stretch, waypoint: Array) -> None:
        """Take both, and the joints (n,) where they meet."""
        self.before, self.behind, self._waypoint = before, behind, waypoint
        self._over = False
        within = before.radius
        self._overlap = min(before.left, before.time_within(within, last=True), behind.time_within(within))

    @property
    def now(self) -> Stretch:
        """Return the move that leads."""
        return self.behind if self._over else self.before

    @property
    def returned(self) -> bool:
        """See `Motion`."""
        return self._over and self.behind.returned

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        if self._over:
            return self.behind.step(scale)
        at, self._over = self.before.step(scale)
        if not self._over and self.before.left >= self._overlap:
            return at, False
        other, ended = self.behind.step(scale)
        return Reference(at.q + other.q - self._waypoint, at.qd + other.qd, at.qdd + other.qdd), self._over and ended


class AfterBraking:
    """A move that is made when the arm has braked from a speed that is no move's."""

    resumes = True
    returned = False

    def __init__(self, start: Reference, make: Callable[[Reference], Stretch]) -> None:
        """Take where the arm is, and what makes the move from where it comes to rest."""
        self._make: Callable[[Reference], Stretch] | None = make
        self._now: Motion = brake(start, TAKEOVER_DECELERATION)

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        at, ended = self._now.step(scale)
        if ended and self._make is not None:
            self._now, self._make, ended = self._make(at), None, False
        return at, ended


def _leading(c: Controller) -> Stretch | None:
    """Return the move under way that has given control back and may be blended with, None if there is none."""
    motion = c.motion.now if isinstance(c.motion, Overlap) else c.motion
    return motion if c.moving and isinstance(motion, Stretch) and motion.returned else None


def _begin(c: Controller, make: Callable[[Reference], Stretch]) -> None:
    """Begin a move: from rest, blended with the one that ends, or after the arm has braked from anything else."""
    before = _leading(c)
    if before is not None:
        end = before.end()
        c.begin(Overlap(before, make(Reference(end, np.zeros(6), np.zeros(6))), end))
    elif np.abs(c.reference.qd).max() > RESTING_SPEED:
        c.begin(AfterBraking(c.reference, make))
    else:
        c.begin(make(Reference(c.reference.q, np.zeros(6), np.zeros(6))))


def _radius(name: str, r: float) -> float:
    if not 0.0 <= r <= MOST_RADIUS:
        raise InputError(f"{name}: a blend radius of 0 to {MOST_RADIUS:g} m, got {r}")
    return r


def movej(c: Controller, q: Sequence[float], a: float, v: float, t: float = 0.0, r: float = 0.0) -> None:
    """Move to joints q (6,) in joint space; a, v of the leading axis, or t [s] in their place; blend radius r [m]."""
    goal, radius = goals.joint_goal(c, q), _radius("movej", r)

    def make(at: Reference) -> JointMove:
        limits, rates = goals.joint_limits(c), goals.rates(c, v, a, tool=False)
        move = JointMove(at.q, goal, *rates, lambda x: c.plant.pose_of(x)[:3], limits, radius=radius)
        if t > 0.0:
            move.last(t, *goals.rates(c, 100.0, 1000.0, tool=False))
        return move

    _begin(c, make)


def optimovej(c: Controller, q: Sequence[float], a: float, v: float, r: float = 0.0) -> None:
    """Move to joints q (6,) in joint space at shares a and v, in (0, 1], of what the joints can do."""
    goal, radius = goals.joint_goal(c, q), _radius("optimovej", r)
    a, v = _share("optimovej: a", a), _share("optimovej: v", v)

    def make(at: Reference) -> JointMove:
        limits = JointLimits(v * c.most_speed, a * c.most_acceleration)
        return JointMove(at.q, goal, np.inf, np.inf, lambda x: c.plant.pose_of(x)[:3], limits, radius=radius)

    if np.abs(goal - c.reference.q).max() > 0.0:
        _begin(c, make)


def _share(what: str, x: float) -> float:
    if not 0.0 < x <= 1.0:
        raise InputError(f"{what} must lie in (0, 1], got {x}")
    return x


def _along(
    c: Controller,
    make_way: Callable[[Array], ToolWay],
    rates: tuple[float, float],
    limits: JointLimits,
    radius: float,
    t: float = 0.0,
    *,
    rounded: bool = False,
) -> Planning:
    """Plan a move along the way that `make_way` gives from a TCP pose (6,) on; see the text of this file."""
    before = _leading(c)
    at = None if before is None else _end(before)
    if at is None:
        while before is not None and _leading(c) is before:
            yield  # it will end in a stop
        resting = yield from _at_rest(c)
        if not resting:
            return None
        before, at = None, c.reference.q
    way = make_way(c.plant.pose_of(at))
    samples = (yield from sampled(way, at, c.plant.towards)) if way.length > 0.0 else None
    start = Reference(np.array(at), np.zeros(6), np.zeros(6))
    if t > 0.0:
        rates = UNLIMITED_TOOL
    move = PathMove(start, way, samples, *rates, c.plant.towards, limits, radius=radius, rounded=rounded, time=t)
    if before is not None and _leading(c) is before:
        return partial(c.begin, Overlap(before, move, np.array(at)))
    if np.array_equal(c.reference.q, at) and not c.moving:
        return partial(c.begin, move)
    return (yield from _along(c, make_way, rates, limits, radius, t, rounded=rounded))  # the arm is elsewhere by now


def _end(move: Stretch) -> Array | None:
    """Return the joints (n,) at a move's end, None where they cannot follow it to there."""
    try:
        return move.end()
    except PathLostError:
        return None


def _at_rest(c: Controller) -> Generator[None, None, bool]:
    """Brake the arm where it moves; return whether it rests then, and no other motion has taken its place."""
    if not np.abs(c.reference.qd).max() > RESTING_SPEED:
        return True
    braking = brake(c.reference, TAKEOVER_DECELERATION)
    c.begin(braking)
    while c.moving and c.motion is braking:
        yield
    return not c.moving


def _line(
    c: Controller,
    pose: Array,
    rates: tuple[float, float],
    limits: JointLimits,
    radius: float,
    t: float,
    *,
    rounded: bool = False,
) -> Planning:
    """Plan a line to a TCP pose (6,): on a bend from the line before it, or as any other move."""
    before, ahead = _leading(c), 0
    for _ in range(BEND_ATTEMPTS):
        if not isinstance(before, PathMove) or _leading(c) is not before or t > 0.0:
            break
        way, begun, since = before.way_on(pose, ahead), c.ticks, before.passed
        if way is None or not way.length > 0.0:
            break
        samples = yield from sampled(way, c.reference.q, c.plant.towards)
        if _leading(c) is before:
            move = before.follow_on(way, since, samples, *rates, c.plant.towards, limits, radius, rounded=rounded)
            if move is not None:
                return partial(c.begin, move)
        ahead += 2 * (c.ticks - begun) + 1  # the arm has passed where the bend was to begin
    return (
        yield from _along(c, lambda now: ToolWay([LinePiece(now, pose)]), rates, limits, radius, t, rounded=rounded)
    )


def movel(c: Controller, pose: Sequence[float], a: float, v: float, t: float = 0.0, r: float = 0.0) -> Planning:
    """Move the TCP in a line to a pose (6,); v [m/s], a [m/s²], or t [s] in their place; blend radius r [m]."""
    return _line(
        c, goals.tool_goal(pose), goals.rates(c, v, a, tool=True), goals.joint_limits(c), _radius("movel", r), t
    )


def movep(c: Controller, pose: Sequence[float], a: float, v: float, r: float = 0.0) -> Planning:
    """Move the TCP in a line to a pose (6,) at an even speed; in a circle into the next line, r [m] before its end."""
    rates = goals.rates(c, v, a, tool=True)
    return _line(c, goals.tool_goal(pose), rates, goals.joint_limits(c), _radius("movep", r), 0.0, rounded=True)


def optimovel(c: Controller, pose: Sequence[float], a: float, v: float, r: float = 0.0) -> Planning:
    """Move the TCP in a line to a pose (6,) at shares a and v, in (0, 1], of what the joints can do."""
    a, v = _share("optimovel: a", a), _share("optimovel: v", v)
    limits = JointLimits(v * c.most_speed, a * c.most_acceleration)
    return _line(c, goals.tool_goal(pose), UNLIMITED_TOOL, limits, _radius("optimovel", r), 0.0)


def movec(
    c: Controller, via: Sequence[float], pose: Sequence[float], a: float, v: float, r: float = 0.0, mode: int = 0
) -> Planning:
    """Move the TCP on an arc through the place of `via` (6,) to a pose (6,).

    Mode 0 turns the tool evenly to the orientation of the pose; mode 1 keeps it against the tangent of the arc.
    """
    if mode not in (0, 1):
        raise InputError(f"movec: mode 0 or 1, got {mode}")
    over, goal, radius = goals.tool_goal(via), goals.tool_goal(pose), _radius("movec", r)
    rates = goals.rates(c, v, a, tool=True)

    def way(now: Array) -> ToolWay:
        return ToolWay([arc_piece(now, over, goal, fixed=mode == 1)])

    return _along(c, way, rates, goals.joint_limits(c), radius)


def speedj(c: Controller, qd: Sequence[float], a: float, t: float | None = None) -> None:
    """Accelerate the joints to speeds qd (6,) and keep them; over after t [s], without t when they are reached."""
    wanted = np.clip(goals.six(qd, "speedj", 100.0), -c.most_speed, c.most_speed)
    c.begin(JointSpeed(c.reference, wanted, goals.rates(c, 1.0, a, tool=False)[1], t if t else None))


def speedl(c: Controller, xd: Sequence[float], a: float, t: float | None = None) -> None:
    """Accelerate the TCP to a speed xd (6,), base axes, and keep it; over after t [s], without t when reached."""
    wanted, (_, push) = goals.six(xd, "speedl", 10.0), goals.rates(c, 1.0, a, tool=True)
    motion = ToolSpeed(c.reference, c.target_pose(), wanted, push, t if t else None, c.plant.towards, c.most_speed)
    motion.take_over(c.motion)
    c.begin(motion)


def servoj(c: Controller, q: Sequence[float], t: float, lookahead: float = 0.1, gain: float = 300.0) -> None:
    """Servo to joints q (6,) within t [s]; the slider does not scale it."""
    goal, motion = goals.joint_goal(c, q), c.motion
    if not (c.moving and isinstance(motion, JointServo)):
        motion = JointServo(c.reference, c.most_speed, c.most_acceleration)
        c.begin(motion)
    motion.aim(goal, t if t > 0.0 else SERVO_TIME, lookahead, gain)


def stopj(c: Controller, a: float) -> None:
    """Brake all joints at a [rad/s²]."""
    c.begin(brake(c.reference, goals.rates(c, 1.0, a, tool=False)[1]))


def stopl(c: Controller, a: float) -> None:
    """Brake the TCP at a [m/s²], on its way where it has one."""
    push = goals.rates(c, 1.0, a, tool=True)[1]
    motion: Motion = c.motion.now if isinstance(c.motion, Overlap) else c.motion
    if c.moving and isinstance(motion, PathMove) and motion is c.motion:
        c.begin(PathStop(motion, push))
    elif c.moving and isinstance(motion, ToolSpeed):
        speedl(c, np.zeros(6).tolist(), a, None)
    else:
        c.begin(brake(c.reference, min(push, TAKEOVER_DECELERATION)))
