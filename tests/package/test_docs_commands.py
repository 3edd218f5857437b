# SPDX-License-Identifier: Apache-2.0
"""Every command that the documentation prints can be copied into a shell: it is understood, and quick ones are run."""

from __future__ import annotations

import functools
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from armwright.cli import main
from armwright.cli.app import app
from armwright.cli.run_collision import app as jobs
from support.places import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
QUICK = ("robots", "show", "check", "compare", "count", "export", "simulate")


def commands(page: Path) -> list[str]:
    """Lines of shell blocks, and lines of other blocks that look like commands of ours."""
    found = []
    for language, block in re.findall(r"```(\w*)\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
        lines = [line for line in block.replace("\\\n", " ").splitlines() if not re.match(r"\s*(#|$)", line)]
        shell = language in ("sh", "bash", "console")
        found += [line for line in lines if shell or line.startswith("armwright ")]
    return found


EVERY = [pytest.param(line, id=f"{page.relative_to(ROOT)}: {line[:50]}") for page in PAGES for line in commands(page)]


@pytest.fixture
def nothing_runs(monkeypatch):
    """The commands take their words and do nothing."""
    calls = []

    def idle(command):
        @functools.wraps(command)
        def taken(**options):
            calls.append(options)

        return taken

    groups = [group.typer_instance for group in app.registered_groups]
    for info in [info for group in (app, *groups) for info in group.registered_commands]:
        monkeypatch.setattr(info, "callback", idle(info.callback))
    return calls


@pytest.mark.parametrize("line", EVERY)
def test_a_printed_command_is_understood_as_it_stands(line, nothing_runs, capsys, tmp_path, monkeypatch):
    """A shell splits the line; programs, options, make targets and extras in it exist."""
    program, *words = shlex.split(line, comments=True)
    if program == "armwright":
        leaves = "--explain" in words  # it reads the log while options are read, and leaves
        if leaves:
            monkeypatch.chdir(tmp_path)
            log = words[words.index("--explain") + 1]
            rows = "".join(f"{0.01 * k},0.{k},0.1,1\n" for k in range(9))
            (tmp_path / log).write_text("t,q_0,qd_0,current_0\n" + rows, encoding="utf-8")
            words = words[: words.index("--explain") + 2]
        code = main(words)
        assert (code, len(nothing_runs)) == (0, 0 if leaves else 1), capsys.readouterr().err
    elif program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
        assert set(words) <= set(targets)
    elif program == "python":
        assert (ROOT / words[0]).is_file()
    elif program == "dask":
        assert words[0] in ("scheduler", "worker")  # of the extra `scale`
    else:
        assert (program, words[0]) == ("pip", "install"), f"nobody checks {program!r}"
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for name, extras in re.findall(r"^([\w.-]+?)(?:\[(.*)\])?$", "\n".join(words[1:]), re.M):
            assert name == "."  # until it is published
            assert set(filter(None, extras.split(","))) <= set(project["optional-dependencies"])


def test_the_quick_commands_of_the_readme_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    ran = []
    for line in commands(ROOT / "README.md"):
        program, *words = shlex.split(line, comments=True)
        if program == "armwright" and words[0] in QUICK:
            assert main(words) == 0, (line, capsys.readouterr())
            ran.append(words[0])
    assert sorted(set(ran)) == sorted(QUICK)


@pytest.mark.parametrize(
    "info", [*app.registered_commands, *jobs.registered_commands], ids=lambda info: info.callback.__name__
)
def test_every_command_about_a_robot_lets_one_choose_chain_and_verdict(info, capsys):
    name = info.callback.__name__
    words = ["run", name] if info in jobs.registered_commands else [name.replace("_", "-")]
    assert main([*words, "--help"]) == 0
    out = capsys.readouterr().out
    assert "--json" in out
    about_a_robot = name not in ("robots", "reproduce", "bench", "show_program", "feel", "sense", "doctor")
    for option in ("--implausible", "--base", "--tip"):
        of_its_model = (name, option) == ("feel", "--implausible")  # a model's file has its chain
        assert (option in out) == (about_a_robot or of_its_model)
