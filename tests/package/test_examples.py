# SPDX-License-Identifier: Apache-2.0
"""Every example runs on its own, in a fresh interpreter, without the network, and says something."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.patience import PATIENCE
from support.places import ROOT

FOLDER = ROOT / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
# The interpreter that runs an example refuses every socket that is not local.
OFFLINE = """import socket, runpy
def refuse(*args, **kwargs): raise OSError("examples need no network")
socket.socket.connect = refuse
"""


def test_examples_are_numbered():
    """01… the library in order, 20… ROB315, 30… the IRB 140; no number twice, the library's without gaps."""
    numbers = [int(path.name[:2]) for path in EXAMPLES]
    assert len(set(numbers)) == len(numbers)
    library = [k for k in numbers if k < 20]
    assert library == list(range(1, len(library) + 1)) and len(library) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    code = OFFLINE + f"runpy.run_path({str(path)!r}, run_name='__main__')"
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONWARNINGS": "default", "TMPDIR": str(tmp_path)}
    environment["PYTHONIOENCODING"] = "utf-8"  # what examples print is not ASCII, whatever this machine's locale is
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 2


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 65
