# SPDX-License-Identifier: Apache-2.0
"""Files: the same bits come back, other programs can read them, damage is refused with its place."""

from __future__ import annotations

import csv
import io
import json
import struct
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from armwright.errors import ArmwrightError, ArmwrightWarning, InputError, NotSupportedError
from armwright.recording.recording import Recording
from armwright.recording.signals import Signal
from armwright.recording.writer import RecordingWriter
from support.recording import assert_same, awkward, falling, files_of, names_in

SUFFIXES = ("mcap", "parquet", "csv", "npz")


def need(suffix: str) -> None:
    if suffix in ("mcap", "parquet"):
        pytest.importorskip({"mcap": "mcap", "parquet": "pyarrow"}[suffix], reason="armwright[log] is not installed")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip_is_exact(suffix: str, tmp_path: Path) -> None:
    need(suffix)
    rec = awkward()
    path = rec.save(tmp_path / f"run.{suffix}")
    assert_same(rec, Recording.load(path))
    assert names_in(tmp_path) == files_of(path)  # no drafts left
    rec.decimate(3).save(path)  # strided views, over an existing file
    assert_same(rec.decimate(3), Recording.load(path))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "rec",
    [
        Recording([], {"q": Signal(np.empty((0, 2)), "rad")}),
        Recording([-1.5, 0.0], {}),
        Recording([-1.5, 0.0, 0.0], {"x": Signal([1.0, 2.0, 3.0]), "none": Signal(np.empty((3, 0)))}),
    ],
    ids=["no samples", "no signals", "no components, negative and repeated time"],
)
def test_edge_cases_round_trip(suffix: str, rec: Recording, tmp_path: Path) -> None:
    need(suffix)
    assert_same(rec, Recording.load(rec.save(tmp_path / f"run.{suffix}")))


def test_many_chunks_round_trip(tmp_path: Path) -> None:
    need("mcap")
    rec = awkward(5003)
    assert_same(rec, Recording.load(rec.save(tmp_path / "run.mcap")))


def test_mcap_is_read_by_an_independent_reader(tmp_path: Path) -> None:
    pytest.importorskip("mcap", reason="armwright[log] is not installed")
    decoder = pytest.importorskip("mcap_protobuf.decoder", reason="mcap-protobuf-support is not installed")
    from mcap.reader import make_reader

    rec = falling(seconds=1.0)
    path = rec.save(tmp_path / "run.mcap")
    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[decoder.DecoderFactory()])
        summary = reader.get_summary()
        assert {channel.topic for channel in summary.channels.values()} == {
            "/recording",
            "/joint_states",
            "/tf",
            "/scene",
        }
        assert summary.statistics.channel_message_counts == {1: len(rec), 2: 101, 3: 101, 4: 1}
        samples = [(message.log_time, sample) for _, _, message, sample in reader.iter_decoded_messages("/recording")]
        states = [state for *_, state in reader.iter_decoded_messages("/joint_states")]
        late = list(reader.iter_decoded_messages("/recording", start_time=int(0.9e9)))
        assert {data.name for data in reader.iter_metadata()} == {"armwright.head", "armwright.units", "armwright.tail"}
    assert len(samples) == len(rec)
    assert len(late) == 51
    for k in (0, 1, 250, 500):
        stamp, sample = samples[k]
        assert stamp == round(rec.time[k] * 1e9)
        assert sample.t == rec.time[k]
        assert sample.energy == rec["energy"][k]
        assert [getattr(sample.tau, name) for name in rec.labels("tau")] == rec["tau"][k].tolist()
    state = states[50]
    assert state.timestamp.seconds + 1e-9 * state.timestamp.nanos == pytest.approx(0.5)
    assert [joint.name for joint in state.joints] == list(rec.labels("q"))
    assert [(j.position, j.velocity, j.effort) for j in state.joints] == list(
        zip(rec["q"][250], rec["qd"][250], rec["tau"][250], strict=True)
    )


