"""What the documentation says is true: its code runs, its links lead somewhere, its figures come from a measurement."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.dynamics.energy import kinetic_energy

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{index}")
    for page in PAGES
    for index, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.S))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_blocks_run(block, tmp_path, monkeypatch, capsys):
    (tmp_path / "my_robot.urdf").write_text(aw.load("ur5").to_urdf())
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "<documentation>", "exec"), {"aw": aw, "np": np})


def test_the_readme_momentum_is_mass_times_velocity():
    robot = aw.load("ur5")
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 5, 6))
    energy = aw.compile(kinetic_energy, robot)
    momentum = np.einsum("bij,bj->bi", aw.mass_matrix(robot, q), qd)
    assert np.allclose(energy.derivative("qd")(q, qd), momentum, atol=1e-13)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_readme_names_every_command():
    from armwright.cli.app import app

    text = (ROOT / "README.md").read_text()
    for command in app.registered_commands:
        assert f"armwright {command.callback.__name__}" in text


def test_figures_are_replaced_between_the_markers(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import figures

    entry = {"best": 2e-8, "median": 3e-8}
    result = {
        "peers": {"armwright": "0.1.0", "pin": "4.1.0"}, "rounds": 3,
        "cases": {"rnea/batch": {"armwright": entry, "pin": {"best": 1e-6, "median": 1e-6}}},
        "process": {name: {"best": 0.1, "median": 0.2} for name in ("import", "first_call_cold", "first_call_warm")},
        "machine": {"cpu": "a computer", "python": "3.11", "date": "2026-01-02T00:00:00"},
    }  # fmt: skip
    page = tmp_path / "page.md"
    page.write_text(f"before\n{figures.BEGIN}\nold\n{figures.END}\nafter\n")
    figures.insert(page, figures.markdown(result))
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| inverse dynamics, batch | **20 ns** | 1 µs (50 ×) |" in text
    sys.modules.pop("figures")
    for name in ("README.md", "docs/speed.md"):
        assert figures.BEGIN in (ROOT / name).read_text()
        assert figures.END in (ROOT / name).read_text()
