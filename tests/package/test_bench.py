# SPDX-License-Identifier: Apache-2.0
"""The benchmark's own laws: it times nothing that is wrong and survives a missing peer."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from armwright.cli import main
from armwright.cli.bench import report


def test_random_arms_are_possible_bodies():
    from armwright.bench.prepare import random_arm
    from armwright.robot.check import physics_findings

    robot = random_arm(7, 3)
    assert robot.n == 7
    assert not [f for f in physics_findings(robot) if f.rule in ("triangle inequality", "M positive definite")]


def test_differences_are_fourth_order():
    from armwright.bench.prepare import differences

    x = np.array([0.4, -0.2])
    found = differences(lambda v: np.array([np.sin(v[0]) * v[1], np.exp(v[1])]), x)
    exact = np.array([[np.cos(x[0]) * x[1], np.sin(x[0])], [0.0, np.exp(x[1])]])
    assert np.allclose(found, exact, atol=1e-12)


def test_a_peer_that_cannot_start_is_skipped_with_its_reason(tmp_path):
    from armwright.bench.driver import measure

    result = measure(["no_such_peer"], tmp_path, rounds=1, budget=0.001)
    assert result["cases"] == {}
    assert "no_such_peer" in result["skipped"]["no_such_peer"]


def test_what_a_library_prints_does_not_reach_the_driver(tmp_path):
    code = "from armwright.bench import protocol as p; import os; p.setup(); print('hello'); os.system('echo you'); "
    done = subprocess.run(
        [sys.executable, "-c", code + "p.serve('1.0')", str(tmp_path)],
        input="",
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == {"version": "1.0", "cases": {}}
    assert "hello" in done.stderr and "you" in done.stderr


def test_ratios_are_peer_over_ours():
    from armwright.bench.suite import ratios

    result = {"cases": {"a": {"armwright": {"best": 2.0}, "pin": {"best": 10.0}}, "b": {"pin": {"best": 1.0}}}}
    assert ratios(result) == {"a": {"pin": 5.0}}


def test_the_python_loop_is_the_loop_that_the_library_runs():
    import armwright as aw
    from armwright.bench.loop_task import DURATION, KD, KP, PERIOD, python_loop, start, waypoints
    from armwright.bench.prepare import arm
    from armwright.control import computed_torque
    from armwright.motion import quintic_spline

    robot, path = arm("ur5"), quintic_spline(waypoints(), DURATION)
    ref = path.evaluate(PERIOD * np.arange(100))
    task = {"q_ref": ref.q, "qd_ref": ref.qd, "qdd_ref": ref.qdd, "q0": start()}
    state = python_loop(lambda *x: aw.inverse_dynamics(robot, *x), lambda *x: aw.forward_dynamics(robot, *x), task, 100)
    run = aw.simulate(robot, computed_torque(KP, KD), path, 0.1, q0=start())
    assert np.abs(np.concatenate([run["q"][-1], run["qd"][-1]]) - state).max() < 1e-11
    assert np.abs(run["error"]).max() > 0.01  # feedback has work


def test_lines_of_the_loop_compare_with_what_was_promised():
    from armwright.bench.lines import loop_lines

    def entry(ours, **others):
        return {"armwright": {"best": ours}, **{peer: {"best": value} for peer, value in others.items()}}

    cases = {
        "loop/computed_torque": entry(1e-3, mujoco=0.03, pin=0.03),
        "loop/own_law": entry(1.6e-3),
        "loop/long": entry(0.1),
        "loop/long_unrecorded": entry(0.095),
    }
    rows = {row["line"]: row for row in loop_lines({"cases": cases, "process": {"loop_cold": {"best": 0.5}}})}
    kept = {line: row["met"] for line, row in rows.items()}
    assert kept == {
        "2 s computed torque against MuJoCo's Python loop": True,
        "2 s computed torque against Pinocchio's Python loop": False,
        "2 s computed torque": True,
        "user's NumPy law, traced: time against the built-in law": False,
        "compile of a new loop, nothing cached": True,
        "recording 50 s at 1 kHz": True,
    }
    assert rows["2 s computed torque"]["figure"] == pytest.approx(2000.0)
    assert rows["recording 50 s at 1 kHz"]["figure"] == pytest.approx(5.0)
    assert rows["2 s computed torque"]["target"] == "≥ 1,500 × real time"


def test_an_unknown_part_is_told(capsys):
    assert main(["bench", "--parts", "everything"]) == 2
    assert "core,loop" in capsys.readouterr().err


@pytest.mark.slow
def test_planners_are_compared_on_paths_that_are_free():
    pytest.importorskip("pinocchio", reason="needs Pinocchio")
    pytest.importorskip("ompl", reason="needs OMPL")
    from armwright.bench.lines import loop_lines
    from armwright.bench.planning import planning_figures

    result = planning_figures(problems=1, repeats=1)
    assert result["armwright/short"]["touched"] == 0
    assert result["ompl/short"]["median_length"] <= result["ompl/first"]["median_length"] * (1.0 + 1e-9)
    assert {row["unit"] for row in loop_lines({"cases": {}, "planning": result})} == {"×", "µs"}
    assert loop_lines({"cases": {}}) == []


@pytest.mark.slow
def test_a_tiny_run_of_the_loop(tmp_path, capsys):
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    out = tmp_path / "bench.json"
    code = main(
        [
            "bench",
            "-o",
            str(out),
            "--rounds",
            "1",
            "--budget",
            "0.001",
            "--peers",
            "armwright,pin,mujoco",
            "--arms",
            "ur5",
            "--parts",
            "loop",
            "--repeats",
            "1",
        ]
    )
    result = json.loads(out.read_text())
    text = capsys.readouterr().out
    assert code == 0
    assert set(result["cases"]["loop/computed_torque"]) == {"armwright", "pin", "mujoco"}
    assert all(entry["error"] < 1e-9 for entry in result["cases"]["loop/computed_torque"].values())
    assert {"loop/own_law", "loop/many_noisy", "loop/irb140_exponentials", "loop/callback"} <= set(result["cases"])
    assert len(result["loop"]) >= 14
    assert all(row["line"] in text for row in result["loop"])
    assert all(name.startswith("loop/") for name in result["cases"])


@pytest.mark.slow
def test_a_tiny_run_measures_both_libraries_and_writes_json(tmp_path, capsys):
    pytest.importorskip("pinocchio")
    out = tmp_path / "bench.json"
    code = main(
        [
            "bench",
            "-o",
            str(out),
            "--rounds",
            "1",
            "--budget",
            "0.002",
            "--peers",
            "armwright,pin",
            "--arms",
            "ur5",
            "--parts",
            "core",
            "--calls",
            "20000",
            "--repeats",
            "1",
        ]
    )
    text = capsys.readouterr().out
    result = json.loads(out.read_text())
    assert code == 0
    assert set(result["peers"]) == {"armwright", "pin"}
    for name in ("rnea/single", "fd/single", "rnea/batch", "fd/batch", "drnea/single", "dfd/single"):
        entries = result["cases"][name]
        assert set(entries) == {"armwright", "pin"}
        assert all(0.0 < entry["best"] <= entry["median"] and entry["error"] < 1e-7 for entry in entries.values())
        assert "×" in text
    assert result["process"]["import"]["best"] > 0.0
    report(result)
    assert "rnea/batch" in capsys.readouterr().out


def test_the_program_that_is_measured_is_the_one_that_ships():
    from armwright.bench.programs_armwright import PROGRAM
    from armwright.programs import program_differences, read_program
    from support.places import ROOT

    shipped = read_program(ROOT / "examples" / "programs" / "lola15dd.irl")
    assert not program_differences(read_program(PROGRAM, "l-irl"), shipped)
