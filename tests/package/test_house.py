# SPDX-License-Identifier: Apache-2.0
"""Laws of the house: what every file of the tree keeps, so that none has to remember them."""

from __future__ import annotations

import ast
import re

import pytest

from support.places import ROOT

FOLDERS = ("src", "tests", "examples", "docs")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py*") if path.suffix in (".py", ".pyi"))
SOURCES = [path for path in FILES if path.is_relative_to(ROOT / "src") and path.suffix == ".py"]
LONGEST = 480  # lines: a file holds one idea
TABLES = {"test_catalogue.py", "test_urdf_defects.py"}  # long lists of cases, one after the other


def name(path):
    return str(path.relative_to(ROOT))


def test_there_is_something_to_look_at():
    assert len(SOURCES) > 300 and len(FILES) > len(SOURCES) + 100


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_states_its_licence(folder):
    own = [path for path in FILES if path.is_relative_to(ROOT / folder)]
    mark = "# SPDX-License-Identifier: Apache-2.0\n"
    assert not [name(path) for path in own if not path.read_text(encoding="utf-8").startswith(mark)]


def test_the_formatter_is_not_overruled():
    mark = "fmt: " + "skip"
    assert not [name(path) for path in FILES if mark in path.read_text(encoding="utf-8")]


def test_no_file_is_long():
    lines = {name(path): path.read_text(encoding="utf-8").count("\n") for path in FILES if path.name not in TABLES}
    assert not {path: count for path, count in lines.items() if count > LONGEST}


def test_every_source_file_says_what_it_is_for():
    silent = [name(path) for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]
    assert not silent


ONCE = ("link_capsules", "segment_box", "segment_point", "segment_segment", "frozen_numbers")


def test_what_was_once_written_twice_is_written_once():
    """Geometry that two rooms had, each with its own tolerances, and others of the kind."""
    homes = {word: [] for word in ONCE}
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name in homes:
                homes[node.name].append(name(path))
    assert all(len(found) == 1 for found in homes.values()), homes


def test_nothing_of_ours_is_evaluated_or_unpickled():
    """No eval, exec or pickle.loads in the package; numbers and names come through readers that check them."""
    found = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in ("eval", "pickle.loads", "pickle.load", "yaml.load", "marshal.loads"):
                    found.append(f"{name(path)}:{node.lineno}: {called}")
    assert not found


def test_the_documentation_works_offline():
    """What pages load (styles, scripts, fonts, pictures) is ours; links that a reader follows may lead elsewhere."""
    loads = re.compile(r"""(?:src|href)=["']https?://[^"']+\.(?:js|css|woff2?|png|svg)|@import\s+url\(["']?https?:""")
    pages = [ROOT / "mkdocs.yml", ROOT / "README.md"]
    pages += [path for path in (ROOT / "docs").rglob("*") if path.suffix in (".md", ".html", ".css", ".js", ".yml")]
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not loads.search(text), name(path)
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    remote = re.findall(r"^\s*-\s*https?://\S+", settings, re.M)  # entries of extra_css and extra_javascript
    assert not remote and not re.search(r"cdn|googleapis|unpkg|jsdelivr", settings)


def test_files_of_tests_have_names_of_their_own():
    """Pytest imports them by name alone: of two with one name, the second is not run."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names)), sorted({name for name in names if names.count(name) > 1})
