# SPDX-License-Identifier: Apache-2.0
"""What a virtual force sensor presents itself as: 004's ATI Gamma with ranges, steps and status, or without."""

import numpy as np
import pytest

import armwright as aw
from armwright.choices import FORCE_SENSORS
from armwright.cli import main
from armwright.errors import DescriptionError
from armwright.kinematics import acceleration, fk
from armwright.lab.experiment.experiment_file import read_experiment
from armwright.lab.flange_sensing import IMU_AT, FeltWrench, felt_kernel
from armwright.lab.sources import calibration_of, scales
from armwright.lab.stand import Stand
from armwright.lab.virtual_sensors import VirtualNetFt
from armwright.lab.wire import netft
from support.lab import PORTS, address, client, served

GAMMAS = [name for name in FORCE_SENSORS if name.startswith("gamma")]
ZERO = np.zeros(3)


def felt(*wrench):
    return FeltWrench(np.array(wrench, dtype=float), ZERO, ZERO, ZERO)


class Kept:
    """A stand's streams, of which only the last record matters."""

    def __init__(self, name, **options):
        self.stand = Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False)
        sensor = FORCE_SENSORS.find(name)
        self.ft = VirtualNetFt(self.stand, http_port=0, rdt_port=0, sensor=sensor, bandwidth=0.0, **options)
        self.ft._streams.send = self._send
        self.sensor = sensor

    def _send(self, record):
        self.data = record(1)

    def record(self, *wrench):
        self.ft.tick(0, felt(*wrench))
        return netft.unpack(self.data, self.sensor.counts)


@pytest.fixture
def kept():
    made = []

    def make(name, **options):
        made.append(Kept(name, **options))
        return made[-1]

    yield make
    for one in made:
        one.stand.close()


@pytest.mark.parametrize("name", GAMMAS)
def test_a_gamma_reads_in_steps_within_its_range(name, kept):
    one = kept(name)
    steps, ranges = np.array(one.sensor.steps), np.array(one.sensor.ranges)
    found = np.array([one.record(*(0.3 * ranges)).wrench for _ in range(200)])
    off = found / steps - np.round(found / steps)
    assert np.abs(off).max() < 1e-3  # the counts are far finer than the steps
    assert np.abs(found.mean(axis=0) - 0.3 * ranges).max() < 0.5 * steps.max()
    assert (found.std(axis=0) > 0.5 * steps).all() and (found.std(axis=0) < 2.0 * steps).all()
    assert one.record(*(0.3 * ranges)).status == 0


@pytest.mark.parametrize("name", GAMMAS)
def test_beyond_its_range_a_gamma_stays_there_and_says_so(name, kept):
    one = kept(name)
    for k, most in enumerate(one.sensor.ranges):
        wrench = np.zeros(6)
        wrench[k] = -1.5 * most
        record = one.record(*wrench)
        assert record.wrench[k] == pytest.approx(-most, rel=1e-4) and record.status == netft.SATURATED
    assert one.record(*np.zeros(6)).status == 0


def test_the_bias_of_a_client_does_not_widen_the_range(kept):
    """Gauges saturate, not numbers: 30 N of tool weight are used up, also when a client has set them to zero."""
    one = kept("gamma-si-32-2.5", bias=[30.0, 0, 0, 0, 0, 0])
    one.record(*np.zeros(6))
    one.ft._bias()
    assert one.record(10.0, 0, 0, 0, 0, 0).wrench[0] == pytest.approx(2.0, abs=0.05)
    assert one.record(10.0, 0, 0, 0, 0, 0).status == netft.SATURATED


def test_without_a_model_nothing_is_limited(kept):
    record = kept("axia").record(900.0, 0, 0, 0, 0, 40.0)
    assert record.status == 0 and record.wrench[0] == pytest.approx(900.0, abs=0.5)


@pytest.mark.parametrize("name", FORCE_SENSORS)
def test_the_page_tells_what_our_own_reader_and_others_look_for(name):
    sensor = FORCE_SENSORS.find(name)
    page = netft.configuration(250.0, sensor.product, sensor.counts, sensor.calibration, sensor.ranges)
    facts = calibration_of(page)
    assert facts["calibration"] == "page" and facts["product"] == sensor.product
    assert scales(facts) == sensor.counts
    assert (b"<cfgmr>" in page) == bool(sensor.ranges) == name.startswith("gamma")


def test_a_gamma_is_what_the_thesis_and_its_maker_say():
    gamma = FORCE_SENSORS.find("gamma-si-130-10")
    assert gamma.ranges == (130.0, 130.0, 400.0, 10.0, 10.0, 10.0)
    assert gamma.steps == (1 / 40, 1 / 40, 1 / 20, 1 / 800, 1 / 800, 1 / 800)
    assert netft.INTERNAL_RATE == 7000.0  # section 4.2


# as programs of others see it


