# SPDX-License-Identifier: Apache-2.0
"""Files for a forge and its users can be read, and say what the package says: versions, commands, names."""

from __future__ import annotations

import re
import tomllib

import pytest

import armwright
from support.places import ROOT

yaml = pytest.importorskip("yaml", reason="comes with the documentation's tools")
FILES = [
    ROOT / "CITATION.cff",
    ROOT / ".pre-commit-config.yaml",
    *sorted((ROOT / ".github").rglob("*.yml")),
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def content(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_parses(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def test_there_is_a_workflow_and_a_form_for_every_kind_of_issue():
    assert {"ci.yml", "bug.yml", "refused-description.yml", "feature.yml"} <= {path.name for path in FILES}


@pytest.mark.parametrize("job", ["tests", "wheels"])
def test_the_matrix_is_what_the_package_promises(job):
    matrix = content(".github/workflows/ci.yml")["jobs"][job]["strategy"]["matrix"]
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix["python"] == promised
    assert {system.split("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_extras_that_the_workflow_installs_exist():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    asked = {extra for found in re.findall(r'-e "\.\[([\w,-]+)\]"', text) for extra in found.split(",")}
    assert asked and asked <= PROJECT["optional-dependencies"].keys()


def test_the_workflow_does_what_make_test_does():
    """Lint, types, contract and tests: the same programs in both."""
    steps = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for program in ("ruff check", "ruff format --check", "mypy", "lint-imports", "pytest"):
        assert program in steps and program in makefile


def test_the_citation_is_of_this_version():
    citation = content("CITATION.cff")
    assert citation["version"] == armwright.__version__ and citation["license"] == PROJECT["license"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in PROJECT["authors"]]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {citation['version']} ({citation['date-released']})" in changes


def test_hooks_are_programs_of_the_environment():
    """Nothing is fetched: a hook runs what `pip install -e '.[dev]'` brought."""
    for repository in content(".pre-commit-config.yaml")["repos"]:
        assert repository["repo"] == "local"
        assert all(hook["language"] == "system" for hook in repository["hooks"])


def test_issue_forms_have_names_and_fields_of_their_own():
    forms = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES if "TEMPLATE" in str(path)]
    forms = [form for form in forms if "body" in form]
    assert len({form["name"] for form in forms}) == len(forms) == 3
    for form in forms:
        fields = [field["id"] for field in form["body"]]
        assert len(set(fields)) == len(fields) and form["description"]


def test_releases_have_dates_newest_first():
    heads = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert heads[0].startswith("Unreleased")
    dates = [re.fullmatch(r"\d+\.\d+\.\d+ \((\d{4}-\d\d-\d\d)\)", head)[1] for head in heads[1:]]
    assert dates and dates == sorted(dates, reverse=True)
