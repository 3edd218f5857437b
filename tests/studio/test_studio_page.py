# SPDX-License-Identifier: Apache-2.0
"""The studio in a real browser: it shows the library's numbers, and what the mouse does is what is simulated."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the studio needs armwright[studio]")
pytest.importorskip("uvicorn", reason="the studio needs armwright[studio]")
pytest.importorskip("websockets", reason="the studio needs armwright[studio]")

import armwright as aw
from armwright.exploration.exploration import explore
from armwright.exploration.explore_options import Budget
from armwright.recording import Recording, Signal
from armwright.recording.formats.csv_format import meta_file
from armwright.simulation.pulled_link import posture
from armwright.studio.recordings_folder import kept_in
from armwright.world.world_catalogue import load_world
from armwright.world.world_file import world_from_text
from support.browser import watched_page
from support.patience import PATIENCE
from support.studio import running_studio

PROGRAM = Path(__file__).parents[2] / "examples" / "programs" / "ur5_weld.script"


def until(page, expression):
    """Wait until an expression is true on the page, and return its value; the page's policy forbids other ways."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = page.evaluate(expression)
        if value:
            return value
        page.wait_for_timeout(20)
    raise AssertionError(f"never true: {expression}")


def tab(page, name):
    page.click(f"#tabs >> text={name}")
    until(page, f"__studio.tab === __studio.tabs.{name.lower()}")


def message(page, words):
    """Wait for a message with these words, and return it whole; another may still be there."""
    seen = "document.getElementById('message')"
    return until(page, f"!{seen}.hidden && {seen}.textContent.includes({words!r}) && {seen}.textContent")


def tool(page):
    return np.array(page.evaluate("__studio.scene.poses.tool")).reshape(4, 4)


@pytest.fixture(scope="module")
def running():
    with running_studio("ur5") as studio:
        yield studio


@pytest.fixture(scope="module")
def page(browser, running):
    own = (running.base, running.base.replace("http", "ws"), "blob:", "data:")
    with watched_page(browser, own) as page:
        page.goto(running.owner)
        until(page, "globalThis.__studio?.ready && __studio.tabs.robot.seen")
        page.evaluate("__studio.shownFor = 1e8")  # slow machines have to see messages, too
        yield page


@pytest.fixture
def robot(running):
    return running.studio.robot


def test_first_arm_stands_where_the_library_says(page, running, robot):
    assert page.evaluate("__studio.role") == "owner"
    np.testing.assert_allclose(tool(page), aw.fk(robot, posture(robot)), atol=1e-6)
    assert running.studio.token not in page.content()


def test_jogging_moves_the_arm_and_shows_the_librarys_numbers(page, robot):
    tab(page, "Robot")
    slider = page.locator("#left .slider input[type=range]").nth(1)
    before = np.array(page.evaluate("__studio.tab.q"))
    slider.focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    q = np.array(page.evaluate("__studio.tab.q"))
    np.testing.assert_allclose(q - before, [0, np.deg2rad(2.0), 0, 0, 0, 0], atol=1e-3)
    np.testing.assert_allclose(tool(page), aw.fk(robot, q), atol=1e-6)
    until(page, "__studio.tab.seen.q.every((x, i) => Math.abs(x - __studio.tab.q[i]) < 1e-12)")
    seen = page.evaluate("__studio.tab.seen")
    np.testing.assert_allclose(seen["M"], aw.mass_matrix(robot, q), atol=1e-12)
    np.testing.assert_allclose(seen["g"], aw.gravity_torque(robot, q), atol=1e-12)
    np.testing.assert_allclose(seen["J"], aw.jacobian(robot, q), atol=1e-12)
    np.testing.assert_allclose(np.prod(seen["half_lengths"]), seen["manipulability"], rtol=1e-9)
    np.testing.assert_allclose(np.multiply(seen["half_lengths"], seen["force_half_lengths"]), 1.0, rtol=1e-9)


