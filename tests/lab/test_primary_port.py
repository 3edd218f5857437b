# SPDX-License-Identifier: Apache-2.0
"""The primary and secondary ports: every byte of what they send, its order, and the commands that they take."""

import struct
from typing import NamedTuple

import numpy as np
import pytest

import armwright as aw
from armwright.lab.controller.controller import CONTROLLER_TICK
from armwright.lab.controller.controller_messages import (
    PROGRAM_STARTED,
    ErrorCodeMessage,
    KeyMessage,
    LabelMessage,
    PopupMessage,
    RequestValueMessage,
    RuntimeExceptionMessage,
    SafetyModeMessage,
    TextMessage,
)
from armwright.lab.controller.controller_states import DURATIONS, CommandPlace, ControllerState, SafetyMode
from armwright.lab.controller.outbox import MOST_RECORDS, MOST_TEXTS, Outbox
from armwright.lab.controller.port_commands import PORT_COMMANDS, obey_port, port_command
from armwright.lab.controller.published import values
from armwright.lab.stand import HOME, ScriptConnection, Stand
from armwright.lab.wire.arm_parts import NO_TYPE, configuration_part, kinematics_part, robot_model
from armwright.lab.wire.primary import message, version_message
from armwright.lab.wire.script_stream import ScriptReader
from armwright.lab.wire.secondary import robot_state
from support.lab import PORTS, address
from support.scripts import run_text

STATE, MESSAGE = 16, 20


class Client:
    """Stands where a connection does: remembers what was sent to it."""

    keeps_up = True

    def __init__(self):
        self.data = bytearray()

    def send(self, data):
        self.data += data

    def frames(self):
        out, data = [], bytes(self.data)
        while data:
            (size,) = struct.unpack_from(">i", data)
            assert 5 <= size <= len(data)
            out.append((data[4], data[5:size]))
            data = data[size:]
        self.data.clear()
        return out

    def messages(self):
        return [
            Message(*struct.unpack_from(">QbB", body), body[10:]) for kind, body in self.frames() if kind == MESSAGE
        ]


class Message(NamedTuple):
    time: int
    source: int
    kind: int
    body: bytes


def parts(body):
    """Type → body of the parts of a state package; every byte belongs to one."""
    out = {}
    while body:
        size, kind = struct.unpack_from(">IB", body)
        assert 5 <= size <= len(body) and kind not in out
        out[kind] = body[5:size]
        body = body[size:]
    return out


@pytest.fixture(scope="module")
def shared():
    stand = Stand(aw.load("ur5"), host=address(), ports=PORTS, e_series=True, software="5.25.1", fifo=False)
    yield stand
    stand.close()


@pytest.fixture
def stand(shared, monkeypatch):
    c = shared.controller
    c.plant.live.reset(HOME)
    c.state, c.program, c.place = ControllerState.READY, None, CommandPlace.REMOTE
    c.settle()
    c.outbox.take()
    shared.tick()
    shared.heard = {port: Client() for port in ("primary", "secondary")}
    monkeypatch.setattr(
        shared.network, "connections", lambda *ports: [shared.heard[p] for p in ports if p in shared.heard]
    )
    return shared


def tick(stand, seconds=CONTROLLER_TICK):
    for _ in range(round(seconds / CONTROLLER_TICK)):
        stand.tick()


# what is said first


def test_a_client_hears_the_version_and_then_the_arm(stand):
    greeting = Client()
    greeting.send(stand._feed.greeting())
    (kind, hello), (second, state) = greeting.frames()
    assert (kind, second) == (MESSAGE, STATE)
    assert hello[9] == 3 and hello[10:20] == b"\x09URControl"
    assert struct.unpack_from(">BBii", hello, 20) == (5, 25, 1, 0)
    assert hello[30:].decode().startswith("armwright ")
    assert list(parts(state)) == [0, 1, 2, 3, 4, 7, 8, 5, 6]
    tick(stand, 0.2)
    for client in stand.heard.values():
        seen = [parts(body) for kind, body in client.frames() if kind == STATE]
        assert len(seen) == 2 and all(list(part) == [0, 1, 2, 3, 4, 7, 8] for part in seen)  # ten a second