def test_mcap_rewritten_by_another_tool_is_read(tmp_path: Path) -> None:
    pytest.importorskip("mcap", reason="armwright[log] is not installed")
    from mcap.reader import make_reader
    from mcap.writer import CompressionType, Writer

    rec = awkward()
    original, other = rec.save(tmp_path / "run.mcap"), tmp_path / "other.mcap"
    with open(original, "rb") as source, open(other, "wb") as target:
        reader, writer = make_reader(source), Writer(target, compression=CompressionType.ZSTD, chunk_size=4000)
        writer.start()
        channels: dict[int, int] = {}
        writer.register_schema("unrelated", "jsonschema", b"{}")
        for schema, channel, message in reader.iter_messages():
            assert schema is not None
            if channel.id not in channels:
                new = writer.register_schema(schema.name, schema.encoding, schema.data)
                channels[channel.id] = writer.register_channel(channel.topic, channel.message_encoding, new)
            writer.add_message(channels[channel.id], message.log_time, message.data, message.publish_time)
        for data in reader.iter_metadata():
            writer.add_metadata(data.name, data.metadata)
        writer.finish()
    assert_same(rec, Recording.load(other))


def test_parquet_and_csv_are_flat_and_carry_units(tmp_path: Path) -> None:
    rec = awkward()
    path = rec.save(tmp_path / "run.csv")
    table = np.genfromtxt(path, delimiter=",", names=True, comments="#")
    assert table.dtype.names is not None
    assert table.dtype.names[:4] == ("t", "q_0", "q_1", "qd_0")
    assert np.array_equal(table["q_1"], rec["q"][:, 1], equal_nan=True)
    head = json.loads(Path(f"{path}.meta").read_text(encoding="utf-8").splitlines()[0])
    assert {signal["name"]: signal["unit"] for signal in head["signals"]} == {name: rec.unit(name) for name in rec}
    parquet = pytest.importorskip("pyarrow.parquet", reason="armwright[log] is not installed")
    read = parquet.read_table(rec.save(tmp_path / "run.parquet"))
    assert read.column_names == list(table.dtype.names)
    assert read.schema.field("q_1").metadata[b"unit"] == b"rad"
    assert read.schema.field("q_1").metadata[b"label"] == rec.labels("q")[1].encode()


def test_csv_is_a_line_of_names_and_lines_of_numbers(tmp_path: Path) -> None:
    """Nothing that a reader would have to be told of; streamed or saved at once."""
    rec = awkward(30)
    saved, streamed = rec.save(tmp_path / "saved.csv"), tmp_path / "streamed.csv"
    with RecordingWriter(streamed, rec.signals, robot=rec.robot, settings=rec.settings, seed=rec.seed) as writer:
        writer.append(rec.time, {name: rec[name] for name in rec})
    columns = {"t": rec.time, "q_0": rec["q"][:, 0], "energy": rec["energy"], "pose_11": rec["pose"][:, 2, 3]}
    for path in (saved, streamed):
        with path.open(newline="") as file:
            rows = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
        assert len(rows) == len(rec)
        assert len(rows[0]) == 1 + sum(signal.width for signal in rec.signals.values())
        for name, values in columns.items():
            assert np.array_equal([row[name] for row in rows], values, equal_nan=True)


def test_csv_opens_with_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    rec = awkward(30)
    frame = pandas.read_csv(rec.save(tmp_path / "run.csv"))
    assert list(frame.columns)[:4] == ["t", "q_0", "q_1", "qd_0"]
    assert set(map(str, frame.dtypes)) == {"float64"}
    np.testing.assert_allclose(frame[["q_0", "q_1"]].to_numpy(), rec["q"], rtol=1e-15)


def test_csv_without_its_description_says_where_it_belongs(tmp_path: Path) -> None:
    path = awkward(9).save(tmp_path / "run.csv")
    Path(f"{path}.meta").unlink()
    with pytest.raises(InputError, match=r"run\.csv\.meta: cannot be read: No such file.*moves with it"):
        Recording.load(path)
    awkward(20).save(tmp_path / "other.csv")
    Path(f"{path}.meta").write_bytes((tmp_path / "other.csv.meta").read_bytes())
    with pytest.raises(InputError, match="20 samples were written, 9 are there"):
        Recording.load(path)


