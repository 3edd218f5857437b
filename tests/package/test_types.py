# SPDX-License-Identifier: Apache-2.0
"""What the type checker sees in traced code: faults that were invisible while `Traced` meant anything at all."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from support.places import ROOT

FAULTY = """
from armwright.robot.tree import Tree
from armwright.types import Outputs, Traced


def spin(tree: Tree, q: Traced, qd: Traced) -> Traced:
    return q + qd


def swapped(tree: Tree, q: Traced, qd: Traced) -> Traced:
    return spin(q, tree, qd)  # fault


def misspelt(tree: Tree, q: Traced) -> Traced:
    return q + tree.armatur  # fault


def unguarded(q: Traced, wrench: Traced | None = None) -> Traced:
    return q + wrench  # fault


def listed(q: Traced) -> Traced:
    return [q, q]  # fault


def worded(q: Traced) -> Traced:
    return spin_of(q, "qd")  # fault


def spin_of(q: Traced, qd: Traced) -> Traced:
    return q - qd


def monitored(q: Traced) -> Outputs:
    return q  # fault
"""


def test_the_checker_finds_planted_faults(tmp_path):
    pytest.importorskip("mypy", reason="the type checker is not installed")
    file = tmp_path / "faulty.py"
    file.write_text(FAULTY, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(file)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
    )
    found = {int(line) for line in re.findall(r"faulty\.py:(\d+): error", done.stdout)}
    planted = {k for k, line in enumerate(FAULTY.split("\n"), 1) if line.endswith("# fault")}
    assert found == planted, done.stdout + done.stderr


def test_anything_goes_only_where_expressions_are_made():
    """`Symbolic` is Any; it stays in the two places where expressions and floats mix."""
    homes = (ROOT / "src/armwright/graph", ROOT / "src/armwright/robot/symbolic.py", ROOT / "src/armwright/types.py")
    strays = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "src").rglob("*.py")
        if not any(path.is_relative_to(home) for home in homes)
        and re.search(r"types import[^\n]*\bSymbolic\b", path.read_text(encoding="utf-8"))
    ]
    assert not strays
