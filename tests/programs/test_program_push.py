# SPDX-License-Identifier: Apache-2.0
"""What the world does to the tool along a program: virtual work, frames, stretches of moves, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.programs import Duration, Fraction, Joints, Move, Payload, Pose, Program, Push, ToolRate, run_program
from armwright.programs.motors.what_works import exact
from armwright.programs.outcome.program_events import torque_parts
from armwright.programs.program_comparison import program_differences
from armwright.programs.program_push import pushed, pushes_in, pushes_of
from armwright.programs.timing import flange_wrench
from armwright.recording import Recording
from armwright.spatial import pose, rotation_from_euler

START = np.radians([10.0, 20.0, -20.0, 10.0, -60.0, 5.0])
TOOL = pose(rotation_from_euler(np.radians([20.0, -30.0, 40.0]), "zyx"), np.array([0.12, -0.05, 0.3]))
F = np.array([100.0, -40.0, 80.0, 3.0, -5.0, 2.0])


def moves(robot, **words):
    """A joint move, a line, a wait, which counts to the move before it, and the line back."""
    away = START + np.array([0.5, 0.2, -0.3, 0.4, 0.3, 0.5])
    back = fk(robot, away) @ TOOL
    T = back.copy()
    T[:3, 3] += [0.0, 0.1, 0.05]
    words = {"T_flange_tool": TOOL, **words}
    return Program(
        (
            Move("joint", Joints(away), Fraction(0.6), **words),
            Move("line", Pose(T), ToolRate(0.2), ToolRate(1.0), **words),
            Move("wait", None, Duration(0.3), **words),
            Move("line", Pose(back), ToolRate(0.2), ToolRate(1.0), **words),
        ),
        start_q=START,
        name="pushed",
    )


def at_rest(demand):
    """Cycles of the wait, the two at its ends left out: the arm stands still before and after them."""
    still = np.flatnonzero(~np.diff(demand.q, axis=0).any(axis=1))[2:-2]
    assert still.size > 20 and np.ptp(still) == still.size - 1
    return still


@pytest.fixture(scope="module")
def free(rl15):
    return run_program(rl15, moves(rl15))


@pytest.mark.parametrize("frame", ["base", "tool"])
def test_the_wrench_costs_its_virtual_work(rl15, free, frame):
    """Motors give K^-T (−JᵀF) more, J of the program's own tool point: what inverse dynamics with that wrench says."""
    outcome = run_program(rl15, moves(rl15), wrench=Push(F, frame))
    run, K = outcome.wished, rl15.actuators.gear
    np.testing.assert_array_equal(outcome.plan.q, free.plan.q)  # the words plan the same motion
    with_tool = rl15.with_tool(rl15.T_tip_tool @ TOOL)
    for k in (5, 60, run.demand.cycles - 20):
        q, qd = (rows[k] for rows in run.starts)
        R = fk(with_tool, q)[:3, :3] if frame == "tool" else np.eye(3)
        world = np.concatenate([R @ F[:3], R @ F[3:]])
        virtual = -aw.jacobian(with_tool, q).T @ world
        np.testing.assert_allclose(K.T @ torque_parts(run, k)["world"], virtual, rtol=1e-9, atol=1e-9)
        qdd = (run.demand.q[k + 1] - q) / run.demand.dt**2 - qd / run.demand.dt
        more = [aw.inverse_dynamics(with_tool, q, qd, qdd, w, friction=False) for w in (world, np.zeros(6))]
        np.testing.assert_allclose(more[0] - more[1], virtual, rtol=1e-9, atol=1e-7)
    assert np.abs(run.wanted - free.wished.wanted).max() > 0.5


def test_a_force_against_gravity_relieves_the_motors(rl15, free):
    """Half the weight of a load, pushed upwards, lowers the use of axis 2 and 3 in every cycle at rest."""
    heavy = Payload(10.0, TOOL[:3, 3])
    loaded = run_program(rl15, moves(rl15), payload=heavy)
    helped = run_program(rl15, moves(rl15), payload=heavy, wrench=[0.0, 0.0, 50.0, 0.0, 0.0, 0.0])
    pressed = run_program(rl15, moves(rl15), payload=heavy, wrench=[0.0, 0.0, -50.0, 0.0, 0.0, 0.0])
    still = at_rest(loaded.demand)
    for j in (1, 2):
        uses = [outcome.wished.torque_use[still, j] for outcome in (helped, loaded, pressed)]
        assert (uses[0] < uses[1]).all() and (uses[1] < uses[2]).all()
    assert helped.figures()["motors"][1]["torque_use"] < pressed.figures()["motors"][1]["torque_use"]


def test_a_weight_at_rest_is_a_payload(rl15):
    """m·g downwards at the tool point takes the torques of a point mass there, in the cycles of a wait."""
    mass, g = 7.0, 9.81
    carried = run_program(rl15, moves(rl15), payload=Payload(mass, TOOL[:3, 3]))
    hung = run_program(rl15, moves(rl15), wrench=[0.0, 0.0, -mass * g, 0.0, 0.0, 0.0])
    still = at_rest(carried.demand)
    np.testing.assert_allclose(hung.wished.wanted[still], carried.wished.wanted[still], rtol=1e-9, atol=1e-9)
    moving = np.flatnonzero(carried.demand.moves == 0)
    assert np.abs(hung.wished.wanted[moving] - carried.wished.wanted[moving]).max() > 0.05  # a weight has inertia, too


