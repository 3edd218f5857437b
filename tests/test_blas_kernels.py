"""The kernels of BLAS that a processor chooses change last bits; what depends on them must not change beyond that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding

ROOT = Path(__file__).parent
WIDE = ("avx512f", "avx512dq", "avx512bw", "avx512vl")
NEEDS = {"Haswell": ("avx2", "fma"), "SkylakeX": WIDE, "Zen": ("avx2", "fma")}
LAWS = (  # of long runs, in which a last bit grows into another run
    "test_contact_isolation.py::test_certainty_is_the_share_of_right_places[150]",
    "test_explore_joints.py::test_the_goal_on_the_bench_is_reached_whatever_the_seed[slide]",
)
ISOLATE = """
import json, numpy as np, armwright as aw
from armwright.contact import isolate
arm = aw.load("ur5")
rng = np.random.default_rng(23)
out = []
for _ in range(40):
    q, tau = rng.uniform(-3.0, 3.0, 6), rng.normal(size=6) * [20, 20, 10, 2, 2, 0.5]
    found = isolate(arm, q, tau, [0.3, 0.3, 0.3, 0.1, 0.1, 0.1])
    out.append([found.certainty, found.candidates[0].probability, *found.point.tolist(), *found.force.tolist()])
print(json.dumps(out))
"""


def with_kernels(core, command):
    """Run a command with the kernels made for a core; skip if this machine or this NumPy cannot."""
    features = binding.get_host_cpu_features()
    missing = [name for name in NEEDS[core] if not features.get(name)]
    if missing:
        pytest.skip(f"kernels for {core} need {', '.join(missing)}, which this processor lacks")
    env = {**os.environ, "OPENBLAS_CORETYPE": core, "OPENBLAS_VERBOSE": "2", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    if "Core: " not in done.stderr + done.stdout:
        pytest.skip("NumPy does not use an OpenBLAS that chooses kernels at run time")
    return done


def test_isolation_changes_by_rounding_only():
    results = {}
    for core in NEEDS:
        try:
            done = with_kernels(core, [sys.executable, "-c", ISOLATE])
        except pytest.skip.Exception as reason:
            print(f"{core} left out: {reason}")
            continue
        assert done.returncode == 0, done.stderr
        results[core] = np.array(json.loads(done.stdout.splitlines()[-1]))
    if not results:
        pytest.skip("no other kernels can be run here, see above")
    one, *others = results.values()
    for other in others:
        np.testing.assert_allclose(other, one, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("core", NEEDS)
def test_laws_hold_with_every_kernel(core):
    done = with_kernels(core, [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *LAWS])
    assert done.returncode == 0, done.stdout[-3000:]
