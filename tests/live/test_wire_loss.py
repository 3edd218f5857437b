# SPDX-License-Identifier: Apache-2.0
"""Whatever is lost, the arm rests in time, no step is beyond the cap, the file opens, and nothing goes on by itself."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.motion import Trajectory
from support.wire import controller, riding

SCRIPT = Path(__file__).parents[2] / "docs" / "measure_wire_loss.py"
CHEAP = ("kill", "freeze", "nan", "restart", "emergency stop")


def _bench():
    if "measure_wire_loss" not in sys.modules:
        spec = spec_from_file_location("measure_wire_loss", SCRIPT)
        module = module_from_spec(spec)
        sys.modules["measure_wire_loss"] = module
        spec.loader.exec_module(module)
    return sys.modules["measure_wire_loss"]


BENCH = _bench()
MANY = 10**6  # gaps: a busy machine is no reason to fail


def check(trial):
    assert trial.rest <= BENCH.REST_DEMAND or trial.event == "slider", trial
    assert trial.fastest <= BENCH.STEP_TOLERANCE, trial
    assert trial.opens and trial.word == BENCH.WORDS.get(trial.event, ""), trial
    if trial.event in BENCH.ENDING:
        assert trial.again < 2e-3 and trial.program != 2 and trial.sent_again == 0, trial
    assert trial.good


@pytest.mark.parametrize("event", CHEAP)
def test_a_loss_ends_in_rest(event, tmp_path):
    trial = BENCH.one_trial(event, 125.0, 31, tmp_path, most_gaps=MANY)
    check(trial)
    assert (trial.gaps > 0) >= (event == "freeze")


@pytest.mark.thorough
@pytest.mark.parametrize("rate", [125.0, 500.0])
@pytest.mark.parametrize("event", BENCH.EVENTS)
def test_every_loss_ends_in_rest(event, rate, tmp_path):
    for seed in range(40, 43):
        check(BENCH.one_trial(event, rate, seed, tmp_path, most_gaps=MANY))


def test_numbers_that_are_not_finite_never_leave_the_client():
    with controller(wall=None) as robot, riding(robot) as ride:
        q = ride.reference().q
        c = np.zeros((1, 4, 6))
        c[0, 0], c[0, 1, 2] = q, np.nan
        with pytest.raises(InputError):
            ride.follow(Trajectory(np.array([0.0, 1.0]), c))
        assert ride.run(0.1) == "end" and np.abs(ride.measured().q - q).max() < 1e-3
