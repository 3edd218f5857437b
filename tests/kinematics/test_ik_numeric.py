# SPDX-License-Identifier: Apache-2.0
"""Numeric inverse kinematics on any chain: success rates, limits, honest failures, singular passages."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from armwright.kinematics import fk, ik, jacobian
from armwright.kinematics.ik_goal import error_jacobian, pose_error
from armwright.robot.tables.dh import from_dh
from support.arms import random_arm
from support.kinematics import general_6r, load, pose_errors

PI = np.pi


def reached(robot, batch, T):
    error = pose_errors(fk(robot, batch.q), T)
    return max(error.position.max(), error.rotation.max())


def test_seven_joints_within_limits():
    """All of 200 random reachable poses of a 7R arm are solved inside its limits."""
    robot = load("panda")
    q = np.random.default_rng(0).uniform(robot.lower, robot.upper, (200, 7))
    T = fk(robot, q)
    batch = ik(robot, T)
    assert batch.method == "numeric"
    assert batch.ok.all()
    assert reached(robot, batch, T) < 1e-9
    assert ((batch.q >= robot.lower) & (batch.q <= robot.upper)).all()
    assert (batch.position_error < 1e-9).all()


@pytest.mark.parametrize("seed", range(4))
def test_random_six_joint_arms(seed):
    """General 6R arms, no closed form: every reachable pose of the sample is found."""
    robot = general_6r(seed)
    T = fk(robot, np.random.default_rng(seed).uniform(-PI, PI, (60, 6)))
    batch = ik(robot, T)
    assert batch.ok.all(), batch.status
    assert reached(robot, batch, T) < 1e-9


def test_sliding_and_shared_joints():
    for seed in (1, 2):
        robot = random_arm(seed, n=7, shape="mimic")
        T = fk(robot, np.random.default_rng(seed).normal(size=(30, 7)))
        batch = ik(robot, T)
        assert batch.ok.all()
        assert reached(robot, batch, T) < 1e-9


@pytest.mark.parametrize("name", ["ur5", "irb140", "cea"])
def test_agrees_with_the_closed_form(name):
    robot = load(name)
    q = np.random.default_rng(1).uniform(robot.lower, robot.upper, (40, 6))
    T = fk(robot, q)
    closed, numeric = ik(robot, T), ik(robot, T, method="numeric")
    assert (closed.ok & numeric.ok).all()
    difference = closed.solutions - numeric.q[:, None]
    difference = np.abs(difference - 2 * PI * np.round(difference / (2 * PI))).max(axis=-1)
    assert (difference.min(axis=1) < 1e-5).all()


def test_positions_only():
    robot = load("cea")
    points = np.array([[-0.1, -0.7, 0.3], [0.64, -0.10, 1.14]])  # 003 Q8
    seeds = np.array([[-1.57, 0.0, -1.47, -1.47, -1.47, -1.47], [0.0, 0.8, 0.0, 1.0, 2.0, 0.0]])
    batch = ik(robot, points, seed=seeds, position_only=True, limits=False)
    assert set(batch.status) <= {"solved"}
    np.testing.assert_allclose(fk(robot, batch.q)[:, :3, 3], points, atol=1e-9)
    assert (batch.closest_rotation_error == 0.0).all()
    pose = fk(robot, seeds[0])
    np.testing.assert_allclose(fk(robot, ik(robot, pose, position_only=True).q)[:3, 3], pose[:3, 3], atol=1e-9)


def test_unreachable_is_told_from_out_of_limits():
    robot = from_dh([[0, 0, 1.0, 0], [0, 0, 1.0, 0], [0, 0, 0.5, 0]], limits=[(-1.0, 1.0)] * 3)
    far = ik(robot, [3.0, 0.0, 0.0], position_only=True)
    assert far.status == "unreachable"
    assert far.closest_position_error == pytest.approx(0.5, abs=1e-9)
    assert "sum of the link lengths" in far.message
    behind = ik(robot, [-1.0, 0.0, 0.0], position_only=True)
    assert behind.status == "out_of_limits"
    assert len(behind) == 1
    assert not behind.within_limits.any()
    np.testing.assert_allclose(fk(robot, behind.solutions[0])[:3, 3], [-1.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(np.abs(behind.closest), 1.0)  # every joint at a bound
    assert behind.closest_position_error > 1.0
    assert ik(robot, [-1.0, 0.0, 0.0], position_only=True, limits=False).status == "solved"
    above = ik(robot, [2.2, 0.0, 0.2], position_only=True)
    assert above.status == "unreachable"
    assert above.closest_position_error == pytest.approx(0.2, abs=1e-9)


def test_a_minimum_met_from_one_start_is_not_called_unreachable():
    robot = general_6r(0)
    T = fk(robot, np.random.default_rng(0).uniform(-PI, PI, (60, 6)))
    batch = ik(robot, T, restarts=0)
    assert set(batch.status) == {"solved", "not_converged"}
    failed = batch.status == "not_converged"
    assert (batch.count[failed] == 0).all()
    assert (batch.closest_position_error + batch.closest_rotation_error)[failed].min() > 1e-6


def test_results_are_reproducible():
    robot = general_6r(1)
    T = fk(robot, np.random.default_rng(3).uniform(-PI, PI, (20, 6)))
    np.testing.assert_array_equal(ik(robot, T).closest, ik(robot, T).closest)


def test_passing_a_wrist_singularity_does_not_explode():
    """A tool path that runs exactly through q5 = 0: every pose is met and every step stays bounded."""
    robot = load("irb140")
    path = np.tile([0.3, 0.2, -0.3, 0.1, 0.0, 0.4], (81, 1))
    path[:, 4] = np.linspace(-0.2, 0.2, 81)
    T = fk(robot, path)
    for method in ("closed", "numeric"):
        q, largest = path[0], 0.0
        for i in range(1, 81):
            result = ik(robot, T[i], seed=q, method=method)
            assert result.ok, (method, i, result.message)
            largest = max(largest, np.abs(result.q - q).max())
            q = result.q
        assert largest < 0.02, method
    off = T.copy()
    # beside the singularity the wrist must turn by half a revolution: allowed, but no more than that, and no failure
    off[:, :3, 3] += [0.0, 1e-4, 0.0]
    q = ik(robot, off[0], seed=path[0]).q
    for pose in off[1:]:
        result = ik(robot, pose, seed=q, method="numeric")
        assert result.ok
        assert np.abs(result.q - q).max() <= PI + 0.1
        q = result.q


def test_singular_solutions_are_flagged():
    robot = load("panda")
    stretched = from_dh([[0, 0, 1.0, 0], [0, 0, 1.0, 0]])
    result = ik(stretched, [2.0, 0.0, 0.0], position_only=True, seed=[0.4, -0.8])
    assert result.status == "singular"
    assert result.singular.all()
    assert ik(robot, fk(robot, np.array([0.1, 0.2, 0.3, -1.5, 0.4, 1.6, 0.5]))).status == "solved"


def test_the_error_and_its_jacobian_are_exact():
    """[p_goal − p; log(R_goal Rᵀ)] and −de/dq, also for large rotation errors."""
    robot = general_6r(2)
    rng = np.random.default_rng(4)
    for _ in range(5):
        q, goal = rng.normal(size=6), fk(robot, rng.normal(size=6))
        e = pose_error(fk(robot, q), goal)
        np.testing.assert_allclose(e, pose_errors(fk(robot, q)[None], goal[None]).e[0], atol=1e-12)
        h = 1e-6
        numeric = np.stack(
            [
                (pose_error(fk(robot, q - d), goal) - pose_error(fk(robot, q + d), goal)) / (2 * h)
                for d in h * np.eye(6)
            ],
            axis=-1,
        )
        np.testing.assert_allclose(error_jacobian(e, jacobian(robot, q)), numeric, atol=1e-7)


@pytest.mark.parametrize("name", ["panda", "irb140"])
def test_one_target_is_solved_as_in_a_batch(name):
    """The call for one target and the batch of one end in the same configuration, warm and from random starts."""
    robot = load(name)
    rng = np.random.default_rng(6)
    span = np.minimum(robot.upper, 3.0) - np.maximum(robot.lower, -3.0)
    for q in np.maximum(robot.lower, -3.0) + span * rng.random((20, robot.n)):
        T = fk(robot, q)
        for seed in (None, np.clip(q + 0.1 * rng.normal(size=robot.n), robot.lower, robot.upper)):
            one, many = ik(robot, T, seed=seed, method="numeric"), ik(robot, T[None], seed=seed, method="numeric")[0]
            assert (one.status, one.message) == (many.status, many.message)
            assert np.array_equal(one.q, many.q)


def test_the_iteration_is_the_same_without_a_compiler(monkeypatch):
    robot = load("panda")
    T = fk(robot, np.array([0.1, 0.2, 0.3, -1.5, 0.4, 1.6, 0.5]))
    compiled = ik(robot, T)
    monkeypatch.setenv("ARMWRIGHT_BACKEND", "numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        on_tape = ik(robot, T)
    np.testing.assert_allclose(on_tape.q, compiled.q, atol=1e-6)
    assert on_tape.status == compiled.status


def test_calls_from_several_threads_do_not_disturb_each_other():
    robot = load("panda")
    q = np.clip(
        np.random.default_rng(7).normal(size=(64, 7)) * 0.5 + [0, 0, 0, -1.5, 0, 1.6, 0], robot.lower, robot.upper
    )
    T = fk(robot, q)
    alone = [ik(robot, goal).q for goal in T]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda goal: ik(robot, goal).q, T))
    assert np.array_equal(alone, together)
