# SPDX-License-Identifier: Apache-2.0
"""Kinds of studies: a row depends on its item alone, and says what the thing it is about says by itself."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

import armwright as aw
from armwright.campaigns import CampaignPlan, read_plan
from armwright.campaigns.kind import KINDS, find_kind
from armwright.campaigns.kinds.isolation_kind import on_link
from armwright.campaigns.work import Worker
from armwright.contact.detectors import TwoSpeed, learn_thresholds, learn_two_speed
from armwright.contact.detectors.threshold_learning import felt_runs, merged, thresholds_from
from armwright.contact.detectors.two_speed import channel_runs, two_speed_from
from armwright.contact.observers import momentum_observer
from armwright.detection.detection_settings import experiment
from armwright.detection.study_contacts import study_law, tool_moves, ur5_sensors
from armwright.detection.study_runs import Spread, StudyBench, Trial
from armwright.detection.threshold_rehearsal import rehearse
from armwright.errors import InputError
from armwright.motion import Reference
from armwright.programs import run_program
from support.places import ROOT
from support.simulated_logs import gear_friction, simulated_log, true_arm

pytest.importorskip("pyarrow", reason="campaigns need pyarrow (extra 'scale')")
WELD = str(ROOT / "examples" / "programs" / "ur5_weld.script")
SMALL = {"moves": 2, "free": 2, "learning_moves": 12, "learning_runs": 24, "observers": ["momentum"]}


def chunked(worker, items, chunk):
    parts = [worker.table(first, min(first + chunk, items)).to_pylist() for first in range(0, items, chunk)]
    return [row for part in parts for row in part]


@pytest.fixture(scope="module")
def detection():
    plan = CampaignPlan("detection", 20, 5, SMALL)
    worker = Worker(plan, find_kind("detection").prepare(plan))
    return worker, worker.table(0, 20).to_pylist()


@pytest.mark.parametrize("chunk", [1, 3, 8, 100])
def test_rows_of_detection_do_not_depend_on_the_chunk(detection, chunk):
    worker, rows = detection
    assert {row["status"] for row in rows} == {"done"}
    assert chunked(worker, 20, chunk) == rows


def test_levels_alarms_and_delays_of_a_run_hang_together(detection):
    _, rows = detection
    assert [row["met"] for row in rows] == [("contact", "free", "free")[k % 3] for k in range(20)]
    for row in rows:
        before, within, until, delay, force = (
            row[f"momentum_two_speed_{part}"] for part in ("before", "within", "until", "delay", "force")
        )
        assert row["kalman_absolute_before"] is None  # nobody asked for it
        if row["met"] == "free":
            assert within is None and delay is None and (until is not None) == (before >= 1.0)
        else:
            assert (delay is not None) == (before < 1.0 <= within) and (force is None) == (delay is None)
            assert 0.0 <= delay <= 0.1 and force > 0.0


def test_an_item_has_a_seed_of_its_own(detection):
    """Item 4 is the run of seed (5, 4) on its move, judged by nobody else's numbers."""
    _, rows = detection
    study = experiment(SMALL, 5)
    assert study.trial(4) == Trial(4, 0, False) and study.trial(3) == Trial(3, 1, True)
    batch = study.bench.run(study.moves[0], [np.random.SeedSequence(5, spawn_key=(4,))] * 2, None, 0.0)
    assert rows[4]["seconds"] == pytest.approx(len(batch.time) / 1000.0, abs=1e-9)
    other = Worker(
        CampaignPlan("detection", 20, 6, SMALL), find_kind("detection").prepare(CampaignPlan("detection", 20, 6, SMALL))
    )
    assert other.table(4, 5).to_pylist() != [rows[4]]


def test_summary_of_detection_counts_its_rows(detection):
    worker, rows = detection
    found = worker.kind.summary(worker.table(0, 20))
    (absolute, two), curve = found["detectors"], found["roc"]
    assert (absolute["detector"], two["detector"]) == ("absolute", "two-speed") and json.dumps(found)
    delays = [row["momentum_absolute_delay"] for row in rows if row["momentum_absolute_delay"] is not None]
    assert absolute["delay_median_s"]["value"] == pytest.approx(np.median(delays))
    for name in ("absolute", "two-speed"):
        alarms = [r["runs_with_false_alarm"]["value"] for r in curve if r["detector"] == name]
        assert len(alarms) == 17 and all(a >= b for a, b in pairwise(alarms))


