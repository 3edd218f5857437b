"""What the law sees: noise, steps, delays, held values; and that a seed replays a run bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from armwright.control import pd_gravity
from armwright.errors import ArmwrightWarning, InputError
from armwright.kinematics import fk
from armwright.robot.load import load
from armwright.simulation import JointSensors, accelerometer, force_sensor, simulate

REST = [0.3, -0.4]


@pytest.fixture(scope="module")
def robot():
    return load("planar2")


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


@pytest.mark.parametrize("sensors", [
    JointSensors(position_noise=1e-4, velocity_noise=1e-3, delay=2),
    JointSensors(position_noise=1e-4, position_resolution=1e-3, every=4),
], ids=["delayed", "slow"])  # fmt: skip
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
    reading = force_sensor(robot, q, wrench, bias=0.5)
    R = fk(robot, q)[:3, :3]
    assert np.abs(R @ (reading[:3] - 0.5) - wrench[:3]).max() < 1e-12
    assert np.abs(R @ (reading[3:] - 0.5) - wrench[3:]).max() < 1e-12
    many = force_sensor(robot, np.tile(q, (4000, 1)), np.tile(wrench, (4000, 1)), noise=0.2, seed=5)
    assert many.std(axis=0) == pytest.approx(0.2, rel=0.06)
