# SPDX-License-Identifier: Apache-2.0
"""Port 30003 of an e-Series: sizes and places of the manufacturer's table, at 500 Hz; and its recording."""

import struct

import numpy as np
import pytest

import armwright as aw
from armwright.lab.controller.controller import Controller
from armwright.lab.controller.published import values
from armwright.lab.lab_export import _realtime
from armwright.lab.lab_plant import LabPlant
from armwright.lab.packets import Packet, Recorded
from armwright.lab.sources import RealtimeSource
from armwright.lab.stand import HOME, Stand
from armwright.lab.wire.realtime import realtime_packet
from support.lab import PORTS, address, dial, exactly

PLACES = {
    "timestamp": 4,
    "target_q": 12,
    "actual_q": 252,
    "actual_qd": 300,
    "actual_current": 348,
    "actual_TCP_pose": 444,
    "actual_TCP_speed": 492,
    "actual_TCP_force": 540,
    "target_TCP_pose": 588,
    "actual_digital_input_bits": 684,
    "joint_temperatures": 692,
    "robot_mode": 756,
    "joint_mode": 764,
    "safety_mode": 812,
    "actual_tool_accelerometer": 868,
    "speed_scaling": 940,
    "actual_main_voltage": 972,
    "actual_joint_voltage": 996,
    "actual_digital_output_bits": 1044,
    "runtime_state": 1052,
    "elbow_position": 1060,
    "safety_status": 1108,
    "payload": 1140,
    "payload_cog": 1148,
    "payload_inertia": 1172,
}
"""Byte at which a value begins, as clients of an e-Series with software 5.10 or later have it."""


@pytest.fixture(scope="module")
def plant():
    return LabPlant(aw.load("ur5e"), q0=HOME)


@pytest.mark.filterwarnings("ignore::armwright.ArmwrightWarning")
@pytest.mark.parametrize(
    ("software", "size"), [("5.0.0", 1108), ("5.4.0", 1116), ("5.9.1", 1116), ("5.10.0", 1220), ("5.25.1", 1220)]
)
def test_a_packet_has_the_size_of_its_software_and_every_value_its_place(plant, software, size):
    plant.told(1.5, np.array([0.01, 0.02, 0.03]))
    c = Controller(plant, e_series=True, software=software)
    c.settle()
    for _ in range(3):
        c.tick()
    c.registers.digital = 5
    outputs = values(c)
    data = realtime_packet(outputs, c.version)
    assert len(data) == size == struct.unpack_from(">i", data)[0]
    for name, at in PLACES.items():
        if at < size:
            value = np.atleast_1d(outputs[name])
            assert np.array_equal(struct.unpack_from(f">{len(value)}d", data, at), value), name
    c.solver.close()


@pytest.mark.filterwarnings("ignore::armwright.ArmwrightWarning")
def test_an_e_series_sends_one_every_tick_and_it_is_recorded():
    with Stand(aw.load("ur5e"), host=address(), ports=PORTS, e_series=True, fifo=False) as stand:
        with dial(stand, "realtime") as sock:
            stamps = [struct.unpack_from(">d", exactly(sock, 1220), 4)[0] for _ in range(100)]
        source = RealtimeSource(stand.host, port=stand.ports["realtime"])
        channel = source.open()
        items = []
        while len(items) < 50:
            items += list(source.read())
        source.close()
    assert np.allclose(np.diff(stamps), 0.002)
    assert np.diff([number for _, number, _ in items]).tolist() == [1] * (len(items) - 1)
    packets = [Packet(channel.topic, stamp, stamp, number, data) for stamp, number, data in items]
    columns, rows = _realtime(Recorded({channel.topic: channel}, packets, {}, True, ()))
    found = rows[0][[columns.index(f"acceleration_{k}") for k in range(3)]]
    assert np.linalg.norm(found) == pytest.approx(9.81, abs=0.05)  # at rest, wherever it stands in the packet
