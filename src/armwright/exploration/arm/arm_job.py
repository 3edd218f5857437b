# SPDX-License-Identifier: Apache-2.0
"""`ArmJob`: a run with the whole arm before anything moves: ends, bounds of the search, planners.

A goal is a configuration, or a tool pose or position that inverse kinematics solves (`goal_configurations`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import matrix_of
from armwright.choices import JOINT_PLANNERS, REACTIONS
from armwright.errors import InputError
from armwright.exploration.arm.fenced_planner import FencedPlanner
from armwright.exploration.arm.rehearse_arm import RehearsedArm, TorqueNoise
from armwright.exploration.arm.touch_map import ends_at
from armwright.kinematics import fk, ik
from armwright.planning import OMPLConnect, RRTConnect
from armwright.planning.grid.grid_map import GridMap, grid_map
from armwright.planning.obstacles import contact_capsules

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.exploration.explore_options import ArmTask, Budget, Reaction
    from armwright.planning.joint.joint_plan import JointPlanner
    from armwright.robot.model import Robot
    from armwright.types import Array

SEARCH_MARGIN = 2.0  # [rad] searched about start and goal: a third of a turn, enough to go around a pillar
CELL = 0.05  # [m] of the grid that the maps are drawn on: about the radius of a UR5's links
CELLS_PER_REACH = 30.0  # most cells up to the end of the arm's reach, so that a long arm's grid stays below 63³
QUIET = 0.05  # [N m] least deviation of a torque estimate: a perfect model leaves no residual
PATIENT_ITERATIONS = 2500  # of a patient planner: half of its default, as there are six cautions to try
QUICK, QUICK_SECONDS = 300, 2.0  # iterations, or seconds, where only places of doubt may close a way
REACH_CONFIGURATIONS = 512  # random configurations that estimate the arm's reach, for drawing only
SAME_GOAL_DISTANCE = 1e-6  # [rad, m] within which start and goal are one


@dataclass(frozen=True, eq=False)
class ArmJob:
    """Everything about a run with the whole arm that does not change on the way; see `explore`.

    Attributes:
        believed: what the arm takes itself to be.
        q0: configuration (n,) that it begins in.
        goals: configurations (m, n) that will do, the nearest first. place: tool position (3,) to be at [m].
        planner: in joint space. quick: the same with less patience. lower, upper: bounds of its search (n,).
        speed: pace of the arm's fastest part [m/s].
        margin: to felt places [m].
        reaction: to a contact. budget: when to give up.
        noise: of the felt torque; at first what a perfect model leaves, to be replaced by what was rehearsed.
    """

    believed: Robot
    q0: Array
    goals: Array
    place: Array
    planner: JointPlanner
    quick: JointPlanner
    lower: Array
    upper: Array
    speed: float
    margin: float
    reaction: Reaction
    budget: Budget
    noise: TorqueNoise

    def search(self) -> RehearsedArm:
        """Return the range and speed of motions that the run will make."""
        return RehearsedArm(self.believed, contact_capsules(self.believed), self.lower, self.upper, self.speed)

    def settings(self) -> dict[str, Any]:
        """Return what the settings of a run say about it."""
        return {
            "planner": getattr(self.planner, "name", type(self.planner).__name__),
            "reaction": self.reaction,
            "contact": "links",
            "speed": self.speed,
            "margin": self.margin,
            "contact_budget": self.budget.contacts,
            "tolerance": self.budget.tolerance,
            "q_start": self.q0.tolist(),
            "q_goal": self.goals[0].tolist(),
        }


def arm_job(
    believed: Robot,
    task: ArmTask,
    planner: str | JointPlanner | None,
    reaction: Reaction,
    budget: Budget,
    seed: int = 0,
) -> ArmJob:
    """Check a complete task, and find the configurations to begin and to end in.

    Raises:
        InputError: start or goal are beyond limits, out of reach or the same; there is no such reaction.
    """
    if reaction not in REACTIONS:
        raise InputError(f"explore: reaction of the whole arm must be one of {REACTIONS.listed()}; got {reaction!r}")
    q0 = configuration(believed, task.start, "start")
    goals, place = goal_configurations(believed, task.goal, q0)
    if np.abs(goals[0] - q0).max() < SAME_GOAL_DISTANCE:
        raise InputError("explore: start and goal are the same configuration")
    lower, upper = _bounds(believed, np.vstack([q0, goals]))
    patient, floor = find_joint_planner(planner, seed), QUIET**2 * np.eye(believed.n)
    return ArmJob(
        believed,
        q0,
        goals,
        place,
        patient,
        quick_planner(patient),
        lower,
        upper,
        task.speed,
        task.margin,
        reaction,
        budget,
        TorqueNoise(floor, floor),
    )


TOOL_ORIENTATIONS = 8  # orientations about the tool's axis that are tried for a position alone: every 45 degrees
TILTS = (0.0, 0.5, -0.5)  # [rad] tilts of the tool that are tried, upright first


def configuration(robot: Robot, value: ArrayLike | None, what: str) -> Array:
    """Check a configuration (n,) [rad, m] and return it."""
    q = _numbers(value, what)
    if q.shape != (robot.n,):
        raise InputError(
            f"explore: {what} must be a configuration of {robot.n} numbers for robot {robot.name!r}"
            + (", a tool pose (4, 4) or a tool position (3,)" if what == "goal" else "")
            + f", got shape {q.shape}"
        )
    beyond = np.flatnonzero((q > robot.upper + 1e-9) | (q < robot.lower - 1e-9))
    if len(beyond):
        j = int(beyond[0])
        raise InputError(
            f"explore: {what} takes joint {robot.joints[j].name} to {q[j]:.3f}, beyond its limits "
            f"{robot.lower[j]:.3f} … {robot.upper[j]:.3f}"
        )
    return q


def goal_configurations(robot: Robot, goal: ArrayLike | None, q0: Array) -> tuple[Array, Array]:
    """Return configurations (m, n) that will do, the nearest to q0 first, and the tool position (3,) to be at.

    Args:
        robot: the arm.
        goal: a configuration (n,), a tool pose (4, 4), or a tool position (3,), for which the orientation is free:
            that of the start first, then turned about the tool's axis and tilted.
        q0: where the arm begins (n,).
    """
    value = _numbers(matrix_of(goal), "goal")
    if value.shape == (4, 4):
        _check_pose(value)
        found, names = _solved(robot, value[None], q0), f"tool pose at {np.round(value[:3, 3], 4).tolist()} m"
        place = value[:3, 3]
    elif value.shape == (3,) and robot.n != 3:
        found, names = _solved(robot, _orientations(fk(robot, q0)[:3, :3], value), q0), f"tool position {value} m"
        place = value
    else:
        q = configuration(robot, value, "goal")
        return q[None], np.asarray(fk(robot, q)[:3, 3])
    if not len(found):
        raise InputError(f"explore: the goal, {names}, cannot be reached within the joint limits")
    return found, place


def _numbers(value: object, what: str) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"explore: {what} must be numbers, got {value!r:.60}") from None
    if not np.isfinite(array).all():
        raise InputError(f"explore: {what} must be finite, got {array.tolist()}")
    return array


def _check_pose(T: Array) -> None:
    R = T[:3, :3]
    if np.abs(R.T @ R - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0 or np.abs(T[3] - [0, 0, 0, 1]).max() > 1e-9:
        raise InputError("explore: the goal pose must be a rigid motion: a rotation and a last row 0 0 0 1")


def _orientations(R: Array, place: Array) -> Array:
    out = []
    for tilt in TILTS:
        for k in range(TOOL_ORIENTATIONS):
            a = 2.0 * np.pi * k / TOOL_ORIENTATIONS
            turn = np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])
            lean = np.array([[1.0, 0.0, 0.0], [0.0, np.cos(tilt), -np.sin(tilt)], [0.0, np.sin(tilt), np.cos(tilt)]])
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = R @ turn @ lean, place
            out.append(T)
    return np.array(out)


def _solved(robot: Robot, poses: Array, q0: Array) -> Array:
    """Return configurations (m, n) within limits for tool poses (k, 4, 4), with full turns, the nearest to q0 first."""
    found: Any = ik(robot, poses, seed=q0, limits=False)
    rows = [found.solutions[k, : found.count[k]] for k in range(len(poses))]
    Q = np.concatenate(rows) if rows else np.zeros((0, robot.n))
    if not len(Q):
        return np.zeros((0, robot.n))
    revolute = np.array([joint.kind == "revolute" for joint in robot.joints])
    turned = np.mod(Q - q0 + np.pi, 2.0 * np.pi) - np.pi + q0
    for turns in (0.0, 2.0 * np.pi, -2.0 * np.pi):  # as near as the limits allow
        shifted = turned + turns
        fits = (shifted <= robot.upper) & (shifted >= robot.lower)
        worse = (turned > robot.upper) | (turned < robot.lower)
        turned = np.where(fits & worse, shifted, turned)
    Q = np.where(revolute, turned, Q)
    Q = Q[((robot.upper + 1e-9 >= Q) & (robot.lower - 1e-9 <= Q)).all(axis=1)]
    return Q[np.argsort(np.linalg.norm(Q - q0, axis=1), kind="stable")]


def _bounds(robot: Robot, ends: Array) -> tuple[Array, Array]:
    """Return the bounds of the search, about start and goals (m, n)."""
    return np.maximum(ends.min(axis=0) - SEARCH_MARGIN, robot.lower), np.minimum(
        ends.max(axis=0) + SEARCH_MARGIN, robot.upper
    )


def find_joint_planner(planner: str | JointPlanner | None, seed: int) -> JointPlanner:
    """Return a planner in joint space: by name, with the run's seed, or as it is."""
    if planner is not None and not isinstance(planner, str):
        return planner
    kind = JOINT_PLANNERS.find("rrt-connect" if planner is None else planner)
    made: JointPlanner = kind(seed=seed, **({"iterations": PATIENT_ITERATIONS} if kind is RRTConnect else {}))
    return made


