# SPDX-License-Identifier: Apache-2.0
"""The logs of a real UR10e: figures that the library promises, where the measurements are at hand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightWarning, InputError
from armwright.identify import (
    Free,
    Known,
    Load,
    feel,
    fit,
    learn_bands,
    payload,
    predict_currents,
    read_log,
    residuals,
    with_bands,
)
from armwright.identify.day_scatter import BASE_DAY_FACTOR, GAIN_DOUBT
from armwright.identify.doubted_log import load_over_time, log_unspanned
from armwright.identify.target_gains import gains_from_targets
from support.places import NO_REAL_ARM, REAL_ARM

pytestmark = pytest.mark.skipif(not REAL_ARM.exists(), reason=NO_REAL_ARM)

CONTROLLER = np.array([11.976, 11.976, 9.839, 10.763, 10.763, 10.763])  # [N m/A], joint 6 unseen
HARM, LOADED, TWELVE, POINTS = (
    "ur-20_02_19_14harm50sec",
    "ur-20_02_19_14harm50secLoad",
    "ur-20_02_12-50sec_12harm",
    "ur-20_01_17-ptp_10_points",
)


@cache
def log(name):
    return read_log(REAL_ARM / f"{name}.csv")


@cache
def arm():
    return aw.load(REAL_ARM / "ur10e.urdf")


@cache
def model():
    return fit([log(HARM), log(LOADED)], arm(), payloads=[None, Load()])


@pytest.mark.parametrize(
    "test, bars", [(TWELVE, [5.6, 1.8, 2.6, 4.3, 6.0, 4.6]), (POINTS, [7.2, 1.8, 2.0, 4.0, 6.5, 6.5])]
)
def test_currents_of_logs_that_were_not_fitted(test, bars):
    assert (100.0 * predict_currents(model(), log(test)).error <= bars).all()


def test_the_controllers_gains_are_in_the_logs():
    found = gains_from_targets([log(name) for name in (HARM, LOADED, TWELVE, POINTS)])
    assert found.how[1:5] == ("rest",) * 4 and found.how[0] == "motion"
    np.testing.assert_allclose(found.values[1:5], CONTROLLER[1:5], rtol=2e-3)
    assert (np.abs(found.values - CONTROLLER) < 2.0 * found.deviation + 1e-3 * CONTROLLER).all()


@pytest.mark.parametrize("name", [HARM, TWELVE, POINTS])
def test_one_log_tells_its_gains_within_their_intervals(name):
    found = gains_from_targets([log(name)])
    known = np.array(found.seen)
    assert known[1:5].all()
    assert (np.abs(found.values - CONTROLLER) < 2.0 * found.deviation + 1e-3 * CONTROLLER)[known].all()


def test_the_load_is_found_where_nobody_mentioned_it():
    with pytest.warns(ArmwrightWarning, match="14harm50secLoad"):
        found = fit([log(HARM), log(LOADED)], arm())
    np.testing.assert_allclose(found.beta, model().beta, rtol=1e-9, atol=1e-12)
    with pytest.raises(InputError, match="at least 10 s"):
        payload(found, log(HARM).rows(slice(0, 150)))


def test_gains_with_the_load_agree_with_the_controllers():
    found = fit([log(HARM), log(LOADED)], arm(), gains=Free(), payloads=[None, Load(2.805)])
    values = np.array([e.value for e in found.gain_estimates])
    assert (np.abs(values / CONTROLLER - 1.0) < 0.08).all()


def test_the_load_is_weighed_by_a_model_that_never_saw_it():
    found = payload(fit(log(HARM), arm(), gains=Known(CONTROLLER)), log(LOADED))
    assert abs(found.mass.value / 2.805 - 1.0) < 0.03
    # The deviation is that of other days: 2 % of the mass, for gains that no known load has shown, and 1.6 times the
    # scatter within the log, which is below 0.02 kg (it is 0.011).
    gains = GAIN_DOUBT * found.mass.value
    assert gains < found.mass.deviation < np.hypot(gains, BASE_DAY_FACTOR * 0.02)
    assert abs(found.mass.value - 2.805) < 2.0 * found.mass.deviation


@cache
def alone():
    """The model of the free log alone, and what it leaves there."""
    found = fit(log(HARM), arm(), gains=Known(CONTROLLER))
    return found, log_unspanned(found, [log(HARM)])


def test_the_load_becomes_known_while_the_arm_moves_and_its_interval_holds():
    found = load_over_time(alone()[0], log(LOADED), alone()[1])
    for seconds in (5.0, 10.0, 15.0, 20.0, 40.0):
        mass, low, high = found.at(seconds)
        assert low < 2.805 < high, f"{mass:.2f} kg at {seconds} s"
    assert found.at(5.0)[2] - found.at(5.0)[1] > 2.0  # not known yet, and said so
    assert found.at(20.0)[2] - found.at(20.0)[1] < 0.8


def test_no_load_is_told_where_there_is_none():
    for name in (TWELVE, POINTS):
        _, low, high = load_over_time(alone()[0], log(name), alone()[1]).at(20.0)
        assert low < 0.0 < high


def test_a_log_that_was_cut_short_says_so():
    assert [d.reason for d in log(HARM).dropped] == ["no end of line: the file was cut short there"]


@cache
def feeling():
    carried = [None, model().payloads[0].parameters]
    return with_bands(model(), learn_bands(model(), [log(HARM), log(LOADED)], payloads=carried))


def test_four_pushes_and_no_more():
    found = feel(feeling(), log("ur-20_01_22-push_pose_1"))
    assert len(found.contacts) == 4
    # the second was on the wrist; the last two load the first two joints only
    assert found.contacts[1].link in ("wrist_2_link", "wrist_3_link")
    assert found.contacts[2].link in ("upper_arm_link", None)  # at rest friction could hide most of it
    assert found.contacts[3].link == "upper_arm_link"
    assert all(c.wrench is None for c in found.contacts[2:])


@pytest.mark.parametrize("name", [TWELVE, POINTS, "ur-20_01_22-joint_1", "ur-20_01_22-joint_3"])
def test_nothing_is_felt_where_nobody_pushed(name):
    assert not feel(feeling(), log(name), isolate=False).contacts


@pytest.mark.parametrize("name", [TWELVE, POINTS])
def test_noise_of_the_observer_in_motion(name):
    found = residuals(feeling(), log(name))
    assert (found.rms <= [1.5, 1.9, 0.85, 0.22, 0.25, 0.22]).all()
    J = aw.jacobian(arm(), found.q)
    use = found.moving.all(axis=1) & (np.linalg.cond(J) < 20.0)
    force = np.linalg.solve(np.swapaxes(J[use], 1, 2), found.tau_ext[use][..., None])[:, :3, 0]
    assert np.sqrt(np.mean(force**2)) <= 3.3
