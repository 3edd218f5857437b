# SPDX-License-Identifier: Apache-2.0
"""Tasks that leave freedom: some axes only, joints to spare, the elbow of seven-axis arms."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError, NotSupportedError
from armwright.kinematics import elbow_angle, fk, ik, jacobian, manipulability
from armwright.kinematics.ik_goal import places, swivel
from armwright.robot.tables.dh import from_dh
from support.kinematics import load

H = 0.5 * np.pi


@cache
def srs():
    """A spherical shoulder, an elbow, a spherical wrist: the proportions of a light seven-axis arm."""
    table = [
        [0, 0.34, 0, -H],
        [0, 0, 0, H],
        [0, 0.4, 0, H],
        [0, 0, 0, -H],
        [0, 0.4, 0, -H],
        [0, 0, 0, H],
        [0, 0.126, 0, 0],
    ]
    return from_dh(table, name="srs", limits=[(-2.9, 2.9)] * 7)


def somewhere(robot, count, seed):
    return np.random.default_rng(seed).uniform(0.8 * robot.lower, 0.8 * robot.upper, (count, robot.n))


def test_a_free_turn_about_the_target_axis_is_free_and_the_rest_is_kept():
    """Without rz: the origin and the direction of the z axis are reached, for targets turned about it the same."""
    robot = load("panda")
    T = fk(robot, somewhere(robot, 20, 1))
    found = ik(robot, T, axes=["x", "y", "z", "rx", "ry"])
    assert found.ok.all()
    reached = fk(robot, found.q)
    np.testing.assert_allclose(reached[:, :3, 3], T[:, :3, 3], atol=1e-9)
    np.testing.assert_allclose(reached[:, :3, 2], T[:, :3, 2], atol=2e-9)
    assert np.abs(reached[:, :3, 0] - T[:, :3, 0]).max() > 0.1


@pytest.mark.parametrize("axes", [["z"], ["x", "y"], ["rx", "ry", "rz"], ["y", "rz"]])
def test_any_choice_of_axes_is_of_the_target(axes):
    robot = load("ur5")
    T = fk(robot, somewhere(robot, 5, 2))
    found = ik(robot, T, axes=axes)
    assert found.ok.all()
    reached = fk(robot, found.q)
    shift = np.einsum("nji,nj->ni", T[:, :3, :3], reached[:, :3, 3] - T[:, :3, 3])
    for k, axis in enumerate("xyz"):
        if axis in axes:
            assert np.abs(shift[:, k]).max() < 1e-9
    if set(axes) >= {"rx", "ry", "rz"}:
        np.testing.assert_allclose(reached[:, :3, :3], T[:, :3, :3], atol=2e-9)


def test_position_only_is_a_choice_of_axes():
    robot = load("panda")
    T = fk(robot, somewhere(robot, 5, 3))
    assert np.array_equal(ik(robot, T, position_only=True).q, ik(robot, T, axes=["x", "y", "z"]).q)


def test_weights_choose_what_is_given_up_out_of_reach():
    """2 m along x is beyond a UR5: with a heavy weight on y and z all of the miss is along x."""
    robot = load("ur5")
    T = fk(robot, [0.0, -1.0, 1.2, 0.0, 0.5, 0.0])
    T[:3, :3] = np.eye(3)
    T[:3, 3] = [2.0, 0.0, 0.4]
    misses = []
    for weights in ([1, 1, 1, 1, 1, 1], [1, 30, 30, 1, 1, 1]):
        found = ik(robot, T, weights=weights, method="numeric")
        assert found.status == "unreachable"
        misses.append(np.abs(fk(robot, found.closest)[:3, 3] - T[:3, 3]))
    assert misses[1][2] < 0.05 * misses[0][2]


@pytest.mark.parametrize("prefer", ["limits", "manipulability", "posture"])
def test_a_preferred_solution_has_no_better_neighbour(prefer):
    """It solves the task, costs no more than without, and small moves along the null space make it no better."""
    robot = load("panda")
    posture = np.array([0.2, 0.1, -0.3, -1.8, 0.4, 1.5, 0.1])
    centre, span = 0.5 * (robot.lower + robot.upper), robot.upper - robot.lower
    cost = {
        "limits": lambda q: 0.5 * (((q - centre) / span) ** 2).sum(axis=-1),
        "manipulability": lambda q: -np.log(manipulability(robot, q, "full").W),
        "posture": lambda q: 0.5 * ((q - posture) ** 2).sum(axis=-1),
    }[prefer]
    T = fk(robot, somewhere(robot, 12, 4))
    plain, better = ik(robot, T), ik(robot, T, prefer=posture if prefer == "posture" else prefer)
    assert better.ok.all()
    np.testing.assert_allclose(fk(robot, better.q), T, atol=3e-9)
    assert (cost(better.q) <= cost(plain.q)).all()
    assert (cost(better.q) < cost(plain.q) - 1e-4).mean() > 0.5
    free = np.linalg.svd(jacobian(robot, better.q))[2][:, -1]  # the direction that leaves the tool alone
    for step in (-0.02, 0.02):
        beside = ik(robot, T, seed=better.q + step * free, restarts=0)
        inside = beside.ok & (np.abs(beside.closest - better.q).max(axis=1) < 0.1)
        assert inside.mean() > 0.5
        assert (cost(beside.closest) > cost(better.q) - 1e-7)[inside].all()


def test_the_elbow_stands_where_it_is_asked_to():
    robot = srs()
    q = somewhere(robot, 8, 5)
    T = fk(robot, q)
    for target, own, angle in zip(T, q, elbow_angle(robot, q), strict=True):
        back = ik(robot, target, elbow=float(angle), seed=own)
        np.testing.assert_allclose(back.q, own, atol=1e-8)
        there = ik(robot, target, elbow=float(angle) + 0.4, seed=own, limits=False)
        np.testing.assert_allclose(fk(robot, there.q), target, atol=3e-9)
        assert np.angle(np.exp(1j * (elbow_angle(robot, there.q) - angle))) == pytest.approx(0.4, abs=2e-9)


def test_the_elbow_angle_is_measured_about_the_line_from_shoulder_to_wrist():
    """Highest at 0; turning the whole arm about the base's z axis does not change it."""
    robot = srs()
    q = np.array([0.3, 0.9, 0.0, -1.2, 0.1, 0.5, 0.0])
    assert abs(elbow_angle(robot, q)) == pytest.approx(0.0, abs=1e-12) or abs(elbow_angle(robot, q)) == pytest.approx(
        np.pi
    )
    other = somewhere(robot, 1, 6)[0]
    assert elbow_angle(robot, other) == pytest.approx(float(elbow_angle(robot, other + np.eye(7)[0] * 0.7)), abs=1e-12)


