# SPDX-License-Identifier: Apache-2.0
"""The problem that trajectory optimisers are given: a UR5 with rotors, 30 nodes of 20 ms, from rest to rest.

Least ½ Σ effort |u|² h plus a weighted error at the end; no limits, which the peers do not have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.bench.prepare_arms import arm
from armwright.dynamics.public import inverse_dynamics
from armwright.motion import OptimalMotion, optimal_motion, quintic
from armwright.motion.shooting import FAR_BOUND, Shooting
from armwright.robot.urdf.urdf_write import write_urdf
from armwright.simulation.control_loop import Loop

if TYPE_CHECKING:
    from armwright.types import Array

NODES, NODE_SECONDS, ROTOR = 30, 0.02, 0.1  # kg m²
EFFORT_WEIGHT, POSITION_WEIGHT, SPEED_WEIGHT = 1e-3, 1e4, 1e2
REST, GOAL = (0.0, -1.6, 1.4, 0.0, 0.5, 0.0), (0.8, -1.0, 1.0, -0.9, 1.0, 0.4)


@dataclass(frozen=True, eq=False)
class ShootingTask:
    """The loop, the start x0 (12,) and the torques u (30, 6) that every optimiser begins with."""

    loop: Loop
    x0: Array
    u: Array

    def shooting(self) -> Shooting:
        """Our two sweeps for this problem."""
        made = Shooting(self.loop, NODES, np.full(6, np.inf))
        at, nodes = made.node, made.nodes
        nodes[:, at.goal][:, :6] = GOAL
        nodes[:, at.R] = EFFORT_WEIGHT * NODE_SECONDS
        nodes[-1, at.Q] = np.concatenate([np.full(6, POSITION_WEIGHT), np.full(6, SPEED_WEIGHT)])
        nodes[:, at.upper], nodes[:, at.lower] = FAR_BOUND, -FAR_BOUND
        made.give(0.0)
        return made

    def solve(self) -> OptimalMotion:
        """Our optimum."""
        return optimal_motion(
            self.loop,
            self.x0,
            np.array(GOAL),
            NODES * NODE_SECONDS,
            effort=EFFORT_WEIGHT,
            position=POSITION_WEIGHT,
            speed=SPEED_WEIGHT,
            torque_limit=np.inf,
            speed_limit=np.inf,
            lower=-np.inf,
            upper=np.inf,
            guess=self.u,
            tolerance=1e-12,
        )


def shooting_task() -> ShootingTask:
    """Return the problem."""
    loop = Loop.of(arm("ur5").with_rotors(ROTOR), rate=1.0 / NODE_SECONDS)
    ref = quintic(np.array(REST), np.array(GOAL), NODES * NODE_SECONDS).evaluate(
        NODE_SECONDS * (np.arange(NODES) + 0.5)
    )
    u = np.asarray(inverse_dynamics(loop.robot, ref.q, ref.qd, ref.qdd))
    return ShootingTask(loop, np.concatenate([REST, np.zeros(6)]), u)


def crocoddyl_problem(crocoddyl: ModuleType, pin: ModuleType, task: ShootingTask) -> Any:
    """Return the same problem for Crocoddyl: RK4, the torque held, the same weights."""
    model = pin.buildModelFromXML(write_urdf(arm("ur5")))
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)

    def dynamics(costs: object) -> object:
        made = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        made.armature = np.full(6, ROTOR)
        return made

    running, last = crocoddyl.CostModelSum(state, 6), crocoddyl.CostModelSum(state, 6)
    effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, 6))
    running.addCost("effort", effort, EFFORT_WEIGHT)
    weights = crocoddyl.ActivationModelWeightedQuad(
        np.concatenate([np.full(6, POSITION_WEIGHT), np.full(6, SPEED_WEIGHT)])
    )
    error = crocoddyl.ResidualModelState(state, np.concatenate([GOAL, np.zeros(6)]), 6)
    last.addCost("end", crocoddyl.CostModelResidual(state, weights, error), 1.0)
    step = crocoddyl.IntegratedActionModelRK(dynamics(running), crocoddyl.RKType.four, NODE_SECONDS)
    problem = crocoddyl.ShootingProblem(
        task.x0, [step] * NODES, crocoddyl.IntegratedActionModelEuler(dynamics(last), 0.0)
    )
    problem.nthreads = 1
    return problem
