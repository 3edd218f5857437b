# SPDX-License-Identifier: Apache-2.0
"""``armwright monitor --wire``: a robot that follows a plan is on it with the plan's use; what is not is told."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import armwright as aw
from armwright.cli.app import run
from armwright.live.program_watch import watched_plan
from armwright.recording.formats import load
from support.fake_robot import FakeRobot, subscription
from support.patience import PATIENCE

RATE = 0.008
PROGRAM = """def job():
  movej([0, -1.57, 1.57, -1.57, -1.57, 0], a=1.4, v=1.05)
  movej([0.5, -1.3, 1.7, -1.9, -1.57, 0.3], a=1.4, v=1.05)
  sleep(0.4)
  movej([0, -1.57, 1.57, -1.57, -1.57, 0], a=1.4, v=1.05)
end
"""


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine is no silent robot."""
    for name in ("SILENCE", "FIRST_PATIENCE"):
        monkeypatch.setattr(f"armwright.cli.feel_wire.{name}", PATIENCE)


@cache
def plan():
    return watched_plan(aw.run_program(aw.load("ur5"), PROGRAM))


def samples(times, start=100.0):
    """A robot whose targets are the plan's at these of its times; it lags by one sample."""
    q = plan().q
    target = np.stack([np.interp(times, plan().dt * np.arange(len(q)), q[:, j]) for j in range(6)], axis=1)
    behind = np.concatenate([target[:1], target[:-1]])
    still = np.zeros(6)
    return [(start + RATE * k, behind[k], still, still, {"target_q": target[k]}) for k in range(len(times))]


def watch(robot, tmp_path, capsys, *words):
    file = tmp_path / "job.script"
    file.write_text(PROGRAM, encoding="utf-8")
    code = run(["monitor", "--wire", robot.address, "--program", str(file), "--json", "--every", "0", *words])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines() if line]


def whole(pace=1.0):
    length = plan().begins[-1]
    return np.concatenate([np.zeros(40), np.arange(0.0, length, pace * RATE), np.full(80, length)])


def test_a_robot_that_follows_the_plan_uses_its_motors_as_planned(tmp_path, capsys):
    out = tmp_path / "run.mcap"
    with FakeRobot(samples(whole()), end="silent") as robot:
        code, said = watch(robot, tmp_path, capsys, "--out", str(out))
    assert code == 0 and said[-1]["outcome"] == "the program's end" and subscription(robot.sent) in ("VOS", "VvOS")
    moves = [line for line in said if line.get("event") == "move over"]
    assert [line["move"] for line in moves] == [2, 3, 4]
    for line in moves:
        assert line["took"] == pytest.approx(
            line["planned"], abs=0.4 if line["move"] == 4 else 0.03
        )  # 4 ends by standing
    np.testing.assert_allclose(said[-1]["largest"], said[-1]["planned_largest"], rtol=0.1, atol=0.01)
    assert said[-1]["farthest"] < 1e-4
    recording = load(out)
    assert recording.outcome == "the program's end" and len(recording.time) == said[-1]["rows"]
    on = (recording["late"] == recording["late"]) & (recording["plan_time"] > 0.1)
    assert np.abs(recording["plan_q"] - recording["q_ref"])[on].max() < 0.02
    assert np.nanmax(np.abs(recording["late"][:-40])) < 0.05


def test_a_slower_robot_is_late_and_one_that_hangs_up_is_lost_with_its_recording(tmp_path, capsys):
    out = tmp_path / "cut.csv"
    times = whole(0.8)
    with FakeRobot(samples(times[: np.searchsorted(times, 1.1)])) as robot:  # the end of its first move
        code, said = watch(robot, tmp_path, capsys, "--out", str(out))
    assert code == 1 and said[-1]["outcome"].startswith("lost")
    last = [line for line in said if line.get("state") == "on" and line["move"] == 2][-1]
    assert last["late"] == pytest.approx(0.25 * last["planned"], rel=0.1)
    assert last["joint"] == "shoulder_pan" or last["use"][0] > 0.0
    assert load(out).outcome.startswith("lost")


class AfterThat:
    """A clock that stands until a robot has played everything, so that all is heard however busy the machine is."""

    def __init__(self, robot):
        self.robot, self.now = robot, 0.0

    def monotonic(self):
        self.now += 0.1 * self.robot.played.is_set()
        return self.now


def test_a_robot_elsewhere_is_waited_for_and_the_time_ends_it(tmp_path, capsys, monkeypatch):
    still = [(1.0 + RATE * k, np.full(6, 0.3), np.zeros(6), np.zeros(6)) for k in range(60)]
    with FakeRobot(still, end="silent") as robot:
        monkeypatch.setattr("armwright.cli.feel_wire.time", AfterThat(robot))
        code, said = watch(robot, tmp_path, capsys, "--duration", "0.3")
    assert code == 0 and said[-1]["outcome"] == "end"
    rows = [line for line in said if "state" in line]
    assert {line["state"] for line in rows} == {"waiting"} and rows[-1]["late"] is None


def test_its_help_says_what_it_is_not(capsys):
    run(["monitor", "--help"])
    assert "Not a safety function" in " ".join(capsys.readouterr().out.split())
