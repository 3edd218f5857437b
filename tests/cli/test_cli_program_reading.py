# SPDX-License-Identifier: Apache-2.0
"""What a user tells ``armwright run program`` about a text: branches, waits, and what G-code does not say."""

from __future__ import annotations

import json
import zipfile

import pytest

import armwright as aw
from armwright.cli import main

J = "[[0,10,20,0,50,0],[9E9,9E9,9E9,9E9,9E9,9E9]]"
RAPID = f"""MODULE m
CONST jointtarget j := {J};
CONST jointtarget k := {J.replace("[[0,", "[[5,")};
PROC main()
MoveAbsJ j, v100, fine, tool0;
IF di1=1 THEN
MoveAbsJ k, v100, fine, tool0;
ENDIF
WaitDI di2, 1;
ENDPROC
ENDMODULE
"""


@pytest.fixture
def run(capsys, tmp_path):
    def go(text, suffix, *argv, robot="irb140"):
        file = tmp_path / f"program{suffix}"
        file.write_text(text, encoding="utf-8")
        code = main(["run", "program", str(file), "--robot", robot, *argv])
        out, err = capsys.readouterr()
        return code, out, err

    return go


AT = ("--start", "0,0,0,0,0.5,0")  # one move has no way to be checked without a start


def test_all_branches_have_a_row_each(run):
    code, out, _ = run(RAPID, ".mod", *AT, "--branches", "all", "--json")
    found = json.loads(out)["branches"]
    assert [(row["branch"], row["moves"]) for row in found["rows"]] == [
        ("as read by default", 1),
        ("line 6: true (di1)", 2),
    ]
    assert found["left"] == 0 and all(row["verdict"] for row in found["rows"])
    assert code == 0 and [row["code"] for row in found["rows"]] == [0, 0]
    _, out, _ = run(RAPID, ".mod", *AT, "--branches", "all")
    assert "branches, one at a time" in out and "line 6: true (di1)" in out
    _, out, _ = run(RAPID, ".mod", *AT, "--json")
    told = json.loads(out)
    assert told["branches"] is None
    assert told["read"]["undecided"] == [{"line": 6, "depends": "di1", "ways": ["false", "true"], "taken": "false"}]
    assert told["read"]["lines_not_run"] == [{"first": 7, "last": 7, "needs": "di1 = 1"}]


def test_branches_are_told_where_the_program_by_default_is_refused(run):
    """Without a start its only target has no way to be checked; with the other branch there are two."""
    code, out, _ = run(RAPID, ".mod", "--branches", "all", "--json")
    told = json.loads(out)
    assert code == 2 and "nothing to check" in told["error"]["message"]
    assert [row["seconds"] is None for row in told["branches"]["rows"]] == [True, False]
    code, out, err = run(RAPID, ".mod", "--branches", "all")
    assert code == 2 and "line 6: true (di1)" in out and "nothing to check" in err


def test_a_program_that_moves_only_in_another_branch(run):
    text = RAPID.replace("MoveAbsJ j, v100, fine, tool0;\n", "")
    _, out, _ = run(text, ".mod", "--branches", "all", "--json")
    assert [row["moves"] for row in json.loads(out)["branches"]["rows"]] == [0, 1]


def test_branches_are_one_or_all(run):
    code, _, err = run(RAPID, ".mod", "--branches", "some")
    assert code == 2 and "--branches some: expected one or all" in err


def test_waits_add_their_time(run):
    def seconds(*argv):
        _, out, _ = run(RAPID, ".mod", "--input", "di1=1", "--branches", "all", "--json", *argv)
        return json.loads(out)["branches"]["rows"][0]["seconds"]

    assert seconds("--wait", "di2=2.5") == pytest.approx(seconds() + 2.5, abs=0.011)


@pytest.mark.parametrize("bad", ["di2", "di2=", "di2=soon", "di2=-1", "di2=inf"])
def test_bad_waits_are_refused_in_words(run, bad):
    code, _, err = run(RAPID, ".mod", "--wait", bad)
    assert code == 2 and "--wait" in err and "expected" in err


# --- G-code -----------------------------------------------------------------------------------------------------------

MILL = "G21 G90 G94 F600\nG1 X0 Y0 Z0\nG4 P2\nG1 X10\n"


def read(run, monkeypatch, text, *argv):
    """Return the program that the command reads; it is not planned."""
    got = []

    def keep(arm, program, *args, **options):
        got.append(program)
        raise aw.InputError("read")

    monkeypatch.setattr("armwright.programs.outcome.run_program", keep)
    code, _, err = run(text, ".nc", *argv)
    assert code == 2 and "read" in err, err
    return got[0]


def place(move):
    return (move.T_base_frame @ move.target.T)[:3, 3]


def test_dialect_decides_the_unit_of_dwells(run, monkeypatch):
    for dialect, seconds in (("linuxcnc", 2.0), ("grbl", 2.0), ("marlin", 0.002), ("fanuc", 0.002)):
        program = read(run, monkeypatch, MILL, "--dialect", dialect)
        assert [m.speed.seconds for m in program.moves if m.kind == "wait"] == [seconds]
        assert not any("--dialect" in note.message for note in program.notes)
    assert any("--dialect" in note.message for note in read(run, monkeypatch, MILL).notes)


