# SPDX-License-Identifier: Apache-2.0
"""A flood costs no publication: what a tick does for clients is bounded, port by port, and nobody waits for another."""

import contextlib
import socket
import struct

import numpy as np
import pytest

import armwright as aw
from armwright.lab.controller.controller_messages import PopupMessage, TextMessage
from armwright.lab.controller.controller_states import ControllerState
from armwright.lab.net import MOST_UNREAD, RECEIVED_BYTES, STEPS_PER_TICK
from armwright.lab.stand import Stand
from armwright.lab.virtual_sensors import READ_BYTES, VirtualMti, VirtualNetFt
from armwright.lab.wire import netft, rtde, xsens
from armwright.lab.wire.rtde_fields import OUTPUTS, kinds_of
from armwright.lab.wire.script_stream import LINES_AT_ONCE
from support.lab import PORTS, address, call, dial, exactly, read_packet, wait_for
from support.patience import PATIENCE, until

MOST_TICKS = 20_000  # a guard against a test that hangs


@pytest.fixture(scope="module")
def by_hand():
    """A stand whose clock does not run: the tests tick."""
    stand = Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False)
    stand.ft = VirtualNetFt(stand, http_port=0, rdt_port=0)
    yield stand
    stand.close()


@pytest.fixture
def still(by_hand):
    c = by_hand.controller
    c.state, c.program = ControllerState.READY, None
    c.settle()
    c.messages = []  # all of them, not the last hundred
    by_hand.network.disconnect()
    by_hand.tick()
    return by_hand


def ticked(stand, condition, what):
    """Tick until it holds; how many ticks that took."""
    for count in range(MOST_TICKS):
        if condition():
            return count
        stand.tick()
    raise AssertionError(f"never: {what}")


def heard(stand, sock, enough):
    """Tick and read until what was read is enough, or the lab hung up."""
    sock.setblocking(False)
    data = b""
    for _ in range(MOST_TICKS):
        with contextlib.suppress(BlockingIOError):
            part = sock.recv(1 << 16)
            data += part
            if not part:
                return data
        if enough(data):
            return data
        stand.tick()
    raise AssertionError(f"only {data[:200]!r} came")


class Flood:
    """Bytes for one port, sent as far as the lab takes them."""

    def __init__(self, sock, data):
        self.sock, self.rest, self.got = sock, memoryview(data), bytearray()
        sock.setblocking(False)

    def push(self):
        with contextlib.suppress(BlockingIOError):
            self.rest = self.rest[self.sock.send(self.rest) :]
        with contextlib.suppress(BlockingIOError):
            self.got += self.sock.recv(1 << 20)


def numbered(port, count):
    """So many messages that leave a trace each, in order."""
    if port == "dashboard":
        return b"".join(b"popup %d\n" % k for k in range(count))
    return b"".join(b"textmsg(%d)\n" % k for k in range(count))  # each a program of its own


@pytest.mark.parametrize("port", ["dashboard", "primary", "secondary", "realtime"])
def test_a_tick_handles_a_bounded_number_of_messages_and_all_of_them_in_the_end(still, port, monkeypatch):
    c, count, said = still.controller, 500, []
    monkeypatch.setattr(c, "say", said.append)
    kind = PopupMessage if port == "dashboard" else TextMessage
    with dial(still, port) as sock:
        flood = Flood(sock, numbered(port, count))
        handled = []
        for _ in range(MOST_TICKS):
            flood.push()
            ticks, published = c.ticks, c.publications
            still.tick()
            assert c.publications - published == (c.ticks % c.ticks_per_publication == 0) and c.ticks == ticks + 1
            handled.append(sum(isinstance(record, kind) for record in said))
            if handled[-1] == count:
                break
    assert [int(record.text) for record in said if isinstance(record, kind)] == list(range(count))
    assert max(np.diff([0, *handled])) <= STEPS_PER_TICK


