# SPDX-License-Identifier: Apache-2.0
"""The motor side of the dynamics: virtual work, friction that opposes, a golden state of 001's arm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from armwright.dynamics import public as api
from armwright.dynamics.actuator_side import Motors, actuator_side, consistent, joint_side
from armwright.dynamics.mrnea import mrnea
from armwright.errors import InputError
from armwright.robot.parts import Actuators
from armwright.spatial.linear import solve_from_last
from armwright.studies.doc001_erfd.motors import as_published, opposing_friction
from support.arms import random_arm, random_state
from support.motors import DT, QD, QDD, Q, rl15, with_motors

GOLDEN = [2.542046835, 1.825845997, 4.818782941, 0.397810173, -0.711618113, 0.078838675]
GOLDEN_PUBLISHED = [2.542046835, 1.847686946, 4.818782941, 0.398651295, -0.711600877, 0.078838675]
DIAGONAL = [1.983874305, 2.759542406, 1.181576025, 0.113644271, 0.229197021, 0.038475000]
PLACES = 6e-10


def test_golden_motor_torques():
    assert np.abs(actuator_side(rl15(), Q, QD, QDD, DT).torque - GOLDEN).max() < PLACES


def test_golden_motor_torques_as_published():
    made = actuator_side(rl15(), Q, QD, QDD, DT, side=as_published)
    assert np.abs(made.torque - GOLDEN_PUBLISHED).max() < PLACES
    assert np.abs(np.diag(made.H) - DIAGONAL).max() < PLACES
    others = made.H[[2, 4, 5, 5], [1, 3, 3, 4]]
    assert np.abs(others - [0.874697339, 0.001764217, -0.000662637, 0.0384]).max() < PLACES


def coupled(seed, n=5, friction=0.2):
    """A random arm whose gears couple any joint with any motor."""
    rng = np.random.default_rng(seed)
    arm = random_arm(seed, n, drives="coupled")
    gear = np.diag(rng.uniform(5.0, 20.0, n)) + rng.normal(size=(n, n))
    return with_motors(arm, gear=gear, load_friction=np.full(n, friction))


@pytest.mark.parametrize("seed", range(6))
def test_without_friction_it_is_lagrange_with_rotors(seed):
    """Kᵀu_a = (H + KᵀI_aK) q̈ + u′: the joint-side inverse dynamics, for any coupling."""
    arm = with_motors(coupled(seed, friction=0.0), viscous=np.zeros(5))
    q, qd, qdd, wrench, _ = random_state(arm, seed)
    made = actuator_side(arm, q, qd, qdd, DT, wrench)
    tau = api.inverse_dynamics(arm, q, qd, qdd, wrench)
    assert np.allclose(arm.actuators.gear.T @ made.torque, tau, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_both_ways_to_solve_agree(seed):
    arm = coupled(seed)
    q, qd, qdd, wrench, _ = random_state(arm, seed)
    made = consistent(Motors.of(arm.actuators), *joint_side(arm, q, qd, wrench), qd, qdd, DT)
    assert np.allclose(made.left @ made.H, made.A, rtol=1e-11, atol=1e-11)
    assert np.linalg.eigvalsh(made.A)[0] > 0.0
    assert np.allclose(made.accelerations(made.torque(qdd)), qdd, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_dry_friction_only_takes_power(seed):
    """Whichever way load and motion point, friction costs power; the published form gives some away."""
    arm = with_motors(coupled(seed), viscous=np.zeros(5))
    smooth = with_motors(arm, load_friction=np.zeros(5))
    q, qd, qdd, wrench, _ = random_state(arm, seed)
    lost = (
        actuator_side(arm, q, qd, qdd, DT, wrench).torque - actuator_side(smooth, q, qd, qdd, DT, wrench).torque
    ) * (arm.actuators.gear @ qd)
    assert (lost >= 0.0).all() and lost.max() > 0.0


@pytest.mark.parametrize("push", [-20.0, 20.0])
def test_published_friction_drives_where_the_load_is_negative(push):
    """μ sign(q̇) u of (D.3) has the wrong sense wherever u < 0; |u| is meant (001)."""
    arm = with_motors(rl15(), viscous=np.zeros(6))
    smooth = with_motors(arm, load_friction=np.zeros(6))
    qd, qdd = np.array([0.0, -1.0, 0.0, 0.0, 0.0, 0.0]), np.array([0.0, push, 0.0, 0.0, 0.0, 0.0])
    H, u = joint_side(arm, Q, qd)
    assert np.sign((H @ qdd + u)[1]) == np.sign(push)

    def lost(side):
        more = (
            actuator_side(arm, Q, qd, qdd, DT, side=side).torque
            - actuator_side(smooth, Q, qd, qdd, DT, side=side).torque
        )
        return (more * (arm.actuators.gear @ qd))[1]

    assert np.sign(lost(as_published)) == np.sign(push)
    assert lost(opposing_friction) > 0.0 and lost(consistent) > 0.0


def test_a_motor_at_rest_has_no_dry_friction():
    """The speed of rounding errors does not count as motion; a slow one does."""
    arm = with_motors(rl15(), viscous=np.zeros(6))
    smooth = with_motors(arm, load_friction=np.zeros(6))
    for speed, friction in ((0.0, False), (1e-12, False), (-1e-12, False), (1e-6, True)):
        qd = np.full(6, speed)
        one, other = (actuator_side(a, Q, qd, 0.0 * QDD, DT).torque for a in (arm, smooth))
        assert np.array_equal(one, other) is not friction


def test_friction_of_the_joints_is_load():
    arm = coupled(3, friction=0.0)
    bare = replace(arm, joints=tuple(replace(j, friction=type(j.friction)()) for j in arm.joints))
    q, qd, qdd, _, _ = random_state(arm, 3)
    extra = arm.actuators.gear.T @ (
        actuator_side(arm, q, qd, qdd, DT).torque - actuator_side(bare, q, qd, qdd, DT).torque
    )
    f = [j.friction for j in arm.joints]
    expected = [x.viscous * v + x.coulomb * np.sign(v) for x, v in zip(f, qd, strict=True)]
    assert np.allclose(extra, expected, rtol=1e-10)


def test_joint_side_is_that_of_the_document():
    """H and u′ come from composite bodies and Newton–Euler; mRNEA gives the same (001, Fig. A5)."""
    H, u = joint_side(rl15(), Q, QD)
    made = mrnea(rl15(), Q, QD)
    assert np.allclose(H, made.H, atol=1e-11) and np.allclose(u, made.u, atol=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_elimination_from_the_last_row(seed):
    rng = np.random.default_rng(seed)
    A = 8.0 * np.eye(6) + rng.normal(size=(6, 6))
    A[rng.random((6, 6)) < 0.3] = 0.0
    A += 3.0 * np.eye(6)
    x = rng.normal(size=6)
    assert np.allclose(solve_from_last(A, A @ x), x, rtol=1e-12)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"curve_speed": [[0.0, 1.0]], "curve_torque": [[1.0]]}, "must both be"),
        ({"curve_speed": [[1.0, 1.0]], "curve_torque": [[1.0, 1.0]]}, "must rise"),
        ({"curve_speed": [[-1.0, 1.0]], "curve_torque": [[1.0, 1.0]]}, "must rise"),
        ({"curve_speed": [[0.0, 1.0]], "curve_torque": [[1.0, -1.0]]}, "≥ 0"),
        ({"continuous_torque": [np.nan]}, "NaN"),
    ],
)
def test_motor_data_that_cannot_be(parts, says):
    with pytest.raises(InputError, match=says):
        replace(Actuators.none(1), **{name: np.array(value) for name, value in parts.items()})
