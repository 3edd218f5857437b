# SPDX-License-Identifier: Apache-2.0
"""Manipulability and singularities against the closed forms and figures of 003 and 004."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.kinematics import (
    condition_number,
    jacobian,
    manipulability,
    singularity,
    smallest_singular_value,
)
from support.kinematics import UR3, UR5, UR10, H, general_6r, load, ur_family

PI = np.pi


def test_determinant_of_the_cea_arm():
    """003 in closed form: det J = d3 r4 sin q3 sin q5 (d3 cos q2 + r4 cos(q2 + q3))."""
    q = np.random.default_rng(0).uniform(-PI, PI, (300, 6))
    _, q2, q3, _, q5, _ = q.T
    closed = 0.7 * 0.2 * np.sin(q3) * np.sin(q5) * (0.7 * np.cos(q2) + 0.2 * np.cos(q2 + q3))
    np.testing.assert_allclose(np.linalg.det(jacobian(load("cea"), q)), closed, atol=1e-15)


@pytest.mark.parametrize("table", [UR3, UR5, UR10])
def test_determinant_of_the_ur_family(table):
    """det J = a2 a3 sin q3 sin q5 [a2 cos q2 + a3 cos(q2+q3) + d5 sin(q2+q3+q4)]; 004 (section 3.1) leaves it open."""
    _, a2, a3, _, d5, _ = table
    q = np.random.default_rng(1).uniform(-PI, PI, (300, 6))
    _, q2, q3, q4, q5, _ = q.T
    bracket = a2 * np.cos(q2) + a3 * np.cos(q2 + q3) + d5 * np.sin(q2 + q3 + q4)
    closed = a2 * a3 * np.sin(q3) * np.sin(q5) * bracket
    np.testing.assert_allclose(np.linalg.det(jacobian(ur_family(*table), q)), closed, atol=1e-15)


def test_golden_values_of_the_ur5():
    """At the waypoint of 004's Figure 4.5, computed apart from this library; the determinant is the values' product."""
    robot = load("ur5-kufieta-c")
    q = (2.181661, -2.135061, -1.745329, 0.275936, -6.021385, 0)
    assert singularity(robot, q).determinant == pytest.approx(-0.0237753, abs=1e-7)
    full = manipulability(robot, q, "full")
    np.testing.assert_allclose(full.half_lengths, [2.0526, 1.4591, 0.5469, 0.4339, 0.2492, 0.1342], atol=5e-5)
    assert pytest.approx(0.0237753, abs=1e-7) == full.W
    assert smallest_singular_value(robot, q) == pytest.approx(0.1342, abs=5e-5)
    assert condition_number(robot, q) == pytest.approx(2.0526 / 0.13425, rel=1e-3)


@pytest.mark.parametrize(
    ("q", "W", "preferred"),
    [
        ((-H, 0, -H, -H, -H, -H), 0.11156, (0.3660, -0.3263, 0.8715)),
        ((0, H / 2, 0, H, H, 0), 0.05902, (0.7114, 0.0975, -0.6959)),
    ],
)
def test_manipulability_of_the_cea_arm(q, W, preferred):
    """003 Q7: W, and the preferred directions (the report prints them exchanged)."""
    ellipsoid = manipulability(load("cea"), q)
    assert pytest.approx(W, abs=5e-6) == ellipsoid.W
    direction = ellipsoid.axes[:, 0] * np.sign(ellipsoid.axes[0, 0])
    np.testing.assert_allclose(direction, preferred, atol=6e-5)
    J = jacobian(load("cea"), q)[:3]
    assert pytest.approx(np.sqrt(np.linalg.det(J @ J.T)), rel=1e-12) == ellipsoid.W


def test_ellipsoid_bounds_every_unit_joint_rate():
    robot, rng = general_6r(3), np.random.default_rng(3)
    q = rng.normal(size=(2, 3, 6))
    for part, rows in (("linear", slice(0, 3)), ("angular", slice(3, 6)), ("full", slice(0, 6))):
        e = manipulability(robot, q, part)
        qd = rng.normal(size=(1000, 6))
        v = (qd / np.linalg.norm(qd, axis=1, keepdims=True)) @ np.swapaxes(jacobian(robot, q)[..., rows, :], -1, -2)
        inside = (v @ e.axes) / e.half_lengths[..., None, :]
        assert (np.linalg.norm(inside, axis=-1) <= 1.0 + 1e-9).all()


@pytest.mark.parametrize(
    ("name", "q", "rank"),
    [
        ("cea", (0.3, 0.4, 0.0, 0.2, 0.7, 0.1), 5),  # elbow stretched
        ("cea", (0.3, 0.4, -0.9, 0.2, 0.0, 0.1), 5),  # wrist aligned
        ("ur5", np.zeros(6), 5),
        ("irb140", np.zeros(6), 5),
        ("planar3", (0.3, 0.0, 0.0), 2),
    ],
)
def test_singular_configurations_are_named(name, q, rank):
    robot = load(name)
    report = singularity(robot, q)
    assert report.status == "singular"
    assert report.rank == rank
    assert np.linalg.norm(jacobian(robot, q) @ report.free) < 1e-6
    assert np.abs(report.lost @ jacobian(robot, q)).max() < 1e-6
    assert "singular" in report.message


def test_regular_and_near():
    robot = load("cea")
    regular = singularity(robot, (0.3, 0.4, -1.5, 0.2, 1.0, 0.1))
    near = singularity(robot, (0.3, 0.4, -1.5, 0.2, 0.02, 0.1))
    assert (regular.status, near.status) == ("regular", "near")
    assert regular.rank == near.rank == 6
    assert near.smallest < regular.smallest
    assert singularity(load("planar3"), (0.3, 0.7, -0.5)).status == "regular"
    assert condition_number(robot, np.zeros(6)) > 1e12


def test_bad_input_is_refused():
    robot = load("cea")
    with pytest.raises(InputError, match="part"):
        manipulability(robot, np.zeros(6), "both")
    with pytest.raises(InputError):
        singularity(robot, np.zeros((2, 6)))
    with pytest.raises(InputError):
        manipulability(robot, [np.nan] * 6)
