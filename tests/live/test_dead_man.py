# SPDX-License-Identifier: Apache-2.0
"""A dead-man is held or not, and an arm whose dead-man was released rests and stays where it is."""

import os
import threading

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.lab.net import LabError
from armwright.live import wire_arm
from armwright.live.dead_man import DIGITAL_INPUTS, DigitalInput, SpaceBar, dead_man
from armwright.live.wire_socket import WireSample
from support.patience import until
from support.wire import controller, forward, riding


def sample(inputs=0):
    return WireSample((0.0,) * 25, 1.0, 1.0, 7, 1, 2, 1, inputs, (0.0,) * 12)


def test_a_key_counts_while_the_terminal_repeats_it():
    import pty

    near, far = pty.openpty()
    try:
        with SpaceBar(far) as bar:
            assert not bar.held(sample())
            os.write(near, b"   ")
            until(lambda: bar.held(sample()), "the spaces have come")
            assert not bar.held(sample())
            os.write(near, b"x\n")
            assert not bar.held(sample())
    finally:
        os.close(near)
        os.close(far)


def test_an_input_counts_while_it_is_high():
    for number in (0, 7, DIGITAL_INPUTS - 1):
        held = dead_man(f"di{number}")
        assert held.held(sample(1 << number)) and not held.held(sample(~(1 << number) & (1 << DIGITAL_INPUTS) - 1))


def test_what_is_no_dead_man_is_refused():
    for word in ("di18", "di", "spacebar", "none", "di-1"):
        with pytest.raises(InputError, match="dead-man"):
            dead_man(word)
    with pytest.raises(InputError):
        DigitalInput(-1)
    read, write = os.pipe()
    with pytest.raises(InputError, match="needs a terminal"):
        SpaceBar(read)
    os.close(read)
    os.close(write)


class Hand:
    """A dead-man of a test."""

    name = "the test's hand"

    def __init__(self, holds=True):
        self.holds = holds

    def held(self, _):
        return self.holds

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def test_letting_go_brings_the_arm_to_rest_and_ends_the_ride():
    hand = Hand()
    with controller(wall=None) as robot, riding(robot, held=hand) as ride:
        motion = forward(ride, 0.15)
        ride.follow(motion)
        assert ride.run(0.6) == "end"
        hand.holds = False
        assert ride.run(motion.duration) == "stopped by a person"
        assert ride.reason == "the test's hand was released"
        rows = ride.recording("stopped by a person")
        braking = rows["device_time"][rows["kind"] == 3.0]
        assert braking[0] - braking[-1] < 0.0 and np.abs(ride.measured().qd).max() < 0.01
        q, hand.holds = ride.measured().q, True
        ride.follow(motion)
        assert ride.run(1.0) == "stopped by a person"
        now = robot.until(lambda truth: truth.state != "program running")
        assert np.abs(np.array(now.q) - q).max() < 2e-3


def test_nothing_begins_before_it_is_held(monkeypatch):
    monkeypatch.setattr(wire_arm, "HAND_PATIENCE", 0.3)
    with controller(wall=None) as robot:
        before = robot.truth().q
        with pytest.raises(LabError, match="was not held within"), riding(robot, held=Hand(False)):
            pass
        assert np.abs(np.subtract(robot.truth().q, before)).max() < 1e-6
        monkeypatch.setattr(wire_arm, "HAND_PATIENCE", 60.0)
        hand = Hand(False)
        threading.Timer(0.2, lambda: setattr(hand, "holds", True)).start()
        with riding(robot, held=hand) as ride:
            assert ride.stamp > 1.0 and ride.run(0.1) == "end"
