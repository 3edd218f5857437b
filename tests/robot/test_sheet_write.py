# SPDX-License-Identifier: Apache-2.0
"""Writing sheets: what is read back moves and weighs the same."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.errors import DescriptionError
from armwright.robot.check import mass_and_gravity
from armwright.robot.load import load, robots
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators, Body, Friction, Joint, Limits
from armwright.robot.sheet.sheet_read import robot_from_text
from armwright.robot.sheet.sheet_write import write_sheet
from armwright.schema.toml_text import Source

PLAIN = [entry.name for entry in robots() if entry.name not in ("cea-published", "puma560-published")]


def poses(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Link poses in the base frame, written here from the kinematic law of `Body` alone."""
    out: list[np.ndarray] = []
    for body in robot.bodies:
        joint = robot.joints[body.joint]
        amount = body.ratio * q[body.joint] + body.offset
        motion = np.eye(4)
        x, y, z = body.axis
        K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        if joint.kind == "revolute":
            motion[:3, :3] = np.eye(3) + np.sin(amount) * K + (1 - np.cos(amount)) * K @ K
        else:
            motion[:3, 3] = amount * body.axis
        before = out[body.parent] if body.parent >= 0 else robot.T_base_root
        out.append(before @ body.T_parent_joint @ motion @ body.T_joint_link)
    return np.array(out)


def assert_same(a: Robot, b: Robot) -> None:
    rng = np.random.default_rng(1)
    for q in rng.uniform(-2, 2, (5, a.n)):
        np.testing.assert_allclose(poses(b, q), poses(a, q), atol=1e-15)
        for x, y in zip(mass_and_gravity(a.tree, q), mass_and_gravity(b.tree, q), strict=True):
            np.testing.assert_allclose(y, x, rtol=0, atol=1e-12 * max(1.0, float(np.abs(x).max())))
    assert a.joints == b.joints
    for key in Actuators.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(a.actuators, key), getattr(b.actuators, key))
    np.testing.assert_array_equal(a.T_tip_tool, b.T_tip_tool)
    np.testing.assert_array_equal(a.gravity, b.gravity)
    assert (a.name, a.notes, a.tip) == (b.name, b.notes, b.tip)


@pytest.mark.parametrize("name", PLAIN)
def test_round_trip_of_the_catalogue(name: str) -> None:
    robot = load(name)
    back = robot_from_text(write_sheet(robot))
    assert_same(robot, back)
    for body in robot.bodies:
        for key in ("mass", "com", "inertia"):
            assert back.sources.get(f"bodies.{body.name}.{key}") == robot.sources.get(f"bodies.{body.name}.{key}")
    first = f"bodies.{robot.bodies[0].name}.joint_pose"
    assert back.sources[first] == robot.sources["geometry.rows" if "geometry.rows" in robot.sources else first]
    assert write_sheet(back) == write_sheet(robot_from_text(write_sheet(back)))


def odd_robot() -> Robot:
    """A branched arm with a prismatic and a mimic joint, odd names, a tilted base and a tool in its middle."""
    rng = np.random.default_rng(7)

    def pose() -> np.ndarray:
        Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = Q * np.sign(np.linalg.det(Q)), rng.uniform(-0.3, 0.3, 3)
        return T

    def axis() -> np.ndarray:
        v = rng.normal(size=3)
        return v / np.linalg.norm(v)

    names = ['a "quoted" name', "back\\slash", "dots.and spaces", "Grüße\n"]
    tensor = np.diag([0.01, 0.011, 0.012])
    bodies = [
        Body(name, parent, joint, pose(), axis(), pose(), 1.0, rng.uniform(-0.1, 0.1, 3), tensor, *law)
        for name, parent, joint, law in zip(names, (-1, 0, 0, 2), (0, 1, 2, 2), ((), (), (), (-0.5, 0.25)), strict=True)
    ]
    joints = (
        Joint("turn", "revolute", Limits(-1, 2, 3.0)),
        Joint("slide", "prismatic", Limits(0, 0.5, effort=7.0), Friction(0.1, 0.2, 0.01)),
        Joint("finger", "revolute"),
    )
    return Robot(
        "odd",
        joints,
        tuple(bodies),
        Actuators.none(3),
        pose(),
        1,
        pose(),
        np.array([0.1, -9.0, 2.0]),
        {f"bodies.{names[0]}.mass": Source('"doc"', "t. 1", "n\t")},
        "two\nlines",
    )


def test_round_trip_of_a_tree_with_prismatic_and_mimic_joints() -> None:
    robot = odd_robot()
    back = robot_from_text(write_sheet(robot))
    assert_same(robot, back)
    assert back.sources == robot.sources


