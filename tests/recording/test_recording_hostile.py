# SPDX-License-Identifier: Apache-2.0
"""Files made to do harm: small ones that unpack to much, names that others have taken, threads that save at once."""

from __future__ import annotations

import io
import os
import struct
import threading
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armwright.errors import InputError
from armwright.recording.recording import Recording
from armwright.recording.signals import Signal
from armwright.recording.writer import RecordingWriter
from support.recording import assert_same, awkward, files_of, names_in

FLAT = Recording(np.zeros(1_100_000), {"x": Signal(np.zeros((1_100_000, 8)), "m")})  # 79 MB of zeros


def repacked(rec: Recording, path: Path, how: int) -> Path:
    """Save as NPZ and pack it anew."""
    whole = rec.save(path.with_name("whole.npz"))
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(path, "w", how) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    return path


def test_an_archive_may_unpack_to_much_only_if_asked_to(tmp_path: Path) -> None:
    path = repacked(FLAT, tmp_path / "zeros.npz", zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 400_000
    with pytest.raises(InputError, match=r"unpacks to 79\d{6} bytes.*max_bytes"):
        Recording.load(path)
    assert_same(FLAT, Recording.load(path, max_bytes=100_000_000))


@pytest.mark.parametrize("how", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_packing_that_cannot_be_bounded_is_refused(how: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="stored or deflated"):
        Recording.load(repacked(awkward(20), tmp_path / "run.npz", how))


def test_a_parquet_file_may_unpack_to_much_only_if_asked_to(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="armwright[log] is not installed")
    table = parquet.read_table(FLAT.save(tmp_path / "whole.parquet"))
    parquet.write_table(table, tmp_path / "zeros.parquet", use_dictionary=True, compression="zstd")
    assert (tmp_path / "zeros.parquet").stat().st_size < 3_000_000
    with pytest.raises(InputError, match=r"zeros.parquet: declares 79\d{6} bytes of numbers.*max_bytes"):
        Recording.load(tmp_path / "zeros.parquet")


def mcap_with(chunk: bytes, compression: bytes, declared: int, tmp_path: Path) -> Path:
    """Write an MCAP file of one chunk, nothing else of which is wrong."""
    pytest.importorskip("mcap", reason="armwright[log] is not installed")
    path = tmp_path / "bomb.mcap"
    writer = RecordingWriter(path, {"x": Signal(np.empty(0), "m")})
    writer._abandon()
    body = struct.pack("<QQQII", 0, 0, declared, 0, len(compression)) + compression + struct.pack("<Q", len(chunk))
    record = struct.pack("<BQ", 6, len(body) + len(chunk)) + body + chunk
    with path.open("ab") as file:
        file.write(record)
    return path


def packed_zeros(compression: str, size: int) -> bytes:
    """Pack zeros: records of kind 0 and length 0, nine bytes each."""
    if compression == "zstd":
        zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")
        return bytes(zstandard.compress(bytes(size)))
    lz4 = pytest.importorskip("lz4.frame", reason="lz4 is not installed")
    return bytes(lz4.compress(bytes(size)))


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
@pytest.mark.parametrize(
    ("declared", "message"), [(2**28, "max_bytes"), (9_000_000, "a record of kind 0"), (100, "not 100 bytes")]
)
def test_a_small_chunk_of_very_many_records(compression: str, declared: int, message: str, tmp_path: Path) -> None:
    """Declared honestly: refused before it is unpacked, or at its first record; and if it says less, never unpacked."""
    true = declared if declared != 100 else 2**28
    path = mcap_with(packed_zeros(compression, true), compression.encode(), declared, tmp_path)
    with pytest.raises(InputError, match=f"bomb.mcap.*{message}"):
        Recording.load(path)
    kept = Recording.load(path, recover=True)
    assert len(kept) == 0


def test_shapes_whose_product_overflows_are_refused(tmp_path: Path) -> None:
    rec = awkward(20)
    path = rec.save(tmp_path / "run.npz")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head = members["armwright_head.npy"][128:].decode()
    assert '"shape": [3, 4]' in head
    head = head[: head.rindex(', "crc32"')].replace('"shape": [3, 4]', '"shape": [65536, 65536, 65536, 65536]') + "}"
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.frombuffer(head.encode(), dtype=np.uint8))
    members["armwright_head.npy"] = stream.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(InputError, match=r"1844674407370955\d+ columns declared"):
        Recording.load(path)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("suffix", ["csv", "npz", "mcap", "parquet"])
def test_a_planted_link_is_not_followed(suffix: str, tmp_path: Path) -> None:
    if suffix in ("mcap", "parquet"):
        pytest.importorskip({"mcap": "mcap", "parquet": "pyarrow"}[suffix], reason="armwright[log] is not installed")
    victim, path = tmp_path / "victim", tmp_path / f"run.{suffix}"
    victim.write_text("precious", encoding="utf-8")
    for name in (f".run.{suffix}.{os.getpid()}.draft", f".run.{suffix}.draft"):
        (tmp_path / name).symlink_to(victim)
    for ending in ("partial", "meta"):
        (tmp_path / f"run.{suffix}.{ending}").symlink_to(victim)
    rec = awkward(20)
    rec.save(path)
    assert_same(rec, Recording.load(path))
    if suffix != "npz":
        with RecordingWriter(path, rec.signals, robot=rec.robot, settings=rec.settings, seed=rec.seed) as writer:
            writer.append(rec.time, {name: rec[name] for name in rec})
            writer.close(rec.outcome, rec.events)
        assert_same(rec, Recording.load(path))
    assert victim.read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize("suffix", ["csv", "npz", "mcap", "parquet"])
def test_threads_that_save_under_one_name_do_not_mix(suffix: str, tmp_path: Path) -> None:
    """The file is one of the recordings, whole."""
    if suffix in ("mcap", "parquet"):
        pytest.importorskip({"mcap": "mcap", "parquet": "pyarrow"}[suffix], reason="armwright[log] is not installed")
    path, runs = tmp_path / f"run.{suffix}", [awkward(20 + 60 * k) for k in range(4)]
    start, errors = threading.Barrier(len(runs)), []

    def work(rec: Recording) -> None:
        start.wait()
        for _ in range(5):
            try:
                rec.save(path)
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=work, args=(rec,)) for rec in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert names_in(tmp_path) == files_of(path)
    loaded = Recording.load(path)
    assert_same(next(rec for rec in runs if len(rec) == len(loaded)), loaded)


def test_the_checksum_of_a_description_guards_it(tmp_path: Path) -> None:
    """A digit of the robot's mass changed on disk is noticed, though the archive's own checksum is made to fit."""
    from armwright.recording.formats import file_header as meta

    text = meta.sealed({"armwright_recording": 1, "robot": "mass = 12.5"})
    assert meta.parse(text, "here")["robot"] == "mass = 12.5"
    assert zlib.crc32(b'{"armwright_recording": 1, "robot": "mass = 12.5"}') == int(text.rpartition(" ")[2][:-1])
    with pytest.raises(InputError, match="here: the description is damaged"):
        meta.parse(text.replace("12.5", "12.6"), "here")


def test_signals_in_fortran_order_come_back(tmp_path: Path) -> None:
    values: Any = np.asfortranarray(np.random.default_rng(1).normal(size=(5, 3)))
    rec = Recording(np.arange(5.0), {"x": Signal(values)})
    assert_same(rec, Recording.load(rec.save(tmp_path / "run.npz")))
