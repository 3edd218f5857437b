# SPDX-License-Identifier: Apache-2.0
"""Making a release: links that stand alone, the changelog's heading, and no release from an unfit state."""

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "release.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("release_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_of_a_release_needs_no_checkout(tool):
    readme = TOOL.parents[1] / "README.md"
    text = tool.absolute_links(readme.read_text(encoding="utf-8"), "https://forge.example/arm/", "v9.9.9")
    assert tool.relative_links(text) == []
    assert "](https://forge.example/arm/raw/v9.9.9/docs/img/speed.png)" in text
    assert "](https://forge.example/arm/blob/v9.9.9/docs/speed.md)" in text


def test_links_within_a_page_and_to_other_places_stay(tool):
    text = "[a](#b) [c](https://d.example/e) [f](mailto:g@h.example)"
    assert tool.absolute_links(text, "https://x.example/y", "v1.0.0") == text


def test_the_changelog_gets_the_version_once(tool):
    text = "# Changelog\n\n## Unreleased (0.2)\n\n- a\n\n## 0.1.0\n\n- b\n"
    dated = tool.dated_changelog(text, "0.2.0", "2030-01-02")
    assert dated == "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2030-01-02)\n\n- a\n\n## 0.1.0\n\n- b\n"
    for again, version in ((dated, "0.3.0"), (text, "0.1.0"), ("# Changelog\n", "0.2.0")):
        with pytest.raises(tool.ReleaseError, match=r"CHANGELOG\.md"):
            tool.dated_changelog(again, version, "2030-01-02")


@pytest.mark.parametrize(
    "version, url, said",
    [("0.2", "https://a.example/b", "no version"), ("0.2.0", "http://a.example/b", "no address"), ("0.2.0", "", "no")],
)
def test_what_is_no_version_or_address_is_refused(tool, version, url, said):
    with pytest.raises(tool.ReleaseError, match=said):
        tool.release(version, url, dry_run=True)


def test_a_checkout_with_changes_and_a_tag_that_is_there_are_refused(tool, tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    commit = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "--allow-empty", "-m", "a"]
    for words in (["git", "init", "-q"], commit, ["git", "tag", "v0.2.0"]):
        tool.run(words, tmp_path)
    with pytest.raises(tool.ReleaseError, match=r"v0\.2\.0 is there already"):
        tool.release("0.2.0", "https://a.example/b", dry_run=True)
    (tmp_path / "new").write_text("", encoding="utf-8")
    with pytest.raises(tool.ReleaseError, match="not committed"):
        tool.release("0.2.0", "https://a.example/b", dry_run=True)
