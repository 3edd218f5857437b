# SPDX-License-Identifier: Apache-2.0
"""One wrong bit in a file: the samples that were saved come back, or an error; never fewer or others in silence."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from armwright.errors import ArmwrightError, ArmwrightWarning
from armwright.recording.recording import Recording
from armwright.recording.signals import RecordedEvent, Signal
from armwright.recording.writer import RecordingWriter

SUFFIXES = ("mcap", "parquet", "csv", "npz")
CUT = ("mcap", "parquet")  # a CSV file that was cut short has no checksum
EVERY = 13  # bits: all of them hold too, but take minutes


def need(suffix: str) -> None:
    if suffix in ("mcap", "parquet"):
        pytest.importorskip({"mcap": "mcap", "parquet": "pyarrow"}[suffix], reason="armwright[log] is not installed")


def small() -> Recording:
    time = np.arange(3) * 0.5
    signals = {"q": Signal(np.sin([time, time + 1.0]).T, "rad", ("a", "b")), "e": Signal(time**2, "J")}
    return Recording(
        time, signals, None, {"law": "pd"}, (RecordedEvent(0.5, "touch"),), "finished", 7, {"armwright": "0"}
    )


def facts(rec: Recording) -> tuple[object, ...]:
    """Everything that was recorded, comparable."""
    numbers = {name: (s.values.tobytes(), s.values.shape, s.unit, s.labels) for name, s in rec.signals.items()}
    return rec.time.tobytes(), numbers, dict(rec.settings), rec.seed, dict(rec.versions)


def saved(folder: Path, suffix: str) -> list[Path]:
    small().save(folder / f"run.{suffix}")
    return sorted(folder.iterdir())


def cut_short(folder: Path, suffix: str) -> list[Path]:
    """Leave the file of a run that was killed after three chunks."""
    rec = small()
    writer = RecordingWriter(folder / f"run.{suffix}", rec.signals, settings=rec.settings, seed=rec.seed, chunk=1)
    for k in range(3):
        writer.append(rec.time[k], {name: rec[name][k] for name in rec})
    writer._abandon()
    return sorted(folder.iterdir())


def flip_all(path: Path, files: list[Path], every: int) -> dict[str, int]:
    """Load with one bit flipped, for every so many bits of all files; return how often what came of it."""
    good = Recording.load(path)
    counts = {"refused": 0, "same": 0, "end lost": 0}
    for file in files:
        data = file.read_bytes()
        for bit in range(0, 8 * len(data), every):
            bad = bytearray(data)
            bad[bit // 8] ^= 1 << bit % 8
            file.write_bytes(bad)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", ArmwrightWarning)
                    loaded = Recording.load(path)
            except (ArmwrightError, ArmwrightWarning):
                counts["refused"] += 1
                continue
            assert facts(loaded) == facts(good), (file.name, bit)
            whole = (loaded.events, loaded.outcome) == (good.events, good.outcome)
            assert whole or loaded.outcome.startswith("interrupted"), (file.name, bit)
            counts["same" if whole else "end lost"] += 1
        file.write_bytes(data)
    return counts


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_flipped_bit_is_never_silent(suffix: str, tmp_path: Path) -> None:
    need(suffix)
    counts = flip_all(tmp_path / f"run.{suffix}", saved(tmp_path, suffix), EVERY)
    assert counts["refused"] > 100
    assert counts["end lost"] <= 1  # the line end of a CSV file's description


@pytest.mark.parametrize("suffix", CUT)
def test_a_flipped_bit_is_not_taken_for_a_cut(suffix: str, tmp_path: Path) -> None:
    need(suffix)
    counts = flip_all(tmp_path / f"run.{suffix}", cut_short(tmp_path, suffix), EVERY)
    assert counts["refused"] > 100
