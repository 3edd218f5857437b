# SPDX-License-Identifier: Apache-2.0
"""One table of robot, force sensor and inertial unit on one clock: what is in it, what is never in it, every format."""

import json
import shutil
import subprocess

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.errors import InputError, WriteError
from armwright.kinematics import acceleration, fk
from armwright.lab.experiment.aligned_table import KINDS, MOST_PERIODS, aligned, placed, write_aligned
from armwright.lab.flange_sensing import IMU_AT
from armwright.lab.mat_file import write_mat
from armwright.lab.packet_writer import PacketWriter
from armwright.lab.packets import Channel, Packet, Recorded, read_packets, recipe_text
from armwright.lab.sources import FIELDS
from armwright.lab.wire import netft, rtde, xsens
from armwright.lab.wire.rtde_fields import OUTPUTS, kinds_of
from armwright.recording import Recording
from support.patience import PATIENCE

OFFSET, DRIFT = 1.7, 2e-4
"""Of the sensors' clocks: t_sensor = OFFSET + (1 + DRIFT) t."""
BEGUN, SECONDS = 100.0, 12.0  # [s] of the controller
DELAY = 0.0005  # [s] of every packet


def true_wrench(t):
    return np.stack([10.0 * np.sin(0.7 * t), t, 0.0 * t + 5.0, 0.1 * t, 0.0 * t, 0.2 * np.cos(t)], axis=-1)


def joints(t):
    w = 0.7 * np.arange(1, 7)
    phase = np.asarray(t)[..., None] * w
    return np.sin(phase) - 0.5, w * np.cos(phase), -(w**2) * np.sin(phase)


def recording(*, lost=(), late=0.0, saturated=(), streams=("/robot/rtde", "/ft", "/imu")):
    """A recording whose every number is known: records of the force sensor `lost`, others with an error status."""
    recipe, _ = rtde.recipe_of(FIELDS, kinds_of(OUTPUTS, (3, 15, 8)))
    robot = aw.load("ur5")
    packets = []

    def add(topic, t, device, count, data):
        packets.append(Packet(topic, round((1e9 + t + DELAY) * 1e9), round(device * 1e9), count, data))

    for k, t in enumerate(BEGUN + np.arange(0.0, SECONDS, 0.008)):
        q, qd, qdd = joints(t)
        values = {n: (0.0,) * c if c > 1 else 0 for n, c in zip(recipe.names, recipe._counts, strict=True)}
        values |= {"timestamp": t, "actual_q": q, "actual_qd": qd, "target_q": q, "target_qd": qd, "target_qdd": qdd}
        payload = recipe.pack(values)
        add("/robot/rtde", t, t, k, rtde.packet(rtde.DATA, b"\x01" + payload))
    for k, t in enumerate(BEGUN + late + np.arange(0.0, SECONDS - late, 0.004)):
        own = OFFSET + (1.0 + DRIFT) * t
        if k not in lost:
            status = netft.SATURATED if k in saturated else 0
            record = netft.Record(k, round(own * netft.INTERNAL_RATE), status, tuple(true_wrench(t)))
            add("/ft", t, round(own * netft.INTERNAL_RATE) / netft.INTERNAL_RATE, k, netft.pack(record))
    T = np.eye(4)
    T[:3, 3] = IMU_AT
    carrier = robot.with_tool(robot.T_tip_tool @ T)
    for k, t in enumerate(BEGUN + np.arange(0.0, SECONDS, 0.01)):
        q, qd, qdd = joints(t)
        force = fk(carrier, q)[:3, :3].T @ (acceleration(carrier, q, qd, qdd)[:3] - robot.gravity)
        sample = xsens.ImuSample(tuple(force), (t - BEGUN, 0.0, 0.0), (0.0, 0.0, 1.0), k)
        add("/imu", t, OFFSET + (1.0 + DRIFT) * t, k, xsens.pack(sample))
    channels = {
        "/robot/rtde": Channel("/robot/rtde", "ur-rtde", recipe_text(recipe), {"protocol": "2"}),
        "/ft": Channel("/ft", "ati-rdt", "", {}),
        "/imu": Channel("/imu", "xsens-mtdata", "", {}),
    }
    kept = sorted((packet for packet in packets if packet.topic in streams), key=lambda packet: packet.host)
    return Recorded({topic: channels[topic] for topic in streams}, kept, {}, True)


