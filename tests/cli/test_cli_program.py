# SPDX-License-Identifier: Apache-2.0
"""``armwright run program`` as users meet it: verdict and exit code, files, every bad input, and Ctrl-C."""

from __future__ import annotations

import json

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.recording import Recording
from armwright.spatial import log_so3
from support.places import ROOT

EXAMPLES = ROOT / "examples" / "programs"
DEMO = str(EXAMPLES / "lola15dd.irl")
SHORT = """def short():
  movej([0, -1.2, 1.5, -1.8, -1.5, 0.3], a=1.4, v=1.0)
  movel(pose_trans(p[0, 0, 0, 0, 0, 0], p[{place}]), a=1.2, v={speed}, r={radius})
{more}
end
"""


@pytest.fixture(scope="module")
def place():
    """Where the short program's first posture puts the tool, as URScript."""
    T = aw.fk(aw.load("ur5"), [0, -1.2, 1.5, -1.8, -1.5, 0.3])
    return lambda *d: ", ".join(f"{x:.12f}" for x in [*(T[:3, 3] + d), *log_so3(T[:3, :3])])


def short(place, *d, speed=0.1, radius=0, more=""):
    return SHORT.format(place=place(*(d or (0.0, 0.1, 0.05))), speed=speed, radius=radius, more=more)


FAR = ("--start", "0,0,0,0,0,0")  # from where the arm has to move a lot


def run(capsys, file, *argv, robot="ur5"):
    code = main(["run", "program", str(file), "--robot", robot, "--floor", "none", *argv])  # its postures are low
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def program(tmp_path):
    def write(text, name="short.script"):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return file

    return write


def test_feasible_and_not(capsys, program, place):
    """Exit code 0 and 1; the first words are the verdict; one row a move."""
    file = program(short(place))
    code, out, err = run(capsys, file)
    assert (code, err) == (0, "")
    assert out.startswith("Feasible (joint efforts and masses of the maker, ± 10 %")
    assert "every joint can follow short" in out
    assert "joint efforts" in out and "movel(" in out and "time-optimal" in out
    code, out, err = run(capsys, file, "--override", "9", *FAR)
    assert (code, err) == (1, "")
    assert out.startswith("Not feasible") and "must not run faster than" in out


def test_json_has_it_all_and_the_override_turns_the_verdict(capsys, program, place):
    file = program(short(place))
    code, out, _ = run(capsys, file, "--json", *FAR)
    found = json.loads(out)
    assert code == 0 and found["feasible"] and found["error"] is None
    wanted = {"verdict", "basis", "checked", "missing", "moves", "events", "motors", "reactions", "works", "notes"}
    assert wanted | {"cycle_s", "override", "duration_s", "late_s", "deviation", "energy_j", "files"} <= set(found)
    assert [(row["line"], row["kind"]) for row in found["moves"]] == [(2, "joint"), (3, "line")]
    assert len(found["motors"]) == len(found["reactions"]) == 6
    x = found["works"]["override"]
    for factor, expected in ((0.999, 0), (1.01, 1)):
        code, out, _ = run(capsys, file, "--json", "--override", str(factor * x), *FAR)
        assert (code, json.loads(out)["feasible"]) == (expected, expected == 0)


