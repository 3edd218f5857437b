# SPDX-License-Identifier: Apache-2.0
"""The tests' own frame: skips are told in one line, and an interrupt that nobody waits for costs one test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.patience import PATIENCE
from support.places import TESTS

CASES = """
import os, signal
import pytest

@pytest.mark.skipif(True, reason="the data are not there")
@pytest.mark.parametrize("k", range(3))
def test_data(k):
    pass

def test_engine():
    pytest.skip("the engine is not installed")

def test_of_an_interrupt(ctrl_c):
    os.kill(os.getpid(), signal.SIGINT)
    raise AssertionError("not reached")

@pytest.mark.parametrize("k", range(5))
def test_of_something_else(k):
    pass
"""
WHOLE_FILE = """
import pytest
pytest.importorskip("no_such_package", reason="no_such_package is not installed")
"""


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
@pytest.mark.parametrize("workers", [0, 2])
def test_skips_in_one_line_and_an_interrupt_costs_one_test(tmp_path: Path, workers: int) -> None:
    shutil.copyfile(TESTS / "conftest.py", tmp_path / "conftest.py")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_cases.py").write_text(CASES, encoding="utf-8")
    (tmp_path / "test_whole_file.py").write_text(WHOLE_FILE, encoding="utf-8")
    paths = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"-n{workers}", str(tmp_path)]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("1 failed, 5 passed, 5 skipped"), done.stdout + done.stderr
    assert [line for line in lines if line.startswith("skipped:")] == [
        "skipped: 3 tests: the data are not there; 1 whole file: no_such_package is not installed; "
        "1 test: the engine is not installed"
    ]
