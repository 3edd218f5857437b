# SPDX-License-Identifier: Apache-2.0
"""What was received is in the file, bit by bit; what was lost is counted; a replay is the robot again."""

import itertools
import os
import struct

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.identify import read_log
from armwright.lab import LabError, Recorder, Replay, Stand, align, connect, read_packets
from armwright.lab.controller.program import run_text
from armwright.lab.devices import VirtualMti, VirtualNetFt
from armwright.lab.export import export, tables
from armwright.lab.mover import move, read_commands, start_pose
from armwright.lab.packets import Channel, Packet, PacketWriter, recipe_from
from armwright.lab.sensing import DeviceClock
from armwright.lab.sources import FtSource, ImuSource, RealtimeSource, RtdeSource
from armwright.lab.stand import HOME
from armwright.lab.wire import netft
from support.lab import PORTS, address, client, wait_for

CLOCK = DeviceClock(offset=1.7, drift=2e-3)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run with all devices, some of whose packets are lost on purpose."""
    path = tmp_path_factory.mktemp("lab") / "run.mcap"
    stand = Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False, payload=(1.0, (0.0, 0.0, 0.05)))
    ft = VirtualNetFt(stand, rdt_port=0, http_port=0, skip=50, clock=CLOCK)
    imu = VirtualMti(stand, rate=100.0, clock=CLOCK)
    stand.faults.segment = True
    with stand:
        c = stand.controller
        sources = [
            RtdeSource(stand.host, port=stand.ports["rtde"]),
            RealtimeSource(stand.host, port=stand.ports["realtime"]),
            FtSource(stand.host, port=ft.rdt_port),
            ImuSource(imu.path, rate=100.0),
        ]
        with Recorder(path, sources, {"place": "test"}) as recorder:
            wait_for(lambda: all(t.received for t in recorder.tallies.values()), "all devices are heard")
            begun = c.time
            for k in itertools.count():
                goal = HOME + (0.5 if k % 2 else -0.3) * np.array([1, 0.3, 0.4, 0.5, 0.2, 1])
                with c.lock:
                    run_text(c, f"movej({goal.tolist()}, a=4, v=1.5)")
                wait_for(lambda: not c.moving, "the move ends")
                if c.time > begun + 5.0:
                    break
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
    gaps = int((np.diff(sequence) - 1).sum())
    assert recorder.tallies["/ft"].lost == gaps
    assert ft.skipped - 1 <= gaps <= ft.skipped + 5  # the last one may be after the end; a busy machine may lose more


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
    with Replay(path, host=address()) as played:
        rows = client(code, played.host, "third_party.rtde")
    known = {}
    for packet in held.of("/robot/rtde"):
        v = recipe.unpack(packet.data[4:])
        numbers = [v["timestamp"], *v["actual_q"], *v["actual_current"], *v["actual_TCP_pose"]]
        known[float(v["timestamp"]).hex()] = [float(x).hex() for x in numbers]
    assert len({row[0] for row in rows}) == 200  # this client skips samples when it is late, and repeats none
    assert all(row == known[row[0]] for row in rows)


def test_a_field_that_was_not_recorded_is_not_known(recorded):
    path, *_ = recorded
    with Replay(path, host=address(), ports=dict.fromkeys(("realtime", "rtde", "dashboard"), 0)) as played:
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


# our own client


def refused(ask):
    """Whether the link refuses to answer."""
    try:
        ask()
    except LabError as error:
        return "ms old" in str(error)
    return False


def test_samples_have_an_age_and_stale_ones_are_refused():
    with Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False) as stand:
        with connect(stand.host, port=stand.ports["rtde"], stale=30.0) as link:
            first = link.next()
            second = link.next(first)
            assert second.device_time > first.device_time and second.age >= 0.0
        with connect(stand.host, port=stand.ports["rtde"]) as link:
            wait_for(lambda: link._last is not None, "a sample comes")
            with stand.controller.lock:  # the robot stands still, the connection stays
                wait_for(lambda: refused(link.latest), "the stall is noticed")
                assert refused(link.next)


def test_a_dead_robot_is_told():
    with Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False) as stand:
        link = connect(stand.host, port=stand.ports["rtde"], stale=30.0)
        link.next()
    wait_for(lambda: link._error, "it is noticed")
    with pytest.raises(LabError, match="gone"):
        link.latest()
    link.close()
    with pytest.raises(LabError, match="cannot connect"):
        connect(stand.host, port=stand.ports["rtde"])


# the mover


def test_the_mover_sends_one_command_after_the_other_and_notices_one_that_was_skipped(tmp_path):
    file = tmp_path / "moves.txt"
    goals = [(HOME + shift).tolist() for shift in (0.2, 0.0)]
    file.write_text("# a comment\n" + "".join(f"movej({goal}, a=5, v=1.5)\n" for goal in goals))
    commands = read_commands(file)
    assert start_pose(commands[0]).startswith("Base 11.5°, Shoulder -78.5°")
    stand = Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False)
    with stand, connect(stand.host, port=stand.ports["rtde"], stale=30.0) as link:
        done = []
        move(link, commands, wait=0.9, port=stand.ports["secondary"], told=lambda k, _: done.append(k))
        assert done == [1, 2]
        with pytest.raises(LabError, match=r"command 1 .* was skipped or not finished"):
            move(link, commands, wait=0.1, port=stand.ports["secondary"])


def test_a_file_with_anything_else_is_refused(tmp_path):
    file = tmp_path / "moves.txt"
    file.write_text("movej([0,0,0,0,0,0])\nimport os\n")
    with pytest.raises(InputError, match="line 2"):
        read_commands(file)


# alignment


def test_alignment_finds_offset_and_drift_of_a_tap_train():
    random = np.random.default_rng(3)
    t = np.arange(0.0, 60.0, 0.008)
    signal = sum(np.exp(-(((t - s) / 0.03) ** 2)) for s in random.uniform(1, 59, 40))
    t_b = np.arange(0.0, 60.0, 0.01)
    true = 0.35 + (1.0 + 3e-5) * t_b
    other = 4.0 * np.interp(true, t, signal) + 0.05 * random.standard_normal(len(t_b))
    found = align(t, signal, t_b, other)
    assert abs(found.offset - 0.35) <= max(2 * found.offset_interval, 1e-3)
    assert np.abs(found.to_a(t_b) - true).max() < 0.008
    assert found.drift == pytest.approx(3e-5, abs=max(2 * found.drift_interval, 1e-6))


def test_signals_with_nothing_in_common_are_refused():
    random = np.random.default_rng(1)
    t = np.arange(0.0, 20.0, 0.01)
    with pytest.raises(InputError, match="nothing in common"):
        align(t, random.standard_normal(len(t)), t, random.standard_normal(len(t)))


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
    garbage = bytearray(b"\xfa\xff\x32\x05abc" + xsens.pack(xsens.Sample((1, 2, 3), (4, 5, 6), (7, 8, 9), 77)))
    (kind, body), *_ = list(xsens.messages(garbage))
    assert kind == xsens.MT_DATA and xsens.unpack(body).counter == 77


def test_the_756_bytes_are_those_of_004():
    from armwright.lab.controller.published import REALTIME

    assert REALTIME.size == 756 and struct.calcsize(">I") + 94 * 8 == 756
