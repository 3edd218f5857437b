# SPDX-License-Identifier: Apache-2.0
"""What a room exports is documented and shown in use: by an example, a how-to, the README or a notebook."""

from __future__ import annotations

import importlib
import inspect
import json
import re

import pytest

from support.places import ROOT

ROOMS = sorted(
    page.stem
    for page in (ROOT / "docs" / "reference").glob("*.md")
    if page.stem
    not in ("index", "errors", "robot", "schema", "spatial")  # spatial is a toolbox: its names are its docs
)
PAGES = [
    ROOT / "README.md",
    *(page for page in (ROOT / "docs").glob("*.md") if page.stem not in ("architecture", "moved")),
    *(page for folder in ("howto", "documents", "notebooks") for page in (ROOT / "docs" / folder).iterdir()),
    *(ROOT / "examples").rglob("*.py"),
]
NOT_SHOWN_YET: set[str] = set()  # may only shrink


def code(path) -> str:
    """Return the code of a page: blocks and words in backticks of a text, cells of a notebook, all of a program."""
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    if path.suffix == ".md":
        text = path.read_text(encoding="utf-8")
        blocks = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
        return "\n".join([*blocks.findall(text), *re.findall(r"`([^`\n]+)`", blocks.sub("", text))])
    return path.read_text(encoding="utf-8") if path.suffix == ".py" else ""


WORDS = set(re.findall(r"\w+", "\n".join(map(code, PAGES))))


def types_in_signatures(values) -> set[str]:
    """Return the words of all annotations: what public functions take and return is used through them."""
    found = set()
    for value in values:
        parts = [value, *vars(value).values()] if inspect.isclass(value) else [value]
        for part in parts:
            notes = getattr(inspect.unwrap(part) if callable(part) else part, "__annotations__", None) or {}
            found |= set(re.findall(r"\w+", " ".join(map(str, notes.values()))))
    return found


def not_shown(room) -> set[str]:
    module = importlib.import_module(f"armwright.{room}")
    public = {name: getattr(module, name) for name in module.__all__}
    named = types_in_signatures(public.values())
    return {
        f"{room}.{name}"
        for name, value in public.items()
        if name not in WORDS and not (inspect.isclass(value) and name in named)
    }


@pytest.mark.parametrize("room", ROOMS)
def test_what_is_exported_is_shown_in_use(room):
    found = not_shown(room)
    assert not found - NOT_SHOWN_YET
    gone = {name for name in NOT_SHOWN_YET if name.startswith(f"{room}.")} - found
    assert not gone, f"shown or no longer exported: {sorted(gone)}"


@pytest.mark.parametrize("room", ROOMS)
def test_what_is_exported_is_in_the_reference(room):
    page = set(re.findall(r"\w+", (ROOT / "docs" / "reference" / f"{room}.md").read_text(encoding="utf-8")))
    assert set(importlib.import_module(f"armwright.{room}").__all__) <= page


def test_a_name_in_prose_is_not_a_use():
    """A word such as `hold` or `line` counts only in code."""
    assert "Armwright" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "hand-tuned" not in code(ROOT / "README.md")
    assert "inverse_dynamics" in WORDS
