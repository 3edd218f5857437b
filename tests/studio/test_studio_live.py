# SPDX-License-Identifier: Apache-2.0
"""The live arm without a browser: what is pulled, felt, and changed while it runs."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import armwright as aw
from armwright.robot.load import robots
from armwright.simulation.pulled_link import posture
from armwright.studio.arm_view import look
from armwright.studio.live_arm import LiveArm
from armwright.studio.pulled_arm import LAWS, PULL_RATE, Choice, PulledArm
from armwright.studio.touch_beliefs import Moment, hidden_force, judge, radius_of

BODY, POINT = 2, np.array([0.1, 0.02, 0.01])


@pytest.fixture(scope="module")
def robot():
    return aw.load("ur5")


@pytest.fixture(scope="module")
def plants(robot):
    return {law: PulledArm(robot, Choice(law), posture(robot)) for law in LAWS}


def run(plant, seconds):
    for _ in range(round(seconds * PULL_RATE)):
        plant.live.step()


def start(plant, robot):
    plant.let_go()
    plant.become(friction=0.0, payload=0.0)
    plant.tune(12.0, 1.0)
    plant.live.reset(posture(robot))


def point_of(robot, q):
    T = aw.fk_all(robot, q)[BODY]
    return T[:3, :3] @ POINT + T[:3, 3]


@pytest.mark.parametrize("law", LAWS)
def test_laws_hold_the_arm_and_the_observer_finds_the_pull(plants, robot, law):
    plant = plants[law]
    start(plant, robot)
    run(plant, 0.5)
    np.testing.assert_allclose(plant.live.q, posture(robot), atol=1e-9)
    target = point_of(robot, posture(robot)) + np.array([0.02, 0.05, -0.06])
    plant.hold(BODY, POINT, target, 400.0)
    run(plant, 3.0)
    truth = plant.truth()
    np.testing.assert_allclose(truth.point, point_of(robot, np.array(plant.live.q)), atol=1e-12)
    np.testing.assert_allclose(plant.live.outputs["tau_ext"], truth.torque, atol=0.02)
    if law == "free":  # nothing holds it back: it goes where it is pulled to
        assert np.linalg.norm(truth.point - target) < 2e-3
    else:
        assert np.linalg.norm(truth.force) > 5.0


def test_pull_is_a_spring_of_limited_force(plants, robot):
    plant = plants["computed torque"]
    start(plant, robot)
    here = point_of(robot, posture(robot))
    for far in (0.01, 0.1, 100.0):
        plant.hold(BODY, POINT, here + np.array([0.0, 0.0, far]), 500.0)
        size = np.linalg.norm(plant.truth().force)
        assert size <= min(500.0 * far, 300.0) + 1e-9
    plant.hold(BODY, POINT, here + np.array([0.0, 0.0, 0.01]), 500.0)
    np.testing.assert_allclose(plant.truth().force, [0.0, 0.0, 5.0], rtol=1e-3, atol=1e-9)
    plant.let_go()
    assert not np.any(plant.truth().force) and not np.any(plant.truth().torque)


def test_gains_change_while_it_runs(plants, robot):
    plant = plants["PD + gravity"]
    bent = []
    for frequency in (8.0, 16.0):
        start(plant, robot)
        plant.tune(frequency, 1.0)
        plant.hold(BODY, POINT, point_of(robot, posture(robot)) + np.array([0.0, 0.0, -0.05]), 200.0)
        run(plant, 3.0)
        bent.append(np.abs(plant.live.q - posture(robot)).max())
    assert bent[1] < 0.5 * bent[0]  # four times as stiff


def test_payload_is_felt_where_the_controller_does_not_know_it(robot):
    plant = PulledArm(robot, Choice("PD + gravity", knows=False), posture(robot))
    plant.become(payload=2.0)
    run(plant, 4.0)
    q = np.array(plant.live.q)
    weight = -aw.jacobian(robot, q)[2] * 2.0 * 9.81
    np.testing.assert_allclose(plant.live.outputs["tau_ext"], weight, atol=0.05)


@pytest.mark.parametrize("payload", [0.0, 2.0])
def test_an_arm_that_sways_tells_a_load_that_its_controller_does_not_know(robot, payload):
    arm = LiveArm(robot, lambda _: None, Choice(knows=False))
    try:
        for action in (
            lambda: arm.pause(0.0),
            lambda: arm.become(payload=payload),
            lambda: arm.move("sway"),
            lambda: arm.step(round(5.0 * PULL_RATE)),
        ):
            arm.order(action).result()
        now = arm.order(arm.moment).result()
    finally:
        arm.close()
    assert judge(robot, now)["doubt"] == now.doubt
    if payload == 0.0:
        assert now.doubt == ""
        return
    told = re.fullmatch(r"the arm carries ([\d.]+) ± ([\d.]+) kg more than its model", now.doubt)
    assert told and abs(float(told[1]) - payload) <= float(told[2]) < 1.0


def test_friction_hides_what_the_joints_hold(plants, robot):
    plant = plants["computed torque"]
    start(plant, robot)
    plant.become(friction=1.0)
    plant.hold(BODY, POINT, point_of(robot, posture(robot)) + np.array([0.0, 0.0, -0.02]), 600.0)
    run(plant, 2.0)
    live, truth = plant.live, plant.truth()
    copies = [np.array(x) for x in (live.q, live.qd, live.outputs["tau_ext"], truth.torque, plant.dry)]
    now = Moment(live.time, *copies, np.array(truth.point), np.array(truth.force), BODY, False)
    hidden = hidden_force(now)
    assert hidden is not None and 0.0 <= hidden["felt"] < 0.8 * hidden["applied"]
    assert np.all(np.abs(copies[3] - copies[2]) <= plant.dry + 0.05)  # no more is hidden than dry friction holds
    assert hidden_force(now._replace(dry=np.zeros(6))) is None
    assert hidden_force(now._replace(body=-1)) is None
    assert judge(robot, now)["hidden"] == hidden


def test_tool_force_only_where_the_tool_is_touched(robot):
    q = posture(robot)
    zero = np.zeros(6)
    for body in (2, robot.tip):
        T = aw.fk_all(robot, q)[body]
        point = (
            T[:3, 3] + 0.03 * T[:3, 0]
            if body == robot.tip
            else T[:3, 3] + 0.2 * (aw.fk_all(robot, q)[3][:3, 3] - T[:3, 3])
        )
        force = np.array([20.0, 35.0, -30.0])
        J = aw.jacobian(robot, q, body)
        tau = J[:3].T @ force + J[3:].T @ np.cross(point - T[:3, 3], force)
        said = judge(robot, Moment(0.0, q, zero, tau, tau, zero, point, force, body, True))
        assert said["true"]["body"] == body
        touched = said["candidates"][0]["body"] == robot.tip and said["outcome"] in ("link", "located")
        assert ("tool_force" in said) == touched
        if body == 2:
            assert "tool_force" not in said


def test_a_load_that_was_felt_before_is_no_part_of_the_touch(robot):
    """What is judged is the change: an undeclared load of 2 kg changes nothing, and without a level nothing is said."""
    q, zero = posture(robot), np.zeros(6)
    tau = aw.jacobian(robot, q, 4)[:3].T @ np.array([20.0, 35.0, -30.0])
    load = -aw.jacobian(robot, q)[2] * 2.0 * 9.81
    now = Moment(0.0, q, zero, tau, tau, zero, np.zeros(3), np.zeros(3), 4, True)
    plain, loaded = judge(robot, now), judge(robot, now._replace(felt=tau + load, before=load))
    assert plain["outcome"] == loaded["outcome"] and plain["candidates"][0]["body"] == loaded["candidates"][0]["body"]
    np.testing.assert_allclose(plain["point"], loaded["point"], atol=1e-6)
    assert judge(robot, now._replace(before=np.full(6, np.nan)))["outcome"] == "no claim"


def test_radius_holds_the_stated_probability():
    rng = np.random.default_rng(3)
    points, share = rng.normal(size=(500, 3)), np.full(500, 1.0 / 500)
    radius = radius_of(points, share, np.zeros(3))
    inside = np.linalg.norm(points, axis=1) <= radius
    assert abs(inside.mean() - 0.68) < 0.01


def test_beginnings_are_inside_the_limits_for_every_arm():
    for entry in robots():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", aw.ArmwrightWarning)  # some are as printed, and no matter can be like that
            arm = aw.load(entry.name, implausible="warn")
        q = posture(arm)
        assert np.all(q >= arm.lower) and np.all(q <= arm.upper)


def test_an_arm_for_kinematics_alone_is_shown_without_dynamics():
    robot = aw.load("iiwa7")
    seen = look(robot, robot.neutral() + 0.3)
    assert (seen["M"], seen["g"], seen["reactions"]) == (None, None, None)
    np.testing.assert_allclose(np.reshape(seen["T"], (4, 4)), aw.fk(robot, robot.neutral() + 0.3), atol=1e-15)
