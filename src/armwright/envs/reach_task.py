# SPDX-License-Identifier: Apache-2.0
"""Reach: bring the tool to a place. Actions are joint velocities or torques."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import armwright.kinematics as kin
from armwright.control.law import as_law
from armwright.dynamics.public import gravity_torque, inverse_dynamics
from armwright.envs.learning_task import StepWorth
from armwright.errors import InputError
from armwright.simulation.control_loop import Loop

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.envs.learning_task import TaskLanes
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

FOLLOWED_RATE = 25.0  # 1/s, at which a commanded velocity is reached
TOP_SPEED = 1.5  # rad/s or m/s, where the arm says none
FULL_TORQUE = 0.3  # of the motors' limits, at an action of one
START_SPREAD, GOAL_SPREAD = 0.3, 1.0  # rad or m about home and about the start
ARRIVED_WITHIN = 0.02  # m
Drives = Literal["velocity", "torque"]


def follow_velocity(arm: Robot, q: Traced, qd: Traced, action: Traced, speed: Traced, rate: Traced) -> Traced:
    """Torque with which the velocity obeys q̈ = rate (speed · action − q̇)."""
    return inverse_dynamics(arm, q, qd, rate * (speed * action - qd))


def push_joints(arm: Robot, q: Traced, action: Traced, torque: Traced) -> Traced:
    """Torque in proportion to the action, gravity carried."""
    return gravity_torque(arm, q) + torque * action


def speeds_of(robot: Robot) -> Array:
    """Velocities (n,) at an action of one: half the joints' limits, at most `TOP_SPEED`."""
    limits = np.array([joint.limits.velocity for joint in robot.joints], dtype=np.float64)
    return np.minimum(TOP_SPEED, np.where(np.isfinite(limits), 0.5 * limits, TOP_SPEED))


def home_of(robot: Robot) -> Array:
    """A posture (n,) to begin near: the UR's bent elbow where it fits the arm, else the neutral one."""
    bent = np.array([0.0, -1.6, 1.4, -1.2, -1.5, 0.0])
    fits = robot.n == len(bent) and np.all((robot.lower < bent) & (bent < robot.upper))
    return bent if fits else np.asarray(robot.neutral())


def outside(robot: Robot, q: Array) -> NDArray[np.bool_]:
    """Whether a joint is beyond its limits, (B,)."""
    beyond: NDArray[np.bool_] = (q < robot.lower) | (q > robot.upper)
    return np.logical_or.reduce(beyond, axis=1)


@dataclass(eq=False)
class ReachTask:
    """Reach a place that the tool can reach.

    Seen are q (n,), q̇ / speed (n,), the tool (3,) and the way from it to the goal (3,) [m]. The reward of a step is
    minus the distance left [m]. An episode ends by a joint beyond its limits, with a reward of minus the steps left.

    Attributes:
        robot: the arm. action: what actions command: "velocity", followed as computed torque, or "torque", with gravity
            carried. rate: ticks per second. ticks: of a step. horizon: steps of an episode. integrator: of the loop.
    """

    robot: Robot
    action: Drives = "velocity"
    rate: float = 500.0
    ticks: int = 10
    horizon: int = 100
    integrator: str = "rk4"
    name: str = field(default="reach", init=False)
    watched: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Make the loop."""
        n, self.speed = self.robot.n, speeds_of(self.robot)
        row: Any = {"action": np.zeros((1, n))}
        if self.action == "velocity":
            law = as_law(follow_velocity, speed=self.speed, rate=FOLLOWED_RATE, **row)
        elif self.action == "torque":
            limits = np.array([joint.limits.effort for joint in self.robot.joints], dtype=np.float64)
            if not np.isfinite(limits).all():
                raise InputError("reach: actions as torques need an arm whose joints have limits of effort")
            law = as_law(push_joints, torque=FULL_TORQUE * limits, **row)
        else:
            raise InputError(f"reach: action must be 'velocity' or 'torque', got {self.action!r}")
        self.loop = Loop.of(self.robot, law, rate=self.rate, integrator=self.integrator)
        self.actions, self.observations, self.home = n, 2 * n + 6, home_of(self.robot)

    def begin(self, rng: np.random.Generator) -> dict[str, Array]:
        """A start near home, and the place that the tool has in a posture not far from it."""
        n, robot = self.robot.n, self.robot
        q = np.clip(self.home + rng.uniform(-START_SPREAD, START_SPREAD, n), robot.lower, robot.upper)
        there = np.clip(q + rng.uniform(-GOAL_SPREAD, GOAL_SPREAD, n), robot.lower, robot.upper)
        return {"x": np.concatenate([q, np.zeros(n)]), "goal": kin.fk(robot, there)[:3, 3]}

    def look(self, lanes: TaskLanes) -> Array:
        """Observations, see the class."""
        n, x = self.robot.n, lanes.x
        tool = kin.fk(self.robot, x[:, :n])[:, :3, 3]
        return np.concatenate([x[:, :n], x[:, n : 2 * n] / self.speed, tool, lanes.numbers["goal"] - tool], axis=1)

    def judge(self, lanes: TaskLanes, watched: dict[str, Array]) -> StepWorth:
        """Reward and end, see the class."""
        x, n = lanes.x, self.robot.n
        finite: Any = np.isfinite(x).all(axis=1)
        q = np.where(finite[:, None], x[:, :n], self.home)
        distance = np.linalg.norm(lanes.numbers["goal"] - kin.fk(self.robot, q)[:, :3, 3], axis=1)
        ended = outside(self.robot, q)
        reward = np.where(ended, lanes.steps - self.horizon - 1.0, -distance)
        return StepWorth(reward, ended, {"distance": distance, "arrived": distance < ARRIVED_WITHIN})
