"""Where explorations used to get stuck: errors on the way, goals inside an obstacle, pockets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from armwright.cli import main
from armwright.contact.shapes import Sphere
from armwright.contact.world import World
from armwright.kinematics import fk
from armwright.planning import Hopfield, RRTConnect
from armwright.robot.load import load
from armwright.robot.parts import Limits
from armwright.simulation.exploration.explore import explore
from armwright.simulation.exploration.result import OUTCOMES


@pytest.fixture(scope="module")
def flat():
    return load("planar2")


def ball_on_the_way(arm, q0, q1, radius=0.05):
    """A ball that the tip meets half-way."""
    at = fk(arm, 0.5 * (np.array(q0) + q1))[:3, 3]
    return World((Sphere(name="ball", centre=tuple(at), radius=radius, stiffness=2e4, damping=50.0),), name="ball")


class Fails:
    """A planner that works once and then never again."""

    def __init__(self, planner):
        self.planner, self.count = planner, 0

    @property
    def name(self):
        return "fails"

    def plan(self, *arguments):
        self.count += 1
        if self.count > 1:
            raise ZeroDivisionError("the planner has a fault")
        return self.planner(*arguments)


class FailsOnGrids(Fails):
    def __call__(self, where, start, goal):
        return self.plan(where, start, goal)


class FailsInJoints(Fails):
    def __call__(self, colliding, start, goal, lower, upper):
        return self.plan(colliding, start, goal, lower, upper)


def test_an_error_on_the_way_keeps_what_was_recorded(flat):
    q0, q1 = [0.2, 0.6], [1.4, 0.6]
    with pytest.raises(ZeroDivisionError, match="has a fault") as caught:
        explore(flat, ball_on_the_way(flat, q0, q1), q0, q1, planner=FailsInJoints(RRTConnect()))
    recording = caught.value.recording
    assert recording.time[-1] > 0.5 and np.abs(recording["q"][0] - q0).max() < 1e-9
    with pytest.raises(ZeroDivisionError, match="has a fault") as caught:
        explore("ur5-ragazzon", "A", planner=FailsOnGrids(Hopfield()))
    assert caught.value.recording.time[-1] > 0.5
    assert "error.recording" in caught.value.__notes__[0]


def test_the_command_writes_what_was_recorded(tmp_path, monkeypatch, capsys):
    from armwright.simulation.exploration import names

    fault = FailsOnGrids(Hopfield())
    monkeypatch.setattr(names, "find_planner", lambda *a, **k: fault)
    monkeypatch.setattr("armwright.simulation.exploration.explore.find_planner", lambda *a, **k: fault)
    with pytest.raises(ZeroDivisionError):
        main(["run", "collision", "--robot", "ur5-ragazzon", "-o", str(tmp_path / "kept")])
    assert (tmp_path / "kept" / "recording.npz").stat().st_size > 1000
    assert "recorded until the error" in capsys.readouterr().err


def test_an_arm_that_was_pushed_beyond_the_search_goes_on(flat):
    """It begins at a joint's limit: the first contact leaves it a little beyond."""
    q0, q1 = np.array([0.2, 0.6]), np.array([1.4, 0.6])
    joints = (flat.joints[0], replace(flat.joints[1], limits=Limits(-2.0, 0.6)))
    arm = replace(flat, joints=joints)
    run = explore(arm, ball_on_the_way(arm, q0, q1), q0, q1, planner="rrt-connect", duration=60.0)
    assert run.outcome in OUTCOMES and run.contacts
    assert (run.recording["q"][:, 1] > 0.6).any(), "it really was beyond"


def test_the_trainer_explores_or_is_refused_at_once():
    """Its tool moves on a circle only: a map of tool cells is refused, in joint space it runs."""
    from armwright.errors import InputError

    arm = load("sdt")
    with pytest.raises(InputError, match="seed_q must hold 4"):
        explore(arm, "A")
    at = tuple(fk(arm, [0.5, 0.0, 0.0, 0.0])[:3, 3])
    world = World((Sphere(name="ball", centre=at, radius=0.05, damping=500.0),))
    run = explore(arm, world, [0.0] * 4, [1.0, 0.5, 0.3, -0.4], planner="rrt-connect", duration=6.0)
    assert run.outcome in OUTCOMES and len(run.contacts) and len(run.recording)
