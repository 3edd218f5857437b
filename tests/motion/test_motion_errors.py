# SPDX-License-Identifier: Apache-2.0
"""Motions that cannot be: the argument, the place on the path and the limit are named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright import motion
from armwright.errors import InputError
from armwright.motion import cartesian_motion as cartesian
from armwright.motion.arm_limits import torque_limits
from armwright.motion.path_speeds import largest_speeds, largest_speeds_toppra
from armwright.motion.scaling import torque_factor

PLANAR, UR5 = aw.load("planar2"), aw.load("ur5")
Q = np.array([0.3, -1.1, 1.2, 0.4, 0.9, -0.5])
A, B = np.array([0.1, 0.2]), np.array([0.6, -0.3])
MOVE = motion.quintic(A, B, 1.0)
LINE = motion.line(aw.fk(UR5, Q), aw.fk(UR5, Q + 0.05))
OVERSHOOT = motion.Trajectory([0.0, 1.0], [[[0.0], [3.0], [-2.0]]])  # from 0 to 1 through 9/8
FREE = replace(PLANAR, gravity=np.zeros(3))


def without_limits(effort):
    joints = tuple(replace(j, limits=replace(j.limits, effort=effort)) for j in PLANAR.joints)
    return replace(PLANAR, joints=joints, actuators=aw.robot.Actuators.none(2))


def rows(a, b, c):
    """Limits a u + b x + c ≤ 0, the same on each of four intervals."""
    return np.linspace(0.0, 1.0, 5), *(np.tile(value, (4, 1)) for value in (a, b, c))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: motion.follow_path(UR5, LINE, OVERSHOOT, q0=Q), r"law: s\(t\) must stay inside \[0, 1\]"),
        (lambda: motion.follow_path(UR5, LINE, MOVE, q0=Q), "law: expected a trajectory of one coordinate from 0 to 1"),
        (lambda: motion.quintic("ab", B, 1.0), r"q0.*expected one vector.*got 'ab'"),
        (lambda: motion.trapezoid(A, B, "fast", 1.0), "velocity.*expected one limit or 2 of them, got 'fast'"),
        (
            lambda: motion.trapezoid(A, B, [1.0] * 3, 1.0),
            r"velocity: expected one limit or shape \(2,\)",
        ),
        (lambda: motion.quintic_spline([A, B, A], 1.0, accelerations=np.zeros((3, 2))), "a 'smooth' spline chooses"),
        (lambda: torque_limits(without_limits(np.inf)), r"no torque limits; give them as torque=… .*\(2,\)"),
        (lambda: torque_limits(without_limits(0.0)), "joint 'joint_1' of 'planar2' has torque limit 0"),
        (lambda: torque_factor(FREE, motion.hold(A, 1.0), 1.0), "it needs no torque at all"),
        (lambda: motion.time_optimal(PLANAR, [A, B, A + 0.5], 50.0, iterations=0), "0 solutions have not settled"),
        (lambda: MOVE.within([0.5, 1.5]), r"fractions: expected a vector of numbers in \[0, 1\]"),
        (lambda: MOVE.then(MOVE, order=3), "then: order must be 0, 1 or 2, got 3"),
        (lambda: motion.Trajectory("time", [[[0.0]]]), "must be numbers"),
        (lambda: largest_speeds(*rows([0.0], [0.0], [-1.0])), "nothing limits the speed somewhere on it"),
        (lambda: largest_speeds(*rows([0.0], [-1.0], [1.0])), "it cannot be started from rest within the limits"),
        (lambda: largest_speeds(*rows([1.0, 0.0], [0.0, 1.0], [0.0, -1.0])), "cannot leave s = 0 from rest"),
    ],
)
def test_motions_that_cannot_be(call, text):
    with pytest.raises(InputError, match=text):
        call()


def test_limits_that_no_profile_keeps_are_refused_by_toppra_too():
    pytest.importorskip("toppra", reason="needs toppra")
    with pytest.raises(InputError, match="no speed profile from rest to rest"):
        largest_speeds_toppra(*rows([0.0], [-1.0], [1.0]))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: motion.jerk_limited(A, A, 1.0, 1.0, 1.0), "start and goal coincide"),
        (lambda: motion.jerk_limited(A, B, 1.0, np.inf, 1.0), "acceleration: jerk_limited needs finite limits"),
        (lambda: motion.jerk_limited(A, B, 1.0, 1.0, 1.0, qd1=[5.0, 0.0]), "jerk_limited: .*velocity"),
    ],
)
def test_jerk_limited_motions_that_cannot_be(call, text):
    pytest.importorskip("ruckig", reason="needs ruckig")
    with pytest.raises(InputError, match=text):
        call()


def test_a_path_that_no_number_of_pieces_keeps_to(monkeypatch):
    monkeypatch.setattr(cartesian, "MOST_PATH_PIECES", 30)
    with pytest.raises(InputError, match="30 pieces do not keep to tolerance 1e-15, worst near s ="):
        motion.follow_path(UR5, LINE, motion.path_law(LINE, duration=1.0), q0=Q, tolerance=1e-15)
