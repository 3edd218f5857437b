# SPDX-License-Identifier: Apache-2.0
"""What was received is in the file, bit by bit; what was lost is counted; a replay is the robot again."""

import os
import struct

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightWarning, InputError
from armwright.identify import read_log
from armwright.lab import Recorder, Replay, Stand, align, read_packets
from armwright.lab.flange_sensing import DeviceClock
from armwright.lab.lab_export import export, tables
from armwright.lab.packet_writer import PacketWriter
from armwright.lab.packets import Channel, Packet, recipe_from
from armwright.lab.sources import FtSource, ImuSource, RealtimeSource, RtdeSource
from armwright.lab.stand import HOME
from armwright.lab.virtual_sensors import VirtualMti, VirtualNetFt
from armwright.lab.wire import netft
from support.lab import PORTS, address, client, wait_for
from support.lock_step import replay_in_step, stand_in_step
from support.scripts import run_text

CLOCK = DeviceClock(offset=1.7, drift=2e-3)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run with all devices, some of whose packets are lost on purpose."""
    path = tmp_path_factory.mktemp("lab") / "run.mcap"
    stand = Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False, payload=(1.0, (0.0, 0.0, 0.05)))
    ft = VirtualNetFt(stand, rdt_port=0, http_port=0, skip=50, clock=CLOCK)
    imu = VirtualMti(stand, rate=100.0, clock=CLOCK)
    stand.faults.segment = True
    with stand_in_step(stand, ft, imu) as step:
        c = stand.controller
        sources = [
            RtdeSource(stand.host, port=stand.ports["rtde"]),
            RealtimeSource(stand.host, port=stand.ports["realtime"]),
            FtSource(stand.host, port=ft.rdt_port, http_port=ft.http_port),
            ImuSource(imu.path, rate=100.0),
        ]
        with Recorder(path, step.followed(sources), {"place": "test"}) as recorder:
            wait_for(lambda: all(t.received for t in recorder.tallies.values()), "all devices are heard")
            goals = [HOME + (0.5 if k % 2 else -0.3) * np.array([1, 0.3, 0.4, 0.5, 0.2, 1]) for k in range(8)]
            moves = "\n".join(f"  movej({goal.tolist()}, a=4, v=1.5)" for goal in goals)
            with c.lock:
                run_text(c, f"def moves():\n{moves}\nend")
            wait_for(lambda: c.program is None, "the moves end")
    return path, recorder, ft


def test_every_packet_that_came_is_in_the_file(recorded):
    path, recorder, _ = recorded
    held = read_packets(path)
    assert held.whole and held.facts["place"] == "test"
    for topic, tally in recorder.tallies.items():
        assert len(held.of(topic)) == tally.received > 0
        assert held.facts["devices"][topic]["received"] == tally.received


def test_no_sample_of_the_robot_is_lost_by_its_own_clock(recorded):
    path, recorder, _ = recorded
    for topic in ("/robot/rtde", "/robot/realtime"):
        stamps = np.array([packet.device for packet in read_packets(path).of(topic)])
        assert np.allclose(np.diff(stamps) * 1e-9, 0.008, atol=1e-6)
        assert recorder.tallies[topic].lost == 0


def test_losses_of_the_force_sensor_are_those_that_were_injected(recorded):
    path, recorder, ft = recorded
    sequence = [netft.unpack(packet.data).rdt_sequence for packet in read_packets(path).of("/ft")]
    missing = set(range(sequence[0], sequence[-1])) - set(sequence)
    injected = {number for number in range(sequence[0], sequence[-1]) if number % ft.skip == 0}
    assert recorder.tallies["/ft"].lost == len(missing)
    assert ft.skipped - 1 <= len(injected) <= ft.skipped and injected == missing  # the last may be after the end


def test_tables_have_the_columns_that_identification_reads(recorded, tmp_path):
    path, *_ = recorded
    files = export(path, tmp_path, "csv")
    assert {file.name for file in files} == {"robot-rtde.csv", "robot-realtime.csv", "ft.csv", "imu.csv"}
    columns, rows = tables(path)["robot-rtde"]
    assert {"t", "q_0", "qd_5", "current_3", "target_current_0", "target_torque_2"} <= set(columns)
    text = np.genfromtxt(tmp_path / "robot-rtde.csv", delimiter=",", names=True)
    assert np.array_equal(text["q_0"], rows[:, columns.index("q_0")])
    log = read_log(tmp_path / "robot-rtde.csv")
    at = columns.index("current_0")
    assert np.array_equal(log.current, rows[:, at : at + 6])
    assert np.array_equal(log.t, rows[:, columns.index("t")]) and "t_host left aside" in log.account
    parquet = pytest.importorskip("pyarrow.parquet")
    export(path, tmp_path, "parquet")
    table = parquet.read_table(tmp_path / "robot-rtde.parquet")
    assert np.array_equal(table["q_0"].to_numpy(), rows[:, columns.index("q_0")])


def test_clocks_are_aligned_to_within_a_sample(recorded):
    """The inertial unit's clock is off and drifts; motion tells both."""
    path, *_ = recorded
    all_tables = tables(path)
    _, imu = all_tables["imu"]
    columns, robot = all_tables["robot-rtde"]
    t_imu, t_robot = imu[:, 1], robot[:, columns.index("t")]
    at = columns.index("actual_tool_accelerometer_0")
    found = align(
        t_robot, np.linalg.norm(robot[:, at : at + 3], axis=1), t_imu, np.linalg.norm(imu[:, 3:6], axis=1), window=1.5
    )
    true = (t_imu - CLOCK.offset) / (1.0 + CLOCK.drift)
    assert np.abs(found.to_a(t_imu) - true).max() < 0.008
    assert found.windows >= 3 and found.jitter < 0.004


