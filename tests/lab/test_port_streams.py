# SPDX-License-Identifier: Apache-2.0
"""Byte streams of strangers, taken by the protocols without sockets: only refusals leave, answers are whole, and text
stays text."""

import builtins
import contextlib
import os
import socket
import struct
import subprocess
from types import CodeType

import numpy as np
import pytest

import armwright as aw
from armwright.lab.controller.controller import Controller
from armwright.lab.controller.controller_states import ControllerEvent
from armwright.lab.controller.port_commands import PORT_COMMANDS
from armwright.lab.controller.published import values
from armwright.lab.lab_plant import LabPlant
from armwright.lab.operator_panel import OperatorPanel
from armwright.lab.program_store import ProgramStore
from armwright.lab.script.script_host import ScriptHost
from armwright.lab.stand import HOME, ScriptConnection
from armwright.lab.wire import rtde
from armwright.lab.wire.dashboard import COMMANDS, DashboardConnection
from armwright.lab.wire.interpreter_mode import InterpreterConnection
from armwright.lab.wire.rtde import BrokenStreamError, RtdeConnection
from armwright.lab.wire.rtde_fields import INPUTS, OUTPUTS
from support.patience import until

STREAMS = 300  # of each protocol
MOST_TAKES = 5000  # a guard against a protocol that takes nothing and says that it did


@pytest.fixture(scope="module")
def plant():
    return LabPlant(aw.load("ur5"), q0=HOME)


@pytest.fixture
def c(plant):
    plant.live.reset(HOME)
    made = Controller(plant, e_series=True, software="5.25.1")
    made.settle()
    return made


@pytest.fixture
def untouched(monkeypatch):
    """Nothing that arrives may reach the interpreter, the system or a file."""

    def forbidden(*what, **_):
        raise AssertionError(f"reached with {what!r:.200}")

    def never_text(code, *more):
        assert isinstance(code, CodeType), f"text is executed: {code!r:.200}"
        return execute(code, *more)

    execute = builtins.exec
    monkeypatch.setattr(builtins, "exec", never_text)
    for place, name in ((builtins, "eval"), (os, "system"), (subprocess, "Popen")):
        monkeypatch.setattr(place, name, forbidden)


def mutated(random, messages):
    """Some messages in a row, with bytes changed, taken out, doubled, put elsewhere."""
    data = bytearray(b"".join(messages[int(random.integers(len(messages)))] for _ in range(int(random.integers(1, 6)))))
    for _ in range(int(random.integers(0, 8))):
        if not data:
            break
        at, length = int(random.integers(len(data))), int(random.integers(1, 20))
        kind = int(random.integers(4))
        if kind == 0:
            data[at] = int(random.integers(256))
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = data[at : at + length]
        else:
            data[at:at] = random.bytes(length)
    return bytes(data)


def fed(random, talk, data, refusals, step=lambda: None):
    """What a protocol answers to a stream that arrives in pieces, until it refuses it; `step` passes time."""
    buffer, out, at = bytearray(), b"", 0
    for _ in range(MOST_TAKES):
        step()
        try:
            said = talk.take(buffer)
        except refusals:
            return out
        if said is None:
            if at >= len(data):
                return out
            size = int(random.integers(1, 200))
            buffer += data[at : at + size]
            at += size
        out += said or b""
    raise AssertionError("it never comes to an end")


CODE = b'__import__("os").system("true")'
LINES = [b"movej([0,-1.5,1.5,-1.5,-1.5,0],a=1,v=1)\n", b"def f():\n  movej([1,2])\nend\n", b"def f():\n", b"end\n"]
LINES += [command.encode() + b"\n" for command in PORT_COMMANDS]
LINES += [b"sec s():\n set_digital_out(1,True)\nend\n", b'textmsg("' + CODE + b'")\n', CODE + b"\n", b"set_tcp(p[1])\n"]
LINES += [b"x" * 5000, b"\xff\xfe\n", b"while True:\n", b"((((((((\n", b"[" * 3000 + b"\n"]


def test_script_ports(c, untouched):
    """Texts are compiled and run as they come, programs replace each other, and the arm stays in one piece."""
    random, host, said = np.random.default_rng(1), ScriptHost(c), 0
    for _ in range(STREAMS):
        assert fed(random, ScriptConnection(c), mutated(random, LINES), ValueError, c.tick) == b""
        until(lambda: c.tick() or not host._waiting, "its texts are compiled")
        said += len(c.outbox.take())
        for event in (ControllerEvent.RELEASE, ControllerEvent.UNLOCK):
            c.handle(event)
    assert np.isfinite(c.plant.live.q).all() and said > STREAMS // 2
    host.close()
    c.solver.close()


STATEMENTS = [
    b"x = 1\n",
    b"movej([0,-1.5,1.5,-1.5,-1.5,0.1], a=2, v=2)\n",
    b"def f(a): return a + x end\n",
    b"y = f(2)\n",
]
STATEMENTS += [b"skipbuffer\n", b"abort\n", b"stateunexecuted\n", b"statelastcleared\n", b"clear_interpreter()\n"]
STATEMENTS += [
    b"end_interpreter()\n",
    b'textmsg("' + CODE + b'")\n',
    CODE + b"\n",
    b"sleep(0.01)\n",
    b"\xff\xfe\n",
    b"x" * 3000,
]


