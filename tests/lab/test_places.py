# SPDX-License-Identifier: Apache-2.0
"""Clients that die or say nothing take no place from others: the one that was silent longest makes room."""

import contextlib
import socket
import struct
from itertools import pairwise

import pytest

import armwright as aw
from armwright.lab.net import MOST_CLIENTS
from armwright.lab.rdt_streams import MOST_LISTENERS
from armwright.lab.stand import Stand
from armwright.lab.virtual_sensors import VirtualNetFt
from armwright.lab.wire import netft, rtde
from support.lab import PORTS, address, ask, call, dial, read_packet, wait_for
from support.patience import PATIENCE


@pytest.fixture(scope="module")
def crowded():
    with Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False) as stand:
        stand.ft = VirtualNetFt(stand, http_port=0, rdt_port=0)
        yield stand


def listener(stand, count=0):
    """A client of the force sensor that has had its first record."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(PATIENCE)
    sock.connect((stand.host, stand.ft.rdt_port))
    sock.send(netft.request(netft.START_REALTIME, count))
    assert len(sock.recv(100)) == netft.RECORD.size
    return sock


def drain(sock):
    """Read what waits; it does not wait itself from now on."""
    sock.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while sock.recv(100):
            pass


@pytest.fixture
def no_listeners(crowded):
    yield crowded
    for address_ in list(crowded.ft._streams._streams):
        crowded.ft._streams._streams.pop(address_, None)


def test_a_ninth_listener_is_served_when_eight_have_died(no_listeners):
    stand = no_listeners
    for _ in range(MOST_LISTENERS):
        listener(stand).close()
    listener(stand).close()


def test_a_ninth_listener_gets_the_place_of_the_one_that_asked_longest_ago(no_listeners):
    stand = no_listeners
    with contextlib.ExitStack() as stack:
        eight = [stack.enter_context(listener(stand)) for _ in range(MOST_LISTENERS)]
        eight[0].send(netft.request(netft.START_REALTIME))  # now the second is the one that asked longest ago
        wait_for(lambda: next(iter(stand.ft._streams._streams)) == eight[1].getsockname(), "it has asked again")
        stack.enter_context(listener(stand))
        assert len(stand.ft._streams) == MOST_LISTENERS
        for sock in eight:
            drain(sock)
        for sock in (eight[0], *eight[2:]):
            sock.settimeout(PATIENCE)
            assert sock.recv(100)
        with pytest.raises(BlockingIOError):
            eight[1].recv(100)


def test_listeners_that_died_go_before_one_that_lives(no_listeners):
    """The other system says that nobody is there any more; the first to have asked lives on."""
    stand = no_listeners
    with listener(stand) as alive:
        for _ in range(3):
            others = [listener(stand) for _ in range(MOST_LISTENERS - 1)]
            for sock in others:
                sock.close()
            wait_for(lambda: len(stand.ft._streams) == 1, "the dead are forgotten")
        assert alive.getsockname() in stand.ft._streams._streams
        assert len(alive.recv(100)) == netft.RECORD.size


def has_place(stand, sock):
    with stand.controller.lock, contextlib.suppress(OSError):  # one that goes just now has no name any more
        return sock.getsockname() in [c.sock.getpeername() for c in stand.network.connections()]


def streaming(stand, stack, rate=125.0):
    sock = stack.enter_context(dial(stand, "rtde"))
    call(sock, rtde.PROTOCOL, struct.pack(">H", 2))
    call(sock, rtde.OUTPUT, struct.pack(">d", rate) + b"timestamp")
    call(sock, rtde.START)
    return sock


@pytest.mark.parametrize("port", [*PORTS, "mixed"])
def test_idle_connections_do_not_shut_new_ones_out(crowded, port):
    with contextlib.ExitStack() as stack:
        ports = list(PORTS) if port == "mixed" else [port]
        for k in range(MOST_CLIENTS + 3):
            stack.enter_context(dial(crowded, ports[k % len(ports)]))
        for _ in range(3):
            assert ask(crowded, "robotmode") == "Robotmode: RUNNING"
        assert len(crowded.network.connections()) <= MOST_CLIENTS


@pytest.mark.parametrize("rate", [125.0, 1.0])
@pytest.mark.parametrize("port", ["dashboard", "realtime", "rtde"])
def test_an_active_client_keeps_its_place_while_silent_ones_have_some(crowded, port, rate):
    with contextlib.ExitStack() as stack:
        active = streaming(crowded, stack, rate)
        first = struct.unpack(">d", read_packet(active)[1][1:])[0]
        idle = [stack.enter_context(dial(crowded, port)) for _ in range(2 * MOST_CLIENTS)]
        wait_for(lambda: has_place(crowded, idle[-1]), "all have been accepted")
        second = struct.unpack(">d", read_packet(active)[1][1:])[0]
        assert abs(second - first - 1.0 / rate) < 1e-6
        assert has_place(crowded, active)


def test_thousands_of_short_connections_leave_nothing_behind(crowded):
    with contextlib.ExitStack() as stack:
        active = streaming(crowded, stack)
        for _ in range(1000):
            with socket.socket() as sock:
                sock.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    sock.connect((crowded.host, crowded.ports["dashboard"]))
        stamps = [struct.unpack(">d", read_packet(active)[1][1:])[0] for _ in range(20)]
        assert all(abs(b - a - 0.008) < 1e-6 for a, b in pairwise(stamps))
        assert ask(crowded, "robotmode") == "Robotmode: RUNNING"
    wait_for(lambda: not crowded.network.connections("dashboard", "rtde"), "all have gone")


def test_the_system_asks_whether_a_silent_client_still_lives(crowded):
    with dial(crowded, "dashboard"):
        wait_for(lambda: crowded.network.connections("dashboard"), "it is accepted")
        for connection in crowded.network.connections("dashboard"):
            assert connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert connection.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 10