def test_files(capsys, program, place, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need armwright[plot]")
    file, cycles, page = program(short(place)), tmp_path / "cycles.csv", tmp_path / "report.html"
    code, out, _ = run(capsys, file, "--csv", str(cycles), "--out", str(page), "--no-film", "--json")
    found = json.loads(out)
    assert code == 0 and found["files"] == [str(cycles), str(page)]
    assert len(Recording.load(cycles)) == found["cycles"]
    assert "Feasible" in page.read_text(encoding="utf-8")


def test_options_reach_the_run(capsys, program, place):
    """Load, cycle, tool and start change what they should."""
    file = program(short(place))

    def found(*argv):
        return json.loads(run(capsys, file, "--json", *argv)[1])

    plain, heavy = found(), found("--payload", "4@0,0,0.1")
    assert heavy["motors"][1]["torque_peak_nm"] > 1.1 * plain["motors"][1]["torque_peak_nm"]
    assert found("--cycle", "0.004")["cycles"] > 2 * plain["cycles"]
    assert plain["duration_s"] < found("--start", "0,-1.2,1.5,-1.8,-1.5,0.2")["duration_s"] < found(*FAR)["duration_s"]
    assert found("--timing", "fastest")["duration_s"] < 0.5 * plain["duration_s"]
    assert found("--basis", "speeds")["basis"] == "speeds"
    printed = found("--tracking", "algorithm-1", "--rule", "partitioned")
    assert (printed["tracking"], printed["rule"]) == ("algorithm-1", "partitioned")
    assert found("--jerk", "5")["duration_s"] > plain["duration_s"] and plain["tracking"] == "drive"


def test_gcode_needs_a_tool_from_outside(capsys):
    file = EXAMPLES / "lola15dd.ngc"
    code, _, err = run(capsys, file, robot="rl15")
    assert code == 2 and "line 18" in err and "reach" in err and "--tool" in err and err.count("\n") == 1
    code, out, _ = run(capsys, file, "--tool", "0,0,0", "--json", robot="rl15")  # said so: then it is judged
    assert code == 1 and [one["line"] for one in json.loads(out)["impossible"]] == [18, 24]
    code, out, _ = run(capsys, file, "--tool", "0.12,0.12,0.35", "--json", robot="rl15")
    assert code in (0, 1) and len(json.loads(out)["moves"]) > 5
    code, _, err = run(capsys, file, "--tool", "0.12,0.12", robot="rl15")
    assert code == 2 and "x,y,z in metres" in err


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(lambda p: short(p, 5.0, 0, 0), ("line 3", "reach"), id="unreachable"),
        pytest.param(lambda p: short(p, 500.0, 0, 0), ("line 3", "millimetres"), id="millimetres"),
        pytest.param(lambda p: short(p, speed=0), ("line 3", "> 0"), id="speed zero"),
        pytest.param(lambda p: short(p, speed=-0.2), ("line 3", "> 0"), id="speed negative"),
        pytest.param(lambda p: short(p, more="  movej([0, 0, 0, 0, 0, 0, 0])"), ("line 4", "7"), id="another robot"),
        pytest.param(lambda p: "\x00\x01\x02", ("text",), id="not text"),
    ],
)
def test_bad_programs(capsys, program, place, make, says):
    """Exit code 2, one line that names the place; with --json an object that does."""
    file = program(make(place))
    code, out, err = run(capsys, file)
    assert (code, out) == (2, "")
    assert err.startswith("armwright: ") and err.count("\n") == 1
    assert all(word in err for word in says), err
    code, out, _ = run(capsys, file, "--json")
    assert code == 2 and json.loads(out)["error"]["message"] in err


@pytest.mark.parametrize(
    ("via", "end", "says"),
    [
        pytest.param((0, 0.2, 0.1), (0, 0.3, 0.15), "lie on one line", id="collinear circle"),
        pytest.param((0, 0.2, 0.1), (0, 0.1, 0.05), "coincide", id="full circle"),
    ],
)
def test_a_move_that_is_none_beside_possible_ones_is_not_feasible(capsys, program, place, via, end, says):
    """Exit code 1: the line is told, and the rest of the program is judged."""
    file = program(short(place, more=f"  movec(p[{place(*via)}], p[{place(*end)}])"))
    code, out, err = run(capsys, file)
    words = " ".join(out.split())
    assert (code, err) == (1, "") and out.startswith("Not feasible")
    assert "(line 4: movec(" in words and says in words and "The rest of it: Feasible" in words
    code, out, _ = run(capsys, file, "--json")
    told = json.loads(out)["impossible"]
    assert code == 1 and [one["line"] for one in told] == [4] and says in told[0]["reason"]