def test_interpreter(c, untouched):
    """Every line gets an answer; a statement with a fault ends the program, never more."""
    random, host, answers = np.random.default_rng(4), ScriptHost(c), 0
    for _ in range(STREAMS):
        if c.program is None:
            host.run("def inter():\n  interpreter_mode()\nend\n")
            c.tick()
        talk = InterpreterConnection(lambda: getattr(c.program, "interpreter", None))
        said = fed(random, talk, mutated(random, STATEMENTS), ValueError, c.tick).decode().splitlines()
        answers += len(said)
        assert all(line.split(":")[0] in ("ack", "discard", "state") for line in said)
        assert not any("internal_error" in str(record) for record in c.outbox.take())
        for event in (ControllerEvent.RELEASE, ControllerEvent.UNLOCK):
            c.handle(event)
    assert np.isfinite(c.plant.live.q).all() and answers > STREAMS
    host.close()
    c.solver.close()


READER = """def prog():
  n = 0
  while True:
    if socket_open("127.0.0.1", {port}, "s"):
      socket_send_line("hello", "s")
      a = socket_read_binary_integer(2, "s", 0.004)
      b = socket_read_ascii_float(3, "s", 0.004)
      d = socket_read_string("s", timeout=0.004)
      e = socket_read_line("s", 0.004)
      g = socket_read_byte_list(3, "s", 0.004)
      socket_close("s")
      n = n + 1
      write_output_integer_register(0, n)
    end
    sync()
  end
end
"""


def test_servers_of_a_script(c, untouched):
    """What a script reads is values of the language, whatever a server sends; the program goes on."""
    random, host = np.random.default_rng(5), ScriptHost(c)
    messages = [
        b"(1.5, 2, 3)\n",
        b"\0\0\0\1\xff\xff\xff\xff",
        b"[1,2,3]",
        b"(1e999,nan)\n",
        b"(",
        b"\r\n",
        b"\xc3",
        CODE,
    ]
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        host.run(READER.format(port=server.getsockname()[1]))
        for _ in range(STREAMS // 3):
            client = None

            def came():
                nonlocal client
                c.tick()
                with contextlib.suppress(BlockingIOError):
                    client, _ = server.accept()
                return client

            until(came, "the script dials")
            read = c.registers.out_ints[0]
            client.sendall(mutated(random, messages))
            if random.random() < 0.5:
                client.close()
            until(lambda read=read: c.tick() or c.registers.out_ints[0] > read or c.program is None, "it has read")
            assert c.program is not None, c.outbox.take()
            client.close()
    host.close()
    c.solver.close()


def test_dashboard(c, untouched):
    store = ProgramStore(c, lambda text: None)
    panel = OperatorPanel(c, store)
    lines = [name.encode() + b"\n" for name in COMMANDS if not name.startswith(("power", "brake"))]
    lines += [
        b"load " + b"../" * 50 + b"x.urp\n",
        b"popup " + CODE + b"\n",
        b"quit\n",
        b"addToLog \x00\x01\n",
        b"x" * 2000,
    ]
    random = np.random.default_rng(2)
    for _ in range(STREAMS):
        said = fed(random, DashboardConnection(panel), mutated(random, lines), (ValueError, EOFError))
        assert said == b"" or said.endswith(b"\n")
        assert all(len(line) < 1000 for line in said.split(b"\n"))
        c.outbox.take()
    store.close()


def test_rtde(c, untouched):
    random = np.random.default_rng(3)
    names, inputs = sorted(OUTPUTS), sorted(INPUTS)
    requests = [
        rtde.packet(rtde.PROTOCOL, b"\0\2"),
        rtde.packet(rtde.PROTOCOL, b"\0\1"),
        rtde.packet(rtde.CONTROLLER),
        rtde.packet(rtde.OUTPUT, struct.pack(">d", 500.0) + ",".join(names[::7]).encode()),
        rtde.packet(rtde.OUTPUT, struct.pack(">d", float("nan")) + b"timestamp,actual_q"),
        rtde.packet(rtde.OUTPUT, b"timestamp"),
        rtde.packet(rtde.INPUT, ",".join(inputs[::5]).encode()),
        rtde.packet(rtde.INPUT, b"input_bit_register_64,input_int_register_3"),
        rtde.packet(rtde.START),
        rtde.packet(rtde.PAUSE),
        rtde.packet(rtde.TEXT, b"hello"),
        rtde.packet(rtde.DATA, b"\1" + random.bytes(100)),
        rtde.packet(rtde.DATA, b"\1" + struct.pack(">?i", True, 7)),
    ]
    requests += [requests[0] + requests[3] + requests[8]]  # one that streams
    streamed = 0
    for _ in range(STREAMS):
        talk = RtdeConnection(c)
        said = fed(random, talk, mutated(random, requests), (BrokenStreamError, aw.errors.InputError))
        whole = bytearray(said)
        kinds = [kind for kind, _ in rtde.packets(whole)]
        assert not whole and set(kinds) <= {rtde.PROTOCOL, rtde.CONTROLLER, rtde.OUTPUT, rtde.INPUT, *map(ord, "SPM")}
        data = bytearray(talk.data(500, values(c)))
        streamed += len(list(rtde.packets(data)))
        assert not data
        talk.closed()
    assert streamed >= 10  # some of them really stream
    assert all(type(k) is int for k in c.registers.ints) and np.isfinite(c.registers.doubles).all()
