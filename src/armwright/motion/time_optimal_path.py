# SPDX-License-Identifier: Apache-2.0
"""Time-optimal path following under torque, speed and acceleration limits, with friction, checked between grid points.

Along a path q(s) the torque is a s̈ + b ṡ² + c ṡ + d with a = M q', b = M q'' + C(q, q') q', c = F_v q' (viscous) and
d = g + Coulomb·sign(q'). With x = ṡ², u = s̈ it is linear but for c√x, which makes the problem non-convex. So c√x is
taken about the previous solution's speeds and the linear problem solved again, until it no longer changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.motion.arm_limits import TorqueLimits, acceleration_limits, speed_limits, torque_limits, torque_use
from armwright.motion.motion_inputs import waypoint_rows
from armwright.motion.path_limits import PathLimits, ToolLimits, path_limits, tool_use
from armwright.motion.path_speeds import largest_speeds, largest_speeds_toppra
from armwright.motion.scaling import time_scaled, torque_factor, velocity_factor
from armwright.motion.trajectory import Trajectory, differentiate, zero_crossings

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

Solver = Callable[[Any, Any, Any, Any], Any]
CHECK_PER_PIECE = 16
"""Samples of every grid interval when the finished motion is checked; the limits were set at its two ends alone."""
TIME_STRETCH = 1.0 + 1e-3
"""Factor on time by which a motion with moving ends may break limits between grid points before it is refused."""
INSTANT_SPACING = 1e-9
"""Instants nearer than this fraction of the duration are one; far below a grid interval, far above rounding."""
MERGED = 1e-3
"""Grid points closer than this fraction of an even interval are merged: such short pieces only cost digits."""
SAFE = 1e-8
"""Relative precision of the final stretch of the duration: below the default `tolerance`."""
TANGENT_DURATION_CHANGE = 1e-2
"""Relative change of the duration below which the tangent of the viscous torque replaces its chord: near enough for
Newton's method, which then needs two or three solutions more."""
AT_LIMIT = 0.99
"""Use of a limit above which it is named as one that bounds the motion."""
SOLVERS: dict[str, Solver] = {"reachability": largest_speeds, "toppra": largest_speeds_toppra}


@dataclass(frozen=True, slots=True, eq=False)
class TimeOptimal:
    """The fastest motion along a path.

    Attributes:
        trajectory: the motion, exactly on the path.
        s: (N+1,) grid along the path [of the path's own parameter].
        sd: (N+1,) path speed at the grid, before slowing down.
        iterations: how often the problem was solved until the viscous torque agreed with the speed.
        use: largest |torque|/limit of the result, by the exact inverse dynamics between the grid points; ≤ 1.
        raw_use: the same before slowing down.
        slow_down: factor on time that brought every limit below 1; 1 if none was broken.
        limiting: names of the limits (of torque, speed, acceleration, tool) that are used to 99 % or more.
    """

    trajectory: Trajectory
    s: Array
    sd: Array
    iterations: int
    use: float
    raw_use: float
    slow_down: float
    limiting: tuple[str, ...]

    @property
    def duration(self) -> float:
        """Length in time [s]."""
        return self.trajectory.duration

    def __repr__(self) -> str:
        """Return one line: duration, use of the torque, what limits."""
        limiting = ", ".join(self.limiting) or "nothing"
        return f"TimeOptimal({self.duration:.6g} s, {100.0 * self.use:.4g} % of the torque, limited by {limiting})"


@names_culprit
def joint_path(waypoints: ArrayLike) -> Trajectory:
    """Return a smooth path through joint waypoints (N, n) for `time_optimal`: straight for two, else a cubic spline.

    Its parameter is the length in joint space; it is geometry, not yet a motion, and does not stop at its ends.

    >>> joint_path([[0.0, 0.0], [3.0, 4.0]]).duration  # a length here
    5.0
    """
    from scipy.interpolate import CubicSpline

    Q = waypoint_rows(waypoints)
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(Q, axis=0), axis=1))])
    if Q.shape[0] == 2:
        return Trajectory(s, np.stack([Q[0], (Q[1] - Q[0]) / s[1]])[None])
    c = np.asarray(CubicSpline(s, Q, bc_type="not-a-knot" if Q.shape[0] > 3 else "natural").c)
    return Trajectory(s, np.moveaxis(c[::-1], 0, 1))