def test_part_places_g54(run, monkeypatch):
    program = read(run, monkeypatch, MILL, "--part", "0.4,0.1,0.2,0,0,90")
    assert place(program.moves[0]) == pytest.approx([0.4, 0.1, 0.2])
    assert place(program.moves[-1]) == pytest.approx([0.4, 0.11, 0.2])
    assert place(read(run, monkeypatch, MILL, "--part", "0.4,0.1,0.2").moves[-1]) == pytest.approx([0.41, 0.1, 0.2])


def test_tool_axis_and_spin_give_the_orientation(run, monkeypatch):
    assert not read(run, monkeypatch, MILL).moves[0].target.oriented
    plain = read(run, monkeypatch, MILL, "--tool-axis", "0,0,-2").moves[0].target
    turned = read(run, monkeypatch, MILL, "--tool-axis", "0,0,-2", "--spin", "90").moves[0].target
    assert plain.oriented and plain.T[:3, 2] == pytest.approx([0, 0, -1])
    assert turned.T[:3, 2] == pytest.approx([0, 0, -1]) and turned.T[:3, 0] == pytest.approx(plain.T[:3, 1])


def test_machine_home_and_frame_fill_gaps(run, monkeypatch):
    text = MILL + "G28\nG53 G0 Z5\n"
    assert len(read(run, monkeypatch, text).reading.gaps) == 2
    home = read(run, monkeypatch, text, "--machine-home", "0.01,0.02,0.03")
    assert place(home.moves[-1]) == pytest.approx([0.01, 0.02, 0.03]) and len(home.reading.gaps) == 1
    both = read(run, monkeypatch, text, "--machine-home", "0.01,0.02,0.03", "--machine-frame", "0.5,0,0")
    assert both.reading.whole
    assert place(both.moves[-2]) == pytest.approx([0.51, 0.02, 0.03])
    assert place(both.moves[-1]) == pytest.approx([0.51, 0.02, 0.005])


@pytest.mark.parametrize(
    ("option", "bad", "words"),
    [
        ("--dialect", "heidenhain", "dialect: expected one of marlin, grbl, linuxcnc, fanuc"),
        ("--part", "1,2", "--part 1,2: expected x,y,z in metres"),
        ("--part", "1,2,up", "--part"),
        ("--part", "1,2,nan", "finite"),
        ("--tool-axis", "0,0,0", "tool_axis: expected a direction"),
        ("--tool-axis", "0,1", "tool_axis: expected three numbers"),
        ("--spin", "nan", "spin: expected an angle"),
        ("--machine-home", "1,2", "machine_home: expected three numbers"),
        ("--machine-frame", "1,2,3,4", "--machine-frame 1,2,3,4: expected x,y,z in metres"),
    ],
)
def test_bad_values_are_refused_in_words(run, option, bad, words):
    code, _, err = run(MILL, ".nc", option, bad)
    assert code == 2 and words in " ".join(err.split())


def test_gcode_options_are_of_gcode_only(run):
    code, _, err = run(RAPID, ".mod", "--dialect", "grbl")
    assert code == 2 and "of G-code, not of rapid" in err


def test_where_the_arm_is_at_first_is_one_value(run, monkeypatch):
    """A pose has commas; they do not part it into answers reading by reading."""
    step = "  movel(pose_add(get_actual_tcp_pose(), p[0, 0, 1, 0, 0, 0]))\n"
    text = f"def a():\n  q = get_actual_joint_positions()\n  movej(q)\n{step}end\n"
    got = []

    def keep(arm, program, *args, **options):
        got.append(program)
        raise aw.InputError("read")

    monkeypatch.setattr("armwright.programs.outcome.run_program", keep)
    said = ("get_actual_joint_positions=[0, 1, 2, 3, 4, 5]", "get_actual_tcp_pose=p[1, 2, 3, 0, 0, 0]")
    code, _, err = run(text, ".script", *(word for one in said for word in ("--input", one)))
    assert code == 2 and "read" in err, err
    assert got[0].moves[0].target.q[5] == 5 and got[0].moves[1].target.T[:3, 3] == pytest.approx([1, 2, 4])


def test_a_project_is_shown_from_its_folder_as_from_an_archive(capsys, tmp_path, monkeypatch):
    folder = tmp_path / "cell"
    (folder / "modules").mkdir(parents=True)
    (folder / "modules" / "m.mod").write_text(RAPID, encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "cell.zip", "w") as archive:
        archive.write(folder / "modules" / "m.mod", "modules/m.mod")
    shown = []
    for name in ("cell", "cell.zip"):
        assert main(["show", str(tmp_path / name), "--json"]) == 0
        shown.append(json.loads(capsys.readouterr().out)["moves"])
    assert shown[0] == shown[1] and len(shown[0]) == 1
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ur5").mkdir()
    (tmp_path / "ur5" / "m.mod").write_text(RAPID, encoding="utf-8")
    assert main(["show", "ur5", "--json"]) == 0 and "joints" in json.loads(capsys.readouterr().out)
    assert main(["show", "ur5/m.mod", "--json"]) == 0 and "moves" in json.loads(capsys.readouterr().out)


def test_a_note_about_the_whole_program_has_no_line(capsys, tmp_path):
    file = tmp_path / "m.mod"
    file.write_bytes(RAPID.replace("MODULE m", "MODULE m ! Größe").encode("cp1252"))
    assert main(["show", str(file)]) == 0
    out = capsys.readouterr().out
    assert "note: the file is no UTF-8 text" in out and "line 0" not in out


def test_no_pass_at_all_is_a_wrong_option(run):
    code, _, err = run(RAPID, ".mod", *AT, "--passes", "0")
    assert code == 2 and "--passes" in err
