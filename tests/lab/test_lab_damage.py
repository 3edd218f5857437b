# SPDX-License-Identifier: Apache-2.0
"""Recordings of the lab that were cut, flipped or wiped: the packets that were written, or an error; never others."""

import random
import struct
import warnings
import zlib

import numpy as np
import pytest

from armwright.errors import ArmwrightWarning, InputError
from armwright.lab import read_packets
from armwright.lab.packet_writer import PacketWriter
from armwright.lab.packets import METADATA, Channel, Packet, read_facts

pytest.importorskip("mcap", reason="armwright[log] is not installed")

BLOCK = 512  # bytes: a sector of a disk
CHUNKS = 3
FACTS = {"place": "test", "finished": True, "devices": {"/ft": {"received": 6}}}


def packets():
    """Two devices, packets that no two bits of are alike in neighbours."""
    noise = random.Random(7)
    out = []
    for k in range(4 * CHUNKS):
        topic = "/ft" if k % 2 else "/robot/rtde"
        size = 36 if k % 2 else 12
        out.append(Packet(topic, 1_700_000_000_000_000_000 + 8_000_000 * k, 8_000_000 * k, k, noise.randbytes(size)))
    return out


def written(path, *, end=True):
    """Record packets in three chunks; without an end the writer was killed."""
    writer = PacketWriter(path)
    writer.add(Channel("/robot/rtde", "ur-rtde", "timestamp DOUBLE\n", {"rate": "125"}))
    writer.add(Channel("/ft", "ati-rdt", "", {"serial": "FT1"}))
    for k, packet in enumerate(packets()):
        writer.write(packet)
        if k % 4 == 3:
            writer.flush(now=True)
    if end:
        writer.close(FACTS)
    else:
        writer.abandon()
    return path


def outcome(path, data, **options):
    """Read these bytes: what they hold, or None where they are refused; every warning is told in the notes."""
    path.write_bytes(data)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            held = read_packets(path, **options)
        except InputError as error:
            refusal, held = str(error), None
    if held is None:
        assert str(path) in refusal
        return None
    assert [str(warning.message) for warning in told] == list(held.notes)
    return held


def flipped(data, bits):
    for bit in bits:
        bad = bytearray(data)
        bad[bit // 8] ^= 1 << bit % 8
        yield bit, bytes(bad)


def some_bits(data):
    """One bit of every third byte."""
    noise = random.Random(3)
    return [8 * at + noise.randrange(8) for at in range(0, len(data), 3)]


def check_flips(tmp_path, end, bits_of):
    whole = written(tmp_path / "whole.mcap", end=end).read_bytes()
    good = outcome(tmp_path / "run.mcap", whole)
    assert good.packets == packets() and good.whole is end
    for bit, bad in flipped(whole, bits_of(whole)):
        assert outcome(tmp_path / "run.mcap", bad) is None, bit


@pytest.mark.parametrize("end", [True, False], ids=["ended", "killed"])
def test_a_flipped_bit_is_noticed(tmp_path, end):
    check_flips(tmp_path, end, some_bits)


@pytest.mark.thorough
@pytest.mark.parametrize("end", [True, False], ids=["ended", "killed"])
def test_every_flipped_bit_is_noticed(tmp_path, end):
    check_flips(tmp_path, end, lambda data: range(8 * len(data)))


@pytest.mark.parametrize("end", [True, False], ids=["ended", "killed"])
@pytest.mark.parametrize("size", [16, 64, BLOCK])
def test_a_wiped_block_is_noticed(tmp_path, end, size):
    whole = written(tmp_path / "whole.mcap", end=end).read_bytes()
    for at in range(0, len(whole), size):
        bad = whole[:at] + bytes(len(whole[at : at + size])) + whole[at + size :]
        held = outcome(tmp_path / "run.mcap", bad) if bad != whole else None
        assert held is None, at


def check_cuts(tmp_path, end, every):
    whole = written(tmp_path / "whole.mcap", end=end).read_bytes()
    seen = set()
    for size in range(0, len(whole), every):
        held = outcome(tmp_path / "run.mcap", whole[:size])
        if held is None:
            assert not seen, f"cut to {size} bytes: refused, a shorter file was read"
            continue
        assert held.packets == packets()[: len(held.packets)] and len(held.packets) % 4 == 0
        assert len(held.packets) >= max(seen, default=4)
        seen.add(len(held.packets))
        assert not held.whole and any("cut short" in note for note in held.notes)
    assert seen == {4, 8, 12}


@pytest.mark.parametrize("end", [True, False], ids=["ended", "killed"])
def test_a_cut_keeps_the_whole_chunks_before_it_and_is_told(tmp_path, end):
    check_cuts(tmp_path, end, 3)


@pytest.mark.thorough
@pytest.mark.parametrize("end", [True, False], ids=["ended", "killed"])
def test_a_cut_at_any_byte_keeps_the_whole_chunks_before_it_and_is_told(tmp_path, end):
    check_cuts(tmp_path, end, 1)


def test_what_precedes_damage_can_be_kept(tmp_path):
    whole = written(tmp_path / "whole.mcap").read_bytes()
    kept = set()
    for bit, bad in flipped(whole, some_bits(whole)):
        held = outcome(tmp_path / "run.mcap", bad, recover=True)
        if held is None:
            continue
        assert held.packets == packets()[: len(held.packets)], bit
        assert not held.whole and any(f"{len(held.packets)} packets before it were kept" in n for n in held.notes)
        kept.add(len(held.packets))
    assert {4, 8, 12} <= kept


def test_a_whole_recording_has_nothing_to_note(tmp_path):
    path = written(tmp_path / "run.mcap")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ArmwrightWarning)
        held = read_packets(path)
    assert held.whole and held.notes == () and held.facts == FACTS == read_facts(path)
    assert held.channels["/robot/rtde"].recipe == "timestamp DOUBLE\n" and held.channels["/ft"].facts == {
        "serial": "FT1"
    }


