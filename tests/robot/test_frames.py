# SPDX-License-Identifier: Apache-2.0
"""Names of a description stay known: fixed links are frames, in every file and for every function of kinematics."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.kinematics.forward import frame_pose
from armwright.kinematics.frame_names import body_index
from armwright.robot.urdf.urdf_read import read_urdf
from armwright.robot.variations import chain
from armwright.spatial import inverse
from support.arms import random_pose, random_robot
from support.places import DATA

ARM = (DATA / "arm.urdf").read_text(encoding="utf-8")
Q = np.array([0.4, -0.8, 0.02])


def pose(robot, q, name):
    """Pose of a named frame, by the reference source."""
    return np.asarray(frame_pose(robot, q, body_index(robot, name)), dtype=np.float64)


@pytest.fixture(scope="module")
def arm():
    return read_urdf(ARM)


def assert_same_frames(ours, theirs, q):
    assert {frame.name for frame in theirs.frames} <= set(ours.frame_names)
    for frame in theirs.frames:
        np.testing.assert_allclose(pose(ours, q, frame.name), pose(theirs, q, frame.name), atol=1e-12)


def test_every_link_of_a_file_is_where_pinocchio_has_it(arm):
    pin = pytest.importorskip("pinocchio", reason="pin is not installed")
    model = pin.buildModelFromXML(ARM, mimic=True)
    data = model.createData()
    x = pin.neutral(model)
    for name, value in zip(arm.joint_names, Q, strict=True):
        joint = model.joints[model.getJointId(name)]
        x[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
    pin.framesForwardKinematics(model, data, x)
    links = [i for i, frame in enumerate(model.frames) if frame.type == pin.FrameType.BODY]
    assert len(links) == ARM.count("<link name=")
    for i in links:
        np.testing.assert_allclose(pose(arm, Q, model.frames[i].name), data.oMf[i].homogeneous, atol=1e-12)


def test_compiled_kinematics_take_any_name(arm):
    np.testing.assert_allclose(aw.fk(arm, Q, "sleeve"), pose(arm, Q, "sleeve"), atol=1e-14)
    J, step = aw.jacobian(arm, Q, "sleeve"), 1e-6
    moved = np.stack([aw.fk(arm, Q + step * e, "sleeve") - aw.fk(arm, Q - step * e, "sleeve") for e in np.eye(3)])
    np.testing.assert_allclose(J[:3], moved[:, :3, 3].T / (2.0 * step), atol=1e-8)
    np.testing.assert_array_equal(aw.jacobian(arm, Q, "base"), np.zeros((6, 3)))  # the root never moves
    still = aw.fk(arm, np.stack([Q, 2 * Q]), "base")
    np.testing.assert_allclose(still, np.broadcast_to(np.eye(4), (2, 4, 4)), atol=1e-15)
    with pytest.raises(InputError, match=r"did you mean 'sleeve'.*valid: tool, upper"):
        aw.fk(arm, Q, "sleve")
    with pytest.raises(InputError, match="no mass of its own"):
        aw.kinematics.com_jacobian(arm, Q, "sleeve")


def test_inverse_kinematics_reach_a_camera_on_the_wrist():
    robot = aw.load("ur5")
    T = np.eye(4)
    T[:3, 3] = 0.05, 0.02, 0.1
    seen = robot.with_frame("camera", T, "wrist_2")
    goal = aw.fk(seen, [0.3, -1.2, 1.4, -0.9, 1.2, 0.2], "camera")
    found = aw.ik(seen, goal, frame="camera", position_only=True, seed=np.full(6, 0.1))
    np.testing.assert_allclose(aw.fk(seen, found.q, "camera")[:3, 3], goal[:3, 3], atol=1e-9)
    np.testing.assert_allclose(aw.fk(seen, found.q, "camera"), aw.fk(robot, found.q, "wrist_2") @ T, atol=1e-14)


def test_frames_stand_on_frames_and_names_are_taken_once(arm):
    rng = np.random.default_rng(3)
    T, U = random_pose(rng), random_pose(rng)
    more = arm.with_frame("camera", T, "sleeve").with_frame("lens", U, "camera").with_frame("grasp", U)
    np.testing.assert_allclose(pose(more, Q, "lens"), pose(arm, Q, "sleeve") @ T @ U, atol=1e-14)
    np.testing.assert_allclose(pose(more, Q, "grasp"), pose(arm, Q, "tool") @ U, atol=1e-14)
    assert more.bodies == arm.bodies and more != arm
    for name in ("camera", "upper"):
        with pytest.raises(InputError, match="unique"):
            more.with_frame(name, T)
    with pytest.raises(InputError, match="no link 'nowhere'"):
        arm.with_frame("x", T, "nowhere")


def test_files_keep_frames(arm):
    full = arm.with_frame("camera", random_pose(np.random.default_rng(4)), "upper")
    assert aw.load(full.to_sheet()) == full
    assert_same_frames(read_urdf(full.to_urdf()), full, Q)
    assert read_urdf(full.to_urdf()).frame_names == full.frame_names
    bare = random_robot(31, 3)
    assert read_urdf(bare.to_urdf()).frames == ()  # what the writer had to invent is no frame


def test_a_chain_that_is_cut_out_keeps_the_frames_of_what_it_carries(arm):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cut = read_urdf(ARM, tip="tool0", cut=True)
    whole = np.array([*Q[:2], 0.0])
    for name in ("base", "upper", "sleeve", "left", "right", "tool0"):
        np.testing.assert_allclose(pose(cut, Q[:2], name), pose(arm, whole, name), atol=1e-13)
    np.testing.assert_allclose(pose(cut, Q[:2], "tool"), pose(arm, whole, "tool0"), atol=1e-13)
    part = chain(arm, base="upper", tip="sleeve", drop=True)
    T = inverse(pose(arm, np.zeros(3), "upper")) @ pose(arm, np.array([0.0, 0.5, 0.0]), "sleeve")
    found = inverse(pose(part, np.array([0.5]), "upper")) @ pose(part, np.array([0.5]), "tool")
    np.testing.assert_allclose(found, T, atol=1e-13)
