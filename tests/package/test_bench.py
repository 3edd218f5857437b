# SPDX-License-Identifier: Apache-2.0
"""The benchmark's own laws: it times nothing that is wrong and survives a missing peer."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from armwright.cli import main
from armwright.cli.bench import report


def test_random_arms_are_possible_bodies():
    from armwright.bench.prepare_arms import random_arm
    from armwright.robot.check import physics_findings

    robot = random_arm(7, 3)
    assert robot.n == 7
    assert not [f for f in physics_findings(robot) if f.rule in ("triangle inequality", "M positive definite")]


def test_differences_are_fourth_order():
    from armwright.bench.prepare_arms import differences

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
        encoding="utf-8",
        check=True,
    )
    assert json.loads(done.stdout) == {"version": "1.0", "cases": {}, "left_out": {}}
    assert "hello" in done.stderr and "you" in done.stderr


def test_what_a_library_prints_while_it_loads_is_passed_over():
    from armwright.bench.driver import greeting

    assert greeting(iter(["No module for the other backend.\n", '{"version": "1.0"}\n'])) == {"version": "1.0"}
    assert greeting(iter(["it ends here\n"])) is None


def test_ratios_are_peer_over_ours():
    from armwright.bench.suite import ratios

    result = {"cases": {"a": {"armwright": {"best": 2.0}, "pin": {"best": 10.0}}, "b": {"pin": {"best": 1.0}}}}
    assert ratios(result) == {"a": {"pin": 5.0}}


def test_what_leaves_the_computer_is_right_before_it_is_timed(tmp_path, monkeypatch):
    from armwright.bench import export_cases, protocol
    from armwright.bench.export_task import load_export, prepare_export

    prepare_export(tmp_path)
    task = load_export(tmp_path)
    monkeypatch.setattr(protocol, "cases", {})
    monkeypatch.setattr(protocol, "left_out", {})
    export_cases.register(tmp_path, task)
    asked = {"export/c_tick": "gcc", "export/wasm_tick": "node"}
    tried = {name for name, program in asked.items() if shutil.which(program)} | {"export/native_tick"}
    assert set(protocol.cases) == tried, protocol.left_out
    assert set(protocol.left_out) == set(asked) - tried
    assert all(entry.error < 1e-12 for entry in protocol.cases.values())
    assert np.abs(task["made"][:, 6:]).max() > 0.01  # the observer has something to say


def test_what_cannot_be_built_is_left_out_with_its_reason(tmp_path, monkeypatch):
    from armwright.bench import compiled_rows, export_cases, protocol
    from armwright.bench.export_task import load_export, prepare_export

    prepare_export(tmp_path)
    monkeypatch.setattr(protocol, "cases", {})
    monkeypatch.setattr(protocol, "left_out", {})
    monkeypatch.setattr(compiled_rows.shutil, "which", lambda program: None)  # Node's process asks the same module
    export_cases.register(tmp_path, load_export(tmp_path))
    assert protocol.left_out == {
        "export/c_tick": "gcc is not installed",
        "export/wasm_tick": "Node is not installed",
    }
    protocol.case("wrong", lambda: None, [1.0], got=[2.0])
    assert protocol.left_out["wrong"] == "relative error 1.0e+00, more than 1e-09"


def test_the_python_loop_is_the_loop_that_the_library_runs():
    import armwright as aw
    from armwright.bench.loop_task import DURATION, KD, KP, PERIOD, python_loop, start, waypoints
    from armwright.bench.prepare_arms import arm
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
    from armwright.bench.bench_figures import loop_lines

    def entry(ours, **others):
        return {"armwright": {"best": ours}, **{peer: {"best": value} for peer, value in others.items()}}

    cases = {
        "loop/computed_torque": entry(1e-3, mujoco=0.03, pin=0.03),
        "loop/own_law": entry(1.6e-3),
        "loop/long": entry(0.1),
        "loop/long_unrecorded": entry(0.095),
        "learn/jax": {"armwright": {"best": 1e-8}, "jax": {"best": 1e-8, "ready": 1.5}, "mjx": {"best": 5e-8}},
        "export/c_tick": entry(1e-7, casadi=2.5e-7),
        "export/wasm_tick": entry(1e-6, mujoco_wasm=5e-5),
    }
    rows = {row["line"]: row for row in loop_lines({"cases": cases, "process": {"loop_cold": {"best": 0.5}}})}
    kept = {line: row["met"] for line, row in rows.items()}
    assert kept == {
        "2 s computed torque against MuJoCo's Python loop": True,
        "2 s computed torque against Pinocchio's Python loop": False,
        "2 s computed torque": True,
        "user's NumPy law, traced: time against the built-in law": False,
        "a batch through JAX, against our own call": True,
        "forward dynamics by MJX, against that": None,
        "until our call is ready in JAX, its first included": False,
        "exported C, a tick of computed torque and momentum observer": None,
        "CasADi's C of the same, same compiler, against that": None,
        "WebAssembly in Node, ticks of the closed loop": True,
        "MuJoCo's WebAssembly, against that": None,
        "compile of a new loop, nothing cached": True,
        "recording 50 s at 1 kHz": True,
    }
    assert rows["2 s computed torque"]["figure"] == pytest.approx(2000.0)
    assert rows["CasADi's C of the same, same compiler, against that"]["figure"] == pytest.approx(2.5)
    assert rows["MuJoCo's WebAssembly, against that"]["figure"] == pytest.approx(50.0)
    assert rows["recording 50 s at 1 kHz"]["figure"] == pytest.approx(5.0)
    assert rows["2 s computed torque"]["target"] == "≥ 1,500 × real time"


def test_an_unknown_part_is_told(capsys):
    assert main(["bench", "--parts", "everything"]) == 2
    assert "core,loop" in capsys.readouterr().err


@pytest.mark.slow
def test_planners_are_compared_on_paths_that_are_free():
    pytest.importorskip("pinocchio", reason="needs Pinocchio")
    pytest.importorskip("ompl", reason="needs OMPL")
    from armwright.bench.arm_planning import planning_figures
    from armwright.bench.bench_figures import loop_lines

    result = planning_figures(problems=1, repeats=1)
    assert result["armwright/short"]["touched"] == 0
    assert result["ompl/short"]["median_length"] <= result["ompl/first"]["median_length"] * (1.0 + 1e-9)
    assert {row["unit"] for row in loop_lines({"cases": {}, "planning": result})} == {"×", "µs"}
    assert loop_lines({"cases": {}}) == []


@pytest.mark.slow
@pytest.mark.thorough
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
            "--seconds-per-case",
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
    result = json.loads(out.read_text(encoding="utf-8"))
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
            "--seconds-per-case",
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
    result = json.loads(out.read_text(encoding="utf-8"))
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


def test_campaigns_are_judged_by_the_largest():
    from armwright.bench.bench_figures import campaign_lines
    from armwright.bench.campaign_costs import markdown

    def rows(what, items, *cpu):
        memory = {"worker": 300.0, "coordinator": 130.0, "files": 1.0}
        engines = zip(("serial", "processes", "dask"), cpu, strict=True)
        return [{"what": what, "items": items, "engine": engine, "cpu": used, **memory} for engine, used in engines]

    growth = [rows("explorations", 9, 1, 1, 1), rows("detections", 10, 1, 2, 3), rows("detections", 100, 4, 4.2, 5)]
    found = {
        "workers": 2,
        "chunk": {"serial": 1e-3, "processes": 1.2e-3, "dask": 9e-3, "scheduler": 1e-3},
        "growth": [row for three in growth for row in three],
        "learning": [{"runs": 1000, "worker": 250.0}, {"runs": 10_000, "worker": 260.0}],
        "store": {"rows_mb": 80.0, "median_s": 0.1, "status_s": 3.0},
    }
    lines = {row["line"]: row for row in campaign_lines(found)}
    assert lines["100 detections, CPU of processes ÷ serial"]["figure"] == pytest.approx(1.05)
    kept = {line for line, row in lines.items() if row["met"]}
    missed = {line for line, row in lines.items() if row["met"] is False}
    assert "CPU that processes add to a chunk" in kept and len(kept) == 9
    assert missed == {
        "100 detections, CPU of dask ÷ serial",
        "memory of the coordinator, processes",
        "memory of the coordinator, dask",
        "CPU that dask adds to a chunk",
        "status of 10,000 chunks, CPU",
    }
    machine = {"cpu": "a computer", "cores": 2, "python": "3.11", "date": "2026-01-02T00:00:00"}
    text = markdown({"campaigns": found, "campaign_lines": list(lines.values()), "machine": machine})
    assert "| 100 detections | processes | 42 | 1.050 | 300 | 130 | 1 |" in text
    assert "| status of 10,000 chunks, CPU | 3 s | 2 s (**missed**) |" in text


@pytest.mark.slow
def test_costs_of_a_campaign_count_all_its_processes(tmp_path):
    pytest.importorskip("distributed", reason="needs dask (extra 'scale')")
    from armwright.bench.campaign_costs import growth
    from armwright.campaigns import CampaignPlan

    short = CampaignPlan("montecarlo", 1, 0, {"duration": 0.1}, chunk=1)
    serial, processes, dask = growth(tmp_path, short, 4, "short")
    assert [row["items"] for row in (serial, processes, dask)] == [4, 4, 4]
    assert processes["cpu"] > serial["cpu"] > 0.0 and processes["worker"] > 20.0 and processes["coordinator"] > 20.0
    assert serial["files"] == processes["files"] == dask["files"] > 0.0