def test_every_branch_has_the_same_tool_pose(page):
    tab(page, "Robot")
    page.evaluate("__studio.tab.setQ(__studio.posture)")
    until(page, "__studio.tab.seen.q.every((x, i) => Math.abs(x - __studio.posture[i]) < 1e-12)")
    here = tool(page)
    page.click("text=Find all branches")
    count = until(page, "__studio.tab.branches.length")
    assert count == 8
    seen = []
    for k in range(count):
        page.locator(".branches button").nth(k).click()
        np.testing.assert_allclose(tool(page), here, atol=1e-6)
        seen.append(tuple(np.round(page.evaluate("__studio.tab.q"), 6)))
    assert len(set(seen)) == 8


def test_handle_moves_the_tool_there(page):
    tab(page, "Robot")
    page.evaluate("__studio.tab.setQ(__studio.posture)")
    there = tool(page)[:3, 3] + [0.03, -0.02, 0.04]
    page.evaluate(
        "({p, r}) => __studio.tab.reach({position: p, rotation: r})", {"p": there.tolist(), "r": [1.0, 0.2, 0.1]}
    )
    until(page, f"Math.abs(__studio.scene.poses.tool[3] - {there[0]}) < 1e-6")
    np.testing.assert_allclose(tool(page)[:3, 3], there, atol=1e-6)


def test_pulling_with_the_mouse_is_felt_with_the_right_size_and_link(page, robot):
    tab(page, "Live")
    until(page, "__studio.tab.last")
    forearm = 2
    at = page.evaluate(
        """async () => {
          const { transform } = await import("/shared/kinematics.js"), { spec, poses, project } = __studio.scene;
          const long = (c) => Math.hypot(...c.end.map((x, i) => x - c.start[i])) > 0.2;
          const { start, end } = spec.capsules.find((c) => c.body === 2 && long(c));
          return project(transform(poses.links[2], start.map((x, i) => x + 0.7 * (end[i] - x))));
        }"""
    )
    assert page.evaluate("([x, y]) => __studio.scene.pick(x, y).body", at) == forearm
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + 30, at[1] + 20)
    page.mouse.move(at[0] + 70, at[1] + 50)
    begun = page.evaluate("__studio.tab.last.t")
    until(page, f"__studio.tab.last.t > {begun} + 2 && __studio.tab.last.body === {forearm}")
    until(page, f"__studio.tab.felt?.alarm && __studio.tab.felt.time > {begun} + 1.5")
    last, felt = page.evaluate("[__studio.tab.last, __studio.tab.felt]")
    page.mouse.up()
    force = np.array(last["force"])
    assert 5.0 < np.linalg.norm(force) < 300.0
    # the true torques are JᵀF of the point that is held, and the observer has found them
    point = np.array(last["point"])
    q = np.array(last["q"])
    J = aw.jacobian(robot, q, forearm)
    origin = aw.fk_all(robot, q)[forearm][:3, 3]
    expected = J[:3].T @ force + J[3:].T @ np.cross(point - origin, force)
    np.testing.assert_allclose(last["true"], expected, atol=1e-3 * np.abs(expected).max())
    np.testing.assert_allclose(last["felt"], last["true"], atol=0.02 * np.abs(expected).max())
    assert np.allclose(np.array(last["felt"])[3:], 0.0, atol=1e-3)  # joints beyond the link feel nothing
    assert "forearm" in [c["link"] for c in felt["candidates"]] and felt["true"]["link"] == "forearm"
    assert "tool_force" not in felt and "Tool force" not in page.inner_text("#right")
    until(page, "__studio.tab.last.body === -1")
    begun = page.evaluate("__studio.tab.last.t")
    until(page, f"__studio.tab.last.t > {begun} + 1")
    assert np.abs(page.evaluate("__studio.tab.last.felt")).max() < 0.05


