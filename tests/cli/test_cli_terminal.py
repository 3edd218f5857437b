# SPDX-License-Identifier: Apache-2.0
"""What commands print is harmless, whole and honest: hostile names, narrow encodings, closed pipes, full devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import armwright as aw
from armwright.cli import failures, main
from armwright.cli.output import as_json, safe, table
from armwright.errors import ArmwrightWarning, DescriptionError, NotSupportedError
from support.patience import PATIENCE

EVIL = "[/red]$x^{$[rad]:robot:\x1b[31m\x9b2J\u202eli\u2066ve\x07\x7f"
IN_TOML = "".join(c if c.isascii() and c.isprintable() else f"\\u{ord(c):04x}" for c in EVIL)
WORLD = f"""
name = "room {IN_TOML}"
[shapes."{IN_TOML}"]
kind = "cylinder"
centre = {{ value = [0.42, -0.15, 0], unit = "m" }}
radius = {{ value = 30, unit = "mm" }}
"""
NEAR, PATCH = ("--near", "2.5511,-1.1193,2.5706,0.1196,1.5708,-0.5905"), ("--grid", "20x20@0.1501,-0.2499,0/0.0263")
NEEDS_PICTURES = ("tour",)


@pytest.fixture(scope="module")
def evil_arm(tmp_path_factory):
    """A UR5 whose name, notes, links, joints, sources and file name are hostile."""
    text = aw.load("ur5").to_sheet()
    for word in ("shoulder_pan", "upper_arm"):
        text = text.replace(word, word + IN_TOML)
    text = text.replace('name = "ur5"', f'name = "ur5 {IN_TOML}"').replace("The default", IN_TOML)
    text = text.replace("Universal", f"{IN_TOML} Universal")
    path = tmp_path_factory.mktemp("evil") / f"{EVIL.replace('/', '')}.toml"
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        pytest.skip("file names of this locale are ASCII")
    path.write_text(text, encoding="utf-8")
    return path


def harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize(
    "argv",
    [
        ("show", "ARM"),
        ("check", "ARM"),
        ("compare", "ARM", "--samples", "2"),
        ("count", "ARM", "--no-documents"),
        ("export", "ARM", "--to", "mdh", "-o", "FILE"),
        ("simulate", "ARM", "--duration", "0.01", "-o", "FILE.csv"),
        ("tour", "ARM", "--duration", "0.02", "--out", "FOLDER"),
        ("run", "collision", "--robot", "ARM", "--world", "WORLD", "--duration", "3", *PATCH, *NEAR, "--goal", "18,7c"),
        ("run", "worlds", "--robot", "ARM", "--count", "1", "--jobs", "1", "--variant", "closed-loop, back off", *NEAR),
    ],
    ids=lambda argv: argv[0] if argv[0] != "run" else argv[1],
)
def test_no_name_from_a_file_commands_the_terminal_or_is_taken_as_markup(capsys, tmp_path, evil_arm, argv, words):
    if argv[0] in NEEDS_PICTURES:
        pytest.importorskip("matplotlib", reason="drawing needs armwright[plot]")
    world = tmp_path / "world.toml"
    world.write_text(WORLD, encoding="utf-8")
    named = {
        "ARM": evil_arm,
        "FILE": tmp_path / f"a{EVIL.replace('/', '')}",
        "FILE.csv": tmp_path / f"b{EVIL.replace('/', '')}.csv",
        "FOLDER": tmp_path,
        "WORLD": world,
    }
    code, out, err = run(capsys, *(str(named.get(word, word)) for word in argv), *words)
    assert code in (0, 1), err
    assert harmless(out) and harmless(err), (out, err)
    if words:
        assert EVIL in "".join(_texts(json.loads(out))) or argv[:2] == ("run", "worlds")
    elif argv[:2] != ("run", "worlds"):  # which prints no name
        assert "]$x^{$[rad]:robot:\\x1b" in out.replace("\n", "") + err


def _texts(value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize(
    "argv",
    [
        ("show", EVIL),
        ("check", f"{EVIL}.urdf"),
        ("compare", f"{EVIL}.toml"),
        ("export", "ur5", "--to", EVIL),
        ("simulate", "ur5", "--law", EVIL),
        ("simulate", "ur5", "--reference", f"{EVIL}.json"),
        ("simulate", "ur5", EVIL),
        ("run", "collision", "--world", EVIL),
        ("run", "collision", "--grid", EVIL),
        ("run", "worlds", "--variant", EVIL),
        ("reproduce", EVIL),
        ("reproduce", "003", "--item", EVIL),
        ("bench", "--peers", EVIL),
        (EVIL,),
        (f"--{EVIL}",),
        ("tour", EVIL, "--out", "/tmp"),
        ("count", EVIL),
        ("show", "ur5", "--implausible", EVIL),
    ],
)
def test_a_wrong_word_comes_back_harmless_as_one_line_and_as_json(capsys, argv):
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith("armwright: ") and err.count("\n") == 1
    assert harmless(err)
    code, out, again = run(capsys, *argv, "--json")
    answer = json.loads(out)
    assert (code, again) == (2, err)
    assert set(answer) == {"error"}
    assert answer["error"]["kind"] and answer["error"]["message"]
    assert harmless(out)


def test_an_error_in_json_names_file_line_and_rule(capsys, tmp_path):
    path = tmp_path / "broken.urdf"
    path.write_text('<robot name="r">\n<link name="base"/>\n<link name="base"/></robot>', encoding="utf-8")
    code, out, _ = run(capsys, "show", str(path), "--json")
    error = json.loads(out)["error"]
    assert code == 2
    assert (error["kind"], error["file"], error["line"], error["rule"]) == (
        "DescriptionError",
        str(path),
        3,
        "unique-names",
    )
    code, out, _ = run(capsys, "export", "planar2", "--to", "c", "-o", str(tmp_path / "no" / "x.c"), "--json")
    assert (code, json.loads(out)["error"]["file"]) == (2, str(tmp_path / "no" / "x.c"))


def test_a_run_that_ends_badly_is_one_json_document_with_its_error(capsys):
    code, out, _ = run(
        capsys,
        "simulate",
        "planar2",
        "--law",
        "pd",
        "--gain",
        "kp=1e6",
        "--gain",
        "kd=1e4",
        "--no-check",
        "--reference",
        "1,1",
        "--duration",
        "1",
        "--json",
    )
    answer = json.loads(out)
    assert code == 1
    assert answer["outcome"] == "diverged"
    assert (answer["error"]["kind"], "diverged" in answer["error"]["message"]) == ("SimulationError", True)


def test_a_defect_of_the_program_is_not_the_answer_no(capsys, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError(f"oops {EVIL}")

    monkeypatch.setattr("armwright.robot.load.load", broken)
    code, out, err = run(capsys, "show", "ur5", "--json")
    assert code == 70
    assert json.loads(out)["error"]["kind"] == "RuntimeError"
    assert "Traceback" in err and harmless(err)


def test_warnings_are_lines_on_stderr(capsys):
    def work():
        for _ in range(3):
            warnings.warn(f"careful {EVIL}", ArmwrightWarning, stacklevel=1)

    assert failures.outcome(work, json=False) == 0
    _, err = capsys.readouterr()
    assert err == f"armwright: warning: careful {safe(EVIL)}\n"


def test_a_report_that_cannot_be_drawn_leaves_stdout_to_the_json(capsys, tmp_path):
    from armwright.cli.run_collision import _write

    class Undrawn:
        recording, outcome = (), "end"

        def report(self, *_, **__):
            raise NotSupportedError("no matplotlib")

    assert _write(Undrawn(), tmp_path, film=False, quiet=True) == []
    out, err = capsys.readouterr()
    assert (out, err) == ("", "armwright: no report: no matplotlib\n")
    code, out, _ = run(capsys, "run", "worlds", "--variant", "list", "--json")
    assert code == 0 and "closed-loop, back off" in json.loads(out)


def test_help_keeps_its_square_brackets(capsys):
    code, out, _ = run(capsys, "run", "collision", "--help")
    text = " ".join(out.split())
    assert code == 0
    for word in ("A,B,…[deg]", "position [m]", "NxM[xK]@x,y,z/size", "cell 1,1[,1]"):
        assert word in text


def test_json_of_any_text_is_harmless_and_comes_back():
    every = "".join(map(chr, [*range(0x100), 0x202E, 0x2066, 0xFEFF, 0x2028, 0xE0001, 0x1F600, 0xDCC3]))
    for ascii_only in (False, True):
        text = as_json({every: [every, 1.0]}, ascii_only=ascii_only)
        assert harmless(text)
        assert text.isascii() or not ascii_only
        assert json.loads(text) == {every: [every, 1.0]}


def test_safe_text_stays_as_it_is_where_it_was_harmless():
    assert safe("Kuka – θ₁ [rad] 機械　腕") == "Kuka – θ₁ [rad] 機械　腕"
    assert safe("a\x1b\u202e\n\udcc3") == "a\\x1b\\u202e\\n\\udcc3"
    assert safe("a\n\tb\r", lines=True) == "a\n\tb\\r"


ASCII, LATIN = {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0"}
UNNAMED = ("show", "räuber\u202e")


@pytest.mark.parametrize(
    ("environment", "argv"),
    [
        (ASCII, ("robots",)),
        (ASCII, ("show", "ur5")),
        (ASCII, ("check", "cea")),
        (ASCII, ("reproduce", "--list")),
        (ASCII, ("compare", "planar2", "--samples", "2")),
        (ASCII, ("count", "planar2")),
        (ASCII, ("run", "collision", "-h")),
        (ASCII, UNNAMED),
        (LATIN, ("show", "ur5")),
        (LATIN, UNNAMED),
        (C_LOCALE, ("show", "ur5")),
        (C_LOCALE, UNNAMED),
    ],
    ids=str,
)
def test_any_encoding_gets_its_text_and_the_right_exit_code(environment, argv):
    done = _command(argv, env=environment)
    err = done.stderr.decode("latin-1")
    assert done.returncode == (2 if "räuber" in argv[-1] else 0), err
    assert "Traceback" not in err
    assert (done.stderr if done.returncode else done.stdout).strip()


def test_json_and_source_lose_nothing_in_a_narrow_encoding():
    narrow, wide = (_command(("show", "ur5", "--json"), env={"PYTHONIOENCODING": name}) for name in ("ascii", "utf-8"))
    assert narrow.stdout.isascii()
    assert json.loads(narrow.stdout) == json.loads(wide.stdout)
    narrow, wide = (
        _command(("export", "ur5", "--to", "sheet"), env={"PYTHONIOENCODING": name}) for name in ("ascii", "utf-8")
    )
    assert narrow.stdout == wide.stdout
    assert narrow.returncode == 0


def _command(argv, *, env=None, **more):
    # file names and words may be any bytes; an ASCII locale hands them over as unpaired surrogates
    words = [sys.executable, "-m", "armwright.cli", *(word.encode("utf-8") for word in argv)]
    environment = {**os.environ, **(env or {})}
    options = {"capture_output": True} | more
    return subprocess.run(words, env=environment, check=False, timeout=PATIENCE, **options)


@pytest.mark.parametrize(
    "argv",
    [
        ("robots",),
        ("show", "ur5"),
        ("robots", "--json"),
        ("export", "ur5", "--to", "c"),
        ("--help",),
        ("reproduce", "--list"),
    ],
    ids=" ".join,
)
def test_a_reader_that_has_gone_ends_the_command_quietly(argv):
    read, write = os.pipe()
    os.close(read)
    try:
        done = _command(argv, capture_output=False, stdout=write, stderr=subprocess.PIPE)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "argv",
    [
        ("robots",),
        ("show", "ur5"),
        ("robots", "--json"),
        ("export", "ur5", "--to", "c"),
        ("--help",),
        ("show", "nobody", "--json"),
    ],
    ids=" ".join,
)
def test_a_full_device_is_named_and_exit_code_2(argv):
    with open("/dev/full", "wb") as full:
        done = _command(argv, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    err = done.stderr.decode()
    assert done.returncode == 2
    assert err.startswith("armwright: ") and err.count("\n") == 1
    assert "cannot write to standard output" in err or "nobody" in err


@pytest.mark.skipif(os.name == "nt", reason="descriptors differ")
@pytest.mark.parametrize(
    ("argv", "code", "closed"),
    [
        (("robots",), 0, (1,)),
        (("check", "cea-published"), 1, (1,)),
        (("show", "nobody"), 2, (1,)),
        (("--help",), 0, (1,)),
        (("show", "nobody"), 2, (2,)),
        (("nothing",), 2, (2,)),
        (("check", "cea-published"), 1, (1, 2)),
    ],
    ids=str,
)
def test_a_closed_stream_leaves_the_exit_code(argv, code, closed):
    done = _command(argv, preexec_fn=lambda: [os.close(number) for number in closed])
    assert done.returncode == code
    assert b"Traceback" not in done.stdout + done.stderr
    assert bool(done.stderr) == (code == 2 and 2 not in closed)


def test_a_description_error_without_a_line_still_names_its_file():
    error = failures.error_object(DescriptionError("m", where="some/file.toml", rule="r"))
    assert (error["kind"], error["file"], error["rule"]) == ("DescriptionError", "some/file.toml", "r")
    assert "line" not in error


def test_a_table_wider_than_its_reader_keeps_names_and_numbers_whole(capsys):
    names, cells = ("shoulder_pan", "shoulder_lift"), [f"{k}.125 ± 0.25 (the controller's ratio)" for k in range(6)]
    table("drives", ["joint", *"abcdef"], [[name, *cells] for name in names])
    said = capsys.readouterr().out
    assert all(name in said for name in names) and all(said.count(cell) == 2 for cell in cells)
