# SPDX-License-Identifier: Apache-2.0
"""What a planner refuses, or changes with a note: each with its message."""

import re
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError, ProgramError
from armwright.kinematics import fk
from armwright.programs import (
    Distance,
    Fraction,
    Move,
    Pose,
    Program,
    Tangent,
    ToolRate,
    plan_program,
)
from support.moves import HOME, joints, run, shifted, to


def test_out_of_reach(ur5):
    T = fk(ur5, HOME)
    far = to(shifted(T, -0.9, 0, 0), line=7, text="movel(far)")
    with pytest.raises(
        ProgramError,
        match=r"line 7, at 'movel\(far\)': \d+\.\d mm into this move of 900\.0 mm .*"
        r"joint \d .*valid here: targets up to",
    ) as info:
        run(ur5, far)
    assert info.value.line == 7
    with pytest.raises(ProgramError, match=r"line 3.*out of reach of 'ur5': the closest approach misses it"):
        run(ur5, Move("joint", Pose(shifted(T, -0.3, 0, 0), name="p1"), Fraction(1.0), line=3))


@pytest.mark.parametrize("start", [HOME, None])
def test_far_beyond_the_arm_is_told_in_metres_and_near_it_in_angles_of_its_ranges(ur5, start):
    """How far a place is from the base, and how far the flange comes, tool and base of the move counted in."""
    T = fk(ur5, HOME)
    far, tool = shifted(T, -2, 0, 0), np.eye(4)
    tool[2, 3] = 0.5
    program = Program((Move("joint", Pose(far), Fraction(1.0), T_flange_tool=tool, line=3), joints(HOME)))
    with pytest.raises(
        ProgramError, match=r"would be (\S+) m from the base, and comes no farther than (\S+) m"
    ) as told:
        plan_program(ur5, program, start_q=start)
    away, most = map(float, re.search(r"would be (\S+) m .* farther than (\S+) m;", str(told.value)).groups())
    assert away == pytest.approx(np.linalg.norm((far @ np.linalg.inv(tool))[:3, 3]), rel=5e-3)
    postures = np.random.default_rng(0).uniform(-np.pi, np.pi, (400, 6))
    reached = np.linalg.norm(fk(ur5, postures)[:, :3, 3], axis=1).max()
    assert 0.9 * most < reached <= most and "°" not in str(told.value)
    with pytest.raises(ProgramError, match=r"joints \[(.*)\]° come closest") as told:
        plan_program(
            ur5, Program((Move("joint", Pose(shifted(T, -0.3, 0, 0)), Fraction(1.0)), joints(HOME))), start_q=start
        )
    angles = np.fromstring(re.search(r"joints \[(.*)\]°", str(told.value))[1], sep=",")
    assert np.abs(angles).max() <= 360.0


def test_singular_path_names_what_works(rl15):
    q = np.radians([10.0, 20.0, -20.0, 0.0, 0.0, 0.0])
    T = fk(rl15, q)
    start = aw.ik(rl15, shifted(T, 0, 0, -0.1), seed=q).solutions[0]
    with pytest.raises(ProgramError, match=r"(singular|branch).*valid here: .*(joint move|posture)"):
        run(rl15, to(shifted(T, 0, 0, 0.15)), start=start)


def test_corners_that_are_to_be_passed(ur5):
    T = fk(ur5, HOME)
    with pytest.raises(ProgramError, match=r"line 2.*corner of 90\.000°.*valid here: a blend over a distance"):
        run(ur5, to(shifted(T, 0, 0, 0.1), blend=Tangent(), line=2), to(shifted(T, 0, 0.1, 0.1), line=3))
    with pytest.raises(ProgramError, match="joints change direction"):
        run(ur5, joints(HOME + 0.3, blend=Tangent()), joints(HOME))


def test_circles_without_a_circle(ur5):
    T = fk(ur5, HOME)

    def arc(via, end):
        return Move("arc", Pose(end), ToolRate(0.2), ToolRate(1.0), via=Pose(via), line=5)

    with pytest.raises(ProgramError, match=r"line 5: .*lie on one line"):
        run(ur5, arc(shifted(T, 0, 0.05, 0), shifted(T, 0, 0.1, 0)))
    with pytest.raises(ProgramError, match="three different points"):
        run(ur5, arc(T, shifted(T, 0, 0.1, 0)))
    with pytest.raises(ProgramError, match="two arcs, or as an arc with an angle of 360°"):
        run(ur5, arc(shifted(T, 0, 0.05, 0), T))
    whole = replace(arc(shifted(T, 0, 0.05, 0.05), shifted(T, 0, 0.1, 0)), arc_angle=2 * np.pi)
    p = run(ur5, whole)
    np.testing.assert_allclose(p.T_base_tool[-1, :3, 3], T[:3, 3], atol=1e-7)


