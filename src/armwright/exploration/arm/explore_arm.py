# SPDX-License-Identifier: Apache-2.0
"""`explore_arm`: send the whole arm from a configuration to a goal, with ways planned in joint space.

`explore_arm` makes the job (`arm_job`), rehearses the arm, and lets `ArmRun` do the job on a simulated ride.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from armwright.errors import InputError
from armwright.exploration.arm.arm_job import QUIET, arm_job
from armwright.exploration.arm.arm_result import ArmExploration, ArmTruth, arm_result
from armwright.exploration.arm.arm_run import ArmRun
from armwright.exploration.arm.rehearse_arm import learned_in_joints, random_motion, rehearsed
from armwright.exploration.explore_options import ArmTask, Budget, ControlLoop, Sensing, arm_task
from armwright.exploration.surroundings import find_world, surroundings_of
from armwright.exploration.touch_sensing import (
    arm_of,
    doubt_of,
    knowing,
    needs_learning,
    ride_of,
    said,
    self_knowledge,
    set_up,
)
from armwright.world.world import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from armwright.exploration.exploration_run import Progress
    from armwright.exploration.explore_options import Reaction
    from armwright.planning.joint.joint_plan import JointPlanner
    from armwright.robot.model import Robot
    from armwright.types import Traced


def explore_arm(
    robot: Robot | str,
    world: World | str | Path | Callable[[Traced], Traced],
    task: ArmTask | None = None,
    *,
    planner: str | JointPlanner | None = None,
    reaction: Reaction = "back off",
    sensing: Sensing | None = None,
    budget: Budget | None = None,
    loop: ControlLoop | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> ArmExploration:
    """Send the whole arm from a configuration to another; see `explore`.

    Example:
        >>> explore_arm("ur5", "bench").outcome
        'reached'
    """
    sensing, budget, loop = sensing or Sensing(), budget or Budget(), loop or ControlLoop()
    arm, there = arm_of(robot), find_world(world)
    if not isinstance(there, World):
        raise InputError("explore: planning in joint space needs a World with shapes, not a force function")
    believed = loop.model or arm
    job = arm_job(believed, arm_task(task or ArmTask(), arm, there), planner, reaction, budget, seed)
    listening = replace(sensing, observer="momentum" if sensing.observer is None else sensing.observer)
    setup = set_up(arm, surroundings_of(arm, arm, there, "links"), loop, listening, job.q0, held=False, seed=seed)
    search = job.search()
    setup = knowing(setup, self_knowledge(setup, random_motion(setup, search, 0)))
    job = replace(job, noise=rehearsed(setup, search, QUIET))
    fit = learned_in_joints(setup, search) if needs_learning(sensing.detector, listening.observer) else None
    ride, watch = ride_of(setup, fit)
    run = ArmRun(job, ride, progress)
    run.doubt = doubt_of(setup, ride)
    run.drive()
    settings = said(setup, watch, there) | job.settings() | run.felt_settings() | run.found_errors()
    return arm_result(job, run, settings, ArmTruth(arm, there))
