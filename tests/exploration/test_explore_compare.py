# SPDX-License-Identifier: Apache-2.0
"""Variants side by side on random worlds, and maps of three dimensions, from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from armwright.campaigns.compare_explorations import compare_explorations, world_seed
from armwright.cli import main
from armwright.errors import ArmwrightError, InputError
from armwright.exploration.exploration import explore
from armwright.exploration.explore_options import Budget, ControlLoop, GridTask, Sensing
from armwright.exploration.grid.compare_worlds import VARIANTS, draw_comparison
from armwright.exploration.grid.grid_worlds import Outcomes, ask_oracles, random_cylinders
from armwright.world.world_catalogue import load_world

SLIDE, BUMP, NOISE = "closed-loop, slide", "closed-loop, back off", "momentum with noise, back off"


@pytest.fixture(scope="module")
def comparison():
    return compare_explorations("ur5", {name: VARIANTS[name] for name in (SLIDE, NOISE)}, 3, seed=42)


def same(a, b):
    return all(x == y or (x != x and y != y) for x, y in ((a[key], b[key]) for key in a)) and a.keys() == b.keys()


def test_a_world_runs_alone_as_it_does_among_others(comparison):
    alone = compare_explorations("ur5", {NOISE: VARIANTS[NOISE]}, 1, seed=42)
    assert same(alone.outcomes[0].rows[0], comparison.outcomes[1].rows[0])


@pytest.mark.parametrize(
    "learn_seed, count",
    [(4, 2), *(pytest.param(k, 5, marks=[pytest.mark.slow, pytest.mark.thorough]) for k in (1, 4, 11))],
)
def test_what_thresholds_were_learned_from_does_not_matter(learn_seed, count):
    """Three minutes of motion at 0.01 alarms an hour: one in 2,000 learnings may fail this, not one in three."""
    found = compare_explorations("ur5", {NOISE: VARIANTS[NOISE]}, count, seed=4, learn_seed=learn_seed)
    (outcome,) = found.outcomes
    assert outcome.right and outcome.summary()["false_alarms"] == 0


def test_every_solvable_world_is_crossed(comparison):
    for outcome in comparison.outcomes:
        assert outcome.right and not outcome.missed()
        for k, row in enumerate(outcome.rows):
            seed = world_seed(42, k)
            assert row["world"] == f"random-{seed}" and row["truth"] == ask_oracles(random_cylinders(seed))
    slide, bump = comparison.summaries()
    assert slide["compared"] == bump["compared"] == len(comparison.common()) > 0
    assert slide["largest_force_of_all_n"] < 45.0
    assert min(row["median_delay_s"] for row in comparison.outcomes[1].rows) < 0.015


def test_interrupt_keeps_what_was_done():
    def stop(done, row):
        if done == 2:
            raise KeyboardInterrupt

    found = compare_explorations("ur5", {n: VARIANTS[n] for n in (SLIDE, BUMP)}, 2, seed=42, progress=stop)
    assert found.interrupted and [len(o.rows) for o in found.outcomes] == [1, 1]


def test_picture(comparison, tmp_path):
    pytest.importorskip("matplotlib", reason="figures")
    draw_comparison(comparison, tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ArmwrightError, match="could not be written"):
        draw_comparison(comparison, tmp_path / "nowhere" / "x.png")


def test_summary_of_wrong_ends():
    rows = [
        {
            "world": f"w{k}",
            "truth": truth,
            "end": end,
            "contacts": k,
            "false_alarms": 0,
            "largest_force_n": 1.0,
            "impulse_ns": 1.0,
            "tool_path_m": 1.0,
            "arrival_s": 1.0,
            "median_delay_s": float("nan"),
        }
        for k, (truth, end) in enumerate([("solvable", "gave up"), ("unsolvable", "reached"), ("narrow", "reached")])
    ]
    outcome = Outcomes("x", tuple(rows))
    assert [row["world"] for row in outcome.missed()] == ["w0", "w1"] and not outcome.right
    assert np.isnan(outcome.summary()["median_delay_s"]) and outcome.summary({"w2"})["contacts"] == 2.0


def test_bad_requests():
    with pytest.raises(InputError, match="compare"):
        compare_explorations("ur5", {}, 5)
    with pytest.raises(InputError, match="compare"):
        compare_explorations("ur5", None, 0)
    assert main(["run", "worlds", "--variant", "hope"]) == 2


def test_worlds_on_the_command_line(tmp_path, capsys):
    pytest.importorskip("duckdb", reason="run worlds is a campaign (extra 'scale')")
    given = ["run", "worlds", "--count", "2", "--seed", "42", "--jobs", "1", "--variant", "closed-loop, back off"]
    assert main([*given, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "closed-loop, back off" in said.out and "2 of 2 items" in said.err
    assert main(["campaign", "query", str(tmp_path), "select count(*) as n from rows", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"n": 2}]
    assert main([*given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["runs"] == 2
    assert main([*given[:2], "--count", "1", *given[4:], "--learn-seed", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["runs"] == 1


def test_the_arm_goes_over_a_board_that_is_in_its_way():
    """World "shelf": the lower board fills the plane of 000; on a map with layers the way over it is shorter."""
    from armwright.cli.exploration_task import grid_of

    where = grid_of("volume", load_world("shelf").tool_task)
    run = explore("ur5", "shelf", GridTask((2, 10, 2), (18, 9, 2), where))
    tool = run.recording["tool"]
    crossing = tool[np.abs(tool[:, 0] - 0.3868) < 0.006]
    assert run.outcome == "reached" and {c.shape for c in run.contacts} >= {"board"}
    assert len(crossing) and crossing[:, 2].min() > 0.015 and np.abs(crossing[:, 1] + 0.0395).max() < 0.1


def test_three_dimensions_on_the_command_line(tmp_path, capsys):
    assert main(["run", "collision", "--world", "shelf", "--grid", "volume", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["reached"] and said["settings"]["goal"] == [18, 7, 2]
    own = ["--grid", "14x14x8@0.25,-0.2,0.0/0.03", "--start", "2,7,2", "--goal", "13,7,2"]
    assert main(["run", "collision", "--world", "shelf", *own, "--json"]) == 0
    capsys.readouterr()
    for wrong in (
        ["--grid", "cube"],
        ["--grid", "3x3@0,0/1"],
        ["--grid", "volume", "--goal", "18,7"],
        ["--goal", "x"],
        ["--grid", "9x9@0.3,0,0/0.03"],
    ):
        assert main(["run", "collision", *wrong]) == 2
        assert wrong[-2] in capsys.readouterr().err or wrong[0] == "--grid"


def test_a_run_that_is_refused_does_not_end_the_others():
    from armwright.contact.detectors import joint_detector
    from armwright.detection.study_contacts import ur5_sensors

    deaf = {"observer": "momentum", "detector": joint_detector(1e-4), "sensors": ur5_sensors()}
    found = compare_explorations("ur5", {"deaf": deaf}, 2, seed=42)
    (outcome,) = found.outcomes
    assert [row["outcome"] for row in outcome.rows] == ["refused"] * 2 and not outcome.right
    assert "noise floor" in outcome.rows[0]["message"] and np.isnan(outcome.summary()["largest_force_of_all_n"])


def test_an_alarm_in_the_last_tick_of_the_way_back_is_heard():
    """Nobody looked at it once: the arm went on and pressed itself through a wall with 580 N (world 56)."""
    from armwright.detection.study_contacts import ur5_sensors
    from armwright.robot.load import load

    run = explore(
        load("ur5"),
        random_cylinders(56),
        reaction="slide",
        loop=ControlLoop(slots=24),
        budget=Budget(1200.0),
        sensing=Sensing("momentum", sensors=ur5_sensors(), learn_seed=0),
        seed=56,
    )
    assert run.outcome == "reached" and run.metrics()["largest_force_n"] < 60.0
