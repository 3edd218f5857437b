# SPDX-License-Identifier: Apache-2.0
"""A stand in lockstep waits for the answers of a client that drives it, and not for one that has fallen silent."""

import itertools
import time

import armwright as aw
from armwright.lab.stand import ANSWER_SECONDS, PORTS, Stand
from armwright.lab.virtual_controller import VirtualController
from armwright.live.wire_script import STAND
from armwright.live.wire_socket import WireSocket
from support.patience import PATIENCE

SLOW = 0.02  # [s] of the wall clock for every answer: at pace 10 that is 25 periods of the controller


def test_a_slow_client_gets_every_sample_by_itself():
    """A client that answers in time; in time is what the stand waits for, so beats that took longer are not judged."""
    with VirtualController(pace=10.0, lockstep=True, fifo=False) as robot:
        client = WireSocket(robot.host)
        client.connect_all()
        still, beats, judged = [0.0] * 6, [], []
        client.send(still, 1, STAND)
        time.sleep(0.5)  # nothing is answered: the controller has given up waiting
        said, end = time.monotonic(), time.monotonic() + PATIENCE
        for beat in itertools.count(2):
            stamps = [one.stamp for one in client.samples(30.0)]
            time.sleep(SLOW)
            client.send(still, beat, STAND)
            before, said = said, time.monotonic()
            beats.append((said - before < 0.8 * ANSWER_SECONDS, stamps))
            if beat > 6 and all(quick for quick, _ in beats[-3:]):  # after a slow beat several samples are on their way
                (_, last), (_, now) = beats[-2:]
                judged.append((len(now), now[-1] - last[-1]))
            if len(judged) == 25:
                break
            assert time.monotonic() < end, f"answered in time: {sum(quick for quick, _ in beats)} of {len(beats)} beats"
        before = robot.truth().time
        robot.until(lambda truth: truth.time > before + 1.0, seconds=900.0)  # a silent client holds nothing up
        client.close()
    assert all(count == 1 and abs(step - 0.008) < 1e-6 for count, step in judged), judged


def test_a_stand_that_waits_for_clients_takes_no_processor_from_them():
    """Under real-time scheduling its ticks, which follow each other at once, would leave little to anybody else."""
    stands = [Stand(aw.load("ur5"), ports=dict.fromkeys(PORTS, 0), lockstep=lockstep) for lockstep in (False, True)]
    asks = [stand.clock.wants_fifo for stand in stands]
    for stand in stands:
        stand.close()
    assert asks == [True, False]