def test_it_acts_in_its_moves_only(rl15, free):
    outcome = run_program(rl15, moves(rl15), wrench=[Push(F, first=1, last=1), Push(-F, "tool", first=4)])
    wrench, owner = outcome.demand.wrench, outcome.demand.moves
    assert set(owner.tolist()) == {0, 1, 3}
    assert wrench[owner == 0].any(axis=1).all() and wrench[owner == 3].any(axis=1).all()
    assert not wrench[owner == 1].any()
    np.testing.assert_allclose(wrench[owner == 0, :3], np.tile(F[:3], (np.sum(owner == 0), 1)))
    still = np.flatnonzero(owner == 1)[1:]
    np.testing.assert_allclose(outcome.wished.wanted[still], free.wished.wanted[still], atol=1e-9)
    assert [(p.first, p.last, p.frame) for p in pushes_in(outcome.program)] == [(1, 1, "base"), (4, 4, "tool")]


def test_no_push_is_no_change(rl15, free):
    none = run_program(rl15, moves(rl15), wrench=np.zeros(6))
    assert none.demand.wrench is None and none.figures()["wrench"] == []
    np.testing.assert_array_equal(none.motors.torque, free.motors.torque)


def test_the_fastest_law_knows_it(rl15):
    """Pushed down, the time-optimal motion takes longer and keeps its share of the torques; the free one would not."""
    fast, slow = (
        run_program(rl15, moves(rl15), law="fastest", share=0.9, wrench=w) for w in (None, [0, 0, -250.0, 0, 0, 0])
    )
    assert slow.plan.duration > 1.01 * fast.plan.duration
    assert slow.wished.torque_use.max() < 0.91  # between points of its grid a little more than its share
    push = flange_wrench(rl15, slow.program, fast.demand.q[:-1], fast.demand.moves)
    assert exact(rl15, replace(fast.demand, wrench=push))[0].torque_use.max() > 1.0


def test_a_move_that_says_is_left_alone(rl15):
    """What the world does is filled in where the program does not say; a program tells back what it was given."""
    program = moves(rl15)
    own = replace(program.moves[0], wrench=np.ones(6))
    filled = pushed(replace(program, moves=(own, *program.moves[1:])), Push(F, "tool"))
    assert filled.moves[0] == own
    assert pushes_in(filled) == (Push(np.ones(6), "base", 1, 1), Push(F, "tool", 2, 4))
    assert pushed(program, None) is program
    assert pushed(program, pushes_in(filled)) == filled
    assert program_differences(pushed(program, Push(F)), pushed(program, Push(F, "tool")))


@pytest.mark.parametrize(
    ("wrench", "says"),
    [
        ([1.0, 2.0, 3.0], r"shape \(6,\)"),
        (np.zeros((2, 6)), r"shape \(6,\)"),
        ([0, 0, np.nan, 0, 0, 0], "finite"),
        ([0, 0, np.inf, 0, 0, 0], "finite"),
        ("down", "numbers"),
        ([Push(F), 3.0], "a sequence of Push"),
        ([Push(F), Push(F, first=2)], "move 2 is given two"),
        (Push(F, first=5), "move 5 is not there, the program has 4"),
        (Push(F, last=9), "move 9 is not there"),
    ],
)
def test_what_is_refused(rl15, wrench, says):
    with pytest.raises(InputError, match=f"wrench.*{says}"):
        run_program(rl15, moves(rl15), wrench=wrench)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"frame": "flange"}, "base, tool"),
        ({"first": 0}, "1 for the first"),
        ({"last": True}, "number of a move"),
        ({"first": 2.5}, "number of a move"),
        ({"first": 3, "last": 2}, "comes after"),
    ],
)
def test_a_push_without_meaning(words, says):
    with pytest.raises(InputError, match=says):
        Push(F, **words)
    with pytest.raises(InputError, match="base or tool"):
        Move("wait", None, Duration(1.0), wrench=F, wrench_frame="world")


def test_it_is_told(rl15, tmp_path):
    """In the answer for programs, in the report, and cycle by cycle in the recording."""
    outcome = run_program(rl15, moves(rl15), wrench=[Push(F, last=1), Push([0, 0, 40.0, 0, 0, 0], "tool", first=4)])
    first, second = outcome.figures()["wrench"]
    assert (first["moves"], first["frame"], second["moves"], second["frame"]) == ([1, 1], "base", [4, 4], "tool")
    np.testing.assert_array_equal([*first["force_n"], *first["moment_nm"]], F)
    own = outcome.demand.moves == 0
    world = [torque_parts(outcome.wished, int(k))["world"] for k in np.flatnonzero(own)]
    np.testing.assert_allclose(first["torque_nm"], np.abs(world).max(axis=0), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(first["use"], first["torque_nm"] / outcome.motors.limit.max(axis=0), rtol=1e-12)
    page = outcome.report(tmp_path / "pushed.html").read_text(encoding="utf-8")
    assert "(100, -40, 80) N and (3, -5, 2) N·m in move 1, base axes" in page
    assert "(0, 0, 40) N in move 4, tool axes" in page
    kept = Recording.load(outcome.recording.save(tmp_path / "pushed.npz"))
    np.testing.assert_array_equal(kept.signals["wrench"].values, outcome.motors.demand.wrench)


def test_pushes_of():
    one = Push(F)
    assert pushes_of(None) == () and pushes_of(one) == (one,) == pushes_of(F) and pushes_of([one, one]) == (one, one)
