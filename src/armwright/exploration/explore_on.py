# SPDX-License-Identifier: Apache-2.0
"""`explore_on`: explore with any arm that a `Ride` moves, on a grid of tool cells or with the whole arm.

`explore` makes a simulated ride by itself. Here the ride is there already: a simulation with settings of one's own, an
arm on the wire, a script in a test. The run is the same; what it does not get is the truth, unless somebody tells it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armwright.choices import REACTIONS
from armwright.errors import InputError
from armwright.exploration.arm.arm_job import arm_job
from armwright.exploration.arm.arm_result import ArmTruth, arm_result
from armwright.exploration.arm.arm_run import ArmRun
from armwright.exploration.explore_options import ArmTask, Budget, GridTask
from armwright.exploration.grid.grid_job import grid_job, grid_result
from armwright.exploration.grid.grid_rules import Rules
from armwright.exploration.grid.grid_run import GridRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from armwright.exploration.arm.rehearse_arm import TorqueNoise
    from armwright.exploration.exploration_result import Exploration
    from armwright.exploration.exploration_run import Progress
    from armwright.exploration.explore_options import Reaction
    from armwright.exploration.ride import Ride
    from armwright.exploration.truth_told import TellsTruth
    from armwright.planning.grid.path_plan import GridPlanner
    from armwright.planning.joint.joint_plan import JointPlanner
    from armwright.robot.model import Robot
    from armwright.types import Array

AT_START = 0.02  # [rad, m] of a joint from where the run begins: 1 cm at a UR5's tool, less than half of a usual cell
OWN_LAW = ("closed-loop", "scaled-error")
"""Observers that take a tracking error for a contact as our own law would make it. The servo of a controller, with its
integral action, hides what they look for."""


def explore_on(
    ride: Ride,
    robot: Robot,
    task: GridTask | ArmTask,
    *,
    planner: str | GridPlanner | JointPlanner | None = None,
    reaction: Reaction | Rules = "back off",
    budget: Budget | None = None,
    noise: TorqueNoise | None = None,
    truth: TellsTruth | ArmTruth | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Exploration:
    """Send an arm that a ride moves through surroundings that nobody described.

    Args:
        ride: the arm, at rest where the run begins.
        robot: what the arm takes itself to be.
        task: complete: map, start, goal and near of a `GridTask` (`grid_task` takes them from a world's file), or the
            goal of an `ArmTask`, whose start is where the arm stands unless it says so.
        planner: as in `explore`.
        reaction: to a contact. "slide" needs a ride that presses.
        budget: when to give up.
        noise: covariances of the felt torque, as `rehearsed_on` learns them; for an `ArmTask`.
        truth: who tells what really happened: `truth_of` for a grid, an `ArmTruth` for the whole arm; None for nobody.
        settings: noted in the result: world, observer, detector, confirmations, …
        progress: called with (fraction of the duration, contacts so far).

    Returns:
        An `Exploration`, also after "protective stop", "stopped by a person" and "lost": with map, contacts and
        recording until then.

    Raises:
        InputError: before anything moves: the arm stands elsewhere, the task is not complete, the reaction does not fit
            the ride.
    """
    word = reaction.reaction if isinstance(reaction, Rules) else reaction
    if word in REACTIONS:
        check_fits(ride, reaction=word)
    about = {"robot": robot.name, "world": "unknown", **(settings or {})}
    if isinstance(task, GridTask):
        rules = reaction if isinstance(reaction, Rules) else Rules(reaction)
        here = ride.reference().q
        job = grid_job(robot, _complete(task, here), cast("Any", planner), rules, budget or Budget())
        check_start(job.q0, here, robot)
        ride.reflex = "give way"
        run = GridRun(job, ride, progress)
        run.drive()
        return grid_result(job, run, about | job.settings(), cast("TellsTruth | None", truth))
    return _whole_arm(ride, robot, task, cast("Any", planner), reaction, budget, noise, truth, about, progress)


def _whole_arm(
    ride: Ride,
    robot: Robot,
    task: ArmTask,
    planner: str | JointPlanner | None,
    reaction: Reaction | Rules,
    budget: Budget | None,
    noise: TorqueNoise | None,
    truth: TellsTruth | ArmTruth | None,
    about: dict[str, Any],
    progress: Progress | None,
) -> Exploration:
    """Explore with the whole arm."""
    if noise is None:
        raise InputError(
            "explore_on: the whole arm must know how exact its felt torques are: give noise, as rehearsed_on(ride, …) "
            "learns it where nothing is in the way"
        )
    here = ride.reference().q
    task = task if task.start is not None else replace(task, start=here)
    job = replace(arm_job(robot, task, planner, cast("Any", reaction), budget or Budget()), noise=noise)
    check_start(job.q0, here, robot)
    ride.reflex = "listen"
    run = ArmRun(job, ride, progress)
    run.drive()
    return arm_result(job, run, about | job.settings() | run.felt_settings(), cast("ArmTruth | None", truth))


def check_fits(ride: Ride, *, reaction: str = "", observer: str = "") -> None:
    """Refuse what a ride that does not press with a chosen force, a position servo, cannot do.

    Raises:
        InputError: the reaction slides, or the observer believes in our own law.
    """
    if ride.presses:
        return
    if reaction == "slide":
        others = ", ".join(name for name in REACTIONS if name != "slide")
        raise InputError(
            "explore: reaction 'slide' presses with a chosen force, which a position servo does not do; on this arm "
            f"choose one of {others}"
        )
    if observer in OWN_LAW:
        raise InputError(
            f"explore: observer {observer!r} reads contacts from the tracking error of Armwright's own law; the servo "
            "of this arm hides them; choose 'momentum' or 'disturbance'"
        )


def check_start(q0: Array, here: Array, robot: Robot) -> None:
    """Refuse an arm that does not stand where its run begins.

    Args:
        q0: where it begins (n,).
        here: where the arm stands (n,).
        robot: whose joints are named.
    """
    off = np.abs(q0 - here)
    j = int(np.argmax(off))
    if not off[j] <= AT_START:
        raise InputError(
            f"explore: the run begins at {np.round(q0, 4).tolist()}, the arm stands at {np.round(here, 4).tolist()}: "
            f"{robot.joints[j].name} is {off[j]:.3g} off; move it there first"
        )


def _complete(task: GridTask, here: Array) -> GridTask:
    """Check that a task on a grid lacks nothing; the configuration to begin near is where the arm stands."""
    lacks = [name for name in ("where", "start", "goal", "rotation") if getattr(task, name) is None]
    if lacks:
        raise InputError(
            f"explore_on: the task lacks {', '.join(lacks)}; complete it by hand, or from a world's file: "
            "grid_task(task, robot, world)"
        )
    return replace(task, near=here)
