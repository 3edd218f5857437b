# SPDX-License-Identifier: Apache-2.0
"""What users of other libraries look for first: names, neutral and random configurations, how objects look."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright import motion
from armwright.control import pd
from armwright.recording import Recording, Signal
from armwright.robot import Robot

UR5 = aw.load("ur5")


def with_limits(kind, lower=-np.inf, upper=np.inf):
    joint = aw.robot.Joint("j", kind=kind, limits=aw.robot.Limits(lower, upper))
    return Robot("one", (joint,), (aw.robot.Body("link", -1, 0, np.eye(4)),), aw.robot.Actuators.none(1), tip=0)


@pytest.mark.parametrize("name", [e.name for e in aw.robots() if not e.name.endswith("published")])
def test_neutral_and_random_configurations_lie_within_the_limits(name):
    robot = aw.load(name)
    drawn = robot.random_configuration(0, size=(50, 4))
    assert drawn.shape == (50, 4, robot.n)
    for q in (robot.neutral(), drawn):
        assert np.isfinite(q).all() and (q >= robot.lower).all() and (q <= robot.upper).all()
    inside = (robot.lower <= 0.0) & (robot.upper >= 0.0)
    np.testing.assert_array_equal(robot.neutral()[inside], 0.0)
    assert robot.joint_names == tuple(joint.name for joint in robot.joints) and len(robot.joint_names) == robot.n


@pytest.mark.parametrize(
    "robot, low, high",
    [
        (with_limits("revolute"), -np.pi, np.pi),
        (with_limits("prismatic"), -1.0, 1.0),
        (with_limits("revolute", lower=1.0), 1.0, 1.0 + 2.0 * np.pi),
        (with_limits("prismatic", upper=-0.5), -2.5, -0.5),
        (with_limits("prismatic", 0.2, 0.6), 0.2, 0.6),
    ],
)
def test_joints_without_limits_follow_the_stated_rule(robot, low, high):
    drawn = robot.random_configuration(np.random.default_rng(1), size=4000)[:, 0]
    assert low <= drawn.min() and drawn.max() <= high
    share = (drawn - low) / (high - low)  # uniform: every tenth has its share, within five standard deviations
    counts = np.histogram(share, 10, (0.0, 1.0))[0]
    assert np.abs(counts - 400).max() < 5.0 * np.sqrt(400 * 0.9)
    assert robot.neutral()[0] == pytest.approx(0.0 if low <= 0.0 <= high else 0.5 * (low + high))


def test_a_seed_repeats_and_a_generator_goes_on():
    rng = np.random.default_rng(7)
    first, second = UR5.random_configuration(rng), UR5.random_configuration(rng)
    assert first.shape == (6,) and not np.array_equal(first, second)
    np.testing.assert_array_equal(first, UR5.random_configuration(7))


@pytest.mark.parametrize("options, text", [({"rng": "dice"}, "rng"), ({"rng": -1}, "rng"), ({"size": -2}, "size")])
def test_what_is_no_generator_and_no_size_is_refused(options, text):
    with pytest.raises(aw.InputError, match=f"random_configuration: {text} must be"):
        UR5.random_configuration(**options)


def shown():
    many = aw.fk(UR5, UR5.random_configuration(0, size=20))
    run = aw.simulate(aw.load("planar2"), pd(1.0, 1.0), [0.1, 0.2], 0.01)
    yield from (UR5, aw.ik(UR5, aw.fk(UR5, np.full(6, 0.3))), aw.ik(UR5, np.eye(4) + far()))
    yield from (aw.load_world("bench"), motion.time_optimal(aw.load("planar2"), [[0, 0], [1, 1]], 50.0))
    yield from (aw.ik(UR5, many), run, aw.simulate(aw.load("planar2"), pd(1.0, 1.0), [0.1, 0.2], 0.01, count=3))


def far():
    T = np.zeros((4, 4))
    T[0, 3] = 9.0
    return T


def test_objects_show_themselves_in_one_short_line():
    for value in shown():
        assert "\n" not in repr(value) and 10 < len(repr(value)) < 250, value
        assert repr(value).startswith(type(value).__name__ + "(")
    for value in (value for value in shown() if not isinstance(value, aw.World | motion.TimeOptimal)):
        page = value._repr_html_()
        assert page.count("<table>") == page.count("</table>") == 1
        replay = isinstance(value, aw.Recording)  # an arm that moves is shown moving
        assert ("<iframe" in page) == replay and len(page) < (1_200_000 if replay else 4000)
    assert "'ur5'" in repr(UR5) and "6 joints" in repr(UR5)


def test_tables_in_notebooks_are_escaped_and_stay_small():
    evil = "<script>alert(1)</script>"
    robot = replace(UR5, name=evil, joints=tuple(replace(j, name=f"{evil}{k}") for k, j in enumerate(UR5.joints)))
    run = Recording(np.arange(3.0), {"q": Signal(np.zeros((3, 2)), evil)}, outcome=evil)
    for page in (robot._repr_html_(), run._repr_html_()):
        assert "<script" not in page and "&lt;script&gt;" in page
    rows = Recording(np.arange(3.0), {f"s{k}": Signal(np.zeros(3), "m") for k in range(100)})._repr_html_()
    assert "… 88 more" in rows and rows.count("<tr>") == 14


@pytest.mark.parametrize(
    "room", ["contact", "graph", "kinematics", "motion", "planning", "recording", "robot", "world"]
)
def test_completion_offers_what_a_room_makes_public(room):
    module = importlib.import_module(f"armwright.{room}")
    assert sorted(dir(module)) == sorted(module.__all__)
    assert all(getattr(module, name) is not None for name in dir(module))


def test_completion_of_a_robot_hides_what_only_the_library_calls():
    offered = {name for name in dir(UR5) if not name.startswith("__")}
    assert {"joint_names", "neutral", "random_configuration", "with_tool", "bodies", "lower", "to_urdf"} <= offered
    assert not offered & {"known", "memo", "content", "tree", "_memo", "_hash", "_content"}
    assert all(hasattr(UR5, name) for name in offered)
