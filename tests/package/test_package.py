# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: what it exports, and what importing it costs."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import armwright as aw
from armwright.cli import main
from support.places import ROOT


def test_every_public_name_exists_and_is_typed():
    stub = Path(aw.__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
    typed = set(re.findall(r"^from .* import \w+ as (\w+)", stub, re.M)) | {"__version__"}
    assert typed == set(dir(aw))
    for name in dir(aw):
        assert getattr(aw, name) is not None


def loaded_after(code, modules):
    script = f"import sys; {code}; print([m for m in {modules} if m in sys.modules])"
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True
    ).stdout.strip()


def test_importing_loads_nothing_heavy():
    assert loaded_after("import armwright", ("numpy", "scipy", "llvmlite", "matplotlib", "typer")) == "[]"


def test_a_first_computation_loads_only_numpy_and_the_compiler():
    code = "import armwright as aw; r = aw.load('ur5'); q = [0.1] * 6; aw.inverse_dynamics(r, q, q, q); aw.fk(r, q)"
    assert loaded_after(code, ("scipy", "matplotlib", "typer", "rich", "defusedxml", "sympy")) == "[]"


def test_the_version_stands_in_one_place(capsys):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in settings["project"] and settings["project"]["dynamic"] == ["version"]
    source = ROOT / settings["tool"]["hatch"]["version"]["path"]
    assert source.resolve() == Path(aw.__file__).resolve()
    assert re.findall(r'^__version__ = "(.+)"$', source.read_text(encoding="utf-8"), re.M) == [aw.__version__]
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == aw.__version__


def test_nothing_of_ours_is_importable_under_a_name_of_its_own():
    """A wheel puts `armwright` into a user's environment, and nothing else; no file changes the search path."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    settings = build["targets"]["wheel"]
    carried = settings.pop("force-include")
    assert settings == {"packages": ["src/armwright"]}
    assert all((ROOT / source).exists() and place.startswith("armwright/") for source, place in carried.items())
    assert [path.name for path in (ROOT / "src").iterdir() if not path.name.endswith(".egg-info")] == ["armwright"]
    for path in (ROOT / "src").rglob("*.py"):
        assert "sys.path" not in path.read_text(encoding="utf-8"), path


def test_public_functions_say_what_they_take_and_return():
    """No `Any`: neither in the arguments nor as the result (the constants that `compile` folds in may be anything)."""
    untyped = []
    for name in dir(aw):
        function = getattr(aw, name)
        if not inspect.isfunction(function) or name == "explore":  # its signature is being rewritten
            continue
        for label, kind in inspect.signature(function).parameters.items():
            if kind.annotation in ("Any", inspect.Parameter.empty) and (name, label) != ("compile", "constants"):
                untyped.append(f"{name}({label})")
        if inspect.signature(function).return_annotation in ("Any", inspect.Signature.empty):
            untyped.append(name)
    assert untyped == []


@pytest.mark.parametrize(
    ("room", "former", "now"),
    [(aw, "condition_number", aw.kinematics.condition_number), (aw.programs, "Plan", aw.programs.ProgramPlan)],
)
def test_former_names_are_found_with_a_warning(room, former, now):
    with pytest.warns(DeprecationWarning, match=former):
        assert getattr(room, former) is now
    assert former not in dir(aw)


def test_the_stub_is_made_from_the_table():
    made = subprocess.run(
        [sys.executable, "-c", "import make_stub; print(make_stub.stub(), end='')"],
        cwd=ROOT / "tools",
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert made.stdout == (ROOT / "src/armwright/__init__.pyi").read_text(encoding="utf-8"), (
        "run python tools/make_stub.py"
    )
