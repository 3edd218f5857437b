# SPDX-License-Identifier: Apache-2.0
"""Worker for Crocoddyl: the Jacobian of an RK4 step, and one iteration of its DDP solver."""

from __future__ import annotations

import crocoddyl
import numpy as np
import pinocchio as pin

from armwright.bench.learning_cases import load_learning
from armwright.bench.protocol import case, serve, setup
from armwright.bench.shooting_task import crocoddyl_problem, shooting_task

folder, models = setup()
prepared = load_learning(folder)
if prepared is not None:
    task = shooting_task()
    problem = crocoddyl_problem(crocoddyl, pin, task)
    model = problem.runningModels[0]
    data, x, u = model.createData(), prepared["x"], prepared["u"]

    def jacobian():
        model.calc(data, x, u)
        model.calcDiff(data, x, u)

    jacobian()
    got = np.hstack([data.Fx, data.Fu])
    exact = np.hstack([prepared["by_x"], prepared["by_u"]])
    case("learn/step_jacobian", jacobian, exact, got=got, tolerance=1e-7, note="RK4, calc + calcDiff")

    solver = crocoddyl.SolverDDP(problem)
    xs, us = list(task.shooting().rollout(task.x0, task.u).x), list(task.u)
    solver.setCandidate(xs, us, True)

    def iteration():
        solver.computeDirection(True)
        solver.tryStep(1.0)

    iteration()
    problem.calc(xs, us)
    problem.calcDiff(xs, us)
    p, gradient = problem.terminalData.Lx, []
    for node in reversed(problem.runningDatas.tolist()):
        gradient.append(node.Lu + node.Fu.T @ p)
        p = node.Lx + node.Fx.T @ p
    gradient = np.array(gradient[::-1])
    case("learn/ilqr", iteration, prepared["gradient"], got=gradient, tolerance=1e-6, note="computeDirection + tryStep")
serve(crocoddyl.__version__)