def test_facts_of_a_damaged_file_are_not_taken_for_none(tmp_path):
    """They decide whether a run is recorded again."""
    whole = written(tmp_path / "run.mcap").read_bytes()
    at = whole.index(b'"place"') + 2
    (tmp_path / "run.mcap").write_bytes(whole[:at] + b"?" + whole[at + 1 :])
    with pytest.raises(InputError, match=r"run\.mcap, byte \d+.*damaged"):
        read_facts(tmp_path / "run.mcap")
    assert read_facts(tmp_path / "none.mcap") == {}


def old(path, *, sums=True):
    """Record as version 0.1 did: by the writer of the mcap package."""
    from mcap.writer import CompressionType, Writer

    with path.open("wb") as file:
        writer = Writer(file, chunk_size=200, compression=CompressionType.NONE, enable_crcs=sums)
        writer.start(profile="", library="armwright lab")
        schema = writer.register_schema(name="ur-rtde", encoding="text", data=b"timestamp DOUBLE\n")
        channel = writer.register_channel("/robot/rtde", "ur-rtde", schema, metadata={"rate": "125"})
        for k in range(12):
            writer.add_message(channel, 1000 + k, struct.pack(">d", k), k, k)
        writer.add_metadata(METADATA, {"place": '"test"'})
        writer.finish()
    return path


def test_a_recording_of_version_0_1_is_read_and_what_has_no_checksum_is_told(tmp_path):
    held = outcome(tmp_path / "run.mcap", old(tmp_path / "old.mcap").read_bytes())
    assert [packet.sequence for packet in held.packets] == list(range(12)) and held.whole
    assert held.facts == {"place": "test"}
    assert len(held.notes) == 1 and "its descriptions have no checksum" in held.notes[0]
    bare = outcome(tmp_path / "run.mcap", old(tmp_path / "bare.mcap", sums=False).read_bytes())
    assert bare.packets == held.packets and "its chunks, descriptions have no checksum" in bare.notes[0]


def test_no_flipped_bit_of_version_0_1_gives_other_packets(tmp_path):
    whole = old(tmp_path / "old.mcap").read_bytes()
    good = outcome(tmp_path / "run.mcap", whole)
    for bit, bad in flipped(whole, some_bits(whole)):
        held = outcome(tmp_path / "run.mcap", bad)
        assert held is None or (held.packets == good.packets and held.channels == good.channels), bit


def chunk_of(content, size=None):
    """A chunk record, right except for what is given."""
    head = struct.pack("<QQQIIQ", 0, 0, len(content) if size is None else size, zlib.crc32(content), 0, len(content))
    return struct.pack("<BQ", 6, len(head) + len(content)) + head + content


@pytest.mark.parametrize(
    "content",
    [
        struct.pack("<BQ", 5, 2**62),
        struct.pack("<BQH", 5, 2, 1),
        struct.pack("<BQHIQQ", 5, 22, 999, 0, 0, 0),
        struct.pack("<BQHI", 3, 6, 1, 2**31) + b"x",
        struct.pack("<BQHHI", 4, 8, 1, 1, 2**32 - 1),
        b"\x05",
        b"\xff" * 40,
    ],
    ids=["endless", "short", "undeclared", "schema", "channel", "stub", "noise"],
)
def test_a_chunk_made_to_do_harm_is_refused(tmp_path, content):
    """Its checksum is right."""
    whole = written(tmp_path / "whole.mcap", end=False).read_bytes()
    assert outcome(tmp_path / "run.mcap", whole + chunk_of(content)) is None
    assert len(outcome(tmp_path / "run.mcap", whole + chunk_of(content), recover=True).packets) == 4 * CHUNKS
    assert outcome(tmp_path / "run.mcap", whole + chunk_of(content, size=2**60)) is None


def test_joint_states_of_a_damaged_recording_are_not_identified_from(tmp_path):
    """`read_log` takes them from the same file, by the same reader."""
    from armwright.identify import read_log
    from armwright.lab.recorder import SCHEMA, TOPIC, message

    path = tmp_path / "run.mcap"
    writer = PacketWriter(path)
    writer.add(Channel("/robot/rtde", "ur-rtde", "timestamp DOUBLE\n"))
    for k in range(6):
        packet = Packet("/robot/rtde", 10**18 + 8_000_000 * k, 8_000_000 * (k + 1), k, bytes(12))
        writer.write(packet)
        writer.beside(TOPIC, SCHEMA, packet, message(packet.device, [8e-4 * k] * 6, [0.1] * 6, [0.3] * 6))
    writer.close({})
    whole = path.read_bytes()
    assert np.allclose(read_log(path).q[:, 0], 8e-4 * np.arange(6))
    for bit, bad in flipped(whole, some_bits(whole)[::5]):
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"run\.mcap, byte \d+"):
            print(bit, read_log(path))