@pytest.fixture(scope="module")
def whole():
    return recording()


@pytest.fixture(scope="module")
def table(whole):
    return aligned(whole)


@pytest.fixture(scope="module")
def file(whole, tmp_path_factory):
    path = tmp_path_factory.mktemp("aligned") / "run.mcap"
    writer = PacketWriter(path)
    for channel in whole.channels.values():
        writer.add(channel)
    for packet in whole.packets:
        writer.write(packet)
    writer.close({})
    return path


# the numbers


def test_the_robots_rows_are_its_own_samples(table, whole):
    assert np.array_equal(table.time, BEGUN + np.arange(0.0, SECONDS, 0.008))
    assert np.array_equal(table["q"], joints(table.time)[0])
    assert table["target_qdd"].shape == (len(table), 6) and table.unit("target_qdd") == "rad/s^2"
    assert table.robot is None and "timestamp" not in table


def test_sensors_are_on_the_controllers_clock(table):
    """Packets come half a millisecond late, all of them: a constant that arrival times cannot show."""
    known = np.isfinite(table["ft_reach"])
    assert known.mean() > 0.99
    assert np.abs(table["ft"][known] - true_wrench(table.time[known])).max() < 0.005
    rate = np.isfinite(table["imu_reach"])
    assert np.abs(table["imu_rate"][rate, 0] - (table.time[rate] - BEGUN)).max() < 1e-3
    assert table.unit("ft") == "N, N m" and table.unit("imu_acceleration") == "m/s^2"


def test_how_far_interpolation_reached_is_told(table):
    said = table.settings["sensors"]
    for device, period in (("ft", 0.004), ("imu", 0.01)):
        reach = table[f"{device}_reach"]
        known = reach[np.isfinite(reach)]
        assert known.min() >= 0.0 and known.max() <= 0.5 * period + 1e-6
        assert said[device]["largest_reach"] == known.max() and said[device]["mean_reach"] == pytest.approx(
            known.mean()
        )
        assert said[device]["rows"] == len(known) and said[device]["gaps"] == 0
    assert f"{MOST_PERIODS:g} periods" in table.settings["rule"]


def test_no_gap_is_bridged():
    lost = range(1000, 1100)  # 0.4 s
    table = aligned(recording(lost=lost))
    before, after = BEGUN + 999 * 0.004, BEGUN + 1100 * 0.004
    inside = (table.time > before + 1e-3) & (table.time < after - 1e-3)
    assert inside.sum() > 45 and np.isnan(table["ft"][inside]).all() and np.isnan(table["ft_reach"][inside]).all()
    around = (table.time > before - 0.5) & (table.time < before - 1e-3)
    assert np.isfinite(table["ft"][around]).all()
    assert table.settings["sensors"]["ft"]["gaps"] == 1
    assert np.isfinite(table["imu_acceleration"][inside]).all() and np.isfinite(table["q"]).all()


def test_even_one_lost_sample_is_a_gap():
    table = aligned(recording(lost=[1500]))
    assert table.settings["sensors"]["ft"]["gaps"] == 1
    assert 1 <= np.isnan(table["ft"][1:-2, 0]).sum() <= 2


def test_nothing_is_told_before_the_first_sample_and_after_the_last():
    table = aligned(recording(late=3.0))
    early = table.time < BEGUN + 3.0 - 0.002
    assert early.sum() > 370 and np.isnan(table["ft"][early]).all()
    assert np.isfinite(table["ft"][(table.time > BEGUN + 3.01) & (table.time < BEGUN + SECONDS - 0.02)]).all()


def test_a_sample_beyond_the_sensors_range_is_marked():
    table = aligned(recording(saturated=range(500, 510)))
    fault = table["ft_fault"]
    assert set(np.unique(fault[np.isfinite(fault)])) == {0.0, 1.0}
    assert 5 <= (fault == 1.0).sum() <= 6
    assert np.abs(table.time[fault == 1.0] - (BEGUN + 504.5 * 0.004)).max() < 0.03


