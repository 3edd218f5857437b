# SPDX-License-Identifier: Apache-2.0
"""Chains of moves: seconds of what an arm at work does, for studies that watch it longer than one move.

A chain is moves of the tool to random places, and what comes between them: short rests, longer holds, reversals without
a rest, and brakes in full motion after which the arm backs off. Near standstill friction is least known, so thresholds
that were learned without it do not hold there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.kinematics.jacobians import frame_jacobian
from armwright.motion import Trajectory
from armwright.motion.point_to_point import quintic_coefficients
from armwright.robot.configurations import sampling_range
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

REST, HOLD = 0.25, 1.0
"""Times [s] for which the arm stands after a move: mostly the first, now and then the second."""
BRAKE = 0.15
"""Time [s] in which it brakes from full speed."""
BACK = 0.3
"""Share of the way so far by which it backs off after braking."""
KINDS, SHARES = ("rest", "hold", "reverse", "brake"), (0.5, 0.15, 0.2, 0.15)
"""What follows a move, and how often."""
TRAVEL = (0.1, 0.35)
"""Least and largest way of the tool in a move [m], for an arm that reaches a metre or so."""
FARTHEST_JOINT_WAY, WIDEST, STRAIGHT = 1.2, 2.4, 12.0
"""Limits of a move: of a joint's way, of its angle (where its own range does not end before) [rad], and of the
condition number of the tool's Jacobian."""

CONFIGURATIONS_LOOKED_AT, SLOWEST_DIRECTION_SHARE = 64, 1e-6
"""Configurations that tell in how many directions a tool can move, and the share of its fastest motion that is none."""


def move_chain(
    robot: Robot, seconds: float = 15.0, *, speed: float = 0.25, reach: float = 1.0, seed: int | Sequence[int] = 0
) -> Trajectory:
    """Return a chain of moves of at least `seconds`, continuous in position, velocity and acceleration.

    Args:
        robot: the arm.
        seconds: least length [s]; the last move is not cut.
        speed: highest tool speed of every move [m/s].
        reach: factor on the ways of the tool, for arms of another size.
        seed: of everything random.

    Raises:
        InputError: for lengths and speeds that are not positive, or where no move is found.

    Example:
        >>> chain = move_chain(aw.load("ur5"), 15.0, seed=3)
    """
    if not (0.0 < seconds < np.inf and 0.0 < speed < np.inf and 0.0 < reach < np.inf):
        raise InputError(f"move chain: seconds, speed and reach must be positive, got {seconds}, {speed} and {reach}")
    rng, made = np.random.default_rng(seed), _Pieces(robot, speed)
    q = made.start(rng)
    while made.seconds < seconds:
        goal = made.goal(q, reach * rng.uniform(*TRAVEL), rng)
        kind = str(rng.choice(KINDS, p=SHARES))
        if kind == "brake":
            q = made.broken(q, goal, rng.uniform(0.35, 0.65))
        elif kind == "reverse":
            back = q + rng.uniform(0.0, 0.5) * (goal - q)
            made.move(q, goal)
            made.move(goal, back)
            q = back
        else:
            made.move(q, goal)
            q = goal
        made.stand(q, HOLD if kind == "hold" else REST)
    return Trajectory(np.array(made.breaks), np.array(made.coefficients))


def chain_with_backing_off(
    robot: Robot, stand: float, *, seconds: float = 8.0, seed: int | Sequence[int] = 0
) -> tuple[Trajectory, float, float]:
    """Return a chain after which the arm stands, backs off for about 0.6 s and stands for 0.3 s.

    Args:
        robot: the arm.
        stand: how long it stands before it backs off [s].
        seconds: least length of the chain [s].
        seed: of everything random.

    Returns:
        The motion, and the times at which the arm begins to stand and to back off [s].
    """
    before = move_chain(robot, seconds, seed=seed)
    made, rng = _Pieces(robot, 0.25), np.random.default_rng(seed)
    q = np.asarray(before.evaluate(before.duration).q)
    made.breaks, made.coefficients = before.breaks.tolist(), list(before.coefficients)
    made.stand(q, stand)
    back = made.seconds
    made.move(q, made.goal(q, 0.08, rng))
    made.stand(made.ends, 0.3)
    return Trajectory(np.array(made.breaks), np.array(made.coefficients)), before.duration, back


