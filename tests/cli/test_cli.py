# SPDX-License-Identifier: Apache-2.0
"""The command line as users meet it: what it prints, what it returns, and that no mistake of theirs is a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.cli.export import EQUATIONS
from support.patience import PATIENCE
from support.places import DATA

BROKEN = """<robot name="r"><link name="base"/><link name="a">
<inertial><mass value="-1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


def test_every_command_has_help_and_json(capsys):
    for command in ("robots", "show", "check", "compare", "count", "export", "bench", "tour"):
        code, out, _ = run(capsys, command, "--help")
        assert code == 0
        assert "--json" in out, command


def test_robots_lists_the_catalogue_in_both_forms(capsys):
    names = {entry.name for entry in aw.robots()}
    code, out, _ = run(capsys, "robots", "--json")
    assert code == 0
    assert {row["name"] for row in json.loads(out)} == names
    code, out, _ = run(capsys, "robots")
    assert code == 0
    assert all(name in out for name in names)


def test_show_gives_every_number_and_its_source(capsys):
    robot = aw.load("ur5")
    code, out, _ = run(capsys, "show", "ur5", "--json")
    sheet = json.loads(out)
    assert code == 0
    assert [body["mass"] for body in sheet["bodies"]] == [body.mass for body in robot.bodies]
    assert np.allclose(sheet["bodies"][2]["inertia"], robot.bodies[2].inertia, rtol=0, atol=0)
    assert sheet["sources"][f"bodies.{robot.bodies[0].name}.mass"]["document"]
    code, out, _ = run(capsys, "show", "ur5")
    assert code == 0
    assert all(body.name in out for body in robot.bodies)


def test_show_of_an_arm_without_masses_prints_no_zeros_for_them(capsys):
    code, out, _ = run(capsys, "show", "IIWA7")
    assert code == 0
    assert "7 joints, no inertia" in out and "Bodies: link_1, link_2" in out and "kg" not in out.split("Bodies")[1]


def test_show_says_how_far_the_arm_is_touched_beyond_its_tool_frame(capsys):
    _, out, _ = run(capsys, "show", "ur5", "--json")
    shape = json.loads(out)["capsules"]
    assert shape["beyond_tool"] == shape["links"][-1]["radius"] > 0.03
    _, out, _ = run(capsys, "show", "ur5")
    assert f"{1e3 * shape['beyond_tool']:.0f} mm beyond the tool frame" in out