def test_a_tick_takes_a_bounded_number_of_rtde_packets_in_order(still):
    c, count = still.controller, 2000
    with dial(still, "rtde") as sock:
        asked = rtde.packet(rtde.PROTOCOL, b"\0\2") + rtde.packet(rtde.INPUT, b"input_int_register_5")
        data = (rtde.packet(rtde.DATA, b"\1" + struct.pack(">i", k + 1)) for k in range(count))
        c.registers.ints[5] = 0
        flood, seen = Flood(sock, asked + b"".join(data)), [0]
        while seen[-1] < count and len(seen) < MOST_TICKS:
            flood.push()
            still.tick()
            seen.append(c.registers.ints[5])
    assert seen[-1] == count and (np.diff(seen) >= 0).all() and np.diff(seen).max() <= STEPS_PER_TICK


def test_a_tick_takes_a_bounded_number_of_datagrams(still):
    asked = []
    still.ft._streams.bias = lambda: asked.append(len(asked))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _ in range(20):
            for _ in range(200):
                sock.sendto(netft.request(netft.SET_BIAS), (still.host, still.ft.rdt_port))
            before, published, ticks = len(asked), still.controller.publications, still.controller.ticks
            still.tick()
            assert len(asked) - before <= STEPS_PER_TICK
            assert still.controller.publications - published == ((ticks + 1) % 4 == 0)
    assert asked


def test_between_two_ticks_of_a_running_stand_few_lines_are_answered():
    """One packet of 64 KB used to be answered whole, with the tick waiting for it."""
    with Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False) as stand:
        c = stand.controller
        data, answered = b"popup x\n" * (65536 // 8), []
        with c.lock:
            c.messages = []
            stand.sensors.append(lambda *_: answered.append(len(c.messages)))
        with dial(stand, "dashboard") as sock:
            sock.sendall(data)
            exactly(sock, len(b"Connected: Universal Robots Dashboard Server\n") + len(b"showing popup\n") * 8192)
        ticks = c.ticks
        wait_for(lambda: c.ticks > ticks + 1, "it goes on")
    assert answered[-1] == 8192 and np.diff(answered).max() <= STEPS_PER_TICK


def test_one_client_that_floods_does_not_keep_another_from_its_turn(still):
    c = still.controller
    with dial(still, "dashboard") as greedy, dial(still, "dashboard") as modest:
        flood = Flood(greedy, numbered("dashboard", 3000))
        modest.setblocking(False)
        ticked(still, lambda: flood.push() or len(c.messages) > 500, "the flood has begun")
        modest.sendall(b"popup 77777\n")
        before = len(c.messages)
        ticked(still, lambda: flood.push() or "popup: 77777" in c.messages, "the other is answered")
        assert c.messages.index("popup: 77777") <= before + 2 * STEPS_PER_TICK
        ticked(still, lambda: flood.push() or len(c.messages) == 3001, "the flood ends")


def test_who_has_asked_is_answered_before_it_makes_room_for_others(still):
    """A newcomer whose request waits for its turn is not silent, however busy the others are."""
    with contextlib.ExitStack() as stack:
        greedy = [Flood(stack.enter_context(dial(still, "secondary")), numbered("secondary", 40)) for _ in range(80)]
        for flood in greedy:
            flood.push()
        asking = stack.enter_context(dial(still, "dashboard"))
        asking.sendall(b"robotmode\n")
        assert heard(still, asking, lambda data: data.count(b"\n") == 2).endswith(b"Robotmode: RUNNING\n")


def test_floods_on_all_ports_at_once_cost_no_publication():
    """Samples that an honest client reads against ticks that the stand made; not against the time of the wall."""
    with Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False) as stand, contextlib.ExitStack() as stack:
        ft = VirtualNetFt(stand, http_port=0, rdt_port=0)
        honest = stack.enter_context(dial(stand, "rtde"))
        call(honest, rtde.PROTOCOL, struct.pack(">H", 2))
        call(honest, rtde.OUTPUT, struct.pack(">d", 125.0) + b"timestamp")
        call(honest, rtde.START)
        data = {port: numbered(port, 50) for port in PORTS} | {"rtde": rtde.packet(rtde.CONTROLLER) * 500}
        floods = {port: Flood(stack.enter_context(dial(stand, port)), b"") for port in PORTS}
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        stamps = []
        while len(stamps) < 120:
            stamps.append(struct.unpack(">d", read_packet(honest)[1][1:])[0])
            for port, flood in floods.items():
                flood.rest = flood.rest if len(flood.rest) else memoryview(data[port])
                flood.push()
            for _ in range(100):
                udp.sendto(netft.request(netft.START_REALTIME), (stand.host, ft.rdt_port))
            with contextlib.suppress(OSError), socket.create_connection((stand.host, ft.http_port), timeout=5) as page:
                page.sendall(b"GET /netftapi2.xml HTTP/1.1\r\n\r\n")
        due = round((stamps[-1] - stamps[0]) / 0.008) + 1
        assert len(stamps) >= 0.99 * due
        with stand.controller.lock:
            assert stand.controller.publications == stand.controller.ticks // 4 and stand.clock.error is None