def test_merged_runs_teach_the_same_thresholds():
    """The worst of all runs, batch by batch, in place of all of them: the same coefficients, margins and hours."""
    robot, rng, t = aw.load("ur5"), np.random.default_rng(3), 1e-3 * np.arange(300)[:, None] * np.ones(6)
    refs = [Reference(np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)) for w in (1.0, 2.0, 3.0, 4.0, 5.0)]
    stacks = [rng.normal(size=(7, 300, 6)) * (0.2 + np.abs(ref.qd)) for ref in refs]
    felt, channels = [], []
    for x, ref in zip(stacks, refs, strict=True):
        level, quick, slow = None, None, None
        for part in (x[:2], x[2:3], x[3:]):
            level = merged(level, felt_runs(part, ref, robot))
            pair = channel_runs(part, ref, 1e-3, robot, TwoSpeed())
            quick, slow = merged(quick, pair[0]), merged(slow, pair[1])
        assert level.size.shape == (1, 300, 6) and level.number == 7
        felt.append(level)
        channels.append((quick, slow))
    one, all_ = thresholds_from(felt, refs, 1e-3), learn_thresholds(stacks, refs, 1e-3, robot)
    for name in ("a", "b", "c", "d", "peak", "spread", "margin", "hours"):
        np.testing.assert_allclose(getattr(one, name), getattr(all_, name), rtol=1e-9, atol=1e-12)
    assert one.false_alarms.high >= all_.false_alarms.high * (1.0 - 1e-12)
    two, both = two_speed_from(channels, refs, 1e-3, kind=TwoSpeed()), learn_two_speed(stacks, refs, 1e-3, robot)
    np.testing.assert_allclose(two.quick.coefficients, both.quick.coefficients, rtol=1e-9)
    np.testing.assert_allclose(two.slowly.coefficients, both.slowly.coefficients, rtol=1e-9)


