# SPDX-License-Identifier: Apache-2.0
"""Faults that are injected, clients that mean ill, and what is left behind: nothing."""

import os
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.lab.controller.controller import ControllerEvent
from armwright.lab.net import MOST_PENDING
from armwright.lab.stand import Faults, Stand
from armwright.lab.wire import rtde
from armwright.lab.wire.rtde_fields import OUTPUTS, kinds_of
from support.lab import PORTS, address, ask, call, dial, read_packet, read_stream, wait_for
from support.patience import PATIENCE


def test_skipped_publications_are_counted_and_seen_as_gaps(fresh):
    with dial(fresh, "rtde") as sock:
        call(sock, rtde.PROTOCOL, struct.pack(">H", 2))
        call(sock, rtde.OUTPUT, struct.pack(">d", 125.0) + b"timestamp")
        call(sock, rtde.START)
        read_packet(sock)
        fresh.faults = Faults(skip=0.3, seed=5)
        stamps = [struct.unpack(">d", read_packet(sock)[1][1:])[0] for _ in range(60)]
        steps = np.round(np.diff(stamps) / 0.008).astype(int)
    assert (steps >= 1).all() and (steps > 1).any()
    assert fresh.faults.skipped >= (steps - 1).sum()


def test_a_client_that_does_not_read_is_dropped_and_others_go_on():
    with Stand(aw.load("ur5"), host=address(), ports=PORTS, e_series=True, fifo=False) as stand:
        lazy = socket.socket()
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.connect((stand.host, stand.ports["rtde"]))
        call(lazy, rtde.PROTOCOL, struct.pack(">H", 2))
        every = ",".join(sorted(kinds_of(OUTPUTS, stand.controller.version))).encode()
        call(lazy, rtde.OUTPUT, struct.pack(">d", 500.0) + every)
        call(lazy, rtde.START)
        wait_for(lambda: len(stand.network.connections("rtde")) == 1, "it streams")
        connection = stand.network.connections("rtde")[0]
        with stand.controller.lock:  # as many packets as ten seconds bring, at once
            values = stand._values
            for k in range(3 * MOST_PENDING // 2000):
                connection.send(connection.talk.data(k, values))
        wait_for(lambda: stand.network.dropped, "it is dropped")
        assert "does not read" in stand.network.dropped[-1]
        assert ask(stand, "robotmode") == "Robotmode: RUNNING"
        lazy.close()


@pytest.mark.parametrize("port", list(PORTS))
def test_fuzzed_packets_neither_crash_nor_hang(fresh, port):
    random = np.random.default_rng(len(port))
    sound = {
        "rtde": rtde.packet(rtde.OUTPUT, struct.pack(">d", 125.0) + b"timestamp,actual_q"),
        "dashboard": b"unlock protective stop\n",
    }.get(port, b"movej([0,-1.5,1.5,-1.5,-1.5,0],a=1,v=1)\n")
    for _ in range(60):
        with dial(fresh, port) as sock:
            try:
                for _ in range(10):
                    data = bytearray(sound if random.random() < 0.5 else random.bytes(int(random.integers(1, 300))))
                    for _ in range(int(random.integers(0, 6))):
                        data[int(random.integers(len(data)))] = int(random.integers(256))
                    sock.sendall(data)
            except OSError:
                pass  # hung up on, as it should be
    ticks = fresh.controller.ticks
    wait_for(lambda: fresh.controller.ticks > ticks + 5, "the clock goes on")
    assert fresh.clock.running and fresh.clock.error is None
    assert "Robotmode" in ask(fresh, "robotmode")
    fresh.controller.handle(ControllerEvent.RESTART)


@pytest.mark.slow
def test_the_lab_is_as_it_was_after_an_attack():
    """The documentation's script with fewer packets: half-open clients, slow readers, resets, scripts of 1 MB."""
    script = Path(__file__).parents[2] / "docs" / "measure_lab_hostile.py"
    done = subprocess.run(
        [sys.executable, str(script), "500"], capture_output=True, encoding="utf-8", timeout=2 * PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stall_is_made_up_for_by_the_devices_clock_or_counted():
    with Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False, faults=Faults(stall=0.5)) as stand:
        stand._stall_at = stand.controller.ticks + 50  # not after five seconds
        with dial(stand, "realtime") as sock:
            wait_for(lambda: stand.clock.late.stalls >= 1, "it has stood still")
            stamps = np.array(read_stream(sock, 40))[:, 1]
        assert stand.clock.late.stalled >= 0.5
        assert np.allclose(np.diff(stamps), 0.008)  # device time stands still with it: nothing is lost
    for wrong in (-1.0, 1e9):
        with pytest.raises(InputError, match="stall"):
            Faults(stall=wrong)


def test_nothing_is_left_behind():
    before, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    stand = Stand(aw.load("ur5"), host=address(), ports=PORTS, fifo=False)
    with stand, dial(stand, "rtde"), dial(stand, "realtime") as sock:
        read_stream(sock, 2)
    assert threading.active_count() == before
    assert len(os.listdir("/proc/self/fd")) <= descriptors


def test_a_busy_port_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match=r"rtde.*cannot be opened"):
            Stand(aw.load("ur5"), host="127.0.0.1", ports={**PORTS, "rtde": taken.getsockname()[1]}, fifo=False)
