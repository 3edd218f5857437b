# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at every line of the code that saves: it is delivered, once, and the file holds what was recorded."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armwright as aw
from armwright.errors import InputError
from armwright.files import Uninterrupted
from armwright.recording.recording import Recording
from armwright.recording.signals import Signal
from armwright.recording.writer import RecordingWriter
from armwright.simulation import simulate

PACKAGE = str(Path(aw.__file__).parent / "recording")
SUFFIXES = ("mcap", "parquet", "csv")
PLACES = 60  # at which a run is interrupted
pytestmark = [
    pytest.mark.usefixtures("ctrl_c"),
    # between making a writer and entering its block, nobody but Python itself is there to close the file
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]


@pytest.fixture(params=SUFFIXES)
def suffix(request: pytest.FixtureRequest) -> str:
    if request.param != "csv":
        pytest.importorskip(
            {"mcap": "mcap", "parquet": "pyarrow"}[request.param], reason="armwright[log] is not installed"
        )
    return str(request.param)


def pressing(at: int, work: Callable[[], Any]) -> tuple[int, Any]:
    """Do the work with SIGINT at the `at`-th line of the package that runs; return how many ran and what came of it.

    The signal is a real one: Python calls its handler between two instructions, as for a key that was pressed.
    """
    lines = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            lines += 1
            if lines == at:
                signal.raise_signal(signal.SIGINT)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        outcome = work()
    except KeyboardInterrupt:
        outcome = "KeyboardInterrupt"
    finally:
        sys.settrace(before)
    return lines, outcome


def places(work: Callable[[], Any]) -> list[int]:
    """Choose lines, spread over all that the work runs, the same in every run of the tests."""
    pressing(-1, work)  # what runs only once
    total, _ = pressing(-1, work)
    assert total > PLACES
    steps = np.linspace(1, total, PLACES) - np.random.default_rng(3).uniform(0, total / PLACES, PLACES)
    return sorted({max(1, int(step)) for step in steps})


def test_a_run_that_is_saved(suffix: str, tmp_path: Path) -> None:
    robot, law, q0 = aw.load("planar2"), aw.control.pd(20.0, 5.0), [0.1, 0.2]
    path = tmp_path / f"run.{suffix}"

    def work() -> Any:
        return simulate(robot, law, None, 0.6, q0=q0, save=path, rate=1000.0, progress=lambda _: None)

    whole = work()
    for place in places(work):
        for file in tmp_path.iterdir():
            file.unlink()
        lines, run = pressing(place, work)
        assert lines >= place
        if not path.exists() and not list(tmp_path.iterdir()):
            assert run == "KeyboardInterrupt"  # before the file was made
            continue
        kept = Recording.load(path)
        assert np.array_equal(kept.time, whole.time[: len(kept)]), place
        assert np.array_equal(kept["q"], whole["q"][: len(kept)]), place
        if run != "KeyboardInterrupt":
            assert run.outcome == "interrupted", place  # as `simulate` promises
            assert len(kept) == len(run), place


def test_pieces_that_are_appended(suffix: str, tmp_path: Path) -> None:
    """All chunks that were whole are there, and in their places; an interrupted block is closed with its name."""
    path, chunk = tmp_path / f"run.{suffix}", 4
    begun: list[int] = []
    done: list[int] = []

    def work() -> None:
        with RecordingWriter(path, {"x": Signal(np.empty(0), "m")}, chunk=chunk, sync_every=None) as writer:
            for k in range(10):
                begun.append(k)
                writer.append([float(k)], {"x": [k * k]})
                done.append(k)

    for place in places(work):
        begun.clear()
        done.clear()
        for file in tmp_path.iterdir():
            file.unlink()
        lines, outcome = pressing(place, work)
        assert lines >= place
        assert outcome == "KeyboardInterrupt", place
        if not list(tmp_path.iterdir()):
            assert not begun
            continue
        kept = Recording.load(path)
        assert len(done) // chunk * chunk <= len(kept) <= len(begun), place
        assert np.array_equal(kept["x"], np.arange(len(kept)) ** 2.0), place
        if len(done) < 10:  # within the block
            assert len(kept) >= len(done), place
            assert not begun or kept.outcome.startswith("interrupted by KeyboardInterrupt"), place


def test_memory_that_comes_back_swallows_nothing() -> None:
    """No code of ours runs when a recording dies, so there is none in which an interrupt could be lost."""
    from armwright.recording import writer as memory

    block = memory.empty((100_000,))
    seen: list[str] = []
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        del block
    finally:
        sys.setprofile(None)
    assert seen == []


def test_an_interrupt_waits_and_is_delivered_once() -> None:
    steps: list[str] = []

    def work() -> None:
        with Uninterrupted(), Uninterrupted():
            signal.raise_signal(signal.SIGINT)
            steps.append("finished")
        steps.append("not reached")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["finished"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_press_does_not_wait() -> None:
    steps: list[str] = []

    def work() -> None:
        with Uninterrupted():
            signal.raise_signal(signal.SIGINT)
            steps.append("first")
            signal.raise_signal(signal.SIGINT)
            steps.append("not reached")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["first"]


def test_an_ignored_signal_stays_ignored_and_errors_come_through() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with pytest.raises(InputError, match="mine"), Uninterrupted():  # noqa: PT012
        signal.raise_signal(signal.SIGINT)
        raise InputError("mine")
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
