# SPDX-License-Identifier: Apache-2.0
"""What a replay carries: the committed bundle, robots and worlds as plain data, samples that are true ones."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
import subprocess
from importlib import resources

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightError, InputError
from armwright.recording import RecordedEvent, Recording, Signal
from armwright.recording.replay.replay_page import MODULES, html_page, page_file, policy, style
from armwright.recording.replay.replay_stage import MOST_PAGE_SAMPLES, stage_of, thinned
from armwright.recording.replay.scene_spec import MOST_MESH_TRIANGLES, robot_spec, world_spec
from armwright.world.shapes import Cylinder, Mesh
from armwright.world.world_catalogue import load_world, worlds

VENDOR = resources.files("armwright.recording.replay") / "page" / "vendor"


def run(samples=30_001):
    """A minute of a UR5 with a push of 2 ms, shorter than what lies between two samples on a page."""
    t = np.linspace(0.0, 60.0, samples)
    q = 0.5 * np.sin(t)[:, None] + np.arange(6)
    force = np.zeros((samples, 3))
    force[2 * samples // 5] = [0.0, 30.0, 40.0]
    events = tuple(RecordedEvent(t[k], "push") for k in range(0, samples, 1 + samples // 40))
    return Recording(t, {"q": Signal(q, "rad"), "force": Signal(force, "N")}, aw.load("ur5"), events=events)


def test_the_bundle_is_the_one_that_was_pinned():
    sums = dict(reversed(line.split("  ")) for line in (VENDOR / "SHA256SUMS").read_text(encoding="utf-8").splitlines())
    assert set(sums) == {"vendor.js", "uplot.css", "LICENSES.txt"}
    for name, expected in sums.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == expected, name


def test_the_bundle_is_small_and_names_its_licences():
    assert len((VENDOR / "vendor.js").read_bytes()) <= 800_000
    licences = (VENDOR / "LICENSES.txt").read_text(encoding="utf-8")
    assert "three.js authors" in licences and "Leon Sorokin" in licences


def test_modules_import_only_what_a_page_carries():
    """A page links its modules by name: one that is not listed, or is linked in another way, would not load."""
    for name in MODULES[1:]:
        text = page_file(name)
        named = re.findall(r'\bfrom\s*"([^"]+)"', text)
        assert len(named) == len(re.findall(r"^import\b", text, re.M)), name
        assert {path.removeprefix("./") for path in named} <= set(MODULES), name


def test_a_page_may_load_nothing_from_elsewhere():
    page = html_page("t", ["<p>x</p>"])
    rules = dict(rule.strip().split(" ", 1) for rule in policy(style()).split(";"))
    assert rules["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/=]+' blob:", rules["script-src"])
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["style-src"])
    assert rules["img-src"] == "data:"
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    assert "<b>" not in html_page("</title><b>", [])


def test_a_long_run_makes_a_small_page(tmp_path):
    file = run().replay(tmp_path / "r.html", load_world("bench"))
    assert file.stat().st_size <= 1_200_000


def test_thinning_keeps_true_samples_both_ends_and_short_peaks():
    recording = run()
    stage = stage_of(recording)
    kept = thinned(stage)
    assert len(kept.time) <= MOST_PAGE_SAMPLES
    rows = np.searchsorted(recording.time, kept.time)
    assert np.array_equal(recording.time[rows], kept.time)
    assert np.array_equal(recording["q"][rows], kept.q)
    assert (rows[0], rows[-1]) == (0, len(recording) - 1)
    assert kept.plots[0].values.max() == 50.0
    assert {event.time for event in recording.events} <= set(kept.time)
    assert np.diff(kept.time).max() <= 0.1  # 60 s in two thirds of 3000 samples, two a stretch: 60 ms
    few = stage_of(recording.decimate(100))
    assert thinned(few) is few


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_the_shortest_runs_can_be_written(tmp_path, samples):
    t = np.arange(float(samples))
    recording = Recording(t, {"q": Signal(np.zeros((samples, 6)), "rad")}, aw.load("ur5"))
    assert recording.replay(tmp_path / "r.html").stat().st_size > 1000


def test_packed_numbers_come_back(tmp_path):
    recording = run(samples=500)
    page = recording.replay(tmp_path / "r.html", title="</script>").read_text(encoding="utf-8")
    text = re.search(r'id="replay-data">([^<]+)<', page).group(1)
    raw = gzip.decompress(base64.b64decode(text))
    end = 4 + int.from_bytes(raw[:4], "little")
    content = json.loads(raw[4:end])
    assert content["title"] == "</script>"
    kind, offset, shape = content["time"]["$"]
    assert kind == "f8"
    assert np.array_equal(np.frombuffer(raw, "<f8", shape[0], end + offset), recording.time)
    kind, offset, shape = content["q"]["$"]
    q = np.frombuffer(raw, "<f4", shape[0] * shape[1], end + offset).reshape(shape)
    assert q == pytest.approx(recording["q"], abs=1e-6)


@pytest.mark.parametrize("name", worlds())
def test_worlds_are_plain_data(name):
    shapes = world_spec(load_world(name))
    assert [shape["name"] for shape in shapes] == [shape.name for shape in load_world(name)]
    json.dumps(shapes, allow_nan=False)


def test_what_has_no_end_or_too_many_faces_is_bounded():
    assert world_spec([Cylinder(name="post", centre=(0, 0, 0), radius=0.1)])[0]["height"] is None
    many = MOST_MESH_TRIANGLES + 1
    points = np.random.default_rng(0).normal(size=(many, 3))
    faces = np.stack([np.arange(many), (np.arange(many) + 1) % many, (np.arange(many) + 2) % many], axis=1)
    mesh = Mesh(name="scan", vertices=points, triangles=faces)
    (box,) = world_spec([mesh])
    assert box["kind"] == "box" and box["size"] == pytest.approx(np.ptp(points, axis=0))


def test_node_agrees_on_forward_kinematics(tmp_path):
    """The same module outside of a browser, for machines without one."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node: the browser's tests hold the page's kinematics to ours")
    robot = aw.load("sdt")
    q = robot.random_configuration(3, 4)
    module = tmp_path / "kinematics.mjs"
    module.write_text(page_file("kinematics.js"), encoding="utf-8")
    given = json.dumps([robot_spec(robot), q.tolist()])
    script = f'import {{ forward }} from "{module.as_uri()}"; const [r, many] = {given};'
    script += "console.log(JSON.stringify(many.map((q) => forward(r, q).tool)));"
    done = subprocess.run(
        [node, "--input-type=module", "-e", script], capture_output=True, encoding="utf-8", check=True
    )
    assert np.array(json.loads(done.stdout)).reshape(-1, 4, 4) == pytest.approx(aw.fk(robot, q), abs=1e-9)


def test_what_cannot_be_shown_is_refused_in_words(tmp_path):
    whole = run(samples=10)
    without = Recording(whole.time, {"q": whole.signals["q"]})
    with pytest.raises(InputError, match="robot"):
        without.replay(tmp_path / "r.html")
    assert "<iframe" not in without._repr_html_()
    unknown = whole.with_signals(q=Signal(np.full((10, 6), np.nan), "rad"))
    with pytest.raises(InputError, match="finite"):
        unknown.replay(tmp_path / "r.html")
    with pytest.raises(ArmwrightError, match="could not be written"):
        whole.replay(tmp_path / "none" / "r.html")
