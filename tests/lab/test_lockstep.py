# SPDX-License-Identifier: Apache-2.0
"""A stand in lockstep waits for the answers of a client that drives it, and not for one that has fallen silent."""

import threading
import time

import numpy as np

import armwright as aw
from armwright.lab.stand import PORTS, Stand
from armwright.lab.virtual_controller import VirtualController
from armwright.live.wire_script import STAND
from armwright.live.wire_socket import WireSocket
from support.lab import address
from support.patience import PATIENCE

PERIOD = 0.008  # [s] between two samples
SLOW = 0.02  # [s] of the wall clock for every answer: at pace 10 that is 25 periods of the controller


def test_a_slow_client_gets_every_sample_and_the_stand_is_not_ahead_of_its_answers(monkeypatch):
    """As long as the stand waits for it, and here it always does."""
    monkeypatch.setattr("armwright.lab.stand.ANSWER_SECONDS", PATIENCE)
    stand, ended = Stand(aw.load("ur5"), host=address(), lockstep=True), threading.Event()

    def ticking():
        while not ended.is_set():
            stand.tick()

    clock = threading.Thread(target=ticking)
    clock.start()
    client = WireSocket(stand.host)
    try:
        client.connect_all()
        still, stamps = [0.0] * 6, []
        client.send(still, 1, STAND)
        while len(stamps) < 30:
            stamps.append([one.stamp for one in client.samples(PATIENCE)])
            time.sleep(SLOW)
            client.send(still, len(stamps) + 1, STAND)
    finally:
        ended.set()
        client.close()
        clock.join()
        stand.close()
    found = stamps[3:]  # what was sent before the first answer has been read by then
    assert np.abs(np.diff(np.concatenate(found)) - PERIOD).max() < 1e-6
    passed = np.rint((np.array([one[-1] for one in found]) - found[0][-1]) / PERIOD)
    assert set(passed - np.arange(len(found))) <= {0.0, 1.0}  # the first answer may have come one sample late


def test_a_silent_client_holds_nothing_up():
    with VirtualController(pace=10.0, lockstep=True) as robot:
        client = WireSocket(robot.host)
        client.connect_all()
        client.send([0.0] * 6, 1, STAND)
        before = robot.truth().time
        robot.until(lambda truth: truth.time > before + 1.0, seconds=900.0)
        client.close()


def test_a_stand_that_waits_for_clients_takes_no_processor_from_them():
    """Under real-time scheduling its ticks, which follow each other at once, would leave little to anybody else."""
    stands = [Stand(aw.load("ur5"), ports=dict.fromkeys(PORTS, 0), lockstep=lockstep) for lockstep in (False, True)]
    asks = [stand.clock.wants_fifo for stand in stands]
    for stand in stands:
        stand.close()
    assert asks == [True, False]