def test_a_program_without_moves_and_one_with_an_unknown_target(capsys, program, place):
    """A file that moves nothing is read; a target that nobody knows is a gap, and the answer is one in part."""
    assert run(capsys, program("def empty():\nend\n"))[0] == 0
    code, out, _ = run(capsys, program(short(place, more="  movel(nowhere)")), "--json")
    gaps = json.loads(out)["read"]["gaps"]
    assert code == 3 and len(gaps) == 1 and "nowhere" in json.dumps(gaps)


def test_singular_path(capsys, program):
    """A line through the place at which the wrist is stretched is refused with that place."""
    rl15 = aw.load("rl15")
    q = np.radians([10.0, 20.0, -20.0, 0.0, 0.0, 0.0])
    T = aw.fk(rl15, q)
    below, above = T.copy(), T.copy()
    below[2, 3] -= 0.1
    above[2, 3] += 0.15
    start = aw.ik(rl15, below, seed=q).solutions[0]
    to = ", ".join(f"{x:.12f}" for x in [*above[:3, 3], *log_so3(T[:3, :3])])
    file = program(f"def s():\n  movej({start.tolist()})\n  movel(p[{to}])\nend\n")
    code, _, err = run(capsys, file, robot="rl15")
    assert code == 2 and "line 3" in err and "mm into this move" in err and "valid here" in err


def test_warnings_are_told_and_the_run_goes_on(capsys, program, place):
    """A move without length, and zones that overlap: noted with their line."""
    file = program(short(place, more=f"  movel(p[{place(0.0, 0.1, 0.05)}])"))
    code, out, _ = run(capsys, file)
    assert code == 0 and "line 4: the move has no length" in " ".join(out.split())
    more = f"  movel(p[{place(0.0, 0.15, 0.05)}], r=0.049)\n  movel(p[{place(0.0, 0.15, 0.1)}])"
    file = program(short(place, radius=0.049, more=more))
    code, out, _ = run(capsys, file, "--json")
    notes = json.loads(out)["notes"]
    assert any(note["line"] in (3, 4) for note in notes), notes


def test_bad_requests(capsys, program, place, tmp_path):
    file = program(short(place))
    for argv, says in (
        (["--cycle", "0"], "cycle"),
        (["--cycle", "-1"], "cycle"),
        (["--override", "0"], "override"),
        (["--payload", "much"], "'much' is not a number"),
        (["--payload", "-1"], "mass"),
        (["--out", str(tmp_path / "report.pdf")], ".html"),
        (["--out", str(tmp_path / "no" / "report.html")], "no such folder"),
        (["--csv", str(tmp_path / "cycles.xlsx")], "xlsx"),
        (["--rule", "guess"], "full, partitioned"),
        (["--basis", "motors"], "actuators.torque_limit"),
        (["--language", "cobol"], "cobol"),
    ):
        code, _, err = run(capsys, file, *argv)
        assert code == 2 and says in err, (argv, err)
    code, _, err = run(capsys, tmp_path / "missing.irl")
    assert code == 2 and "missing.irl" in err
    assert main(["run", "program", str(file)]) == 2
    assert "--robot" in capsys.readouterr().err


def test_arm_without_limits(capsys, program):
    file = program("def s():\n  movej([0.5, 0.5, 0, 0, 0, 0], a=1, v=1)\nend\n")
    code, _, err = run(capsys, file, robot="puma560")
    assert code == 2 and "nothing to check a program against" in err


