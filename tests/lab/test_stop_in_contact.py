# SPDX-License-Identifier: Apache-2.0
"""A protective stop against something stiff: the arm stays where it was stopped and does not press on to its goal."""

import numpy as np
import pytest

import armwright as aw
from armwright.lab.controller import instructed_moves
from armwright.lab.controller.controller import Controller
from armwright.lab.controller.controller_states import ControllerEvent, ControllerState
from armwright.lab.controller.script_programs import run_text
from armwright.lab.lab_plant import LabPlant
from armwright.world import Box, World
from support.lab import run_for

HOME = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
TABLE = Box(name="table", centre=(-0.5, -0.1, 0.1), size=(0.5, 0.5, 0.3))


@pytest.fixture(scope="module")
def compiled():
    return LabPlant(aw.load("ur5"), q0=HOME, world=World((TABLE,)))


def pressed(c):
    """The true force of the world on the arm [N]; nothing else is beyond the flange."""
    return float(np.linalg.norm(c.plant.feel().wrench[:3]))


@pytest.mark.parametrize("speed", [0.05, 0.1, 0.25, 0.5])
def test_the_force_does_not_rise_after_the_stop(compiled, speed):
    compiled.live.reset(HOME)
    c = Controller(compiled)
    down = c.target_pose() * np.array([1, 1, 0, 1, 1, 1])
    run_text(c, f"movel(p{down.tolist()}, a=1.2, v={speed})")
    while c.state is not ControllerState.STOPPED:
        c.tick()
        assert c.time < 10.0
    at_stop, where = pressed(c), c.plant.pose_of(c.plant.live.q)
    assert at_stop > 50.0
    after = []
    for _ in range(1000):
        c.tick()
        after.append(pressed(c))
    assert max(after) < at_stop + 5.0 and after[-1] < 0.5 * at_stop
    gone = c.plant.pose_of(c.plant.live.q)[:3] - where[:3]
    assert np.linalg.norm(gone) < 0.02  # it gives way, it does not jump back [m]
    assert np.abs(c.plant.live.qd).max() < 1e-3
    c.handle(ControllerEvent.UNLOCK)
    run_for(c, 0.5)
    assert c.state is ControllerState.READY and pressed(c) < at_stop


def test_tool_contact_tells_how_many_steps_ago_a_contact_began(compiled):
    compiled.live.reset(HOME)
    c = Controller(compiled, e_series=True)
    down = np.array([0.0, 0.0, -1.0])
    instructed_moves.speedl(c, [0, 0, -0.02, 0, 0, 0], 0.5, 20.0)
    began, steps = None, 0
    while not steps:
        c.tick()
        if began is None and pressed(c) > 1.0:
            began = c.ticks
        steps = c.touched_steps(down)
        assert c.state is ControllerState.READY and c.time < 15.0
    assert began is not None and steps == pytest.approx(c.ticks - began, abs=30)
    assert steps > 10  # the observer needs its time, and the force its way up
    assert c.touched_steps(-down) == 0
    instructed_moves.stopl(c, 2.0)
    run_for(c, 0.5)