def test_tool_force_is_shown_for_the_tool_and_stiction_is_said(page, running):
    tab(page, "Live")
    tip = running.studio.robot.tip
    page.evaluate(f"__studio.tab.pullBy({tip}, [0.03, 0.05, -0.08])")
    touched = f"__studio.tab.felt?.true?.body === {tip} && __studio.tab.felt.tool_force"
    begun = until(page, f"{touched} && __studio.tab.felt.time")  # from here on it settles, in the arm's own time
    felt = until(page, f"{touched} && __studio.tab.felt.time > {begun} + 0.5 && __studio.tab.felt")
    applied, found = np.array(felt["true"]["force"]), np.array(felt["tool_force"])
    assert np.linalg.norm(found - applied) < 0.2 * np.linalg.norm(applied)
    until(page, "document.getElementById('right').innerText.includes('Tool force')")
    page.evaluate("__studio.ask('release')")
    page.evaluate("__studio.ask('plant', { friction: 1 })")
    page.evaluate("__studio.ask('reset')")
    page.evaluate("__studio.tab.pullBy(2, [0, 0, -0.02])")
    hidden = until(page, "__studio.tab.felt?.hidden")
    assert hidden["felt"] < 0.8 * hidden["applied"]
    assert "Stiction hides force" in until(page, "document.querySelector('#stiction')?.textContent")
    page.evaluate(
        "Promise.all([__studio.ask('release'), __studio.ask('plant', { friction: 0 }), __studio.ask('reset')])"
    )


def test_pause_step_and_record(page, running):
    tab(page, "Live")
    page.click("#left >> text=Pause")
    until(page, "__studio.live.speed === 0")
    ticks = running.studio.arm.ticks
    page.click("#left >> text=Step")
    until(page, "!__studio.tab.last || __studio.tab.last.speed === 0")
    until_ticks = time.monotonic() + PATIENCE
    while running.studio.arm.ticks < ticks + 5 and time.monotonic() < until_ticks:  # the five are seen one by one
        page.wait_for_timeout(20)
    assert running.studio.arm.ticks == ticks + 5
    page.click("#left >> text=Go on")
    page.click("#left >> text=Record")
    begun = until(page, "__studio.live.recording && __studio.tab.last.t")
    until(page, f"__studio.tab.last.t > {begun} + 0.5")
    page.click("#left >> text=Stop recording")
    until(page, "!__studio.live.recording")
    kept = until(page, "__studio.ask('list').then(({ items }) => items[0])")
    recording = running.studio.shelf.recording(kept["number"])
    assert kept["kind"] == "recording" and recording.duration > 0.3 and recording["q"].shape[1] == 6


def test_what_was_recorded_is_listed_marked_and_removed_after_asking(page, running):
    cut, rows = running.studio.folder / "20260101T000000Z-ur5.csv", 50
    q = np.tile(posture(running.studio.robot), (rows, 1))
    Recording(0.01 * np.arange(rows), {"q": Signal(q, "rad")}, running.studio.robot).save(cut)
    head = meta_file(cut).read_text(encoding="utf-8").splitlines()[0]
    meta_file(cut).write_text(f"{head}\n", encoding="utf-8")  # as a killed studio leaves it
    running.studio.shelf.offer([file for file in kept_in(running.studio.folder) if file.path == cut])
    tab(page, "Live")
    page.click("#left >> text=Record")
    begun = until(page, "__studio.live.recording && __studio.tab.last.t")
    until(page, f"__studio.tab.last.t > {begun} + 0.2")
    page.select_option("#left select >> nth=0", "free")  # ends the recording, and says so
    assert "on the tab Recordings" in message(page, "The recording ended: the controller was changed")
    page.click("#message button")
    page.evaluate("__studio.ask('law', { law: 'computed torque', knows: true })")
    tab(page, "Recordings")
    entry = page.locator(".items li", has_text=cut.name)
    listed = "__studio.ask('list').then(({ items }) => items.filter((item) => item.kind === 'recording').length)"
    count = page.evaluate(listed)  # a list that is drawn anew forgets that it asked
    until(page, f"document.querySelectorAll('.items:not(.samples) li').length === {count} && {count} >= 2")
    assert entry.locator(".badge").inner_text() == "cut short" and page.locator(".items .badge").count() == 1
    assert str(running.studio.folder) in page.inner_text("#left")
    entry.locator("button").first.click()
    until(page, "__studio.frames.replays.length === 1 && __studio.tab.plots")
    assert f"{rows} rows" in page.inner_text("#right") and "interrupted" in page.inner_text("#right")
    remove = entry.locator("button.remove")
    assert remove.evaluate("(button) => { button.click(); return button.textContent; }") == "Delete file?"
    assert cut.exists()
    again = "if (!button.classList.contains('asks')) button.click();"  # it forgets after some seconds that it asked
    remove.evaluate(f"(button) => {{ {again} button.click(); }}")
    until(page, "__studio.tab.chosen[0] === null && !document.querySelector('.items .badge')")
    assert not cut.exists() and "Open a recording." in page.inner_text("#right")


