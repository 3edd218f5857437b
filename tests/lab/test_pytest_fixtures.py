# SPDX-License-Identifier: Apache-2.0
"""The fixture that Armwright offers to other projects works there, and costs nothing where it is not used."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import tomllib

import pytest

from support.patience import PATIENCE
from support.places import ROOT

PLUGIN = "armwright.pytest_fixtures"
# installed, pytest finds it by its entry point; from a source tree on the path it is named
NAMED = () if importlib.metadata.entry_points(group="pytest11", name="armwright") else ("-p", PLUGIN)
EXAMPLE = re.search(r"```py\n(.*?)```", (ROOT / "docs/howto/lab_ci.md").read_text(encoding="utf-8"), re.S)

UNUSED = """
import sys

def test_of_somebody_who_uses_none_of_it():
    assert sorted(name for name in sys.modules if name.split(".")[0] in ("armwright", "numpy", "scipy")) == [
        "armwright", "armwright.pytest_fixtures"
    ]
"""
USED = """
import socket
import pytest

kept = []

def test_starts(virtual_controller):
    one, other = virtual_controller(ports="free", pace=10.0), virtual_controller("ur3", ports="free", pace=10.0)
    kept.extend([one, other])
    assert len({*one.ports.values(), *other.ports.values()}) == len(one.ports) + len(other.ports)
    with socket.create_connection((one.host, one.ports["dashboard"]), timeout=60.0) as client:
        assert b"Dashboard" in client.recv(100)
    assert one.truth().state == other.truth().state == "running, no program"

def test_all_have_ended():
    for robot in kept:
        with pytest.raises(Exception, match="it does not run"):
            robot.truth()
    assert len(kept) == 2
"""


def run(folder, source, *options):
    """Run a project of one file of tests, every warning an error; its output."""
    (folder / "test_project.py").write_text(source, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)]
    done = subprocess.run(
        command, cwd=folder, env=dict(os.environ), capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_the_entry_point_names_the_plugin():
    points = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["pytest11"]
    assert points == {"armwright": PLUGIN} and importlib.util.find_spec(PLUGIN) is not None


def test_nothing_is_imported_where_it_is_not_used(tmp_path):
    code, said = run(tmp_path, UNUSED, *NAMED, "-p", "no:hypothesispytest")
    assert code == 0 and "1 passed" in said, said


def test_another_project_starts_controllers_and_all_end(tmp_path):
    code, said = run(tmp_path, USED, *NAMED)
    assert code == 0 and "2 passed" in said, said


def test_the_example_of_the_page_runs(tmp_path):
    """ur_rtde drives the arm onto a table, and the truth says that it touched it."""
    if importlib.util.find_spec("rtde_control") is None:
        pytest.skip("rtde_control is not installed (pip install armwright[lab-clients])")
    if sys.platform != "linux":
        pytest.skip("loopback addresses beyond 127.0.0.1 need Linux")
    assert EXAMPLE is not None
    code, said = run(tmp_path, EXAMPLE[1], *NAMED)
    assert code == 0 and "1 passed" in said, said
