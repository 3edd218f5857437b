# SPDX-License-Identifier: Apache-2.0
"""Exploration with the whole arm: start and goal are postures, the way is planned in joint space."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors import check_above_noise
from armwright.contact.monitor import as_chain
from armwright.control import computed_torque
from armwright.control.law import as_law, check_gains
from armwright.errors import InputError
from armwright.exploration.field import field_of, find_world
from armwright.exploration.joints.goals import goal_postures, posture
from armwright.exploration.joints.learn import learned_in_joints
from armwright.exploration.joints.rehearse import rehearsed
from armwright.exploration.joints.result import JointExploration, exploration_of
from armwright.exploration.joints.run import JointRun
from armwright.exploration.joints.task import JointTask
from armwright.exploration.joints.touch_map import empty_map, link_ends
from armwright.exploration.names import find_detector, find_observer, needs_learning, omega, tool_estimate
from armwright.planning import JOINT_PLANNERS, OMPLConnect, RRTConnect
from armwright.planning.grid.occupancy import GridMap, grid_map
from armwright.planning.obstacles import contact_capsules
from armwright.robot.tree import tree_of
from armwright.simulation.integrators import method as find_method
from armwright.simulation.loop_stages import Ingredients
from armwright.simulation.session import Session
from armwright.world.world import World

if TYPE_CHECKING:
    from armwright.planning.joint.plan import JointPlanner
    from armwright.robot.model import Robot

SPEED, MARGIN = 0.25, 0.015  # [m/s], [m]
AROUND = 2.0  # [rad] about start and goal that is searched
CELL = 0.05  # [m] of the grid that the maps are drawn on
QUIET = 0.05  # [N m] that an estimate of torque is never more certain than
NAMES = {"ompl": "ompl-rrt-connect"}
ITERATIONS, QUICK = 2500, 300
QUICK_SECONDS = 2.0
SAMPLES = 512  # postures that tell how far the arm reaches


def plans_joints(planner: Any) -> bool:
    """Whether a planner, by name or as an object, plans in joint space: it is called with five arguments."""
    if planner is None:
        return False
    if isinstance(planner, str):
        return NAMES.get(planner, planner) in JOINT_PLANNERS
    try:
        return len(inspect.signature(planner).parameters) >= 5
    except (TypeError, ValueError):
        return False


def chosen_planner(
    planner: Any, arm: Robot, world: Any, start: Any, goal: Any, where: Any, contact: Any, published: bool
) -> Any:
    """Return the planner; where none is named, one in joint space for a world made for an errand of this arm."""
    if planner is not None or published or where is not None or contact == "tool":
        return planner
    if start is not None or goal is not None or callable(world):
        return planner
    errand = find_world(world).errand
    return "rrt-connect" if errand is not None and errand.robot == arm.name else None


def explore_joints(
    arm: Robot,
    world: Any,
    start: Any,
    goal: Any,
    *,
    planner: str | JointPlanner,
    observer: Any,
    detector: Any,
    reaction: str,
    law: Any,
    model: Robot | None,
    duration: float,
    contact_budget: int,
    rate: float,
    substeps: int,
    tolerance: float,
    drive: Any,
    friction: Any,
    sensors: Any,
    seed: int,
    learn_seed: int,
    speed: float,
    margin: float,
    progress: Callable[[float, int], Any] | None,
) -> JointExploration:
    """Send the whole arm from a posture to another; see `explore`, which checked what both kinds of run share."""
    if not isinstance(world, World):
        raise InputError("explore: planning in joint space needs a World with shapes, not a force function")
    for name, value, least in (("speed", speed, 0.0), ("margin", margin, 1e-4)):
        if not (np.isfinite(value) and value > least):
            raise InputError(f"explore: {name} must be finite and above {least:g}, got {value}")
    believed = model or arm
    start, goal = _ends(arm, world, start, goal)
    q0 = posture(believed, start, "start")
    goals, place = goal_postures(believed, goal, q0)
    if np.abs(goals[0] - q0).max() < 1e-6:
        raise InputError("explore: start and goal are the same posture")
    field = field_of(arm, arm, world, "links")
    w = omega(arm.n)
    control = as_law(law) if law is not None else computed_torque(w * w, 2.0 * w)
    check_gains(control, arm.n)
    named = "momentum" if observer is None else observer
    watch = find_observer(named, believed, q0, control.gains.get("kp", w * w), rate)
    parts = Ingredients(
        lanes=field.lanes,
        model=tree_of(believed, regroup=True),
        law=control,
        method=find_method("rk4"),
        period=1.0 / rate,
        continuous=named == "closed-loop" and sensors is None,
        drive=drive,
        friction=friction,
        sensors=sensors,
        wrenches=field.wrenches,
        external=field.external,
        model_key=believed,
    )
    ends, patient = np.vstack([q0, goals]), find_joint_planner(planner, seed)
    lower = np.maximum(ends.min(axis=0) - AROUND, believed.lower)
    upper = np.minimum(ends.max(axis=0) + AROUND, believed.upper)
    links, fit = contact_capsules(believed), None
    listening = replace(parts, monitors=as_chain(watch))
    noise = rehearsed(arm, believed, listening, links, lower, upper, speed, substeps, learn_seed, QUIET)
    if needs_learning(detector, named):
        fit = learned_in_joints(arm, believed, listening, links, lower, upper, speed, substeps, learn_seed)
    watch = [*watch, tool_estimate(None), find_detector(detector, watch, fit)]
    if sensors is not None:
        names = ("position_noise", "velocity_noise", "position_resolution", "velocity_resolution")
        check_above_noise(
            watch[:-1], watch[-1], believed, q0, rate=rate, seed=seed, **{k: getattr(sensors, k) for k in names}
        )
    session = Session(
        [arm], replace(parts, monitors=as_chain(watch)), count=1, substeps=int(substeps), every=1, seeds=[seed]
    )
    session.start(np.concatenate([q0, np.zeros(parts.size - arm.n)]), {}, field.lanes.values)
    task = JointTask(
        arm,
        believed,
        world,
        goals,
        place,
        patient,
        quick_planner(patient),
        lower,
        upper,
        reaction,
        speed,
        margin,
        noise,
        duration,
        contact_budget,
        tolerance,
        progress or (lambda fraction, contacts: None),
    )
    run = JointRun(task, session, empty_map(believed, q0, goals), reach_grid(believed), q0)
    run.drive()
    settings = {
        "robot": arm.name,
        "world": world.name,
        "observer": watch[0].name,
        "detector": watch[-1].name,
        "planner": getattr(task.planner, "name", type(task.planner).__name__),
        "reaction": reaction,
        "contact": "links",
        "speed": speed,
        "margin": margin,
        "contact_budget": contact_budget,
        "tolerance": tolerance,
        "q_start": q0.tolist(),
        "q_goal": goals[0].tolist(),
        "planning_s": run.planning,
        "torque_std": np.sqrt(np.diag(noise.soon)).tolist(),
        "detector_gains": {k: np.asarray(v).tolist() for k, v in watch[-1].gains.items()},
    }
    return exploration_of(run, q0, settings)


def _ends(arm: Robot, world: World, start: Any, goal: Any) -> tuple[Any, Any]:
    """Return start and goal, from the world's errand where they are not given."""
    if start is not None and goal is not None:
        return start, goal
    errand = world.errand
    if errand is None or errand.robot != arm.name:
        made = "has no start and goal of its own" if errand is None else f"has start and goal for {errand.robot!r} only"
        raise InputError(f"explore: world {world.name!r} {made}; give both, as postures of {arm.n} numbers")
    return errand.start if start is None else start, errand.goal if goal is None else goal