def test_broken_urdf_is_located_on_the_page_and_a_sound_one_is_taken(page, running, robot):
    tab(page, "Robot")
    broken = '<robot name="r">\n<link name="a"/>\n<joint name="j" type="spinning"/>\n</robot>'
    page.set_input_files("#robot-file", {"name": "broken.urdf", "mimeType": "text/xml", "buffer": broken.encode()})
    message(page, "broken.urdf:3:")
    page.click("#message button")
    urdf = aw.load("planar3").to_urdf().encode()
    page.set_input_files("#robot-file", {"name": "mine.urdf", "mimeType": "text/xml", "buffer": urdf})
    until(page, "__studio.spec.joints.length === 3 && __studio.tabs.robot.seen")
    mine = running.studio.robot
    np.testing.assert_allclose(tool(page), aw.fk(mine, np.array(page.evaluate("__studio.tab.q"))), atol=1e-6)
    page.select_option("#left select", "ur5")
    until(page, "__studio.spec.name === 'ur5' && __studio.tabs.robot.seen")


def test_an_own_arm_with_the_name_of_another_is_not_called_that_one(page):
    tab(page, "Robot")
    urdf = aw.load("planar3").to_urdf().replace('<robot name="planar3"', '<robot name="panda"').encode()
    page.set_input_files("#robot-file", {"name": "panda.urdf", "mimeType": "text/xml", "buffer": urdf})
    until(page, "__studio.spec.name === 'panda' && __studio.tabs.robot.seen")
    assert page.locator("#left select >> nth=0").locator("option:checked").inner_text() == "panda – 3 joints (yours)"
    page.select_option("#left select >> nth=0", "panda")
    until(page, "__studio.spec.joints.length === 7 && __studio.tabs.robot.seen")
    assert "Franka" in page.locator("#left select >> nth=0").locator("option:checked").inner_text()
    page.select_option("#left select >> nth=0", "ur5")
    until(page, "__studio.spec.name === 'ur5' && __studio.tabs.robot.seen")


def test_on_a_phone_the_arm_stays_in_view_and_nothing_is_wider(page):
    page.set_viewport_size({"width": 390, "height": 844})
    try:
        for name in ("Robot", "Live", "Explore", "Recordings", "Programs", "Documents"):
            tab(page, name)
            assert page.locator("#left").get_attribute("aria-labelledby") == f"tab-{name.lower()}"
            assert page.evaluate("document.documentElement.scrollWidth") == 390
            past = (
                "[...document.querySelectorAll('header *')].filter((e) => e.getBoundingClientRect().right > 391).length"
            )
            assert page.evaluate(past) == 0, name
            for place in ("0", "document.documentElement.scrollHeight"):
                page.evaluate(f"scrollTo(0, {place})")
                box = page.locator("#canvas").bounding_box()
                assert box["y"] >= 0 and box["y"] + box["height"] <= 844 and box["height"] > 200, (name, place)
    finally:
        page.set_viewport_size({"width": 1280, "height": 800})


