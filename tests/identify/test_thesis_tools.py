# SPDX-License-Identifier: Apache-2.0
"""Tools of 004: PD gains that say when they cannot be known, and the accelerometer check."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import armwright as aw
from armwright.errors import InputError
from armwright.identify.controller_gains import pd_gains
from armwright.identify.filtered_log import low_pass
from armwright.identify.imu_check import check_accelerometer
from armwright.simulation import accelerometer
from support.simulated_logs import motion

T = np.arange(2800) / 125.0


def errors(e0, noise, seed=0, gains=(64.0, 16.0)):
    k0, k1 = gains
    found = solve_ivp(
        lambda _, x: [x[1], -k0 * x[0] - k1 * x[1]], (0, T[-1]), [e0, 0.0], t_eval=T, rtol=1e-10, atol=1e-14
    )
    rng = np.random.default_rng(seed)
    return found.y[0] + noise[0] * rng.normal(size=len(T)), found.y[1] + noise[1] * rng.normal(size=len(T))


@pytest.mark.parametrize("e0, share", [(0.05, 0.01), (0.01, 0.05)])
def test_gains_are_recovered_where_an_error_dies_out(e0, share):
    noise = (2e-5, 1e-3)
    found = pd_gains(T, *errors(e0, noise), noise=noise)
    assert found.verdict == "determined"
    assert found.k0.value == pytest.approx(64.0, rel=share) and found.k1.value == pytest.approx(16.0, rel=share)
    assert abs(found.k0.value - 64.0) < 4.0 * found.k0.deviation
    # every start of the thesis ends at the same place
    assert np.ptp([end for _, end, _ in found.ends], axis=0).max() < 0.01


def test_plain_tracking_leaves_the_gains_open_and_no_number_is_printed():
    rng = np.random.default_rng(1)
    found = pd_gains(T, 2e-4 * rng.normal(size=len(T)), 3e-3 * rng.normal(size=len(T)), bounds=(0.1, 120.0))
    assert found.k0.value is None or found.k1.value is None
    assert "0.01 rad" in found.verdict and "undetermined" in str(found.k0) + str(found.k1)
    assert found.profile.max() < 1.01  # flat: all gains explain the data equally well


def test_bad_tracking_data_are_refused():
    with pytest.raises(InputError, match="T ≥ 20"):
        pd_gains(T[:5], T[:5], T[:5])
    with pytest.raises(InputError, match="noise"):
        pd_gains(T, 0.0 * T, 0.0 * T)


MOUNT = np.eye(4)
MOUNT[:3, 3] = [0.01735, 0.00605, 0.0095]


def imu(tilt=0.0, lever=True, seed=0):
    robot = aw.load("ur5-kufieta-c")
    t, q, qd, qdd = motion(6, 20.0, rate=125.0, centre=np.array([0.3, -1.6, 1.7, -1.6, 1.5, 0.1]), reach=0.5)
    f = accelerometer(robot, q, qd, qdd, T_tool_sensor=MOUNT if lever else None)
    c, s = np.cos(tilt), np.sin(tilt)
    f = f @ np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]) + 0.02 * np.random.default_rng(seed).normal(
        size=f.shape
    )
    return robot, t, q, qd, qdd, f


def test_an_accelerometer_agrees_with_the_joints():
    found = check_accelerometer(*imu(), T_tool_sensor=MOUNT)
    assert (found.mae < 0.1).all()
    assert found.delay == pytest.approx(1.09, abs=0.01)


def test_a_tilted_mounting_shows_and_is_measured():
    found = check_accelerometer(*imu(np.radians(4.0)), T_tool_sensor=MOUNT)
    assert found.mae.max() > 0.3
    assert np.degrees(np.linalg.norm(found.tilt)) == pytest.approx(4.0, abs=0.3)
    assert (found.mae_without_tilt < 0.1).all()


def test_at_rest_the_corrected_reading_is_zero():
    robot, t, q, _, _, _ = imu()
    still, zero = np.repeat(q[:1], len(t), axis=0), np.zeros_like(q)
    found = check_accelerometer(robot, t, still, zero, zero, accelerometer(robot, still, zero, zero))
    np.testing.assert_allclose(found.measured, 0.0, atol=1e-9)


def test_instants_near_the_euler_singularity_are_named():
    robot, t, q, qd, qdd, _ = imu()
    middle = 1250  # turn the base so that there the tool points along z: theta = 0
    upright = np.eye(4)
    upright[:3, :3] = aw.fk(robot, q[middle])[:3, :3].T
    turned = robot.with_base(upright)
    found = check_accelerometer(turned, t, q, qd, qdd, accelerometer(turned, q, qd, qdd))
    assert any(start <= t[middle] <= stop for start, stop in found.degenerate)
    sine = np.hypot(*np.moveaxis(aw.fk(turned, q)[:, :2, 2], -1, 0))
    inside = np.any([(t >= a) & (t <= b) for a, b in found.degenerate], axis=0)
    assert (sine[inside] < 0.15).all() and (sine[~inside] >= 0.15).all()


def test_the_filters_of_the_thesis_delay_by_what_it_says():
    assert low_pass(125.0, 4.7 / (2 * np.pi), 8).delay == pytest.approx(1.09, abs=0.005)
    assert low_pass(125.0, 1.454 / (2 * np.pi), 5).delay == pytest.approx(2.23, abs=0.005)
