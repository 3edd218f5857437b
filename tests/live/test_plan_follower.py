# SPDX-License-Identifier: Apache-2.0
"""Where in a plan a robot is: at another pace, over waits, there and back, off the plan and on it again."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.live.plan_follower import PlanFollower
from armwright.motion import quintic

DT, RATE = 0.01, 0.008
HOME = np.array([0.1, -1.2, 1.4, 0.0, 0.5, 0.0])
AWAY = HOME + np.array([0.6, 0.3, -0.4, 0.2, 0.0, 0.1])


def plan():
    """There in 2 s, a wait of 1.5 s, back on the same way in 1.6 s."""
    there, back = (
        quintic(a, b, d).evaluate(DT * np.arange(round(d / DT) + 1)).q
        for a, b, d in ((HOME, AWAY, 2.0), (AWAY, HOME, 1.6))
    )
    return np.concatenate([there, np.tile(AWAY, (150, 1)), back[1:]])


def at(t):
    """The plan at times t."""
    q = plan()
    k = np.arange(len(q)) * DT
    return np.stack([np.interp(t, k, q[:, j]) for j in range(6)], axis=1)


def followed(times, follower=None, start=0.0):
    """Take the plan at these times of it, one a sample."""
    follower = follower or PlanFollower(plan(), DT)
    return [follower.take(start + RATE * k, x) for k, x in enumerate(at(np.asarray(times)))]


@pytest.mark.parametrize("pace", [1.0, 0.8, 1.3])
def test_a_robot_at_another_pace_is_found_and_its_lateness_told(pace):
    times = np.concatenate([np.zeros(50), pace * RATE * np.arange(round(5.1 / pace / RATE))])
    places = followed(times)
    assert {place.state for place in places[:50]} == {"waiting"}
    found = np.array([place.time for place in places[60:]])
    moving = (np.abs(times[60:] - 2.75) > 0.9) & (times[60:] > 0.3) & (times[60:] < 4.8)  # a wait goes at its own pace
    assert np.abs(found - times[60:])[moving].max() < 0.02
    assert all(place.state == "on" for place in places[70:-60])
    assert (np.diff(found) > -0.02).all()
    late = np.array([place.late for place in places[60:]])[moving]
    expected = (times[60:] / pace - times[60:])[moving]
    assert np.abs(late - expected - np.median(late - expected)).max() < 0.06


def test_a_longer_wait_is_late_and_a_shorter_one_early_and_the_end_is_told():
    for wait in (0.5, 2.5):
        times = np.concatenate([np.arange(0.0, 2.0, RATE), np.full(round(wait / RATE), 2.5), np.arange(3.5, 5.1, RATE)])
        places = followed(np.concatenate([times, np.full(60, 5.1)]))
        assert places[-1].state == "over"
        assert places[-60].late == pytest.approx(wait - 1.5, abs=0.15)
        assert max(place.deviation for place in places[10:]) < 1e-3


def test_a_robot_that_goes_elsewhere_is_off_and_found_again():
    follower = PlanFollower(plan(), DT)
    followed(np.arange(0.0, 1.0, RATE), follower)
    x = at(np.array([1.0]))[0]
    states = [follower.take(1.0 + RATE * k, x + 0.001 * k * np.ones(6)).state for k in range(200)]
    assert states[0] == "on" and states[-1] == "off"
    places = followed(np.arange(0.8, 1.6, RATE), follower, 3.0)
    assert places[-1].state == "on" and places[-1].time == pytest.approx(1.6, abs=0.02)
    assert places[-1].late == pytest.approx(3.0 - 0.8, abs=0.05)  # since it was on the plan first
    follower.forget()
    assert follower.place.state == "waiting" and np.isnan(follower.place.late)


def test_a_robot_that_stands_elsewhere_is_waited_for():
    follower = PlanFollower(plan(), DT)
    assert {follower.take(RATE * k, HOME + 0.3).state for k in range(50)} == {"waiting"}
    assert follower.place.deviation == pytest.approx(0.3, abs=0.3)
    assert followed(np.arange(0.0, 1.0, RATE), follower, 1.0)[-1].state == "on"


def test_a_loop_begins_at_its_beginning_and_not_at_its_end():
    """The last step to the first target is the way on which the loop ends, too."""
    follower = PlanFollower(plan(), DT)
    approach = at(np.arange(4.9, 5.1, RATE))
    for k, x in enumerate(approach[np.abs(approach - HOME).max(axis=1) < 0.01]):
        assert follower.take(RATE * k, x).state == "waiting"
    assert followed(np.arange(0.0, 1.0, RATE), follower, 1.0)[-1].time == pytest.approx(1.0, abs=0.02)


def test_what_is_no_plan_is_refused():
    for wrong in (np.zeros((1, 6)), np.full((3, 6), np.nan), np.zeros(6)):
        with pytest.raises(InputError, match="plan"):
            PlanFollower(wrong, DT)
