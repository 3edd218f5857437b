"""The benchmark's own laws: it times nothing that is wrong and survives a missing peer."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from armwright.cli import main
from armwright.cli.bench import report, suite_folder

FOLDER = Path(__file__).resolve().parents[1] / "bench"


@pytest.fixture
def suite(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import suite

    yield suite
    for name in ("suite", "driver", "prepare", "process"):
        sys.modules.pop(name, None)


def test_the_scripts_are_found():
    assert suite_folder() == FOLDER


def test_random_arms_are_possible_bodies(suite):
    from armwright.robot.check import physics_findings
    from prepare import random_arm

    robot = random_arm(7, 3)
    assert robot.n == 7
    assert not [f for f in physics_findings(robot) if f.rule in ("triangle inequality", "M positive definite")]


def test_differences_are_fourth_order(suite):
    from prepare import differences

    x = np.array([0.4, -0.2])
    found = differences(lambda v: np.array([np.sin(v[0]) * v[1], np.exp(v[1])]), x)
    exact = np.array([[np.cos(x[0]) * x[1], np.sin(x[0])], [0.0, np.exp(x[1])]])
    assert np.allclose(found, exact, atol=1e-12)


def test_a_peer_that_cannot_start_is_skipped_with_its_reason(suite, tmp_path):
    from driver import measure

    result = measure(["no_such_peer"], tmp_path, rounds=1, budget=0.001)
    assert result["cases"] == {}
    assert "no_such_peer" in result["skipped"]["no_such_peer"]


def test_ratios_are_peer_over_ours(suite):
    result = {"cases": {"a": {"armwright": {"best": 2.0}, "pin": {"best": 10.0}}, "b": {"pin": {"best": 1.0}}}}
    assert suite.ratios(result) == {"a": {"pin": 5.0}}


@pytest.mark.slow
def test_a_tiny_run_measures_both_libraries_and_writes_json(tmp_path, capsys):
    pytest.importorskip("pinocchio")
    out = tmp_path / "bench.json"
    code = main(["bench", "-o", str(out), "--rounds", "1", "--budget", "0.002", "--peers", "armwright,pin",
                 "--arms", "ur5", "--calls", "20000", "--repeats", "1"])  # fmt: skip
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
