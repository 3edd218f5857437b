# SPDX-License-Identifier: Apache-2.0
"""Figures that only a whole process shows: import time, first call on a cold and a warm cache, memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

IMPORT = "import time; t = time.perf_counter(); import armwright; print(time.perf_counter() - t)"
FIRST_CALL = """
import armwright as aw
robot = aw.load("ur5")
tau = aw.inverse_dynamics(robot, [0.1] * 6, [0.2] * 6, [0.3] * 6)
assert tau.shape == (6,)
"""
LOOP = """
import time
import numpy as np
import armwright as aw
from armwright.control import computed_torque
from armwright.motion import quintic

robot, law = aw.load("ur5"), computed_torque(100.0, 20.0)
path = quintic(np.zeros(6), np.ones(6), 2.0)
start = time.perf_counter()
aw.Loop.of(robot, law).session(reference=path, check_step=False)
print(time.perf_counter() - start)
"""
LOOP_MEMORY = """
import sys
import armwright as aw
from armwright.control import computed_torque
from armwright.motion import quintic

robot, law, path = aw.load("ur5"), computed_torque(100.0, 20.0), quintic([0.0] * 6, [1.0] * 6, 2.0)
aw.simulate(robot, law, path)
try:
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
except OSError:
    pass
with open("/proc/self/statm") as f:
    before = int(f.read().split()[1]) * 4096
run = aw.simulate(robot, law, path, float(sys.argv[1]))
with open("/proc/self/status") as f:
    peak = next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))
print((peak - before) / (run.time.nbytes + sum(run[name].nbytes for name in run)))
"""
GROWTH = """
import gc, sys
import numpy as np
import armwright as aw

def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096

robot = aw.load("ur5")
q, qd, x = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 6))
run = aw.inverse_dynamics
for _ in range(20_000):
    run(robot, q, qd, x)
gc.collect()
before = resident()
for _ in range(int(sys.argv[1])):
    run(robot, q, qd, x)
gc.collect()
print(resident() - before)
"""
PEAK = """
import sys
import numpy as np
import armwright as aw

robot = aw.load("ur5")
aw.inverse_dynamics(robot, *np.zeros((3, 4096, 6)))
n = int(sys.argv[1])
q, qd, x = np.random.default_rng(0).uniform(-1.0, 1.0, (3, n, 6))
try:
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")  # forget the peak of the set-up
except OSError:
    pass  # not allowed here: then the peak includes compiling, which is smaller than the arrays
with open("/proc/self/statm") as f:
    before = int(f.read().split()[1]) * 4096
tau = aw.inverse_dynamics(robot, q, qd, x)
with open("/proc/self/status") as f:
    peak = next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))
print((peak - before - tau.nbytes) / (q.nbytes + qd.nbytes + x.nbytes + tau.nbytes))
"""


def _run(code: str, *arguments: str, cache: str | None = None) -> tuple[float, str]:
    environment = dict(os.environ, ARMWRIGHT_THREADS="1", OMP_NUM_THREADS="1")
    if cache is not None:
        environment["ARMWRIGHT_CACHE_DIR"] = cache
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    elapsed = time.perf_counter() - start
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "the process failed")
    return elapsed, done.stdout.strip()


def process_figures(
    *, repeats: int = 7, calls: int = 1_000_000, parts: Sequence[str] = ("core", "loop")
) -> dict[str, Any]:
    """Measure; times in seconds (best and median of `repeats` processes), memory growth in bytes.

    ``loop_cold`` and ``loop_cached`` are the time of preparing a loop inside a new process, imports excluded.

    Memory needs Linux's /proc and is left out elsewhere.
    """
    imports, cold, warm, new, known = [], [], [], [], []
    with tempfile.TemporaryDirectory() as shared:
        _run(FIRST_CALL, cache=shared)
        if "loop" in parts:
            _run(LOOP, cache=shared)
        for _ in range(repeats):
            imports.append(float(_run(IMPORT)[1]))
            warm.append(_run(FIRST_CALL, cache=shared)[0])
            with tempfile.TemporaryDirectory() as fresh:
                cold.append(_run(FIRST_CALL, cache=fresh)[0])
            if "loop" in parts:
                known.append(float(_run(LOOP, cache=shared)[1]))
                with tempfile.TemporaryDirectory() as fresh:
                    new.append(float(_run(LOOP, cache=fresh)[1]))
    figures: dict[str, Any] = {
        name: {"best": min(series), "median": sorted(series)[len(series) // 2]}
        for name, series in (("import", imports), ("first_call_cold", cold), ("first_call_warm", warm))
    }
    for name, series in (("loop_cold", new), ("loop_cached", known)):
        if series:
            figures[name] = {"best": min(series), "median": sorted(series)[len(series) // 2]}
    if sys.platform == "linux" and "loop" in parts:
        figures["loop_memory"] = float(_run(LOOP_MEMORY, "50")[1])
    if sys.platform == "linux" and "core" in parts:
        figures["memory_growth_bytes"] = {"calls": calls, "bytes": int(_run(GROWTH, str(calls))[1])}
        figures["batch_overhead"] = {"items": calls, "fraction": float(_run(PEAK, str(calls))[1])}
    return figures
