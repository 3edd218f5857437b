# SPDX-License-Identifier: Apache-2.0
"""Carry: follow a motion with a load that nobody told. Actions are torques beside those of a controller without it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.control.law import as_law
from armwright.dynamics.public import gravity_torque, inverse_dynamics
from armwright.envs.learning_task import StepWorth
from armwright.envs.reach_task import START_SPREAD, home_of, outside
from armwright.errors import InputError
from armwright.robot.loaded_tree import PAYLOAD_SIZE
from armwright.simulation.artefact.tunable_loop import tunable_arm
from armwright.simulation.control_loop import Loop

if TYPE_CHECKING:
    from armwright.envs.learning_task import TaskLanes
    from armwright.robot.model import Robot
    from armwright.types import Array, Scalar, Traced

CARRY_STIFFNESS, CARRY_DAMPING = 100.0, 20.0  # 1/s², 1/s
SWING_RANGE, PACE_RANGE = (0.1, 0.5), (1.0, 3.0)  # rad or m; rad/s
TOOL_REACH = 0.1  # m, of a load's centre from the tool
PROBED_POSTURES = 200
ERROR_UNIT = 0.01  # rad or m that cost a reward of one


def swung(t: Traced, centre: Traced, swing: Traced, pace: Traced, phase: Traced) -> tuple[Traced, Traced, Traced]:
    """q, q̇, q̈ of centre + swing sin(pace t + phase), joint by joint."""
    angle = pace * t + phase
    s, c = np.sin(angle), np.cos(angle)
    return centre + swing * s, swing * pace * c, -swing * pace * pace * s


def carry_torque(
    arm: Robot,
    dt: Scalar,
    q: Traced,
    qd: Traced,
    clock: Traced,
    action: Traced,
    helping: Traced,
    centre: Traced,
    swing: Traced,
    pace: Traced,
    phase: Traced,
) -> tuple[Traced, dict[str, Traced]]:
    """Computed torque of the arm without load, plus what the action adds; the clock is the lane's own."""
    q_ref, qd_ref, qdd_ref = swung(clock[0], centre, swing, pace, phase)
    wanted = qdd_ref + CARRY_STIFFNESS * (q_ref - q) + CARRY_DAMPING * (qd_ref - qd)
    return inverse_dynamics(arm, q, qd, wanted) + helping * action, {"clock": clock + dt}


@dataclass(eq=False)
class CarryTask:
    """Follow a swing of all joints while something unknown hangs on the tool.

    Seen are the errors of q and q̇ (n each), the reference's q and q̇ (n each). A reward of a step is minus the error's
    norm over 0.01 rad. An episode ends by a joint beyond its limits, with the reward of ten steps at its worst.

    Attributes:
        robot: the arm. most_load: of the masses drawn [kg]. rate, ticks, horizon, integrator: as in `ReachTask`.
        helping: torque (n,) at an action of one: what the heaviest load takes in the worst of some postures.
    """

    robot: Robot
    most_load: float = 5.0
    rate: float = 500.0
    ticks: int = 10
    horizon: int = 150
    integrator: str = "rk4"
    name: str = field(default="carry", init=False)
    watched: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Make the loop."""
        n, robot = self.robot.n, self.robot
        if not (np.isfinite(self.most_load) and self.most_load > 0.0):
            raise InputError(f"carry: most_load must be a positive mass, got {self.most_load}")
        q = home_of(robot) + np.random.default_rng(0).uniform(-1.0, 1.0, (PROBED_POSTURES, n))
        heavy = robot.with_payload(self.most_load, (0.0, 0.0, TOOL_REACH))
        self.helping = np.maximum(np.abs(gravity_torque(heavy, q) - gravity_torque(robot, q)).max(axis=0), ERROR_UNIT)
        rows: Any = {name: np.zeros((1, n)) for name in ("action", "centre", "swing", "pace", "phase")}
        law = as_law(carry_torque, memory={"clock": np.zeros(1)}, helping=self.helping, **rows)
        loop = Loop.of(robot, law, model=robot, rate=self.rate, integrator=self.integrator)
        self.loop = replace(loop, plant=tunable_arm(loop.lanes.tree, ("payload",)))
        self.actions, self.observations = n, 4 * n

    def begin(self, rng: np.random.Generator) -> dict[str, Array]:
        """A swing about a posture near home, begun on its way, and a load."""
        n = self.robot.n
        centre = home_of(self.robot) + rng.uniform(-START_SPREAD, START_SPREAD, n)
        swing, pace, phase = rng.uniform(*SWING_RANGE, n), rng.uniform(*PACE_RANGE, n), rng.uniform(-np.pi, np.pi, n)
        q, qd, _ = swung(np.zeros(1), centre, swing, pace, phase)
        load = np.zeros(PAYLOAD_SIZE)
        load[0], load[1:4] = rng.uniform(0.0, self.most_load), rng.uniform(-TOOL_REACH, TOOL_REACH, 3)
        load[4:7] = load[0] * TOOL_REACH * TOOL_REACH / 6.0  # a cube
        return {
            "x": np.concatenate([q, qd]),
            "gain_centre": centre,
            "gain_swing": swing,
            "gain_pace": pace,
            "gain_phase": phase,
            "parameters": load,
        }

    def _reference(self, lanes: TaskLanes) -> tuple[Array, Array]:
        t: Array = lanes.steps[:, None].astype(np.float64) * lanes.simulation.period
        rows = (lanes.numbers[f"gain_{name}"] for name in ("centre", "swing", "pace", "phase"))
        q, qd, _ = swung(t, *rows)
        return q, qd

    def look(self, lanes: TaskLanes) -> Array:
        """Observations, see the class."""
        n, x = self.robot.n, lanes.x
        q, qd = self._reference(lanes)
        return np.concatenate([q - x[:, :n], qd - x[:, n : 2 * n], q, qd], axis=1)

    def judge(self, lanes: TaskLanes, watched: dict[str, Array]) -> StepWorth:
        """Reward and end, see the class."""
        n, x = self.robot.n, lanes.x
        finite: Any = np.isfinite(x).all(axis=1)
        q, _ = self._reference(lanes)
        error = np.linalg.norm(np.where(finite[:, None], q - x[:, :n], 0.0), axis=1)
        ended = finite & outside(self.robot, x[:, :n])
        reward = -error / ERROR_UNIT
        return StepWorth(np.where(ended, 10.0 * reward, reward), ended, {"error": error})
