# SPDX-License-Identifier: Apache-2.0
"""Floor, own body and world along the tracked motion of a program, and the margins of the arm itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.planning.joint.whole_arm import WholeArm
from armwright.planning.obstacles import obstacles_of
from armwright.programs import Fraction, Joints, Move, Pose, Program, ToolRate, run_program
from armwright.programs.outcome import way_clearance
from armwright.programs.outcome.way_clearance import STEP, _links, clearance_of
from armwright.world import Sphere, World

START = np.array([0.0, -1.4, 1.8, -2.0, -1.57, 0.0])
TOOL = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.15], [0, 0, 0, 1]])


def down_to(robot, height):
    """Lower the tip of a tool of 15 cm to a height above the base, and come back."""
    T = aw.fk(robot, START) @ TOOL
    low = T.copy()
    low[2, 3] = height
    moves = tuple(
        Move("line", Pose(P), ToolRate(0.25), ToolRate(1.0), T_flange_tool=TOOL, line=line)
        for line, P in ((7, low), (9, T))
    )
    return Program(moves, start_q=START, name="down")


@pytest.fixture(scope="module")
def ur5():
    return aw.load("ur5")


@pytest.fixture(scope="module")
def low(ur5):
    return run_program(ur5, down_to(ur5, -0.02))


def test_a_tool_in_the_floor_is_an_event_and_leads_the_verdict(low):
    found = low.clearance
    assert found.collides == "yes"
    (contact,) = [c for c in found.contacts if c.part == "the tool"]
    assert contact.other == "the floor" and contact.sure
    assert "taken to be as high as the base: --floor Z" in low.verdict
    assert "taken to be" not in replace(low, floor=0.001).verdict
    assert contact.depth == pytest.approx(0.02, abs=5e-4)
    assert low.program.moves[contact.move].line == 7
    assert contact.start < contact.worst <= contact.end
    assert low.feasible and low.verdict.startswith("Collides")
    told = low.figures()
    assert told["collides"] == "yes" and told["collisions"]["events"][0]["line"] in (7, 9)
    assert len(told["collisions"]["closest"]) == 3


def test_touching_is_no_collision_and_without_a_floor_there_is_none(ur5, low):
    assert run_program(ur5, down_to(ur5, 0.0)).clearance.collides == "no"
    free = replace(low, floor=None)
    assert clearance_of(free).collides == "no" and "floor" not in " ".join(clearance_of(free).checked)
    assert clearance_of(replace(low, floor=-0.05)).collides == "no"


def test_the_world_is_met_where_planning_meets_it(ur5, low):
    """The smallest distances are those that planning's compiled test finds, and never larger between the cycles."""
    T = aw.fk(ur5, START)
    ball = Sphere(name="ball", centre=tuple(T[:3, 3] + [0.0, 0.3, -0.1]), radius=0.05)
    outcome = replace(low, world=World((ball,)), floor=None)
    nearest = min(row.distance for row in clearance_of(outcome).closest if row.other == "ball")
    arm = WholeArm(ur5, obstacles_of(outcome.world), capsules=_links(ur5))
    by_planning = float(arm.clearance(outcome.way[0]).min())
    assert by_planning - STEP <= nearest <= by_planning + 1e-9
    met = replace(outcome, world=World((replace(ball, radius=0.05 + nearest + 0.03),)))
    assert clearance_of(met).collides != "no" and "ball" in met.verdict
    assert clearance_of(outcome).collides == "no"


def test_an_arm_folded_into_itself_collides(ur5):
    folded = np.array([0.0, -1.0, 3.0, 0.2, -1.57, 0.0])
    program = Program((Move("joint", Joints(folded), Fraction(0.3), line=4),), start_q=START)
    found = run_program(ur5, program, floor=None).clearance
    assert found.collides in ("yes", "may")
    assert any(c.other in ("shoulder", "upper_arm") or c.part == "wrist_1" for c in found.contacts)


def test_an_assumed_start_is_not_blamed_on_the_program(ur5, low):
    """The middle of the joint ranges lies stretched out on the floor; that is our guess, not the program's."""
    program = replace(down_to(ur5, 0.1), start_q=None)
    first = Move("joint", Joints(START), Fraction(0.3), T_flange_tool=TOOL, line=3)
    outcome = run_program(ur5, replace(program, moves=(first, *program.moves)))
    assert outcome.clearance.collides == "no"
    assert any("where the arm stands at first" in why for why in outcome.clearance.unchecked)


def test_what_cannot_be_checked_is_said(ur5, low):
    """A floor in which the upper arm would always be is none that the arm stands on."""
    sunk = clearance_of(replace(low, floor=0.3))
    assert "the floor" not in sunk.checked and "--floor" in sunk.unchecked[0]


def test_bodies_without_shapes_are_not_checked(low, monkeypatch):
    monkeypatch.setattr(way_clearance, "has_extent", lambda robot: False)
    bare = replace(low, floor=0.0)
    assert bare.clearance.collides == "not checked"
    assert "Collisions not checked: no shapes are known of the bodies of 'ur5'" in bare.verdict
    assert bare.figures()["collisions"]["closest"] == []


def test_margins_are_those_of_the_motion(ur5, low):
    q, time, move = low.way
    margins = low.margins
    for j, row in enumerate(margins.joints):
        limits = ur5.joints[j].limits
        left = np.minimum(q[:, j] - limits.lower, limits.upper - q[:, j])
        assert row.value == pytest.approx(left.min())
        assert row.share == pytest.approx(row.value / (limits.upper - limits.lower))
        k = int(np.argmin(left))
        assert (row.time, row.move) == (time[k], move[k])
    assert 0.0 < margins.reach.share < 1.0
    T = aw.fk(ur5, START)
    out = T.copy()
    out[:3, 3] += 0.5 * (T[:3, 3] - [0.0, 0.0, 0.089])
    there = Program((Move("line", Pose(out), ToolRate(0.25), ToolRate(1.0), line=1),), start_q=START)
    far = run_program(ur5, there, floor=None).margins
    assert far.reach.share < margins.reach.share and far.singular.value < margins.singular.value