def test_messages_go_away(page):
    tab(page, "Robot")
    for leave in (lambda: page.keyboard.press("Escape"), lambda: tab(page, "Programs")):
        page.evaluate("__studio.complain('that went wrong')")
        message(page, "that went wrong")
        leave()
        until(page, "document.getElementById('message').hidden")
    page.evaluate("__studio.shownFor = 50; __studio.complain('that is done', { mild: true }); __studio.shownFor = 1e8")
    until(page, "document.getElementById('message').hidden")
    assert page.locator("#message").text_content() == "Closethat is done"


def test_exploration_plays_and_scrubs_to_the_recorded_state(page, running):
    tab(page, "Explore")
    until(page, "document.querySelector('#explore')")
    page.select_option("#left select", "pillars")
    page.click("#explore")
    until(page, "__studio.frames.replays.length")
    number = page.evaluate("__studio.tab.runs[0].runs[0].number")
    assert running.studio.shelf.get(number, "exploration").note.startswith("reached")
    run = explore(running.studio.robot, load_world("pillars"), reaction="back off", budget=Budget(duration=120.0))
    assert run.outcome == "reached" and page.evaluate("__studio.tab.runs[0].runs[0].contacts") == len(run.contacts)
    contact = run.contacts[-1]
    page.evaluate(f"__studio.frames.replays[0].seek({contact.time + 0.01})")
    state = page.evaluate("__studio.frames.replays[0].state()")
    row = int(np.argmin(np.abs(run.recording.time - state["t"])))
    np.testing.assert_allclose(state["q"], run.recording["q"][row], atol=1e-3)
    assert state["known"] == int((np.asarray(run.maps[-1].felt) > 0).sum())
    page.evaluate("__studio.frames.replays[0].seek(0)")
    assert page.evaluate("__studio.frames.replays[0].state().known") == 0


def test_world_drawn_with_the_mouse_is_a_world_file(page):
    tab(page, "Explore")
    page.select_option("#left select", "(drawn)")
    page.click("#left >> text=Box")
    box = page.locator("#canvas").bounding_box()
    page.mouse.click(box["x"] + 0.35 * box["width"], box["y"] + 0.7 * box["height"])
    drawn = until(page, "__studio.tab.drawn.length === 1 && __studio.tab.drawn")
    at = page.evaluate("__studio.scene.project(__studio.tab.drawn[0].centre)")
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + 40, at[1])
    page.mouse.up()
    moved = page.evaluate("__studio.tab.drawn[0].centre")
    assert np.linalg.norm(np.subtract(moved, drawn[0]["centre"])[:2]) > 0.01 and moved[2] == drawn[0]["centre"][2]
    with page.expect_download() as caught:
        page.click("text=Save as world file")
    world = world_from_text(Path(caught.value.path()).read_text(encoding="utf-8"))
    np.testing.assert_allclose(world["box-1"].centre, moved)


def test_recordings_open_with_linked_time_and_compare(page, running, robot, tmp_path):
    t = np.linspace(0.0, 2.0, 201)
    for k, name in enumerate(("one.npz", "two.npz")):
        q = posture(robot) + (0.2 + 0.1 * k) * np.sin(t)[:, None]
        Recording(t, {"q": Signal(q, "rad")}, robot).save(tmp_path / name)
    tab(page, "Recordings")
    for name in ("one.npz", "two.npz"):
        page.set_input_files("#recording-file", tmp_path / name)
        until(page, "__studio.tab.chosen[0] && __studio.frames.replays.length === 1 && __studio.tab.plots")
        until(page, f"__studio.frames.replays[0]?.content.title === '{name}'")
    page.evaluate("__studio.frames.replays[0].seek(1.25)")
    state = page.evaluate("__studio.frames.replays[0].state()")
    np.testing.assert_allclose(state["q"], posture(robot) + 0.3 * np.sin(1.25), atol=1e-4)
    page.click(".items >> text=one.npz >> nth=1")  # under "Compare with"
    until(page, "__studio.frames.replays.length === 2")
    page.evaluate("__studio.frames.replays[0].seek(0.75)")
    until(page, "Math.abs(__studio.frames.replays[1].state().t - 0.75) < 1e-6")
    other = page.evaluate("__studio.frames.replays[1].state().q")
    np.testing.assert_allclose(other, posture(robot) + 0.2 * np.sin(0.75), atol=1e-4)


