# SPDX-License-Identifier: Apache-2.0
"""Calibration: axes that are elsewhere are found from places or touches, as well as the printed intervals say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError, NotSupportedError
from armwright.kinematics.kinematic_calibration import CalibrationWidths, aligned, calibrate
from armwright.spatial import exp_se3

NOISE = 1e-4
"""[m] of a laser tracker."""


def elsewhere(name, seed, widths=None):
    """An arm whose axes differ from its description as the prior says, and places of its tool in a tracker's frame."""
    w, rng, robot = widths or CalibrationWidths(), np.random.default_rng(seed), aw.load(name)
    moved = [np.r_[rng.normal(size=3) * w.length, rng.normal(size=3) * w.angle] for _ in robot.bodies]
    bodies = [
        replace(b, T_parent_joint=b.T_parent_joint @ exp_se3(d)) for b, d in zip(robot.bodies, moved, strict=True)
    ]
    low = [max(joint.limits.lower, -2.5) for joint in robot.joints]
    high = [min(joint.limits.upper, 2.5) for joint in robot.joints]
    return robot, replace(robot, bodies=tuple(bodies)), rng.uniform(low, high, (90, robot.n)), rng


@pytest.mark.parametrize("name", ["irb140", "kr6r900"])
def test_places_elsewhere_are_predicted_within_the_printed_interval(name):
    inside, errors, told = [], [], []
    for seed in (211, 212, 213):
        robot, true, q, rng = elsewhere(name, seed)
        base = exp_se3(np.r_[rng.normal(size=3), rng.normal(size=3)])  # the tracker stands anywhere
        places = aw.fk(true, q)[:, :3, 3] @ base[:3, :3].T + base[:3, 3]
        found = calibrate(robot, q[:30], places[:30] + NOISE * rng.normal(size=(30, 3)))
        off, spread = found.place(q[30:]) - places[30:], found.deviation_at(q[30:])
        inside.append((np.abs(off) < 1.96 * spread).mean())
        errors.append(np.sqrt((off**2).sum(axis=1).mean()))
        told.append(np.sqrt((spread**2).sum(axis=1).mean()))
        assert found.before > 5.0 * errors[-1] and 0.5 * NOISE < found.noise < 2.0 * NOISE
    assert np.mean(inside) > 0.85
    assert max(errors) < 0.25e-3 and 0.5 < np.mean(told) / np.mean(errors) < 2.0


def test_poses_tell_rotations_too():
    robot, true, q, _ = elsewhere("ur5", 7)
    found = calibrate(robot, q[:40], aw.fk(true, q[:40]))
    T, wanted = found.base @ aw.fk(found.robot, q[40:]), aw.fk(true, q[40:])
    assert np.abs(T - wanted).max() < 2e-5


def test_touches_of_points_bring_the_tip_back_to_them():
    robot, true, q, rng = elsewhere("ur5", 3)
    points, which, postures = np.array([[0.4, 0.1, 0.1], [0.1, 0.5, 0.2], [-0.3, 0.4, 0.3]]), [], []
    for k in range(36):
        T = np.eye(4)
        T[:3, :3] = aw.fk(robot, q[k])[:3, :3]
        T[:3, 3] = points[k % 3] + NOISE * rng.normal(size=3)
        reached = aw.ik(true, T, method="numeric", position_only=True, seed=q[k])
        if len(reached.solutions):
            postures.append(reached.solutions[0])
            which.append(k % 3)
    found = calibrate(robot, np.array(postures), touched=which)
    assert found.before > 5.0 * found.after and found.after < 3.0 * NOISE
    at = aligned(found.points, points)
    np.testing.assert_allclose(found.points @ at[:3, :3].T + at[:3, 3], points, atol=1e-3)


def test_an_arm_that_is_as_described_stays_so():
    robot, _, q, _ = elsewhere("ur5", 5)
    found = calibrate(robot, q, aw.fk(robot, q)[:, :3, 3], noise=1e-4)
    assert np.abs(found.displacements).max() < 1e-9 and found.after < 1e-9


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"measured": np.zeros((5, 3))}, "at least 9"),
        ({}, "measured places, or which"),
        ({"measured": np.zeros((30, 2))}, "measured must be"),
        ({"touched": np.arange(30)}, "several postures"),
        ({"measured": np.zeros((30, 3)), "point": [0.0, np.nan, 0.0]}, "point"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(words, said):
    q = np.zeros((5 if len(words.get("measured", [])) == 5 else 30, 6))
    with pytest.raises(InputError, match=said):
        calibrate(aw.load("ur5"), q, **words)


def test_a_tree_is_refused():
    arm = aw.load("ur5")
    branch = replace(arm, bodies=(*arm.bodies[:5], replace(arm.bodies[5], parent=3)))
    with pytest.raises(NotSupportedError, match="serial chain"):
        calibrate(branch, np.zeros((30, 6)), np.zeros((30, 3)))
