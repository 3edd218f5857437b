# SPDX-License-Identifier: Apache-2.0
"""The streaming writer: whatever ends a run, the file opens up to the last whole chunk and says so."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from armwright.errors import ArmwrightError, ArmwrightWarning, InputError, NotSupportedError
from armwright.recording.recording import Recording
from armwright.recording.signals import Signal
from armwright.recording.writer import RecordingWriter
from support.patience import PATIENCE
from support.places import TESTS
from support.recording import assert_same, awkward, files_of, names_in

SUFFIXES = ("mcap", "parquet", "csv")


@pytest.fixture(params=SUFFIXES)
def suffix(request: pytest.FixtureRequest) -> str:
    if request.param != "csv":
        pytest.importorskip(
            {"mcap": "mcap", "parquet": "pyarrow"}[request.param], reason="armwright[log] is not installed"
        )
    return str(request.param)


def values_at(time: np.ndarray) -> dict[str, np.ndarray]:
    return {"q": np.stack([np.sin(time + i) for i in range(6)], axis=-1), "energy": np.cos(time)}


SPEC = {"q": Signal(np.empty((0, 6)), "rad"), "energy": Signal(np.empty(0), "J")}


def assert_prefix(rec: Recording, at_least: int, chunk: int) -> None:
    """Every sample is right, nothing is missing in between, only whole chunks are there."""
    assert len(rec) >= at_least
    assert len(rec) % chunk == 0
    time = np.arange(len(rec)) * 1e-3
    assert np.array_equal(rec.time, time)
    for name, values in values_at(time).items():
        assert np.array_equal(rec[name], values)
    assert rec.outcome.startswith("interrupted")
    assert rec.settings["law"] == "pd"


def test_pieces_of_any_size_give_the_whole(suffix: str, tmp_path: Path) -> None:
    rec, path = awkward(), tmp_path / f"run.{suffix}"
    cuts = [0, 0, 1, 2, 100, 101, 250, len(rec)]
    with RecordingWriter(path, rec.signals, robot=rec.robot, settings=rec.settings, seed=rec.seed, chunk=64) as writer:
        for a, b in itertools.pairwise(cuts):
            if b == a + 1:  # one sample without its axis of time
                writer.append(rec.time[a], {name: rec[name][a] for name in rec})
            else:
                writer.append(rec.time[a:b], {name: rec[name][a:b] for name in rec})
        writer.close(rec.outcome, rec.events)
    assert writer.samples == len(rec)
    assert_same(rec, Recording.load(path))
    assert names_in(tmp_path) == files_of(path)


RUN = """
    import sys, numpy as np
    sys.path[:0] = {tests!r}
    from test_recording_writer import SPEC, values_at
    from armwright.recording.writer import RecordingWriter
    {prepare}
    writer = RecordingWriter({path!r}, SPEC, settings={{"law": "pd"}}, chunk=50, sync_every=None)
    for k in range(100000):
        time = np.arange(k * 10, k * 10 + 10) * 1e-3
        writer.append(time, values_at(time))
        if writer.samples >= 1000 and k % 5 == 4:
            print(writer.samples, flush=True)
