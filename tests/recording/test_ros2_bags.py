# SPDX-License-Identifier: Apache-2.0
"""Joint states go to ROS 2 bags and come back, also from bags that others wrote."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.recording import Recording, Signal, read_bag, write_bag
from armwright.recording.formats.ros2_bag import DEFINITION, SCHEMA, decode, encode

pytest.importorskip("mcap", reason="extra [log] is not installed")


@pytest.fixture(scope="module")
def run():
    rng = np.random.default_rng(1)
    q, qd, tau = rng.normal(size=(3, 50, 6))
    q[3, 2] = np.nan
    signals = {"q": Signal(q, "rad"), "qd": Signal(qd, "rad/s"), "tau": Signal(tau, "N m")}
    return Recording(np.arange(50) * 0.002, signals, robot=aw.load("ur5"))


def bag(path, *topics, compression=None):
    """Write messages as another program would: {topic: [(stamp, names, (q, qd, tau)), …]}."""
    from mcap.writer import CompressionType, Writer

    with path.open("wb") as stream:
        out = Writer(stream, compression=compression or CompressionType.NONE)
        out.start(profile="ros2", library="other")
        schema = out.register_schema(SCHEMA, "ros2msg", DEFINITION.encode())
        for topic, messages in topics:
            channel = out.register_channel(topic, "cdr", schema)
            for stamp, names, values in messages:
                out.add_message(channel, log_time=stamp, publish_time=stamp, data=encode(stamp, names, values))
        out.finish()
    return path


def test_what_is_written_comes_back_bit_for_bit(run, tmp_path):
    back = read_bag(write_bag(run, tmp_path / "bag.mcap"), robot=run.robot)
    for name in run:
        assert np.array_equal(back[name], run[name], equal_nan=True)
        assert back.unit(name) == run.unit(name)
    np.testing.assert_allclose(back.time, run.time, atol=1e-12)
    assert back.labels("q") == run.labels("q")


def test_an_independent_reader_reads_the_bag(run, tmp_path):
    rosbags = pytest.importorskip("rosbags.highlevel", reason="rosbags is an independent reader of bags")
    from rosbags.typesys import Stores, get_typestore

    path = write_bag(run, tmp_path / "bag.mcap")
    with rosbags.AnyReader([path], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
        found = [reader.deserialize(raw, c.msgtype) for c, _, raw in reader.messages()]
    assert np.array_equal([message.position for message in found], run["q"], equal_nan=True)
    assert np.array_equal([message.effort for message in found], run["tau"])
    assert tuple(found[0].name) == run.labels("q")


@pytest.mark.parametrize("names", [("a",), ("joint", "a_longer_name", "é"), ("ab", "abc", "abcd", "abcde")])
def test_messages_of_any_alignment_decode_to_what_was_encoded(names):
    rng = np.random.default_rng(len(names))
    position, effort = rng.normal(size=(2, len(names)))
    stamp, back, values = decode(encode(1_700_000_000_123_456_789, names, (position, [], effort)), "here")
    assert (stamp, back) == (1_700_000_000_123_456_789, names)
    assert np.array_equal(values[0], position) and not len(values[1]) and np.array_equal(values[2], effort)


def test_joints_are_found_by_name_and_strangers_are_counted(tmp_path):
    none = np.zeros(0)
    arm = [(10**18 + k * 10**7, ("b", "a"), (np.array([k, -k]), none, none)) for k in range(4)]
    hand = [(10**18 + k * 10**7 + 5, ("finger",), (np.array([9.0]), none, none)) for k in range(3)]
    path = bag(tmp_path / "two.mcap", ("/joint_states", arm + hand), ("/other", hand))
    back = read_bag(path)
    assert back.labels("q") == ("b", "a")
    assert np.array_equal(back["q"], [[k, -k] for k in range(4)])
    assert "3 messages" in back.outcome
    assert "qd" not in back
    assert back.settings["first_stamp_ns"] == 10**18
    assert len(read_bag(path, "/other")) == 3
    with pytest.raises(InputError, match="'/arm' is not one of its joint states; valid: /joint_states, /other"):
        read_bag(path, "/arm")
    with pytest.raises(InputError, match=r"no message of '/joint_states' has all of shoulder_pan.*finger"):
        read_bag(path, robot=aw.load("ur5"))


def test_packed_bags_are_read(run, tmp_path):
    pytest.importorskip("zstandard", reason="zstandard unpacks zstd")
    from mcap.writer import CompressionType

    messages = [(k, ("a",), (np.array([0.5 * k]), [], [])) for k in range(1, 5)]
    back = read_bag(bag(tmp_path / "z.mcap", ("/arm", messages), compression=CompressionType.ZSTD))
    assert np.array_equal(back["q"].ravel(), [0.5, 1.0, 1.5, 2.0])


def test_damage_is_an_error_that_says_where(run, tmp_path):
    path = write_bag(run, tmp_path / "bag.mcap")
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for k in rng.integers(8, len(whole), 60):
        path.write_bytes(whole[:k] + bytes([whole[k] ^ 0x55]) + whole[k + 1 :])
        with contextlib.suppress(InputError):
            back = read_bag(path)  # a flip where nothing is read (the library's name, an index)
            assert all(np.array_equal(back[name], run[name], equal_nan=True) for name in back)
    (tmp_path / "text.mcap").write_text("not a bag", encoding="utf-8")
    with pytest.raises(InputError, match="byte 0: not an MCAP file"):
        read_bag(tmp_path / "text.mcap")
    with pytest.raises(InputError, match="read_bag of armwright"):
        Recording.load(write_bag(run, tmp_path / "again.mcap"))
    with pytest.raises(InputError, match="neither an Armwright recording nor a bag"):
        read_bag(run.save(tmp_path / "own.mcap"))