@names_culprit
def time_optimal(
    robot: Robot,
    path: Trajectory | ArrayLike,
    torque: ArrayLike | None = None,
    *,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    grid: int = 400,
    iterations: int = 40,
    tolerance: float = 1e-6,
    solver: str = "reachability",
    wrench: ArrayLike | None = None,
    tool: ToolLimits | None = None,
    ends: tuple[float, float] = (0.0, 0.0),
) -> TimeOptimal:
    """Follow a path as fast as the motors and the limits of the joints allow, from rest to rest.

    Args:
        robot: the arm; gravity, velocity terms, rotors, viscous, Coulomb and load-proportional friction count.
        path: geometry: waypoints (N, n), see `joint_path`, or a trajectory whose time serves as the path parameter and
            which never stands still (a Cartesian move of constant speed, for example).
        torque: joint limits, scalar or (n,), instead of the robot's own efforts and motor torques.
        velocity: joint limits, scalar or (n,), instead of the robot's own joint and motor speeds; `inf` for none.
        acceleration: joint limits, scalar or (n,), instead of the robot's own; `inf` for none, where the torque alone
            shall limit it.
        grid: number of grid intervals, at least; breaks and reversals of joints are added.
        iterations: most solutions of the viscous problem.
        tolerance: relative change of the duration at which they stop.
        solver: "reachability" (this package's own), or "toppra" (extra ``[time]``), which agrees.
        wrench: (6,) what the world does to the tool all the time [f; n], base axes.
        tool: limits of the tool's speed and tangential acceleration.
        ends: path speeds ṡ at the start and at the end; 0 is rest. Where they are not, nothing may be slowed down
            afterwards, and a result that breaks a limit between the grid points is refused.

    >>> time_optimal(robot, [[0.0] * 6, [0.3] * 6]).duration  # [s]
    """
    if solver not in SOLVERS:
        raise InputError(f"solver must be one of {', '.join(SOLVERS)}, got {solver!r}")
    limits = torque_limits(robot, torque)
    motion = path if isinstance(path, Trajectory) else joint_path(path)
    if motion.n != robot.n:
        raise InputError(f"path: has {motion.n} joints, robot {robot.name!r} has {robot.n}")
    if isinstance(grid, bool) or not isinstance(grid, (int, np.integer)) or grid < 10:
        raise InputError(f"grid: expected an integer ≥ 10, got {grid!r}")
    if motion.continuity() < 1:
        raise InputError("path: its tangent must be continuous; a corner can only be passed at rest: split it there")
    moving = max(ends) > 0.0
    if min(ends) < 0.0 or (moving and solver != "reachability"):
        raise InputError(f"ends: two path speeds ≥ 0 (with solver 'reachability' if any is > 0), got {ends}")
    pieces = split(motion, int(grid), limits)
    speeds, ka = speed_limits(robot, velocity), acceleration_limits(robot, acceleration)
    push = None if wrench is None else np.asarray(wrench, dtype=np.float64)
    rows = path_limits(robot, pieces, limits, speeds, ka, wrench=push, tool=tool)
    solve = SOLVERS[solver]
    if moving:
        solve = partial(largest_speeds, start=ends[0] ** 2, end=ends[1] ** 2)
    x, done = iterate(solve, pieces.breaks, rows, iterations, tolerance)
    raw = _compose(pieces, x)
    samples = CHECK_PER_PIECE * (raw.breaks.size - 1)
    before = torque_use(robot, raw, limits, samples=samples, wrench=push).worst
    factor = max(1.0, float(speeds.use(raw).max(initial=0.0)))
    if np.isfinite(ka).any():
        factor = max(factor, velocity_factor(raw, acceleration=ka))
    if before > 1.0:
        factor = torque_factor(robot, raw, limits, samples=samples, atleast=factor, precision=SAFE, wrench=push)
    if moving and factor > TIME_STRETCH:
        raise InputError(
            f"ends: between the grid points limits are broken by a factor of {factor:.6g} in time, and a motion that "
            "does not begin and end at rest cannot be slowed down; refine the grid or keep below the limits"
        )
    final = raw if factor == 1.0 or moving else time_scaled(raw, factor)
    use = torque_use(robot, final, limits, samples=samples, wrench=push)
    peaks = final.peaks().qdd
    used = [*zip(use.labels, use.use, strict=True), *zip(speeds.labels, speeds.use(final), strict=True)]
    used += [
        (f"acceleration of joint {joint.name!r}", value) for joint, value in zip(robot.joints, peaks / ka, strict=True)
    ]
    if tool is not None:
        used += zip(("speed of the tool", "acceleration of the tool"), tool_use(robot, final, tool), strict=True)
    near = tuple(label for label, value in used if value > AT_LIMIT)
    return TimeOptimal(final, pieces.breaks, np.sqrt(x), done, use.worst, before, factor, near)


