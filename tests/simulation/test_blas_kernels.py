# SPDX-License-Identifier: Apache-2.0
"""The kernels of BLAS that a processor chooses change last bits; what depends on them must not change beyond that."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from llvmlite import binding

from support.places import TESTS

WIDE = ("avx512f", "avx512dq", "avx512bw", "avx512vl")
NEEDS = {"Haswell": ("avx2", "fma"), "SkylakeX": WIDE, "Zen": ("avx2", "fma")}
LAWS = (  # of long runs, in which a last bit grows into another run
    "contact/test_contact_isolation.py::test_certainty_is_the_share_of_right_places[150]",
    "exploration/test_explore_arm.py::test_a_run_on_the_bench_is_what_it_says",
)
ISOLATE = """
import json, numpy as np, armwright as aw
from armwright.contact import isolate
arm = aw.load("ur5")
rng = np.random.default_rng(23)
out = []
for _ in range(16):
    q, tau = rng.uniform(-3.0, 3.0, 6), rng.normal(size=6) * [20, 20, 10, 2, 2, 0.5]
    found = isolate(arm, q, tau, [0.3, 0.3, 0.3, 0.1, 0.1, 0.1])
    out.append([found.certainty, found.candidates[0].probability, *found.point.tolist(), *found.force.tolist()])
print(json.dumps(out))
"""


def kernels(core):
    """Environment that chooses the kernels made for a core, and their name; skip if this machine or NumPy cannot."""
    features = binding.get_host_cpu_features()
    missing = [name for name in NEEDS[core] if not features.get(name)]
    if missing:
        pytest.skip(f"kernels for {core} need {', '.join(missing)}, which this processor lacks")
    env = {**os.environ, "OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": "1"}
    name = kernels_of(env)
    if name is None:
        pytest.skip("NumPy does not use an OpenBLAS that chooses kernels at run time")
    return env, name


def kernels_of(env):
    """The name of the kernels that NumPy uses in an environment, if it tells."""
    asked = [sys.executable, "-c", "import numpy"]
    said = subprocess.run(
        asked, env={**env, "OPENBLAS_VERBOSE": "2"}, capture_output=True, encoding="utf-8", check=True
    )
    name = re.search("Core: (.+)", said.stderr + said.stdout)
    return name and name[1]


@pytest.fixture(scope="module")
def different():
    """Environments by the name of the kernels that they choose; says which were left out."""
    found = {}
    for core in NEEDS:
        try:
            env, name = kernels(core)
        except pytest.skip.Exception as reason:
            print(f"{core} left out: {reason}")
            continue
        print(f"{core}: kernels for {name}")
        found[name] = env
    if not found:
        pytest.skip("no kernels can be chosen here, see above")
    return found


def test_isolation_changes_by_rounding_only(different):
    results = []
    for env in different.values():
        done = subprocess.run(
            [sys.executable, "-c", ISOLATE], env=env, capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, done.stderr
        results.append(np.array(json.loads(done.stdout)))
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@pytest.mark.thorough
def test_laws_hold_with_every_kernel(different):
    own = kernels_of(os.environ)  # with these the tests themselves run
    kinds = {name: env for name, env in different.items() if name not in (own, "Zen")}  # Zen has Haswell's
    for name, env in (kinds or different).items():
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *LAWS]
        done = subprocess.run(command, env=env, cwd=TESTS, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, f"{name}: {done.stdout[-3000:]}"
        assert "2 passed" in done.stdout, done.stdout
