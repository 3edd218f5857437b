# SPDX-License-Identifier: Apache-2.0
"""``armwright simulate`` as users meet it: the run, the files, the messages, and that Ctrl-C loses nothing."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
from contextlib import contextmanager

import numpy as np
import pytest

from armwright.cli import main
from armwright.cli import option_words as specs
from armwright.cli import simulate_command as command
from armwright.control import LAWS
from armwright.errors import InputError
from armwright.recording import Recording
from support.places import ROOT

PD_003 = [
    "simulate",
    "cea",
    "--law",
    "pd_gravity",
    "--gain",
    "kp=5000,8000,5500,800,5500,2500",
    "--gain",
    "kd=1000,1000,500,100,100,500",
    "--reference",
    "quintic:-1,0,-1,-1,-1,-1->0,1,0,0,0,0:0.5",
    "--duration",
    "1",
]
BOUNDS = ("sliding_mode", "lyapunov_redesign", "impedance", "constant")  # laws that must be told what they hold against
STIFF = ["--integrator", "rodas3", "--continuous"]


def run(capsys, *argv):
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


def test_the_pd_run_of_003_from_the_command_line(capsys, tmp_path):
    file = tmp_path / "pd.npz"
    code, out, err = run(capsys, *PD_003, *STIFF, "-o", str(file), "--json")
    answer = json.loads(out)
    assert (code, err, answer["outcome"], answer["error"]) == (0, "", "end", None)
    recording = Recording.load(file)
    assert np.abs(1e3 * recording["error"][200] - (22.744, 22.832, 10.010, 21.431, 6.102, 5.051)).max() < 0.01
    assert np.abs(recording["tau"][200] - (153.00, 333.09, 69.43, 35.44, 35.97, 34.84)).max() < 0.05
    assert recording.settings["gains"]["kp"] == [5000, 8000, 5500, 800, 5500, 2500]
    assert answer["files"] == [str(file)]
    assert answer["peak.tau"] == np.abs(recording["tau"]).max(axis=0).tolist()


def test_a_step_that_cannot_be_stable_prints_the_limit_and_the_way_out(capsys, tmp_path):
    code, out, err = run(capsys, *PD_003, "-o", str(tmp_path / "never.npz"))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert float(re.search(r"limit is about ([0-9.]+) ms", err).group(1)) == pytest.approx(0.232, abs=0.004)
    assert "rodas3" in err
    assert not (tmp_path / "never.npz").exists()


def test_the_documentation_shows_the_real_commands_and_the_real_message(capsys):
    text = (ROOT / "docs" / "loop.md").read_text(encoding="utf-8").replace("\\\n", " ")
    first, second = (shlex.split(block)[1:] for block in re.findall(r"```sh\n(armwright simulate.*?)```", text, re.S))
    assert first == PD_003
    assert second == [*PD_003, *STIFF]
    (printed,) = re.findall(r"```text\n(armwright: .*?)```", text, re.S)
    _, _, err = run(capsys, *first)
    assert printed.split() == err.split()


def test_a_run_that_diverges_keeps_its_recording_and_says_when(capsys, tmp_path):
    file = tmp_path / "diverged.csv"
    code, out, err = run(capsys, *PD_003, "--no-check", "-o", str(file))
    assert code == 1
    assert "diverged at t = 0.0" in err
    assert "outcome: diverged" in out
    kept = Recording.load(file)
    assert 0 < len(kept) < 100
    assert kept.outcome == "diverged"


@pytest.mark.slow
def test_table_pictures_film_and_report(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    reference = "quintic:0,-90,60,-40,30,0deg->20,-60,40,-60,50,10deg:0.3"
    code, out, err = run(
        capsys,
        "simulate",
        "ur5",
        "--reference",
        reference,
        "--plot",
        str(tmp_path / "pics"),
        "--animate",
        str(tmp_path / "film.gif"),
        "--report",
        str(tmp_path / "run.html"),
        "-o",
        str(tmp_path / "run.npz"),
    )
    assert (code, err) == (0, "")
    assert "computed torque" in out
    assert "outcome: end" in out
    assert {path.stem for path in (tmp_path / "pics").glob("*.png")} == set(command.VIEWS)
    assert (tmp_path / "film.gif").read_bytes()[:3] == b"GIF"
    assert "<html" in (tmp_path / "run.html").read_text(encoding="utf-8")
    recording = Recording.load(tmp_path / "run.npz")
    assert np.abs(np.degrees(recording["q_ref"][-1]) - (20, -60, 40, -60, 50, 10)).max() < 1e-9
    # a torque that is held lags by half a period
    assert 0.0 < np.abs(recording["error"]).max() < 0.5e-3 * np.abs(recording["qd_ref"]).max()


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("how", ["signal", "exception"])
def test_ctrl_c_keeps_what_was_recorded(capsys, tmp_path, monkeypatch, how):
    @contextmanager
    def pressed(title, quiet):
        def tell(fraction):
            if fraction > 0.4:
                if how == "exception":
                    raise KeyboardInterrupt
                os.kill(os.getpid(), signal.SIGINT)

        yield tell

    monkeypatch.setattr(command, "progress", pressed)
    file = tmp_path / "part.npz"
    code, out, err = run(capsys, "simulate", "ur5", "--reference", "0,-1,1,0,0,0", "--duration", "20", "-o", str(file))
    assert code == 130
    assert "interrupted at t =" in err
    kept = Recording.load(file)
    assert kept.outcome == "interrupted"
    assert 7.0 < kept.time[-1] < 15.0
    assert str(file) in out


def test_noise_is_seeded_and_a_load_can_be_unknown(capsys, tmp_path):
    def final(*more):
        file = tmp_path / "r.npz"
        assert (
            run(
                capsys,
                "simulate",
                "ur5",
                "--reference",
                "0,-1,1,0,0.5,0",
                "--duration",
                "0.2",
                "-o",
                str(file),
                "--json",
                *more,
            )[0]
            == 0
        )
        return Recording.load(file)["q"][-1]

    noisy = ("--noise", "1e-4,1e-3")
    assert (final(*noisy, "--seed", "1") == final(*noisy, "--seed", "1")).all()
    assert (final(*noisy, "--seed", "1") != final(*noisy, "--seed", "2")).any()
    still = final()
    assert np.abs(final("--payload", "3") - still).max() < 1e-12
    assert np.abs(final("--payload", "3@0,0,0.1", "--law-ignores-payload") - still).max() > 1e-3


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--law", "fuzzy"], "choose from zero, damping"),
        (["--law", "pd", "--gain", "ki=1"], "no gain ki; it takes kp, kd"),
        (["--law", "pd", "--gain", "kp"], "expected name=value"),
        (["--law", "pd", "--gain", "kp=1,2"], "(6,)"),
        (["--law", "pd", "--gain", "kp=1", "--gain", "kp=2"], "given twice"),
        (["--law", "pd", "--gain", "kp=-5", "--gain", "kd=1"], "kp"),
        (["--law", "sliding_mode"], "--gain k=…"),
        (["--law", "constant"], "give --gain tau=…"),
        (["--law", "constant", "--gain", "tau=1,2,3"], "gain tau: expected (6,) or a scalar, got (3,)"),
        (["--law", "constant", "--gain", "tau=0,0,0,nan,0,0"], "'nan' is not finite"),
        (["--law", "constant", "--gain", "tau=inf"], "tau: every entry must be finite"),
        (["--law", "constant", "--gain", "tau=much"], "tau: expected numbers, got 'much'"),
        (["--law", "constant", "--gain", "kp=1"], "no gain kp; it takes tau"),
        (["--law", "pd_gravity", "--gain", "at=nowhere"], "measured"),
        (["--reference", "somewhere"], "a configuration"),
        (["--reference", "0,0,0"], "expected 6 numbers"),
        (["--reference", "0,0,0,0,0,x"], "'x' is not a number"),
        (["--reference", "0,0,0,nan,0,0"], "not finite"),
        (["--reference", "quintic:0,0,0,0,0,0:2"], "q0->q1:T"),
        (["--reference", "quintic:0,0,0,0,0,0->1,0,0,0,0,0:-2"], "> 0"),
        (["--reference", "no_such_file.json"], "no_such_file.json"),
        (["--duration", "-1"], "duration"),
        (["--rate", "0"], "rate"),
        (["--substeps", "0"], "substeps"),
        (["--every", "0"], "every"),
        (["--integrator", "euler"], "rk4"),
        (["--limits", "ignore"], "clamp"),
        (["--payload", "heavy"], "not a number"),
        (["--payload", "-1"], "mass"),
        (["--law-ignores-payload"], "no --payload"),
        (["--noise", "1"], "two numbers"),
        (["-o", "run.xlsx"], ".parquet"),
        (["-o", "nowhere/run.npz"], "no such folder"),
        (["--animate", "film.avi"], ".gif"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_code_2(capsys, words, hint):
    given = [] if "--duration" in words else ["--duration", "1"]
    code, out, err = run(capsys, "simulate", "ur5", *given, *words)
    assert (code, out) == (2, "")
    assert hint in err
    assert err.startswith("armwright: ")


def test_no_duration_for_a_configuration_is_told(capsys):
    code, _, err = run(capsys, "simulate", "ur5", "--reference", "0,0,0,0,0,0")
    assert code == 2
    assert "duration" in err


@pytest.mark.parametrize("name", [name for name in LAWS if name not in BOUNDS])
def test_every_law_that_needs_no_bound_has_gains_by_default(ur5, name):
    given = {"k": 20.0, "lam": 10.0} if name == "adaptive" else {"ki": 5.0} if name == "pid" else {}
    law = command.find_law(name, ur5, given, 10.0, np.zeros(6))
    assert law.name


def test_the_help_names_every_law(capsys):
    assert command.LAW_NAMES.split(", ") == list(LAWS)
    code, out, _ = run(capsys, "simulate", "--help")
    assert code == 0
    assert "rad/s" in out  # not swallowed as markup


def test_configurations_carry_their_unit(ur5):
    right = np.radians([0, 90, -45, 10, 20, 30])
    assert np.allclose(specs.configuration("0,90,-45,10,20,30deg", ur5, "q"), right)
    assert np.allclose(specs.configuration("0deg,90deg,-45deg,10 deg,20deg,30deg", ur5, "q"), right)
    assert np.allclose(specs.configuration("0,1.5,-1,0,0,2", ur5, "q"), [0, 1.5, -1, 0, 0, 2])
    with pytest.raises(InputError, match="unit"):
        specs.configuration("0deg,90,-45,10,20,30deg", ur5, "q")


def test_waypoints_from_files(ur5, tmp_path):
    rows = [[0, -90, 60, 0, 0, 0], [10, -80, 50, 0, 20, 0], [20, -60, 40, 10, 0, 0]]
    (tmp_path / "w.json").write_text(
        json.dumps({"waypoints": rows, "times": [0, 1, 2.5], "unit": "deg"}), encoding="utf-8"
    )
    (tmp_path / "w.toml").write_text(f'unit = "deg"\nwaypoints = {rows}\ntimes = [0, 1, 2.5]\n', encoding="utf-8")
    ours, same = (specs.reference(str(tmp_path / name), ur5) for name in ("w.json", "w.toml"))
    assert ours.duration == same.duration == 2.5
    assert np.allclose(ours.evaluate(1.0).q, np.radians(rows[1]))
    assert (ours.evaluate(0.7).q == same.evaluate(0.7).q).all()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[1, 2]", "keys waypoints"),
        ("{", "w.json"),
        ('{"waypoints": [[0, 0]], "times": 1}', "rows of 6"),
        ('{"waypoints": [["a"]], "times": 1}', "rows of 6"),
        ('{"waypoints": [[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]], "times": [0, -1]}', "increase"),
        ('{"waypoints": [[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]], "times": 1, "unit": "grad"}', "unit"),
        ('{"waypoints": [[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]], "times": 1, "speed": 2}', "unknown key speed"),
    ],
)
def test_bad_waypoint_files_are_named(ur5, tmp_path, text, hint):
    file = tmp_path / "w.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=hint) as error:
        specs.reference(str(file), ur5)
    assert "w.json" in str(error.value)
