# SPDX-License-Identifier: Apache-2.0
"""Planning the whole UR5 through random worlds, compared with OMPL's RRT-Connect on coal (through Pinocchio).

Both run in one process and get the same capsules, obstacles, start, goal, bounds and longest edge, and plan with the
same seeds. Every path is checked afterwards every `LOOK_SPACING` radians: one that touches counts as none, and is
planned again with half the distance between tests, at the planner's cost (ours are proved free and have no such
distance). The two take turns, problem by problem; of every problem the best of `repeats` counts, and of those the
median.

python -m armwright.bench.arm_planning [problems] [repeats] [first seed]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.exploration.arm.arm_worlds import random_world
from armwright.kinematics import fk_all
from armwright.planning import RRTConnect, WholeArm, obstacles_of
from armwright.planning.joint.joint_plan import length
from armwright.robot.load import load
from armwright.robot.urdf.urdf_write import write_urdf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.robot.model import Robot
    from armwright.types import Array


BENCH_SEARCH_MARGIN = 2.0  # [rad] about start and goal that is searched
LONGEST_EDGE, TEST_SPACING, LOOK_SPACING = (
    0.3,
    0.02,
    0.002,
)  # [rad] longest edge, between tests, between checks of the found path
SECONDS = 20.0
CHECKS = 64


def problem(robot: Robot, seed: int) -> tuple[WholeArm, Array, Array, Array, Array]:
    """Return arm and obstacles, start, goal and bounds of one random world."""
    world = random_world(robot, seed)
    assert world.task is not None
    q0, q1 = np.array(world.task.start), np.array(world.task.goal)
    low, high = np.minimum(q0, q1) - BENCH_SEARCH_MARGIN, np.maximum(q0, q1) + BENCH_SEARCH_MARGIN
    arm = WholeArm(robot, obstacles_of(world))
    return arm, q0, q1, np.maximum(low, robot.lower), np.minimum(high, robot.upper)


def touches(arm: WholeArm, path: Array) -> bool:
    """Return whether a path touches something at configurations no farther than `LOOK_SPACING` apart."""
    parts = [
        a + (b - a) * np.linspace(0, 1, 2 + int(np.abs(b - a).max() / LOOK_SPACING))[:, None] for a, b in pairwise(path)
    ]
    return bool(arm(np.concatenate(parts)).any())


class Ours:
    """This library's planner; `shortcuts` is the number of attempts to shorten the path."""

    def __init__(self, arm: WholeArm, ends: Sequence[Array], shortcuts: int) -> None:
        self.arm, self.ends, self.shortcuts = arm, ends, shortcuts

    def __call__(self, seed: int, resolution: float) -> Array | None:
        plan = RRTConnect(step=LONGEST_EDGE, seed=seed, shortcuts=self.shortcuts)(self.arm, *self.ends)
        return plan.path if plan.ok else None


