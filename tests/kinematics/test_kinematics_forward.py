# SPDX-License-Identifier: Apache-2.0
"""Where links and tool are: closed forms and check values of the documents, an independent engine, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from armwright.errors import InputError
from armwright.kinematics import fk, fk_all
from armwright.kinematics.forward import link_poses, tool_pose
from support.arms import random_arm
from support.kinematics import UR5, H, load, ur_family
from support.twins import pinocchio_twin

PI = np.pi


def test_cea_closed_form():
    """003 in closed form: P = Rz(q1)·(x, y, z)."""
    q = np.random.default_rng(0).uniform(-PI, PI, (200, 6))
    (c1, c2, _, c4, c5, _), (s1, s2, _, s4, s5, _) = np.cos(q).T, np.sin(q).T
    c23, s23 = np.cos(q[:, 1] + q[:, 2]), np.sin(q[:, 1] + q[:, 2])
    x = 0.7 * c2 + 0.2 * c23 + 0.1 * (c5 * c23 - c4 * s5 * s23)
    y = -0.1 * s4 * s5
    z = 0.5 + 0.7 * s2 + 0.2 * s23 + 0.1 * (c5 * s23 + c4 * s5 * c23)
    P = np.stack([c1 * x - s1 * y, s1 * x + c1 * y, z], axis=-1)
    np.testing.assert_allclose(fk(load("cea"), q)[:, :3, 3], P, atol=2e-15)


@pytest.mark.parametrize(
    ("q", "position", "axis", "angle"),
    [
        ((-H, 0, -H, -H, -H, -H), (-0.1, -0.7, 0.3), (-0.57735, -0.57735, 0.57735), 2.0944),
        ((0, PI / 4, 0, H, H, 0), (0.6364, -0.1, 1.1364), (0.2811, 0.6786, -0.6786), 2.5936),
    ],
)
def test_cea_check_poses(q, position, axis, angle):
    """003 Q4: positions, axis and angle at q_i and q_f."""
    T = fk(load("cea"), q)
    turn = Rotation.from_matrix(T[:3, :3]).as_rotvec()
    np.testing.assert_allclose(T[:3, 3], position, atol=5e-5)
    np.testing.assert_allclose(np.linalg.norm(turn), angle, atol=5e-5)
    np.testing.assert_allclose(turn / np.linalg.norm(turn), axis, atol=5e-5)


@pytest.mark.parametrize(
    ("name", "q", "position"),
    [
        ("ur5-kufieta-c", np.zeros(6), (-0.81725, -0.19145, -0.00549)),
        ("ur5-kufieta-c", (0, -H, 0, -H, 0, 0), (0, -0.19145, 1.00106)),
        ("ur5-kufieta-c", (2.181661, -2.135061, -1.745329, 0.275936, -6.021385, 0), (-0.177337, 0.582157, 0.259316)),
        ("ur5-ragazzon", np.zeros(6), (-0.81743, -0.191, -0.0038)),
        ("ur5", np.zeros(6), (-0.81725, -0.19145, -0.005491)),
        ("irb140", np.zeros(6), (0.515, 0, 0.712)),
        ("irb140", (0, H, -H, 0, 0, 0), (0.875, 0, 0.352)),
        ("irb140", (H, 0, -H, PI, H, -PI), (0, 0.005, 1.092)),
        ("irb140", (0.3, -0.4, 0.5, -0.6, 0.7, -0.8), (0.345107, 0.082005, 0.606294)),
        ("rl15", (0.3, -0.4, 0.5, 0.6, -0.7, 0.8), (1.187529684, 0.367345979, 0.749424644)),
    ],
)
def test_check_values_of_the_documents(name, q, position):
    """004 from Table 5.2, 000 by hand from Table 3.2, 001 by (A.2), positions as printed there; 002: states of ours."""
    np.testing.assert_allclose(fk(load(name), q)[:3, 3], position, atol=6e-7 if name != "rl15" else 1e-9)


def test_irb140_product_of_exponentials():
    """002, section 3.3: the DH arm equals the screws times a constant tool rotation."""
    lines = [
        ((0, 0, 1), (0, 0, 0)),
        ((0, 1, 0), (0.07, 0, 0.352)),
        ((0, 1, 0), (0.07, 0, 0.712)),
        ((1, 0, 0), (0.07, 0, 0.712)),
        ((0, 1, 0), (0.45, 0, 0.712)),
        ((1, 0, 0), (0.45, 0, 0.712)),
    ]
    home = np.eye(4)
    home[:3, 3] = 0.515, 0.0, 0.712
    constant = np.eye(4)
    constant[:3, :3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    robot, rng = load("irb140"), np.random.default_rng(1)
    for q in rng.uniform(-PI, PI, (20, 6)):
        T = np.eye(4)
        for (w, r), angle in zip(lines, q, strict=True):
            xi = np.zeros((4, 4))
            xi[:3, :3] = np.cross(np.eye(3), w)
            xi[:3, 3] = -np.cross(w, r)
            T = T @ expm(xi * angle)
        np.testing.assert_allclose(fk(robot, q), T @ home @ constant, atol=1e-14)


@pytest.mark.parametrize("mimic", [False, True])
def test_frames_follow_the_kinematic_law_of_a_body(mimic):
    """T_parent_joint · motion(axis, ratio·q + offset) · T_joint_link, revolute and prismatic, mimic joints included."""
    for seed in range(4):
        robot = random_arm(seed, shape="mimic" if mimic else "chain")
        q = np.random.default_rng(seed).normal(size=5)
        links = []
        for body in robot.bodies:
            d, motion = body.ratio * q[body.joint] + body.offset, np.eye(4)
            if robot.joints[body.joint].kind == "revolute":
                motion[:3, :3] = Rotation.from_rotvec(d * body.axis).as_matrix()
            else:
                motion[:3, 3] = d * body.axis
            parent = links[body.parent] if body.parent >= 0 else robot.T_base_root
            links.append(parent @ body.T_parent_joint @ motion @ body.T_joint_link)
        np.testing.assert_allclose(fk_all(robot, q), links, atol=1e-13)
        np.testing.assert_allclose(fk(robot, q), links[-1] @ robot.T_tip_tool, atol=1e-13)
        np.testing.assert_allclose(fk(robot, q, "b2"), links[2], atol=1e-13)
        np.testing.assert_allclose(tool_pose(robot, q), fk(robot, q, "tool"), atol=1e-13)
        np.testing.assert_allclose(link_poses(robot, q), links, atol=1e-13)


def test_pinocchio_agrees():
    pin = pytest.importorskip("pinocchio", reason="independent engine")
    for seed in range(5):
        robot = random_arm(seed, n=7)
        model, tool = pinocchio_twin(pin, robot)
        data = model.createData()
        for q in np.random.default_rng(seed).normal(size=(5, 7)):
            pin.framesForwardKinematics(model, data, q)
            np.testing.assert_allclose(fk(robot, q), data.oMf[tool].homogeneous, atol=1e-13)


def test_batch_axes_lists_and_integers():
    robot = ur_family(*UR5)
    q = np.random.default_rng(2).normal(size=(3, 4, 6))
    T = fk(robot, q)
    assert T.shape == (3, 4, 4, 4)
    assert fk_all(robot, q).shape == (3, 4, 6, 4, 4)
    np.testing.assert_allclose(T[1, 2], fk(robot, q[1, 2].tolist()), atol=1e-15)
    np.testing.assert_allclose(fk(robot, [0] * 6), fk(robot, np.zeros(6)))
    assert fk(robot, np.zeros((0, 6))).shape == (0, 4, 4)
    np.testing.assert_allclose(fk(robot, q[:, ::-1]), T[:, ::-1], atol=1e-15)


@pytest.mark.parametrize("q", [np.zeros(5), np.zeros((6, 1)), [np.nan] * 6, [np.inf, 0, 0, 0, 0, 0], "ur5", None, 1.0])
def test_bad_configurations_are_refused(q):
    with pytest.raises(InputError):
        fk(ur_family(*UR5), q)


@pytest.mark.parametrize("frame", ["hand", 6, -1, 1.0, True])
def test_bad_frames_are_refused(frame):
    with pytest.raises(InputError, match="frame"):
        fk(ur_family(*UR5), np.zeros(6), frame)
