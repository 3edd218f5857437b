# SPDX-License-Identifier: Apache-2.0
"""One thread, no window, and a cache of compiled code that belongs to this test run alone."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from support.browser import browser  # noqa: F401 - a fixture of all tests that ask for it

# Set before armwright is imported anywhere; parallel workers and subprocesses of tests inherit it.
_MADE_HERE = None
if "ARMWRIGHT_CACHE_DIR" not in os.environ:
    _MADE_HERE = os.environ["ARMWRIGHT_CACHE_DIR"] = tempfile.mkdtemp(prefix="armwright-test-cache-")
os.environ.setdefault("MPLBACKEND", "Agg")
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):  # threads of BLAS wait by spinning, and
    os.environ.setdefault(_name, "1")  # the workers fill the cores already: more threads double the work
# Without bytecode every worker and subprocess compiles all sources again: PYTHONDONTWRITEBYTECODE is not for tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Machines differ in speed, results must not: no deadlines, the same examples in every run.
settings.register_profile("armwright", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("armwright")


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Have SIGINT raise KeyboardInterrupt, also where the tests were started with SIGINT ignored (nohup, ``&``)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_collection_finish() -> None:
    """Leave what collecting has made, hundreds of thousands of objects that all stay, out of every later collection."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Remove the cache, in the process that made it and after all workers have ended."""
    if _MADE_HERE is not None:
        shutil.rmtree(_MADE_HERE, ignore_errors=True)
