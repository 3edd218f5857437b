# SPDX-License-Identifier: Apache-2.0
"""Optimal motions are optimal: against closed forms, bounded least squares, differences and an independent engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

import armwright as aw
from armwright.control import optimal_feedback
from armwright.errors import InputError, NotSupportedError
from armwright.motion import optimal_motion
from armwright.motion.shooting import FAR_BOUND, Shooting
from armwright.simulation import Drive

FREE = {"torque_limit": np.inf, "speed_limit": np.inf, "lower": -np.inf, "upper": np.inf}


def slider(mass=2.0):
    """A mass on a rail, [q, q̇]: linear, so that least squares solve it."""
    return aw.Robot.from_dh([[0.0, 0.0, 0.0, 0.0]], kinds="P", masses=[mass], gravity=[0.0, 0.0, 0.0])


def two_joints():
    return aw.Robot.from_dh(
        [[0.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.4, 0.0]],
        masses=[2.0, 1.0],
        coms=[[-0.25, 0.0, 0.0], [-0.2, 0.0, 0.0]],
        inertias=[np.diag([0.01, 0.05, 0.05]), np.diag([0.01, 0.02, 0.02])],
        gravity=[0.0, -9.81, 0.0],
    )


def slowed(q, qd):
    return -0.5 * np.tanh(5.0 * qd) - 0.2 * qd


def of_slider(steps, h, mass, x0):
    """x_k as an affine function of the forces: matrices (N+1, 2, N) and offsets (N+1, 2)."""
    A, b = np.array([[1.0, h], [0.0, 1.0]]), np.array([0.5 * h * h, h]) / mass
    maps, offsets = [np.zeros((2, steps))], [np.array(x0)]
    for k in range(steps):
        step = A @ maps[-1]
        step[:, k] += b
        maps.append(step)
        offsets.append(A @ offsets[-1])
    return np.array(maps), np.array(offsets)


N, H, MASS = 20, 0.05, 2.0
WEIGHTS = {"effort": 0.01, "position": 100.0, "speed": 10.0}


@pytest.fixture(scope="module")
def rail():
    """The loop of the slider, and its least-squares problem |F u − f|²."""
    maps, offsets = of_slider(N, H, MASS, [0.2, 0.3])
    root = np.sqrt([WEIGHTS["position"], WEIGHTS["speed"]])
    F = np.concatenate([np.sqrt(H * WEIGHTS["effort"]) * np.eye(N), root[:, None] * maps[-1]])
    f = np.concatenate([np.zeros(N), root * (np.array([1.0, 0.0]) - offsets[-1])])
    return aw.Loop.of(slider(MASS), rate=1.0 / H), F, f, maps, offsets


def solve(rail, **limits):
    return optimal_motion(rail[0], [0.2, 0.3], [1.0], N * H, **WEIGHTS, tolerance=1e-12, **(FREE | limits))


def test_linear_plants_are_solved_in_one_iteration(rail):
    _, F, f, maps, offsets = rail
    motion = solve(rail)
    u = np.linalg.lstsq(F, f, rcond=None)[0]
    np.testing.assert_allclose(motion.u[:, 0], u, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(motion.x, maps @ u + offsets, rtol=1e-9, atol=1e-10)
    assert motion.cost == pytest.approx(0.5 * ((F @ u - f) ** 2).sum(), rel=1e-10)
    assert motion.converged and motion.iterations == 2  # the second finds nothing to do


def test_force_limits_are_those_of_bounded_least_squares(rail):
    _, F, f, _, _ = rail
    free = np.abs(solve(rail).u).max()
    for share in (0.9, 0.6, 0.3):
        motion = solve(rail, torque_limit=share * free)
        best = lsq_linear(F, f, (-share * free, share * free), tol=1e-14, max_iter=1000)
        assert motion.converged and np.abs(motion.u).max() <= share * free
        assert motion.cost == pytest.approx(best.cost, rel=1e-8)
        np.testing.assert_allclose(motion.u[:, 0], best.x, atol=1e-4 * free)


@pytest.mark.parametrize("limits", [{"speed_limit": 1.05}, {"upper": 0.85}, {"speed_limit": 1.1, "torque_limit": 4.0}])
def test_limits_of_states_are_those_of_a_quadratic_program(rail, limits):
    _, F, f, maps, offsets = rail
    motion = solve(rail, **limits, excess=1e-7)
    rows, bound = [], []
    for k in range(1, N + 1):
        for name, column in (("speed_limit", 1), ("upper", 0)):
            for sign in (1.0, -1.0) if name == "speed_limit" else (1.0,):
                if name in limits:
                    rows.append(-sign * maps[k, column])
                    bound.append(limits[name] - sign * offsets[k, column])
    most = limits.get("torque_limit", np.inf)
    best = minimize(
        lambda u: 0.5 * ((F @ u - f) ** 2).sum(),
        np.zeros(N),
        jac=lambda u: F.T @ (F @ u - f),
        bounds=[(-most, most)] * N,
        constraints={"type": "ineq", "fun": lambda u: np.array(rows) @ u + bound, "jac": lambda u: np.array(rows)},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert best.success and motion.converged and motion.excess <= 1e-7
    assert motion.cost == pytest.approx(best.fun, rel=1e-5)
    assert motion.cost > solve(rail).cost * 1.001  # the limits cost something


@pytest.fixture(scope="module")
def swing():
    loop = aw.Loop.of(two_joints(), rate=25.0, substeps=2, external=slowed)
    return loop, optimal_motion(loop, [-1.2, 0.4], [0.6, -0.5], 0.8, **FREE, tolerance=1e-12)


def objective(loop, x0, u, goal, weights=(1e-3, 1e4, 1e2)):
    step, x = loop.step(), x0
    for each in u:
        x = step(x, each)
    error = x - np.concatenate([goal, np.zeros(2)])
    return 0.5 * (
        weights[0] * loop.period * (u**2).sum()
        + weights[1] * error[:2] @ error[:2]
        + weights[2] * error[2:] @ error[2:]
    )


def test_the_gradient_is_that_of_the_rolled_out_cost(swing):
    loop, motion = swing
    shooting = Shooting(loop, 20, np.full(2, np.inf))
    at = shooting.node
    goal = np.array([0.6, -0.5])
    shooting.nodes[:, at.goal] = [*goal, 0.0, 0.0]
    shooting.nodes[:-1, at.R] = 1e-3 * loop.period
    shooting.nodes[-1] += np.concatenate([np.zeros(4), [1e4, 1e4, 1e2, 1e2], np.zeros(2), [1.0, 1.0], np.zeros(8)])
    shooting.nodes[:, at.upper], shooting.nodes[:, at.lower] = FAR_BOUND, -FAR_BOUND
    shooting.give(0.0)
    x0, u = motion.x[0], motion.u + np.random.default_rng(1).normal(size=(20, 2))
    rolled = shooting.rollout(x0, u)
    assert rolled.cost == pytest.approx(objective(loop, x0, u, goal), rel=1e-12)
    shooting.sweep_back(rolled.x, rolled.u, 0.0)
    for k, i in ((0, 0), (7, 1), (19, 0)):
        e = np.zeros((20, 2))
        e[k, i] = 1e-3
        f = [objective(loop, x0, u + s * e, goal) for s in (1.0, -1.0, 2.0, -2.0)]
        assert shooting.gradient[k, i] == pytest.approx((8.0 * (f[0] - f[1]) - f[2] + f[3]) / 0.012, rel=1e-7)


def test_nothing_near_the_optimum_costs_less(swing):
    loop, motion = swing
    goal = np.array([0.6, -0.5])
    assert motion.converged
    assert objective(loop, motion.x[0], motion.u, goal) == pytest.approx(motion.cost, rel=1e-10)
    rng = np.random.default_rng(2)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(20):
            other = motion.u + size * rng.normal(size=motion.u.shape)
            assert objective(loop, motion.x[0], other, goal) > motion.cost


def test_the_trajectory_goes_through_the_nodes(swing):
    _, motion = swing
    ref = motion.trajectory.evaluate(motion.period * np.arange(21))
    np.testing.assert_allclose(ref.q, motion.x[:, :2], atol=1e-12)
    np.testing.assert_allclose(ref.qd[1:-1], motion.x[1:-1, 2:], atol=1e-11)
    assert motion.trajectory.duration == pytest.approx(0.8) == motion.duration


def test_the_policy_corrects_what_the_torques_alone_do_not(swing):
    loop, motion = swing
    fine = replace(loop, rate=1000.0, substeps=1, law=optimal_feedback(motion))
    off = motion.x[0, :2] + [0.05, -0.08]

    def end(law):
        session = replace(fine, law=law).session(off, reference=motion.trajectory)
        session.run(motion.duration)
        return np.linalg.norm(session.state[..., :2] - [0.6, -0.5])

    blind = replace(motion, K=0.0 * motion.K)
    assert end(optimal_feedback(motion)) < 0.1 * end(optimal_feedback(blind))
    after = fine.session(off, reference=motion.trajectory)
    after.run(2.0)  # afterwards it holds the goal
    assert np.abs(np.ravel(after.state)[:2] - [0.6, -0.5]).max() < 0.02


def test_the_law_is_the_policy_at_every_node(swing):
    loop, motion = swing
    law = optimal_feedback(motion)
    rng, ref = np.random.default_rng(3), motion.trajectory
    for k in (0, 1, 13, 19):
        t = k * motion.period
        x = motion.x[k] + 0.1 * rng.normal(size=4)
        tau = aw.control.evaluate_law(law, loop.robot, t, x[:2], x[2:], ref.evaluate(t), {}, dt=1e-3).tau
        at = ref.evaluate(t)
        away = x - np.concatenate([at.q, at.qd])
        np.testing.assert_allclose(tau, motion.u[k] + motion.K[k] @ away, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"duration": 0.81}, ["duration", "periods of 0.04 s"]),
        ({"goal": [0.1]}, ["goal", "(2,)"]),
        ({"start": [0.1]}, ["start", "(2,)", "(4,)"]),
        ({"effort": 0.0}, ["effort", "> 0"]),
        ({"position": [-1.0, 2.0]}, ["position", "≥ 0"]),
        ({"torque_limit": -1.0}, ["torque_limit"]),
        ({"lower": 0.0, "upper": 0.5}, ["lower, upper", "start"]),
        ({"guess": np.zeros((3, 2))}, ["guess", "(20, 2)"]),
        ({"guess": np.full((20, 2), 1e9)}, ["diverged", "guess"]),
    ],
)
def test_what_cannot_be_planned_is_refused(swing, change, words):
    given = {"start": [-1.2, 0.4], "goal": [0.6, -0.5], "duration": 0.8} | change
    with pytest.raises(InputError) as error:
        optimal_motion(swing[0], **given)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_plants_and_motions_that_do_not_fit_are_refused(swing):
    with pytest.raises(NotSupportedError, match="x and u alone"):
        optimal_motion(aw.Loop.of(two_joints(), rate=25.0, external=lambda t, q: t * q), [0, 0], [1, 1], 0.4)
    with pytest.raises(InputError, match="what optimal_motion returned"):
        optimal_feedback(3.0)
    slow = aw.Loop.of(slider(), rate=100.0, drive=Drive(np.eye(1), [30.0], [5.0], 0.02, [1.0]))
    with pytest.raises(NotSupportedError, match="not measured"):
        optimal_feedback(optimal_motion(slow, [0.0], [0.2], 0.2, **FREE, most_iterations=2))


def test_costs_and_gradients_are_those_of_crocoddyl():
    crocoddyl = pytest.importorskip("crocoddyl", reason="Crocoddyl is not installed (extra peers)")
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed (extra check)")
    from armwright.bench.shooting_task import crocoddyl_problem, shooting_task

    task = shooting_task()
    problem = crocoddyl_problem(crocoddyl, pin, task)
    shooting = task.shooting()
    rolled = shooting.rollout(task.x0, task.u)
    xs, us = list(rolled.x), list(task.u)
    assert problem.calc(xs, us) == pytest.approx(rolled.cost, rel=1e-6)
    problem.calcDiff(xs, us)
    shooting.sweep_back(rolled.x, rolled.u, 0.0)
    p = problem.terminalData.Lx
    for k in reversed(range(len(us))):
        data = problem.runningDatas[k]
        gradient, p = data.Lu + data.Fu.T @ p, data.Lx + data.Fx.T @ p
        np.testing.assert_allclose(shooting.gradient[k], gradient, rtol=1e-6, atol=1e-6 * np.abs(gradient).max())
    solver = crocoddyl.SolverDDP(problem)
    solver.th_stop = 1e-12
    assert solver.solve(xs, us, 200, False)
    motion = task.solve()
    assert motion.converged and motion.cost == pytest.approx(solver.cost, rel=1e-6)
    np.testing.assert_allclose(motion.x, solver.xs, atol=1e-3)


def test_the_limits_of_an_arm_are_those_of_its_joints_and_motors(rail):
    arm = slider(MASS)
    free = np.abs(solve(rail).u).max()
    geared = replace(
        arm,
        joints=tuple(replace(j, limits=replace(j.limits, velocity=1.2)) for j in arm.joints),
        actuators=replace(arm.actuators, gear=[[4.0]], torque_limit=[0.6 * free / 4.0]),
    )
    own = {"lower": -np.inf, "upper": np.inf, "excess": 1e-7, "tolerance": 1e-12, **WEIGHTS}
    motion = optimal_motion(aw.Loop.of(geared, rate=1.0 / H), [0.2, 0.3], [1.0], N * H, **own)
    other = solve(rail, torque_limit=0.6 * free, speed_limit=1.2, excess=1e-7)
    assert motion.cost == pytest.approx(other.cost, rel=1e-6) and other.cost > solve(rail).cost
    motors = replace(two_joints().actuators, gear=[[1.0, 0.5], [0.0, 1.0]], torque_limit=[9.0, 9.0])
    coupled = replace(two_joints(), actuators=motors)
    with pytest.raises(NotSupportedError, match="couple its joints"):
        optimal_motion(aw.Loop.of(coupled, rate=25.0), [0.0, 0.0], [0.1, 0.1], 0.4)
