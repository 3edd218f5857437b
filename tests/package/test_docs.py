# SPDX-License-Identifier: Apache-2.0
"""What the documentation says is true: its code runs, its links lead somewhere, its figures come from a measurement."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import armwright as aw
from armwright.studies.run_study import recorded
from armwright.studies.study import available
from support.places import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.S)
PAGES_WITH_CODE = [page for page in PAGES if PYTHON.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs_from_its_first_line_to_its_last_and_prints_what_is_shown(
    page, tmp_path, monkeypatch, capsys, request
):
    """As a reader would type it: a page imports what it uses, and its blocks follow each other."""
    text = page.read_text(encoding="utf-8")
    if "\nimport jax\n" in text:
        request.getfixturevalue("jax64")
    for package in re.findall(r"^import (torch|gymnasium)", text, re.M):
        pytest.importorskip(package, reason=f"needs {package}")
    (tmp_path / "my_robot.urdf").write_text(aw.load("ur5").to_urdf(), encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block, printed in PYTHON.findall(text):
        exec(compile(block, f"<{page.name}>", "exec"), names)
        said = capsys.readouterr().out
        assert not printed or said.strip() == printed.strip()


def test_the_readme_momentum_is_mass_times_velocity():
    robot = aw.load("ur5")
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 5, 6))
    energy = aw.compile(lambda robot, q, qd: aw.energy(robot, q, qd).kinetic, robot)
    momentum = np.einsum("bij,bj->bi", aw.mass_matrix(robot, q), qd)
    assert np.allclose(energy.derivative("qd")(q, qd), momentum, atol=1e-13)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_readme_lists_every_example_and_how_to():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = [*(ROOT / "examples").glob("*.py"), *(ROOT / "docs" / "howto").glob("*.md")]
    assert [page.name for page in pages if page.name not in text] == []


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    there = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(there)


@pytest.mark.parametrize("number", available())
def test_verdicts_on_the_page_are_those_on_record(number):
    """Counts and items of a document's page are what ``armwright reproduce`` holds the study to."""
    known = recorded(number)
    if not known:
        pytest.skip(f"no verdicts of {number} are on record")
    text = (ROOT / "docs" / "documents" / f"{number}.md").read_text(encoding="utf-8")
    kinds = Counter(known.values())
    line = f"**{len(known)} items: " + " · ".join(f"{kinds[kind]} {kind}" for kind in sorted(kinds)) + ".**"
    assert line in text, f"run python docs/make_studies.py {number}"
    rows = dict(re.findall(r"^\| \*\*(\S+)\*\* .*\| \*([\w ]+)\*: ", text, re.M))
    assert rows == {item: kind for item, kind in known.items() if kind != "agrees"}


def test_reference_has_every_public_name(monkeypatch):
    """The pages of the reference are those that ``docs/make_reference.py`` writes."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import make_reference

    for room in {*make_reference.ROOMS, *make_reference.MORE}:
        page = ROOT / "docs" / "reference" / f"{room}.md"
        assert page.read_text(encoding="utf-8") == make_reference.page(room), "run python docs/make_reference.py"
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    for name in dir(aw):
        value = getattr(aw, name)
        if hasattr(value, "__qualname__"):
            assert f"::: {value.__module__}.{value.__qualname__}\n" in pages, name
    sys.modules.pop("make_reference")


def test_pictures_are_small():
    for picture in (ROOT / "docs" / "img").glob("study_*.png"):
        assert picture.stat().st_size < 150_000, picture.name


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocstrings", reason="the docs extra is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rest-to-rest quintic" in (tmp_path / "site" / "reference" / "motion" / "index.html").read_text(
        encoding="utf-8"
    )


def test_readme_names_every_command():
    from armwright.cli.app import app

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in app.registered_commands:
        if command.hidden:
            continue
        name = command.callback.__name__.replace("_", "-")
        assert f"armwright {name} " in text or f"armwright {name}\n" in text


def test_figures_are_replaced_between_the_markers(tmp_path):
    from armwright.bench import bench_figures as figures

    entry = {"best": 2e-8, "median": 3e-8}
    result = {
        "peers": {"armwright": "0.1.0", "pin": "4.1.0"},
        "rounds": 3,
        "cases": {"rnea/batch": {"armwright": entry, "pin": {"best": 1e-6, "median": 1e-6}}},
        "process": {name: {"best": 0.1, "median": 0.2} for name in ("import", "first_call_cold", "first_call_warm")},
        "machine": {"cpu": "a computer", "python": "3.11", "date": "2026-01-02T00:00:00"},
    }
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- figures: begin -->\nold\n<!-- figures: end -->\nafter\n", encoding="utf-8")
    figures.insert(page, figures.markdown(result))
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| inverse dynamics, batch | **20 ns** | 1 µs (50 ×) |" in text
    speed = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    assert "<!-- figures: begin -->" in speed and "<!-- figures: end -->" in speed
