# SPDX-License-Identifier: Apache-2.0
"""Jacobians against differences of poses, their rates, the Euler sets, and an independent engine."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from armwright.errors import InputError
from armwright.kinematics import (
    acceleration,
    analytic_jacobian,
    analytic_jacobian_dot,
    com_jacobian,
    fk,
    fk_all,
    jacobian,
    jacobian_dot,
    twist,
)
from armwright.spatial.euler import EULER_SETS, euler_from_rotation
from support.arms import random_arm
from support.kinematics import H, load
from support.twins import pinocchio_twin

STEP = 1e-6
ARMS = [(0, False), (1, False), (2, True), (3, True)]


def differences(function, q):
    """Central differences of an array-valued function of q, derivative axis last."""
    return np.stack([(function(q + e) - function(q - e)) / (2 * STEP) for e in STEP * np.eye(q.size)], axis=-1)


def spin(R, dR):
    """Angular velocities (3, n) from dR/dq (3, 3, n): the skew part of dR Rᵀ."""
    S = np.einsum("ijk,lj->ilk", dR, R)
    return np.stack([S[2, 1], S[0, 2], S[1, 0]])


@pytest.mark.parametrize(("seed", "mimic"), ARMS)
@pytest.mark.parametrize("frame", [None, "b2"])
def test_against_central_differences(seed, mimic, frame):
    robot = random_arm(seed, shape="mimic" if mimic else "chain")
    q, point = np.random.default_rng(seed).normal(size=5), np.array([0.3, -0.2, 0.5])
    T, dT = fk(robot, q, frame), differences(lambda q: fk(robot, q, frame), q)
    w = spin(T[:3, :3], dT[:3, :3])
    np.testing.assert_allclose(jacobian(robot, q, frame), np.concatenate([dT[:3, 3], w]), atol=1e-8)
    at_point = np.einsum("ijk,j->ik", dT[:3], np.append(point, 1.0))
    np.testing.assert_allclose(jacobian(robot, q, frame, point=point), np.concatenate([at_point, w]), atol=1e-8)
    both = np.kron(np.eye(2), T[:3, :3].T)
    for p in (None, point):
        own = jacobian(robot, q, frame, point=p, reference="tool")
        np.testing.assert_allclose(own, both @ jacobian(robot, q, frame, point=p), atol=1e-13)


@pytest.mark.parametrize(("seed", "mimic"), ARMS)
@pytest.mark.parametrize("reference", ["base", "tool"])
def test_time_derivative(seed, mimic, reference):
    robot = random_arm(seed, shape="mimic" if mimic else "chain")
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, 5))
    for options in ({}, {"frame": "b3"}, {"point": [0.1, 0.2, -0.3]}):
        ahead, behind = (jacobian(robot, q + s * STEP * qd, reference=reference, **options) for s in (1, -1))
        Jd = jacobian_dot(robot, q, qd, reference=reference, **options)
        np.testing.assert_allclose(Jd, (ahead - behind) / (2 * STEP), atol=1e-7)
    J = jacobian(robot, q)
    np.testing.assert_allclose(twist(robot, q, qd), J @ qd, atol=1e-13)
    np.testing.assert_allclose(acceleration(robot, q, qd, qdd), J @ qdd + jacobian_dot(robot, q, qd) @ qd, atol=1e-12)


def test_acceleration_is_the_derivative_of_the_twist_along_a_motion():
    robot = random_arm(5)
    q0, a, b = np.random.default_rng(5).normal(size=(3, 5))

    def moving(t):
        return q0 + a * t + 0.5 * b * t * t, a + b * t

    for frame in (None, 1):
        rate = (twist(robot, *moving(STEP), frame) - twist(robot, *moving(-STEP), frame)) / (2 * STEP)
        np.testing.assert_allclose(acceleration(robot, q0, a, b, frame), rate, atol=1e-8)


@pytest.mark.parametrize("euler", EULER_SETS)
def test_analytic_jacobian_is_the_derivative_of_position_and_angles(euler):
    robot = random_arm(1)
    q, qd = np.random.default_rng(7).normal(size=(2, 5))

    def X(q):
        T = fk(robot, q)
        return np.concatenate([T[:3, 3], euler_from_rotation(T[:3, :3], euler).angles])

    np.testing.assert_allclose(analytic_jacobian(robot, q, euler), differences(X, q), atol=1e-7)
    ahead, behind = (analytic_jacobian(robot, q + s * STEP * qd, euler) for s in (1, -1))
    rate = (ahead - behind) / (2 * STEP)
    np.testing.assert_allclose(analytic_jacobian_dot(robot, q, qd, euler), rate, atol=1e-6 * np.abs(rate).max())


def test_printed_rate_matrix_of_004_is_not_the_one_of_its_angles():
    """004 (2.33) has φ and ψ interchanged; with it the analytic Jacobian of the UR5 is wrong."""
    robot, q = load("ur5-kufieta-c"), np.array([0.3, -1.0, 0.8, 0.4, 0.9, -0.5])
    phi, theta, psi = euler_from_rotation(fk(robot, q)[:3, :3], "zyz").angles
    J_w = jacobian(robot, q)[3:]
    rates = analytic_jacobian(robot, q)[3:]
    printed = np.array(
        [
            [np.cos(psi) * np.sin(theta), -np.sin(psi), 0],
            [np.sin(psi) * np.sin(theta), np.cos(psi), 0],
            [np.cos(theta), 0, 1],
        ]
    )
    ours = np.array(
        [
            [0, -np.sin(phi), np.cos(phi) * np.sin(theta)],
            [0, np.cos(phi), np.sin(phi) * np.sin(theta)],
            [1, 0, np.cos(theta)],
        ]
    )
    np.testing.assert_allclose(ours @ rates, J_w, atol=1e-12)
    assert np.abs(printed @ rates - J_w).max() > 0.1


def test_degenerate_euler_set_is_refused():
    robot = load("irb140")
    assert fk(robot, np.zeros(6))[2, 0] == pytest.approx(-1.0)
    with pytest.raises(InputError, match="degenerate"):
        analytic_jacobian(robot, np.zeros(6), "zyx")
    with pytest.raises(InputError, match="xyx, xzx"):
        analytic_jacobian(robot, np.zeros(6), "zzz")


def test_centres_of_mass():
    robot = random_arm(2, shape="mimic")
    q = np.random.default_rng(2).normal(size=5)
    mass = np.array([body.mass for body in robot.bodies])
    com = np.stack([np.append(body.com, 1.0) for body in robot.bodies])

    def centres(q):
        return np.einsum("bij,bj->bi", fk_all(robot, q), com)[:, :3]

    each = np.stack([com_jacobian(robot, q, body.name) for body in robot.bodies])
    np.testing.assert_allclose(each, differences(centres, q), atol=1e-8)
    np.testing.assert_allclose(com_jacobian(robot, q), np.einsum("b,bij->ij", mass, each) / mass.sum(), atol=1e-13)
    with pytest.raises(InputError, match="tool"):
        com_jacobian(robot, q, "tool")


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ((-H, 0, -H, -H, -H, -H), (0.35, -0.10, 0.60, 0, -1, 0)),
        ((0, H / 2, 0, H, H, 0), (-0.5536, 0.3182, 0.4536, 1.0607, 0, 0.1464)),
    ],
)
def test_cea_twists(q, expected):
    """003 Q6: twists at q_i and q_f for qdot = (0.5, 1, -0.5, 0.5, 1, -0.5)."""
    measured = twist(load("cea"), q, (0.5, 1.0, -0.5, 0.5, 1.0, -0.5))
    np.testing.assert_allclose(measured, expected, atol=0.011)
    np.testing.assert_allclose(np.trunc(measured * 100 + 1e-9 * np.sign(measured)), np.trunc(np.array(expected) * 100))


def test_pinocchio_agrees():
    pin = pytest.importorskip("pinocchio", reason="independent engine")
    for seed in range(4):
        robot = random_arm(seed, n=7)
        model, tool = pinocchio_twin(pin, robot)
        data = model.createData()
        q, qd = np.random.default_rng(seed).normal(size=(2, 7))
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        np.testing.assert_allclose(jacobian(robot, q), pin.computeFrameJacobian(model, data, q, tool, axes), atol=1e-13)
        pin.computeJointJacobiansTimeVariation(model, data, q, qd)
        Jd = pin.getFrameJacobianTimeVariation(model, data, tool, axes)
        np.testing.assert_allclose(jacobian_dot(robot, q, qd), Jd, atol=1e-12)


def test_batches_broadcast():
    robot = random_arm(0)
    q, qd = np.random.default_rng(0).normal(size=(2, 3, 5))
    points = np.random.default_rng(1).normal(size=(4, 1, 3))
    J = jacobian(robot, q, point=points)
    assert J.shape == (4, 3, 6, 5)
    np.testing.assert_allclose(J[2, 1], jacobian(robot, q[1], point=points[2, 0]), atol=1e-14)
    assert jacobian_dot(robot, q, qd[0]).shape == (3, 6, 5)
    assert analytic_jacobian(robot, q).shape == (3, 6, 5)


def test_rotation_rows_turn_with_the_tool():
    """exp of the angular part moves the frame: R(q + dq) ≈ exp(J_w dq) R(q)."""
    robot = random_arm(4)
    q, dq = np.random.default_rng(4).normal(size=5), 1e-5 * np.random.default_rng(5).normal(size=5)
    moved = Rotation.from_rotvec(jacobian(robot, q)[3:] @ dq).as_matrix() @ fk(robot, q)[:3, :3]
    np.testing.assert_allclose(moved, fk(robot, q + dq)[:3, :3], atol=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda r: jacobian(r, np.zeros(4)),
        lambda r: jacobian(r, np.zeros(5), reference="world"),
        lambda r: jacobian(r, np.zeros(5), point=[0.0, 0.0]),
        lambda r: jacobian(r, np.zeros(5), point=[0.0, np.nan, 0.0]),
        lambda r: twist(r, np.zeros(5), [np.inf] * 5),
        lambda r: jacobian_dot(r, np.zeros((2, 5)), np.zeros((3, 5))),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(InputError):
        call(random_arm(0))