# long texts


def test_a_long_program_is_read_piece_by_piece(still):
    c, lines = still.controller, 20_000
    text = b"def long():\n" + b"  textmsg(1)\n" * lines + b"  set_digital_out(3, True)\nend\n"
    c.registers.digital = 0
    with dial(still, "secondary") as sock:
        flood = Flood(sock, text)
        taken = ticked(still, lambda: flood.push() or c.registers.digital, "it is obeyed")
    assert taken >= lines / (STEPS_PER_TICK * LINES_AT_ONCE)
    c.registers.digital = 0


# clients that read or write slowly


def test_who_does_not_read_its_answers_is_not_listened_to_until_it_does(still):
    c, count = still.controller, 4000
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect((still.host, still.ports["dashboard"]))
        sock.setblocking(False)
        lines = b"".join(b"popup %05d\nload %05d%s\n" % (k, k, b"x" * 190) for k in range(count))
        rest = memoryview(lines)

        def stuck():
            nonlocal rest
            with contextlib.suppress(BlockingIOError):
                rest = rest[sock.send(rest) :]
            return [c for c in still.network.connections("dashboard") if not c.listens]

        ticked(still, stuck, "nothing more is taken from it")
        for _ in range(20):
            still.tick()
        (connection,) = still.network.connections("dashboard")
        assert len(c.messages) < count
        assert len(connection._pending) <= MOST_UNREAD + 1024 and len(connection._arrived) <= 2 * RECEIVED_BYTES
        flood = Flood(sock, rest)
        ticked(still, lambda: flood.push() or flood.got.count(b"\n") == 2 * count + 1, "all are answered")
        found = [line[16:21] for line in flood.got.splitlines() if line.startswith(b"File not found")]
        assert found == [b"%05d" % k for k in range(count)]


def test_bytes_that_dribble_are_the_same_message(still):
    with dial(still, "dashboard") as sock, dial(still, "rtde") as other:
        for byte in b"robotmode\n":
            sock.sendall(bytes([byte]))
            still.tick()
        for byte in rtde.packet(rtde.PROTOCOL, b"\0\2"):
            other.sendall(bytes([byte]))
            still.tick()
        assert heard(still, other, len) == rtde.packet(rtde.PROTOCOL, b"\1")
        assert heard(still, sock, lambda data: data.count(b"\n") == 2).endswith(b"Robotmode: RUNNING\n")


def test_answers_that_were_asked_for_come_before_the_end(still):
    with dial(still, "dashboard") as sock:
        sock.sendall(b"robotmode\nquit\nrunning\n")
        assert heard(still, sock, lambda _: False).endswith(b"Server\nRobotmode: RUNNING\nDisconnected\n")


def test_a_page_that_was_read_ends_its_connection(still):
    with socket.create_connection((still.host, still.ft.http_port), timeout=PATIENCE) as sock:
        sock.sendall(b"GET /netftapi2.xml HTTP/1.1\r\n\r\n")
        assert heard(still, sock, lambda _: False).endswith(b"</netftConfiguration>\n")


