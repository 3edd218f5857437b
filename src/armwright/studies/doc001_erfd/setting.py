# SPDX-License-Identifier: Apache-2.0
"""What 001 is about: its arm, load, cycle time (Section 8, App. A–E); a state and a test move of ours."""

from __future__ import annotations

from functools import cache

import numpy as np

from armwright.motion import trapezoid
from armwright.programs.motors.motor_demand import Demand
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.types import Array

CYCLE_SECONDS = 0.01
Q = np.array([0.3, -0.4, 0.5, 0.6, -0.7, 0.8])
QD = np.array([0.5, -0.3, 0.4, 1.0, -0.8, 1.2])
QDD = np.array([1.0, -2.0, 1.5, 0.5, -1.0, 2.0])
P_E = np.array([0.12, 0.12, 0.35])  # frame 6 [m]
F_E = np.array([100.0, 100.0, -150.0, 0.0, 0.0, 0.0])
"""What the arm does to the world, as the document counts it; the library's wrench is its negative. The dossier's."""
F_E_OF_THE_PAPER = np.array([100.0, 100.0, 150.0, 0.0, 0.0, 0.0])
MOVE_GOAL = np.deg2rad([-115.70, 55.70, 68.70, 0.0, 0.0, 0.0])  # move 12 of the program


@cache
def arm() -> Robot:
    """Return RL15 with its tool where the load acts."""
    tool = np.eye(4)
    tool[:3, 3] = P_E
    return load("rl15").with_tool(tool)


@cache
def states(count: int = 300, seed: int = 1) -> tuple[Array, Array, Array]:
    """Return random q in (−π, π), q̇ and q̈ within the rated speeds and accelerations, each (count, 6)."""
    rng = np.random.default_rng(seed)
    limits = [joint.limits for joint in arm().joints]
    speed, acceleration = (np.array([getattr(x, name) for x in limits]) for name in ("velocity", "acceleration"))
    q, qd, qdd = (rng.uniform(-1.0, 1.0, (count, 6)) for _ in range(3))
    return np.pi * q, speed * qd, acceleration * qdd


@cache
def rated_move(faster: float = 1.0) -> Demand:
    """Return 0 → GOAL, every axis on the slowest axis' trapezoid, accelerations times `faster`."""
    limits = [joint.limits for joint in arm().joints]
    speed, acceleration = (np.array([getattr(x, name) for x in limits]) for name in ("velocity", "acceleration"))
    motion = trapezoid(np.zeros(6), MOVE_GOAL, velocity=speed, acceleration=faster * acceleration)
    cycles = int(np.ceil(motion.duration / CYCLE_SECONDS - 1e-9))
    t = np.minimum(np.arange(cycles + 1) * CYCLE_SECONDS, motion.duration)
    return Demand(CYCLE_SECONDS, motion.evaluate(t).q, wrench=-F_E)