def test_round_trip_of_an_arm_without_joints() -> None:
    robot = Robot("post", (), (), Actuators.none(0))
    back = robot_from_text(write_sheet(robot))
    assert (back.n, back.tip) == (0, -1)


@pytest.mark.parametrize("kind", ["mdh", "screws"])
def test_other_geometries_read_as_their_builders(kind: str) -> None:
    from armwright.robot.tables.dh import to_mdh
    from armwright.robot.tables.joint_screws import to_screws

    arm = load("irb140")
    other = (to_mdh if kind == "mdh" else to_screws)(arm)
    if kind == "mdh":
        columns, units, rows, extra = ["alpha", "a", "theta", "d"], ["rad", "m", "rad", "m"], other.table, ""
        tool = f"[tool]\npose = {{ value = {other.T_tip_tool.tolist()}, unit = 'm' }}\n"
        tool += f"[base]\npose = {{ value = {other.T_base_root.tolist()}, unit = 'm' }}\n"
    else:
        columns, units = ["vx", "vy", "vz", "wx", "wy", "wz"], ["m"] * 3 + ["-"] * 3
        rows, tool = other.screws, ""
        extra = f"home = {{ value = {other.home.tolist()}, unit = 'm' }}\n"
    text = f"name = 'x'\n{tool}[geometry]\nkind = '{kind}'\ncolumns = {columns}\nunits = {units}\n"
    text += f"rows = {np.asarray(rows).tolist()}\n{extra}"
    for name, mass, com, inertia in zip(other.body_names, other.masses, other.coms, other.inertias, strict=True):
        text += f"[bodies.{name}]\nmass = {{ value = {float(mass)}, unit = 'kg' }}\n"
        text += f"com = {{ value = {com.tolist()}, unit = 'm' }}\n"
        text += f"inertia = {{ value = {inertia.tolist()}, unit = 'kg m^2', about = 'com' }}\n"
    back = robot_from_text(text)
    for q in np.random.default_rng(2).uniform(-2, 2, (5, 6)):
        np.testing.assert_allclose(poses(back, q)[-1] @ back.T_tip_tool, poses(arm, q)[-1] @ arm.T_tip_tool, atol=1e-12)
        for x, y in zip(mass_and_gravity(arm.tree, q), mass_and_gravity(back.tree, q), strict=True):
            np.testing.assert_allclose(y, x, atol=1e-12 * max(1.0, float(np.abs(x).max())))


def test_motor_data_survive_every_form() -> None:
    """Continuous torque, heat and curve: read from a sheet with their sources, written, cut, and kept in URDF."""
    robot = load("centrifuge")
    a = robot.actuators
    np.testing.assert_allclose(a.curve_speed[0], np.array([0.0, 700.0, 1000.0]) * np.pi / 30.0)
    assert a.curve_torque[1].tolist() == [180.0, 180.0, 110.0]
    assert a.continuous_torque.tolist() == [4500.0, 90.0, 60.0]
    assert a.thermal_time.tolist() == [1800.0, 600.0, 600.0]
    for key in ("curve_speed", "curve_torque", "continuous_torque", "thermal_time"):
        assert "own" in robot.sources[f"actuators.{key}"].document
    assert_same(robot, robot_from_text(write_sheet(robot)))
    back = Robot.from_urdf(robot.to_urdf())
    for key in Actuators.__dataclass_fields__:
        np.testing.assert_allclose(getattr(back.actuators, key), getattr(a, key), rtol=1e-12)
    part = robot.chain(tip="roll_ring").actuators
    np.testing.assert_array_equal(part.curve_torque, a.curve_torque[:2])
    np.testing.assert_array_equal(part.continuous_torque, a.continuous_torque[:2])


def test_motor_data_that_are_missing_are_unknown() -> None:
    a = load("rl15").actuators
    assert np.isinf(a.continuous_torque).all() and np.isinf(a.thermal_time).all() and a.curve_speed.shape == (6, 0)
    assert "torque-speed curve" in load("rl15").notes.replace("\n", " ")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("curve_speed = { value = [0, 10], unit = 'rad/s' }", "must both be"),
        ("curve_speed = { value = [[0, 10], [0]], unit = 'rad/s' }", "expected a list of 2"),
        ("curve_speed = { value = 3, unit = 'rad/s' }", "list of points"),
        ("curve_speed = { value = [10, 0], unit = 'rad/s' }\ncurve_torque = { value = [1, 1], unit = 'N m' }", "rise"),
        ("thermal_time = { value = -1, unit = 's' }", "at least 0"),
    ],
)
def test_motor_data_that_cannot_be_are_refused_with_their_place(line: str, says: str) -> None:
    text = write_sheet(load("planar2"))
    with pytest.raises(DescriptionError, match=says):
        robot_from_text(text.replace("[base]", f"[actuators]\n{line}\n\n[base]", 1))
