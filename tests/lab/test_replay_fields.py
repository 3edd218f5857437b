# SPDX-License-Identifier: Apache-2.0
"""A replay is the robot again: every field of every sample, bit by bit."""

import struct

import numpy as np
import pytest

import armwright as aw
from armwright.lab import Recorder, Replay, Stand, read_packets
from armwright.lab.packets import recipe_from
from armwright.lab.sources import RtdeSource
from armwright.lab.stand import HOME
from armwright.lab.wire import rtde
from armwright.lab.wire.rtde_fields import OUTPUTS, kinds_of
from support.lab import PORTS, address, call, client, dial, read_packet, wait_for
from support.scripts import run_text

GETTERS = {
    "actual_current": "getActualCurrent",
    "actual_digital_input_bits": "getActualDigitalInputBits",
    "actual_digital_output_bits": "getActualDigitalOutputBits",
    "actual_execution_time": "getActualExecutionTime",
    "actual_joint_voltage": "getActualJointVoltage",
    "actual_main_voltage": "getActualMainVoltage",
    "actual_momentum": "getActualMomentum",
    "actual_q": "getActualQ",
    "actual_qd": "getActualQd",
    "actual_robot_current": "getActualRobotCurrent",
    "actual_robot_voltage": "getActualRobotVoltage",
    "actual_TCP_force": "getActualTCPForce",
    "actual_TCP_pose": "getActualTCPPose",
    "actual_TCP_speed": "getActualTCPSpeed",
    "actual_tool_accelerometer": "getActualToolAccelerometer",
    "joint_control_output": "getJointControlOutput",
    "joint_mode": "getJointMode",
    "joint_temperatures": "getJointTemperatures",
    "payload": "getPayload",
    "payload_cog": "getPayloadCog",
    "robot_mode": "getRobotMode",
    "robot_status_bits": "getRobotStatus",
    "runtime_state": "getRuntimeState",
    "safety_mode": "getSafetyMode",
    "safety_status_bits": "getSafetyStatusBits",
    "speed_scaling": "getSpeedScaling",
    "standard_analog_output0": "getStandardAnalogOutput0",
    "target_current": "getTargetCurrent",
    "target_moment": "getTargetMoment",
    "target_q": "getTargetQ",
    "target_qd": "getTargetQd",
    "target_qdd": "getTargetQdd",
    "target_speed_fraction": "getTargetSpeedFraction",
    "target_TCP_pose": "getTargetTCPPose",
    "target_TCP_speed": "getTargetTCPSpeed",
    "timestamp": "getTimestamp",
}
"""What ur_rtde can be asked for of a CB3's fields."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Two seconds of a moving arm, with everything that a CB3 tells."""
    pytest.importorskip("mcap", reason="mcap is not installed (pip install armwright[log])")
    path = tmp_path_factory.mktemp("replay") / "run.mcap"
    with Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False, current_noise=0.02) as stand:
        c = stand.controller
        source = RtdeSource(stand.host, sorted(kinds_of(OUTPUTS, c.version)), port=stand.ports["rtde"])
        with Recorder(path, [source]) as recorder:
            wait_for(lambda: recorder.written > 10, "it records")
            with c.lock:
                c.registers.out_doubles[:3] = [np.pi, -1e-300, 5e17]
                c.registers.digital = 0b1010
                run_text(c, f"movej({(HOME + 0.3).tolist()}, a=2, v=1)")
            wait_for(lambda: recorder.written > 250, "two seconds are recorded")
    return path


def test_every_byte_of_every_sample(recorded):
    held = read_packets(recorded)
    recipe = recipe_from(held.channels["/robot/rtde"].recipe)
    assert set(recipe.names) == set(kinds_of(OUTPUTS, (3, 15, 8)))
    packets = [packet.data for packet in held.of("/robot/rtde")]
    ports = dict.fromkeys(("realtime", "rtde", "dashboard"), 0)
    with Replay(recorded, host=address(), ports=ports) as played, dial(played, "rtde") as sock:
        call(sock, rtde.PROTOCOL, struct.pack(">H", 2))
        call(sock, rtde.OUTPUT, struct.pack(">d", 125.0) + ",".join(recipe.names).encode())
        call(sock, rtde.START)
        seen = [read_packet(sock)[1] for _ in packets]
    assert seen == [data[3:] for data in packets]


def test_every_field_that_ur_rtde_has_of_every_sample_that_it_sees(recorded):
    code = f"""
    import json, sys, time
    from rtde_receive import RTDEReceiveInterface
    receive, getters, rows = RTDEReceiveInterface(sys.argv[1]), {GETTERS!r}, {{}}
    quiet = time.monotonic()
    while len(rows) < 120 and time.monotonic() - quiet < 120.0:
        before = receive.getTimestamp()
        row = {{name: getattr(receive, get)() for name, get in getters.items()}}
        if receive.getTimestamp() == before == row["timestamp"]:  # one sample throughout
            if before.hex() not in rows:
                quiet = time.monotonic()
            rows[before.hex()] = row
    print(json.dumps(rows))
    """
    held = read_packets(recorded)
    recipe = recipe_from(held.channels["/robot/rtde"].recipe)
    known = {}
    for packet in held.of("/robot/rtde"):
        values = recipe.unpack(packet.data[4:])
        known[float(values["timestamp"]).hex()] = values
    with Replay(recorded, host=address(), loop=True) as played:
        rows = client(code, played.host, "rtde_receive")
    assert len(rows) >= 60
    for stamp, row in rows.items():
        for name, value in row.items():
            expected = known[stamp][name]
            # JSON writes a float with all the digits that it needs
            assert value == (list(expected) if isinstance(expected, tuple) else expected), (stamp, name)