def test_kinematics_are_those_of_the_arm():
    for name in ("ur5", "ur10e"):
        body = parts(kinematics_part(aw.load(name)))[5]
        assert len(body) == 6 * 4 + 24 * 8 + 4
        checksums, numbers = (
            struct.unpack_from(">6I", body),
            np.array(struct.unpack_from(">24d", body, 24)).reshape(4, 6),
        )
        theta, d, a, alpha = aw.load(name).to_dh().table.T
        assert np.array_equal(numbers, [theta, a, d, alpha])
        assert len(set(checksums)) == 6 and struct.unpack_from(">I", body, 216) == (0,)
    assert numbers[1, 1] == pytest.approx(-0.6127) and numbers[2, 0] == pytest.approx(0.1807)  # UR10e's table


@pytest.mark.parametrize(
    ("name", "kind", "model"),
    [
        ("ur5", 1, "UR5"),
        ("ur5e", 1, "UR5"),
        ("ur10e", 2, "UR10"),
        ("ur3", 3, "UR3"),
        ("ur16e", 4, "UR16"),
        ("ur20", 7, "UR20"),
        ("irb140", NO_TYPE, "irb140"),
    ],
)
def test_configuration_is_that_of_the_arm(name, kind, model):
    robot = aw.load(name)
    most = np.arange(1.0, 7.0)
    body = parts(configuration_part(robot, (5, 25, 1, 0), most, (1.05, 1.4, 0.25, 1.2)))[6]
    assert len(body) == 12 * 8 + 12 * 8 + 5 * 8 + 24 * 8 + 16
    numbers = struct.unpack_from(">53d", body)
    limits, speeds = np.array(numbers[:12]).reshape(6, 2), np.array(numbers[12:24]).reshape(6, 2)
    assert np.array_equal(limits.T, [robot.lower, robot.upper]) and np.array_equal(speeds[:, 1], most)
    assert np.array_equal(speeds[:, 0], [joint.limits.velocity for joint in robot.joints])
    assert numbers[24:28] == (1.05, 1.4, 0.25, 1.2)
    theta, d, a, alpha = robot.to_dh().table.T
    assert np.array_equal(np.array(numbers[29:]).reshape(4, 6), [a, d, alpha, theta])
    assert struct.unpack_from(">4i", body, 53 * 8)[2] == kind and robot_model(robot) == model


def test_every_part_has_the_size_that_the_manual_gives(stand):
    c = stand.controller
    c.registers.digital, c.registers.tool_voltage = 0x20005, 24
    state = parts(robot_state(values(c))[5:])
    assert {kind: len(body) for kind, body in state.items()} == {0: 41, 1: 246, 2: 32, 3: 70, 4: 96, 7: 56, 8: 2}
    assert struct.unpack_from(">Q7?BB", state[0])[1:] == (True, True, True, False, False, False, False, 7, 0)
    masterboard = struct.unpack(">IIBBddBBddffffB?BIBBB", state[3])
    assert masterboard[:2] == (0, 0x20005) and masterboard[14:] == (1, False, 0, 0, 0, 0, 0)
    assert struct.unpack_from(">12d", state[4])[6:] == (0.0,) * 6 and state[2][22] == 24
    c.reduce(True)
    assert struct.unpack(">IIBBddBBddffffB?BIBBB", parts(robot_state(values(c))[5:])[3])[14:16] == (2, True)
    c.reduce(False)
    c.registers.digital = c.registers.tool_voltage = 0


# order


def test_a_state_package_comes_before_the_messages_about_it(stand):
    c = stand.controller
    tick(stand, 0.1)
    while c.ticks % 50 != 10:  # in the middle between two packages
        stand.tick()
    stand.heard["primary"].frames()
    stand.heard["secondary"].frames()
    c.protective_stop("by hand", 209, 2)
    stand.tick()
    (kind, body), (_, safety), (_, error) = stand.heard["primary"].frames()
    assert kind == STATE and struct.unpack_from(">Q7?B", parts(body)[0])[5] and parts(body)[0][15] == 7
    assert safety[9] == 5 and safety[18] == SafetyMode.PROTECTIVE_STOP.value and len(safety) == 27
    assert error[9] == 6 and struct.unpack_from(">iii", error, 10) == (209, 0, 2) and error[30:] == b"by hand"
    assert [kind for kind, _ in stand.heard["secondary"].frames()] == [STATE]
    stand.tick()
    assert not stand.heard["primary"].frames()  # it is said once


