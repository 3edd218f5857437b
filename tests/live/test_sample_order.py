# SPDX-License-Identifier: Apache-2.0
"""Samples are judged by their stamps, in one vocabulary."""

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.recording.sample_order import SampleOrder


def words(stamps, **how):
    order = SampleOrder(0.008, **how)
    return [order.judge(t) for t in stamps], order


def test_a_stream_on_time():
    said, order = words(10.0 + 0.008 * np.arange(5))
    assert said == ["start", *["cycle"] * 4]
    assert order.counts == {"start": 1, "cycle": 4}


def test_repeated_reordered_and_missing_samples():
    said, order = words([1.0, 1.008, 1.008, 1.0, 1.032])
    assert said == ["start", "cycle", "repeated", "old", "lost"]
    assert order.missing == 2


def test_a_long_pause_and_a_clock_that_was_set_back_are_another_stream():
    assert words([50.0, 60.0, 60.008, 0.008, 0.016])[0] == ["start", "restart", "cycle", "restart", "cycle"]


def test_numbers_that_are_not_finite_are_left_out_and_then_missing():
    order = SampleOrder(0.008)
    assert [order.judge(1.0), order.judge(1.008, finite=False), order.judge(float("nan"))] == [
        "start",
        "not finite",
        "not finite",
    ]
    assert order.judge(1.016) == "lost"
    assert order.missing == 1


def test_a_period_that_cannot_be_is_refused():
    with pytest.raises(InputError, match="period"):
        SampleOrder(0.0)
