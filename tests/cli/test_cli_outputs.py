# SPDX-License-Identifier: Apache-2.0
"""What commands write: whole or not at all, never over what they read, whatever comes in between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from armwright.cli import main
from armwright.cli.app import app
from armwright.cli.written_files import WRITTEN
from support.output_trials import COMMANDS
from support.places import TESTS

NAMES = sorted(COMMANDS)
READ = {"columns", "update", "tls_ca", "tls_cert", "tls_key", "meshes", "recordings"}
"""Options that name a file to be read, or a folder in which every file is new."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX")


def trials(folder: Path, most: int, names: list[str]) -> list[dict]:
    command = [sys.executable, str(TESTS / "support" / "output_trials.py"), str(folder), str(most), *names]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def judge(rows: list[dict], names: list[str]) -> None:
    """Older files are as they were; the answer is one of ours; nothing is left but recordings that were begun."""
    for row in rows:
        how, said = row["how"], row["said"]
        assert row["changed"] == [], row
        assert all(".partial" in name for name in row["left"]), row
        assert "Traceback" not in said, row
        if how == "undisturbed":
            assert row["code"] in (0, 1), row
        elif how == "no room":
            assert row["code"] == 2 and "File too large" in said, row
        else:
            assert row["code"] == 130 and "interrupted" in said, row
    tried = {(row["command"], row["how"]) for row in rows}
    assert {(name, how) for name in names for how in ("undisturbed", "no room", "interrupt 1")} <= tried


@pytest.mark.parametrize("names", [NAMES[k::4] for k in range(4)], ids=" ".join)
def test_older_files_survive_a_full_disk_and_an_interrupt(names: list[str], tmp_path: Path) -> None:
    judge(trials(tmp_path, 1, names), names)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_older_files_survive_an_interrupt_at_every_file(name: str, tmp_path: Path) -> None:
    judge(trials(tmp_path, 100, [name]), [name])


@pytest.mark.parametrize("way", ["same name", "link", "hard link"])
@pytest.mark.parametrize(
    "words",
    [
        "identify ur5 {input} --out {output}",
        "identify ur5 {other} {input} --sheet {output}",
        "identify {input} {other} --report {output}",
        "identify {other} --update {input} --out {output}",
        "feel {other} --model {input} --plot {output}",
        "export {input} --to urdf --out {output}",
        "simulate {input} --out {output}",
        "simulate ur5 --reference {input} --animate {output}",
        "show {input} --draw {output}",
        "run program {input} --robot ur5 --csv {output}",
        "run program {other} --robot {input} --out {output}",
        "campaign run {input} --out {output}",
        "lab export {input} --out {output}",
    ],
)
def test_an_input_is_never_an_output(words: str, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read, other, written = tmp_path / "log.csv", tmp_path / "other.csv", tmp_path / "log.csv"
    for file in (read, other):
        file.write_text("t,q_0\n0,1\n", encoding="utf-8")
    if way != "same name":
        written = tmp_path / "out.csv"
        (os.symlink if way == "link" else os.link)(read, written)
    code = main([word.format(input=read, other=other, output=written) for word in words.split()])
    assert code == 2
    option = next(word for word in reversed(words.split()) if word.startswith("--"))
    assert f"{option} {written}: this command reads that file; choose another name" in capsys.readouterr().err
    assert read.read_text(encoding="utf-8") == "t,q_0\n0,1\n"


def test_a_file_that_belongs_to_an_input_is_no_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The description next to a recording is read, though no word names it."""
    log = tmp_path / "run.csv"
    assert main(["simulate", "planar2", "--duration", "0.05", "--out", str(log)]) == 0
    before = (tmp_path / "run.csv.meta").read_bytes()
    code = main(["identify", "planar2", str(log), "--gains", "1,1", "--out", f"{log}.meta"])
    assert code == 2 and (tmp_path / "run.csv.meta").read_bytes() == before


def test_every_option_for_a_file_is_known_to_be_read_or_written() -> None:
    """An option that writes under another name than those in `WRITTEN` would not be checked."""
    from typer.main import get_command

    def leaves(command):
        inner = getattr(command, "commands", None)
        return [leaf for part in inner.values() for leaf in leaves(part)] if inner else [command]

    options = {
        parameter.name
        for command in leaves(get_command(app))
        for parameter in command.params
        if parameter.param_type_name == "option" and str(parameter.metavar).startswith(("FILE.", "FOLDER"))
    }
    assert options >= WRITTEN
    assert options <= WRITTEN | READ


def test_a_page_of_half_a_run_does_not_replace_a_whole_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from armwright.cli.written_files import unfinished

    page = tmp_path / "report.html"
    assert unfinished(page) == page
    page.write_text("whole", encoding="utf-8")
    half = unfinished(page)
    assert half == tmp_path / "report.partial.html" and "stays as it was" in capsys.readouterr().err
    half.write_text("half", encoding="utf-8")
    assert unfinished(page).name == "report.partial-2.html"
