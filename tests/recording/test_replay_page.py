# SPDX-License-Identifier: Apache-2.0
"""The replay in a real browser: it shows the right state, reaches nothing else, and its kinematics is ours."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.kinematics.forward import link_poses
from armwright.recording import RecordedEvent, Recording, Signal
from armwright.recording.replay.replay_page import notebook_frame, write_replay
from armwright.recording.replay.replay_stage import Growing, stage_of
from armwright.recording.replay.scene_spec import robot_spec
from armwright.robot.load import robots
from armwright.world.shapes import Box, Cylinder, HalfSpace, Mesh, Sphere
from support.browser import watched_page

ARMS = [entry.name for entry in robots()]
READY = "#replay[data-ready]"
SHAPES = (
    Box(name="box", centre=(0.5, 0.2, 0.1), size=(0.1, 0.2, 0.3)),
    Cylinder(name="post", centre=(0.4, -0.4, 0.0), radius=0.05),
    Sphere(name="ball", centre=(0.0, 0.6, 0.5), radius=0.1),
    HalfSpace(name="floor", point=(0.0, 0.0, -0.1)),
    Mesh(
        name="wedge",
        vertices=((0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)),
        triangles=((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)),
    ),
)


def swing(name="</script><b>ur5", samples=401):
    """Two seconds of a UR5 that swings, is pushed for a while, and has an event."""
    robot = aw.load("ur5")
    t = np.linspace(0.0, 2.0, samples)
    q = np.array([0.1, -1.2, 1.4, -1.7, -1.5, 0.3]) + 0.3 * np.sin(t)[:, None]
    force = np.where((t > 1.0)[:, None], [0.0, 12.0, 5.0], 0.0)
    signals = {
        "q": Signal(q, "rad"),
        "force": Signal(force, "N"),
        "force_felt": Signal(0.9 * force, "N"),
    }
    return Recording(t, signals, robot, events=(RecordedEvent(1.0, "push"), RecordedEvent(1.5, name)))


@pytest.fixture(scope="module")
def replay(browser, tmp_path_factory):
    """A page with everything on it: (page, recording)."""
    recording = swing()
    cells = Growing(
        "felt cells",
        np.array([[0.4, 0.1, 0.2], [0.4, 0.2, 0.2]]),
        np.array([1.0, 1.5]),
        ((0,), (0, 1)),
        np.full(3, 0.05),
    )
    stage = stage_of(recording, SHAPES, title="a <b>swing</b>")
    object.__setattr__(stage, "map", cells)
    file = write_replay(stage, tmp_path_factory.mktemp("replay") / "replay.html")
    with watched_page(browser) as page:
        page.goto(file.as_uri())
        page.wait_for_selector(READY)
        yield page, recording


def state(page):
    return page.evaluate("__replay.state()")


@pytest.mark.parametrize("t", [0.0, 0.7321, 1.0, 1.7, 2.0])
def test_scrubbing_shows_the_state_of_that_time(replay, t):
    page, recording = replay
    page.evaluate("t => __replay.seek(t)", t)
    shown = state(page)
    q = [np.interp(t, recording.time, recording["q"][:, j]) for j in range(6)]
    assert shown["t"] == pytest.approx(t)
    assert shown["q"] == pytest.approx(q, abs=1e-6)
    assert shown["tool"] == pytest.approx(aw.fk(recording.robot, q)[:3, 3], abs=1e-6)
    row = np.searchsorted(recording.time, t + 1e-12, "right") - 1
    assert [f["vector"] for f in shown["forces"]] == [
        pytest.approx(recording["force"][row], abs=1e-5),
        pytest.approx(recording["force_felt"][row], abs=1e-5),
    ]
    assert shown["known"] == (t >= 1.0) + (t >= 1.5)


def test_keys_and_slider_move_through_time(replay):
    page, _ = replay
    page.evaluate("__replay.pause()")
    page.locator("canvas").first.focus()
    page.keyboard.press("End")
    assert state(page)["t"] == 2.0
    page.keyboard.press("[")
    assert state(page)["t"] == 1.5
    page.keyboard.press("[")
    assert state(page)["t"] == 1.0
    page.keyboard.press("ArrowLeft")
    assert 0.9 < state(page)["t"] < 1.0
    page.keyboard.press("Home")
    assert state(page)["t"] == 0.0
    page.keyboard.press("f")
    page.wait_for_selector("#replay:fullscreen")
    page.keyboard.press("f")
    page.wait_for_selector("#replay:not(:fullscreen)")
    page.get_by_label("Time").fill("0.25")
    assert state(page)["t"] == pytest.approx(0.5)
    page.get_by_label("Speed").select_option("10")
    page.locator("canvas").first.focus()
    page.keyboard.press("Space")
    page.wait_for_selector('[data-part="play"][aria-pressed="false"]')  # it has played to the end
    assert state(page)["t"] == 2.0 and not state(page)["playing"]


def test_pointing_at_a_plot_seeks(replay):
    page, _ = replay
    box = page.locator(".u-over").first.bounding_box()
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 20)
    assert state(page)["t"] == pytest.approx(1.0, abs=0.05)


def test_controls_can_be_reached_and_say_what_they_are(replay):
    page, _ = replay
    page.locator("canvas").first.focus()
    names = []
    for _ in range(8):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.dataset.part"))
    assert names == ["play", "Previous event", "Next event", "Time", "speed", "view", "theme", "full"]
    for name in names[:1] + names[4:]:
        assert page.locator(f'[data-part="{name}"]').inner_text().strip()


def test_texts_are_shown_never_run(replay):
    page, _ = replay
    assert page.locator('[data-part="title"]').inner_text() == "a <b>swing</b>"
    page.evaluate("__replay.seek(1.6)")
    assert page.locator('[data-part="event"]').inner_text() == "</script><b>ur5 at 1.50 s"


def test_units_stand_beside_numbers(replay):
    page, _ = replay
    page.evaluate("__replay.seek(1.2)")
    assert page.locator('[data-part="readout"]').inner_text().count(" N") == 2
    assert "13.0 N" in page.locator('[data-part="readout"]').inner_text()
    captions = page.locator("figcaption").all_inner_texts()
    assert all("[" in caption and "[–]" not in caption for caption in captions)


def test_a_pixel_on_the_arm_is_a_place_on_a_link(replay):
    """What is picked lies on a capsule of that link, and its two coordinates are one point."""
    page, recording = replay
    spec = robot_spec(recording.robot)
    middle = [p for p in spec["capsules"] if p["link"] == "upper_arm"][-1]
    page.evaluate("__replay.seek(0)")
    found = page.evaluate(
        """([body, a, b]) => {
          const { scene } = __replay, T = scene.poses.links[body];
          const p = a.map((x, i) => 0.5 * (x + b[i]));
          const at = [0, 4, 8].map((r) => T[r] * p[0] + T[r + 1] * p[1] + T[r + 2] * p[2] + T[r + 3]);
          return scene.pick(...scene.project(at));
        }""",
        [middle["body"], middle["start"], middle["end"]],
    )
    assert found is not None
    T = aw.fk(recording.robot, recording["q"][0], found["link"])
    assert T[:3, :3] @ found["pointLink"] + T[:3, 3] == pytest.approx(found["pointBase"], abs=1e-6)
    parts = [part for part in spec["capsules"] if part["link"] == found["link"]]
    off = [distance(found["pointLink"], part) - part["radius"] for part in parts]
    assert min(map(abs, off)) < 0.3 * parts[0]["radius"]  # on the link, or on the ring around its joint


def distance(point, part):
    a, b = np.array(part["start"]), np.array(part["end"])
    s = np.clip((point - a) @ (b - a) / max((b - a) @ (b - a), 1e-12), 0.0, 1.0)
    return float(np.linalg.norm(point - a - s * (b - a)))


@pytest.mark.filterwarnings("ignore::armwright.errors.ArmwrightWarning")
def test_every_catalogue_arm_is_where_fk_says(replay):
    page, _ = replay
    for name in ARMS:
        robot = aw.load(name, implausible="warn")
        q = robot.random_configuration(7, 5)
        found = page.evaluate(
            "([spec, many]) => many.map((q) => __replay.forward(spec, q))", [robot_spec(robot), q.tolist()]
        )
        tools = np.array([pose["tool"] for pose in found]).reshape(-1, 4, 4)
        links = np.array([pose["links"] for pose in found]).reshape(len(q), -1, 4, 4)
        assert tools == pytest.approx(aw.fk(robot, q), abs=1e-9), name
        assert links == pytest.approx(np.stack([link_poses(robot, x) for x in q]), abs=1e-9), name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_system_and_its_button(browser, tmp_path, scheme):
    file = swing().replay(tmp_path / "r.html")
    with watched_page(browser, color_scheme=scheme, viewport={"width": 900, "height": 700}) as page:
        page.goto(file.as_uri())
        page.wait_for_selector(READY)
        assert state(page)["theme"] == scheme
        page.get_by_text("Light / dark").click()
        assert state(page)["theme"] != scheme


def test_in_a_notebook_it_plays_in_a_frame_of_its_own(browser, tmp_path):
    recording = swing()
    assert notebook_frame(stage_of(recording)) in recording._repr_html_()
    page_file = tmp_path / "notebook.html"
    page_file.write_text(f"<!doctype html><meta charset=utf-8>{recording._repr_html_()}", encoding="utf-8")
    with watched_page(browser) as page:
        page.goto(page_file.as_uri())
        page.frame_locator("iframe").locator(READY).wait_for()
        assert page.frames[1].evaluate("__replay.state().joints") == 6
        assert page.evaluate("typeof __replay") == "undefined"


def test_without_scripts_the_report_has_its_figures(browser, tmp_path):
    pytest.importorskip("matplotlib", reason="reports have figures")
    file = swing().report(tmp_path / "report.html", views=["joints"])
    with watched_page(browser, java_script_enabled=False) as page:
        page.goto(file.as_uri())
        assert page.locator("img").first.is_visible()
        assert not page.locator("#replay").is_visible()