def test_moves_without_length_are_left_out_with_a_note(ur5):
    T = fk(ur5, HOME)
    up = shifted(T, 0, 0, 0.1)
    p = run(
        ur5,
        to(T, line=1),
        to(up, line=2, blend=Distance(0.01)),
        to(up, line=3),
        joints(HOME, line=4),
        joints(HOME, line=5),
    )
    left_out = [note.line for note in p.notes if "no length" in note.message and "left out: the" in note.message]
    assert left_out == [1, 3, 5]
    assert p.moves[0].length == p.moves[2].length == p.moves[4].length == 0.0
    assert np.count_nonzero(p.route.stops) == 3  # the stop of move 3 counts, though the move does not
    with pytest.raises(ProgramError, match="leads to where the arm stands already"):
        run(ur5, to(T), joints(HOME))


def test_overlapping_zones_shrink_with_a_note(ur5):
    T = fk(ur5, HOME)
    ring = [shifted(T, 0, 0, 0.1), shifted(T, 0, 0.06, 0.1), shifted(T, 0, 0.06, 0.0)]
    program = Program(tuple(to(x, blend=Distance(0.05), line=k + 1) for k, x in enumerate(ring)), start_q=HOME)
    p = plan_program(ur5, program)
    notes = [note.message for note in p.notes if "does not fit" in note.message]
    assert len(notes) == 2 and "30.0 mm are rounded" in notes[0]
    halves = plan_program(ur5, replace(program, language="rapid"))
    assert any("30.0 mm" in note.message for note in halves.notes)


def test_program_of_another_arm(ur5, rl15):
    with pytest.raises(ProgramError, match=r"line 4: move 1 speaks of 7 joints, 'ur5' has 6: for another arm"):
        run(ur5, joints(np.zeros(7), line=4))
    with pytest.raises(InputError, match="starts with 7 joints"):
        plan_program(ur5, Program((joints(HOME),), start_q=np.zeros(7)))
    with pytest.raises(ProgramError, match=r"outside its range; valid here: -360\.00° to 360\.00°"):
        run(ur5, joints(HOME + 9.0))
    p = plan_program(rl15, Program((joints(HOME),), robot="irb140", start_q=np.zeros(6)))
    assert any("written for 'irb140'" in note.message for note in p.notes)


def test_arms_without_limits_or_closed_form(ur5):
    bare = replace(
        ur5,
        joints=tuple(replace(j, limits=replace(j.limits, velocity=np.inf, acceleration=np.inf)) for j in ur5.joints),
    )
    with pytest.raises(ProgramError, match="nothing bounds the speed of this move: 'ur5' has no rated joint speeds"):
        run(bare, joints(HOME + 0.1))
    slow = replace(ur5, joints=tuple(replace(j, limits=replace(j.limits, acceleration=np.inf)) for j in ur5.joints))
    assert any("our assumption" in note.message for note in run(slow, joints(HOME + 0.1)).notes)
    with pytest.raises(InputError, match="has neither motor torques nor joint efforts"):
        run(aw.load("irb140"), joints(np.full(6, 0.1)), start=np.zeros(6), law="fastest")
    panda = aw.load("panda")
    q = np.array([0.0, -0.3, 0.0, -2.0, 0.0, 1.8, 0.7])
    assert run(panda, joints(q + 0.1), start=q).duration > 0.0
    assert run(panda, to(shifted(fk(panda, q), 0, 0, 0.05)), start=q).duration > 0.0


@pytest.mark.parametrize(
    "options, message",
    [
        ({"cycle": 0.0}, "cycle"),
        ({"cycle": float("nan")}, "cycle"),
        ({"override": -1.0}, "override"),
        ({"law": "slowest"}, "law must be"),
        ({"law": "fastest", "share": 2.0}, "share"),
        ({"jerk": 0.0}, "jerk"),
        ({"law": "fastest", "jerk": 5.0}, "jerk"),
        ({"acceleration": -1.0}, "acceleration"),
    ],
)
def test_bad_options(ur5, options, message):
    with pytest.raises(InputError, match=message):
        run(ur5, joints(HOME + 0.1), **options)