class Peer:
    """OMPL's planner with Pinocchio's collision test, which is coal's; `shortcuts`: its own path simplification."""

    def __init__(self, model: Any, arm: WholeArm, ends: Sequence[Array], shortcuts: int) -> None:
        import pinocchio as pin
        from ompl import base, geometric, util

        util.setLogLevel(util.LOG_NONE)
        self.base, self.geometric, self.util, self.ends, self.shortcuts = base, geometric, util, ends, shortcuts
        geometry = coal_world(model, arm)
        data, found, n = model.createData(), pin.GeometryData(geometry), arm.robot.n
        q, collide = np.zeros(n), pin.computeCollisions

        def valid(state: Sequence[float]) -> bool:
            for k in range(n):
                q[k] = state[k]
            return not collide(model, data, geometry, found, q, True)

        def distance(x: Array) -> float:
            pin.computeDistances(model, data, geometry, found, x)
            return float(min(r.min_distance for r in found.distanceResults))

        self.valid, self.distance = valid, distance
        self.check = lambda x: collide(model, data, geometry, found, x, True)

    def __call__(self, seed: int, resolution: float) -> Array | None:
        q0, q1, low, high = self.ends
        self.util.RNG.setSeed(seed + 1)  # 0 means "random"
        space = self.base.RealVectorStateSpace(len(q0))
        bounds = self.base.RealVectorBounds(len(q0))
        for k in range(len(q0)):
            bounds.setLow(k, float(low[k]))
            bounds.setHigh(k, float(high[k]))
        space.setBounds(bounds)
        setup = self.geometric.SimpleSetup(space)
        setup.setStateValidityChecker(self.valid)
        states = [space.allocState(), space.allocState()]
        for state, x in zip(states, (q0, q1), strict=True):
            for k in range(len(x)):
                state[k] = float(x[k])
        setup.setStartAndGoalStates(*states)
        information = setup.getSpaceInformation()
        information.setStateValidityCheckingResolution(resolution / float(space.getMaximumExtent()))
        planner = self.geometric.RRTConnect(information)
        planner.setRange(LONGEST_EDGE)
        setup.setPlanner(planner)
        if not (bool(setup.solve(SECONDS)) and setup.haveExactSolutionPath()):
            return None
        if self.shortcuts:
            setup.simplifySolution()
        return np.array([[s[k] for k in range(len(q0))] for s in setup.getSolutionPath().getStates()])


def coal_world(model: Any, arm: WholeArm) -> Any:
    """Return Pinocchio's geometry model of the same capsules and obstacles, every link against every obstacle."""
    import coal
    import pinocchio as pin

    out, links, o = pin.GeometryModel(), arm.capsules, arm.obstacles
    assert links is not None

    def along(a: Array, b: Array) -> tuple[Any, float]:
        """Return the pose of a capsule whose axis, its z, leads from a to b."""
        d = b - a
        size = float(np.linalg.norm(d))
        z = d / size if size > 1e-12 else np.array([0.0, 0.0, 1.0])
        x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
        x /= np.linalg.norm(x)
        return pin.SE3(np.stack([x, np.cross(z, x), z], axis=1), 0.5 * (a + b)), size

    data, poses = model.createData(), fk_all(arm.robot, np.zeros(arm.robot.n))
    pin.forwardKinematics(model, data, np.zeros(arm.robot.n))  # a URDF has its own link frames
    mine = []
    for k, (i, a, b, r) in enumerate(zip(links.body, links.a, links.b, links.radius, strict=True)):
        joint = model.frames[model.getFrameId(arm.robot.bodies[i].name, pin.FrameType.BODY)].parentJoint
        pose, size = along(a, b)
        placed = data.oMi[joint].inverse() * pin.SE3(poses[i]) * pose
        mine.append(out.addGeometryObject(pin.GeometryObject(f"link{k}", joint, placed, coal.Capsule(float(r), size))))
    others = []
    for a, b, r in zip(o.a, o.b, o.radius, strict=True):
        pose, size = along(a, b)
        others.append((pose, coal.Sphere(float(r)) if size < 1e-12 else coal.Capsule(float(r), size)))
    for centre, half, R in zip(o.centre, o.half, o.R, strict=True):
        others.append((pin.SE3(np.array(R), np.array(centre)), coal.Box(*(2.0 * half))))
    for k, (pose, shape) in enumerate(others):
        j = out.addGeometryObject(pin.GeometryObject(f"obstacle{k}", 0, pose, shape))
        for i in mine:
            out.addCollisionPair(pin.CollisionPair(i, j))
    return out


def solve(planner: Callable[[int, float], Array | None], arm: WholeArm, seed: int) -> tuple[float, Array | None, int]:
    """Return the time until a path is found that really is free, the path, and how many touched before."""
    spent, resolution, again = 0.0, TEST_SPACING, 0
    while True:
        begun = time.perf_counter()
        path = planner(seed, resolution)
        spent += time.perf_counter() - begun
        if path is None or not touches(arm, path):
            return spent, path, again
        again, resolution = again + 1, 0.5 * resolution