def test_json_carries_no_infinity(capsys):
    _, out, _ = run(capsys, "show", "rl15", "--json")
    sheet = json.loads(out, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert sheet["joints"][0]["upper"] is None


def test_check_says_yes_to_a_sound_arm_and_no_to_the_printed_one(capsys):
    code, out, _ = run(capsys, "check", "ur5", "--json")
    assert (code, json.loads(out)["plausible"]) == (0, True)
    code, out, _ = run(capsys, "check", "cea-published", "--json")
    verdict = json.loads(out)
    assert (code, verdict["plausible"]) == (1, False)
    assert any(f["severity"] == "error" and f["place"] and f["reason"] and f["rule"] for f in verdict["findings"])
    code, out, _ = run(capsys, "check", "cea-published")
    assert code == 1
    assert "not plausible" in out


def test_check_lists_what_only_the_file_shows(capsys, tmp_path):
    text = (DATA / "arm.urdf").read_text(encoding="utf-8")
    bad = '<inertial><mass value="4"/><inertia ixx="1" iyy="1" izz="-1e-3" ixy="0" ixz="0" iyz="0"/></inertial>'
    path = tmp_path / "arm.urdf"
    path.write_text(text.replace('<link name="base"/>', f'<link name="base">{bad}</link>'), encoding="utf-8")
    code, out, err = run(capsys, "check", str(path), "--json")
    (finding,) = (f for f in json.loads(out)["findings"] if f["rule"] == "inertia-positive")
    assert (code, err, finding["severity"]) == (0, "", "warning")
    assert finding["place"] == f"{path}:4" and "never moves" in finding["reason"]
    assert run(capsys, "check", str(path), "--strict")[0] == 1


def test_the_chain_and_the_verdict_can_be_chosen(capsys):
    urdf = str(DATA / "arm.urdf")
    whole, chain = (run(capsys, "show", urdf, "--json", *more) for more in ((), ("--tip", "tool0")))
    assert (whole[0], json.loads(whole[1])["n"], whole[2]) == (0, 3, "")
    assert (chain[0], json.loads(chain[1])["n"]) == (0, 2)
    assert chain[2].startswith("armwright: warning: cut from 'base' to 'tool0'") and chain[2].count("\n") == 1
    below = run(capsys, "count", urdf, "--base", "upper", "--no-documents", "--json")
    assert below[0] == 0
    code, _, err = run(capsys, "compare", urdf, "--tip", "nowhere")
    assert (code, "nowhere" in err) == (2, True)
    code, _, err = run(capsys, "show", "cea-published")
    assert (code, "--implausible warn" in err) == (2, True)
    code, out, err = run(capsys, "show", "cea-published", "--implausible", "warn")
    assert (code, err.startswith("armwright: warning: ")) == (0, True)
    code, out, _ = run(capsys, "check", "cea-published", "--implausible", "refuse", "--json")
    assert (code, "cea-published.toml:" in json.loads(out)["findings"][0]["place"]) == (1, True)


def test_strict_turns_warnings_into_a_negative_verdict(capsys):
    code, out, _ = run(capsys, "check", "cea", "--json")
    assert json.loads(out)["counts"]["warning"] > 0
    assert code == 0
    assert run(capsys, "check", "cea", "--strict", "--json")[0] == 1


def test_check_reports_a_refused_file_as_a_finding_with_line_and_rule(capsys, tmp_path):
    path = tmp_path / "broken.urdf"
    path.write_text(BROKEN, encoding="utf-8")
    code, out, err = run(capsys, "check", str(path), "--json")
    finding = json.loads(out)["findings"][0]
    assert code == 1
    assert "broken.urdf" in finding["place"]
    assert finding["rule"]
    assert err == ""


@pytest.mark.parametrize(
    "argv, word",
    [
        (("show", "ur55"), "ur5"),
        (("check", "no/such/file.urdf"), "file.urdf"),
        (("compare", "no_such.toml"), "no_such.toml"),
        (("export", "ur5", "--to", "fortran"), "matlab"),
        (("export", "ur5", "--to", "c", "--what", "everything"), "mass_matrix"),
        (("export", "planar:RX", "--to", "c"), "R and P"),
        (("export", "ur5", "--to", "c", "--what", ","), "mass_matrix"),
        (("export", "planar:RR", "--to", "urdf"), "symbols"),
        (("export", "planar:RR", "--to", "page", "-o", "x.html"), "symbols"),
        (("export", "ur5", "--to", "page"), "-o FILE.html"),
        (("export", "ur5", "--to", "c", "--world", "bench"), "go with --to page"),
        (("export", "ur5", "--to", "c", "-o", "no/such/folder/x.c"), "no/such/folder/x.c"),
        (("bench", "--peers", "armwright,orocos"), "orocos"),
        (("bench", "-o", "no/such/folder/bench.json"), "no/such/folder"),
    ],
)
def test_mistakes_of_the_user_are_one_line_and_exit_code_2(capsys, argv, word):
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert out == ""
    assert word in err
    assert err.startswith("armwright: ")
    assert len(err.splitlines()) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line_that_names_the_file(capsys):
    code, _, err = run(capsys, "export", "planar2", "--to", "c", "-o", "/dev/full")
    assert code == 2
    assert err.startswith("armwright: /dev/full: ")


@pytest.mark.parametrize(
    "argv", [("fly",), ("show",), ("compare", "ur5", "--samples", "many"), ("show", "ur5", "--jsn")]
)
def test_wrong_usage_is_exit_code_2_without_traceback(capsys, argv):
    code, _, err = run(capsys, *argv)
    assert code == 2
    assert "Traceback" not in err
    assert err


def test_compare_agrees_and_a_zero_tolerance_makes_it_negative(capsys):
    code, out, _ = run(capsys, "compare", "planar2", "--samples", "10", "--json")
    answer = json.loads(out)
    assert (code, answer["agree"]) == (0, True)
    assert answer["worst"] < 1e-10
    assert {row["method"] for row in answer["formulations"]} == set(aw.METHODS)
    code, out, _ = run(capsys, "compare", "planar2", "--samples", "10", "--tolerance", "0")
    assert code == 1
    assert "worst disagreement" in out


def test_exported_numpy_code_computes_what_the_library_computes(capsys, tmp_path):
    path = tmp_path / "model.py"
    assert run(capsys, "export", "planar2", "--to", "numpy", "-o", str(path))[0] == 0
    space: dict[str, object] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    q, qd, qdd = np.array([0.3, -0.7]), np.array([0.5, 0.1]), np.array([-1.0, 2.0])
    expected = aw.inverse_dynamics(aw.load("planar2"), q, qd, qdd)
    assert np.allclose(space["planar2_rnea"](q, qd, qdd), expected, rtol=1e-13)


def test_a_page_is_exported(capsys, tmp_path):
    path = tmp_path / "arm.html"
    words = ("export", "planar2", "--to", "page", "--q0", "20,30 deg", "-o", str(path), "--json")
    code, out, _ = run(capsys, *words)
    assert code == 0 and json.loads(out)["bytes"]["page"] == path.stat().st_size
    assert "data-start" in path.read_text(encoding="utf-8")
    code, _, told = run(capsys, *words[:-1])
    assert code == 0 and str(path) in told


@pytest.mark.parametrize("what", EQUATIONS)
def test_every_equation_can_be_exported(capsys, what):
    code, out, _ = run(capsys, "export", "planar2", "--to", "c", "--what", what, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["operations"]["trig"] > 0
    assert answer["functions"] == [f"planar2_{what}"]
    assert f"void planar2_{what}(const double *q" in answer["text"]


def test_the_command_knows_every_kind_of_equation():
    from armwright.cli.export import LETTERS
    from armwright.dynamics.equations import KINDS, SHORT

    assert set(EQUATIONS) == {"rnea", *KINDS}
    assert {"rnea", *LETTERS} == set(SHORT)


def test_several_functions_go_into_one_file_or_into_a_folder(capsys, tmp_path):
    both = ("export", "planar:RR", "--what", "mass_matrix,energy,M", "--what", "g")  # M is the mass matrix: once
    code, out, _ = run(capsys, *both, "--to", "c", "--json")
    text = json.loads(out)["text"]
    assert code == 0
    for name in ("mass_matrix", "energy", "gravity_torque"):
        assert text.count(f"void planar_rr_{name}(const double *q, ") == 2  # declared and defined
    assert run(capsys, *both, "--to", "matlab", "-o", str(tmp_path))[0] == 0
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["planar_rr_energy.m", "planar_rr_gravity_torque.m", "planar_rr_mass_matrix.m"]
    assert run(capsys, "export", "ur5", "--to", "matlab", "--what", "g", "-o", str(tmp_path / "hold.m"))[0] == 0
    assert (
        (tmp_path / "hold.m").read_text(encoding="utf-8").startswith("function [g] = hold(q)")
    )  # MATLAB calls it by its file


@pytest.mark.parametrize("to", ["urdf", "sheet"])
def test_an_exported_description_loads_as_the_same_arm(capsys, tmp_path, to):
    path = tmp_path / ("arm.urdf" if to == "urdf" else "arm.toml")
    assert run(capsys, "export", "ur5", "--to", to, "-o", str(path))[0] == 0
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, 5, 6))
    ours, back = aw.load("ur5"), aw.load(path)
    assert np.allclose(aw.inverse_dynamics(back, q, qd, qdd), aw.inverse_dynamics(ours, q, qd, qdd), atol=1e-11)