@pytest.fixture(scope="module")
def gamma():
    options = ("--ft-rate", "250", "--ft-http-port", "8080", "--ft-sensor", "gamma-si-130-10")
    with served(*options, "--ft-bias=12.5,-7.0,20.0,0.5,-0.25,0.125") as ready:
        yield ready


EXPECTED = np.array([12.5, -7.0, 20.0, 0.5, -0.25, 0.125])
STEPS = np.array(FORCE_SENSORS.find("gamma-si-130-10").steps)


def test_netft_reads_a_gamma(gamma):
    code = """
    import json, sys
    from NetFT import Sensor
    sensor = Sensor(sys.argv[1])
    print(json.dumps([sensor.getMeasurement() for _ in range(40)]))
    """
    seen = np.array(client(code, gamma["host"], "NetFT")) / 1e6
    assert np.abs(seen.mean(axis=0) - EXPECTED).max() < 0.05
    assert np.abs(seen / STEPS - np.round(seen / STEPS)).max() < 1e-3


def test_pynetft_reads_a_gamma_and_its_name(gamma):
    code = """
    import itertools, json, sys
    from pynetft import Client, Config
    with Client(Config(sensor_host=sys.argv[1], http_port=8080), queue_size=64) as sensor:
        samples = list(itertools.islice(sensor.samples(), 20))
        known = sensor.health().sensor_configuration
    print(json.dumps({
        "product": known.product_name,
        "counts": [known.calibration.counts_per_force_unit, known.calibration.counts_per_torque_unit],
        "wrench": [[*sample.force, *sample.torque] for sample in samples],
        "status": [sample.status for sample in samples],
    }))
    """
    seen = client(code, gamma["host"], "pynetft")
    assert seen["product"] == "Net F/T Gamma" and seen["counts"] == [1e6, 1e6] and not any(seen["status"])
    assert np.abs(np.mean(seen["wrench"], axis=0) - EXPECTED).max() < 0.05


def test_pynetft_is_warned_of_a_gamma_beyond_its_range():
    code = """
    import itertools, json, sys
    from pynetft import Client, Config
    config = Config(sensor_host=sys.argv[1], http_port=8080, deliver_samples_with_error_status=True)
    with Client(config, queue_size=64) as sensor:
        samples = list(itertools.islice(sensor.samples(), 5))
    print(json.dumps([[sample.status, sample.force[0]] for sample in samples]))
    """
    options = ("--ft-rate", "250", "--ft-http-port", "8080", "--ft-sensor", "gamma-si-32-2.5", "--ft-bias=50,0,0,0,0,0")
    with served(*options) as ready:
        seen = client(code, ready["host"], "pynetft")
    assert all(status == netft.SATURATED and force == pytest.approx(32.0) for status, force in seen)


# asked for by name


def test_a_sensor_that_does_not_exist_is_refused(capsys):
    assert main(["lab", "serve", "--ft-sensor", "delta", "--duration", "0.1"]) == 2
    told = capsys.readouterr().err.replace("\n", " ")
    assert "--ft-sensor delta" in told and all(name in told for name in FORCE_SENSORS)


def test_an_experiment_file_names_its_sensor(tmp_path):
    (tmp_path / "moves.txt").write_text("movej([0, -1.5, 1.5, -1.5, -1.5, 0])\n", encoding="utf-8")
    text = '[virtual]\nft_sensor = "{}"\n[runs.free]\nmoves = "moves.txt"\n'
    file = tmp_path / "stand.toml"
    file.write_text(text.format("gamma-si-65-5"), encoding="utf-8")
    assert read_experiment(file).virtual.ft_sensor == "gamma-si-65-5"
    file.write_text(text.format("gamma"), encoding="utf-8")
    with pytest.raises(DescriptionError, match=r"must be one of axia, gamma-si-32-2\.5") as error:
        read_experiment(file)
    assert f"{file}:2:" in str(error.value)
    assert read_experiment("stand").virtual.ft_sensor == "gamma-si-130-10"  # 004 has a Gamma


# what sensors at the flange feel


def test_an_accelerometer_feels_the_whole_acceleration_of_its_place():
    """Centripetal terms J̇ q̇ as well: at 1 rad/s and half a metre they are 0.5 m/s²."""
    robot = aw.load("ur5")
    kernel = felt_kernel(robot, lambda push: push, ("push",))
    T = np.eye(4)
    T[:3, 3] = IMU_AT
    carrier = robot.with_tool(robot.T_tip_tool @ T)
    random = np.random.default_rng(5)
    for _ in range(20):
        q, qd, qdd = random.uniform(-2.0, 2.0, (3, 6))
        seen = FeltWrench(*kernel(q, qd, qdd, np.zeros((len(robot.bodies), 6)), np.array([0.5, *IMU_AT])))
        R = fk(carrier, q)[:3, :3]
        specific = R.T @ (acceleration(carrier, q, qd, qdd)[:3] - robot.gravity)
        assert np.allclose(seen.acceleration, specific, atol=1e-9)
        assert np.allclose(seen.wrench[:3], -0.5 * specific, atol=1e-9)  # a tool that hangs at that place
