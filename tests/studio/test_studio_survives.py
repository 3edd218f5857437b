# SPDX-License-Identifier: Apache-2.0
"""Whatever pages do, come, leave or break, the simulation goes on, and a recording is whole."""

from __future__ import annotations

import random
from concurrent.futures import CancelledError

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the studio needs armwright[studio]")
pytest.importorskip("uvicorn", reason="the studio needs armwright[studio]")
pytest.importorskip("websockets", reason="the studio needs armwright[studio]")

from websockets.exceptions import ConnectionClosed

import armwright as aw
from armwright.errors import ArmwrightError
from armwright.studio.live_arm import LiveArm
from armwright.studio.live_recording import RECORDED_TICKS
from armwright.studio.pulled_arm import PULL_RATE
from support.patience import PATIENCE
from support.studio import Page, running_studio


@pytest.fixture(scope="module")
def robot():
    return aw.load("planar2")


@pytest.fixture
def arm(robot):
    told = []
    arm = LiveArm(robot, lambda frame: None, changed=told.append)
    arm.told = told
    yield arm
    arm.close()


def ticks_on(arm):
    """Wait until the arm has gone on."""
    before = arm.ticks
    arm.watched(True)
    while arm.ticks <= before:
        arm.order(lambda: None).result(PATIENCE)


def test_orders_that_were_cancelled_end_nothing(arm):
    done = []
    arm.watched(True)
    for k in range(200):
        future = arm.order(lambda k=k: done.append(k))
        if k % 2:
            future.cancel()
        try:
            future.result(PATIENCE)
        except CancelledError:
            assert k not in done
    assert set(range(0, 200, 2)) <= set(done)
    ticks_on(arm)


def test_a_defect_in_an_order_is_told_to_whoever_gave_it(arm):
    with pytest.raises(ZeroDivisionError):
        arm.order(lambda: 1 / 0).result(PATIENCE)
    ticks_on(arm)


def test_a_defect_in_a_tick_is_told_and_a_reset_goes_on(arm, monkeypatch):
    arm.order(lambda: monkeypatch.setattr(arm, "_listen", lambda: 1 / 0)).result(PATIENCE)
    arm.watched(True)
    while not arm.error:
        arm.order(lambda: None).result(PATIENCE)
    assert "ZeroDivisionError" in arm.error and arm.told == [arm.error]  # once, not with every pass
    arm.order(monkeypatch.undo).result(PATIENCE)
    arm.order(arm.reset).result(PATIENCE)
    assert arm.error == ""
    ticks_on(arm)


def test_a_frame_that_cannot_be_published_is_told_and_the_arm_goes_on(arm, monkeypatch):
    arm.order(lambda: monkeypatch.setattr(arm, "_publish", lambda frame: 1 / 0)).result(PATIENCE)
    arm.watched(True)
    while not arm.told:
        arm.order(lambda: None).result(PATIENCE)
    ticks_on(arm)
    assert len(arm.told) == 1 and "ZeroDivisionError" in arm.told[0] and not arm.error


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # that is what is tested
def test_orders_to_a_simulation_that_has_ended_fail_at_once(arm):
    def leave():
        raise SystemExit

    with pytest.raises(SystemExit):
        arm.order(leave).result(PATIENCE)
    for _ in range(3):
        with pytest.raises(ArmwrightError, match="start the studio again"):
            arm.order(lambda: None).result(PATIENCE)


