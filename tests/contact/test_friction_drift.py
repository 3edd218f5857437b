# SPDX-License-Identifier: Apache-2.0
"""Friction that drifts is followed, no faster than stated; contacts are not taken for it."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.contact.monitor import Monitor
from armwright.contact.monitor_run import run_monitors
from armwright.contact.observers import friction_drift
from armwright.dynamics.terms import friction_torque
from armwright.errors import InputError
from armwright.motion import Reference

GIVEN = Monitor("given", lambda tau: {"tau_ext": tau}, outputs=("tau_ext",))
DT = 4e-3


@pytest.fixture(scope="module")
def arm():
    return aw.load("ur5-kufieta-c")


def swinging(arm, seconds):
    """Moves there and back: times, reference, friction torque of the model."""
    t = DT * np.arange(round(seconds / DT))
    phase = 2.0 * np.pi * t[:, None] / np.array([4.0, 5.0, 3.0, 4.0, 3.5, 4.5])
    ref = Reference(0.5 * np.sin(phase), np.cos(phase), -np.sin(phase))
    return t, ref, np.array([friction_torque(arm.tree, v) for v in ref.qd])


def followed(arm, t, ref, tau_ext, **options):
    x = np.asarray(tau_ext)
    out = run_monitors([GIVEN, friction_drift(**options)], arm, t, x, x, x, ref)
    return out["friction drift.tau_ext"], out["friction_drift"]


def test_drift_to_1_4_is_taken_out(arm):
    """Friction grows by 40 % in four minutes, on top of errors of gravity: a tenth of the dry part is left."""
    t, ref, friction = swinging(arm, 480.0)
    offset = np.array([0.0, 3.0, -2.0, 0.2, 0.0, 0.0]) * np.cos(ref.q)
    left, drift = followed(arm, t, ref, offset - 0.4 * np.minimum(t / 240.0, 1.0)[:, None] * friction)
    moving = np.abs(ref.qd) > 0.3
    late = t > 440.0
    np.testing.assert_allclose(drift[late], 0.4, atol=0.06)
    worst = np.where(moving, np.abs(left - offset), 0.0)[late].max(axis=0)
    assert (worst < 0.25 * 0.4 * np.abs(friction).max(axis=0)).all()


def test_no_more_than_the_stated_share_a_second_is_taken_for_drift(arm):
    t, ref, friction = swinging(arm, 12.0)
    for torque in (-0.9 * friction, 0.9 * friction, -30.0 * np.sign(friction)):
        _, drift = followed(arm, t, ref, torque, rate=0.02)
        assert (np.abs(np.diff(drift, axis=0)) <= 0.02 * DT + 1e-12).all()
    assert np.abs(followed(arm, t, ref, -30.0 * np.sign(ref.qd))[1]).max() == 0.0  # more than friction: a contact
    _, drift = followed(arm, t, ref, -0.9 * friction, rate=5.0, largest=0.3)
    assert np.abs(drift).max() == pytest.approx(0.3)


def test_a_ramp_keeps_its_torque(arm):
    """10 N m/s for a second, as 20 N/s at half a metre: at least 97 % of it is still seen."""
    t, ref, _ = swinging(arm, 3.0)
    ramp = np.clip(t - 1.5, 0.0, 1.0)[:, None] * np.array([10.0, 10.0, 10.0, 0.0, 0.0, 0.0])
    left, _ = followed(arm, t, ref, ramp)
    end = np.searchsorted(t, 2.5)
    assert (left[end, :3] >= 0.97 * ramp[end, :3]).all()


def test_bad_input():
    with pytest.raises(InputError, match="largest"):
        friction_drift(largest=1.5)
    with pytest.raises(InputError):
        friction_drift(-1.0)