def test_interrupt_loses_nothing(capsys, program, place, tmp_path, monkeypatch):
    """Ctrl-C while the report is drawn: the cycles are written, the verdict is said, the code is 130."""
    from armwright.programs.outcome.program_run import ProgramRun

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgramRun, "report", interrupted)
    file, cycles, page = program(short(place)), tmp_path / "cycles.npz", tmp_path / "report.html"
    page.write_text("an older page", encoding="utf-8")
    files = ["--csv", str(cycles), "--out", str(page)]
    code, out, err = run(capsys, file, *files)
    assert code == 130 and out.startswith("Feasible") and "interrupted" in err
    assert len(Recording.load(cycles)) > 10 and page.read_text(encoding="utf-8") == "an older page"
    code, out, _ = run(capsys, file, "--json", *files)
    found = json.loads(out)
    assert code == 130 and found["feasible"] and found["error"]["kind"] == "Interrupted"


@pytest.mark.parametrize(
    ("name", "robot", "says"),
    [
        ("irb140_pick.mod", "irb140", "joint speeds of the sheet alone"),
        ("irb140_weld.mod", "irb140", "joint speeds of the sheet alone"),
        ("ur5_pick.script", "ur5", "joint efforts"),
        ("ur5_weld.script", "ur5", "joint efforts"),
        ("lola15dd.irl", "rl15", "motors of the sheet"),
    ],
)
def test_examples(capsys, name, robot, says):
    """The programs that ship can be run as they are, and what was checked is said."""
    code = main(["run", "program", str(EXAMPLES / name), "--robot", robot, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == 0 and found["feasible"] and says in found["verdict"]


def test_a_program_of_one_target_has_nothing_to_check_without_a_start(capsys, program):
    text = "program s;\nseq\n  move ptp joint(mainjoint(90, 30, 40)) speed_ptp=1 acc_ptp=1;\nendseq\n"
    code, _, err = run(capsys, program(text, "spin.irl"), robot="centrifuge")
    assert code == 2 and "line 3" in err and "--start" in err


def test_a_machine_of_three_axes_whose_motors_heat(capsys, program):
    """The centrifuge: fewer axes than an arm has, and a sheet that knows how its motors warm up."""
    text = "program s;\nseq\n  move ptp joint(mainjoint(90, 30, 40)) speed_ptp=1 acc_ptp=1;\nendseq\n"
    code, out, _ = run(capsys, program(text, "spin.irl"), "--json", "--start", "0,0,0", robot="centrifuge")
    found = json.loads(out)
    assert code == 0 and found["missing"] == []
    assert all(0.0 < motor["heat"] < 1.0 and motor["continuous_torque_nm"] > 0.0 for motor in found["motors"])


def test_wrench(capsys, program, place):
    """A force along the program changes the torques, is told in words and in JSON, and refused with reasons."""
    file = program(short(place))
    code, out, _ = run(capsys, file, "--wrench", "-20,0,-30", "--json")
    pushed, free = json.loads(out), json.loads(run(capsys, file, "--json")[1])
    assert code == 0 and free["wrench"] == []
    (row,) = pushed["wrench"]
    assert row["force_n"] == [-20.0, 0.0, -30.0] and row["moves"] == [1, 2] and row["frame"] == "base"
    assert pushed["motors"][1]["torque_use"] != free["motors"][1]["torque_use"]
    code, out, _ = run(capsys, file, "--wrench", "1:0,0,-30,0,1,0", "--wrench", "2-2:0,0,25@tool")
    assert "(0, 0, -30) N and (0, 1, 0) N·m in move 1, base axes" in " ".join(out.split())
    assert "(0, 0, 25) N in move 2, tool axes" in " ".join(out.split())
    for words, says in (
        ("1,2", "expected a force"),
        ("1,2,nan", "not finite"),
        ("1,2,x", "not a number"),
        ("a-b:1,2,3", "such as"),
        ("1,2,3@flange", "such as"),
        ("3:1,2,3", "move 3 is not there"),
        ("2-1:1,2,3", "comes after"),
    ):
        code, out, err = run(capsys, file, "--wrench", words)
        assert code == 2 and says in " ".join(err.split()), words
