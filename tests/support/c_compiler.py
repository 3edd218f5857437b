# SPDX-License-Identifier: Apache-2.0
"""Exported C: compiled with every warning an error, run, and measured."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

WARNINGS = (
    *("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Wfloat-conversion"),
    "-Werror",
)


def compiler(name: str = "gcc") -> str:
    """The path of a compiler; the test is skipped where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def built(folder: Path, name: str, cc: str, *flags: str, link: tuple[str, ...] = ()) -> Path:
    """Compile an artefact with its check."""
    target = folder / f"check_{Path(cc).name}"
    sources = [str(folder / f"{name}.c"), str(folder / f"{name}_check.c")]
    done = subprocess.run(
        [cc, *WARNINGS, "-O1", *flags, *sources, *link, "-lm", "-o", str(target)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return target


def checked(command: list[str]) -> dict[str, float]:
    """Run a check; return its figures by word."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    numbers = re.search(
        r"(\d+) ticks, (\d+) numbers, (\d+) equal to the last bit, (\d+) beyond .*, largest difference (\S+)",
        done.stdout,
    )
    assert numbers, done.stdout + done.stderr
    words = ("ticks", "numbers", "equal", "beyond", "largest")
    return {"code": done.returncode} | dict(zip(words, map(float, numbers.groups()), strict=True))