def test_a_replay_is_bit_identical_for_an_unmodified_client(recorded):
    path, *_ = recorded
    code = """
    import json, sys
    from third_party.rtde.rtde import RTDE
    connection = RTDE(sys.argv[1], 30004)
    connection.connect()
    connection.get_controller_version()
    names = ["timestamp", "actual_q", "actual_current", "actual_TCP_pose"]
    connection.send_output_setup(names, ["DOUBLE", "VECTOR6D", "VECTOR6D", "VECTOR6D"])
    connection.send_start()
    rows = []
    for _ in range(200):
        sample = connection.receive()
        numbers = [sample.timestamp, *sample.actual_q, *sample.actual_current, *sample.actual_TCP_pose]
        rows.append([x.hex() for x in numbers])
    connection.disconnect()
    print(json.dumps(rows))
    """
    held = read_packets(path)
    recipe = recipe_from(held.channels["/robot/rtde"].recipe)
    with Replay(path, host=address(), ports={"rdt": 0, "ft http": 0}) as played:
        rows = client(code, played.host, "third_party.rtde")
    known = {}
    for packet in held.of("/robot/rtde"):
        v = recipe.unpack(packet.data[4:])
        numbers = [v["timestamp"], *v["actual_q"], *v["actual_current"], *v["actual_TCP_pose"]]
        known[float(v["timestamp"]).hex()] = [float(x).hex() for x in numbers]
    assert len({row[0] for row in rows}) == 200  # this client skips samples when it is late, and repeats none
    assert all(row == known[row[0]] for row in rows)


REPLAY_PORTS = dict.fromkeys(("realtime", "rtde", "dashboard", "rdt", "ft http"), 0)


def test_all_devices_of_a_replay_say_what_was_recorded_bit_by_bit(recorded, tmp_path):
    """Recorded once more from its replay, a recording is itself again."""
    path, *_ = recorded
    held, again = read_packets(path), tmp_path / "again.mcap"
    played = Replay(path, host=address(), ports=REPLAY_PORTS, together=True)
    with replay_in_step(played) as step:
        sources = [
            RtdeSource(played.host, port=played.ports["rtde"]),
            RealtimeSource(played.host, port=played.ports["realtime"]),
            FtSource(played.host, port=played.ports["rdt"], http_port=played.ports["ft http"]),
            ImuSource(played.imu.path, rate=100.0),
        ]
        with Recorder(again, step.followed(sources)):
            wait_for(lambda: played.done and step.caught_up, "it has been played")
    back = read_packets(again)
    for topic in ("/robot/realtime", "/ft", "/imu"):
        assert [packet.data for packet in back.of(topic)] == [packet.data for packet in held.of(topic)]
    assert [packet.device for packet in back.of("/robot/rtde")] == [packet.device for packet in held.of("/robot/rtde")]
    recipe, known = (recipe_from(file.channels["/robot/rtde"].recipe) for file in (held, back))
    exact = {packet.device: recipe.unpack(packet.data[4:]) for packet in held.of("/robot/rtde")}
    for packet in back.of("/robot/rtde"):
        assert known.unpack(packet.data[4:]) == exact[packet.device]
    assert back.channels["/ft"].facts == held.channels["/ft"].facts  # the page, too