def test_unlocking_takes_longer_than_a_package_and_is_told_when_it_is_done(stand):
    c = stand.controller
    c.protective_stop("by hand")
    stand.tick()
    stand.heard["primary"].frames()
    assert obey_port(c, "set unlock protective stop")
    ticks = 0
    while c.safety is SafetyMode.PROTECTIVE_STOP:
        stand.tick()
        ticks += 1
    assert ticks * CONTROLLER_TICK >= max(0.1, DURATIONS[ControllerState.UNLOCKING])
    *_, (kind, body), (_, safety) = stand.heard["primary"].frames()
    assert kind == STATE and not struct.unpack_from(">Q7?B", parts(body)[0])[5]
    assert safety[9] == 5 and safety[18] == SafetyMode.NORMAL.value


# messages


RECORDS = [
    (TextMessage("ä b"), 0, "ä b".encode()),
    (LabelMessage(3, "Waypoint_1"), 1, struct.pack(">i", 3) + b"Waypoint_1"),
    (
        PopupMessage(7, "title", "text", "error", True),
        2,
        struct.pack(">IB???", 7, 0, False, True, True) + b"\x05titletext",
    ),
    (PopupMessage(0, "", "w", "warning"), 2, struct.pack(">IB???", 0, 0, True, False, False) + b"\x00w"),
    (SafetyModeMessage(3), 5, struct.pack(">iiBII", 0, 0, 3, 0, 0)),
    (ErrorCodeMessage(154, 1, 3, "x"), 6, struct.pack(">iiiII", 154, 1, 3, 0, 0) + b"x"),
    (KeyMessage(PROGRAM_STARTED, "prog"), 7, struct.pack(">ii", 0, 0) + b"\x13PROGRAM_XXX_STARTEDprog"),
    (RequestValueMessage(9, "float", "how much?"), 9, struct.pack(">II", 9, 2) + b"how much?"),
    (
        RuntimeExceptionMessage(2, 3, "compile_error_name_not_found:foo:"),
        10,
        struct.pack(">ii", 2, 3) + b"compile_error_name_not_found:foo:",
    ),
]


@pytest.mark.parametrize(("record", "kind", "body"), RECORDS)
def test_a_record_as_bytes(record, kind, body):
    data = message(record, 1.5)
    assert struct.unpack_from(">iBQbB", data) == (len(data), MESSAGE, 1_500_000, -1, kind)
    assert data[15:] == body


def test_every_record_can_be_sent_whatever_its_texts_hold():
    long = "\ud800" + "x" * 100_000
    for record, _, _ in RECORDS:
        texts = {name: long for name in ("text", "title") if isinstance(getattr(record, name, None), str)}
        data = message(type(record)(**{name: getattr(record, name) for name in record.__slots__} | texts), 0.0)
        assert struct.unpack_from(">i", data) == (len(data),) and len(data) < 5000


def test_what_is_said_comes_in_order_at_the_end_of_the_tick(stand):
    c = stand.controller
    records = [record for record, _, _ in RECORDS]
    for record in records:
        c.say(record)
    stand.tick()
    assert [m.kind for m in stand.heard["primary"].messages()] == [kind for _, kind, _ in RECORDS]
    assert not stand.heard["secondary"].messages()


def test_texts_of_a_tick_are_limited_and_the_rest_is_counted():
    outbox = Outbox()
    for k in range(3 * MOST_TEXTS):
        outbox.put(TextMessage(str(k)))
    for _ in range(2 * MOST_RECORDS):
        outbox.put(KeyMessage(PROGRAM_STARTED, "a"))
    taken = outbox.take()
    assert [record.text for record in taken[:MOST_TEXTS]] == [str(k) for k in range(MOST_TEXTS)]
    assert len(taken) == MOST_RECORDS and outbox.lost == 2 * MOST_TEXTS + 2 * MOST_RECORDS - (MOST_RECORDS - MOST_TEXTS)
    assert outbox.take() == []
    outbox.put(TextMessage("again"))
    assert len(outbox.take()) == 1