def test_all_clients_together_may_ask_for_so_many_fields(still):
    """Every field of every client is packed in the tick."""
    names = sorted(kinds_of(OUTPUTS, still.controller.version))
    asked = rtde.packet(rtde.PROTOCOL, b"\0\2")
    asked += 3 * rtde.packet(rtde.OUTPUT, struct.pack(">d", 125.0) + ",".join(names).encode())
    with contextlib.ExitStack() as stack:
        answers = []
        for _ in range(6):
            sock = stack.enter_context(dial(still, "rtde"))
            sock.sendall(asked)
            data = heard(still, sock, lambda data: len(list(rtde.packets(bytearray(data)))) == 4)
            answers += list(rtde.packets(bytearray(data)))[1:]
    numbers = [body[0] for kind, body in answers if kind == rtde.OUTPUT]
    granted = rtde.MOST_STREAMED_FIELDS // len(names)
    assert len(numbers) == 18 and sum(number > 0 for number in numbers) == granted and not any(numbers[granted:])


def test_a_packet_that_no_client_needs_ends_the_connection(still):
    with dial(still, "rtde") as sock:
        sock.sendall(struct.pack(">HB", 0xFFFF, rtde.OUTPUT))
        ticked(still, lambda: any("65535" in text for text in still.network.dropped), "it is cut off")


def test_a_driver_that_floods_the_inertial_unit_is_read_slowly():
    pytest.importorskip("termios")
    import os

    stand = Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False)
    try:
        unit, seen = VirtualMti(stand), []
        receive = unit.device.receive
        unit.device.receive = lambda data: seen.append(len(data)) or receive(data)
        handle = os.open(unit.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        for _ in range(200):
            with contextlib.suppress(BlockingIOError):
                os.write(handle, xsens.message(xsens.GO_TO_MEASUREMENT) * 200)
            stand.tick()
        os.close(handle)
        assert 0 < max(seen) <= READ_BYTES
    finally:
        stand.close()


@pytest.mark.parametrize("port", ["primary", "secondary", "realtime"])
def test_a_client_that_only_sends_scripts_keeps_its_port(still, port):
    """ur_rtde holds port 30003 for hours, reads nothing of it, and sends a script when it needs one."""
    sock = dial(still, port)
    wait_for(lambda: still.network.serve(1.0) or still.network.connections(port), "it is connected")
    c = still.controller
    ticked(still, lambda: c.ticks % 200 == 0, "a tick in which everything is due")
    with c.lock:
        for _ in range(3000):  # more than was ever kept for one client
            still._publish()
            still._feed.tick(None)
    (connection,) = still.network.connections(port)
    assert connection.open and connection.listens
    c.registers.out_ints[0], q = 0, c.plant.live.q.copy()
    sock.sendall(
        b"def next():\n  write_output_integer_register(0, 7)\n"
        b"  movej(get_target_joint_positions() + [0.1, 0, 0, 0, 0, 0])\nend\n"
    )
    until(lambda: still.tick() or c.registers.out_ints[0] == 7, "its next script is taken and runs")
    ticked(still, lambda: c.program is None, "it comes to its end")
    assert abs(c.plant.live.q[0] - q[0] - 0.1) < 1e-3 and connection.open
    sock.close()


@pytest.mark.parametrize("unread", [False, True])
def test_what_a_client_said_before_it_hung_up_is_heard(still, unread):
    """A script runs though its sender is gone, and something was published to it, before anybody came to read it."""
    still.controller.registers.digital = 0
    sock = dial(still, "secondary")
    sock.sendall(b"set_digital_out(5, True)\n")
    if not unread:
        sock.close()
    wait_for(lambda: still.network.serve(1.0) or still.network.connections("secondary"), "it is connected")
    if unread:  # what it was greeted with: it leaves with a reset, not with an end
        assert sock.recv(1)
        sock.close()
    (connection,) = still.network.connections("secondary")
    wait_for(lambda: connection.send(b" ") or connection.dropped, "it is found to be gone")
    ticked(still, lambda: still.controller.registers.digital, "it is obeyed")
    ticked(still, lambda: not connection.open, "its place is free")
    still.controller.registers.digital = 0
