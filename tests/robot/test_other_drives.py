# SPDX-License-Identifier: Apache-2.0
"""The same arm with other rotors and friction."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError


@pytest.mark.parametrize("name", ["ur5", "puma560"])
def test_rotors_add_their_inertia_at_the_joint(name):
    """Whatever the gears: what is given is what the joint feels."""
    robot, inertia = aw.load(name), np.array([0.3, 0.2, 0.1, 0.05, 0.04, 0.03])
    q = np.linspace(-0.5, 0.5, 6)
    M = aw.mass_matrix(robot.with_rotors(inertia), q) - aw.mass_matrix(robot, q, rotors=False)
    np.testing.assert_allclose(M, np.diag(inertia), atol=1e-12)


def test_friction_is_what_the_motors_give_more():
    robot = aw.load("ur5")
    rubbed = robot.with_friction([1, 2, 3, 4, 5, 6], 0.5, dead_zone=0.01)
    qd = np.array([0.2, -0.2, 0.005, 1.0, -1.0, 0.0])
    more = aw.inverse_dynamics(rubbed, np.zeros(6), qd, np.zeros(6)) - aw.inverse_dynamics(
        robot, np.zeros(6), qd, np.zeros(6), friction=False
    )
    np.testing.assert_allclose(more, [0.7, -0.9, 0.015, 4.5, -5.5, 0.0], atol=1e-12)


def test_what_cannot_be_is_refused_by_name():
    robot = aw.load("ur5")
    for call, said in (
        (lambda: robot.with_rotors(-0.1), r"rotors: inertia must be finite and ≥ 0 kg m²"),
        (lambda: robot.with_rotors([0.1, 0.1]), r"one number or 6 of them, got shape \(2,\)"),
        (lambda: robot.with_friction(coulomb=np.nan), r"friction: coulomb must be finite and ≥ 0 N m"),
        (lambda: aw.load("rl15").with_rotors(0.1), r"motors of 'rl15' are coupled"),
    ):
        with pytest.raises(InputError, match=said):
            call()
