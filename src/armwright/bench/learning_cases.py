# SPDX-License-Identifier: Apache-2.0
"""What learners and optimisers ask for, measured: small batches, a step's Jacobian, an iteration, JAX, environments.

`prepare_learning` writes the numbers that every peer must reproduce; `register` times this library.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.bench.prepare_arms import arm, differences
from armwright.bench.protocol import case
from armwright.bench.shooting_task import shooting_task
from armwright.control.law import as_law
from armwright.dynamics.public import forward_dynamics_kernel
from armwright.envs.learning_task import TaskLanes
from armwright.envs.reach_task import ReachTask
from armwright.robot.mjcf.mjcf_write import write_mjcf
from armwright.simulation.control_loop import Loop

if TYPE_CHECKING:
    from armwright.types import Array, Traced

SMALL_BATCHES = (8, 32)
JAX_ROWS = 4096
ARMS_LEARNING, TICKS_PER_STEP, LEARNING_RATE = 1024, 10, 500.0
ARM_ROTORS = 0.1  # kg m²
PUSHED = (30.0, 30.0, 30.0, 5.0, 5.0, 5.0)  # N m at an action of one


def bare_torque(action: Traced, torque: Traced) -> Traced:
    """Torque in proportion to the action and nothing else, as MuJoCo's rollout applies it."""
    return torque * action


def learning_lanes() -> TaskLanes:
    """The arms of the environment: the reach task, with torques and steps as MuJoCo makes them."""
    robot = arm("ur5").with_rotors(ARM_ROTORS)
    task = ReachTask(robot, rate=LEARNING_RATE, ticks=TICKS_PER_STEP, integrator="semi-implicit")
    law = as_law(bare_torque, action=np.zeros((1, robot.n)), torque=np.array(PUSHED))
    task.loop = Loop.of(robot, law, rate=LEARNING_RATE, integrator="semi-implicit")
    return TaskLanes(task, ARMS_LEARNING)


def begun(lanes: TaskLanes) -> tuple[Array, Array]:
    """Begin all episodes; states (B, 12) and actions (B, 6)."""
    lanes.begin(np.arange(lanes.count), [np.random.default_rng(k) for k in range(lanes.count)])
    return lanes.x, np.random.default_rng(1).uniform(-1.0, 1.0, (lanes.count, 6))


def prepare_learning(folder: Path) -> None:
    """Write learn/task.npz, and learn/arm.xml for MuJoCo."""
    task = shooting_task()
    step, x, u = task.loop.step(), task.x0 + 0.1, task.u[3]
    shooting = task.shooting()
    rolled = shooting.rollout(task.x0, task.u)
    shooting.sweep_back(rolled.x, rolled.u, 0.0)
    lanes = learning_lanes()
    start, actions = begun(lanes)
    lanes.simulation.set("gain_action", actions)
    lanes.simulation.run()
    (folder / "learn").mkdir()
    (folder / "learn" / "arm.xml").write_text(write_mjcf(lanes.task.loop.robot), encoding="utf-8")
    np.savez(
        folder / "learn" / "task.npz",
        x=x,
        u=u,
        by_x=differences(lambda v: step(v, u), x),
        by_u=differences(lambda v: step(x, v), u),
        gradient=shooting.gradient,
        start=start,
        torques=actions * np.array(PUSHED),
        after=lanes.x,
    )


def load_learning(folder: Path) -> dict[str, Any] | None:
    """Return what was prepared, or None where this is not to be measured."""
    path = folder / "learn" / "task.npz"
    return dict(np.load(path)) if path.exists() else None


def register(task: dict[str, Any], data: dict[str, Any]) -> None:
    """Register this library's cases; `data` are the states of the bare UR5."""
    kernel = forward_dynamics_kernel(arm("ur5"))
    for rows in (*SMALL_BATCHES, JAX_ROWS):
        arrays = [np.ascontiguousarray(data[name][:rows]) for name in ("q", "qd", "x")]
        kernel(*arrays)
        few = min(rows, len(data["qdd"]))
        name = "learn/jax" if rows == JAX_ROWS else f"learn/fd_{rows}"
        items = JAX_ROWS if rows == JAX_ROWS else 1
        case(name, lambda a=arrays: kernel(*a), data["qdd"][:few], got=kernel(*arrays)[:few], items=items)  # type: ignore[misc]
    problem = shooting_task()
    jacobian = problem.loop.derivative("x", "u")
    x, u = task["x"], task["u"]
    _, by_x, by_u = jacobian(x, u)
    exact = np.hstack([task["by_x"], task["by_u"]])
    case("learn/step_jacobian", lambda: jacobian(x, u), exact, got=np.hstack([by_x, by_u]), tolerance=1e-7, note="RK4")
    shooting = problem.shooting()
    rolled = shooting.rollout(problem.x0, problem.u)

    def iteration() -> None:
        shooting.sweep_back(rolled.x, rolled.u, 0.0)
        shooting.sweep_ahead(rolled.x, rolled.u)

    iteration()
    shooting.sweep_back(rolled.x, rolled.u, 0.0)
    gradient = np.array(shooting.gradient)
    case("learn/ilqr", iteration, task["gradient"], got=gradient, tolerance=1e-6, note="30 nodes, both sweeps")
    _environments(task)


def _environments(task: dict[str, Any]) -> None:
    from armwright.envs.gymnasium_envs import ArmVectorEnv

    lanes = learning_lanes()
    _, actions = begun(lanes)
    lanes.simulation.set("gain_action", actions)
    lanes.simulation.run()
    env = ArmVectorEnv(lanes.task, ARMS_LEARNING)
    env.reset(seed=0)
    case(
        "learn/environment",
        lambda: env.step(actions),
        task["after"],
        got=lanes.x,
        items=ARMS_LEARNING * TICKS_PER_STEP,
        note=f"{ARMS_LEARNING} arms, step() of Gymnasium's VectorEnv, per tick",
    )
