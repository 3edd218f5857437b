# SPDX-License-Identifier: Apache-2.0
"""The studio's mirror of a robot on the wire: what it shows and feels, how old it says that is; it only listens."""

from __future__ import annotations

import json
import threading
import time
from functools import cache

import numpy as np
import pytest

from armwright.cli.app import run
from armwright.errors import InputError
from armwright.identify import Bands, Identified, feel
from armwright.live.sample_age import SampleAge
from armwright.recording.formats import load
from armwright.studio.mirror_arm import MirrorArm, WireHost
from armwright.studio.mirror_recording import MirrorRecording
from support.fake_robot import FakeRobot, subscription
from support.patience import PATIENCE, until
from support.simulated_logs import gear_friction, simulated_log, true_arm

LINES = ("VOS", "VvOS")  # version, recipe, start; and what controllers of protocol 2 are asked besides


@cache
def exact():
    """A model without errors, with bands."""
    bands = Bands(np.full(6, 0.3), np.ones(6), np.array([5.0, 5.0, 5.0, 2.0, 2.0, 2.0]))
    return Identified(true_arm(), np.full(6, 11.0), gear_friction(6), 0.1 * np.ones(6), (), (), (), bands=bands)


@cache
def log():
    """An arm at 125 Hz, pushed at the tool, still pushed at the end."""
    model = exact()
    t = np.arange(501) / 125.0
    size = np.where(t > 2.5, np.minimum(1.0, 2.0 * (t - 2.5)), 0.0)
    wrench = np.outer(size, [30.0, -25.0, 35.0, 0.0, 0.0, 0.0])
    return simulated_log(model.robot, model.friction, model.gains, 4.0, noise=0.05, rate=125.0, wrench=wrench)


def samples():
    one = log()
    return list(zip(one.t.tolist(), one.q, one.qd, one.current, strict=True))


def read(frame):
    """Return a frame's parts by name."""
    values = np.frombuffer(frame, "<f4").astype(float)
    n = int(values[5])
    out = {"t": values[0], "level": values[2], "alarm": values[3] >= 0.0, "truth": values[6]}
    ends = np.cumsum([7, n, n, n, n, n, 3, 3, 5])
    names = ("q", "felt", "band", "use", "given", "force", "half", "modes")
    return out | {name: values[a:b] for name, a, b in zip(names, ends[:-1], ends[1:], strict=True)}


