# SPDX-License-Identifier: Apache-2.0
"""Random worlds for the whole arm, and what becomes of it there, beside an oracle that sees everything."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.ground_truth import clearance
from armwright.errors import InputError
from armwright.exploration.arm.explore_arm import AROUND
from armwright.exploration.explore import explore
from armwright.exploration.options import Budget
from armwright.kinematics import fk
from armwright.planning.joint.cspace import WholeArm
from armwright.planning.joint.sampling import RRTConnect
from armwright.planning.obstacles import obstacles_of
from armwright.spatial.euler import rotation_from_rpy
from armwright.world.shapes import Box, Cylinder, Shape, Sphere
from armwright.world.task import Task
from armwright.world.world import World, check_base

if TYPE_CHECKING:
    from armwright.robot.model import Robot

TRIES = 2000  # worlds drawn before giving up: a bound; the first twenty seeds need 64 at most
ROOM = 0.05  # [m] between the world and the arm at start and goal, as much as it gives way by when it retracts
TURN = (1.2, 2.4)  # [rad] of the first joint between start and goal: a fifth to two fifths of a turn
SURFACE: dict[str, Any] = {
    "stiffness": 1e5,
    "damping": 200.0,
    "friction": 0.2,
}  # [N/m, N s/m, -] as of the world "bench"
PATIENT = Budget(duration=300.0)  # [s] of a run, several times what those that arrive take
FAR = 5000  # iterations of the oracle, twice those of a patient plan of the arm


def random_world(robot: Robot, seed: int) -> World:
    """Return four to eight balls, boxes and pillars about a six-joint arm, with start and goal between them.

    Start and goal are elbow-up configurations whose tool is above the ground, with room around the whole arm; between
    them the first joint turns by 1.2 to 2.4 rad, and the straight motion bumps into something.

    Args:
        robot: a UR5 or an arm built like it.
        seed: same seed, same world.
    """
    if robot.n != 6:
        raise InputError(f"random_world: needs an arm of six joints, got {robot.n}")
    rng = np.random.default_rng([seed, 11])
    for _ in range(TRIES):
        q = np.array([rng.uniform(-np.pi, np.pi), rng.uniform(-1.7, -0.7), rng.uniform(1.0, 2.0), 0.0, 1.57, 0.0])
        q[3] = rng.uniform(-0.9, 0.3)
        goal = q + rng.normal(0.0, 0.15, 6)
        turn = float(rng.choice([-1.0, 1.0]) * rng.uniform(*TURN))
        goal[0] = q[0] + turn
        if min(fk(robot, q)[2, 3], fk(robot, goal)[2, 3]) < 0.05:
            continue
        middle = fk(robot, 0.5 * (q + goal))[:2, 3]
        heading = float(np.arctan2(middle[1], middle[0]))
        shapes = tuple(_shape(rng, k, heading, 0.5 * abs(turn)) for k in range(int(rng.integers(4, 9))))
        world = World(shapes, f"random-{seed}", task=Task(robot.name, tuple(q), tuple(goal)))
        try:
            check_base(world, robot)
        except InputError:
            continue
        straight = clearance(robot, world, q + np.linspace(0.0, 1.0, 60)[:, None] * (goal - q))
        if min(straight[0], straight[-1]) > ROOM and straight.min() < 0.0:
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
    """
    if world.task is None:
        raise InputError(f"oracle: world {world.name!r} has no task of the whole arm")
    q0, q1 = (np.array(q) for q in (world.task.start, world.task.goal))
    low, high = np.minimum(q0, q1) - AROUND, np.maximum(q0, q1) + AROUND
    arm = WholeArm(robot, obstacles_of(world))
    plan = RRTConnect(seed=seed, iterations=FAR)(arm.__call__, q0, q1, low, high)
    return "solvable" if plan.ok else "no way found"


@dataclass(frozen=True, eq=False)
class ArmRuns:
    """Runs with the whole arm through random worlds: one dictionary a run, with the oracle's word and the metrics."""

    rows: tuple[dict[str, Any], ...]

    def table(self) -> dict[str, dict[str, int]]:
        """How many runs ended how, by what the oracle says."""
        out: dict[str, dict[str, int]] = {}
        for row in self.rows:
            ends = out.setdefault(row["oracle"], {})
            ends[row["outcome"]] = ends.get(row["outcome"], 0) + 1
        return out

    def summary(self) -> dict[str, Any]:
        """Shares and medians as plain numbers."""
        solvable = [row for row in self.rows if row["oracle"] == "solvable"]
        reached = [row for row in self.rows if row["reached"]]

        def median(key: str) -> float:
            values = [row[key] for row in reached if np.isfinite(row[key])]
            return float(np.median(values)) if values else float("nan")

        keys = ("contacts", "arrival_s", "median_delay_s", "largest_force_n", "impulse_ns", "planning_s", "seconds")
        return {
            "worlds": len(self.rows),
            "solvable": len(solvable),
            "solvable_reached": sum(row["reached"] for row in solvable),
            "false_alarms": sum(row["false_alarms"] for row in self.rows),
            "link_named": sum(row["link_named"] for row in self.rows),
            "link_right": sum(row["link_right"] for row in self.rows),
            **{f"median_{key}": median(key) for key in keys},
        }


def explore_arms(
    robot: Robot,
    count: int,
    *,
    seed: int = 0,
    progress: Callable[[int, int], Any] | None = None,
    **options: Any,
) -> ArmRuns:
    """Explore random worlds with the whole arm.

    Args:
        robot: a UR5 or an arm built like it.
        count: how many worlds.
        seed: of the first; the others follow.
        progress: called with (worlds done, worlds in all).
        **options: of `explore`.
    """
    if isinstance(count, bool) or count != int(count) or count < 1:
        raise InputError(f"explore_arms: count must be a whole number ≥ 1, got {count!r}")
    rows = []
    for k in range(int(count)):
        world = random_world(robot, seed + k)
        began = time.perf_counter()
        run = explore(robot, world, **{"planner": "rrt-connect", "budget": PATIENT, **options})
        took = time.perf_counter() - began
        rows.append({"seed": seed + k, "oracle": oracle(robot, world), "seconds": took, **run.metrics()})
        if progress is not None:
            progress(k + 1, int(count))
    return ArmRuns(tuple(rows))
