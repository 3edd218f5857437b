# SPDX-License-Identifier: Apache-2.0
"""Random worlds for the whole arm: how it ends there, compared with an oracle that sees everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.ground_truth import clearance
from armwright.detection.study_contacts import ur5_sensors
from armwright.errors import InputError
from armwright.exploration.arm.arm_job import SEARCH_MARGIN
from armwright.exploration.arm.arm_result import ArmExploration
from armwright.exploration.exploration import explore
from armwright.exploration.explore_options import Budget, Sensing
from armwright.kinematics import fk
from armwright.planning.joint.rrt_connect import RRTConnect
from armwright.planning.joint.whole_arm import WholeArm
from armwright.planning.obstacles import obstacles_of
from armwright.spatial.euler import rotation_from_rpy
from armwright.world.shape_distance import signed_distance
from armwright.world.shapes import Box, Cylinder, Shape, Sphere
from armwright.world.world import JointTask, World, check_base

if TYPE_CHECKING:
    from armwright.robot.model import Robot

MOST_WORLDS = 2000  # worlds drawn before giving up: a bound; the first twenty seeds need 64 at most
CLEARANCE_AT_ENDS = 0.05  # [m] between the world and the arm at start and goal: as far as the arm retracts
FIRST_JOINT_TURN = (1.2, 2.4)  # [rad] of the first joint between start and goal: a fifth to two fifths of a turn
SURFACE: dict[str, Any] = {
    "stiffness": 1e5,
    "damping": 200.0,
    "friction": 0.2,
}  # [N/m, N s/m, -] as of the world "bench"
PATIENT = Budget(duration=300.0)  # [s] of a run: several times the duration of runs that arrive
FALSE = 0.03  # [m]: a mark farther than this from every surface is wrong
ORACLE_ITERATIONS = 5000  # iterations of the oracle, twice those of a patient plan of the arm


def random_world(robot: Robot, seed: int) -> World:
    """Return four to eight balls, boxes and pillars about a six-joint arm, with start and goal between them.

    Start and goal are elbow-up configurations whose tool is above the ground, with room around the whole arm; between
    them the first joint turns by 1.2 to 2.4 rad, and the straight motion bumps into something.

    Args:
        robot: a UR5 or an arm built like it.
        seed: same seed, same world.

    Example:
        >>> len(random_world(aw.load("ur5"), seed=3).shapes)  # four to eight
    """
    if robot.n != 6:
        raise InputError(f"random_world: needs an arm of six joints, got {robot.n}")
    rng = np.random.default_rng([seed, 11])
    for _ in range(MOST_WORLDS):
        q = np.array([rng.uniform(-np.pi, np.pi), rng.uniform(-1.7, -0.7), rng.uniform(1.0, 2.0), 0.0, 1.57, 0.0])
        q[3] = rng.uniform(-0.9, 0.3)
        goal = q + rng.normal(0.0, 0.15, 6)
        turn = float(rng.choice([-1.0, 1.0]) * rng.uniform(*FIRST_JOINT_TURN))
        goal[0] = q[0] + turn
        if min(fk(robot, q)[2, 3], fk(robot, goal)[2, 3]) < 0.05:
            continue
        middle = fk(robot, 0.5 * (q + goal))[:2, 3]
        heading = float(np.arctan2(middle[1], middle[0]))
        shapes = tuple(_shape(rng, k, heading, 0.5 * abs(turn)) for k in range(int(rng.integers(4, 9))))
        world = World(shapes, f"random-{seed}", task=JointTask(robot.name, tuple(q), tuple(goal)))
        try:
            check_base(world, robot)
        except InputError:
            continue
        straight = clearance(robot, world, q + np.linspace(0.0, 1.0, 60)[:, None] * (goal - q))
        if min(straight[0], straight[-1]) > CLEARANCE_AT_ENDS and straight.min() < 0.0:
            return world
    raise InputError(f"random_world: no world found for seed {seed}")


def _shape(rng: np.random.Generator, k: int, heading: float, half: float) -> Shape:
    angle, radius = heading + rng.uniform(-half, half), rng.uniform(0.25, 0.75)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    kind = rng.integers(3)
    if kind == 0:
        return Sphere(name=f"ball-{k}", centre=(x, y, rng.uniform(0.05, 0.6)), radius=rng.uniform(0.04, 0.1), **SURFACE)
    if kind == 1:
        tall = rng.uniform(0.3, 0.7)
        return Cylinder(
            name=f"pillar-{k}", centre=(x, y, 0.5 * tall), radius=rng.uniform(0.03, 0.06), height=tall, **SURFACE
        )
    R = np.asarray(rotation_from_rpy(np.array([0.0, 0.0, rng.uniform(-np.pi, np.pi)])))
    return Box(
        name=f"box-{k}",
        centre=(x, y, rng.uniform(0.05, 0.6)),
        size=tuple(rng.uniform([0.05, 0.05, 0.02], [0.35, 0.25, 0.2])),
        rotation=R,  # type: ignore[arg-type]
        **SURFACE,
    )


def oracle(robot: Robot, world: World, *, seed: int = 0) -> str:
    """Return "solvable" if a planner that sees everything finds a way for the world's task, else "no way found".

    Sampling cannot prove that there is none. Finite cylinders count a little longer than they are.

    Example:
        >>> oracle(robot, random_world(robot, seed=3))  # "solvable" or "no way found"
    """
    if world.task is None:
        raise InputError(f"oracle: world {world.name!r} has no task of the whole arm")
    q0, q1 = (np.array(q) for q in (world.task.start, world.task.goal))
    low, high = np.minimum(q0, q1) - SEARCH_MARGIN, np.maximum(q0, q1) + SEARCH_MARGIN
    arm = WholeArm(robot, obstacles_of(world))
    plan = RRTConnect(seed=seed, iterations=ORACLE_ITERATIONS)(arm.__call__, q0, q1, low, high)
    return "solvable" if plan.ok else "no way found"


def explore_arm_world(robot: Robot, seed: int, reaction: str = "back off", **options: Any) -> dict[str, Any]:
    """Explore one random world with the whole arm and a UR5's sensors; return its figures and the oracle's word.

    Args:
        robot: a UR5 or an arm built like it.
        seed: of the world and of the noise in it.
        reaction: to contacts.
        **options: of `explore`.

    Returns:
        The metrics, ``truth`` (the oracle's word), and how many places were marked as sure: ``sure_marks``; and
        ``false_marks``, those more than 3 cm from every surface.

    Example:
        >>> explore_arm_world(aw.load("ur5"), seed=3, reaction="retract")["outcome"]
    """
    world = random_world(robot, seed)
    run = explore(robot, world, **{**explore_arm_options(reaction, seed), **options})
    assert isinstance(run, ArmExploration)
    marks = np.unique(np.concatenate([np.zeros((0, 3)), *(p.points[p.sure] for p in run.touch_maps)]), axis=0)
    away = [min(abs(float(signed_distance(shape, mark))) for shape in world.shapes) for mark in marks]
    marked = {"sure_marks": len(marks), "false_marks": sum(far > FALSE for far in away)}
    return {"world": world.name, "truth": oracle(robot, world), **run.metrics(), **marked}


def explore_arm_options(reaction: str, seed: int) -> dict[str, Any]:
    """Return what `explore` is told for a random world; arguments as `explore_arm_world`."""
    return {"sensing": Sensing(sensors=ur5_sensors()), "budget": PATIENT, "reaction": reaction, "seed": seed}
