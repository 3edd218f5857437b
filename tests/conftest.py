"""One thread, no window, and a cache of compiled code that belongs to this test run alone."""

from __future__ import annotations

import os
import tempfile

# Set before armwright is imported anywhere; subprocesses of tests inherit it.
os.environ.setdefault("ARMWRIGHT_CACHE_DIR", tempfile.mkdtemp(prefix="armwright-test-cache-"))
os.environ.setdefault("MPLBACKEND", "Agg")

import shutil
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# Machines differ in speed, results must not: no deadlines, the same examples in every run.
settings.register_profile("armwright", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("armwright")

_OWN_CACHE = os.environ["ARMWRIGHT_CACHE_DIR"]


@pytest.fixture(scope="session", autouse=True)
def _remove_cache() -> Iterator[None]:
    yield
    if "armwright-test-cache-" in _OWN_CACHE:
        shutil.rmtree(_OWN_CACHE, ignore_errors=True)
