# SPDX-License-Identifier: Apache-2.0
"""Every RTDE output: its type, the software that has it, and that its value is the controller's."""

import struct

import numpy as np
import pytest

import armwright as aw
from armwright.dynamics import centroidal_momentum
from armwright.lab.controller.controller import CONTROLLER_TICK, Controller
from armwright.lab.controller.published import VALUES, values
from armwright.lab.lab_plant import LabPlant
from armwright.lab.script.script_host import ScriptHost
from armwright.lab.stand import HOME
from armwright.lab.wire import rtde
from armwright.lab.wire.rtde_fields import INPUTS, OUTPUTS, kinds_of
from support.lab import run_for
from support.scripts import run_text

NEWEST, CB3 = (5, 25, 1, 0), (3, 15, 8, 0)


@pytest.fixture(scope="module")
def shared():
    made = Controller(LabPlant(aw.load("ur5"), q0=HOME), e_series=True, software="5.25.1")
    ScriptHost(made)
    return made


@pytest.fixture
def c(shared):
    shared.plant.live.reset(HOME)
    shared.settle()
    shared.registers.__init__()
    return shared


def ask(connection, kind, payload):
    buffer = bytearray(rtde.packet(kind, payload))
    answer = bytearray(connection.take(buffer))
    ((got, body),) = rtde.packets(answer)
    assert got == kind and not buffer
    return body


def connected(c):
    connection = rtde.RtdeConnection(c)
    assert ask(connection, rtde.PROTOCOL, b"\0\2") == b"\1"
    return connection


def test_every_field_has_a_value_of_its_type(c):
    assert set(VALUES) == set(OUTPUTS) and len(OUTPUTS) == 406
    connection = connected(c)
    names = sorted(OUTPUTS)
    answer = ask(connection, rtde.OUTPUT, struct.pack(">d", 500.0) + ",".join(names).encode())
    assert answer == b"\1" + ",".join(OUTPUTS[name].kind for name in names).encode()
    assert ask(connection, rtde.START, b"") == b"\1"
    ((kind, body),) = rtde.packets(bytearray(connection.data(1, values(c))))
    recipe, _ = rtde.recipe_of(names, kinds_of(OUTPUTS, NEWEST))
    assert kind == rtde.DATA and len(body) == 1 + recipe.codes.size
    out = recipe.unpack(body[1:])
    assert np.allclose(out["actual_q"], HOME) and out["control_step"] == c.ticks
    assert struct.calcsize(">I") == recipe_size("tool_mode") and recipe_size("joint_mode") == 24


def recipe_size(name):
    recipe, _ = rtde.recipe_of([name], kinds_of(OUTPUTS, NEWEST))
    return recipe.codes.size


@pytest.mark.parametrize(
    ("name", "before", "first"),
    [
        ("payload", (5, 5, 0, 0), (5, 5, 1, 0)),
        ("payload", (3, 10, 9, 0), (3, 11, 0, 0)),
        ("tcp_offset", (3, 12, 2, 0), (3, 12, 3, 0)),
        ("ft_raw_wrench", (5, 8, 9, 0), (5, 9, 0, 0)),
        ("output_int_register_24", (5, 2, 9, 0), (5, 3, 0, 0)),
        ("output_int_register_23", (3, 3, 0, 0), (3, 4, 0, 0)),
        ("actual_current_as_torque", (5, 22, 2, 0), (5, 23, 0, 0)),
        ("control_step", CB3, (5, 25, 0, 0)),
        ("timestamp", None, (3, 2, 0, 0)),
    ],
)
def test_software_from_before_a_field_does_not_find_it(name, before, first):
    assert before is None or name not in kinds_of(OUTPUTS, before)
    assert kinds_of(OUTPUTS, first)[name] == OUTPUTS[name].kind


def test_an_older_controller_answers_not_found_and_takes_no_newer_input(c):
    old = Controller(c.plant, e_series=True, software="5.2.0")
    connection = connected(old)
    answer = ask(connection, rtde.OUTPUT, struct.pack(">d", 500.0) + b"timestamp,payload,tool_mode")
    assert answer == b"\0DOUBLE,NOT_FOUND,UINT32"
    assert ask(connection, rtde.INPUT, b"input_int_register_23,input_int_register_24") == b"\0INT32,NOT_FOUND"
    assert not {name for name in INPUTS if name.startswith("input_bit_register_")} & set(kinds_of(INPUTS, old.version))


def test_only_what_is_asked_for_is_computed(c):
    connection = connected(c)
    ask(connection, rtde.OUTPUT, struct.pack(">d", 500.0) + b"timestamp,actual_q")
    ask(connection, rtde.START, b"")
    outputs = values(c)
    connection.data(1, outputs)
    assert set(outputs) == {"timestamp", "actual_q"}