def test_a_replay_keeps_the_recorded_time_base():
    """The robot by its own clock; sensors where they came between its packets, however fast the host's clock."""
    from armwright.lab.packets import Recorded
    from armwright.lab.replay_devices import score

    random = np.random.default_rng(2)
    late = random.uniform(0.0, 1e6, 200)
    robot = [Packet("/robot/rtde", int(2e6 * k + late[k]), int(5e9 + 8e6 * k), k, b"r") for k in range(200)]
    force = [Packet("/ft", int(1e6 * k + 5e5), 0, k, b"f") for k in range(400)]  # four times as fast as real
    packets = sorted(robot + force, key=lambda packet: packet.host)
    found = score(Recorded({}, packets, {}, True))
    due = {topic: np.array([t for t, p in found if p.topic == topic]) for topic in ("/robot/rtde", "/ft")}
    assert np.allclose(np.diff(due["/robot/rtde"]), 0.008, atol=1e-12)
    sequence = [p.sequence for _, p in found if p.topic == "/ft"]
    exact = np.arange(400) * 0.004
    off = due["/ft"] - exact[sequence]
    assert np.ptp(off) < 0.008  # what the robot's packets were late by, brought to its clock


def test_the_calibration_of_the_force_sensor_is_in_the_recording(recorded):
    path, *_ = recorded
    facts = read_packets(path).channels["/ft"].facts
    assert facts["calibration"] == "page" and facts["serial"] == "FT00001"
    assert facts["counts_per_force"] == "1000000" and "<cfgcpf>1000000</cfgcpf>" in facts["netftapi2.xml"]


def test_counts_follow_the_units_of_the_page():
    from armwright.lab.sources import calibration_of, scales

    page = "<a><cfgcpf>{}</cfgcpf><cfgcpt>{}</cfgcpt><scfgfu>{}</scfgfu><scfgtu>{}</scfgtu></a>"
    found = calibration_of(page.format(1000, 2000, "lbf", "lbf-in").encode())
    assert scales(found) == pytest.approx((1000 / 4.448222, 2000 / 0.1129848), rel=1e-6)
    for bad in (b"", b"<a>", page.format(0, 1, "N", "N-m").encode(), page.format(1, 1, "stone", "N-m").encode()):
        found = calibration_of(bad)
        assert found["calibration"] == "assumed" and found["reason"]


def test_joint_states_stand_beside_the_raw_packets(recorded):
    """Position, speed and current at the robot's own time, for whoever reads MCAP without knowing our packets."""
    path, *_ = recorded
    columns, rows = tables(path)["robot-rtde"]
    log = read_log(path)
    assert np.allclose(np.diff(log.t), 0.008, atol=1e-6) and len(log) == len(rows)
    for part, stem in ((log.q, "q_0"), (log.qd, "qd_0"), (log.current, "current_0")):
        at = columns.index(stem)
        assert np.array_equal(part, rows[:, at : at + 6])


def test_a_field_that_was_not_recorded_is_not_known(recorded):
    path, *_ = recorded
    with Replay(path, host=address(), ports=REPLAY_PORTS) as played:
        source = RtdeSource(played.host, ["timestamp", "actual_joint_voltage"], port=played.ports["rtde"])
        source.open()
        assert source.recipe.names == ("timestamp",)
        source.close()