def test_program_becomes_infeasible_when_it_is_hurried(page, running):
    tab(page, "Programs")
    page.set_input_files("#program-file", PROGRAM)
    until(page, "__studio.tab.result")
    first = page.evaluate("__studio.tab.result")
    assert first["feasible"] and "Feasible" in page.inner_text("#verdict") and first["fastest"] > 1.0
    until(page, "__studio.frames.replays.length")
    field = page.locator("#left .slider input[type=range]").first
    field.evaluate(
        "(e, x) => { e.max = 1000; e.value = x; e.dispatchEvent(new Event('input')); }", 100 * 1.03 * first["fastest"]
    )
    until(page, "__studio.tab.result.override > 1")
    second = page.evaluate("__studio.tab.result")
    assert not second["feasible"] and second["events"]["rows"] and any(second["moves"]["marked"])
    assert "Not feasible" in page.inner_text("#verdict")


def test_a_sample_opens_with_its_text_beside_the_replay(page, running):
    tab(page, "Programs")
    page.evaluate("__studio.tab.robot()")  # no result of another test
    page.click(".samples button >> text=ur5_pick.script")
    shown = "__studio.frames.replays[0]?.content"  # at first perhaps that of another test
    until(page, f"__studio.tab.result && {shown}?.title.startsWith('ur5_pick.script') && {shown}.listing")
    result = page.evaluate("__studio.tab.result")
    assert len(result["worst"]) == 3 and page.locator("#worst li").count() == 3
    assert page.inner_text("#coverage").startswith("All ") and page.locator("#assumed li").count()
    assert "to the end of its range" in page.inner_text("#near")
    assert page.evaluate("document.querySelector('.picture').naturalWidth") > 400
    assert "armwright-studio" not in str(result) and "/tmp" not in str(result)
    page.click("#worst button >> nth=0")
    assert page.evaluate("__studio.frames.replays[0].state().t") == pytest.approx(result["worst"][0]["time"])
    page.frame_locator("iframe").locator(".lines button >> nth=0").click()
    line = page.evaluate("__studio.frames.replays[0].state().line")
    first = page.evaluate("__studio.frames.replays[0].content.listing.steps.map(([, line]) => line)")
    assert line == min(line for line in first if line)


def test_light_dark_and_keyboard(page):
    tab(page, "Robot")
    before = page.evaluate("document.documentElement.dataset.theme")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") != before
    page.focus("#tabs [aria-selected=true]")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.tab") == "live"
    assert page.evaluate("__studio.tab === __studio.tabs.live")
    tab(page, "Robot")


def test_page_without_token_says_so_and_viewers_only_look(browser, running):
    own = (running.base, running.base.replace("http", "ws"), "blob:", "data:")
    with watched_page(browser, own) as stranger:
        stranger.goto(running.base)
        until(stranger, "document.getElementById('status').textContent.includes('no valid token')")
        assert not stranger.evaluate("__studio.ready")
    with watched_page(browser, own) as viewer:
        viewer.goto(running.viewer)
        until(viewer, "globalThis.__studio?.ready")
        assert viewer.inner_text("#role") == "looking only"
        tab(viewer, "Live")
        until(viewer, "__studio.tab.last")
        assert viewer.locator("#left button:not(:disabled)").count() == 0
        refused = viewer.evaluate("__studio.link.ask('goal', {q: [0,0,0,0,0,0]}).catch((e) => e.message)")
        assert "may only look" in refused
