# SPDX-License-Identifier: Apache-2.0
"""Detectors: edges, hysteresis, run lengths, learned thresholds, noise floors; and the tool wrench they may watch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm, poisson

import armwright as aw
from armwright.contact.detectors import (
    adaptive_detector,
    check_above_noise,
    cusum_detector,
    joint_detector,
    learn_from_recordings,
    learn_thresholds,
    noise_floor,
    norm_detector,
)
from armwright.contact.detectors.threshold_learning import tail_margin
from armwright.contact.monitor import Monitor, evaluate_monitor, with_gains
from armwright.contact.monitor_run import rising_edges, run_monitors
from armwright.contact.observers import momentum_observer
from armwright.contact.wrench_estimate import tool_wrench, wrench_observer
from armwright.control import computed_torque
from armwright.dynamics import gravity_torque
from armwright.errors import InputError
from armwright.kinematics.jacobians import frame_jacobian
from armwright.motion import Reference, quintic
from armwright.robot.kernels import compile as compile_for
from armwright.simulation import simulate

Q0 = np.array([0.3, -1.2, 1.4, -0.9, 1.2, 0.2])
SENSORS = {"position_resolution": 1e-5, "velocity_noise": 1e-3}
PASS = Monitor("given", lambda tau: {"tau_ext": tau}, outputs=("tau_ext",))  # what is put in comes out as tau_ext


def fed(detector, robot, tau_ext, ref=None):
    x = np.asarray(tau_ext, dtype=float)
    zero = np.zeros_like(x)
    t = 1e-3 * np.arange(x.shape[-2])
    return run_monitors(
        [PASS, detector], robot, t, zero, zero, x, ref or Reference(zero, zero, zero), keep=("alarm", "level")
    )


def test_one_edge_per_contact_with_hysteresis(planar2):
    t = np.arange(4000)
    wave = np.where((t > 1000) & (t < 3000), 10.0, 0.0) + 1.5 * np.sin(0.5 * t)  # jitters across 10 while in contact
    x = np.stack([wave, 0.0 * wave], axis=1)
    for make in (
        lambda release: norm_detector(10.0, release=release),
        lambda release: joint_detector([10.0, 3.0], release=release),
    ):
        once, often = (rising_edges(fed(make(release), planar2, x)["alarm"]).sum() for release in (0.7, 1.0))
        assert once == 1 and often > 50
    out = fed(norm_detector(10.0, release=0.7), planar2, x)
    on = out["alarm"] >= 0.0
    assert on[1010:2990].all() and not on[:1000].any() and not on[3010:].any()
    np.testing.assert_allclose(out["level"], np.abs(wave) / 10.0, atol=1e-12)


def test_joint_thresholds_are_the_joints_own(planar2):
    x = np.array([[4.9, -1.9], [5.1, 0.0], [0.0, -2.1], [0.0, 0.0]])
    np.testing.assert_array_equal(
        fed(joint_detector([5.0, 2.0], release=1.0), planar2, x)["alarm"] >= 0.0, [False, True, True, False]
    )


def test_adaptive_threshold_follows_the_desired_motion(planar2):
    x = np.full((3, 2), 3.0)
    ref = Reference(
        np.zeros((3, 2)),
        np.array([[0.0, 0.0], [-1.0, 1.0], [0.0, 0.0]]),
        np.array([[0.0, 0.0], [0.0, 0.0], [-4.0, 4.0]]),
    )
    level = fed(adaptive_detector(2.0, 2.0, 1.0), planar2, x, ref)["level"]
    np.testing.assert_allclose(level, [3.0 / 2.0, 3.0 / 4.0, 3.0 / 6.0])
    weight = np.abs(gravity_torque(planar2, np.zeros(2)))
    level = fed(adaptive_detector(2.0, 0.0, 0.0, 0.1), planar2, x, ref)["level"]
    np.testing.assert_allclose(level, (3.0 / (2.0 + 0.1 * weight)).max())


@pytest.mark.parametrize(
    "threshold, shift, expected", [(4.0, 0.0, 168.0), (5.0, 0.0, 465.0), (4.0, 1.0, 8.38), (5.0, 1.0, 10.4)]
)
def test_cusum_run_lengths(planar2, threshold, shift, expected):
    """Average run lengths of the two-sided scheme with drift ½ as tabulated for independent normal samples."""
    rng = np.random.default_rng(7)
    runs, ticks = 1500, 4000 if shift == 0.0 else 100
    x = np.zeros((runs, ticks, 2))
    x[..., 0] = rng.normal(size=(runs, ticks)) + shift
    alarm = fed(cusum_detector(1.0, drift=0.5, threshold=threshold), planar2, x)["alarm"]
    length = np.argmax(alarm >= 0.0, axis=1) + 1
    assert (alarm >= 0.0).any(axis=1).mean() > 0.995
    assert length.mean() == pytest.approx(expected, rel=4.0 / np.sqrt(runs))


def test_cusum_finds_what_a_threshold_misses(planar2):
    rng = np.random.default_rng(1)
    x = np.zeros((2000, 2))
    x[:, 0] = rng.normal(size=2000) + np.where(np.arange(2000) > 1000, 1.0, 0.0)
    assert not (fed(norm_detector(6.0), planar2, x)["alarm"] >= 0.0).any()
    sums = fed(cusum_detector(1.0, drift=0.5, threshold=15.0), planar2, x)["alarm"]
    assert 1000 < np.argmax(sums >= 0.0) < 1100


def test_offline_equals_tick_by_tick(ur5):
    rng = np.random.default_rng(2)
    q, qd, tau = Q0 + 0.01 * rng.normal(size=(40, 6)), 0.1 * rng.normal(size=(40, 6)), 20.0 * rng.normal(size=(40, 6))
    ref = Reference(q, qd, 3.0 * qd)
    chain = [momentum_observer(50.0), wrench_observer(), norm_detector(30.0, of="wrench_ext")]
    for detector in (joint_detector(2.0), adaptive_detector(1.0, 0.5, 0.1), cusum_detector(1.0)):
        for monitors in ([chain[0], detector], [*chain, detector]):
            fast = run_monitors(monitors, ur5, 1e-3 * np.arange(40), q, qd, tau, ref)
            memory = None
            for k in range(40):
                signals = {
                    "t": 1e-3 * k,
                    "dt": 1e-3,
                    "q": q[k],
                    "qd": qd[k],
                    "tau": tau[k],
                    "q_ref": q[k],
                    "qd_ref": qd[k],
                    "qdd_ref": 3.0 * qd[k],
                }
                slow, memory = evaluate_monitor(monitors, ur5, signals, memory)
                for name, value in slow.items():
                    np.testing.assert_allclose(fast[name][k], value, rtol=1e-7, atol=1e-7)


def test_learned_thresholds_hold_on_new_runs():
    rng = np.random.default_rng(5)
    T, n = 2000, 2
    t = 1e-3 * np.arange(T)
    qd, qdd = (
        np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1),
        np.stack([3 * np.cos(3 * t), -2 * np.sin(2 * t)], axis=1),
    )
    ref = Reference(0 * qd, qd, qdd)
    true = np.array([[0.5, 0.3], [2.0, 0.0], [0.0, 1.0]])

    def residuals(runs, seed):
        rng = np.random.default_rng(seed)
        size = true[0] + true[1] * np.abs(qd) + true[2] * np.abs(qdd)
        return size * rng.uniform(-1.0, 1.0, size=(runs, T, n))

    robot = aw.load("planar2")
    fit = learn_thresholds(residuals(60, 1), ref, 1e-3, robot, margin=1.1)
    weight = np.abs(gravity_torque(robot, np.zeros(2)))  # one configuration: what it adds cannot be told from a
    np.testing.assert_allclose([fit.a + fit.d * weight, fit.b, fit.c], 1.1 * true, atol=0.35)
    assert fit.hours == pytest.approx(60 * T * 1e-3 / 3600.0)
    level = fed(fit.detector(), robot, residuals(100, 2), ref)["level"]
    assert level.max() < 1.0 and level.max() > 0.8
    assert fit.false_alarms.value == 0.0 and fit.false_alarms.high == pytest.approx(2.9957 / fit.hours, rel=1e-3)
    tight = learn_thresholds(
        residuals(60, 1) * (1.0 + 0.2 * (rng.random((60, 1, 1)) > 0.9)), ref, 1e-3, robot, margin=1.0
    )
    assert tight.false_alarms.low <= tight.false_alarms.value <= tight.false_alarms.high
    with pytest.raises(InputError, match="B ≥ 2"):
        learn_thresholds(np.zeros((1, 5, 2)), ref, 1e-3, robot)


def test_margin_keeps_the_stated_rate():
    """Of margins from 0.2 h of normal noise each, no more than one in twenty lets through more than was asked for.

    The largest of m independent normal values a block; the true rate at a threshold is known exactly. Limits that hold
    with 95 % each time fail more than 42 times of 400 less than once in 10,000 times.
    """
    rng, m, blocks, rate = np.random.default_rng(8), 100, 720, 0.05
    exceeded, margins = 0, []
    for _ in range(400):
        # the largest |normal| of m: one uniform number through its distribution function
        peaks = norm.isf(0.5 * -np.expm1(np.log(rng.uniform(size=blocks)) / m))
        margin = tail_margin(peaks / 4.0, blocks / 3600.0, rate=rate, confidence=0.95)
        exceeded += -3600.0 * np.expm1(m * np.log1p(-2.0 * norm.sf(4.0 * margin))) > rate
        margins.append(4.0 * margin)
    assert exceeded <= binom.isf(1e-4, 400, 0.05)
    exact = norm.isf(0.5 * -np.expm1(np.log1p(-rate / 3600.0) / m))
    assert exact < np.median(margins) < 1.25 * exact  # and it does not cost much more than it has to
    fewer = [tail_margin(peaks[:k] / 4.0, k / 3600.0, rate=rate, confidence=0.95) for k in (12, 60, 720)]
    assert fewer[0] > fewer[2]  # little motion, wide thresholds
    with pytest.raises(InputError, match="two blocks"):
        tail_margin([1.0], 1.0, rate=1.0, confidence=0.95)


def test_learned_rate_is_kept_on_motions_that_were_never_seen(planar2):
    """Noise that grows with the inertia, seen in four motions of which each visits a part of the configurations."""
    T = 20_000

    def motion(seed):
        rng = np.random.default_rng(seed)
        q = np.cumsum(rng.normal(size=(40, 2)), axis=0).repeat(T // 40, axis=0)
        size = 0.2 + 0.1 * np.abs(gravity_torque(planar2, q)) / 10.0
        return size * rng.normal(size=(2, T, 2)), Reference(q, 0.0 * q, 0.0 * q)

    stacks, refs = zip(*(motion(seed) for seed in range(4)), strict=True)
    fit = learn_thresholds(stacks, refs, 1e-3, planar2, rate=0.5)
    assert (fit.rate, fit.confidence) == (0.5, 0.95) and fit.margin > 1.0
    alarms = 0
    for seed in range(10, 20):
        said, ref = motion(seed)
        alarms += int(rising_edges(fed(fit.detector(), planar2, said, ref)["level"] - 1.0).sum())
    assert alarms <= poisson.isf(1e-4, 0.5 * 10 * 2 * T * 1e-3 / 3600.0)
    fixed = learn_thresholds(stacks, refs, 1e-3, planar2, margin=1.5)
    assert fixed.margin == 1.5 and np.isnan(fixed.rate)


def test_runs_that_share_a_motion_teach_no_more_than_one(planar2):
    """Errors of a motion come back with every run of it: twenty copies of a run are no more evidence than one."""
    rng = np.random.default_rng(9)
    runs = [rng.normal(size=(1, 5000, 2)) * rng.uniform(0.8, 1.2) for _ in range(6)]
    refs = [Reference(*np.zeros((3, 5000, 2)))] * 6
    once, often = (learn_thresholds([np.repeat(x, k, axis=0) for x in runs], refs, 1e-3, planar2) for k in (1, 20))
    assert often.margin == pytest.approx(once.margin, rel=1e-12) and once.margin > 1.2
    np.testing.assert_allclose(often.a, once.a, rtol=1e-6)


def test_learning_from_recordings(ur5):
    law = computed_torque(500.0, 45.0)
    runs = simulate(
        ur5.with_payload(0.5),
        law,
        quintic(Q0, Q0 + 0.3, 0.4),
        model=ur5,
        count=4,
        q0=Q0 + 1e-3 * np.random.default_rng(0).normal(size=(4, 6)),
    )
    fit = learn_from_recordings(list(runs), momentum_observer(40.0), ur5)
    said = run_monitors(momentum_observer(40.0), ur5, runs.time, runs["q"], runs["qd"], runs["tau"])["tau_ext"]
    threshold = fit.a + fit.b * np.abs(runs["qd_ref"]) + fit.c * np.abs(runs["qdd_ref"])
    threshold = threshold + fit.d * np.abs(gravity_torque(ur5, runs["q_ref"]))
    assert (np.abs(said) < threshold).all()
    np.testing.assert_allclose(fit.peak, np.abs(said).max(axis=(0, 1)))


def test_thresholds_below_the_noise_floor_are_refused(ur5):
    observer = momentum_observer(100.0)
    floor = noise_floor(observer, ur5, Q0, **SENSORS)
    again = noise_floor(observer, ur5, Q0, position_resolution=1e-5, velocity_noise=2e-3)
    np.testing.assert_allclose(again / floor, 2.0, rtol=0.05)  # linear in the noise
    assert check_above_noise(observer, joint_detector(10.0 * floor), ur5, Q0, **SENSORS) < 1.0
    for low in (
        joint_detector(2.0 * floor),
        norm_detector(float(floor.max())),
        adaptive_detector(floor),
        cusum_detector(0.1 * floor),
    ):
        with pytest.raises(InputError, match="below the noise floor"):
            check_above_noise(observer, low, ur5, Q0, **SENSORS)


def test_bad_detectors():
    for make in (
        lambda: norm_detector(0.0),
        lambda: norm_detector(-1.0),
        lambda: joint_detector([1.0, np.nan]),
        lambda: adaptive_detector(1.0, -1.0),
        lambda: norm_detector(1.0, release=1.5),
        lambda: norm_detector(1.0, of="q"),
        lambda: cusum_detector(1.0, threshold=0.0),
        lambda: with_gains(norm_detector(1.0), gain=2.0),
    ):
        with pytest.raises(InputError):
            make()
    with pytest.raises(InputError, match="reads wrench_ext"):
        run_monitors([PASS, norm_detector(1.0, of="wrench_ext")], aw.load("planar2"), [0.0, 1.0], *np.zeros((3, 2, 2)))


# ---- the wrench at the tool ----------------------------------------------------------------------------------------


def test_wrench_is_recovered_away_from_singularities(ur5):
    F = np.array([20.0, -10.0, 5.0, 1.0, -2.0, 0.5])
    q = Q0 + 0.3 * np.random.default_rng(0).normal(size=(20, 6))
    tau = np.einsum("tij,i->tj", compile_for(frame_jacobian, ur5)(q), F)
    found = tool_wrench(ur5, q, tau, rcond=1e-4)
    assert found.reliable.all() and (found.rank == 6).all()
    np.testing.assert_allclose(found.wrench, np.tile(F, (20, 1)), rtol=1e-7, atol=1e-7)
    only = tool_wrench(
        ur5, q, np.einsum("tij,i->tj", compile_for(frame_jacobian, ur5)(q)[:, :3], F[:3]), force_only=True
    )
    np.testing.assert_allclose(only.wrench[:, :3], np.tile(F[:3], (20, 1)), rtol=1e-7, atol=1e-7)
    assert (only.condition < found.condition).all() and only.residual.max() < 1e-9
    assert (tool_wrench(ur5, q, tau, force_only=True).residual > 0.1).all()  # a moment is not explained by a force


@pytest.mark.parametrize("stretch", [0.0, 1e-9, 1e-6, 1e-4])
def test_singular_poses_are_reported_never_exploded(ur5, stretch):
    q = np.array([0.2, -0.8, stretch, 0.4, 0.9, 0.1])  # elbow straight
    F = np.array([20.0, -10.0, 5.0, 0.0, 0.0, 0.0])
    J = compile_for(frame_jacobian, ur5)(q)
    tau = J.T @ F + 0.1 * np.random.default_rng(0).normal(size=6)
    found = tool_wrench(ur5, q, tau)
    assert not found.reliable and found.rank < 6 and found.condition > 500.0
    assert np.isfinite(found.wrench).all() and np.linalg.norm(found.wrench) < 60.0
    P = found.observable
    np.testing.assert_allclose(P @ P, P, atol=1e-10)
    np.testing.assert_allclose(
        J.T @ (P @ F), J.T @ F, atol=0.02 * np.linalg.norm(J.T @ F)
    )  # what is lost is hardly felt
    damped = run_monitors(
        [PASS, wrench_observer(force_only=False)],
        ur5,
        [0.0, 1e-3],
        np.tile(q, (2, 1)),
        np.zeros((2, 6)),
        np.tile(tau, (2, 1)),
    )["wrench_ext"]
    assert np.linalg.norm(damped[0][:3]) < np.linalg.norm(tau) / 0.04 + 1e-9


def test_wrench_estimate_is_continuous_through_a_singularity(ur5):
    elbow = np.linspace(-0.6, 0.6, 12001)
    q = np.tile([0.2, -0.8, 0.0, 0.4, 1.4, 0.1], (len(elbow), 1))
    q[:, 2] = elbow
    tau = np.einsum("tij,i->tj", compile_for(frame_jacobian, ur5)(q), [20.0, -10.0, 5.0, 0.5, 0.0, 0.2])
    found = tool_wrench(ur5, q, tau)
    assert np.abs(np.diff(found.wrench, axis=0)).max() < 0.5
    assert found.reliable[0] and not found.reliable[6000]


def test_wrench_of_an_arm_with_few_joints(planar2):
    found = tool_wrench(planar2, [0.4, 0.9], [1.0, -2.0])
    assert found.rank == 2 and not found.reliable and np.isinf(found.condition) and np.isfinite(found.wrench).all()
    assert found.residual < 1e-9  # two torques are explained by some wrench
    with pytest.raises(InputError, match="rcond"):
        tool_wrench(planar2, [0.4, 0.9], [1.0, -2.0], rcond=0.0)
    with pytest.raises(InputError, match="finite"):
        tool_wrench(planar2, [0.4, 0.9], [np.nan, -2.0])