def test_a_device_that_dies_and_comes_back_is_recorded_on(tmp_path):
    path, host = tmp_path / "run.mcap", address()
    stand = Stand(aw.load("ur5"), host=host, ports=PORTS, fifo=False)
    stand.controller.ticks += 500_000  # it has been on for long; the second one begins at zero
    ports = stand.ports
    source = RtdeSource(host, port=ports["rtde"])
    missing = FtSource(host, port=1)
    with Recorder(path, [source, missing]) as recorder:
        tally = recorder.tallies["/robot/rtde"]
        with stand:
            wait_for(lambda: tally.received > 20, "it is recorded")
        before = tally.received
        with Stand(aw.load("ur5"), host=host, ports=ports, fifo=False):
            wait_for(lambda: tally.received > before + 20, "it is recorded again")
    assert tally.connections == 2 and tally.restarts == 1
    assert recorder.tallies["/ft"].received == 0  # a missing device does not matter
    assert len(read_packets(path).of("/robot/rtde")) == tally.received


def test_a_file_that_was_cut_short_can_be_read(recorded, tmp_path):
    path, *_ = recorded
    data, cut = path.read_bytes(), tmp_path / "cut.mcap"
    cut.write_bytes(data[: len(data) // 2])
    with pytest.warns(ArmwrightWarning, match=r"cut\.mcap: cut short, the file has no end; \d+ packets were kept"):
        held = read_packets(cut)
    assert not held.whole and 0 < len(held.packets) < len(read_packets(path).packets)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_ends_the_recording_and_is_told():
    stand = Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False)
    with stand, Recorder("/dev/full", [RtdeSource(stand.host, port=stand.ports["rtde"])]) as recorder:
        wait_for(lambda: recorder.failed, "the failure is noticed")
    assert "space" in recorder.failed


def test_packets_by_the_thousand_are_written_without_loss(tmp_path):
    path = tmp_path / "many.mcap"
    writer = PacketWriter(path)
    writer.add(Channel("/robot/rtde", "ur-rtde", "timestamp DOUBLE\n"))
    data = os.urandom(1200)
    for k in range(20_000):
        writer.write(Packet("/robot/rtde", k, k, k, data))
        writer.flush()
    writer.close({})
    held = read_packets(path)
    assert [packet.sequence for packet in held.packets] == list(range(20_000))
    assert all(packet.data == data for packet in held.packets)


def test_what_is_no_recording_is_refused(tmp_path):
    bad = tmp_path / "bad.mcap"
    bad.write_bytes(b"hello, world, this is no recording")
    with pytest.raises(InputError):
        read_packets(bad)
    with pytest.raises(InputError, match="cannot be read"):
        read_packets(tmp_path / "none.mcap")


def test_the_force_sensor_feels_weight_and_pushes():
    stand = Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False, payload=(2.0, (0.0, 0.0, 0.0286)))
    try:
        plant = stand.controller.plant
        plant.qdd = np.zeros(6)
        resting = plant.feel().wrench
        assert np.linalg.norm(resting[:3]) == pytest.approx(2.0 * 9.81, rel=1e-3)
        assert np.allclose(resting[3:], 0.0, atol=1e-6)
        plant.push(5, np.array([10.0, 0, 0, 0, 0, 0]))
        assert np.linalg.norm(plant.feel().wrench[:3] - resting[:3]) == pytest.approx(10.0)
    finally:
        stand.close()


def test_protocol_vectors_of_the_inertial_unit():
    from armwright.lab.wire import xsens

    assert xsens.message(xsens.GO_TO_CONFIG) == bytes.fromhex("FAFF3000D1")  # MT Low-Level Communication, WakeUp
    assert xsens.message(xsens.GO_TO_MEASUREMENT) == bytes.fromhex("FAFF1000F1")
    assert xsens.message(xsens.REQUEST_ID) == bytes.fromhex("FAFF000001")
    device = xsens.Device(0.01)
    assert device.receive(bytes.fromhex("FAFF3000D1")) == bytes.fromhex("FAFF3100D0")
    assert device.receive(xsens.message(0x00))[2] == 0x01
    garbage = bytearray(b"\xfa\xff\x32\x05abc" + xsens.pack(xsens.ImuSample((1, 2, 3), (4, 5, 6), (7, 8, 9), 77)))
    (kind, body), *_ = list(xsens.messages(garbage))
    assert kind == xsens.MT_DATA and xsens.unpack(body).counter == 77


def test_the_756_bytes_are_those_of_004():
    from armwright.lab.wire.realtime import CB3_BYTES

    assert CB3_BYTES == 756 and struct.calcsize(">I") + 94 * 8 == 756