def test_the_elbow_angle_has_the_derivative_that_the_iteration_uses():
    robot = srs()
    for q in somewhere(robot, 5, 8):
        row = swivel(robot, q, places(robot)).row
        h = 1e-6 * np.eye(7)
        np.testing.assert_allclose(row, (elbow_angle(robot, q + h) - elbow_angle(robot, q - h)) / 2e-6, atol=1e-7)


def test_what_cannot_be_asked_is_refused_with_what_can():
    panda, ur5 = load("panda"), load("ur5")
    T = fk(panda, somewhere(panda, 1, 7)[0])
    for call, error, said in (
        (lambda: ik(panda, T, axes=["x", "w"]), InputError, "expected some of x, y, z, rx, ry, rz"),
        (lambda: ik(panda, T, axes="xyz"), InputError, "as a list of texts"),
        (lambda: ik(panda, T, axes=["x"], position_only=True), InputError, "not both"),
        (lambda: ik(panda, T, weights=[1, 1, 1, 1, 1, 0]), InputError, "six finite numbers > 0"),
        (lambda: ik(panda, T, prefer="speed"), InputError, "'limits', 'manipulability' or a posture"),
        (lambda: ik(panda, T, prefer=np.zeros(3)), InputError, "a posture has 7 finite numbers"),
        (lambda: ik(ur5, fk(ur5, np.zeros(6)), prefer="limits"), InputError, "leave no freedom"),
        (lambda: ik(ur5, fk(ur5, np.zeros(6)), elbow=0.0), NotSupportedError, "not a chain of seven revolute joints"),
        (lambda: ik(panda, T, elbow=0.0), NotSupportedError, "axes of the wrist of 'panda' miss each other"),
        (lambda: aw.ik(ur5, fk(ur5, np.zeros(6)), axes=["x"], method="closed"), NotSupportedError, "infinitely many"),
    ):
        with pytest.raises(error, match=said):
            call()
