# SPDX-License-Identifier: Apache-2.0
"""A payload that nobody declared: contacts are isolated as changes, and what it does while braking is rehearsed."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.exploration import ArmTask, ControlLoop, Sensing, explore
from armwright.kinematics import fk
from armwright.robot.load import load
from armwright.world.shapes import Sphere
from armwright.world.world import World

START = np.array([2.14, -1.2, 1.6, -0.4, 1.57, 0.0])
GOAL = START + np.array([1.2, 0.0, 0.0, 0.0, 0.0, 0.0])
PAYLOAD = 2.0  # [kg]


@pytest.fixture(scope="module")
def first_contacts():
    """Runs that stop at a ball on the tool's way, without and with a payload; the controller knows of none
    and does not look for one."""
    ur5 = load("ur5")
    centre = fk(ur5, 0.5 * (START + GOAL))[:3, 3]
    world = World((Sphere(name="ball", centre=tuple(centre), radius=0.05, damping=200.0),), name="ball")
    options = {
        "sensing": Sensing("momentum", load="none"),
        "reaction": "stop",
        "loop": ControlLoop(model=ur5),
        "seed": 1,
    }
    return [explore(arm, world, ArmTask(START, GOAL), **options) for arm in (ur5, ur5.with_payload(PAYLOAD))]


def test_braking_with_a_payload_is_part_of_the_noise(first_contacts):
    free, loaded = (np.array(run.settings["torque_std"]) for run in first_contacts)
    assert (loaded[:3] > 3.0 * free[:3]).all(), "what is carried weighs on the joints that carry it"


def test_a_payload_is_not_taken_for_a_push(first_contacts):
    """The ball pushes the tool sideways; 20 N of weight that is felt all the time must not tilt that push."""
    for run in first_contacts:
        (contact,) = run.contacts
        places = contact.places
        assert contact.link and places.isolation.outcome != "no contact"
        gaps = np.linalg.norm(places.points - contact.true_point, axis=1)
        assert gaps.min() < 0.05
        assert not places.sure or gaps[0] < 0.03
        assert abs(places.force[2]) < 0.2 * np.linalg.norm(places.force)