def test_bits_reach_their_registers_both_ways(c):
    connection = connected(c)
    names = [
        "input_bit_registers0_to_31",
        "input_bit_registers32_to_63",
        "input_bit_register_64",
        "input_bit_register_127",
    ]
    assert ask(connection, rtde.INPUT, ",".join(names).encode()) == b"\1UINT32,UINT32,BOOL,BOOL"
    data = rtde.packet(rtde.DATA, b"\1" + struct.pack(">II??", 0x80000001, 5, False, True))
    assert connection.take(bytearray(data)) == b""
    out = values(c)
    assert [out[name] for name in names] == [0x80000001, 5, False, True]
    for k in (0, 31, 33, 64, 127):
        c.registers.set_out_bit(k, True)
    c.registers.set_out_bit(31, False)
    out = values(c)
    assert out["output_bit_registers0_to_31"] == 1 and out["output_bit_registers32_to_63"] == 2
    assert [k for k in range(64, 128) if out[f"output_bit_register_{k}"]] == [64, 127]


def test_lines_are_told_as_they_stand(c):
    lines = {"configurable_digital_output_mask": 0xF0, "configurable_digital_output": 0xFF}
    c.write_inputs(lines | {"standard_digital_output_mask": 1, "standard_digital_output": 1})
    c.write_inputs(
        {"standard_analog_output_mask": 2, "standard_analog_output_type": 3, "standard_analog_output_1": 0.25}
    )
    out = values(c)
    assert out["actual_digital_output_bits"] == 0xF001 and out["actual_configurable_digital_output_bits"] == 0xF0
    assert out["analog_io_types"] == 8  # only the second output was chosen
    assert out["standard_analog_output1"] == 2.5 and out["standard_analog_output0"] == 4.0  # volts, milliamperes


def test_settings_are_read_back(c):
    c.plant.told(1.5, np.array([0.0, 0.01, 0.02]), np.arange(6.0))
    c.plant.tcp[...] = [0.0, 0.0, 0.1, 0.0, 0.0, 0.5]
    c.registers.tool_voltage = 24
    out = values(c)
    assert out["tcp_offset"] == [0.0, 0.0, 0.1, 0.0, 0.0, 0.5] and out["tool_output_voltage"] == 24
    assert (
        out["payload"] == 1.5 and out["payload_cog"] == [0.0, 0.01, 0.02] and out["payload_inertia"] == list(range(6))
    )
    c.plant.told(0.0, np.zeros(3))
    assert values(c)["payload_inertia"] == [0.0] * 6
    c.plant.tcp[...] = 0.0


def test_what_is_told_of_a_moving_arm_is_its_motion(c):
    """Accelerations are rates of the speeds, the momentum is that of the bodies, the base carries their weight."""
    run_text(c, f"movej({(HOME + 0.4).tolist()}, a=3, v=1.5)")
    before = dict.fromkeys(("actual_TCP_speed", "target_TCP_speed", "elbow_position"))
    seen = []
    for _ in range(200):
        c.tick()
        out = values(c)
        now = {name: np.array(out[name]) for name in before}
        p = centroidal_momentum(c.plant.robot, c.plant.live.q, c.plant.live.qd)[:3]
        assert np.isclose(out["actual_momentum"], np.linalg.norm(p), atol=1e-9)
        if before["elbow_position"] is not None:
            rate = {name: (now[name] - before[name]) / CONTROLLER_TICK for name in before}
            seen.append(
                [
                    np.abs(rate["actual_TCP_speed"] - out["actual_TCP_acceleration"]).max(),
                    np.abs(rate["target_TCP_speed"] - out["target_TCP_acceleration"]).max(),
                    np.abs(rate["elbow_position"] - out["elbow_velocity"]).max(),
                    np.abs(out["target_TCP_acceleration"]).max(),
                ]
            )
        before = now
    worst = np.median(seen, axis=0)
    assert worst[3] > 1.0 and worst[0] < 0.1 * worst[3] and worst[1] < 0.1 * worst[3] and worst[2] < 0.01
    run_for(c, 1.0)
    weight = sum(body.mass for body in c.plant.robot.bodies) * 9.81
    out = values(c)
    assert np.allclose(out["target_base_wrench"][:3], [0.0, 0.0, -weight], atol=0.1)
    assert out["target_gravity"] == pytest.approx([0.0, 0.0, 9.81], abs=0.02)


def test_drives_lift_the_arm_with_the_energy_that_is_told(c):
    """Raised slowly from rest to rest: potential energy and work against friction came from the drives."""
    given, taken = values(c)["actual_robot_energy_consumed"], values(c)["actual_robot_braking_energy_dissipated"]
    run_text(c, f"movej({(HOME - [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]).tolist()}, a=1, v=0.5)")
    run_for(c, 4.0)
    out = values(c)
    done = out["actual_robot_energy_consumed"] - given - (out["actual_robot_braking_energy_dissipated"] - taken)
    lifted = potential(c, c.plant.live.q) - potential(c, HOME)
    assert lifted > 5.0 and lifted < done < 4.0 * lifted


def potential(c, q):
    return float(aw.dynamics.energy(c.plant.robot, q, np.zeros(6)).potential)
