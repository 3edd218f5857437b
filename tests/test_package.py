"""The package as a whole: what it exports, and what importing it costs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import armwright as aw


def test_every_public_name_exists_and_is_typed():
    stub = Path(aw.__file__).with_name("__init__.pyi").read_text()
    typed = set(re.findall(r" as (\w+)$", stub, re.M)) | {"__version__"}
    assert typed == set(dir(aw))
    for name in dir(aw):
        assert getattr(aw, name) is not None


def test_importing_loads_nothing_heavy():
    code = "import armwright, sys; print([m for m in ('numpy', 'scipy', 'llvmlite', 'matplotlib', 'typer') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_first_computation_loads_only_numpy_and_the_compiler():
    code = (
        "import armwright as aw, sys; r = aw.load('ur5'); aw.inverse_dynamics(r, [0.1] * 6, [0.2] * 6, [0.3] * 6); aw.fk(r, [0.1] * 6);"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'scipy', 'matplotlib', 'typer', 'rich', 'defusedxml', 'sympy'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
