# SPDX-License-Identifier: Apache-2.0
"""One thread, no window, and a cache of compiled code that belongs to this test run alone."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from typing import Any

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


@pytest.fixture
def jax64() -> Iterator[Any]:
    """JAX, computing in double precision."""
    jax = pytest.importorskip("jax", reason="needs JAX")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


def _arm(name: str) -> Any:
    """Make a fixture of an arm of the catalogue: one for all tests of a process, with what is compiled for it."""

    @pytest.fixture(scope="session", name=name)
    def arm() -> Any:
        import armwright as aw

        return aw.load(name)

    return arm


ur5, rl15, cea, irb140, planar2 = (_arm(name) for name in ("ur5", "rl15", "cea", "irb140", "planar2"))


def pytest_configure(config: pytest.Config) -> None:
    """Have a parallel worker leave SIGINT to the process that started it, which ends the workers when it is pressed.

    A signal that a test sends too late then costs nothing. The handler does nothing, rather than the system ignore the
    signal, because programs that tests start would inherit that.
    """
    if hasattr(config, "workerinput"):
        signal.signal(signal.SIGINT, lambda *_: None)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Have an interrupt that a test does not catch fail that test alone; as an interrupt it would end the whole run."""
    try:
        return (yield)
    except KeyboardInterrupt:
        if "ctrl_c" not in pyfuncitem.fixturenames and not hasattr(pyfuncitem.config, "workerinput"):
            raise  # somebody pressed Ctrl-C
        pytest.fail("KeyboardInterrupt came through: nobody waited for this signal here")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tell in one line what was skipped and why, the most frequent reason first."""
    told: dict[str, set[str]] = {}
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        told.setdefault(reason.removeprefix("Skipped: "), set()).add(report.nodeid)
    if told:
        parts = sorted(told.items(), key=lambda item: (-len(item[1]), item[0]))
        terminalreporter.write_line("skipped: " + "; ".join(f"{_count(ids)}: {reason}" for reason, ids in parts))


def _count(ids: set[str]) -> str:
    """Say how many tests these are; the name of a whole file has no ``::``."""
    tests = sum("::" in name for name in ids)
    files = len(ids) - tests
    counts = ((tests, "test"), (files, "whole file"))
    return " and ".join(f"{n} {what}{'s' * (n > 1)}" for n, what in counts if n)


def pytest_collection_finish() -> None:
    """Leave what collecting has made, hundreds of thousands of objects that all stay, out of every later collection."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Remove the cache, in the process that made it and after all workers have ended."""
    if _MADE_HERE is not None:
        shutil.rmtree(_MADE_HERE, ignore_errors=True)
