# SPDX-License-Identifier: Apache-2.0
"""Chapter 5 of 004 on recorded runs: torques of models, gains that data may or may not know, accelerations."""

from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.dynamics import forward_dynamics, inverse_dynamics
from armwright.errors import InputError
from armwright.identify import Log
from armwright.kinematics import acceleration, fk
from armwright.lab.experiment.acceptance import MOST_ACCELERATION_ERROR, MOST_TORQUE_ERROR, judge_motion, judge_torques
from armwright.lab.experiment.chapter_facts import gains_facts, motion_facts, torque_facts
from armwright.lab.experiment.model_torques import DESCRIBED, gains_verdict, model_torques, rotors_of
from armwright.lab.experiment.motion_check import check_motion
from armwright.lab.experiment.run_data import Data, SensorSamples, Targets, Weight
from armwright.lab.flange_sensing import FT_AT, IMU_AT

MODELS = [(name, aw.load(f"ur5-kufieta-{name.lower()}")) for name in "ABC"]
ROBOT = aw.load("ur5").with_rotors(0.1)
WEIGHT = Weight(np.zeros(6), 0.5, np.array([0.0, 0.01, 0.04]))
WHOLE = WEIGHT.carried_by(ROBOT)
HOME = np.array([2.18, -2.13, -1.74, 0.27, -6.02, 0.0])


def motion(seconds=20.0, rate=125.0):
    t = np.arange(0.0, seconds, 1.0 / rate)
    w = 2 * np.pi * 0.07 * np.arange(1, 7)
    phase = t[:, None] * w
    return t, HOME + 0.5 * np.sin(phase), 0.5 * w * np.cos(phase), -0.5 * w**2 * np.sin(phase)


def run(*, torque=None, targets=True, e=0.0, ed=0.0, imu=None, turning=None):
    """A recorded run that is off its targets by e and ed."""
    t, q, qd, qdd = motion()
    if torque is None:
        torque = inverse_dynamics(WHOLE, q, qd, qdd, friction=False)
    log = Log(t, q + e, qd + ed, np.zeros_like(q), np.zeros_like(q), torque, name="free")
    moved, wanted = np.ones(len(t), dtype=bool), Targets(q, qd, qdd) if targets else None
    return Data("free", log, t, np.zeros((len(t), 6)), moved, None, imu, t, {}, turning, wanted)


def noise(size, seed=0):
    return size * np.random.default_rng(seed).standard_normal((len(motion()[0]), 6))


# torques


def test_the_controllers_own_arm_explains_its_torque():
    found = model_torques(run(e=noise(1e-4), ed=noise(1e-3)), MODELS, WHOLE, WEIGHT)
    assert found.mean_error(DESCRIBED).max() < 1e-9
    assert set(found.torques) == {*"ABC", *(f"{name}, tool and rotors" for name in "ABC"), DESCRIBED}
    for name in "ABC":  # the tool and the rotors are what a bare model lacks
        assert (found.mean_error(f"{name}, tool and rotors")[1:4] < found.mean_error(name)[1:4]).all()
    errors = {name: found.mean_error(f"{name}, tool and rotors") for name in "ABC"}
    assert (errors["A"][1:3] > 1.5 * errors["C"][1:3]).all()  # its forearm's centre lies 86 mm off
    assert np.allclose(errors["B"], errors["C"], atol=0.05)
    assert judge_torques(found, True).passed is True


def test_a_model_with_a_wrong_forearm_is_found_out():
    _t, q, qd, qdd = motion()
    heavy = WEIGHT.carried_by(aw.load("ur5").with_payload(0.5)).with_rotors(0.1)
    found = model_torques(
        run(torque=inverse_dynamics(heavy, q, qd, qdd, friction=False), e=noise(1e-4)), [], WHOLE, WEIGHT
    )
    assert found.mean_error(DESCRIBED).max() > MOST_TORQUE_ERROR
    assert judge_torques(found, False).passed is False


def test_what_the_models_are_given_is_not_changed_by_friction():
    """Kufieta's sheets carry friction; the controller's target torque has none, and neither has (5.1)'s."""
    found = model_torques(run(e=noise(1e-4), ed=noise(1e-3)), MODELS, WHOLE, None)
    _t, q, qd, qdd = motion()
    assert np.array_equal(found.torques["C"], inverse_dynamics(MODELS[2][1], q, qd, qdd, friction=False, rotors=False))


def test_an_arm_with_other_axes_is_compared_only_as_it_is():
    legacy = aw.load("ur5-ragazzon-published")
    found = model_torques(run(e=noise(1e-4), ed=noise(1e-3)), [("legacy", legacy)], WHOLE, WEIGHT)
    assert set(found.torques) == {"legacy", DESCRIBED}


def test_without_targets_nothing_is_compared():
    assert model_torques(run(targets=False), MODELS, WHOLE, WEIGHT) is None


def test_a_loop_around_any_model_answers_alike():
    """Why errors of q and q̇ say nothing of a model: (2.80) with any D, C, g gives back the acceleration asked for."""
    _t, q, qd, qdd = (x[::100] for x in motion())
    asked = qdd + noise(3.0)[::100]
    for _, arm in (*MODELS, ("legacy", aw.load("ur5-ragazzon-published"))):
        tau = inverse_dynamics(arm, q, qd, asked, friction=False)
        assert np.allclose(forward_dynamics(arm, q, qd, tau, friction=False), asked, atol=1e-7)


def test_rotors_are_those_felt_at_the_joints():
    assert np.allclose(rotors_of(ROBOT), 0.1) and np.allclose(rotors_of(aw.load("ur5")), 0.0)


# gains