"""


def run(path: Path, prepare: str = "") -> subprocess.Popen[str]:
    code = textwrap.dedent(RUN).format(tests=[str(TESTS), str(TESTS / "recording")], path=str(path), prepare=prepare)
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )


def test_a_killed_run_leaves_a_file_that_opens(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.{suffix}"
    process = run(path)
    assert process.stdout is not None
    seen = [int(process.stdout.readline()) for _ in range(3)][-1]
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert_prefix(Recording.load(path), seen, 50)


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX")
def test_a_real_limit_of_the_system_keeps_whole_chunks(suffix: str, tmp_path: Path) -> None:
    """The kernel itself writes a part of a chunk and then refuses; the part is taken back."""
    path = tmp_path / f"run.{suffix}"
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))"
    _, err = run(path, limit).communicate(timeout=PATIENCE)
    assert "ArmwrightError" in err.splitlines()[-1]
    assert "File too large while writing the samples from t = " in err
    kept = Recording.load(path)
    assert f"the file opens with the first {len(kept)} samples" in err
    assert_prefix(kept, 500, 50)
    size = sum(entry.stat().st_size for entry in tmp_path.iterdir())
    assert size <= 200_000


def test_cutting_a_file_anywhere_loses_at_most_a_chunk(suffix: str, tmp_path: Path) -> None:
    path, time = tmp_path / f"run.{suffix}", np.arange(300) * 1e-3
    writer = RecordingWriter(path, SPEC, settings={"law": "pd"}, chunk=50)
    sizes = []
    for k in range(6):
        part = time[50 * k : 50 * k + 50]
        writer.append(part, values_at(part))
        sizes.append(writer._sink.file.size)
    writer._abandon()
    file = writer._sink.file.path
    data = file.read_bytes()
    for cut in np.random.default_rng(1).integers(sizes[0], sizes[-1], 40):
        file.write_bytes(data[:cut])
        kept, whole = Recording.load(path), sum(size <= cut for size in sizes) * 50
        assert np.array_equal(kept["q"], values_at(kept.time)["q"])
        # lines of CSV are whole pieces of their own
        assert whole <= len(kept) <= whole + 50
        assert suffix == "csv" or len(kept) % 50 == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("law returned nan")])
def test_an_exception_in_the_run_is_recorded(suffix: str, error: BaseException, tmp_path: Path) -> None:
    path, time = tmp_path / f"run.{suffix}", np.arange(70) * 1e-3

    def fail() -> None:
        with RecordingWriter(path, SPEC, settings={"law": "pd"}, chunk=50) as writer:
            writer.append(time, values_at(time))
            raise error

    with pytest.raises(type(error)):
        fail()
    rec = Recording.load(path)
    assert len(rec) == 70
    assert rec.outcome == f"interrupted by {type(error).__name__}" + (f": {error}" if str(error) else "")


def test_a_full_disk_from_the_start(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("armwright.files.SafeFile.write", full)
    with pytest.raises(ArmwrightError, match=rf"run.{suffix}: cannot be written \(No space left on device\)"):
        RecordingWriter(tmp_path / f"run.{suffix}", SPEC)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs /dev/null")
def test_a_recording_is_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / "run.csv").symlink_to("/dev/null")
    with pytest.raises(ArmwrightError, match=r"run.csv: cannot be written \(expected a regular file, found a device\)"):
        RecordingWriter(tmp_path / "run.csv", SPEC)


@pytest.mark.parametrize("end", ["error", "full disk", "kill"])
def test_an_older_recording_stays_until_the_new_one_is_whole(
    suffix: str, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, time = tmp_path / f"run.{suffix}", np.arange(100) * 1e-3

    def record(count: int) -> None:
        with RecordingWriter(path, SPEC, settings={"law": "pd"}, chunk=50) as writer:
            writer.append(time[:50], values_at(time[:50]))
            if end == "error" and count == 1:
                raise ValueError("law returned nan")
            if end == "full disk" and count == 1:
                monkeypatch.setattr(type(writer._sink), "append", full)
            if end == "kill" and count == 1:
                return writer._abandon()
            writer.append(time[50:], values_at(time[50:]))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    record(0)
    before = path.read_bytes()
    told = pytest.warns(ArmwrightWarning, match="the older file stays") if end == "error" else contextlib.nullcontext()
    with told, contextlib.suppress(ValueError, ArmwrightError):
        record(1)
    assert path.read_bytes() == before
    kept = Recording.load(tmp_path / f"run.partial.{suffix}")
    assert_prefix(kept, 50, 50)
    monkeypatch.undo()
    record(2)  # and the next whole one takes the name, whatever was left before
    assert len(Recording.load(path)) == 100
    assert len(Recording.load(tmp_path / f"run.partial.{suffix}")) == len(kept)


def test_a_failure_while_closing_keeps_the_samples(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, time = tmp_path / f"run.{suffix}", np.arange(100) * 1e-3
    writer = RecordingWriter(path, SPEC, settings={"law": "pd"}, chunk=50)
    writer.append(time, values_at(time))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if suffix == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet", reason="armwright[log] is not installed")
        monkeypatch.setattr(parquet.ParquetWriter, "write_batch", full)
    else:
        last = writer._sink._meta if suffix == "csv" else writer._sink.file
        monkeypatch.setattr(last, "write", full)
    with pytest.raises(
        ArmwrightError, match="No space left on device while closing; the file opens with the first 100 samples"
    ):
        writer.close("finished")
    assert_prefix(Recording.load(path), 100, 50)


def test_bad_pieces_are_refused_and_do_no_harm(tmp_path: Path) -> None:
    path, time = tmp_path / "run.csv", np.arange(10) * 1e-3
    with pytest.raises(NotSupportedError, match=r".npz cannot be written piecewise"):
        RecordingWriter(tmp_path / "run.npz", SPEC)
    writer = RecordingWriter(path, SPEC, settings={"law": "pd"})
    writer.append(time, values_at(time))
    good = values_at(time + 1.0)
    for when, values, word in [
        (time, good, "not fall, after t = 0.009"),
        (time + np.nan, good, "finite"),
        (time + 1.0, {"q": good["q"]}, "missing or unknown signals: energy"),
        (time + 1.0, {**good, "q": good["q"][:, :5]}, r"'q' is \(10, 5\), expected \(10, 6\)"),
    ]:
        with pytest.raises(InputError, match=word):
            writer.append(when, values)
    writer.append(time + 1.0, good)
    writer.close("finished")
    with pytest.raises(InputError, match="closed"):
        writer.append(time + 2.0, good)
    assert len(Recording.load(path)) == 20


def test_ctrl_c_in_the_middle_of_a_write_takes_the_part_back(suffix: str, tmp_path: Path) -> None:
    path, time = tmp_path / f"run.{suffix}", np.arange(100) * 1e-3
    writer = RecordingWriter(path, SPEC, settings={"law": "pd"}, chunk=50)
    writer.append(time[:50], values_at(time[:50]))
    file, real = writer._sink.file, writer._sink.file._file

    class Interrupted:
        def write(self, data: memoryview) -> int:
            if data.nbytes > 100:
                real.write(data[:100])
                raise KeyboardInterrupt
            return int(real.write(data) or 0)

        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

    file._file = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        writer.append(time[50:], values_at(time[50:]))
    assert real.closed
    assert_prefix(Recording.load(path), 50, 50)