@pytest.mark.parametrize("to", ["dh", "mdh", "screws"])
def test_geometry_is_exported_as_json(capsys, to):
    code, out, _ = run(capsys, "export", "ur5", "--to", to)
    assert code == 0
    assert json.loads(out)


def test_tour_draws_a_fall_that_keeps_its_energy(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, _ = run(capsys, "tour", "--out", str(tmp_path / "new" / "folder"), "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["energy_drift"] < 1e-6
    picture = tmp_path / "new" / "folder" / "free_fall.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000


def test_a_closed_pipe_is_quiet():
    argv = [sys.executable, "-m", "armwright.cli", "show", "ur5", "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        process.stdout.close()
        err = process.stderr.read().decode()
        assert process.wait(timeout=PATIENCE) == 141
    assert err == ""


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
def test_ctrl_c_is_130_and_one_line():
    code = """
import signal
import threading
import armwright.cli
import armwright.robot.load as door

signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent that ignores it hands that on

def load(name, **options):
    print("ready", flush=True)
    threading.Event().wait()

door.load = load
raise SystemExit(armwright.cli.main(["show", "ur5"]))
"""
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().strip() == b"ready"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.decode().strip() == "armwright: interrupted"


def test_show_draws_the_arm(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="drawing needs armwright[plot]")
    picture = tmp_path / "arm.png"
    assert run(capsys, "show", "cea", "--draw", str(picture))[0] == 0
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000
    code, _, err = run(capsys, "show", "cea", "--draw", str(tmp_path / "missing" / "arm.png"))
    assert code == 2 and "could not be written" in err
