# SPDX-License-Identifier: Apache-2.0
"""Environments: Gymnasium's own checker, its own vector of single arms as the twin of ours, and what tasks promise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import armwright as aw
from armwright.envs import TASKS, TaskLanes, make_env, make_task, make_vector_env, register_envs
from armwright.errors import InputError

gymnasium = pytest.importorskip("gymnasium", reason="needs Gymnasium")
SHORT = 7  # steps of an episode, so that many begin anew


@pytest.fixture(scope="module", params=sorted(TASKS))
def task(request):
    return make_task(request.param, horizon=SHORT)


def test_gymnasiums_checker_finds_nothing_wrong(task):
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=".*A Box observation space .*imum value is"
        )  # positions have no bounds
        check_env(make_env(task), skip_render_check=True)


def test_the_lanes_are_gymnasiums_vector_of_single_arms(task):
    """Same seeds, same actions, episodes that end and begin at different times."""
    count = 5
    ours = make_vector_env(task, count)
    theirs = gymnasium.vector.SyncVectorEnv([lambda: make_env(task)] * count)
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    rng = np.random.default_rng(1)
    seen, wanted = ours.reset(seed=4)[0], theirs.reset(seed=4)[0]
    np.testing.assert_allclose(seen, wanted, atol=1e-9)
    mask = np.array([False, True, False, False, True])
    ended = 0
    for k in range(3 * SHORT):
        if k == 3:
            seen = ours.reset(options={"reset_mask": mask})[0]
            np.testing.assert_allclose(seen, theirs.reset(options={"reset_mask": mask})[0], atol=1e-9)
        actions = rng.uniform(-1.5, 1.5, (count, task.actions))  # beyond the space: clipped
        ours_now, theirs_now = ours.step(actions), theirs.step(actions)
        for a, b in zip(ours_now[:4], theirs_now[:4], strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)
        for name in (name for name in theirs_now[4] if not name.startswith("_")):
            told = theirs_now[4][f"_{name}"]
            np.testing.assert_array_equal(ours_now[4][f"_{name}"], told)
            theirs_told = theirs_now[4][name][told].astype(float)
            np.testing.assert_allclose(ours_now[4][name][told], theirs_told, atol=1e-8)
        ended += int(ours_now[2].sum() + ours_now[3].sum())
    assert ended >= 2 * count
    theirs.close()


def test_actions_are_refused_or_clipped_and_seeds_repeat(task):
    env = make_vector_env(task, 3)
    first = env.reset(seed=11)[0]
    with pytest.raises(InputError, match=r"actions must have shape \(3, 6\)"):
        env.step(np.zeros((3, 5)))
    with pytest.raises(InputError, match="finite"):
        env.step(np.full((3, 6), np.nan))
    with pytest.raises(InputError, match="as many seeds"):
        env.reset(seed=[1, 2])
    with pytest.raises(InputError, match="reset_mask"):
        env.reset(options={"reset_mask": np.ones(2, dtype=bool)})
    np.testing.assert_array_equal(env.reset(seed=[11, 12, 13])[0], first)


def test_gymnasium_makes_them_by_name():
    register_envs()
    register_envs()  # once more is no mistake
    env = gymnasium.make("armwright/Reach-v0", horizon=4, action="torque")
    env.reset(seed=0)
    assert [env.step(env.action_space.sample())[3] for _ in range(4)] == [False, False, False, True]
    many = gymnasium.make_vec("armwright/Touch-v0", num_envs=3, vectorization_mode="vector_entry_point", horizon=4)
    assert many.reset(seed=0)[0].shape == (3, 26)


def test_reach_follows_velocities_and_counts_what_is_left():
    lanes = TaskLanes(make_task("reach"), 4)
    lanes.begin(np.arange(4), [np.random.default_rng(k) for k in range(4)])
    n, robot = 6, lanes.task.robot
    begun = np.linalg.norm(lanes.look()[:, -3:], axis=1)
    for _ in range(30):
        q = lanes.x[:, :n]
        way = lanes.numbers["goal"] - aw.fk(robot, q)[:, :3, 3]
        J = aw.jacobian(robot, q)[:, :3]
        wanted = np.linalg.solve(J @ J.transpose(0, 2, 1) + 1e-3 * np.eye(3), way[..., None])
        actions = (J.transpose(0, 2, 1) @ wanted)[..., 0] / lanes.task.speed / 0.2
        judged, _ = lanes.step(actions)
    np.testing.assert_allclose(judged.reward, -judged.figures["distance"])
    left = np.linalg.norm(lanes.look()[:, -3:], axis=1)
    np.testing.assert_allclose(left, judged.figures["distance"], atol=1e-12)
    assert (left < 0.5 * begun).all()
    fast = lanes.task
    for _ in range(20):
        lanes.step(np.full((4, n), 0.2))
    np.testing.assert_allclose(lanes.x[:, n:], np.tile(0.2 * fast.speed, (4, 1)), atol=1e-3)


def test_an_unknown_load_costs_tracking_and_its_own_gravity_pays_it_back():
    task = make_task("carry", most_load=4.0)
    lanes = TaskLanes(task, 6)
    for help_given in (False, True):
        lanes.begin(np.arange(6), [np.random.default_rng(k) for k in range(6)])
        errors = []
        for _ in range(60):
            load = lanes.numbers["parameters"]
            arms = [task.robot.with_payload(row[0], row[1:4], np.diag(row[4:7])) for row in load]
            q = lanes.x[:, :6]
            gap = [
                aw.gravity_torque(arm, row) - aw.gravity_torque(task.robot, row)
                for arm, row in zip(arms, q, strict=True)
            ]
            judged, _ = lanes.step(gap / task.helping if help_given else np.zeros((6, 6)))
            errors.append(judged.figures["error"])
        mean = np.mean(errors[20:], axis=0)
        if not help_given:
            without = mean
    assert (mean < 0.5 * without).all()
    assert np.corrcoef(without, lanes.numbers["parameters"][:, 0])[0, 1] > 0.5


def test_touching_is_felt_counted_once_per_place_and_pressing_hard_ends():
    lanes = TaskLanes(make_task("touch", threshold=2.0), 8)
    lanes.begin(np.arange(8), [np.random.default_rng(k) for k in range(8)])
    robot, task, n = lanes.task.robot, lanes.task, 6

    def towards(direction, speed):
        J = aw.jacobian(robot, lanes.x[:, :n])[:, :3]
        step = J.transpose(0, 2, 1) @ np.linalg.solve(J @ J.transpose(0, 2, 1) + 1e-4 * np.eye(3), direction[..., None])
        return speed * step[..., 0] / task.speed

    normal = lanes.numbers["input_wall"][:, :3]
    for _ in range(280):
        judged, _ = lanes.step(towards(-normal, 0.05))
    tool = aw.fk(robot, lanes.x[:, :n])[:, :3, 3]
    depth = lanes.numbers["input_wall"][:, 3] - np.sum(normal * tool, axis=1)
    assert (depth > 0.0).all() and not judged.ended.any()
    touches = lanes.numbers["touches"].reshape(8, -1, 3)
    made = np.isfinite(touches).all(axis=2).sum(axis=1)
    np.testing.assert_array_equal(judged.figures["touches"], made)
    assert (made >= 1).all() and (made <= 3).all()  # however long a place is pressed
    for places, count in zip(touches, made, strict=True):
        gaps = np.linalg.norm(places[:count, None] - places[None, :count], axis=2)
        assert (gaps[~np.eye(count, dtype=bool)] >= 0.05).all()
    soft = judged.reward
    for _ in range(20):
        judged, _ = lanes.step(towards(-normal, 2.0))
    hard = judged.figures["level"] > task.most_level
    np.testing.assert_array_equal(judged.ended, hard)
    assert hard.any() and (judged.reward[hard] < soft[hard]).all()


def test_tasks_refuse_what_they_cannot_be(planar2):
    for wrong, text in (
        (lambda: make_task("walk"), "tasks are reach, carry, touch"),
        (lambda: make_task("reach", action="wish"), "'velocity' or 'torque'"),
        (lambda: make_task("carry", most_load=-1.0), "positive mass"),
        (lambda: make_task("touch", most_level=0.5), "above 1"),
        (lambda: make_task(make_task("reach"), horizon=3), "made already"),
        (lambda: TaskLanes(make_task("reach", planar2), 0), "count must be"),
    ):
        with pytest.raises(InputError, match=text):
            wrong()
