# SPDX-License-Identifier: Apache-2.0
"""What comes on the wire to a client that drives an arm: parts of samples, several at once, what a controller says."""

import socket
import threading
import time

import pytest

from armwright.lab.net import LabError
from armwright.lab.wire import rtde
from armwright.live.wire_socket import _NUMBERS, WireSocket


@pytest.fixture
def ends():
    """A connected client, and the controller's end of its wire."""
    here, there = socket.socketpair()
    client = WireSocket("a controller")
    client._sock = here
    yield client, there
    there.close()
    client.close()


def sample(stamp):
    numbers = [stamp, *range(1, 25), 1.0, 1.0, 7, 1, 2, 2, 5, *range(12)]
    return rtde.packet(rtde.DATA, b"\1" + _NUMBERS.pack(*numbers))


def said(text, level):
    return rtde.text_message(2, text, level)


def test_part_of_a_sample_is_waited_for_and_what_comes_at_once_is_all_told(ends):
    client, there = ends
    whole = sample(0.5)
    there.sendall(whole[:100])
    later = threading.Timer(0.05, lambda: there.sendall(whole[100:] + sample(0.508)))
    later.start()
    found = client.samples(30.0)
    later.join()
    assert [one.stamp for one in found] == [0.5, 0.508]
    assert found[0].numbers[:3] == (0.5, 1.0, 2.0) and found[0].targets == tuple(range(12)) and found[0].inputs == 5


def test_a_warning_is_no_sample_and_silence_is_told_in_time(ends):
    client, there = ends
    there.sendall(said("something is slow", 2) + said("hello", 3))
    begun = time.monotonic()
    assert client.samples(0.05) == [] and time.monotonic() - begun >= 0.05
    there.sendall(said("something is slow", 2) + sample(0.5))
    assert len(client.samples(30.0)) == 1


@pytest.mark.parametrize("level", [0, 1])
def test_a_controller_that_complains_ends_it_with_its_words(ends, level):
    client, there = ends
    there.sendall(said("input packet refused", level))
    with pytest.raises(LabError, match="complains: input packet refused"):
        client.samples(30.0)


def test_messages_come_back_as_they_were_sent():
    for text, level in (("", 0), ("refused: ü", 1), ("x" * 255, 2)):
        assert rtde.message_of(said(text, level)[3:]) == (text, level)
    assert rtde.message_of(b"") == ("", 3)
    assert rtde.message_of(b"\5abc")[1] == 3