def quick_planner(planner: JointPlanner) -> JointPlanner:
    """Return the planner with less patience, for ways that may be closed by places of doubt only."""
    if isinstance(planner, RRTConnect):
        return replace(planner, iterations=min(planner.iterations, QUICK))
    if isinstance(planner, OMPLConnect):
        return replace(planner, seconds=min(planner.seconds, QUICK_SECONDS))
    if isinstance(planner, FencedPlanner):
        return planner.quick(quick_planner)
    return planner


def reach_grid(robot: Robot) -> GridMap:
    """Return an empty grid over all that the arm can reach, for drawing: what planners see is exact, see `TouchMap`."""
    root, links = robot.T_base_root[:3, 3], contact_capsules(robot)
    low, high = (np.clip(bound, -np.pi, np.pi) for bound in (robot.lower, robot.upper))
    Q = np.random.default_rng(0).uniform(low, high, (REACH_CONFIGURATIONS, robot.n))
    reach = float(np.linalg.norm(ends_at(robot, links, Q) - root, axis=-1).max()) + float(links.radius.max())
    cell = max(CELL, reach / CELLS_PER_REACH)
    count = 2 * int(np.ceil(reach / cell)) + 1
    return grid_map((count, count, count), root - 0.5 * (count - 1) * cell, cell)
