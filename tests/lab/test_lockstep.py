# SPDX-License-Identifier: Apache-2.0
"""A stand in lockstep waits for the answers of a client that drives it, and not for one that has fallen silent."""

import time

import numpy as np

import armwright as aw
from armwright.lab.stand import PORTS, Stand
from armwright.lab.virtual_controller import VirtualController
from armwright.live.wire_script import STAND
from armwright.live.wire_socket import WireSocket

SLOW = 0.02  # [s] of the wall clock for every answer: at pace 10 that is 25 periods of the controller


def test_a_slow_client_gets_every_sample_by_itself():
    with VirtualController(pace=10.0, lockstep=True, fifo=False) as robot:
        client = WireSocket(robot.host)
        client.connect_all()
        still, stamps = [0.0] * 6, []
        client.send(still, 1, STAND)
        time.sleep(0.5)  # nothing is answered: the controller has given up waiting
        for beat in range(2, 32):
            found = client.samples(30.0)
            stamps.append([one.stamp for one in found])
            time.sleep(SLOW)
            client.send(still, beat, STAND)
        before = robot.truth().time
        robot.until(lambda truth: truth.time > before + 1.0, seconds=900.0)  # a silent client holds nothing up
        client.close()
    steps = np.diff([one[-1] for one in stamps[3:]])
    assert np.abs(steps - 0.008).max() < 1e-6 and all(len(one) == 1 for one in stamps[3:])


def test_a_stand_that_waits_for_clients_takes_no_processor_from_them():
    """Under real-time scheduling its ticks, which follow each other at once, would leave little to anybody else."""
    stands = [Stand(aw.load("ur5"), ports=dict.fromkeys(PORTS, 0), lockstep=lockstep) for lockstep in (False, True)]
    asks = [stand.clock.wants_fifo for stand in stands]
    for stand in stands:
        stand.close()
    assert asks == [True, False]
