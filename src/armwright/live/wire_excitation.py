# SPDX-License-Identifier: Apache-2.0
"""`WireExcitation`: a motion that shows an arm's parameters, from where it stands and back, small enough for a fence.

`identify.excite` looks for the motion in a box of joint angles about the place where the arm stands, q0. It is then
drawn towards q0 until everything on it, the way there and the way back lie within the fence and the arm's own links
keep apart, and gone through as fast as joints and tool may move:

    q(t) = q0 + a (q_found(k t) − q0),   the largest a ≤ 1, the largest k ≥ 1

Before it, every joint makes strokes by itself, each with all speeds from rest to the fastest that it may have: what
friction does against speed is seen there, also at wrists, which the tool's speed keeps slow while all joints move.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.identify.excitation import excite
from armwright.kinematics import fk
from armwright.kinematics.jacobians import frame_jacobian
from armwright.live.wire_dry_run import BOX_SAMPLES, DryRun, elbow_heights, own_clearance
from armwright.live.wire_limits import USUAL_FORCE, Fence, Watchman, WireLimits
from armwright.motion import quintic
from armwright.motion.splines import hermite
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from armwright.motion.trajectory import Trajectory
    from armwright.robot.model import Robot
    from armwright.types import Array

USUAL_SPAN = 0.6  # [rad] that every joint may go to either side of where it stands
USUAL_PERIOD, PERIODS = 25.0, 2  # [s] of the motion, and how often it is gone through
SPEED_SHARE = 0.9  # of the joint speed limit that the motion is looked for with
EXCITING_ACCELERATION = 2.0  # [rad/s²] at most
KNOT_SECONDS = 0.05  # between the knots of the motion
LOOK_SECONDS = 0.1  # between the places that are looked at
FENCE_AROUND = 0.05  # [m] between the motion and the usual fence around it
ABOVE_BASE = 0.05  # [m] over the base's plane that the usual fence ends below, where the tool stands higher
OWN_ROOM = 0.01  # [m] that the arm's own links keep apart
SMALLER = 0.95  # factor of a from one try to the next
SMALLEST, LEAST_FREE = 0.1, 0.05  # of a; [rad] of the box to rehearse in: less shows nothing
MOST_FREE = 0.3  # [rad] of that box
FASTER = 4.0  # k at most
STROKE, STROKES = 0.15, 2  # [rad] to either side, to and fro
QUINTIC_PEAK = 1.875  # largest speed of a quintic from rest to rest, over its mean
TO_START_SPEED = 0.3  # [rad/s] from q0 to where the motion begins


@dataclass(frozen=True, eq=False)
class WireExcitation:
    """What the arm will do, and where.

    Attributes:
        motions: strokes of single joints, the way to the begin, the motion itself, and back to where it stood.
        seconds: of all of them, where nothing is slowed down.
        size: the share a. faster: k. condition: of the found motion's scaled information.
        free: [rad] every joint may be moved by about where the arm stands, for rehearsals.
        dry_run: all places of it, and the fence, given or around them.
    """

    motions: tuple[Trajectory, ...]
    seconds: float
    size: float
    faster: float
    condition: float
    free: float
    dry_run: DryRun


def wire_excitation(
    robot: Robot,
    q0: Array,
    fence: Fence | None,
    *,
    tool_speed: float,
    joint_speed: float,
    span: float = USUAL_SPAN,
    period: float = USUAL_PERIOD,
    seed: int = 0,
) -> WireExcitation:
    """Look for a motion about q0 (n,) that fits into a fence.

    Args:
        robot: the arm as described.
        q0: where it stands.
        fence: where it may be; None for one around the motion, not below the base's plane unless the tool is there.
        tool_speed: [m/s] that the tool will be slowed down to.
        joint_speed: [rad/s].
        span: [rad] to either side of q0.
        period: [s].
        seed: of the search.

    Raises:
        InputError: there is no room.
    """
    if not (span > 0.0 and period >= 5.0):
        raise InputError(f"identify: span must be > 0 rad and the period at least 5 s, got {span:g} and {period:g}")
    levers = np.linalg.norm(np.asarray(kernel(robot, frame_jacobian)(q0))[:3], axis=0)
    top = SPEED_SHARE * joint_speed
    fastest = np.minimum(top, SPEED_SHARE * tool_speed / np.maximum(levers, 1e-3))
    found = excite(
        robot,
        seconds=period,
        lower=np.maximum(q0 - span, robot.lower),
        upper=np.minimum(q0 + span, robot.upper),
        velocity=np.minimum(top, 2.0 * fastest),
        acceleration=EXCITING_ACCELERATION,
        starts=2,
        iterations=40,
        seed=seed,
    )
    t = np.linspace(0.0, PERIODS * period, round(PERIODS * period / KNOT_SECONDS) + 1)
    q = found.reference(t).q
    every = max(1, round(LOOK_SECONDS / KNOT_SECONDS))
    if fence is None:
        fence = _around(robot, np.vstack([q0, _way(q0, q[0]), q[::every]]))
    watchman = Watchman(robot, WireLimits(fence, tool_speed=tool_speed, joint_speed=joint_speed, force=USUAL_FORCE))
    if watchman.outside(q0[None]).any():
        x, y, z = watchman.place(q0)
        raise InputError(f"identify: the tool stands at ({x:.3f}, {y:.3f}, {z:.3f}) m, outside the fence")
    size = 1.0
    while True:
        rows = np.vstack([q0, q0 + size * (np.vstack([_way(q0, q[0]), q[::every]]) - q0)])
        if not watchman.outside(rows).any() and own_clearance(robot, q0, rows) > OWN_ROOM:
            break
        size *= SMALLER
        if size < SMALLEST:
            raise InputError(
                "identify: no motion fits into the fence around where the arm stands; move it to the middle of a "
                "larger space, or give a larger --fence"
            )
    free = _free_box(robot, q0, watchman, min(span, MOST_FREE), seed)
    _, _, speed, push = found.peaks()
    k = np.clip(min((top / (size * speed)).min(), np.sqrt((EXCITING_ACCELERATION / (size * push)).min())), 1.0, FASTER)
    times = int(np.ceil(PERIODS * k))
    t = np.linspace(0.0, times * period, round(times * period / (k * KNOT_SECONDS)) + 1)
    at = found.reference(t)
    Q, V, A = q0 + size * (at.q - q0), size * k * at.qd, size * k**2 * at.qdd
    seconds = max(1.0, QUINTIC_PEAK * float(np.abs(Q[0] - q0).max()) / TO_START_SPEED)
    motions = (
        *strokes(robot, q0, free, fastest),
        quintic(q0, Q[0], seconds),
        hermite(t / k, Q, V, A),
        quintic(Q[-1], q0, seconds),
    )
    dry = DryRun(np.vstack([rows, _box(robot, q0, free, seed)]), fence, (), own_clearance(robot, q0, rows), 0)
    length = float(sum(motion.duration for motion in motions))
    return WireExcitation(motions, length, size, float(k), found.condition, free, dry)


def strokes(robot: Robot, q0: Array, free: float, fastest: Array) -> list[Trajectory]:
    """Return motions of one joint after another to both sides of q0, with these peak speeds (n,) [rad/s]."""
    out = []
    for j in range(robot.n):
        ends = np.clip(q0[j] + min(free, STROKE) * np.array([1.0, -1.0]), robot.lower[j], robot.upper[j])
        places = [q0[j], *([*ends] * STROKES), q0[j]]
        for begin, end in pairwise(places):
            here, there = q0.copy(), q0.copy()
            here[j], there[j] = begin, end
            out.append(quintic(here, there, max(0.3, QUINTIC_PEAK * abs(end - begin) / float(fastest[j]))))
    return out


def _way(q0: Array, q1: Array) -> Array:
    return np.asarray(q0 + np.linspace(0.0, 1.0, 20)[:, None] * (q1 - q0))


def _around(robot: Robot, rows: Array) -> Fence:
    """Return a fence around rows (m, n) whose first is where the arm stands."""
    at = np.asarray(fk(robot, rows))[:, :3, 3]
    low, high = at.min(axis=0) - FENCE_AROUND, at.max(axis=0) + FENCE_AROUND
    low[2] = max(low[2], min(ABOVE_BASE, at[0, 2] - FENCE_AROUND))
    return Fence(low, high, elbow_heights(robot, rows, FENCE_AROUND))


def _box(robot: Robot, q0: Array, free: float, seed: int) -> Array:
    rng = np.random.default_rng([seed, 31])
    return np.clip(q0 + rng.uniform(-free, free, (BOX_SAMPLES, robot.n)), robot.lower, robot.upper)


def _free_box(robot: Robot, q0: Array, watchman: Watchman, most: float, seed: int) -> float:
    """Return how far every joint may be moved about q0 so that all places tried are in the fence."""
    free = most
    while True:
        rows = _box(robot, q0, free, seed)
        if not watchman.outside(rows).any() and own_clearance(robot, q0, rows) > OWN_ROOM:
            return free
        free *= SMALLER
        if free < LEAST_FREE:
            raise InputError(
                f"identify: within {LEAST_FREE:g} rad of where the arm stands it leaves the fence or touches itself; "
                "there is no room to rehearse in"
            )
