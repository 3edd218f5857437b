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
