# SPDX-License-Identifier: Apache-2.0
"""Questions that have no answer: which frame, which target, which arm."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.robot import Actuators, Body, Joint, Robot
from support.kinematics import load

UR5 = load("ur5")
STONE = Robot("stone", (), (), Actuators.none(0))
GHOST = Robot("ghost", (Joint("j"),), (Body("b", -1, 0, np.eye(4)),), Actuators.none(1), tip=0)
SIDE = Robot("side", (Joint("j"),), (Body("b", -1, 0, np.eye(4)),), Actuators.none(1))  # its tool is on the root


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: aw.ik(STONE, np.eye(4)), "'stone' has no joints, so nothing can be solved for"),
        (lambda: aw.ik("ur5", np.eye(4), frame="tool"), "robot must be .*Robot, got 'ur5'"),
        (lambda: aw.fk(3.0, np.zeros(6), "forearm"), "robot must be a Robot, got 3.0"),
        (lambda: aw.ik(UR5, aw.fk(UR5, np.zeros((4, 6))))[1:3], r"must name one target of shape \(4,\)"),
        (lambda: aw.kinematics.com_jacobian(GHOST, [0.0]), "'ghost' has no mass, so it has no centre of mass"),
        (
            lambda: aw.kinematics.com_jacobian(UR5, np.zeros(6), "tool"),
            "the tool has no mass of its own; name a link of 'ur5'",
        ),
        (lambda: aw.singularity(SIDE, [0.0]), "no joint of 'side' moves this frame"),
        (lambda: aw.singularity(UR5, np.zeros((2, 6))), r"one configuration of shape \(6,\), got \(2, 6\)"),
        (lambda: aw.manipulability(UR5, np.zeros(6), "rotary"), "part must be 'linear', 'angular' or 'full'"),
        (lambda: aw.fk(UR5, np.zeros(6), "hand"), "frame 'hand' is not a frame of 'ur5'; valid: tool, .*forearm"),
        (lambda: aw.fk(UR5, np.zeros(6), 9), "frame index 9 must lie in 0…5"),
        (lambda: aw.fk(UR5, np.zeros(6), 1.5), "frame must be None, a frame's name or a body's index, got 1.5"),
    ],
)
def test_questions_without_an_answer(call, text):
    with pytest.raises(InputError, match=text):
        call()
