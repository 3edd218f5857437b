# SPDX-License-Identifier: Apache-2.0
"""The page in which an arm lives: its numbers are the strict loop's, and a mouse can pull it in a real browser."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.contact.contact_model import contact_pairs, touches
from armwright.contact.monitor import Monitor
from armwright.contact.observers import momentum_observer
from armwright.contact.wrench_estimate import LEVER_DAMPING
from armwright.control import computed_torque
from armwright.errors import InputError
from armwright.graph.loop import CompiledLoop
from armwright.graph.tick_program import OUT
from armwright.simulation.arm_page import arm_page
from armwright.simulation.pulled_link import Pulled, posture, truth_kernel
from armwright.world import World
from armwright.world.shapes import HalfSpace, Mesh, Sphere
from support.browser import watched_page
from support.patience import until
from support.wasm import WasmRun, run_wasm

ROBOT = aw.load("ur5")
FOREARM = 2
POINT = (0.2, 0.0, 0.0)
WEDGE = Mesh(
    name="wedge",
    vertices=((0, 0, 9), (1, 0, 9), (0, 1, 9), (0, 0, 10)),
    triangles=((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)),
)
ROOM = World(
    shapes=(
        HalfSpace(name="floor", point=(0.0, 0.0, 0.0)),
        Sphere(name="ball", centre=(0.1, 0.5, 0.3), radius=0.1),
    )
)
PULL = {"held": np.eye(6)[FOREARM], "anchor": POINT, "target": (0.1, 0.6, 0.5), "spring": (400.0, 40.0)}


@pytest.fixture(scope="module")
def made():
    return arm_page("ur5")


@pytest.fixture(scope="module")
def page(browser, made, tmp_path_factory):
    file = made.write(tmp_path_factory.mktemp("arm") / "ur5.html")
    with watched_page(browser) as page:
        page.goto(file.as_uri())
        page.wait_for_selector("#arm[data-ready]")
        page.evaluate("__arm.endShow()")
        yield page


def twin(plan, rows, start, names):
    """The strict loop of a plan, with the look at the forces in every tick: what it records, by slot."""
    stages = tuple(replace(part, when="before") for part in plan.stages)
    plan = replace(plan, record=tuple(names), stages=stages)
    loop = CompiledLoop(plan, strict=True)
    for name, value in start.items():
        loop.set(name, np.ravel(value))
    record = loop.run(len(rows), shared=rows)[0][0]
    ends = np.cumsum([0, *(plan.slots[name] for name in names)])
    return {name: record[:, a:b] for name, a, b in zip(names, ends[:-1], ends[1:], strict=True)}


def given(made, ticks=600, **inputs):
    """Rows of the inputs of a page, of which the first 20 ticks are free."""
    starts = made.program.starts
    rows = {port.name: np.tile(np.ravel(starts[port.name]), (ticks, 1)) for port in made.program.inputs}
    for name, value in inputs.items():
        rows[name][20:] = np.reshape(value, (-1, rows[name].shape[1]))
    return np.hstack([rows[name] for name in made.plan.shared])


def test_ticks_and_forces_are_the_strict_loop_to_the_last_bit(made, tmp_path):
    rows = given(made, **PULL)
    names = ["q", "qd", "grip", "pull", "torque", "felt", "place", f"{OUT}alarm", f"{OUT}tau_ext"]
    plan = replace(made.plan, record=tuple(names))
    (record,) = run_wasm([WasmRun(plan, rows, made.program.starts)], tmp_path)
    expected = twin(made.plan, rows, made.program.starts, names)
    np.testing.assert_array_equal(record, np.hstack(list(expected.values())))
    hand = [np.array(PULL[name], dtype=float) for name in ("held", "anchor", "target", "spring")]
    q, qd, tau = (expected[name][-1] for name in ("q", "qd", f"{OUT}tau_ext"))
    truth = Pulled(*truth_kernel(ROBOT)(q, qd, *hand))
    np.testing.assert_allclose(expected["grip"][-1], truth.point, atol=1e-12)
    np.testing.assert_allclose(expected["pull"][-1], truth.force, atol=1e-9)
    np.testing.assert_allclose(expected["torque"][-1], truth.torque, atol=1e-9)
    np.testing.assert_allclose(tau, truth.torque, atol=0.1)
    # the force at the grip that explains best what the joints feel
    step = 1e-6 * np.eye(6)
    J = (
        np.array([truth_kernel(ROBOT)(q + h, qd, *hand)[0] - truth_kernel(ROBOT)(q - h, qd, *hand)[0] for h in step]).T
        / 2e-6
    )
    best = np.linalg.solve(J @ J.T + LEVER_DAMPING**2 * np.eye(3), J @ tau)
    np.testing.assert_allclose(expected["felt"][-1], best, rtol=1e-5, atol=1e-5)
    assert expected[f"{OUT}alarm"][-1] > 0.0 > expected[f"{OUT}alarm"][19]


@pytest.mark.thorough
@pytest.mark.parametrize("world", [None, ROOM], ids=["free", "floor and ball"])
def test_ten_seconds_are_the_strict_loop_to_the_last_bit(world, tmp_path):
    """Every number of every tick, while the hand leads the arm around, into the shapes of the world if there is one."""
    made = arm_page(ROBOT, world=world)
    t = np.arange(10_000) * made.program.period
    way = np.stack([0.5 + 0.2 * np.sin(0.9 * t), np.full(len(t), 0.2), 0.5 * np.cos(1.3 * t)], axis=1)
    by_the_tool = {"held": np.eye(6)[5], "anchor": (0.0, 0.0, 0.0), "target": way[20:]}
    rows = given(made, len(t), **PULL | by_the_tool)
    names = ["q", "qd", "torque", "felt", "touch", f"{OUT}alarm", f"{OUT}tau_ext", f"{OUT}level"]
    plan = replace(made.plan, record=tuple(names))
    (record,) = run_wasm([WasmRun(plan, rows, made.program.starts)], tmp_path)
    expected = twin(made.plan, rows, made.program.starts, names)
    np.testing.assert_array_equal(record, np.hstack(list(expected.values())))
    alarms = (expected[f"{OUT}alarm"] >= 0.0).sum()
    assert 0 < alarms < len(t)
    assert (world is not None) == bool(np.abs(expected["touch"]).max() > 1.0)


def test_shapes_push_back(tmp_path):
    """Pulled onto a floor and past a ball, the arm is stopped by them; the force is that of the contact model."""
    made = arm_page(ROBOT, world=ROOM)
    pull = {**PULL, "held": np.eye(6)[5], "anchor": (0.0, 0.0, 0.0), "target": (0.7, 0.2, -0.5)}
    rows = given(made, **pull)
    names = ["q", "qd", "touch", "touched", "torque", "pull"]
    (record,) = run_wasm([WasmRun(replace(made.plan, record=tuple(names)), rows, made.program.starts)], tmp_path)
    got = twin(made.plan, rows, made.program.starts, names)
    np.testing.assert_array_equal(record, np.hstack(list(got.values())))
    q, qd = got["q"][-1], got["qd"][-1]
    found = [touch for _, touch in touches(ROBOT, q, qd, contact_pairs(ROBOT, ROOM))]
    total = sum(touch.force for touch in found)
    assert total[2] > 20.0
    np.testing.assert_allclose(got["touch"][-1], total, rtol=1e-9, atol=1e-9)
    assert got["touched"][-1][2] == pytest.approx(0.0, abs=1e-3)
    assert max(touch.depth for touch in found) < 5e-3


def test_sizes(made):
    assert made.figures["module"] <= 20_000
    assert made.figures["page"] <= 1_000_000


def test_pulled_by_the_mouse_it_yields_feels_it_and_comes_back(page):
    page.evaluate("__arm.reset()")
    before = np.array(page.evaluate("__arm.state().q"))
    x, y = page.evaluate(
        "([b, p]) => __arm.scene.project(__arm_at(b, p))".replace("__arm_at(b, p)", AT), [FOREARM, POINT]
    )
    page.mouse.move(x, y)
    page.mouse.down()
    assert page.evaluate("__arm.state().held") == FOREARM
    page.mouse.move(x + 60.0, y + 70.0, steps=4)
    page.evaluate("__arm.run(1500)")
    pulled = page.evaluate("__arm.state()")
    assert np.abs(np.array(pulled["q"]) - before).max() > 0.05
    true, felt = np.array(pulled["true"]), np.array(pulled["felt"])
    assert np.linalg.norm(true) > 20.0
    assert np.linalg.norm(felt - true) < 0.1 * np.linalg.norm(true)
    assert pulled["alarm"] and pulled["link"] == FOREARM
    assert page.locator('[data-part="verdict"]').inner_text() == "Contact felt at the forearm or beyond"
    page.mouse.up()
    page.evaluate("__arm.run(3000)")
    free = page.evaluate("__arm.state()")
    assert free["held"] is None and not free["alarm"]
    np.testing.assert_allclose(free["q"], before, atol=1e-3)
    assert page.locator('[data-part="verdict"]').inner_text() == "No contact felt"


AT = (
    "((T) => [0, 4, 8].map((r) => T[r] * p[0] + T[r + 1] * p[1] + T[r + 2] * p[2] + T[r + 3]))"
    "(__arm.scene.poses.links[b])"
)


def test_it_is_simulated_in_real_time_until_it_is_paused(page):
    began = page.evaluate("__arm.state().time")
    until(lambda: page.evaluate("__arm.state().time") > began + 0.2, "time goes on")
    page.get_by_role("button", name="Pause").click()
    halted = page.evaluate("__arm.state().time")
    page.wait_for_timeout(100)
    assert page.evaluate("__arm.state().time") == halted
    page.get_by_role("button", name="Go on").click()
    assert page.evaluate("__arm.state().speed") == 1


def test_gains_change_what_a_pull_does(page):
    def bent(frequency):
        page.evaluate("__arm.reset()")
        slider = page.get_by_label("Stiffness", exact=True)
        slider.fill(str(frequency))
        page.evaluate("__arm.hold({ body: 2, point: [0.2, 0, 0], target: [0.1, 0.6, 0.5] }); __arm.run(1500)")
        return np.abs(np.array(page.evaluate("__arm.state().q")) - posture(ROBOT)).max()

    soft, stiff = bent(4), bent(24)
    page.evaluate("__arm.reset()")
    assert soft > 2.0 * stiff > 0.0


def test_a_payload_that_the_controller_does_not_know_is_felt_as_a_force(page):
    page.evaluate("__arm.reset()")
    page.get_by_label("Payload", exact=True).fill("2")
    page.evaluate("for (let k = 0; k < 40; k++) __arm.run(50)")
    assert np.linalg.norm(page.evaluate("__arm.state().felt")) < 0.1
    page.get_by_label("The controller knows the payload").uncheck()
    page.evaluate("for (let k = 0; k < 40; k++) __arm.run(50)")
    state = page.evaluate("__arm.state()")
    np.testing.assert_allclose(state["felt"], [0.0, 0.0, -2.0 * 9.81], atol=0.5)
    assert state["alarm"] and np.linalg.norm(state["true"]) == 0.0
    assert page.locator('[data-part="verdict"]').inner_text() == "It takes its payload for a contact"
    page.get_by_label("The controller knows the payload").check()
    page.get_by_label("Payload", exact=True).fill("0")
    page.evaluate("__arm.reset()")


def test_on_the_move_it_stops_when_it_is_touched(page):
    page.evaluate("__arm.reset()")
    page.get_by_role("button", name="Move", exact=True).click()
    page.evaluate("for (let k = 0; k < 20; k++) __arm.run(50)")
    moved = page.evaluate("__arm.state()")
    assert moved["moving"] and not moved["alarm"]
    assert np.abs(np.array(moved["q"]) - posture(ROBOT)).max() > 0.05
    page.evaluate("__arm.nudge(0, -4, 0); for (let k = 0; k < 20; k++) __arm.run(50)")
    assert not page.evaluate("__arm.state().moving")
    assert page.locator('[data-part="verdict"]').inner_text().startswith("Stopped: contact felt")
    page.evaluate("__arm.letGo(); __arm.run(2000); __arm.reset()")


def test_everything_can_be_done_by_keys(page):
    page.evaluate("__arm.reset()")
    page.locator("canvas").first.focus()
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    assert page.evaluate("__arm.state().held") == ROBOT.tip
    page.evaluate("__arm.run(500)")
    assert page.evaluate("__arm.state().true")[2] < -5.0  # down in the picture is down in the room
    page.keyboard.press("Escape")
    assert page.evaluate("__arm.state().held") is None
    page.keyboard.press(" ")
    assert page.evaluate("__arm.state().speed") == 0
    page.keyboard.press(" ")
    names = []
    for _ in range(24):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.innerText"))
    assert {"Move", "Pause", "Reset", "Pull left", "Let go"} <= set(names)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_follows_the_system_and_shows_by_itself_what_can_be_done(browser, made, tmp_path, scheme):
    file = made.write(tmp_path / "arm.html")
    with watched_page(browser, viewport={"width": 390, "height": 844}, color_scheme=scheme, has_touch=True) as page:
        page.goto(file.as_uri())
        page.wait_for_selector("#arm[data-ready]")
        assert page.evaluate("__arm.state().theme") == scheme
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        until(lambda: page.evaluate("__arm.state().held") is not None, "a hand takes it")
        page.get_by_label("Light or dark").click()
        assert page.evaluate("__arm.state().theme") != scheme


def test_the_page_may_reach_nothing(made):
    rules = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', made.text).group(1)
    assert "default-src &#x27;none&#x27;" in rules and "connect-src" not in rules and "http" not in rules


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"monitors": (Monitor("load", lambda tau: {"load": tau}, outputs=("load",)),)}, "no observer"),
        ({"q0": [0.0]}, "q0 must be"),
        ({"frequency": 0.0}, "frequency must be positive"),
        ({"law": 3}, "law"),
        ({"world": World(shapes=(WEDGE,))}, "has a mesh"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(InputError, match=words):
        arm_page(ROBOT, **options)


def test_other_laws_and_arms():
    free = arm_page("planar2", computed_torque(100.0, 20.0), (momentum_observer(30.0),))
    assert f"{OUT}alarm" not in free.plan.slots
