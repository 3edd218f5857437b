# SPDX-License-Identifier: Apache-2.0
"""An arm whose model is wrong does not blame an empty world; one that touches something still says so."""

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.contact.doubt.doubt_filter import CREEPING, KnownErrors
from armwright.contact.doubt.model_errors import Doubts, layout_of, prior_of
from armwright.dynamics.newton_euler import gravity_torque
from armwright.errors import InputError
from armwright.exploration import explore
from armwright.exploration.exploration_run import BLAMES
from armwright.exploration.explore_options import Budget, ControlLoop, Sensing
from armwright.exploration.model_doubt import corrected, probe, usable
from armwright.exploration.surroundings import find_world
from armwright.kinematics import fk
from armwright.world.shapes import Cylinder

FRICTION = np.array([4.0, 4.0, 3.0, 1.0, 1.0, 1.0])


@pytest.fixture(scope="module")
def ur5():
    return aw.load("ur5").with_rotors(0.1)


@pytest.fixture(scope="module")
def nothing():
    return replace(find_world("A"), shapes=())


def sent(plant, model, world, load, observer=None):
    return explore(plant, world, loop=ControlLoop(model=model), sensing=Sensing(observer=observer, load=load))


@pytest.mark.parametrize(("mass", "friction"), [(2.0, 0.0), (0.0, 1.0), (2.6, 1.2)])
def test_an_empty_world_is_not_blamed_for_load_and_friction(ur5, nothing, mass, friction):
    plant = ur5.with_friction(coulomb=friction * FRICTION)
    plant = plant.with_payload(mass, (0.02, 0.0, 0.05)) if mass else plant
    run = sent(plant, ur5, nothing, "estimate")
    assert (run.outcome, len(run.contacts)) == ("reached", 0), run.message
    found = run.settings["model_errors"]
    assert abs(found["load"] - mass) < 4.0 * found["load_std"]
    believed = dict(zip(found["joints"], found["coulomb"], strict=True))
    for joint, true in zip(ur5.joints, friction * FRICTION, strict=True):
        assert believed.get(joint.name, 0.0) == pytest.approx(true, abs=0.6)


def test_an_arm_that_believes_its_model_blames_the_world(ur5, nothing):
    run = sent(ur5.with_payload(2.0, (0.02, 0.0, 0.05)), ur5, nothing, "none")
    assert run.outcome in BLAMES


def test_a_rehearsal_teaches_the_load(ur5, nothing):
    run = sent(ur5.with_payload(2.0, (0.0, 0.0, 0.05)), ur5, nothing, "estimate", "momentum")
    assert (run.outcome, len(run.contacts)) == ("reached", 0), run.message
    assert run.settings["model_errors"]["load"] == pytest.approx(2.0, abs=0.5)


def test_control_rates_that_do_not_divide_a_sample_are_no_reason_to_blame_the_world(ur5, nothing):
    plant = ur5.with_payload(2.0, (0.0, 0.0, 0.05))
    run = explore(
        plant, nothing, loop=ControlLoop(model=ur5, rate=240.0, substeps=10), sensing=Sensing(load="estimate")
    )
    assert (run.outcome, len(run.contacts)) == ("reached", 0), run.message
    assert run.settings["load"] == "estimate" and run.settings["model_errors"]["load"] == pytest.approx(2.0, abs=0.5)


def test_a_test_that_the_budget_has_no_time_for_ends_the_run_in_time(ur5, nothing):
    plant = ur5.with_payload(2.0, (0.0, 0.0, 0.05))
    run = explore(plant, nothing, loop=ControlLoop(model=ur5), budget=Budget(2.5))
    assert run.outcome == "out of time" and run.recording.time[-1] <= 2.5 + 1e-6
    assert "too little to try whether a load" in run.message and not run.contacts


@pytest.mark.parametrize("name", ["ur5", "panda", "xarm7"])
def test_near_a_limit_a_probe_still_leaves_the_tool_where_it_is(name):
    robot, rng = aw.load(name), np.random.default_rng(5)
    for k in range(12):
        q = np.clip(rng.uniform(-1.5, 1.5, robot.n), robot.lower + 0.2, robot.upper - 0.2)
        j = k % robot.n
        q[j] = robot.upper[j] - 0.005 if k % 2 else robot.lower[j] + 0.005
        motion = probe(robot, q)
        rows = motion.evaluate(np.linspace(0.0, motion.duration, 200)).q
        assert np.linalg.norm(fk(robot, rows)[:, :3, 3] - fk(robot, q)[:3, 3], axis=1).max() < 0.021
        assert (rows <= robot.upper + 1e-9).all() and (rows >= robot.lower - 1e-9).all()


def test_a_start_in_contact_is_still_told(ur5, nothing):
    x, y, _ = sent(ur5, ur5, nothing, "none").recording["tool"][0]
    post = Cylinder(name="post", centre=(x + 0.02, y, 0.0), radius=0.03, stiffness=1e4)
    run = sent(ur5, ur5, replace(nothing, shapes=(post,)), "estimate", "momentum")
    assert run.outcome == "start in contact", run.message


def test_a_probe_leaves_the_tool_where_it_is(ur5):
    for robot in (ur5, aw.load("panda")):
        rng = np.random.default_rng(3)
        for _ in range(4):
            q = np.clip(rng.uniform(-1.5, 1.5, robot.n), robot.lower + 0.2, robot.upper - 0.2)
            motion = probe(robot, q)
            rows = motion.evaluate(np.linspace(0.0, motion.duration, 400))
            moved = np.linalg.norm(fk(robot, rows.q)[:, :3, 3] - fk(robot, q)[:3, 3], axis=1)
            assert moved.max() < 0.021
            assert np.abs(rows.qd).max(axis=0).min() > CREEPING  # every joint turns
            assert (rows.q <= robot.upper + 1e-9).all()
            assert (rows.q >= robot.lower - 1e-9).all()


def test_a_corrected_model_is_a_body(ur5):
    layout, P = layout_of(ur5), prior_of(ur5, Doubts())
    rng = np.random.default_rng(0)
    for _ in range(20):
        theta = rng.multivariate_normal(np.zeros(len(P)), P)
        used = usable(layout, KnownErrors(theta[None], 0.01 * P[None]))
        lanes = corrected(ur5, layout, used)
        tree = lanes.fill(lanes.values[0])
        assert tree.m[tree.tip] >= 0.0
        assert (np.asarray(tree.coulomb) >= 0.0).all()
        heavier = ur5.with_payload(used[0], used[1:4] / used[0]) if used[0] > 0.0 else ur5
        q = rng.uniform(-2.0, 2.0, 6)
        assert np.linalg.eigvalsh(aw.mass_matrix(heavier, q)).min() > 0.0
        assert np.allclose(gravity_torque(tree, q), aw.gravity_torque(heavier, q), atol=1e-9)


def test_words_are_checked():
    with pytest.raises(InputError, match="load must be 'estimate' or 'none'"):
        Sensing(load="maybe")  # type: ignore[arg-type]
