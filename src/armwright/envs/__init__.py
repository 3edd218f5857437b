# SPDX-License-Identifier: Apache-2.0
"""Arms as environments for learning: reach a place, carry an unknown load, explore by touch; one arm or thousands.

Needs Gymnasium (``pip install 'armwright[learn]'``) for `make_env` and `make_vector_env`; tasks and their lanes do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from armwright.envs.carry_task import CarryTask
from armwright.envs.lane_simulation import LaneSimulation
from armwright.envs.learning_task import LearningTask, StepWorth, TaskLanes
from armwright.envs.reach_task import ReachTask
from armwright.envs.touch_task import TouchTask
from armwright.errors import InputError
from armwright.packages import need
from armwright.robot.load import load
from armwright.robot.model import Robot

if TYPE_CHECKING:
    from collections.abc import Callable

    from armwright.envs.gymnasium_envs import ArmEnv, ArmVectorEnv

__all__ = [
    "TASKS",
    "CarryTask",
    "LaneSimulation",
    "LearningTask",
    "ReachTask",
    "StepWorth",
    "TaskLanes",
    "TouchTask",
    "make_env",
    "make_task",
    "make_vector_env",
    "register_envs",
]

TASKS: dict[str, Callable[..., LearningTask]] = {"reach": ReachTask, "carry": CarryTask, "touch": TouchTask}
"""Tasks by name."""
DEFAULT_ROTORS = 0.1  # kg m² at each joint of the default arm: the catalogue's UR5 has none


def make_task(task: str | LearningTask, robot: Robot | str = "ur5", **options: Any) -> LearningTask:
    """Return a task by name, with its options, for an arm or the name of one; a task is returned as it is.

    The default arm, "ur5", has rotors of 0.1 kg m² here, which its sheet does not know.
    """
    if not isinstance(task, str):
        if options:
            raise InputError(f"environments: a task that is made already takes no options, got {', '.join(options)}")
        return task
    if task not in TASKS:
        raise InputError(f"environments: no task {task!r}; tasks are {', '.join(TASKS)}")
    arm = load(robot) if isinstance(robot, str) else robot
    return TASKS[task](arm.with_rotors(DEFAULT_ROTORS) if robot == "ur5" else arm, **options)


def make_env(task: str | LearningTask = "reach", robot: Robot | str = "ur5", **options: Any) -> ArmEnv:
    """Return a `gymnasium.Env` of one arm at a task; options as in the task's class.

    >>> env = make_env("reach", action="torque")
    """
    need("gymnasium", "learn", "make_env")
    from armwright.envs.gymnasium_envs import ArmEnv

    options.pop("render_mode", None)  # `gymnasium.make` gives it to all
    return ArmEnv(make_task(task, robot, **options))


def make_vector_env(
    task: str | LearningTask = "reach", num_envs: int = 1, robot: Robot | str = "ur5", **options: Any
) -> ArmVectorEnv:
    """Return a `gymnasium.vector.VectorEnv` of `num_envs` arms at a task, in the lanes of one compiled loop.

    >>> envs = make_vector_env("reach", 1024)
    """
    need("gymnasium", "learn", "make_vector_env")
    from armwright.envs.gymnasium_envs import ArmVectorEnv

    options.pop("render_mode", None)
    return ArmVectorEnv(make_task(task, robot, **options), num_envs)


def register_envs() -> None:
    """Let ``gymnasium.make`` and ``gymnasium.make_vec`` find the tasks: ``armwright/Reach-v0``, ``Carry-v0``, …."""
    gymnasium = need("gymnasium", "learn", "register_envs")
    for name in TASKS:
        known = f"armwright/{name.capitalize()}-v0"
        if known in gymnasium.registry:  # registered twice, it warns
            continue
        gymnasium.register(
            known,
            "armwright.envs:make_env",
            vector_entry_point="armwright.envs:make_vector_env",
            kwargs={"task": name},
        )
