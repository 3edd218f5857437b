# SPDX-License-Identifier: Apache-2.0
"""Thresholds learned for one controller: quiet on moves and arms that were not rehearsed, and a push is felt."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.contact.detectors import joint_detector
from armwright.contact.monitor_run import run_monitors
from armwright.contact.observers import momentum_observer
from armwright.control import computed_torque
from armwright.detection import Spread, StudyPush, tool_moves, ur5_sensors
from armwright.detection.learned_thresholds import learned_thresholds
from armwright.detection.study_runs import StudyBench

LAW, OBSERVER = computed_torque(500.0, 45.0), momentum_observer(60.0)
RUNS = 8  # arms on every new move


@pytest.fixture(scope="module")
def learned():
    robot = aw.load("ur5-kufieta-c")
    return robot, learned_thresholds(robot, LAW, (OBSERVER,), 500.0)


def alarmed(robot, move, detector, number, push=None):
    bench = StudyBench(robot, LAW, ur5_sensors(), Spread(), 500.0)
    batch = bench.run(move, [[9, number, k] for k in range(RUNS)], push, 0.3)
    chain = [OBSERVER, detector]
    said = run_monitors(chain, robot, batch.time, batch.q, batch.qd, batch.tau, batch.ref, keep=("alarm",))["alarm"]
    on = said[..., 0] if said.ndim == 3 else said
    return on >= 0.0, batch


def test_they_are_quiet_where_nothing_is_and_notice_a_push(learned):
    robot, found = learned
    detectors = {
        "two-speed": found.two_speed.detector(),
        "joints": joint_detector(found.fit.margin * found.fit.peak),
    }
    for name, detector in detectors.items():
        for number, move in enumerate(tool_moves(robot, 3, seed=77)):
            on, _ = alarmed(robot, move, detector, number)
            assert not on.any(), name
            on, batch = alarmed(robot, move, detector, number, StudyPush(60.0, 0.01))
            after = batch.time[None, :] >= batch.touched[:, None]
            assert (on & after).any(axis=1).all() and not (on & ~after).any(), name


def test_they_say_what_they_rest_on_and_are_the_same_again(learned):
    robot, found = learned
    assert "192 simulated runs of 24 moves" in found.words and "of the description of ur5-kufieta-c" in found.words
    again = learned_thresholds(robot, LAW, (OBSERVER,), 500.0)
    np.testing.assert_array_equal(again.two_speed.quick.coefficients, found.two_speed.quick.coefficients)
    assert (found.fit.peak > 0.0).all()


def test_an_arm_without_masses_is_refused():
    with pytest.raises(aw.InputError, match="learned thresholds: robot 'bare' cannot be simulated"):
        learned_thresholds(aw.Robot.from_dh([[0.0, 0.0, 0.3, 0.0]], name="bare"), LAW, (OBSERVER,), 500.0)