def test_placing_is_linear_between_neighbours_and_exact_at_samples():
    at = np.array([0.0, 1.0, 2.0, 5.0, 6.0, 7.0])
    values = np.array([[0.0], [10.0], [0.0], [30.0], [40.0], [50.0]])
    out, reach, gaps = placed(np.array([-0.1, 0.0, 0.25, 2.0, 3.5, 5.0, 6.5, 7.1]), at, values)
    assert np.array_equal(out[:, 0], [np.nan, 0.0, 2.5, 0.0, np.nan, 30.0, 45.0, np.nan], equal_nan=True)
    assert np.array_equal(reach, [np.nan, 0.0, 0.25, 0.0, np.nan, 0.0, 0.5, np.nan], equal_nan=True)
    assert gaps == 1


def test_the_inertial_units_clock_by_motion(whole):
    """Packets that arrive late by a constant hide an offset; motion does not."""
    late = [p._replace(host=p.host + 40_000_000) if p.topic == "/imu" else p for p in whole.packets]
    shifted = Recorded(whole.channels, late, {}, True)
    errors = {}
    for name, robot in (("arrival", None), ("motion", aw.load("ur5"))):
        table = aligned(shifted, robot=robot)
        good = np.isfinite(table["imu_reach"])
        errors[name] = np.abs(table["imu_rate"][good, 0] - (table.time[good] - BEGUN)).max()
        assert name in table.settings["sensors"]["imu"]["clock"] or name == "arrival"
    assert errors["arrival"] > 0.03 and errors["motion"] < 0.003


def test_a_unit_that_was_heard_later_than_the_robot_has_its_clock_all_the_same(whole):
    """Three seconds, more than clocks are looked for: the beginnings of the two records do not belong together."""
    begun = round((1e9 + BEGUN + 3.0) * 1e9)
    late = [packet for packet in whole.packets if packet.topic != "/imu" or packet.host > begun]
    table = aligned(Recorded(whole.channels, late, {}, True), robot=aw.load("ur5"))
    good = np.isfinite(table["imu_reach"])
    assert "from motion" in table.settings["sensors"]["imu"]["clock"] and good.sum() > 1000
    assert np.abs(table["imu_rate"][good, 0] - (table.time[good] - BEGUN)).max() < 0.003


# what is refused


def test_without_a_robot_there_is_no_clock():
    with pytest.raises(InputError, match=r"run\.mcap: holds no robot"):
        aligned(recording(streams=("/ft", "/imu")), name="run.mcap")


def test_a_missing_sensor_is_done_without():
    table = aligned(recording(streams=("/robot/rtde", "/imu")))
    assert "ft" not in table and "imu_rate" in table
    assert table.settings["sensors"]["ft"] == {"clock": "not in the recording"}


def test_a_controller_that_was_started_again_is_told(whole):
    def again(packet):
        if packet.topic != "/robot/rtde" or packet.sequence < 700:
            return packet
        return packet._replace(data=packet.data[:4] + np.array([5.0]).astype(">f8").tobytes() + packet.data[12:])

    with pytest.raises(InputError, match="falls after row 700: it was started again"):
        aligned(Recorded(whole.channels, [again(packet) for packet in whole.packets], {}, True))


@pytest.mark.parametrize(
    "words, told",
    [
        (["--aligned", "--kind", "xlsx"], "written as mcap, parquet, csv, npz, mat"),
        (["--kind", "npz"], "csv, parquet, mat"),
        (["--robot", "ur5"], "add --aligned"),
        (["--aligned", "--robot", "ur5", "--model", "arm.json"], "--robot or --model"),
    ],
)
def test_requests_that_cannot_be_met(words, told, file, tmp_path, capsys):
    assert main(["lab", "export", str(file), "--out", str(tmp_path / "out"), *words]) == 2
    assert told in capsys.readouterr().err.replace("\n", " ")
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def test_the_recording_is_never_written_over(file, tmp_path, capsys):
    """A recording that is called as the table would be."""
    place = tmp_path / "aligned.mcap"
    shutil.copy(file, place)
    before = place.read_bytes()
    words = ["lab", "export", str(place), "--aligned", "--kind", "mcap", "--out", str(tmp_path)]
    assert main(words) == 2 and place.read_bytes() == before
    assert "reads that file" in capsys.readouterr().err


