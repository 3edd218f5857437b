# SPDX-License-Identifier: Apache-2.0
"""Numeric inverse kinematics of a seven-axis arm compared with others, in one process, target by target in turns.

Warm: the seed is about 0.05 rad per joint off, as in a control loop. Cold: from the middle of the ranges, with random
restarts where a library has them. A call counts as solved where its result, by our forward kinematics, is within
`REACHED_ERROR`; times are medians over the targets of the best of `repeats`. Peers: Robotics Toolbox's `ik_LM` (C++),
damped least squares written with Pinocchio as its users do, and pink (a quadratic program per step).

python -m armwright.bench.inverse_kinematics [targets] [repeats]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.kinematics import fk, ik
from armwright.kinematics.ik_limits import middle
from armwright.robot.load import load
from armwright.robot.urdf.urdf_write import write_urdf

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array


REACHED_ERROR = 1e-4  # [m, rad]
Solver = Callable[[Any, Any], Any]


def rtb_solver(robot: Robot) -> Solver:
    """Return `ik_LM` of the arm as modified Denavit–Hartenberg links."""
    import roboticstoolbox as rtb
    from spatialmath import SE3

    tree, links = robot.tree, []
    for i in range(robot.n):
        R, p = tree.R0[i], tree.p0[i]
        alpha = float(np.arctan2(R[2, 1], R[2, 2]))
        d = float(p[2] * np.cos(alpha) - p[1] * np.sin(alpha))
        ends = [robot.lower[i], robot.upper[i]]
        links.append(rtb.RevoluteMDH(alpha=alpha, a=float(p[0]), d=d, offset=float(tree.offset[i]), qlim=ends))
    arm = rtb.DHRobot(links, tool=SE3(tree.T_tip_tool, check=False), base=SE3(tree.T_base_root, check=False))
    chain = arm.ets()

    def solve(T: Array, seed: Array) -> Array:
        return chain.ik_LM(T, q0=seed, tol=1e-12)[0]  # half the square of the error, which is then 1e-6

    return solve


def model_of(robot: Robot) -> tuple[Any, int]:
    """Return Pinocchio's model of the arm and the index of its tool frame."""
    import pinocchio as pin

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.urdf"
        file.write_text(write_urdf(robot), encoding="utf-8")
        model = pin.buildModelFromUrdf(str(file))
    data, goal = model.createData(), fk(robot, np.zeros(robot.n))
    pin.framesForwardKinematics(model, data, np.zeros(model.nq))
    off = [np.abs(data.oMf[k].homogeneous - goal).max() for k in range(model.nframes)]
    return model, int(np.argmin(off))


def pinocchio_solver(robot: Robot) -> Solver:
    """Return damped least squares on log6, the loop of Pinocchio's own example."""
    import pinocchio as pin

    model, tool = model_of(robot)
    data = model.createData()

    def solve(T: Array, seed: Array) -> Array:
        goal, q = pin.SE3(T), seed.copy()
        for _ in range(200):
            pin.framesForwardKinematics(model, data, q)
            to_goal = data.oMf[tool].actInv(goal)
            e = pin.log6(to_goal).vector
            if np.linalg.norm(e) < 1e-9:
                break
            J = -pin.Jlog6(to_goal.inverse()) @ pin.computeFrameJacobian(model, data, q, tool)
            q = pin.integrate(model, q, -J.T @ np.linalg.solve(J @ J.T + 1e-12 * np.eye(6), e))
        return q

    return solve


def pink_solver(robot: Robot) -> Solver:
    """Return a frame task in pink, stepped until the error is small."""
    import pink
    import pinocchio as pin
    from pink.tasks import FrameTask

    model, tool = model_of(robot)
    data = model.createData()
    task = FrameTask(model.frames[tool].name, position_cost=1.0, orientation_cost=1.0)
    dt = 1.0

    def solve(T: Array, seed: Array) -> Array:
        configuration = pink.Configuration(model, data, np.clip(seed, robot.lower, robot.upper))
        task.set_target(pin.SE3(T))
        for _ in range(50):
            if np.linalg.norm(task.compute_error(configuration)) < 1e-6:
                break
            # without limits, as the others: a step beyond them is no error
            velocity = pink.solve_ik(configuration, [task], dt, solver="quadprog", limits=[], safety_break=False)
            configuration.integrate_inplace(velocity, dt)
        return configuration.q

    return solve


def inverse_figures(
    targets: int = 60, repeats: int = 3, tell: Callable[[str], None] = lambda text: None
) -> dict[str, dict[str, float]]:
    """Return, per solver and start, the median time [s] and the share of targets solved; report who is missing."""
    robot = load("panda")
    rng = np.random.default_rng(0)
    q = rng.uniform(0.9 * robot.lower + 0.1 * robot.upper, 0.1 * robot.lower + 0.9 * robot.upper, (targets, robot.n))
    goals, start = fk(robot, q), middle(robot)
    warm = np.clip(q + 0.05 * rng.normal(size=q.shape), robot.lower, robot.upper)
    solvers: dict[str, Solver] = {"armwright": lambda T, seed: ik(robot, T, seed=seed, method="numeric").closest}
    for name, make in (("rtb", rtb_solver), ("pinocchio", pinocchio_solver), ("pink", pink_solver)):
        try:
            solvers[name] = make(robot)
        except ImportError as error:
            tell(f"inverse kinematics: {name} skipped ({error})")
    found: dict[str, dict[str, float]] = {}
    for kind in ("warm", "cold"):
        chosen = {k: s for k, s in solvers.items() if kind == "warm" or k in ("armwright", "rtb")}
        times: dict[str, list[float]] = {name: [] for name in chosen}
        good = dict.fromkeys(chosen, 0)
        for k, T in enumerate(goals):
            seed = warm[k] if kind == "warm" else start
            for name, solve in chosen.items():
                best, result = np.inf, None
                for _ in range(repeats):
                    begun = time.perf_counter()
                    result = solve(T, seed)
                    best = min(best, time.perf_counter() - begun)
                times[name].append(best)
                good[name] += bool(np.abs(fk(robot, np.asarray(result)) - T).max() < REACHED_ERROR)
        for name in chosen:
            found[f"{name}/{kind}"] = {"best": statistics.median(times[name]), "solved": good[name] / targets}
    spent = np.inf
    for _ in range(1 + repeats):  # the first compiles
        begun = time.perf_counter()
        many = ik(robot, np.tile(goals, (20, 1, 1)), method="numeric")
        spent = min(spent, (time.perf_counter() - begun) / (20 * targets))
    found["armwright/batch"] = {"best": spent, "solved": float(np.mean(many.ok))}
    return found


if __name__ == "__main__":
    import json

    options = dict(zip(("targets", "repeats"), map(int, sys.argv[1:]), strict=False))
    print(json.dumps(inverse_figures(**options, tell=lambda text: print(text, file=sys.stderr)), indent=2))