def decaying(k0, k1, e0):
    """Tracking errors that decay as ë + k₁ė + k₀e = 0 says."""
    t, (a, b) = motion()[0], np.roots([1.0, k1, k0])
    e = e0 * np.real((a * np.exp(b * t) - b * np.exp(a * t)) / (a - b))
    return np.tile(e[:, None], 6), np.tile(np.gradient(e, t)[:, None], 6)


def test_gains_are_undetermined_where_nothing_decays():
    found = model_torques(run(e=noise(2e-4), ed=noise(3e-3, 1)), [], WHOLE, None)
    assert gains_verdict(found.gains).startswith("undetermined in all 6 joints")
    facts = gains_facts(found.gains)
    assert not any("k0" in joint for joint in facts["joints"]) and len(facts["joints"]) == 6
    assert np.allclose(found.q_error, 2e-4 * np.sqrt(2 / np.pi), rtol=0.1)


def test_gains_are_told_where_an_error_decays():
    e, ed = decaying(64.0, 16.1, 0.05)
    found = model_torques(run(e=e + noise(2e-5), ed=ed + noise(1e-3, 1)), [], WHOLE, None)
    assert gains_verdict(found.gains) == "determined in joints 1, 2, 3, 4, 5, 6, undetermined in the other 0"
    for joint in gains_facts(found.gains)["joints"]:
        assert joint["k0"]["value"] == pytest.approx(64.0, rel=0.05)
        assert joint["k1"]["value"] == pytest.approx(16.1, rel=0.05)


def test_a_joint_that_cannot_be_asked_says_why():
    found = model_torques(run(), [], WHOLE, None)  # exactly on its targets: no noise to weigh by
    assert all(isinstance(gain, str) and "noise must be > 0" in gain for gain in found.gains)
    assert torque_facts(found)["q_error"] == [0.0] * 6


# accelerations


def unit(tilt=0.0, sign=1.0, lever=True):
    """What an inertial unit on the flange would measure, mounted with a tilt about x [rad]."""
    t, q, qd, qdd = motion()
    T = np.eye(4)
    T[:3, 3] = IMU_AT if lever else 0.0
    carrier = ROBOT.with_tool(ROBOT.T_tip_tool @ T)
    R, a = fk(carrier, q)[:, :3, :3], acceleration(carrier, q, qd, qdd)
    spin = np.einsum(
        "tij,tj->ti", np.transpose(R, (0, 2, 1)), np.einsum("tij,tj->ti", aw.jacobian(ROBOT, q)[:, 3:], qd)
    )
    mount = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
    force = np.einsum("tji,tj->ti", R, a[:, :3] - sign * ROBOT.gravity) @ mount
    return run(imu=SensorSamples(t, t, force), turning=spin)


def test_a_unit_that_is_mounted_well_agrees():
    data = unit()
    found = check_motion(data, data.imu.t, ROBOT)
    assert found.thesis.mae.max() < 0.002 and found.wide.mae.max() < 0.01 and found.angular_error.max() < 0.01
    assert judge_motion(found).passed is True
    facts = motion_facts(found)
    assert len(facts["mean_error"]) == 3 and max(map(abs, facts["tilt"])) < 1e-3


def test_records_that_were_lost_are_not_drawn_over():
    """Three seconds without the unit: the longer rest of the run is judged; pieces that are all short are refused."""
    data = unit()

    def without(lost):
        imu = data.imu
        return replace(
            data, imu=SensorSamples(imu.t[~lost], imu.host[~lost], imu.values[~lost]), turning=data.turning[~lost]
        )

    t = data.imu.t
    holed = without((t > 4.0) & (t < 7.0))
    found = check_motion(holed, holed.imu.t, ROBOT)
    assert found.thesis.mae.max() < 0.002 and found.thesis.t[0] >= 7.0
    torn = without(t % 4.0 < 0.2)
    with pytest.raises(InputError, match=r"3\.\d s in common"):
        check_motion(torn, torn.imu.t, ROBOT)
    some = without(np.arange(len(t)) % 5 == 0)
    assert check_motion(some, some.imu.t, ROBOT).thesis.t[0] < 1.0


def test_a_tilted_unit_is_found_out():
    """4° look like 9.81 sin 4° = 0.68 m/s², the size of the x error in Table 5.7."""
    data = unit(tilt=np.radians(4.0))
    found = check_motion(data, data.imu.t, ROBOT)
    assert found.thesis.mae.max() > MOST_ACCELERATION_ERROR and judge_motion(found).passed is False
    assert np.abs(found.wide.tilt[0]) == pytest.approx(np.radians(4.0), rel=0.05)
    assert found.thesis.mae_without_tilt.max() < 0.01


def test_gravity_with_the_sign_of_the_thesis_is_found_out():
    """(5.11) as printed: a unit whose driver does not reverse its reading would be off by twice gravity."""
    data = unit(sign=-1.0)
    assert check_motion(data, data.imu.t, ROBOT).thesis.mae.max() > 15.0


def test_a_clock_that_is_off_shows():
    data = unit()
    late = check_motion(data, data.imu.t + 0.05, ROBOT)
    assert late.wide.mae.max() > 5 * check_motion(data, data.imu.t, ROBOT).wide.mae.max()


def test_too_short_a_run_is_refused():
    data = unit()
    with pytest.raises(InputError, match=r"free: robot and inertial unit have 3\.0 s in common"):
        check_motion(data, data.imu.t - 17.0, ROBOT)


def test_the_force_sensors_place_is_that_of_the_thesis():
    assert np.array_equal(FT_AT, [0.0, 0.0, 0.0286]) and np.array_equal(IMU_AT, [0.01735, 0.00605, 0.0095])
