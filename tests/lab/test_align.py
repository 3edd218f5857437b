# SPDX-License-Identifier: Apache-2.0
"""Clocks from what two devices felt: offset and drift, from taps and from motion."""

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.lab import align


def test_slow_signals_are_aligned_without_bias():
    """A signal without edges fits best where it belongs, not where two windows overlap most."""
    t = np.arange(0.0, 40.0, 0.008)
    t_b = np.arange(0.0, 40.0, 0.01)
    true = 0.3 + (1.0 + 5e-4) * t_b

    def felt(at):
        return np.stack([np.sin(0.9 * at) + 0.3 * np.sin(2.3 * at), np.cos(0.7 * at), np.sin(1.9 * at + 1.0)], axis=1)

    noise = 0.01 * np.random.default_rng(4).standard_normal((len(t_b), 3))
    found = align(t, felt(t), t_b, 2.0 * felt(true) + noise, window=4.0)
    assert np.abs(found.to_a(t_b) - true).max() < 0.004
    assert found.drift == pytest.approx(5e-4, abs=max(2 * found.drift_interval, 2e-5))


def test_alignment_finds_offset_and_drift_of_a_tap_train():
    random = np.random.default_rng(3)
    t = np.arange(0.0, 60.0, 0.008)
    signal = sum(np.exp(-(((t - s) / 0.03) ** 2)) for s in random.uniform(1, 59, 40))
    t_b = np.arange(0.0, 60.0, 0.01)
    true = 0.35 + (1.0 + 3e-5) * t_b
    other = 4.0 * np.interp(true, t, signal) + 0.05 * random.standard_normal(len(t_b))
    found = align(t, signal, t_b, other)
    assert abs(found.offset - 0.35) <= max(2 * found.offset_interval, 1e-3)
    assert np.abs(found.to_a(t_b) - true).max() < 0.008
    assert found.drift == pytest.approx(3e-5, abs=max(2 * found.drift_interval, 1e-6))


def test_signals_with_nothing_in_common_are_refused():
    random = np.random.default_rng(1)
    t = np.arange(0.0, 20.0, 0.01)
    with pytest.raises(InputError, match="nothing in common"):
        align(t, random.standard_normal(len(t)), t, random.standard_normal(len(t)))


def test_windows_that_lie_off_the_line_are_left_out():
    """A push that one device feels late must not turn the clock."""
    random = np.random.default_rng(6)
    t = np.arange(0.0, 60.0, 0.008)
    signal = sum(np.exp(-(((t - s) / 0.03) ** 2)) for s in np.arange(1.0, 59.0, 1.3) + random.uniform(0, 0.4, 45))
    t_b = np.arange(0.0, 60.0, 0.01)
    true = 0.35 + (1.0 + 1e-4) * t_b
    late = np.where((true > 20.0) & (true < 30.0), true - 0.04, true)  # ten seconds in which b feels 40 ms late
    found = align(t, signal, t_b, np.interp(late, t, signal), window=2.0)
    assert np.abs(found.to_a(t_b) - true).max() < 0.003 and found.jitter < 0.003
    assert found.windows < 55


def test_few_windows_close_together_do_not_tell_a_drift():
    """Two seconds of taps in a record of forty: what is usual for clocks counts more than their scatter."""
    from armwright.lab.align_clocks import _line

    t, lag = np.array([10.0, 11.0, 12.0]), np.array([0.100, 0.102, 0.103])
    free, bound = _line(t, lag, np.ones(3)), _line(t, lag, np.ones(3), (0.0, 5e-4))
    assert free.drift == pytest.approx(1.5e-3, rel=1e-6) and abs(bound.drift) < 3e-4
    far = np.array([10.0, 25.0, 40.0])
    many = _line(far, 0.1 + 2e-3 * far, np.ones(3), (0.0, 5e-4))
    assert many.drift == pytest.approx(2e-3, rel=0.05)  # where the windows tell it, they are heard


def test_windows_that_agree_on_nothing_are_refused():
    random = np.random.default_rng(3)
    t = np.arange(0.0, 12.0, 0.01)
    a = random.standard_normal((len(t), 1))
    pieces = [
        np.roll(a[k : k + 300], shift, axis=0) for k, shift in zip(range(0, 1200, 300), (0, 5, -5, 3), strict=True)
    ]
    with pytest.raises(InputError, match=r"agree|stretches|in common"):
        align(t, a, t, np.concatenate(pieces), window=3.0)
