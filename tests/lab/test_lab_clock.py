# SPDX-License-Identifier: Apache-2.0
"""The lab's clock in a time of the test's own: deadlines, what is made up for, and how far ticks stand apart."""

import numpy as np
import pytest

from armwright.lab import lab_clock
from armwright.lab.lab_clock import CATCH_UP, SPACING, Clock

PERIOD = 0.002


class FakeTime:
    """Passes while somebody sleeps, or works."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        assert seconds > 0.0
        self.now += seconds


@pytest.fixture
def run(monkeypatch):
    """Run so many ticks, the k-th of which takes work(k) [s]; when each began, counted from the first deadline."""

    def run(count, work, period=PERIOD):
        fake, began = FakeTime(), []
        monkeypatch.setattr(lab_clock, "time", fake)

        def tick():
            began.append(fake.now - 100.0)
            fake.now += work(len(began) - 1)
            if len(began) == count:
                clock._end.set()

        clock = Clock(tick, period, fifo=False)
        clock._run()
        assert clock.error is None
        return np.array(began), clock

    return run


def test_ticks_keep_their_deadlines(run):
    began, clock = run(1000, lambda k: 1e-4)
    assert np.allclose(began, PERIOD * np.arange(1000)) and clock.late.worst < 1e-9


def test_what_is_late_is_made_up_for_but_never_within_a_millisecond(run):
    """One tick of 30 ms: all 1000 ticks come, the last in time, and from the end of one to the next 1 ms passes."""
    began, clock = run(1000, lambda k: 0.03 if k == 100 else 2e-4)
    ended = began + np.where(np.arange(1000) == 100, 0.03, 2e-4)
    assert (began[1:] - ended[:-1]).min() >= SPACING - 1e-12
    assert np.isclose(began[-1], PERIOD * 999) and clock.late.worst > 0.02 and clock.late.stalls == 0


def test_a_standstill_moves_the_deadlines_and_is_counted(run):
    began, clock = run(200, lambda k: 2.0 * CATCH_UP if k == 50 else 1e-4)
    assert clock.late.stalls == 1 and clock.late.stalled == pytest.approx(2.0 * CATCH_UP - PERIOD + SPACING)
    assert np.allclose(np.diff(began)[51:], PERIOD)


def test_at_a_high_pace_ticks_follow_each_other_at_once(run):
    """There is no room for a millisecond between ticks of 0.1 ms."""
    began, _ = run(1000, lambda k: 0.01 if k == 10 else 5e-5, period=1e-4)
    assert np.isclose(began[-1], 0.0999) and np.diff(began)[11:100].min() == pytest.approx(5e-5)
