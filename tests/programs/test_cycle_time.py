# SPDX-License-Identifier: Apache-2.0
"""Cycle time from measured times: the interval holds the truth of every controller that differs as it says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.programs import plan_program, read_program
from armwright.programs.outcome.cycle_time import MeasuredTime, cycle_time
from armwright.programs.program_plan import move_times

PROGRAM = Path(__file__).parents[2] / "examples" / "programs" / "irb140_pick.mod"


@pytest.fixture(scope="module")
def plan():
    return plan_program(aw.load("irb140"), read_program(PROGRAM))


def controller(plan, rng):
    """Return times (moves,) [s] of some controller: slower speeds, other ramps, a while at stops."""
    stops = np.bincount([plan.route.owner[last - 1] for _, last in plan.route.sections], minlength=len(plan.moves))
    speed, ramps, pause = rng.uniform(0.55, 1.05), np.exp(rng.uniform(np.log(0.2), np.log(2.0))), rng.uniform(0.0, 0.5)
    return move_times(plan, speed=speed, ramps=ramps) + pause * stops


def measured(plan, times, lines):
    line = np.array([move.line for move in plan.program.moves])
    return [MeasuredTime(k, k, round(float(times[line == k].sum()), 2), 0.005) for k in lines]


def test_times_of_the_moves_add_up_and_scale_as_time_does(plan):
    """Speeds by s and accelerations by s² are everything in 1/s of the time, but for waits."""
    assert move_times(plan).sum() == pytest.approx(plan.duration)
    waits = plan.route.waits.sum()
    for s in (0.5, 0.8, 1.3):
        assert move_times(plan, speed=s, ramps=s**2).sum() - waits == pytest.approx((plan.duration - waits) / s)


@pytest.mark.parametrize("seed", range(2))
def test_the_interval_holds_the_true_cycle_time_and_narrows(plan, seed):
    rng = np.random.default_rng([17, seed])
    times = controller(plan, rng)
    moving = sorted({m.line for m, t in zip(plan.program.moves, times, strict=True) if t > 0.05 and m.kind != "wait"})
    lines = rng.permutation(moving)
    widths = []
    for count in (1, 2, 4):
        found = cycle_time(plan, measured(plan, times, lines[:count]))
        assert found.low <= times.sum() <= found.high and found.unexplained == 0.0
        widths.append(found.high - found.low)
    assert widths[0] >= widths[1] >= widths[2]
    assert found.within == (4, 4)


def test_times_that_no_such_controller_has_are_said_to_be(plan):
    lines = sorted({m.line for m, t in zip(plan.program.moves, move_times(plan), strict=True) if t > 0.0})[:2]
    found = cycle_time(
        plan, [MeasuredTime(lines[0], lines[0], 60.0, 0.5), MeasuredTime(lines[1], lines[1], 0.01, 0.005)]
    )
    assert found.unexplained > 1.0 and "may lie outside" in " ".join(found.words)


def test_on_the_command_line(plan, capsys):
    said = ["run", "program", str(PROGRAM), "--robot", "irb140", "--json", "--measured"]
    main([*said, "all=99.5"])
    found = json.loads(capsys.readouterr().out)["cycle_time"]
    assert found["planned"] == pytest.approx(plan.duration)
    assert found["unexplained"] > 0.0 or found["low"] <= 99.5 <= found["high"]
    for wrong in ("12", "x=3", "5-4=2", "12=-1", "12=nan", "9999=3"):
        assert main([*said, wrong]) == 2
        assert "measured" in capsys.readouterr().err
