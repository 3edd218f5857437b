# SPDX-License-Identifier: Apache-2.0
"""The worker's side of a measurement: register cases, check them, then time the one that the driver asks for.

A worker is one process that wraps one library. It prints a JSON line with its cases, then answers each line
``case budget`` on stdin with the best time per evaluation of many short samples taken within `budget` seconds.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


SAMPLE_SECONDS = 2e-4  # seconds; long against the clock's resolution, short against a scheduler's slice
COMPARED_STATES = 64  # configurations of each batch that are compared with the reference


@dataclass
class TimedCase:
    run: Callable[[], Any]
    items: int
    error: float
    note: str
    ready: float | None
    inner: int = 0


cases: dict[str, TimedCase] = {}
left_out: dict[str, str] = {}
_channel: Any = None  # the driver listens there, once `setup` has run


def setup() -> tuple[Path, dict[str, Any]]:
    """Return the folder of prepared models and a loader's dictionary {model name: npz}.

    From here on, what libraries print goes to stderr: the stdout that the driver reads speaks the protocol alone.
    """
    global _channel
    _channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    folder = Path(sys.argv[1])
    return folder, {path.stem: np.load(path) for path in sorted(folder.glob("*.npz"))}


def relative_error(got: ArrayLike, expected: ArrayLike) -> float:
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    if got.shape != expected.shape:
        raise ValueError(f"shape {got.shape}, expected {expected.shape}")
    return float(np.abs(got - expected).max() / max(float(np.abs(expected).max()), 1e-300))


def case(
    name: str,
    run: Callable[[], Any],
    expected: ArrayLike,
    *,
    got: ArrayLike | None = None,
    items: int = 1,
    note: str = "",
    tolerance: float = 1e-9,
    ready: float | None = None,
) -> None:
    """Register a case after comparing its result (`got`, or what `run` returns) with the reference.

    A case that disagrees is not timed: a wrong answer has no speed. `ready` are the seconds that building it took.
    """
    result = run()
    error = relative_error(result if got is None else got, expected)
    if error > tolerance:
        leave_out(name, f"relative error {error:.1e}, more than {tolerance:.0e}")
        return
    cases[name] = TimedCase(run, items, error, note, ready)


def leave_out(name: str, reason: str) -> None:
    """Tell the driver why a case is not timed."""
    left_out[name] = reason


def _measure(entry: TimedCase, budget: float) -> tuple[float, int]:
    clock, run = time.perf_counter, entry.run
    if entry.inner == 0:
        run()
        start = clock()
        run()
        entry.inner = max(1, int(SAMPLE_SECONDS / max(clock() - start, 1e-9)))
    best, samples, inner, end = float("inf"), 0, range(entry.inner), clock() + budget
    while True:
        start = clock()
        for _ in inner:
            run()
        best = min(best, (clock() - start) / entry.inner)
        samples += 1
        if clock() > end:
            return best / entry.items, samples


def serve(version: str) -> None:
    """Announce the cases and answer until stdin closes."""
    listing = {
        name: {"items": c.items, "error": c.error, "note": c.note, **({} if c.ready is None else {"ready": c.ready})}
        for name, c in cases.items()
    }
    hello = {"version": version, "cases": listing, "left_out": left_out}
    print(json.dumps(hello), file=_channel, flush=True)
    for line in sys.stdin:
        name, budget = line.rsplit(maxsplit=1)
        best, samples = _measure(cases[name], float(budget))
        print(json.dumps({"best": best, "samples": samples}), file=_channel, flush=True)
