# SPDX-License-Identifier: Apache-2.0
"""Monitors next to an arm on a wire: the numbers of the offline run, whatever the wire does to the stamps."""

import numpy as np
import pytest

import armwright as aw
from armwright.contact.monitor import Monitor
from armwright.contact.monitor_run import run_monitors
from armwright.contact.observers import momentum_observer
from armwright.errors import InputError
from armwright.motion.trajectory import Reference
from armwright.simulation.monitor_stream import MonitorStream

ARM = aw.load("ur5")
DT = 0.01
OBSERVER = momentum_observer(20.0)


def motion(ticks):
    t = DT * np.arange(ticks)
    w = np.arange(1.0, 7.0)
    return t, np.sin(np.outer(t, w)), w * np.cos(np.outer(t, w)), 3.0 * np.cos(np.outer(t, w))


def offline(t, q, qd, tau):
    return run_monitors(OBSERVER, ARM, t, q, qd, tau)["tau_ext"]


def test_in_any_pieces_it_is_the_offline_run():
    given = motion(60)
    for pieces in (1, 7, 60):
        stream = MonitorStream(OBSERVER, ARM, DT)
        parts = [stream.push(*(x[k] for x in given))["tau_ext"] for k in np.array_split(np.arange(60), pieces)]
        assert np.array_equal(np.concatenate(parts), offline(*given))


def test_what_is_left_out_leaves_the_last_outputs_and_everything_after_as_it_was():
    t, q, qd, tau = motion(30)
    bad = np.array([0, 1, 2, 2, 1, 3, 4, *range(4, 30)])
    given = [x[bad].copy() for x in (t, q, qd, tau)]
    given[1][6, 3] = np.nan  # the first of the two samples 4
    stream = MonitorStream(OBSERVER, ARM, DT)
    felt = stream.push(*given)["tau_ext"]
    assert stream.said[:8] == ["start", "cycle", "cycle", "repeated", "old", "cycle", "not finite", "cycle"]
    keep = [k for k, word in enumerate(stream.said) if word in ("start", "cycle")]
    expected = offline(t, q, qd, tau)
    assert np.array_equal(felt[keep], expected)
    assert np.array_equal(felt[3], expected[2]) and np.array_equal(felt[4], expected[2])


def test_missing_samples_are_filled_along_a_line_and_a_restart_begins_anew():
    t, q, qd, tau = motion(30)
    gap = np.r_[0:10, 13:30]
    stream = MonitorStream(OBSERVER, ARM, DT)
    felt = stream.push(*(x[gap] for x in (t, q, qd, tau)))["tau_ext"]
    filled = [x.copy() for x in (t, q, qd, tau)]
    for x in filled[1:]:
        for k, share in ((10, 1 / 4), (11, 2 / 4), (12, 3 / 4)):
            x[k] = x[9] + (x[13] - x[9]) * share
    assert stream.order.counts["lost"] == 1
    np.testing.assert_allclose(felt, offline(*filled)[gap], rtol=1e-12, atol=1e-12)
    again = stream.push(t - 100.0, q, qd, tau)["tau_ext"]  # the controller was started anew
    assert stream.said[0] == "restart" and np.array_equal(again, offline(t, q, qd, tau))


def test_numbers_that_no_arm_can_have_make_it_begin_anew():
    t, q, qd, tau = motion(12)
    wild = tau.copy()
    wild[5] = 1e308
    stream = MonitorStream(OBSERVER, ARM, DT)
    for k in range(6):
        felt = stream.push(
            t[k : k + 1], q[k : k + 1], 1e200 * qd[k : k + 1] if k == 5 else qd[k : k + 1], wild[k : k + 1]
        )
    assert np.isfinite(felt["tau_ext"]).all()
    rest = stream.push(t[6:], q[6:], qd[6:], tau[6:])["tau_ext"]
    assert np.isfinite(rest).all()


def test_references_are_read():
    follows = Monitor("error", lambda q, q_ref: {"error": q_ref - q}, {}, {}, ("error",), "q_ref − q")
    t, q, qd, tau = motion(10)
    stream = MonitorStream(follows, ARM, DT)
    with pytest.raises(InputError, match="q_ref is read"):
        stream.push(t, q, qd, tau)
    felt = MonitorStream(follows, ARM, DT).push(t, q, qd, tau, Reference(q + 0.5, qd, tau))
    np.testing.assert_allclose(felt["error"], 0.5, atol=1e-15)