def find_joint_planner(planner: Any, seed: int) -> JointPlanner:
    """Return a planner in joint space: by name, with the run's seed, or as it is."""
    if isinstance(planner, str):
        name = NAMES.get(planner, planner)
        options = {"iterations": ITERATIONS} if JOINT_PLANNERS[name] is RRTConnect else {}
        made: JointPlanner = JOINT_PLANNERS[name](seed=seed, **options)
        return made
    given: JointPlanner = planner
    return given


def quick_planner(planner: JointPlanner) -> JointPlanner:
    """Return the planner with less patience, for ways that may be closed by places of doubt only."""
    if isinstance(planner, RRTConnect):
        return replace(planner, iterations=min(planner.iterations, QUICK))
    if isinstance(planner, OMPLConnect):
        return replace(planner, seconds=min(planner.seconds, QUICK_SECONDS))
    return planner


def reach_grid(robot: Robot) -> GridMap:
    """Return an empty grid over all that the arm can reach, for drawing: what planners see is exact, see `TouchMap`."""
    root, links = robot.T_base_root[:3, 3], contact_capsules(robot)
    low, high = (np.clip(bound, -np.pi, np.pi) for bound in (robot.lower, robot.upper))
    Q = np.random.default_rng(0).uniform(low, high, (SAMPLES, robot.n))
    reach = float(np.linalg.norm(link_ends(robot, links, Q) - root, axis=-1).max()) + float(links.radius.max())
    cell = max(CELL, reach / 30.0)
    count = 2 * int(np.ceil(reach / cell)) + 1
    return grid_map((count, count, count), root - 0.5 * (count - 1) * cell, cell)
