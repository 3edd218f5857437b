# SPDX-License-Identifier: Apache-2.0
"""How evenly the lab's controller ticks: ready times, lateness of its clock, gaps and losses at 125 Hz.

python docs/measure_lab_pacing.py [publications]

Without publications (0) only the ready times are measured. Else it serves with and without SCHED_FIFO, where that is
allowed, reads RTDE from this process, and prints histograms.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from itertools import pairwise

from armwright.lab.sources import RtdeSource

HOST = "127.77.0.2"


def served(*options: str) -> tuple[subprocess.Popen[str], float]:
    """``armwright lab serve``, and how long it took until it was ready [s]."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "armwright.cli", "lab", "serve", "--host", HOST, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("ready"):
        raise SystemExit(f"the lab did not start: {line}")
    return process, time.monotonic() - begun


def ready_times() -> dict[str, float]:
    """The best of three starts with a warm cache [s]."""
    out = {}
    for name, options in (("free", ()), ("bench", ("--world", "bench"))):
        times = []
        for _ in range(4):
            process, taken = served("--duration", "0.1", *options)
            process.communicate()
            times.append(taken)
        out[name] = min(times[1:])
    return out


def pacing(count: int, *options: str) -> str:
    """Read so many samples; the client's view, then what the lab said of its clock."""
    process, _ = served(*options)
    source = RtdeSource(HOST, ["timestamp"])
    source.open()
    numbers: list[int] = []
    while len(numbers) < count:
        numbers += [number for _, number, _ in source.read()]
    source.close()
    process.terminate()
    said, _ = process.communicate()
    lost = sum(b - a - 1 for a, b in pairwise(numbers))
    return f"{count} samples of 8 ms: {lost} lost by device clock\n{said}"


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    load = os.getloadavg()[0]
    tell = partial(print, flush=True)
    tell(f"load {load:.1f} on {os.cpu_count()} cores; ready after [s]: {json.dumps(ready_times())}")
    if count < 2:
        return
    for label, options in (("SCHED_FIFO where allowed", ()), ("ordinary scheduling", ("--no-fifo",))):
        tell(f"\n{label}\n{pacing(count, *options)}")


if __name__ == "__main__":
    main()