def split(path: Trajectory, grid: int, limits: TorqueLimits) -> Trajectory:
    """Return the path on the grid: its breaks, even points, and where a joint or motor reverses (friction jumps)."""
    even = np.linspace(0.0, path.duration, grid + 1)
    # next to rest the speed changes fastest: a few finer steps there
    fine = even[1] * np.array([1 / 64, 1 / 16, 1 / 4])
    speed = differentiate(path.coefficients)
    if limits.load_friction.any():
        speed = np.concatenate([speed, speed @ limits.gear.T], axis=-1)
    reversals = zero_crossings(path.breaks, speed)
    apart = np.abs(reversals[:, None] - path.breaks).min(axis=1) > INSTANT_SPACING * path.duration
    apart &= np.diff(reversals, prepend=-path.duration) > INSTANT_SPACING * path.duration
    special = np.concatenate([path.breaks, reversals[apart]])
    points = np.unique(np.concatenate([even, fine, path.duration - fine, special]))
    # merge what nearly coincides, keeping the special points
    close = np.diff(points) < MERGED * even[1]
    drop = np.zeros(points.size, dtype=bool)
    for k in map(int, np.flatnonzero(close)):
        drop[k if points[k] not in special else k + 1] = points[k] not in special or points[k + 1] not in special
    points = points[~drop]
    points = np.concatenate([[0.0], points[(points > 0.0) & (points < path.duration)], [path.duration]])
    return subdivide(path, points)


def subdivide(path: Trajectory, points: Array) -> Trajectory:
    """Return the same path with pieces between given points, its own breaks among them (Taylor coefficients)."""
    piece = np.searchsorted(path.breaks[1:-1], 0.5 * (points[1:] + points[:-1]), side="right")
    shift = points[:-1] - path.breaks[piece]
    out, c = [], path.coefficients
    for k in range(path.degree + 1):
        value = c[piece, -1]
        for j in range(c.shape[1] - 2, -1, -1):
            value = value * shift[:, None] + c[piece, j]
        out.append(value / max(1.0, float(np.prod(np.arange(1, k + 1)))))
        c = differentiate(c)
    return Trajectory(points, np.stack(out, axis=1))


def iterate(solve: Solver, s: Array, limits: PathLimits, most: int, tolerance: float) -> tuple[Array, int]:
    """Solve until the speeds agree with those the viscous torque was taken at.

    The first solution ignores viscous friction. The chord from rest then surely brings the speeds down (in a motion
    that viscous torque alone limits, the error of log ṡ halves each time); the tangent finishes quickly.
    """
    sd = np.zeros(s.size)
    near = np.zeros(limits.dq.shape, dtype=bool)
    last, step, blend = np.inf, np.inf, 1.0
    for count in range(1, most + 1):
        try:
            x = solve(s, *limits.rows(sd, blend, near))
        except InputError:
            if blend == 1.0:
                raise
            blend, last = 1.0, np.inf  # the tangent overestimates friction at low speed, the chord never does
            continue
        T = float(_times(s, x).sum())
        new = np.sqrt(x)
        wider = near | limits.near_dead_zone(new)
        change = abs(T - last)
        settled = change <= tolerance * T and np.array_equal(wider, near)
        if settled or not (limits.viscous.any() or (limits.dead_zone > 0.0).any()):
            return x, count
        if change <= TANGENT_DURATION_CHANGE * T:
            blend = 0.5
        if change > 0.5 * step:
            new = 0.5 * (sd + new)  # two solutions alternate where one limit relieves another: take the mean
        sd, near, last, step = new, wider, T, change
    raise InputError(f"time_optimal: {most} solutions have not settled; raise iterations or tolerance")


def _times(s: Array, x: Array) -> Array:
    """Duration of every interval: u is constant, so the mean speed is (ṡ_i + ṡ_{i+1})/2."""
    sd = np.sqrt(x)
    return np.asarray(2.0 * np.diff(s) / (sd[1:] + sd[:-1]))


def _compose(pieces: Trajectory, x: Array) -> Trajectory:
    """q(s(t)) with s = ṡ t + u t²/2 on every interval: polynomials of twice the degree, exactly on the path."""
    dt = _times(pieces.breaks, x)
    v = np.sqrt(x)[:-1]
    u = np.diff(x) / (2.0 * np.diff(pieces.breaks))
    m, size, n = pieces.coefficients.shape
    out = np.zeros((m, 2 * size - 1, n))
    power: Any = np.zeros((m, 2 * size - 1))
    power[:, 0] = 1.0
    for k in range(size):
        out += power[:, :, None] * pieces.coefficients[:, k, None, :]
        grown = np.zeros_like(power)
        grown[:, 1:] += v[:, None] * power[:, :-1]
        grown[:, 2:] += 0.5 * u[:, None] * power[:, :-2]
        power = grown
    return Trajectory(np.concatenate([[0.0], np.cumsum(dt)]), out)
