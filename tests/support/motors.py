# SPDX-License-Identifier: Apache-2.0
"""Lola 15 with the load of 001 and its last move of Fig. 8; small arms whose motors can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

import armwright as aw
from armwright.motion import trapezoid
from armwright.programs.motors.motor_demand import Demand

DT = 0.01
Q = np.array([0.3, -0.4, 0.5, 0.6, -0.7, 0.8])
QD = np.array([0.5, -0.3, 0.4, 1.0, -0.8, 1.2])
QDD = np.array([1.0, -2.0, 1.5, 0.5, -1.0, 2.0])
GOAL = np.deg2rad([-115.70, 55.70, 68.70, 0.0, 0.0, 0.0])
ON_TOOL = np.array([-100.0, -100.0, 150.0, 0.0, 0.0, 0.0])  # minus f_e: what the world does to the arm


@cache
def rl15():
    """RL15 with the point where the example's load acts as its tool."""
    tool = np.eye(4)
    tool[:3, 3] = 0.12, 0.12, 0.35
    return aw.load("rl15").with_tool(tool)


@cache
def point_to_point(faster: float = 1.0, hold: int = 0) -> Demand:
    """0 → GOAL with the rated speeds and `faster` times the rated accelerations, sampled every DT."""
    robot = rl15()
    speed = np.array([joint.limits.velocity for joint in robot.joints])
    acceleration = np.array([joint.limits.acceleration for joint in robot.joints])
    motion = trapezoid(np.zeros(6), GOAL, velocity=speed, acceleration=faster * acceleration)
    cycles = int(np.ceil(motion.duration / DT - 1e-9))
    t = np.minimum(np.arange(cycles + 1) * DT, motion.duration)
    return Demand(DT, motion.evaluate(t).q, wrench=ON_TOOL).held(hold)


def with_motors(robot, **parts):
    """The same arm with some numbers of its motors changed."""
    return replace(robot, actuators=replace(robot.actuators, **parts))


def one_joint(*, inertia=2.0, gear=10.0, torque=1.0, **parts):
    """A wheel about a vertical axis with one motor: no gravity, J_total = inertia + gear² rotor."""
    robot = aw.Robot.from_dh(
        [[0.0, 0.0, 0.0, 0.0]], masses=[1.0], coms=[[0.0, 0.0, 0.0]], inertias=[np.eye(3) * inertia], name="wheel"
    )
    return with_motors(robot, gear=np.array([[gear]]), torque_limit=np.array([torque]), **parts)
