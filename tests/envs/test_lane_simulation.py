# SPDX-License-Identifier: Apache-2.0
"""Lanes of a loop: each as if it were alone, begun anew by itself, never stopped by another."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.contact.detectors import norm_detector
from armwright.contact.observers import momentum_observer
from armwright.control import as_law
from armwright.envs import LaneSimulation
from armwright.errors import InputError

COUNT, TICKS = 11, 7  # a whole SIMD group of any machine, and a rest


def push(q, qd, action, memory):
    return action - 0.3 * qd + 0.01 * memory, {"memory": memory + q}


@pytest.fixture(scope="module")
def loop(planar2):
    law = as_law(push, memory={"memory": 0.0}, action=np.zeros((1, 2)))
    return aw.Loop.of(planar2, law, rate=200.0, monitors=[momentum_observer(30.0), norm_detector(2.0)])


@pytest.fixture
def states():
    return np.random.default_rng(2).uniform(-0.5, 0.5, (COUNT, 4))


def run(loop, x, actions, count=1):
    lanes = LaneSimulation(loop, count, TICKS, watched=("alarm", "level"))
    lanes.put(np.arange(count), {"x": x})
    for action in actions:
        lanes.set("gain_action", action)
        found = lanes.run()
    return lanes.get("x"), found


def test_a_lane_is_the_simulation_that_simulate_makes(loop, states):
    action = np.array([[0.3, -0.2]])
    x, found = run(loop, states[:1], [action] * 3)
    law = as_law(push, memory={"memory": 0.0}, action=action[0])
    whole = aw.simulate(
        loop.robot,
        law,
        np.zeros(2),
        3 * TICKS / 200.0,
        q0=states[0, :2],
        qd0=states[0, 2:],
        rate=200.0,
        monitors=loop.monitors,
        stop_on_alarm=False,
    )
    np.testing.assert_allclose(x[0], np.concatenate([whole["q"][-1], whole["qd"][-1]]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["level"][0], whole["level"][2 * TICKS : 3 * TICKS].reshape(-1, 1), atol=1e-10)


def test_a_lane_that_begins_anew_is_new_and_the_others_go_on(loop, states):
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1.0, 1.0, (6, COUNT, 2))
    lanes = LaneSimulation(loop, COUNT, TICKS, watched=("level",))
    lanes.put(np.arange(COUNT), {"x": states})
    begun = np.array([0, 4, COUNT - 1])
    for k, action in enumerate(actions):
        if k == 3:
            lanes.put(begun, {"x": states[begun] + 0.1})
        lanes.set("gain_action", action)
        found = lanes.run()
    for lane in range(COUNT):
        x0, first = (states[lane] + 0.1, 3) if lane in begun else (states[lane], 0)
        alone, seen = run(loop, x0[None], actions[first:, lane, None])
        np.testing.assert_allclose(lanes.get("x")[lane], alone[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(found["level"][lane], seen["level"][0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("lost", [np.nan, 1e308])
def test_a_lane_that_flies_apart_or_raises_an_alarm_stops_no_other(loop, states, lost):
    actions = np.zeros((4, COUNT, 2))
    actions[1:, 3] = lost
    actions[:, 5] = 50.0
    lanes = LaneSimulation(loop, COUNT, TICKS, watched=("alarm",))
    lanes.put(np.arange(COUNT), {"x": states})
    for action in actions:
        lanes.set("gain_action", action)
        lanes.run()
    assert not np.isfinite(lanes.get("x")[3]).all()
    for lane in (2, 4, COUNT - 1):
        alone, _ = run(loop, states[[lane]], actions[:, [lane]])
        np.testing.assert_allclose(lanes.get("x")[lane], alone[0], atol=1e-12)
    lanes.put(np.array([3]), {"x": states[[3]]})
    lanes.set("gain_action", np.zeros((COUNT, 2)))
    lanes.run()
    np.testing.assert_allclose(lanes.get("x")[3], run(loop, states[[3]], np.zeros((1, 1, 2)))[0][0], atol=1e-12)


def test_what_would_stop_a_loop_is_refused(planar2, loop):
    with pytest.raises(InputError, match="events"):
        LaneSimulation(aw.Loop.of(planar2, events={"low": lambda q: q[0]}), 2, 3)
    with pytest.raises(InputError, match="no slot 'alarms'"):
        LaneSimulation(loop, 2, 3, watched=("alarms",))
