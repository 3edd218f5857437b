# SPDX-License-Identifier: Apache-2.0
"""Trajectories: boundary conditions, continuity, peaks, clamping, joining; profiles within their limits."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import armwright as aw
from armwright import motion
from armwright.errors import InputError, NotSupportedError
from armwright.motion import Trajectory
from armwright.motion.scaling import velocity_factor

RNG = np.random.default_rng(7)
Q0, Q1, V0, V1, A0, A1 = RNG.normal(size=(6, 4))
WAYPOINTS = RNG.normal(size=(8, 4))


def samples():
    return {
        "cubic": motion.cubic(Q0, Q1, 1.3, qd0=V0, qd1=V1),
        "quintic": motion.quintic(Q0, Q1, 0.7, qd0=V0, qd1=V1, qdd0=A0, qdd1=A1),
        "trapezoid": motion.trapezoid(Q0, Q1, 1.0, [2.0, 3.0, 4.0, 1.0]),
        "smooth": motion.quintic_spline(WAYPOINTS, 5.0, qd0=V0, qdd1=A1),
        "central": motion.quintic_spline(WAYPOINTS, 5.0, velocities="central"),
        "document": motion.piecewise_quintic(WAYPOINTS, qd0=V0),
        "hold": motion.hold(Q0, 2.0),
    }


def test_boundary_conditions_are_met():
    for m, ends in (
        (samples()["cubic"], (Q0, V0, None, Q1, V1, None)),
        (samples()["quintic"], (Q0, V0, A0, Q1, V1, A1)),
        (samples()["smooth"], (WAYPOINTS[0], V0, 0 * A0, WAYPOINTS[-1], 0 * V1, A1)),
        (samples()["document"], (WAYPOINTS[0], V0, 0 * A0, WAYPOINTS[-1], 0 * V1, 0 * A1)),
    ):
        for got, want in zip((*m.start, *m.end), ends, strict=True):
            if want is not None:
                np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", samples())
def test_derivatives_belong_to_the_position(name):
    m, h = samples()[name], 1e-6
    t = np.setdiff1d(np.linspace(0.01, m.duration - 0.01, 57), m.breaks)
    t = t[np.abs(t[:, None] - m.breaks).min(axis=1) > 1e-4]
    now, before, after = m.evaluate(t), m.evaluate(t - h), m.evaluate(t + h)
    np.testing.assert_allclose((after.q - before.q) / (2 * h), now.qd, atol=1e-7, rtol=1e-7)
    np.testing.assert_allclose((after.qd - before.qd) / (2 * h), now.qdd, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", samples())
def test_peaks_are_exact(name):
    m = samples()[name]
    t = np.concatenate([np.linspace(0, m.duration, 20001), m.breaks])
    dense, p = m.evaluate(t), m.peaks()
    sides = m.within([0.0, 1.0])  # accelerations may jump at breaks
    qdd = np.maximum(np.abs(dense.qdd).max(0), np.abs(sides.qdd).max((0, 1)))
    for exact, sampled in (
        (p.qd, np.abs(dense.qd).max(0)),
        (p.qdd, qdd),
        (p.q_upper, dense.q.max(0)),
        (-p.q_lower, -dense.q.min(0)),
    ):
        assert (exact >= sampled - 1e-12).all()
        np.testing.assert_allclose(exact, sampled, rtol=2e-6, atol=1e-9)
    np.testing.assert_allclose(np.abs(m.evaluate(p.qd_time).qd)[np.arange(m.n), np.arange(m.n)], p.qd, atol=1e-8)


def test_continuity_orders():
    orders = {name: m.continuity() for name, m in samples().items()}
    assert orders["trapezoid"] == 1  # acceleration steps
    assert orders["document"] == 2  # zero acceleration at waypoints, jerk jumps
    assert orders["central"] == 3
    assert orders["smooth"] == 4
    c = np.zeros((2, 1, 1))
    c[1] = 1.0
    assert Trajectory([0.0, 1.0, 2.0], c).continuity() == -1


def test_spline_passes_its_waypoints_at_its_times():
    t = np.array([0.0, 0.4, 1.5, 1.9, 2.5, 3.5, 3.8, 5.0])
    velocities = RNG.normal(size=WAYPOINTS.shape)
    for options in (
        {},
        {"velocities": "central"},
        {"velocities": velocities},
        {"velocities": velocities, "accelerations": velocities[::-1]},
    ):
        m = motion.quintic_spline(WAYPOINTS, t, **options)
        now = m.evaluate(t)
        np.testing.assert_allclose(now.q, WAYPOINTS, atol=1e-12)
        assert m.continuity() >= 2
        if not isinstance(options.get("velocities", ""), str):
            np.testing.assert_allclose(now.qd, velocities, atol=1e-11)
        if "accelerations" in options:
            np.testing.assert_allclose(now.qdd, velocities[::-1], atol=1e-9)


def test_smooth_spline_reproduces_a_quintic():
    m = motion.quintic(Q0, Q1, 2.0, qd0=V0, qd1=V1, qdd0=A0, qdd1=A1)
    t = np.array([0.0, 0.3, 0.9, 1.4, 2.0])
    spline = motion.quintic_spline(m.evaluate(t).q, t, qd0=V0, qd1=V1, qdd0=A0, qdd1=A1)
    x = np.linspace(0, 2, 101)
    for a, b in zip(spline.evaluate(x), m.evaluate(x), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


def test_scheme_of_document_000():
    m = motion.piecewise_quintic(WAYPOINTS, qd0=V0)
    assert m.duration == 4.0  # round(8/2)
    assert motion.piecewise_quintic(WAYPOINTS[:7]).duration == 4.0  # 3.5 rounds up, as in the document's language
    knots = m.evaluate(m.breaks)
    np.testing.assert_allclose(np.diff(m.breaks), 4.0 / 7.0)
    np.testing.assert_allclose(knots.qdd, 0.0, atol=1e-11)
    np.testing.assert_allclose(knots.qd[1:-1], (WAYPOINTS[2:] - WAYPOINTS[:-2]) / (8.0 / 7.0), atol=1e-12)
    # the segment polynomial as printed (3.12)
    T, D = 4.0 / 7.0, WAYPOINTS[1] - WAYPOINTS[0]
    v0, v1 = V0 * T, knots.qd[1] * T
    printed = np.array(
        [WAYPOINTS[0], v0, 0 * D, 10 * D - 6 * v0 - 4 * v1, -15 * D + 8 * v0 + 7 * v1, 6 * D - 3 * (v0 + v1)]
    )
    np.testing.assert_allclose(m.coefficients[0] * T ** np.arange(6.0)[:, None], printed, atol=1e-12)


def test_clamped_outside_and_batched():
    m = samples()["quintic"]
    out = m.evaluate([[-1.0, 0.2], [m.duration + 1e-9, 1e9]])
    assert out.q.shape == out.qd.shape == out.qdd.shape == (2, 2, 4)
    np.testing.assert_array_equal(out.q[0, 0], m.start.q)
    np.testing.assert_array_equal(out.q[1], np.stack([m.end.q, m.end.q]))
    for still in (out.qd[0, 0], out.qdd[0, 0], out.qd[1], out.qdd[1]):
        np.testing.assert_array_equal(still, 0.0)
    assert np.abs(out.qd[0, 1]).min() > 0.0
    np.testing.assert_array_equal(m.evaluate(0.2).q, out.q[0, 1])


def test_join():
    first = motion.quintic(Q0, Q1, 1.0, qd1=V1)
    second = motion.cubic(Q1, Q0, 0.5, qd0=V1)
    both = first.then(second)
    assert both.duration == pytest.approx(1.5)
    assert both.continuity() == 1
    t = np.linspace(0, 0.5, 11)[1:]
    np.testing.assert_allclose(both.evaluate(1.0 + t).q, second.evaluate(t).q, atol=1e-12)
    np.testing.assert_allclose(both.evaluate(1.0 - t).qdd, first.evaluate(1.0 - t).qdd, atol=1e-9)
    with pytest.raises(InputError, match="acceleration of joint"):
        first.then(second, order=2)
    with pytest.raises(InputError, match="velocity of joint"):
        first.then(motion.hold(Q1, 1.0))
    assert first.then(motion.hold(Q1, 1.0), order=0).duration == 2.0
    with pytest.raises(InputError, match="position of joint"):
        first.then(motion.hold(Q0, 1.0), order=0)
    with pytest.raises(InputError, match="4 joints"):
        first.then(motion.hold([0.0], 1.0))


def test_sample_and_scale():
    m = samples()["smooth"]
    s = m.sample(100.0)
    assert s.t.size == 501
    assert s.t[-1] == m.duration
    np.testing.assert_allclose(s.qdd[-1], m.end.qdd)
    assert motion.hold(Q0, 0.995).sample(100.0).t[-1] == pytest.approx(1.0)
    slow = motion.stretch(m, 10.0)
    t = np.linspace(0, 5, 33)
    a, b = slow.evaluate(2 * t), m.evaluate(t)
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        np.testing.assert_allclose(x * 2.0**k, y, atol=1e-10)
    assert velocity_factor(m, velocity=m.peaks().qd) == pytest.approx(1.0)


def test_frozen():
    m = samples()["cubic"]
    with pytest.raises(ValueError):
        m.coefficients[0, 0, 0] = 1.0
    with pytest.raises(AttributeError):
        m.breaks = m.breaks


@pytest.mark.parametrize("fast", [0.1, 100.0])
def test_trapezoid_keeps_its_limits_and_touches_one(fast):
    v, a = fast * np.array([1.0, 2.0, 1.0, 3.0]), np.array([2.0, 3.0, 4.0, 1.0])
    m = motion.trapezoid(Q0, Q1, v, a)
    p = m.peaks()
    assert (p.qd <= v * (1 + 1e-12)).all()
    assert (p.qdd <= a * (1 + 1e-12)).all()
    assert (p.qdd / a).max() == pytest.approx(1.0)
    assert m.breaks.size == (4 if fast < 1 else 3)  # a triangle when the speed is never reached
    if fast < 1:
        assert (p.qd / v).max() == pytest.approx(1.0)
    np.testing.assert_allclose(m.end.q, Q1, atol=1e-13)
    straight = (m.evaluate(np.linspace(0, m.duration, 50)).q - Q0) / (Q1 - Q0)
    np.testing.assert_allclose(straight, straight[:, :1] * np.ones(4), atol=1e-12)
    np.testing.assert_allclose(motion.trapezoid(Q0, Q1, v, a, duration=20.0).end.q, Q1, atol=1e-12)
    with pytest.raises(InputError, match="need at least"):
        motion.trapezoid(Q0, Q1, v, a, duration=0.01)


def test_trapezoid_of_document_001():
    """The rated move of the RL15 takes 1.4676 s, axis 1 alone sets it, as a triangle."""
    robot = aw.load("rl15")
    v = np.array([j.limits.velocity for j in robot.joints])
    a = np.array([j.limits.acceleration for j in robot.joints])
    goal = np.deg2rad([-115.70, 55.70, 68.70, 0, 0, 0])
    m = motion.trapezoid(np.zeros(6), goal, v, a)
    assert m.duration == pytest.approx(1.4676, abs=5e-5)
    assert m.breaks.size == 3
    assert motion.trapezoid(np.zeros(6), goal, v, 4 * a).duration == pytest.approx(0.8654, abs=5e-5)


def test_jerk_limited_is_ruckigs_profile_exactly():
    ruckig = pytest.importorskip("ruckig", reason="extra [time]")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        q0, q1 = rng.normal(size=(2, 3))
        v, a, j = rng.uniform(0.5, 2, 3), rng.uniform(1, 4, 3), rng.uniform(5, 30, 3)
        qd0 = 1.6 * v * rng.uniform(-1, 1, 3)  # sometimes too fast at the start: it must brake
        m = motion.jerk_limited(q0, q1, v, a, j, qd0=qd0)
        assert m.continuity() >= 2
        for got, want in zip((*m.start, *m.end), (q0, qd0, 0, q1, 0, 0), strict=True):
            np.testing.assert_allclose(got, want + np.zeros(3), atol=1e-8)
        p = m.peaks()
        assert (p.qd <= np.maximum(v, np.abs(qd0)) + 1e-8).all()
        assert (p.qdd <= a + 1e-8).all()
        assert (np.abs(6 * m.coefficients[:, 3]) <= j + 1e-8).all()
        ask, found = ruckig.InputParameter(3), ruckig.Trajectory(3)
        ask.current_position, ask.target_position, ask.current_velocity = q0, q1, qd0
        ask.max_velocity, ask.max_acceleration, ask.max_jerk = v, a, j
        ruckig.Ruckig(3).calculate(ask, found)
        for t in np.linspace(0, found.duration, 17):
            for got, want in zip(m.evaluate(min(t, m.duration)), found.at_time(t), strict=True):
                np.testing.assert_allclose(got, want, atol=1e-7)


def test_jerk_limited_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ruckig", None)
    with pytest.raises(NotSupportedError, match=r"armwright\[time\]"):
        motion.jerk_limited(Q0, Q1, 1, 1, 1)


NAN4 = [0.0, np.nan, 0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: motion.quintic(NAN4, Q1, 1.0), "q0: every entry must be finite"),
        (lambda: motion.quintic(Q0, Q1[:3], 1.0), r"expected shape \(4,\)"),
        (lambda: motion.quintic(Q0, Q1, 0.0), "duration: must be finite and > 0"),
        (lambda: motion.cubic(Q0, Q1, -1.0), "duration"),
        (lambda: motion.cubic(Q0, Q1, np.inf), "duration"),
        (lambda: motion.cubic(Q0, Q1, "soon"), "duration: expected one number"),
        (lambda: motion.cubic(Q0, Q1, 1.0, qd0=[1.0]), "qd0: expected shape"),
        (lambda: motion.quintic([], [], 1.0), "q0"),
        (lambda: motion.trapezoid(Q0, Q1, 0.0, 1.0), "velocity: every limit must be > 0"),
        (lambda: motion.trapezoid(Q0, Q1, 1.0, NAN4), "acceleration: every limit"),
        (lambda: motion.trapezoid(Q0, Q1, 1.0, [1.0, 2.0]), r"shape \(4,\)"),
        (lambda: motion.trapezoid(Q0, Q0, 1.0, 1.0), "coincide"),
        (lambda: motion.trapezoid(Q0, Q1, 1.0, np.inf), "finite acceleration"),
        (lambda: motion.quintic_spline([Q0, Q1, Q1, Q0], 1.0), "rows 1 and 2 coincide"),
        (lambda: motion.quintic_spline([Q0], 1.0), "at least 2"),
        (lambda: motion.quintic_spline(Q0, 1.0), r"shape \(N, n\)"),
        (lambda: motion.quintic_spline([Q0, Q1], [0.0, 0.0]), "increase from 0"),
        (lambda: motion.quintic_spline([Q0, Q1], [0.0, 1.0, 2.0]), "one instant a waypoint"),
        (lambda: motion.quintic_spline([Q0, Q1], 1.0, velocities="fast"), "'smooth', 'central'"),
        (lambda: motion.quintic_spline([Q0, Q1], 1.0, velocities=[Q0]), r"expected shape \(2, 4\)"),
        (lambda: motion.quintic_spline([Q0, Q1], 1.0, velocities=[Q0, Q1], qd0=V0), "second time"),
        (lambda: motion.piecewise_quintic([Q0, Q1], 0.0), "duration"),
        (lambda: motion.hold(Q0, 1.0).evaluate(np.nan), "NaN"),
        (lambda: motion.hold(Q0, 1.0).evaluate("now"), "seconds"),
        (lambda: motion.hold(Q0, 1.0).sample(0.0), "rate"),
        (lambda: motion.time_scaled(motion.hold(Q0, 1.0), 0.0), "factor"),
        (lambda: motion.quintic_duration(Q0, Q0, acceleration=1.0), "coincide"),
        (lambda: Trajectory([0.0, 1.0], [[1.0]]), r"\(m, degree\+1, n\)"),
        (lambda: Trajectory([0.0, 0.0], [[[1.0]]]), "increase from 0"),
        (lambda: Trajectory([0.0, 1.0], [[[np.nan]]]), "finite"),
    ],
)
def test_bad_input_is_refused_with_what_would_be_valid(call, says):
    with pytest.raises(InputError, match=says):
        call()


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5, 7])
def test_many_instants_at_once_are_each_of_them(degree):
    """The compiled table against Horner, in any order, at breaks, before the start and after the end, in any cut."""
    rng = np.random.default_rng(degree)
    breaks = np.concatenate([[0.0], np.cumsum(rng.uniform(0.1, 1.0, 5))])
    path = Trajectory(breaks, rng.normal(size=(5, degree + 1, 4)))
    t = np.concatenate([rng.uniform(-1.0, breaks[-1] + 1.0, 2000), breaks, [0.0, breaks[-1]]])
    rng.shuffle(t)
    for times in (t, np.sort(t)):
        many = path.evaluate(times)
        single = [path.evaluate(instant) for instant in times]
        for k in range(3):
            assert many[k] == pytest.approx(np.array([row[k] for row in single]), rel=1e-12, abs=1e-13)
        cut = [path.evaluate(part) for part in np.split(times, [300, 700])]
        for k in range(3):
            assert np.array_equal(many[k], np.concatenate([part[k] for part in cut]))
