# SPDX-License-Identifier: Apache-2.0
"""``armwright feel --wire``: what a robot feels is the log's own answer, whatever its wire does; it only listens."""

from __future__ import annotations

import itertools
import json
import os
import signal
from functools import cache

import numpy as np
import pytest

from armwright.cli.app import run
from armwright.identify import Bands, Identified, feel, read_log
from armwright.recording.formats import load
from support.fake_robot import FakeRobot, subscription
from support.patience import PATIENCE, until
from support.simulated_logs import gear_friction, simulated_log, true_arm

LINES = ("VOS", "VvOS")  # version, recipe, start; and what controllers of protocol 2 are asked besides


@cache
def exact():
    """A model without errors, with bands."""
    bands = Bands(np.full(6, 0.3), np.ones(6), np.array([5.0, 5.0, 5.0, 2.0, 2.0, 2.0]))
    friction = gear_friction(6)
    return Identified(true_arm(), np.full(6, 11.0), friction, 0.1 * np.ones(6), (), (), (), bands=bands)


@cache
def log():
    """An arm at 125 Hz, pushed twice at the tool for 0.8 s."""
    model = exact()
    t = np.arange(1501) / 125.0
    size = sum(np.where((t > a) & (t < a + 0.8), np.sin(np.pi * (t - a) / 0.8), 0.0) for a in (3.0, 8.0))
    wrench = np.outer(size, [30.0, -25.0, 35.0, 0.0, 0.0, 0.0])
    return simulated_log(model.robot, model.friction, model.gains, 12.0, noise=0.05, rate=125.0, wrench=wrench)


def samples(of=None):
    one = log() if of is None else of
    return list(zip(one.t.tolist(), one.q, one.qd, one.current, strict=True))


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine is no silent robot."""
    for name in ("SILENCE", "FIRST_PATIENCE"):
        monkeypatch.setattr(f"armwright.cli.feel_wire.{name}", PATIENCE)


@pytest.fixture
def model_file(monkeypatch):
    """The exact model, which no fit gives and no file holds."""
    monkeypatch.setattr("armwright.identify.model_file.load_model", lambda path: exact())
    return "arm.json"


def listen(robot, model_file, capsys, *words):
    code = run(["feel", "--wire", robot.address, "--model", str(model_file), "--json", "--every", "0", *words])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines() if line]


def test_a_robot_is_felt_as_a_log_of_it_recorded_and_sent_nothing_but_the_subscription(model_file, capsys, tmp_path):
    out = tmp_path / "live.mcap"
    with FakeRobot(samples()) as robot:
        code, said = listen(robot, model_file, capsys, "--out", str(out))
    assert code == 1 and "hung up" in said[-1]["outcome"]
    assert subscription(robot.sent) in LINES and robot.clients == 1
    expected = feel(exact(), log())
    found = [line for line in said if line.get("event") == "touch ended"]
    assert len(found) == len(expected.contacts) == 2
    for one, other in zip(found, expected.contacts, strict=True):
        assert one["link"] == other.link
        np.testing.assert_allclose([one["start"], one["end"]], [other.start, other.end], atol=1e-9)
    recording = load(out)
    assert recording.outcome.startswith("lost") and len(recording.time) == 1501 == said[-1]["rows"]
    assert [event.name for event in recording.events] == ["touch begun", "touch ended"] * 2
    assert np.array_equal(recording["current"], log().current)
    again = feel(exact(), read_log(out))
    assert [contact.link for contact in again.contacts] == [contact.link for contact in expected.contacts]
    rows = [line for line in said if "wrench" in line and "time" in line and "event" not in line]
    assert rows and all(len(line["half"]) == 6 and line["safety_mode"] == 1 for line in rows if line["wrench"])


def test_what_the_wire_does_is_counted_and_a_controller_that_starts_anew_is_followed(model_file, capsys, tmp_path):
    clean = samples()[:900]
    dirty = [*clean[:200], (clean[100][0], *clean[100][1:]), *clean[200:300], clean[299], *clean[300:]]
    dirty.insert(50, (clean[50][0] - 0.004, clean[50][1] * np.nan, *clean[50][2:]))
    dirty += [(t - 0.9, *rest) for t, *rest in clean[:300]]  # its clock begins anew below its first stamp
    out = tmp_path / "live.csv"
    with FakeRobot(dirty) as robot:
        code, said = listen(robot, model_file, capsys, "--out", str(out))
    counts = said[-1]["samples"]
    assert code == 1
    assert counts == {"start": 1, "cycle": 1198, "old": 1, "repeated": 1, "not finite": 1, "restart": 1}
    recording = load(out)
    assert (np.diff(recording.time) > 0.0).all() and len(recording.time) == 1201  # a row that holds NaN is kept, too
    assert np.array_equal(recording["device_time"][-300:], np.array([t - 0.9 for t, *_ in clean[:300]]))


def test_a_silent_robot_is_lost_and_one_that_nobody_serves_is_told(model_file, capsys, monkeypatch):
    monkeypatch.setattr("armwright.cli.feel_wire.SILENCE", 0.2)
    with FakeRobot(samples()[:50], end="silent") as robot:
        code, said = listen(robot, model_file, capsys)
    assert code == 1 and "no sample" in said[-1]["outcome"]
    code = run(["feel", "--wire", robot.address, "--model", str(model_file)])
    assert code == 2 and "cannot connect" in capsys.readouterr().err


def test_ctrl_c_ends_it_with_the_recording_closed(model_file, capsys, tmp_path, ctrl_c):
    out = tmp_path / "live.mcap"

    played = itertools.count(1)

    def pace(robot):
        if next(played) == 500:
            until(lambda: out.exists() and out.stat().st_size > 20_000, "rows are in the file")
            os.kill(os.getpid(), signal.SIGINT)

    with FakeRobot(samples(), end="silent", pace=pace) as robot:
        code, said = listen(robot, model_file, capsys, "--out", str(out))
    assert code == 0 and said[-1]["outcome"] == "ended by Ctrl-C"
    assert load(out).outcome == "ended by Ctrl-C" and subscription(robot.sent) in LINES


def test_options_of_logs_and_of_robots_are_not_mixed(model_file, capsys, tmp_path):
    model = str(model_file)
    for words, said in (
        (["--model", model], "name a LOG"),
        (["run.csv", "--model", model, "--every", "1"], "--every goes with --wire"),
        (["run.csv", "--wire", "127.0.0.1", "--model", model], "a robot is no log"),
    ):
        assert run(["feel", *words]) == 2
        assert said in capsys.readouterr().err
    run(["feel", "--help"])
    assert "Not a safety function" in " ".join(capsys.readouterr().out.split())