def single_check(arm: WholeArm, peer: Peer, calls: int = 2000) -> dict[str, float]:
    """Return the time of one collision test alone, ours and coal's, best of short interleaved samples [s]."""
    rows = [row.copy() for row in np.random.default_rng(0).uniform(-2.0, 2.0, (CHECKS, arm.robot.n))]
    best = {"armwright": float("inf"), "coal": float("inf")}
    for _ in range(max(1, calls // CHECKS)):
        for name, test in (("armwright", arm.clearance), ("coal", peer.check)):
            begun = time.perf_counter()
            for row in rows:
                test(row)
            best[name] = min(best[name], (time.perf_counter() - begun) / CHECKS)
    return best


def planning_figures(
    problems: int = 40, repeats: int = 3, first: int = 0, tell: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Measure; times in seconds. Worlds in which a planner finds no way are left out and counted."""
    import pinocchio as pin

    robot = load("ur5")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ur5.urdf"
        file.write_text(write_urdf(robot), encoding="utf-8")
        model = pin.buildModelFromUrdf(str(file))
    rows: dict[str, list[Any]] = {f"{who}/{what}": [] for who in ("armwright", "ompl") for what in ("first", "short")}
    rng, checks, unsolved, seed = np.random.default_rng(first), [], 0, first
    while len(rows["ompl/short"]) < problems:
        arm, *ends = problem(robot, seed)
        planners: dict[str, Any] = {}
        for what, shortcuts in (("first", 0), ("short", 150)):
            planners[f"armwright/{what}"] = Ours(arm, ends, shortcuts)
            planners[f"ompl/{what}"] = Peer(model, arm, ends, shortcuts)
        _agree(arm, planners["ompl/first"])
        checks.append(single_check(arm, planners["ompl/first"]))
        results: dict[str, list[Any]] = {name: [] for name in planners}
        for _ in range(repeats):
            for name in rng.permutation(list(planners)).tolist():
                results[name].append(solve(planners[name], arm, seed))
        seed += 1
        if any(found[1] is None for several in results.values() for found in several):
            unsolved += 1
            continue
        for name, several in results.items():
            rows[name].append((min(r[0] for r in several), length(several[0][1]), several[0][2]))
        tell(f"problem {len(rows['ompl/short'])} of {problems}")
    out: dict[str, Any] = {"problems": problems, "repeats": repeats, "first_seed": first, "unsolved": unsolved}
    for name, several in rows.items():
        out[name] = {
            "median": statistics.median(r[0] for r in several),
            "mean": statistics.mean(r[0] for r in several),
            "median_length": statistics.median(r[1] for r in several),
            "touched": sum(r[2] for r in several),
        }
    for what in ("first", "short"):
        ratios = [b[0] / a[0] for a, b in zip(rows[f"armwright/{what}"], rows[f"ompl/{what}"], strict=True)]
        out[f"ratio/{what}"] = out[f"ompl/{what}"]["median"] / out[f"armwright/{what}"]["median"]
        out[f"faster/{what}"] = sum(r > 1.0 for r in ratios)
    out["check"] = {name: statistics.median(c[name] for c in checks) for name in ("armwright", "coal")}
    return out


def _agree(arm: WholeArm, peer: Peer) -> None:
    """Refuse to measure if the two disagree about distances: a wrong answer has no speed."""
    Q = np.random.default_rng(1).uniform(-2.0, 2.0, (16, arm.robot.n))
    ours = arm.clearance(Q)
    for q, mine in zip(Q, ours, strict=True):
        if mine > 1e-6 and abs(peer.distance(q) - mine) > 1e-5:
            raise InputError(f"coal measures {peer.distance(q):.6f} m where we measure {mine:.6f} m")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import json

    given = [int(x) for x in sys.argv[1:]]
    options: dict[str, Any] = dict(zip(("problems", "repeats", "first"), given, strict=False))
    print(json.dumps(planning_figures(**options, tell=lambda text: print(text, file=sys.stderr)), indent=2))
