# SPDX-License-Identifier: Apache-2.0
"""A run that is written while it goes on: whatever ends it, the file opens and holds what had been run."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightWarning, InputError, NotSupportedError, SimulationError
from armwright.recording import Recording
from armwright.simulation import Loop, simulate
from armwright.simulation.session import MOST_STRETCH_TICKS
from support.patience import PATIENCE

Q0 = np.array([0.1, -1.0, 1.0, 0.2, 0.5, 0.3])
SUFFIXES = ("mcap", "parquet", "csv")


@pytest.fixture(params=SUFFIXES)
def suffix(request: pytest.FixtureRequest) -> str:
    if request.param != "csv":
        pytest.importorskip(
            {"mcap": "mcap", "parquet": "pyarrow"}[request.param], reason="armwright[log] is not installed"
        )
    return str(request.param)


@pytest.fixture(scope="module")
def robot(ur5):
    return ur5


LAW = aw.control.computed_torque(100.0, 20.0)


def assert_prefix(kept: Recording, whole: Recording) -> None:
    """What was kept is the beginning of the whole run, in every column and bit."""
    assert set(kept) == set(whole)
    assert np.array_equal(kept.time, whole.time[: len(kept)])
    for name in whole:
        assert np.array_equal(kept[name], whole[name][: len(kept)]), name


def test_the_file_holds_what_is_returned(robot: Any, suffix: str, tmp_path: Path) -> None:
    """Across stretches, with an event, sensors, a drive and every so many ticks."""
    sensors = aw.simulation.JointSensors(position_noise=1e-4, velocity_noise=1e-3)
    run = simulate(
        robot,
        LAW,
        Q0 + 0.3,
        6.0,
        q0=Q0,
        sensors=sensors,
        drive=aw.simulation.drive_of(robot),
        every=3,
        events={"far": lambda q: q[0] - 0.399},
        save=tmp_path / f"run.{suffix}",
        seed=3,
    )
    file = Recording.load(tmp_path / f"run.{suffix}")
    assert_prefix(file, run)
    assert len(file) == len(run)
    assert file.events == run.events and file.outcome == run.outcome == "far"
    assert dict(file.settings) == dict(run.settings) and file.seed == 3
    assert [s.unit for s in file.signals.values()] == [s.unit for s in run.signals.values()]


def test_little_memory_for_a_long_run(robot: Any, tmp_path: Path) -> None:
    def peak(seconds: float, **options: Any) -> float:
        tracemalloc.start()
        simulate(robot, LAW, Q0 + 0.3, seconds, q0=Q0, **options)
        high = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return float(high)

    file = tmp_path / "run.csv"
    peak(5.0, save=file, keep=1.0)  # what is made once
    short, long = peak(6.0, save=file, keep=1.0), peak(24.0, save=file, keep=1.0)
    assert long < 1.05 * short
    whole = simulate(robot, LAW, Q0 + 0.3, 24.0, q0=Q0)
    tail = simulate(robot, LAW, Q0 + 0.3, 24.0, q0=Q0, save=file, keep=1.0)
    assert 1001 <= len(tail) <= 1001 + MOST_STRETCH_TICKS
    assert_prefix(Recording.load(file), whole)
    assert all(np.array_equal(tail[name], whole[name][-len(tail) :]) for name in whole)


def test_a_run_in_memory_holds_its_recording_once(robot: Any) -> None:
    simulate(robot, LAW, Q0 + 0.3, 1.0, q0=Q0)
    tracemalloc.start()
    run = simulate(robot, LAW, Q0 + 0.3, 50.0, q0=Q0)
    high = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    numbers = len(run) * (1 + sum(signal.width for signal in run.signals.values()))
    assert high < 1.3 * 8 * numbers


def test_a_killed_process_leaves_a_file(robot: Any, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.{suffix}"
    code = f"""
        import armwright as aw, numpy as np, os, signal
        def tell(fraction):
            if fraction > 0.6:
                os.kill(os.getpid(), signal.SIGKILL)
        aw.simulate(aw.load("ur5"), aw.control.computed_torque(100.0, 20.0), np.array({Q0.tolist()}) + 0.3, 20.0,
                    q0={Q0.tolist()}, save={str(path)!r}, progress=tell)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == -9
    kept = Recording.load(path)
    assert_prefix(kept, simulate(robot, LAW, Q0 + 0.3, 20.0, q0=Q0))
    assert 12_000 <= len(kept) < 20_000
    assert kept.outcome.startswith("interrupted")


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX")
def test_a_full_disk_stops_the_run_and_loses_nothing(robot: Any, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.{suffix}"
    code = f"""
        import armwright as aw, numpy as np, resource
        robot = aw.load("ur5")
        law, q0 = aw.control.computed_torque(100.0, 20.0), np.array({Q0.tolist()})
        aw.simulate(robot, law, q0 + 0.3, 0.1, q0=q0)  # whatever is written once
        resource.setrlimit(resource.RLIMIT_FSIZE, (6_000_000, 6_000_000))
        try:
            aw.simulate(robot, law, q0 + 0.3, 60.0, q0=q0, save={str(path)!r})
        except aw.errors.SimulationError as error:
            print(len(error.recording), error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, encoding="utf-8", timeout=PATIENCE
    )
    kept = Recording.load(path)
    assert f"the file opens with the first {len(kept)} samples" in done.stdout, done.stderr
    assert int(done.stdout.split()[0]) > len(kept) >= MOST_STRETCH_TICKS  # in memory is more than went onto the disk
    assert_prefix(kept, simulate(robot, LAW, Q0 + 0.3, 60.0, q0=Q0))


def test_control_c_keeps_file_and_recording(robot: Any, suffix: str, tmp_path: Path) -> None:
    def tell(fraction: float) -> None:
        if fraction > 0.5:
            raise KeyboardInterrupt

    path = tmp_path / f"run.{suffix}"
    run = simulate(robot, LAW, Q0 + 0.3, 20.0, q0=Q0, save=path, progress=tell)
    file = Recording.load(path)
    assert run.outcome == file.outcome == "interrupted"
    assert len(file) == len(run) > 10_000
    assert_prefix(file, run)


def test_a_law_that_raises_leaves_its_file(robot: Any, tmp_path: Path) -> None:
    def law(t: Any, q: Any) -> Any:
        if float(t) > 0.7:
            raise RuntimeError("sensor unplugged")
        return 0.0 * q

    with pytest.warns(ArmwrightWarning, match="called from Python"), pytest.raises(RuntimeError, match="unplugged"):
        simulate(robot, law, Q0, 2.0, q0=Q0, save=tmp_path / "run.csv", substeps=4)
    kept = Recording.load(tmp_path / "run.csv")
    assert len(kept) > 700
    assert kept.outcome == "interrupted by RuntimeError: sensor unplugged"


def test_divergence_is_written_too(robot: Any, tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="diverged") as caught:
        simulate(robot, aw.control.pd(9e3, 9e3), Q0 + 0.3, 2.0, q0=Q0, save=tmp_path / "run.csv", check_step=False)
    kept = Recording.load(tmp_path / "run.csv")
    assert kept.outcome == "diverged"
    assert_prefix(kept, caught.value.recording)  # type: ignore[arg-type]
    assert len(kept) == len(caught.value.recording)  # type: ignore[arg-type]


def test_a_session_goes_on_behind_its_recording(robot: Any, tmp_path: Path) -> None:
    """Recordings taken on the way do not change when the session goes on, and its file holds everything."""
    with Loop.of(robot, LAW).session(Q0, reference=Q0 + 0.3) as session:
        session.save(tmp_path / "run.csv")
        session.run(0.5)
        early = session.recording()
        copies = {name: early[name].copy() for name in early}
        session.follow(aw.motion.Reference(Q0, 0.0 * Q0, 0.0 * Q0))
        session.run(0.5)
        late = session.recording()
        assert all(np.array_equal(early[name], copies[name]) for name in early)
        with pytest.raises(InputError, match="being written to"):
            session.save(tmp_path / "other.csv")
    assert_prefix(Recording.load(tmp_path / "run.csv"), late)
    assert np.array_equal(late["q"][:500], early["q"][:500])
    assert np.array_equal(late["q_ref"][500], Q0)  # the new reference from the tick at which it was given


def test_what_cannot_be_streamed_is_refused(robot: Any, tmp_path: Path) -> None:
    with pytest.raises(NotSupportedError, match="cannot be written piecewise"):
        simulate(robot, LAW, Q0, 0.1, save=tmp_path / "run.npz")
    with pytest.raises(InputError, match="2 simulations do not fit into one file"):
        simulate(robot, LAW, Q0, 0.1, q0=[Q0, Q0], save=tmp_path / "run.csv")
    with pytest.raises(InputError, match="needs a file"):
        simulate(robot, LAW, Q0, 0.1, keep=1.0)
    with pytest.raises(InputError, match="keep: expected seconds"):
        simulate(robot, LAW, Q0, 0.1, keep=-1.0, save=tmp_path / "run.csv")
