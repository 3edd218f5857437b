# SPDX-License-Identifier: Apache-2.0
"""Every UR of the catalogue behind the controller: series, payload, and moves at its limits without a false stop."""

import warnings

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightWarning, InputError
from armwright.lab.controller import instructed_moves as ur
from armwright.lab.controller.controller import Controller
from armwright.lab.controller.controller_states import ControllerState
from armwright.lab.lab_plant import LabPlant
from armwright.lab.wire.arm_parts import ROBOT_TYPES, is_e_series, robot_model

HOME = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
OTHER = HOME + np.array([1.5, -0.4, 0.5, 0.5, 0.5, 2.0])
ARMS = {
    "ur3": False,
    "ur5": False,
    "ur10": False,
    "ur3e": True,
    "ur5e": True,
    "ur10e": True,
    "ur16e": True,
    "ur20": True,
}


def test_series_and_type_follow_from_the_arm():
    assert {name: is_e_series(aw.load(name)) for name in ARMS} == ARMS
    assert {robot_model(aw.load(name)) for name in ARMS} <= set(ROBOT_TYPES)
    assert not is_e_series(aw.load("irb140"))


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_moves_at_its_limits_without_a_false_stop_and_carries_what_it_is_rated_for(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArmwrightWarning)  # drives that nobody measured
        c = Controller(LabPlant(aw.load(name), q0=HOME), e_series=ARMS[name])

    def run(move, *arguments):
        move(c, *arguments)
        while c.moving:
            c.tick()
            assert c.state is ControllerState.READY, c.why
            assert (np.abs(c.reference.qd) <= 1.001 * c.most_speed).all()

    size = float(np.linalg.norm(c.target_pose()[:3]))
    run(ur.movej, OTHER, 8.0, 3.0)
    run(ur.movej, HOME, 1.4, 1.05)
    start = c.target_pose()
    run(ur.movel, start + np.array([0, 0.3 * size, 0.1 * size, 0, 0, 0.5]), 1.2, 1.0)
    run(ur.optimovel, start, 1.0, 1.0)
    run(ur.optimovej, OTHER, 1.0, 1.0)
    for _ in range(250):
        c.tick()
    assert np.abs(c.plant.live.q - OTHER).max() < 1e-4
    rated = c.plant.robot.rated_payload
    c.plant.told(rated, np.zeros(3))
    with pytest.raises(InputError, match="payload"):
        c.plant.told(max(10.0, rated) + 0.1, np.zeros(3))