def test_a_name_that_matlab_cannot_have_is_refused(tmp_path):
    for name in ("2nd", "a b", "a" * 64, "größe"):
        with pytest.raises(InputError, match="is no name in MATLAB"):
            write_mat(tmp_path / "x.mat", {"about": {name: 1.0}})
    assert not (tmp_path / "x.mat").exists()


def test_an_older_table_survives_a_failure(table, tmp_path, monkeypatch):
    old = write_aligned(table, tmp_path, "mat").read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("scipy.io.savemat", full)
    with pytest.raises(WriteError, match="No space left"):
        write_aligned(table, tmp_path, "mat")
    assert (tmp_path / "aligned.mat").read_bytes() == old and len(list(tmp_path.iterdir())) == 1


# every format


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "mat"])
def test_recordings_come_back_bit_for_bit(kind, table, tmp_path):
    again = Recording.load(write_aligned(table, tmp_path, kind))
    assert list(again) == list(table) and np.array_equal(again.time, table.time)
    for name in table:
        assert np.array_equal(again[name], table[name], equal_nan=True) and again.unit(name) == table.unit(name)
    assert again.settings["sensors"] == table.settings["sensors"] and again.settings["rule"] == table.settings["rule"]


def test_matlab_files_are_read_back_by_scipy(table, tmp_path):
    from scipy.io import loadmat

    held = loadmat(write_aligned(table, tmp_path, "mat"), simplify_cells=True)
    assert np.array_equal(held["t"], table.time)
    for name in table:
        assert np.array_equal(held[name], table[name], equal_nan=True), name
        assert (held["units"][name] if len(held["units"][name]) else "") == table.unit(name)
    assert held["about"]["rule"] == table.settings["rule"]
    assert held["about"]["ft"]["largest_reach"] == table.settings["sensors"]["ft"]["largest_reach"]


def test_matlab_files_are_read_by_octave(table, tmp_path):
    octave = shutil.which("octave-cli")
    if octave is None:
        pytest.skip("octave-cli is not installed on this machine: the exported .mat file cannot be opened with it")
    write_aligned(table, tmp_path, "mat")
    code = """
    s = load('aligned.mat');
    printf('%d %d\\n', size(s.q));
    printf('%.17g %.17g\\n', s.t(7), s.q(7, 3));
    printf('%.17g\\n', s.ft(700, 1));
    printf('%d\\n', sum(isnan(s.ft_reach)));
    printf('%s|%s\\n', s.units.ft, s.about.clock);
    """
    done = subprocess.run(
        [octave, "--no-gui", "--norc", "--quiet", "--eval", code],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    lines = done.stdout.strip().splitlines()
    assert len(lines) == 5, done.stderr
    assert lines[0].split() == [str(len(table)), "6"]
    assert [float(x) for x in lines[1].split()] == [table.time[6], table["q"][6, 2]]
    assert float(lines[2]) == table["ft"][699, 0]
    assert int(lines[3]) == np.isnan(table["ft_reach"]).sum()
    assert lines[4] == f"{table.unit('ft')}|{table.settings['clock']}"


# the command


def test_the_command_writes_a_table_and_says_how(file, tmp_path, capsys):
    assert main(["lab", "export", str(file), "--aligned", "--kind", "mat", "--out", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["files"] == [str(tmp_path / "aligned.mat")] and said["rows"] == round(SECONDS / 0.008)
    assert said["sensors"]["ft"]["rows_without"] <= 3 and "packets arrived" in said["sensors"]["ft"]["clock"]
    words = ["lab", "export", str(file), "--aligned", "--robot", "ur5", "--out", str(tmp_path / "felt")]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "imu: from motion" in told.replace("\n", " ") and "ms at most" in told
    assert (tmp_path / "felt" / "aligned.csv").read_text(encoding="utf-8").startswith("t,t_host,")


def test_tables_of_devices_as_matlab_files(file, tmp_path, capsys):
    from scipy.io import loadmat

    assert main(["lab", "export", str(file), "--kind", "mat", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert {path.name for path in tmp_path.iterdir()} == {"robot-rtde.mat", "ft.mat", "imu.mat"}
    held, packets = loadmat(tmp_path / "ft.mat"), read_packets(file).of("/ft")
    assert len(held["fx"]) == len(packets) and {"t_host", "t", "sequence", "tz", "status"} <= set(held)