class Mirrored:
    """A mirror of a fake robot, its frames and touches."""

    def __init__(self, robot, identified=None):
        self.frames, self.touches, self.said = [], [], []
        wire = WireHost("127.0.0.1", robot.port, identified)
        self.arm = MirrorArm(true_arm(), wire, self.frames.append, self._changed, self.touches.append)
        self.arm.watched(True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.arm.close()

    def _changed(self, trouble):
        self.said.append(self.arm.said if hasattr(self, "arm") else "")

    @property
    def last(self):
        return read(self.frames[-1])

    def until(self, condition, what):
        until(lambda: bool(self.frames) and condition(self.last), what)


def test_it_shows_and_feels_what_a_log_of_it_would_and_sends_nothing_but_the_subscription(tmp_path, monkeypatch):
    monkeypatch.setattr("armwright.studio.mirror_arm.SILENCE", PATIENCE)  # it dials once, however long this takes
    kept = []
    with FakeRobot(samples(), end="silent") as robot, Mirrored(robot, exact()) as mirror:
        mirror.until(lambda last: np.allclose(last["q"], log().q[-1], atol=1e-6), "the last sample is shown")
        until(lambda: mirror.touches, "the touch is told")
        last = mirror.last
        expected = feel(exact(), log(), isolate=False).ticks
        assert last["truth"] == 0.0 and last["alarm"]
        np.testing.assert_allclose(last["felt"], expected.tau_ext[-1], atol=1e-4)
        np.testing.assert_allclose(last["force"], expected.wrench[-1, :3], atol=1e-3)
        np.testing.assert_allclose(last["half"], expected.half[-1, :3], rtol=1e-4)
        assert np.isfinite(last["use"]).all() and np.isfinite(last["given"]).all()
        assert last["modes"][1:4].tolist() == [7.0, 1.0, 2.0] and last["modes"][4] == 1.0
        assert mirror.arm.sent == len(robot.sent) and subscription(robot.sent) in LINES
        recording = MirrorRecording(tmp_path, mirror.arm.robot, mirror.arm.facts(), kept.append)
        mirror.arm.order(lambda: mirror.arm.record(recording)).result()
        with pytest.raises(InputError, match="runs already"):
            mirror.arm.order(lambda: mirror.arm.record(recording)).result()
    assert kept[0].rows == 0 and not list(tmp_path.iterdir())  # nothing came: nothing is left


def test_an_arm_that_says_nothing_more_grows_old_and_one_that_comes_back_is_shown_again(monkeypatch, tmp_path):
    monkeypatch.setattr("armwright.studio.mirror_arm.SILENCE", 0.2)
    monkeypatch.setattr("armwright.studio.mirror_arm.REDIAL", 0.05)
    some = [(t, q, qd, current) for t, q, qd, current in samples()[:100]]
    some[50] = (some[50][0], some[50][1] * np.nan, *some[50][2:])
    some.append((np.nan, *some[-1][1:]))
    some += [(t - 50.0, q, qd, current) for t, q, qd, current in samples()[100:150]]  # another clock
    kept = []
    with FakeRobot(some, end="hang up", pace=lambda robot: time.sleep(0.002)) as robot, Mirrored(robot) as mirror:
        mirror.until(lambda last: np.allclose(last["q"], some[-1][1], atol=1e-6), "the last sample is shown")
        recording = MirrorRecording(tmp_path, mirror.arm.robot, mirror.arm.facts(), kept.append)
        mirror.arm.order(lambda: mirror.arm.record(recording)).result()
        so_far = mirror.arm.connections
        until(lambda: mirror.arm.connections >= so_far + 2, "it is dialled again and again")
        recording = mirror.arm.order(lambda: mirror.arm.stop_recording("enough")).result()
        recording.done.result()
        assert all(np.isfinite(read(frame)["q"]).all() for frame in list(mirror.frames))
        assert np.isnan(mirror.last["felt"]).all() and np.isnan(mirror.last["level"])  # no model: nothing is invented
        counts = mirror.arm.state()["counts"]
    assert any("hung up" in said for said in mirror.said)
    assert set(subscription(robot.sent).replace("VvOS", "")) <= set("VvOS") and counts.keys() >= {"cycle", "restart"}
    assert counts["not finite"] >= 2
    whole = load(kept[0].file)
    assert whole.outcome == "recorded in the studio; enough" and len(whole.time) == kept[0].rows > 100


def test_a_silent_robot_is_told_by_its_age():
    with FakeRobot(samples()[:20], end="silent") as robot, Mirrored(robot) as mirror:
        mirror.until(lambda last: last["modes"][0] > 0.6, "the last sample is old")
        np.testing.assert_allclose(mirror.last["q"], samples()[19][1], atol=1e-6)


def test_samples_that_were_held_up_are_old_when_they_come():
    age = SampleAge()
    offset = 1000.0
    for k in range(200):
        made = age.made(0.008 * k, offset + 0.008 * k + 0.001 * (k % 3))
        assert offset <= made - 0.008 * k + 1e-9 < offset + 0.0021
    came = offset + 0.008 * 240  # 40 samples at once, the oldest 0.32 s old
    for k in range(200, 240):
        assert age.made(0.008 * k, came) == pytest.approx(offset + 0.008 * k, abs=1e-9)
    assert age.made(np.nan, 5.0) == 5.0


def test_on_a_page_the_arm_can_be_looked_at_and_nothing_else(tmp_path):
    pytest.importorskip("starlette", reason="the studio needs armwright[studio]")
    from support.studio import Page, running_studio

    with FakeRobot(samples(), pace=lambda robot: time.sleep(0.004)) as robot:
        wire = WireHost("127.0.0.1", robot.port, exact())
        with running_studio("ur5", tmp_path, wire) as running:
            page = Page(running)
            state = page.greeting["ok"]["live"]
            assert state["kind"] == "wire" and state["felt"] and state["address"] == robot.address
            page.ask("watch", live=True)
            for order, fields in (
                ("goal", {"q": [0.0] * 6}),
                ("pull", {"body": 2, "point": [0, 0, 0], "target": [0, 0, 1], "stiffness": 100.0}),
                ("speed", {"value": 0.0}),
                ("reset", {}),
                ("robot", {"name": "ur10"}),
                ("law", {"law": "free", "knows": True}),
            ):
                assert "only looked at" in page.ask(order, **fields)["error"], order
            assert page.ask("record", on=True)["ok"] == {}
            page.until("touch")
            assert "number" in page.ask("record", on=False)["ok"]
            page.close()
    assert subscription(robot.sent).replace("VvOS", "").replace("VOS", "") == ""


def test_options_of_the_mirror_and_what_its_help_says_first(capsys):
    for words, said in (
        (["--model", "arm.json"], "go with --wire"),
        (["--wire", "127.0.0.1", "--payload", "1.2"], "goes with --model"),
        (["--wire", "127.0.0.1:x"], "expected HOST"),
    ):
        assert run(["studio", *words, "--json"]) == 2
        assert said in json.loads(capsys.readouterr().out)["error"]["message"]
    run(["studio", "--help"])
    assert "Not a safety function" in " ".join(capsys.readouterr().out.split())


def test_in_a_browser_a_robot_that_is_silent_is_grey_with_the_time_since_it_was_seen(browser):
    pytest.importorskip("starlette", reason="the studio needs armwright[studio]")
    from support.browser import watched_page
    from support.studio import running_studio

    def true(page, expression):
        until(lambda: page.evaluate(expression), expression)

    quiet = threading.Event()
    endless = [(0.008 * k, *samples()[k % 500][1:]) for k in range(100_000)]

    def pace(robot):
        time.sleep(0.004)
        while quiet.is_set() and not robot.played.is_set():
            robot.played.wait(0.1)

    with (
        FakeRobot(endless, pace=pace) as robot,
        running_studio("ur5", wire=WireHost("127.0.0.1", robot.port, exact())) as running,
        watched_page(browser, own=(running.base, running.base.replace("http", "ws"), "data:", "blob:")) as page,
    ):
        page.goto(running.owner)
        true(page, "globalThis.__studio?.tab === globalThis.__studio?.tabs?.live && __studio.tab.last")
        true(page, "[...document.querySelectorAll('#greyed button')].filter((b) => b.disabled).length === 7")
        true(page, "document.getElementById('age').textContent.startsWith('seen ')")
        true(page, "document.getElementById('force').textContent.includes('±')")
        quiet.set()
        true(page, "/^last seen [0-9.]+ s ago$/.test(document.getElementById('age').textContent)")
        assert "last seen" in page.evaluate("document.getElementById('hint').textContent")
        true(page, "document.getElementById('wire').textContent.includes('no sample')")
        page.click("#tabs >> text=Robot")
        assert page.evaluate(
            "[...document.querySelectorAll('#left button')].find((b) => b.textContent.includes('Send')).disabled"
        )
        robot.played.set()
        quiet.clear()
