# SPDX-License-Identifier: Apache-2.0
"""Exciting motions: limits hold at all times, shapes are kept clear of, and parameters show better than by chance."""

from __future__ import annotations

import json

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.errors import InputError
from armwright.identify import excite
from armwright.identify.excitation import Excitation, arm_among, at_rest, expected_deviations, fourier, information
from armwright.identify.identifiable import structure
from armwright.world import World
from armwright.world.shapes import HalfSpace


def arm():
    robot = aw.load("ur5")
    return robot.chain(tip=robot.bodies[2].name)


@pytest.fixture(scope="module")
def found():
    return excite(arm(), seconds=10.0, velocity=1.5, acceleration=3.0, starts=1, iterations=15)


def test_motions_begin_and_end_at_rest_and_repeat():
    A, B = at_rest(5)
    rng = np.random.default_rng(0)
    y = rng.normal(size=(2, 4, 2))
    motion = Excitation(7.0, np.zeros(2), A @ y[0], B @ y[1], np.zeros(0), (), 1.0)
    q, qd, qdd = motion.reference(np.array([0.0, 7.0]))
    np.testing.assert_allclose(q[0], q[1], atol=1e-12)
    np.testing.assert_allclose([qd, qdd], 0.0, atol=1e-10)


def test_speed_and_acceleration_are_derivatives():
    rng = np.random.default_rng(1)
    parts = (rng.normal(size=2), *rng.normal(size=(2, 3, 2)))
    t, h = np.linspace(0.3, 2.0, 7), 1e-5
    _, qd, qdd = fourier(t, 3.0, *parts)
    plus, minus = fourier(t + h, 3.0, *parts), fourier(t - h, 3.0, *parts)
    np.testing.assert_allclose(qd, (plus[0] - minus[0]) / (2 * h), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(qdd, (plus[1] - minus[1]) / (2 * h), rtol=1e-6, atol=1e-6)


def test_peaks_bound_the_motion_at_every_instant(found):
    low, high, speed, push = found.peaks()
    t = np.random.default_rng(2).uniform(0.0, found.period, 20_000)
    q, qd, qdd = found.reference(t)
    assert (q >= low).all() and (q <= high).all()
    assert (np.abs(qd) <= speed).all() and (np.abs(qdd) <= push).all()


def test_limits_hold(found):
    robot = arm()
    low, high, speed, push = found.peaks()
    assert (speed <= 1.5).all() and (push <= 3.0).all()
    assert (low >= np.maximum(robot.lower, -np.pi)).all() and (high <= np.minimum(robot.upper, np.pi)).all()
    q, qd, qdd = found.reference(np.linspace(0.0, found.period, 2001))
    effort = [joint.limits.effort for joint in robot.joints]
    assert (np.abs(aw.inverse_dynamics(robot, q, qd, qdd)) <= effort).all()


def test_parameters_show_better_than_in_a_random_motion_of_the_same_limits(found):
    model, sigma = structure(arm()), np.array([1.5, 1.5, 1.5])
    A, B = at_rest(5)
    better = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=(2, 4, 3))
        other = Excitation(10.0, rng.uniform(-1.0, 1.0, 3), A @ y[0], B @ y[1], np.zeros(0), (), 1.0)
        _, _, speed, push = other.peaks()
        size = min(1.0, float(np.min(1.5 / speed)), float(np.min(3.0 / push)))
        t = np.arange(1000) / 100.0
        ours, theirs = (
            expected_deviations(information(model, *(x[None] for x in fourier(t, 10.0, *parts)), sigma)[0][0])[0]
            for parts in (
                (found.centre, found.sine, found.cosine),
                (other.centre, size * other.sine, size * other.cosine),
            )
        )
        better.append(np.mean(ours / theirs))
    assert np.median(better) < 0.75


def test_shapes_are_kept_clear_of():
    robot = arm()
    floor = World((HalfSpace(name="floor", point=(0.0, 0.0, -0.05)),))
    motion = excite(robot, seconds=10.0, velocity=1.0, world=floor, starts=2, iterations=10)
    among = arm_among(robot, floor)
    q = motion.reference(np.linspace(0.0, 10.0, 3001)).q
    assert among.clearance(q).min() > 0.0
    assert motion.clearance > 0.0


def test_bad_requests_are_refused_in_words():
    with pytest.raises(InputError, match="harmonics"):
        excite(arm(), harmonics=1)
    with pytest.raises(InputError, match="lower"):
        excite(arm(), lower=1.0, upper=-1.0)
    with pytest.raises(InputError, match="noise"):
        excite(arm(), noise=0.0)


def test_the_command_writes_a_table(tmp_path, capsys):
    (tmp_path / "arm.toml").write_text(arm().to_sheet(), encoding="utf-8")
    words = ["excite", str(tmp_path / "arm.toml"), "--duration", "5", "--starts", "1", "--iterations", "3"]
    assert main([*words, "--out", str(tmp_path / "m.csv"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    table = np.genfromtxt(tmp_path / "m.csv", delimiter=",", names=True)
    assert len(table) == 501 and len(told["centre"]) == 3
    np.testing.assert_allclose(table["qd_0"][[0, -1]], 0.0, atol=1e-9)
