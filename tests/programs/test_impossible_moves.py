# SPDX-License-Identifier: Apache-2.0
"""Programs with moves that an arm cannot make: not feasible, and the rest of them is judged all the same."""

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ProgramError
from armwright.kinematics import fk
from armwright.programs import Fraction, Move, Pose, Program, plan_program, read_program
from armwright.programs.outcome import run_program
from armwright.programs.outcome.program_findings import coverage, headline, worst_of
from support.moves import HOME, joints, shifted, to


@pytest.fixture(scope="module")
def arm():
    return aw.load("ur5")


def with_far_ones(arm, rng):
    """Return moves of which some lead out of reach, and which ones they are."""
    T, far = fk(arm, HOME), []
    moves = [joints(HOME, line=1)]
    for line in range(2, 12):
        kind, away = rng.choice(["joint", "tool"]), line != 2 and rng.random() < 0.3
        x = rng.uniform(-0.1, 0.1, 3) + ([-1.5, 0.0, 0.0] if away else 0.0)
        place = shifted(T, *x)
        moves.append(Move("joint", Pose(place), Fraction(0.5), line=line) if kind == "joint" else to(place, line=line))
        far += [len(moves) - 1] if away else []
    return tuple(moves), far


@pytest.mark.parametrize("seed", range(6))
def test_exactly_the_moves_out_of_reach_are_left_out(arm, seed):
    """The others are planned where they stand; whoever does not ask for that gets the first as a refusal."""
    moves, far = with_far_ones(arm, np.random.default_rng(seed))
    plan = plan_program(arm, Program(moves), start_q=HOME, impossible="leave out")
    assert [one.move for one in plan.route.impossible] == far
    reached = fk(arm, plan.q)[:, :3, 3]
    for k, move in enumerate(moves):
        if k in far or k in plan.route.unchecked or k == 0:
            continue
        wanted = move.target.T[:3, 3]
        assert np.linalg.norm(reached - wanted, axis=1).min() < 2e-2, k  # sampled every cycle
    assert np.linalg.norm(reached, axis=1).max() < 1.0
    steps = np.abs(np.diff(plan.q, axis=0)).max(axis=1)
    assert (steps > 0.1).sum() <= len(far)  # it is set down elsewhere behind them, and nowhere else
    if far:
        with pytest.raises(ProgramError) as told:
            plan_program(arm, Program(moves), start_q=HOME)
        assert told.value.line == moves[far[0]].line
    else:
        np.testing.assert_array_equal(plan.q, plan_program(arm, Program(moves), start_q=HOME).q)


TEXT = """def job():
  movej([0, -1.4, 1.8, -0.4, 1.57, 0], a=1.4, v=1.0)
  movel(pose_add(get_actual_tcp_pose(), p[0, 0, 0.05, 0, 0, 0]), a=1.2, v=0.25)
  movel(p[-2.5, 0, 0.3, 0, 3.14, 0], a=1.2, v=0.25)
  movej([0.3, -1.4, 1.8, -0.4, 1.57, 0], a=1.4, v=1.0)
  movej([0.3, -1.4, 1.8, -0.4, 9.57, 0], a=1.4, v=1.0)
  movej([0.5, -1.4, 1.8, -0.4, 1.57, 0], a=1.4, v=1.0)
  movej([0.6, -1.4, 1.8, -0.4, 1.57, 0], a=1.4, v=1.0)
end
"""


def test_all_obstacles_are_told_at_once_and_the_rest_is_judged(arm):
    run = run_program(arm, read_program(TEXT, robot=arm))
    assert [one.move for one in run.impossible] == [2, 4]
    assert run.answer == "not feasible" and not run.feasible and run.wished.feasible
    assert "2 moves of 7 cannot be made: move 3 (line 4: movel(p[-2.5" in run.verdict
    assert "line 6" in run.verdict and "The rest of it: Feasible" in run.verdict
    assert headline(run) == "Not feasible: 2 of 7 moves cannot be made"
    assert [row.line for row in worst_of(run)] == [4, 6] and worst_of(run)[0].much == "cannot"
    assert any("2 of 7 moves cannot be made; 3 are checked" in words for words in coverage(run))
    told = run.figures()["impossible"]
    assert [one["line"] for one in told] == [4, 6] and "into this move" in told[0]["reason"] and told[1]["valid"]


def test_a_program_of_which_nothing_can_be_made_is_refused(arm):
    text = "movej(p[-2.5, 0, 0.3, 0, 3.14, 0])\nmovej(p[-2.6, 0, 0.3, 0, 3.14, 0])\n"
    with pytest.raises(ProgramError, match=r"line 1.*out of reach"):
        run_program(arm, read_program(text, "urscript"))