OLD = """t,x
# armwright {"armwright_recording": 1, "signals": [{"name": "x", "unit": "m", "labels": [], "shape": []}], "seed": 3, \
"settings": {"law": "pd"}, "versions": {"armwright": "0.1.0"}, "robot": null}
# units {"t": "s", "x": "m"}
0.0,1.5
0.5,nan
# crc32 CRC
# end {"samples": 2, "events": [], "outcome": "end"}
"""


def test_csv_with_comments_as_it_was_written_first_is_read(tmp_path: Path) -> None:
    path, text = tmp_path / "old.csv", OLD.replace("CRC", str(zlib.crc32(b"0.0,1.5\n0.5,nan\n")))
    path.write_text(text, encoding="utf-8")
    rec = Recording.load(path)
    assert np.array_equal(rec["x"], [1.5, np.nan], equal_nan=True)
    assert (rec.unit("x"), rec.seed, rec.outcome, rec.settings["law"]) == ("m", 3, "end", "pd")
    path.write_text(text.replace("1.5", "1.4"), encoding="utf-8")
    with pytest.raises(InputError, match="checksum"):
        Recording.load(path)
    path.write_text("".join(text.splitlines(keepends=True)[:4]), encoding="utf-8")
    assert len(Recording.load(path)) == 1


def test_a_stream_of_arrow_batches_as_it_was_left_first_is_read(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="armwright[log] is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="armwright[log] is not installed")
    rec = awkward(20)
    table = parquet.read_table(rec.save(tmp_path / "whole.parquet"))
    partial = tmp_path / "run.parquet.partial"
    with arrow.OSFile(str(partial), "wb") as file, arrow.ipc.new_stream(file, table.schema) as out:
        out.write_table(table, max_chunksize=5)
    with partial.open("r+b") as cut:
        cut.truncate(partial.stat().st_size - 500)
    kept = Recording.load(tmp_path / "run.parquet")
    assert len(kept) == 15
    assert kept["q"].tobytes() == rec["q"][:15].tobytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damage_never_escapes_the_error_family(suffix: str, tmp_path: Path) -> None:
    """Bytes flipped, cut out or doubled: an ArmwrightError or a recording, never a crash, never other numbers."""
    need(suffix)
    rec = awkward(40)
    data = rec.save(tmp_path / f"run.{suffix}").read_bytes()
    rng, path = np.random.default_rng(5), tmp_path / f"bad.{suffix}"
    messages = []
    for trial in range(150):
        bad, at = bytearray(data), int(rng.integers(len(data)))
        if trial % 3 == 0:
            bad[at] ^= int(rng.integers(1, 256))
        elif trial % 3 == 1:
            del bad[at : at + int(rng.integers(1, 50))]
        else:
            bad[at:at] = bad[at : at + int(rng.integers(1, 50))]
        path.write_bytes(bad)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ArmwrightWarning)  # a robot that cannot be read is only warned of
                loaded = Recording.load(path)
            for name in rec:
                kept = len(loaded)
                assert loaded[name].tobytes() == rec[name][:kept].tobytes(), (trial, at)
            assert kept == len(rec) or loaded.outcome.startswith("interrupted")
        except ArmwrightError as error:
            messages.append(str(error))
    assert len(messages) > 30
    assert all(str(path) in message for message in messages)