def test_a_version_of_either_series():
    for numbers in ((3, 15, 8, 106339), (5, 25, 1, 0)):
        data = version_message(numbers, "today", 0.0)
        assert struct.unpack_from(">BBii", data, 25) == numbers and data[35:] == b"today"


# commands


def test_commands_of_the_port_do_what_the_panel_does(stand):
    c = stand.controller
    reader = ScriptReader()

    def send(line):
        command = port_command(reader.take(bytearray(line.encode() + b"\n")))
        assert command == " ".join(line.split())
        return obey_port(c, command)

    assert send("power off")
    tick(stand, 0.4)
    assert c.state is ControllerState.OFF
    assert send("  power   on ")
    tick(stand, 0.4)
    assert c.state is ControllerState.IDLE
    assert send("set robotmode run")
    tick(stand, 0.4)
    assert c.state is ControllerState.READY
    assert not send("resume program") and c.state is ControllerState.READY  # nothing to go on with
    run_text(c, f"movej({(HOME + 0.5).tolist()}, a=1, v=0.2)")
    tick(stand, 0.1)
    assert send("pause program") and c.state is ControllerState.PAUSED
    assert send("resume program") and c.state is ControllerState.PLAYING
    assert send("stop program")
    tick(stand, 0.4)
    assert c.state is ControllerState.READY and not c.moving


@pytest.mark.parametrize("line", ["power", "power on now", "set robotmode", "stop", "stop program()", "", "popup x"])
def test_other_lines_are_no_commands(line):
    assert port_command(line) is None


def test_in_local_control_a_client_is_told_that_the_port_is_read_only(stand):
    c = stand.controller
    c.place = CommandPlace.LOCAL
    assert not any(obey_port(c, command) for command in PORT_COMMANDS)
    ScriptConnection(c).take(bytearray(f"movej({(HOME + 0.5).tolist()})\n".encode()))
    stand.tick()
    assert c.state is ControllerState.READY and not c.moving
    codes = [struct.unpack_from(">i", m.body)[0] for m in stand.heard["primary"].messages()]
    assert codes == [210] * (len(PORT_COMMANDS) + 1)


@pytest.mark.parametrize(
    ("text", "kinds", "code"),
    [
        ("protective_stop()", [5, 6, 7, 7], (209, 0, 2)),
        ("movel(p[10, 0, 0, 0, 0, 0])", [5, 6, 7, 7], (154, 0, 3)),
        ("movej(p[10, 0, 0, 0, 0, 0])", [7, 7, 10], None),
    ],
)
def test_a_program_that_stops_the_arm_is_told_apart_from_one_with_a_fault(stand, text, kinds, code):
    """Each error comes once, with the code that clients know; what the arm cannot follow is no fault of the program."""
    stand.scripts.run(text)
    for _ in range(2000):  # a way of the tool is planned part by part, however far it leads
        if stand.controller.program is None:
            break
        tick(stand)
    tick(stand, 0.1)
    said = stand.heard["primary"].messages()
    assert sorted(m.kind for m in said) == kinds
    assert [struct.unpack_from(">iii", m.body) for m in said if m.kind == 6] == ([] if code is None else [code])
    assert (stand.controller.safety is SafetyMode.PROTECTIVE_STOP) == (code is not None)


def test_a_collision_is_told_with_its_code(stand):
    c = stand.controller
    c.plant.push(5, np.array([0.0, 0.0, 150.0, 0, 0, 0]))
    tick(stand, 0.2)
    c.plant.live.inputs["push"][...] = 0.0
    assert c.state is ControllerState.STOPPED
    said = stand.heard["primary"].messages()
    assert [m.kind for m in said] == [5, 6] and struct.unpack_from(">iii", said[1].body) == (157, 0, 3)
