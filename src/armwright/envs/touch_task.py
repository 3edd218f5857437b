# SPDX-License-Identifier: Apache-2.0
"""Touch: find a wall that nobody described, gently and in many places, with what the motors feel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import armwright.kinematics as kin
from armwright.contact.detectors.norm_threshold import norm_detector
from armwright.contact.observers.momentum import momentum_observer
from armwright.control.law import as_law
from armwright.envs.learning_task import StepWorth
from armwright.envs.reach_task import FOLLOWED_RATE, START_SPREAD, follow_velocity, home_of, outside, speeds_of
from armwright.errors import InputError
from armwright.simulation.control_loop import Loop

if TYPE_CHECKING:
    from armwright.envs.learning_task import TaskLanes
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

WALL_STIFFNESS, WALL_DAMPING = 1e4, 50.0  # N/m, N s/m
FEELING_RATE = 50.0  # 1/s
WALL_DISTANCE, WALL_TILT = (0.05, 0.25), 0.3  # m from the tool at the start; of the normal's sideways parts
MOST_TOUCHES = 10
TOUCHES_APART, STEP_COST, PRESS_COST = 0.05, 0.01, 0.02  # m; reward of a step, and of the level felt beyond the alarm
TOUCH_SPEED_SHARE = 0.3  # of the speeds of `reach`: contacts are felt in time
SLOTS = ("tau_ext", "alarm", "level")


def soft_wall(arm: Robot, q: Traced, qd: Traced, wall: Traced) -> Traced:
    """Wrench (6,) at the tool of a wall n · p ≥ d, wall = (n, d): a spring with a damper that does not pull."""
    normal, tool = wall[:3], kin.fk(arm, q)[:3, 3]
    depth = wall[3] - normal @ tool
    sinking = -(normal @ (kin.jacobian(arm, q)[:3] @ qd))
    push = np.maximum(WALL_STIFFNESS * depth + WALL_DAMPING * sinking, 0.0 * depth)
    force = np.where(depth > 0.0, push, 0.0 * depth)
    return np.concatenate([force * normal, 0.0 * normal])


@dataclass(eq=False)
class TouchTask:
    """Touch a wall somewhere before the tool, again and again in new places.

    Seen are q (n,), q̇ / speed (n,), the tool (3,) [m], the external torque that the observer feels over the alarm's
    threshold (n,), whether the alarm was on, the way from the last touch to the tool (3,) [m], the share of touches
    made. A touch at least 5 cm from all before it is worth 1, a step costs 0.01, pressing 0.02 times the level beyond
    the alarm. An episode ends when all touches are made, when the level exceeds `most_level`, or by a joint
    beyond its limits.

    Attributes:
        robot: the arm. threshold: of the alarm, norm of the felt torque [N m]. most_level: of it over the threshold.
        rate, ticks, horizon, integrator: as in `ReachTask`.
    """

    robot: Robot
    threshold: float = 4.0
    most_level: float = 5.0
    rate: float = 500.0
    ticks: int = 10
    horizon: int = 300
    integrator: str = "rk4"
    name: str = field(default="touch", init=False)
    watched: tuple[str, ...] = field(default=SLOTS, init=False)

    def __post_init__(self) -> None:
        """Make the loop."""
        n, self.speed = self.robot.n, TOUCH_SPEED_SHARE * speeds_of(self.robot)
        if not self.most_level > 1.0:
            raise InputError(f"touch: most_level must be above 1, where the alarm is, got {self.most_level}")
        law = as_law(follow_velocity, speed=self.speed, rate=FOLLOWED_RATE, action=np.zeros((1, n)))
        self.loop = Loop.of(
            self.robot,
            law,
            rate=self.rate,
            integrator=self.integrator,
            wrench=soft_wall,
            inputs={"wall": (4,)},
            monitors=(momentum_observer(FEELING_RATE), norm_detector(self.threshold)),
        )
        self.actions, self.observations = n, 3 * n + 8

    def begin(self, rng: np.random.Generator) -> dict[str, Array]:
        """A start near home, and a wall some way before the tool, away from the base."""
        n, robot = self.robot.n, self.robot
        q = np.clip(home_of(robot) + rng.uniform(-START_SPREAD, START_SPREAD, n), robot.lower, robot.upper)
        tool = kin.fk(robot, q)[:3, 3]
        ahead = np.array([tool[0], tool[1], 0.0])
        ahead = ahead / max(float(np.linalg.norm(ahead)), 1e-6) + rng.uniform(-WALL_TILT, WALL_TILT, 3)
        normal = -ahead / np.linalg.norm(ahead)
        return {
            "x": np.concatenate([q, np.zeros(n)]),
            "input_wall": np.append(normal, normal @ tool - rng.uniform(*WALL_DISTANCE)),
            "alarm": np.array([-1.0]),
            "touches": np.full(3 * MOST_TOUCHES, np.inf),
            "made": np.zeros(1),
            "felt": np.zeros(n + 1),
        }

    def look(self, lanes: TaskLanes) -> Array:
        """Observations, see the class."""
        n, x, known = self.robot.n, lanes.x, lanes.numbers
        tool = kin.fk(self.robot, x[:, :n])[:, :3, 3]
        made = known["made"][:, 0].astype(np.int64)
        touches = known["touches"].reshape(lanes.count, MOST_TOUCHES, 3)
        last = touches[np.arange(lanes.count), np.maximum(made - 1, 0)]
        away = np.where((made > 0)[:, None], tool - np.where(made[:, None] > 0, last, tool), 0.0)
        share = known["made"] / MOST_TOUCHES
        return np.concatenate([x[:, :n], x[:, n : 2 * n] / self.speed, tool, known["felt"], away, share], axis=1)

    def judge(self, lanes: TaskLanes, watched: dict[str, Array]) -> StepWorth:
        """Reward and end, see the class."""
        n, x, known = self.robot.n, lanes.x, lanes.numbers
        finite: Any = np.isfinite(x).all(axis=1)
        tool = kin.fk(self.robot, np.where(finite[:, None], x[:, :n], home_of(self.robot)))[:, :3, 3]
        level: Any = watched["level"][:, :, 0].max(axis=1)
        on = (watched["alarm"][:, :, 0] >= 0.0).any(axis=1)
        made = known["made"][:, 0].astype(np.int64)
        touches = known["touches"].reshape(lanes.count, MOST_TOUCHES, 3)
        nearest = np.linalg.norm(touches - tool[:, None], axis=2).min(axis=1)
        new = on & finite & (nearest >= TOUCHES_APART) & (made < MOST_TOUCHES)
        touches[new, made[new]] = tool[new]
        known["touches"], known["made"] = touches.reshape(lanes.count, -1), (made + new)[:, None].astype(np.float64)
        felt = np.column_stack([watched["tau_ext"][:, -1] / self.threshold, on])
        known["felt"] = np.where(finite[:, None], felt, 0.0)
        reward = new - STEP_COST - PRESS_COST * np.clip(level - 1.0, 0.0, self.most_level)
        hard = level > self.most_level
        ended = hard | (made + new == MOST_TOUCHES) | (finite & outside(self.robot, x[:, :n]))
        return StepWorth(reward, ended, {"touches": made + new, "level": level})
