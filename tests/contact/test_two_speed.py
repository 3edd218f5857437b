# SPDX-License-Identifier: Apache-2.0
"""The two-speed detector: what it swallows, and what it notices sooner at the same rate of false alarms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import poisson

import armwright as aw
from armwright.contact.detectors import Rehearsed, TwoSpeed, learn_thresholds, learn_two_speed, two_speed_detector
from armwright.contact.monitor import Monitor
from armwright.contact.monitor_run import rising_edges, run_monitors
from armwright.contact.observers import momentum_observer
from armwright.detection.contact_study import detection_study
from armwright.detection.study_contacts import study_law, tool_moves
from armwright.detection.study_runs import StudyPush, Wall
from armwright.errors import InputError
from armwright.motion import Reference

W = np.array([22.5, 22.5, 75.0, 75.0, 75.0, 75.0])
GIVEN = Monitor("given", lambda tau: {"tau_ext": tau}, outputs=("tau_ext",))
ONE = np.array([[1.0, 1.0], *[[0.0, 0.0]] * 4])  # thresholds of 1 N m, whatever the motion


def fed(detector, robot, tau_ext):
    x = np.asarray(tau_ext, dtype=float)
    t = 1e-3 * np.arange(x.shape[-2])
    return run_monitors([GIVEN, detector], robot, t, x, x, x, Reference(0.0 * x, 0.0 * x + 1.0, 0.0 * x))


def torque(values):
    return np.stack([values, 0.0 * values], axis=-1)


@pytest.mark.parametrize("slope, noticed", [(1.8, False), (2.2, True)])
def test_a_ramp_is_swallowed_just_below_follow_times_the_threshold(planar2, slope, noticed):
    """The offset lags a ramp by slope/follow: that is all there is to see of it, however large it becomes."""
    t = 1e-3 * np.arange(10_000)
    out = fed(
        two_speed_detector(ONE, ONE, kind=TwoSpeed(follow=2.0)), planar2, torque(slope * np.maximum(t - 1.0, 0.0))
    )
    assert (out["level"] >= 1.0).any() == noticed
    if not noticed:
        assert out["level"][-1] == pytest.approx(slope / 2.0, rel=1e-2)


def test_a_lasting_offset_is_no_alarm_and_a_contact_is_not_forgotten(planar2):
    """An offset from before the beginning is tared; a step keeps its alarm until it goes, for one edge."""
    t = 1e-3 * np.arange(20_000)
    out = fed(two_speed_detector(ONE, ONE), planar2, torque(30.0 + np.where((t > 2.0) & (t < 15.0), 3.0, 0.0)))
    on = out["alarm"] >= 0.0
    assert not on[:2000].any() and on[2005:14_995].all() and not on[15_100:].any()
    assert rising_edges(out["alarm"]).sum() == 1


def test_standstill_widens_the_threshold_of_the_joint_that_stands_alone(planar2):
    wide = ONE.copy()
    wide[4] = 9.0
    x = np.zeros((2000, 2))
    x[1000:] = 3.0
    ref = Reference(0.0 * x, np.tile([0.0, 0.5], (2000, 1)), 0.0 * x)
    t = 1e-3 * np.arange(2000)
    level = run_monitors([GIVEN, two_speed_detector(wide, wide)], planar2, t, x, x, x, ref)["level"]
    assert level[1000] == pytest.approx(3.0, rel=0.01)  # the joint that moves; the other would say 0.3


def test_stated_rate_is_that_of_both_channels_together(planar2):
    """Normal noise: on new runs no more alarms than the stated rate allows; it is shared out between the channels."""
    ticks, rng = 40_000, np.random.default_rng(3)
    still = np.zeros((ticks, 2))
    ref = Reference(still, still + 1.0, still)
    stacks = [rng.normal(size=(2, ticks, 2)) for _ in range(4)]
    fit = learn_two_speed(stacks, [ref] * 4, 1e-3, planar2, rate=0.5)
    assert fit.rate == 0.5 and fit.quick.margin > 1.0 and fit.slowly.margin > 1.0
    assert (fit.slowly.coefficients[0] < fit.quick.coefficients[0]).all()  # a filter leaves less noise
    alarms = sum(
        int(rising_edges(fed(fit.detector(), planar2, rng.normal(size=(2, ticks, 2)))["level"] - 1.0).sum())
        for _ in range(10)
    )
    assert alarms <= poisson.isf(1e-4, 0.5 * 20 * ticks * 1e-3 / 3600.0)


@pytest.mark.parametrize(
    "free, learning, motions", [(48, 96, 24), pytest.param(96, 384, 96, marks=pytest.mark.thorough)]
)
def test_ramps_and_soft_contacts_are_noticed_sooner_and_impacts_no_later(free, learning, motions):
    """A ramp of 20 N/s and a contact of 1 kN/m, against learned absolute thresholds at the same stated rate."""
    arm = aw.load("ur5-kufieta-c")
    found = {}
    for name, contact, horizon in (
        ("impact", Wall(), 0.1),
        ("ramp", StudyPush(40.0, 2.0), 1.0),
        ("soft", Wall(1e3), 0.3),
    ):
        study = detection_study(
            arm,
            study_law(W**2, 2.0 * W),
            tool_moves(arm, 12, seed=5, travel=0.35),
            {"momentum": momentum_observer(100.0)},
            {"absolute": lambda fit: fit.detector(), "two-speed": TwoSpeed()},
            contact=contact,
            runs=96,
            free_runs=free,
            learning_runs=learning,
            learning_trajectories=tool_moves(arm, motions, seed=6, travel=0.35),
            horizon=horizon,
            scales=[1.0],
            seed=7,
        )
        found[name] = [study["momentum", kind].point(0) for kind in ("absolute", "two-speed")]
        assert study["momentum", "two-speed"].alarms[0] == 0
    (impact, impact_two), (ramp, ramp_two), (soft, soft_two) = found.values()
    assert impact_two.delay.value <= impact.delay.value and impact_two.missed.value == 0.0
    assert ramp_two.delay.high < 0.7 * min(ramp.delay.low, 1.0)
    assert soft_two.delay.high < 0.7 * soft.delay.low


def test_a_motion_that_leaves_what_was_rehearsed_is_flagged(planar2):
    t = np.linspace(0.0, 1.0, 500)[:, None]
    q = np.concatenate([t, 2.0 * t], axis=1)
    ref = Reference(q, 0.0 * q + [1.0, 2.0], 0.0 * q)
    noise = np.random.default_rng(0).normal(size=(8, 500, 2))
    for fit in (learn_thresholds(noise, ref, 1e-3, planar2), learn_two_speed(noise, ref, 1e-3, planar2)):
        box = fit.rehearsed
        np.testing.assert_allclose([box.lower, box.upper, box.speed], [[0.0, 0.0], [1.0, 2.0], [1.0, 2.0]])
        assert box.warning(ref) is None and (box.outside(ref) <= 0.0).all()
        far = Reference(1.5 * q, ref.qd, ref.qdd)
        fast = Reference(q, 1.5 * ref.qd, ref.qdd)
        assert "joint 2" in box.warning(far) and "joint 2" in box.warning(fast)
        out = run_monitors(box.monitor(), planar2, 1e-3 * np.arange(500), q, q, q, far)["outside"]
        np.testing.assert_allclose(out, box.outside(far), atol=1e-12)
        assert (out[:320] <= 0.0).all() and (out[350:] > 0.0).all()
    with pytest.raises(InputError, match="the motion must be"):
        box.outside(Reference(q[:, :1], q[:, :1], q[:, :1]))
    assert isinstance(box, Rehearsed)


def test_bad_two_speed_detectors(planar2):
    for make in (
        lambda: TwoSpeed(follow=100.0),
        lambda: TwoSpeed(tare=0.0),
        lambda: two_speed_detector(ONE[:3], ONE),
        lambda: two_speed_detector(-ONE, ONE),
        lambda: two_speed_detector(ONE, ONE[:, :1]),
        lambda: learn_two_speed(np.zeros((1, 10, 2)), Reference(*np.zeros((3, 10, 2))), 1e-3, planar2),
        lambda: learn_two_speed(np.zeros((2, 10, 2)), Reference(*np.zeros((3, 9, 2))), 1e-3, planar2),
    ):
        with pytest.raises(InputError):
            make()
