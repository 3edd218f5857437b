# SPDX-License-Identifier: Apache-2.0
"""What the law sees: noise, steps, delays, held values; and that a seed replays a run bit for bit."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from armwright.control import computed_torque, impedance, pd_gravity
from armwright.dynamics import gravity_torque, inverse_dynamics
from armwright.dynamics.newton_euler import rnea
from armwright.errors import ArmwrightWarning, InputError
from armwright.kinematics import fk
from armwright.recording import Recording, Signal
from armwright.robot.load import load
from armwright.simulation import (
    Drive,
    JointSensors,
    Sensor,
    accelerometer,
    force_sensor,
    simulate,
    with_acceleration,
    with_wrench,
)

REST = [0.3, -0.4]


@pytest.fixture(scope="module")
def robot(planar2):
    return planar2


def hold(robot, sensors, duration=1.0, **options):
    return simulate(robot, pd_gravity(100.0, 10.0), REST, duration, sensors=sensors, **options)


def untraced(q, qd, ref):
    """A law that leaves NumPy, so that it is called."""
    return np.array([float(100.0 * (r - x) - 10.0 * v) for r, x, v in zip(ref.q, q, qd, strict=True)])


def test_noise_has_its_size_and_is_white(robot):
    sensors = JointSensors(position_noise=[1e-4, 2e-4], velocity_noise=3e-3)
    recording = hold(robot, sensors, 20.0)
    noise = recording["measured"][:-1] - np.concatenate([recording["q"], recording["qd"]], axis=1)[:-1]
    assert np.abs(noise.std(axis=0) / (1e-4, 2e-4, 3e-3, 3e-3) - 1.0).max() < 0.03
    assert np.abs(noise.mean(axis=0) / noise.std(axis=0)).max() < 4.0 / np.sqrt(len(noise))
    z = noise / noise.std(axis=0)
    assert np.abs((z[1:] * z[:-1]).mean(axis=0)).max() < 4.0 / np.sqrt(len(z))  # not correlated in time
    assert np.abs(np.corrcoef(z.T) - np.eye(4)).max() < 4.0 / np.sqrt(len(z))  # nor with one another


def test_same_seed_same_bits_other_seed_other_noise(robot):
    sensors = JointSensors(position_noise=1e-4)
    first, again, other = (hold(robot, sensors, seed=seed) for seed in (7, 7, 8))
    for name in first.signals:
        assert first[name].tobytes() == again[name].tobytes()
    assert np.abs(first["measured"] - other["measured"]).max() > 1e-5
    # checking the step beforehand does not use up noise
    assert hold(robot, sensors, seed=7, check_step=False)["q"].tobytes() == first["q"].tobytes()


def test_quantised_readings(robot):
    sensors = JointSensors(position_resolution=[0.01, 0.003], velocity_resolution=0.05)
    recording = simulate(robot, None, None, 1.0, q0=REST, sensors=sensors)
    steps = np.array([0.01, 0.003, 0.05, 0.05])
    whole = recording["measured"][:-1] / steps
    assert np.abs(whole - np.round(whole)).max() < 1e-6
    true = np.concatenate([recording["q"], recording["qd"]], axis=1)[:-1]
    assert (np.abs(recording["measured"][:-1] - true) <= 0.5 * steps + 1e-12).all()
    assert np.abs(recording["measured"][:-1] - true).max() > 0.02


@pytest.mark.parametrize("delay", [1, 3])
def test_delay_counts_ticks(robot, delay):
    recording = simulate(robot, None, None, 0.2, q0=REST, sensors=JointSensors(delay=delay))
    true = np.concatenate([recording["q"], recording["qd"]], axis=1)[:-1]
    assert (recording["measured"][delay:-1] == true[:-delay]).all()
    assert (recording["measured"][:delay] == true[0]).all()


def test_slow_sensor_holds_its_value(robot):
    recording = simulate(robot, None, None, 0.2, q0=REST, sensors=JointSensors(every=5))
    true = np.concatenate([recording["q"], recording["qd"]], axis=1)[:-1]
    assert (recording["measured"][:-1] == true[5 * (np.arange(len(true)) // 5)]).all()


def test_law_acts_on_what_it_measures(robot):
    recording = hold(robot, JointSensors(position_noise=1e-3, delay=2), 0.3)

    def law(q, qd, ref):
        return 100.0 * (ref.q - q) - 10.0 * qd

    plain = simulate(robot, law, REST, 0.3, sensors=JointSensors(position_noise=1e-3, delay=2))
    for row, tau in zip(plain["measured"][:-1], plain["tau"][:-1], strict=True):
        assert np.abs(tau - (100.0 * (REST - row[:2]) - 10.0 * row[2:])).max() < 1e-12
    assert np.abs(recording["error"]).max() > 1e-5


@pytest.mark.parametrize(
    "sensors",
    [
        JointSensors(position_noise=1e-4, velocity_noise=1e-3, delay=2),
        JointSensors(position_noise=1e-4, position_resolution=1e-3, every=4),
    ],
    ids=["delayed", "slow"],
)
def test_called_law_sees_the_same_sensors(robot, sensors):
    def traced(q, qd, ref):
        return 100.0 * (ref.q - q) - 10.0 * qd

    ours = simulate(robot, traced, REST, 3.0, sensors=sensors, seed=3)
    with pytest.warns(ArmwrightWarning, match="called from Python"):
        called = simulate(robot, untraced, REST, 3.0, sensors=sensors, seed=3)
    assert np.abs(ours["q"] - called["q"]).max() < 1e-12
    assert np.abs(ours["tau"] - called["tau"]).max() < 1e-9


def test_coarse_encoders_are_not_taken_for_an_unstable_step(robot):
    hold(robot, JointSensors(position_resolution=1e-3, velocity_resolution=0.05), 0.01)


@pytest.mark.parametrize(
    "options", [{"position_noise": -1.0}, {"velocity_resolution": np.nan}, {"delay": -1}, {"every": 0}]
)
def test_impossible_sensors_are_refused(options):
    with pytest.raises(InputError, match="sensors"):
        JointSensors(**options)


def test_sensors_and_a_continuous_law_contradict(robot):
    with pytest.raises(InputError, match="sample"):
        hold(robot, JointSensors(delay=1), continuous=True)


# -- sensors after the run ------------------------------------------------------------------------------------------


def test_accelerometer_at_rest_reads_gravity_upwards():
    robot = load("ur5")
    for q in np.random.default_rng(1).normal(size=(5, 6)):
        f = accelerometer(robot, q, np.zeros(6), np.zeros(6))
        assert np.abs(fk(robot, q)[:3, :3] @ f - (0.0, 0.0, 9.81)).max() < 1e-9


def test_accelerometer_in_free_fall_and_on_a_lever():
    robot = load("planar2").with_gravity([0.0, 0.0, 0.0])
    T = np.eye(4)
    T[0, 3] = 0.5  # half a metre beyond the tool
    q, qd = np.array([0.3, 0.0]), np.array([2.0, 0.0])
    f = accelerometer(robot, q, qd, np.zeros(2), T_tool_sensor=T)
    radius = np.linalg.norm(fk(robot, q)[:3, 3]) + 0.5
    assert f[0] == pytest.approx(-4.0 * radius, rel=1e-12) and np.abs(f[1:]).max() < 1e-12


def test_force_sensor_turns_with_the_tool():
    robot, rng = load("ur5"), np.random.default_rng(2)
    q, wrench = rng.normal(size=6), rng.normal(size=6)
    reading = force_sensor(robot, q, wrench)
    R = fk(robot, q)[:3, :3]
    assert np.abs(R @ reading[:3] - wrench[:3]).max() < 1e-12
    assert np.abs(R @ reading[3:] - wrench[3:]).max() < 1e-12


def test_a_sensor_samples_late_holds_and_rounds():
    time = np.arange(0.0, 2.0, 1e-3)
    truth = np.stack([3.0 * time, 1.0 - time], axis=-1)  # linear: interpolation is exact
    read = Sensor(rate=125.0, delay=0.0025, bias=0.1).read(time, truth)
    taken = np.floor(time * 125.0 + 1e-9) / 125.0  # the latest sample
    late = np.clip(taken - 0.0025, 0.0, None)
    assert read == pytest.approx(np.stack([3.0 * late, 1.0 - late], axis=-1) + 0.1, abs=1e-12)
    assert len(np.unique(read[:, 0])) == 250
    rounded = Sensor(resolution=(0.25, 0.5), largest=2.0).read(time, truth)
    assert np.abs(rounded[:, 0] - np.minimum(truth[:, 0], 2.0)).max() <= 0.125 + 1e-12
    assert set(np.unique(rounded[:, 1])) == {-1.0, -0.5, 0.0, 0.5, 1.0}


def test_noise_of_a_sensor_is_seeded_and_drawn_once_a_sample():
    time, zero = np.arange(0.0, 50.0, 1e-3), np.zeros((50_000, 2))
    sensor = Sensor(rate=500.0, noise=(0.2, 2.0))
    read = sensor.read(time, zero, seed=5)
    assert np.array_equal(read, sensor.read(time, zero, seed=5))
    assert not np.array_equal(read, sensor.read(time, zero, seed=6))
    assert np.array_equal(read[::2], read[1::2])
    assert read.std(axis=0) == pytest.approx((0.2, 2.0), rel=0.02)


@pytest.mark.parametrize(
    "options",
    [{"rate": 0.0}, {"delay": -1.0}, {"noise": np.nan}, {"resolution": -1.0}, {"largest": 0.0}, {"bias": np.inf}],
)
def test_impossible_readings_are_refused(options):
    with pytest.raises(InputError, match="sensor: "):
        Sensor(**options)


def test_sensors_read_a_recorded_run():
    """Current and acceleration of a held arm: what holds it up, and gravity."""
    robot = load("ur5")
    q0 = np.array([0.1, -1.0, 1.0, 0.2, 0.5, 0.3])
    run = with_acceleration(simulate(robot, computed_torque(100.0, 20.0), q0, 0.2))
    drive = Drive(100.0 * np.eye(6), np.inf, np.inf, torque_constant=0.1)
    current = Sensor(rate=125.0, resolution=1e-3).read(run.time, drive.current(run["tau"]))
    assert np.abs(current * 10.0 - gravity_torque(robot, q0)).max() < 0.5 * 1e-3 * 10.0 + 1e-9
    felt = Sensor(rate=1000.0, noise=0.05).read(run.time, accelerometer(robot, run["q"], run["qd"], run["qdd"]), seed=1)
    assert np.linalg.norm(felt.mean(axis=0)) == pytest.approx(9.81, abs=0.02)


# -- the wrist, in the loop -----------------------------------------------------------------------------------------


def push(t):
    """A force that comes and goes at the tool, base axes."""
    return np.array([10.0 * np.sin(3.0 * t), 5.0, 8.0 * np.cos(2.0 * t), 0.0, 0.2, 0.1])


@pytest.mark.parametrize("called", [False, True])
def test_a_law_feels_what_the_recording_says(called):
    robot = load("ur5")
    q0 = np.array([0.1, -1.0, 1.0, 0.2, 0.5, 0.3])

    def law(arm, q, qd, ref, wrench):
        assert not called or isinstance(float(q[0]), float)  # a traced value has no float
        return rnea(arm, q, qd, 100.0 * (ref.q - q) - 20.0 * qd) + 1e-4 * wrench

    with pytest.warns(ArmwrightWarning) if called else contextlib.nullcontext():
        run = simulate(robot, law, q0, 0.2, q0=q0, wrench=push)
    felt = with_wrench(run, push)["wrench"]
    assert felt == pytest.approx(np.array([push(t) for t in run.time]), abs=1e-12)
    command = 100.0 * (run["q_ref"] - run["q"]) - 20.0 * run["qd"]
    rest = run["tau"] - inverse_dynamics(robot, run["q"], run["qd"], command)
    assert rest[:-1] == pytest.approx(1e-4 * felt[:-1], abs=1e-9)


def test_a_wrench_on_the_last_link_is_felt_at_the_tool():
    """Only what the tool's link carries is felt, moved from the link's origin to the tool."""
    robot = load("ur5")
    rng = np.random.default_rng(4)
    wrenches = rng.normal(size=(len(robot.bodies), 6))
    q = rng.normal(size=(3, 6))
    run = Recording(np.arange(3.0), {"q": Signal(q), "qd": Signal(0.0 * q)}, robot=robot)
    felt = with_wrench(run, wrenches)["wrench"]
    f, m = wrenches[robot.tip, :3], wrenches[robot.tip, 3:]
    for k in range(3):
        lever = fk(robot, q[k], robot.bodies[robot.tip].name)[:3, 3] - fk(robot, q[k])[:3, 3]
        assert felt[k] == pytest.approx(np.concatenate([f, m + np.cross(lever, f)]), abs=1e-12)


def test_a_chosen_inertia_appears_at_the_tool():
    """Impedance with M_d: under a measured constant force the tool moves like M_d ẍ + D ẋ + K x = F from rest."""
    robot = load("ur5")
    q0 = np.array([0.1, -1.2, 1.6, -0.4, 1.3, 0.3])
    M_d, D, K, F = 7.0, 90.0, 400.0, 6.0
    law = impedance(K, D, inertia=M_d)
    wrench = np.array([F, 0.0, 0.0, 0.0, 0.0, 0.0])
    run = simulate(robot, law, q0, 0.8, q0=q0, wrench=wrench, continuous=True)
    x = fk(robot, run["q"])[:, :3, 3] - fk(robot, q0)[:3, 3]
    a, b = np.roots([M_d, D, K])
    expected = F / K * (1.0 + (b * np.exp(a * run.time) - a * np.exp(b * run.time)) / (a - b))
    assert np.abs(x[:, 0] - expected).max() < 1e-6
    assert np.abs(x[:, 1:]).max() < 1e-6