def test_memory_of_learning_does_not_grow_with_its_runs():
    arm = aw.load("ur5-kufieta-c")
    omega = np.array([22.5, 22.5, 75.0, 75.0, 75.0, 75.0])
    bench = StudyBench(arm, study_law(omega**2, 2.0 * omega), ur5_sensors(), Spread())
    moves, chains = tool_moves(arm, 4, speed=1.0, seed=2), {"momentum": (momentum_observer(100.0),)}
    peaks = []
    for runs in (512, 512, 1536):  # the first compiles; 64 are simulated at once
        tracemalloc.start()
        learned = rehearse(bench, moves, chains, {}, runs=runs, seed=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert learned.runs == runs and learned.fits["momentum"].hours > 0.0
    assert peaks[2] < 1.2 * peaks[1]


def test_rows_of_worlds_are_explorations_of_their_worlds():
    names = ["closed-loop, back off", "closed-loop, slide"]
    worker = Worker(CampaignPlan("worlds", 4, 7, {"variants": names}), b"")
    table = worker.table(1, 3)
    rows = table.to_pylist()
    assert [row["variant"] for row in rows] == names[::-1]
    seeds = [np.random.SeedSequence(7, spawn_key=(k,)).generate_state(1, np.uint64)[0] >> np.uint64(1) for k in (0, 1)]
    assert [row["seed"] for row in rows] == seeds  # a world of either variant
    alone = worker.kind.record(worker.plan, b"", 2)
    assert alone.time[-1] == rows[1]["simulated_s"]
    assert np.linalg.norm(alone["force"], axis=1).max() == rows[1]["largest_force_n"]
    found = worker.kind.summary(table.slice(0, 1))
    assert [row["count"] for row in found["outcomes"]] == [1] and json.dumps(found)


def test_rows_of_isolation_are_pushes_of_their_own():
    worker = Worker(CampaignPlan("isolation", 6, 11), b"")
    rows = worker.table(1, 3).to_pylist()
    assert rows[:1] == worker.table(1, 2).to_pylist()
    seed = np.random.SeedSequence(11, spawn_key=(2,))
    met, first, second = on_link(aw.load("ur5"), np.random.default_rng(seed))
    assert (rows[1]["body"], rows[1]["first_body"], rows[1]["second_outcome"]) == (met.body, first.body, second.outcome)
    plants = {"plants": ["2 kg payload", "two contacts"], "per_plant": 2}
    worker = Worker(CampaignPlan("isolation", 6, 11, plants), b"")
    rows = worker.table(0, 4).to_pylist()
    assert [row["plant"] for row in rows] == [*["2 kg payload"] * 2, *["two contacts"] * 2]
    assert rows[3:] == Worker(CampaignPlan("isolation", 6, 11, plants), b"").table(3, 4).to_pylist()
    assert json.dumps(worker.kind.summary(worker.table(0, 1)))


def test_rows_of_programs_are_runs_with_their_load_and_speed():
    settings = {"robot": "ur5", "program": WELD, "payload": [1.0, 4.0], "override": [0.8, 1.6]}
    worker = Worker(CampaignPlan("programs", 4, 2, settings), b"")
    table = worker.table(0, 4)
    rows = table.to_pylist()
    assert rows[2:3] == worker.table(2, 3).to_pylist()
    assert all(1.0 <= row["payload"] <= 4.0 and 0.8 <= row["override"] <= 1.6 for row in rows)
    by_speed = sorted(rows, key=lambda row: row["override"])
    assert [row["duration"] for row in by_speed] == sorted((row["duration"] for row in rows), reverse=True)
    from armwright.programs import Payload

    load = Payload(rows[1]["payload"], np.array([0.0, 0.0, 0.05]))
    run = run_program(aw.load("ur5"), WELD, override=rows[1]["override"], payload=load)
    assert (run.feasible, run.late) == (rows[1]["feasible"], rows[1]["late"] if rows[1]["late"] is not None else np.inf)
    assert worker.kind.summary(table)["program"][0]["value"] == np.mean([r["feasible"] for r in rows])


def test_rows_of_bootstrap_are_fits_of_other_stretches(tmp_path):
    arm, gains = true_arm(), np.linspace(14.0, 8.0, 6)
    log = simulated_log(arm, gear_friction(6), gains, 30.0, noise=0.05, seed=3)
    head = ["t", *(f"{name}_{j}" for name in ("q", "qd", "current") for j in range(6))]
    rows = np.column_stack([log.t, log.q, log.qd, log.current])
    np.savetxt(tmp_path / "log.csv", rows, delimiter=",", header=",".join(head), comments="")
    settings = {"logs": [str(tmp_path / "log.csv")], "gains": gains.tolist()}
    worker = Worker(CampaignPlan("bootstrap", 2, 4, settings), b"")
    table = worker.table(0, 2)
    assert (
        table["status"].to_pylist() == ["done", "done"] and table.slice(1).to_pylist() == worker.table(1, 2).to_pylist()
    )
    one, two = (json.loads(text) for text in table["estimates"].to_pylist())
    assert one.keys() == two.keys() and one != two
    viscous = [e for e in worker.kind.summary(table)["estimates"] if e["name"].endswith("pan.viscous")]
    assert viscous[0]["samples"] == 2 and viscous[0]["low"] <= 8.0 * 1.3 and viscous[0]["high"] >= 8.0 * 0.7


def test_learnings_are_judged_by_moves_inside_and_outside_of_what_they_rehearsed():
    small = {"moves": 12, "free": 2, "learning_moves": 8, "learning_runs": 16, "observers": ["momentum"]}
    worker = Worker(CampaignPlan("learning", 2, 5, small), b"")
    table = worker.table(0, 2)
    rows = table.to_pylist()
    assert rows[1:] == worker.table(1, 2).to_pylist() and rows[0]["hours"] != rows[1]["hours"]
    assert all(row["inside"] + row["outside"] == 12 and row["inside"] and row["outside"] for row in rows)
    assert {row["momentum_absolute_inside"] for row in rows} == {0} and rows[0]["kalman_absolute_inside"] is None
    careless = Worker(CampaignPlan("learning", 2, 5, small | {"false_alarms": 1e9}), b"").table(0, 2)
    (inside,) = [
        row
        for row in worker.kind.summary(careless)["learnings"]
        if (row["detector"], row["moves"]) == ("two-speed", "inside")
    ]
    assert inside["count"] >= 1 and inside["of"] == 2 and inside["low"] <= inside["value"] <= inside["high"]


@pytest.mark.parametrize("name", sorted(KINDS))
def test_unknown_settings_are_named(name):
    with pytest.raises(InputError, match=f"{name}: unknown key 'colour'; valid keys here: "):
        find_kind(name).start(CampaignPlan(name, 1, 0, {"colour": "red"}), b"{}")


@pytest.mark.parametrize(
    "name, settings, words",
    [
        ("detection", {"contact": "feather"}, "wall, soft, ramp, link"),
        ("detection", {"observers": ["crystal ball"]}, "momentum, kalman, closed-loop"),
        ("detection", {"learning_runs": 1}, "whole number ≥ 2"),
        ("detection", {"spread": {"colour": 1}}, "spread"),
        ("worlds", {"variants": ["hope"]}, "closed-loop, back off"),
        ("worlds", {"task": "swim"}, "grid"),
        ("isolation", {"robot": "panda"}, "six joints"),
        ("programs", {}, "needs a program"),
        ("bootstrap", {}, "needs logs"),
    ],
)
def test_settings_that_cannot_be_are_refused(name, settings, words):
    with pytest.raises(InputError, match=words):
        find_kind(name).start(CampaignPlan(name, 1, 0, settings), b"{}")


@pytest.mark.parametrize("file", sorted((ROOT / "docs" / "campaigns").glob("*.toml")), ids=lambda path: path.stem)
def test_campaign_files_of_the_documentation_can_be_run(file):
    plan = read_plan(file)
    if plan.kind == "detection":
        experiment(plan.settings, plan.seed)
    else:
        find_kind(plan.kind).start(plan, b"")