class _Pieces:
    """Pieces of a chain as they are added."""

    def __init__(self, robot: Robot, speed: float) -> None:
        self.robot, self.speed = robot, speed
        self.J = kernel(robot, frame_jacobian)
        self.breaks: list[float] = [0.0]
        self.coefficients: list[Array] = []
        lower, upper = sampling_range(robot)
        middle = np.where((lower < 0.0) & (upper > 0.0), 0.0, 0.5 * (lower + upper))
        self.lower, self.upper = np.maximum(lower, middle - WIDEST), np.minimum(upper, middle + WIDEST)
        self.freedoms = self._directions()
        self.ends = np.zeros(robot.n)  # of the last move

    @property
    def seconds(self) -> float:
        return self.breaks[-1]

    def _directions(self) -> int:
        """Return in how many directions the tool can move at all: two for a planar arm, however many joints it has."""
        q = np.random.default_rng(0).uniform(self.lower, self.upper, (CONFIGURATIONS_LOOKED_AT, self.robot.n))
        sizes = np.linalg.svd(np.asarray(self.J(q))[:, :3], compute_uv=False)
        return max(1, int((sizes > SLOWEST_DIRECTION_SHARE * sizes[:, :1]).sum(axis=1).max()))

    def start(self, rng: np.random.Generator) -> Array:
        for _ in range(2000):
            q = rng.uniform(0.8 * self.lower + 0.2 * self.upper, 0.2 * self.lower + 0.8 * self.upper)
            if self._regular(q):
                return np.asarray(q)
        raise InputError(f"move chain: found no place of {self.robot.name!r} to begin at, away from singularities")

    def goal(self, q: Array, travel: float, rng: np.random.Generator) -> Array:
        for _ in range(5000):
            way = rng.normal(size=self.robot.n)
            v = float(np.linalg.norm(np.asarray(self.J(q))[:3] @ way))
            to = q + way * travel / max(v, 1e-9)
            inside = (to >= self.lower).all() and (to <= self.upper).all()
            if inside and np.abs(to - q).max() <= FARTHEST_JOINT_WAY and self._regular(to):
                return np.asarray(to)
            travel *= 0.999  # an arm in a corner of its range makes smaller moves
        raise InputError(f"move chain: found no move of {self.robot.name!r} within its limits; give a smaller reach")

    def _regular(self, q: Array) -> bool:
        sizes = np.linalg.svd(np.asarray(self.J(q))[:3], compute_uv=False)
        return bool(sizes[0] <= STRAIGHT * max(sizes[min(self.freedoms, len(sizes)) - 1], 1e-12))

    def _duration(self, a: Array, b: Array) -> float:
        """Time of a quintic whose highest tool speed is the chain's."""
        s = np.linspace(0.0, 1.0, 51)[:, None]
        q, rate = a + (10 * s**3 - 15 * s**4 + 6 * s**5) * (b - a), (30 * s**2 - 60 * s**3 + 30 * s**4) * (b - a)
        v = np.einsum("tij,tj->ti", np.asarray(self.J(q))[:, :3], rate)
        return max(float(np.linalg.norm(v, axis=1).max()) / self.speed, 0.1)

    def _add(self, T: float, *ends: Array) -> None:
        self.coefficients.append(quintic_coefficients(T, *ends))
        self.breaks.append(self.breaks[-1] + T)

    def move(self, a: Array, b: Array) -> None:
        none, self.ends = np.zeros_like(a), b
        self._add(self._duration(a, b), a, b, none, none, none, none)

    def stand(self, q: Array, seconds: float) -> None:
        none = np.zeros_like(q)
        self._add(seconds, q, q, none, none, none, none)

    def broken(self, a: Array, b: Array, share: float) -> Array:
        """Add the first `share` of a move, a brake and the way back; return where that ends."""
        none, T = np.zeros_like(a), self._duration(a, b)
        row = quintic_coefficients(T, a, b, none, none, none, none)
        t = share * T
        powers = np.array([[t**k for k in range(6)]])
        one = np.array([k * t ** (k - 1) if k else 0.0 for k in range(6)])
        two = np.array([k * (k - 1) * t ** (k - 2) if k > 1 else 0.0 for k in range(6)])
        q, v, acc = (powers @ row)[0], one @ row, two @ row
        self.coefficients.append(row)
        self.breaks.append(self.breaks[-1] + t)
        stop = q + 0.5 * BRAKE * v
        self._add(BRAKE, q, stop, v, none, acc, none)
        self.stand(stop, REST)
        back = stop + BACK * (a - stop)
        self.move(stop, back)
        return np.asarray(back)