ORDERS = (
    lambda r: ("goal", {"q": [r.uniform(-1, 1), r.uniform(-1, 1)]}),
    lambda r: ("goal", {"q": [0.0]}),
    lambda r: (
        "pull",
        {"body": 1, "point": [0.1, 0, 0], "target": [r.uniform(-1, 1), r.uniform(-1, 1), 0], "stiffness": 300},
    ),
    lambda r: ("pull", {"body": 77, "point": [0, 0, 0], "target": [0, 0, 0], "stiffness": 300}),
    lambda r: ("release", {}),
    lambda r: ("motion", {"kind": r.choice(["hold", "sway", "dance"])}),
    lambda r: ("speed", {"value": r.choice([0.0, 0.5, 1.0])}),
    lambda r: ("step", {"ticks": r.randint(1, 20)}),
    lambda r: ("tune", {"frequency": r.uniform(1, 20), "damping": r.uniform(0.3, 2)}),
    lambda r: ("plant", {"payload": r.uniform(0, 2), "friction": r.uniform(0, 1)}),
    lambda r: ("reset", {}),
    lambda r: ("record", {"on": True}),
    lambda r: ("watch", {"live": r.random() < 0.8}),
    lambda r: ("look", {"q": [r.uniform(-1, 1), r.uniform(-1, 1)]}),
    lambda r: ("drew", {"count": r.randint(0, 1000)}),
    lambda r: ("nothing", {"of": "that kind"}),
)


def run_wild(orders, seed):
    """Give random orders from pages that come and leave; return the recording of it, and the ticks that it took."""
    r = random.Random(seed)
    with running_studio() as running:
        keeper = Page(running)
        keeper.ask("watch", live=True)
        arm = running.studio.arm
        assert keeper.ask("speed", value=0.0)["ok"] == {}
        begun = arm.ticks
        assert keeper.ask("record", on=True)["ok"] == {} and keeper.ask("speed", value=1.0)["ok"] == {}
        pages, given = [], 0
        while given < orders:
            if len(pages) < 4:
                page = Page(running)
                page.send("watch", live=True)
                pages.append(page)
            page = r.choice(pages)
            keeper.ask("drew", count=len(keeper.frames))  # it listens, and so stays
            try:
                if r.random() < 0.5:
                    what, fields = r.choice(ORDERS)(r)
                    page.ask(what, **fields)
                    given += 1
                else:
                    for _ in range(r.randint(1, 5)):  # as a pointer does, which nobody waits for
                        what, fields = r.choice(ORDERS)(r)
                        page.send(what, **fields)
                        given += 1
            except ConnectionClosed:  # it let its frames pile up and was shown out
                pages.remove(page)
                continue
            if r.random() < 0.15:
                pages.remove(page)
                (page.abort if r.random() < 0.6 else page.close)()
        for page in pages:
            page.abort()
        while len(running.studio.hub.clients) > 1:  # what they said last is done as well
            keeper.ask("drew", count=len(keeper.frames))
        assert keeper.ask("reset")["ok"] == {} and keeper.ask("speed", value=1.0)["ok"] == {}
        ticks_on(arm)
        assert arm.error == "" and keeper.ask("watch", live=True)["ok"]["live"]["recording"]
        assert keeper.ask("speed", value=0.0)["ok"] == {}
        ticks = arm.ticks - begun
        number = keeper.ask("record", on=False)["ok"]["number"]
        recording = running.studio.shelf.recording(number)
        keeper.close()
        return recording, ticks


def check_whole(recording, ticks):
    assert len(recording) == ticks // RECORDED_TICKS > 1  # every row from the first tick to the last
    np.testing.assert_allclose(np.diff(recording.time), RECORDED_TICKS / PULL_RATE, atol=1e-9)
    assert recording.outcome == "recorded in the studio; stopped on the page"


def test_pages_that_come_leave_and_break_do_not_end_the_simulation():
    check_whole(*run_wild(300, 1))


@pytest.mark.thorough
def test_ten_thousand_random_orders():
    check_whole(*run_wild(10_000, 2))


def test_a_page_that_leaves_while_it_pulls_lets_go():
    with running_studio() as running:
        other, page = Page(running), Page(running)
        other.ask("watch", live=True)
        page.ask("watch", live=True)
        page.ask("pull", body=1, point=[0, 0, 0], target=[1, 1, 0], stiffness=300)
        while running.studio.arm.plant.body != 1:
            other.ask("look", q=[0, 0])
        page.abort()
        while running.studio.arm.plant.body != -1:
            assert other.ask("look", q=[0, 0])["ok"]
        other.close()