def test_a_flipped_bit_of_mcap_is_named_and_what_precedes_can_be_recovered(tmp_path: Path) -> None:
    need("mcap")
    rec = awkward(5003)
    path = rec.save(tmp_path / "run.mcap")
    data = bytearray(path.read_bytes())
    data[len(data) * 3 // 4] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"run.mcap, byte \d+ \(after sample \d+\): damaged chunk"):
        Recording.load(path)
    kept = Recording.load(path, recover=True)
    assert 1000 < len(kept) < 5003
    assert kept["q"].tobytes() == rec["q"][: len(kept)].tobytes()
    assert kept.outcome.startswith("interrupted")


def test_csv_damage_names_the_line(tmp_path: Path) -> None:
    rec = awkward(20)
    path = rec.save(tmp_path / "run.csv")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:10], lines[10].replace(",", ";", 1), *lines[11:]]), encoding="utf-8")
    with pytest.raises(InputError, match=r"run\.csv, line 11"):
        Recording.load(path)
    assert len(Recording.load(path, recover=True)) == 9
    path.write_text("".join(lines).replace("0.001,", "0.002,"), encoding="utf-8")
    with pytest.raises(InputError, match="checksum"):
        Recording.load(path)
    path.write_text("".join([*lines[:10], *lines[11:]]), encoding="utf-8")
    with pytest.raises(InputError, match="20 samples were written, 19 are there"):
        Recording.load(path)


def test_declared_sizes_are_not_believed(tmp_path: Path) -> None:
    rec = awkward(50)
    small = rec.save(tmp_path / "run.npz")
    with pytest.raises(InputError, match="max_bytes"):
        Recording.load(small, max_bytes=1000)
    with zipfile.ZipFile(small) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    members["t.npy"] = head.getvalue()
    bomb = tmp_path / "bomb.npz"
    with zipfile.ZipFile(bomb, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(InputError, match="member 't'"):
        Recording.load(bomb)
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, armwright_head=np.array([{"a": 1}], dtype=object), armwright_tail=np.zeros(1))
    with pytest.raises(InputError, match="armwright_head"):
        Recording.load(pickled)
    need("mcap")
    path = rec.save(tmp_path / "run.mcap")
    data = bytearray(path.read_bytes())
    struct.pack_into("<Q", data, 9, 2**62)  # length of the first record
    path.write_bytes(data)
    with pytest.raises(InputError, match="byte 8: damaged, a record of 4611686018427387904 bytes"):
        Recording.load(path)


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    rec = awkward(9)
    with pytest.raises(InputError, match=r"unknown suffix '.pkl'; valid: .mcap"):
        rec.save(tmp_path / "run.pkl")
    with pytest.raises(InputError, match="cannot be read"):
        Recording.load(tmp_path / "missing.csv")
    for suffix in SUFFIXES:
        need(suffix)
        path = tmp_path / f"wrong.{suffix}"
        path.write_bytes(b"something else\nentirely\n")
        with pytest.raises(InputError, match=f"wrong.{suffix}"):
            Recording.load(path)
        path.write_bytes(b"")
        with pytest.raises(InputError, match=f"wrong.{suffix}"):
            Recording.load(path)
    parquet = pytest.importorskip("pyarrow.parquet", reason="armwright[log] is not installed")
    import pyarrow

    parquet.write_table(pyarrow.table({"a": [1.0]}), tmp_path / "foreign.parquet")
    with pytest.raises(InputError, match="not an Armwright recording"):
        Recording.load(tmp_path / "foreign.parquet")


def test_a_failed_save_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rec = awkward(50)
    path = rec.save(tmp_path / "run.csv")
    before = [entry.read_bytes() for entry in sorted(tmp_path.iterdir())]
    from armwright.recording.formats import csv_format as csv_text

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(csv_text.SafeFile, "write", full)
    with pytest.raises(ArmwrightError, match="No space left on device"):
        rec.decimate(2).save(path)
    assert [entry.read_bytes() for entry in sorted(tmp_path.iterdir())] == before
    assert names_in(tmp_path) == files_of(path)


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.split(".")[0] in ("mcap", "pyarrow")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcap", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for suffix in ("mcap", "parquet"):
        with pytest.raises(NotSupportedError, match=r"armwright\[log\]"):
            awkward(9).save(tmp_path / f"run.{suffix}")
