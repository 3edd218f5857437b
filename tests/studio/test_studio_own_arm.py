# SPDX-License-Identifier: Apache-2.0
"""An arm of somebody's in the studio: archives and folders, its meshes, the link of its tool; logs and samples."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ArmwrightWarning, InputError
from armwright.recording.replay.drawn_meshes import mesh_spec
from armwright.studio import opened_log, own_arm
from armwright.world.arm_shapes import LinkShape
from support.studio import Page, running_studio, upload

pytest.importorskip("starlette", reason="needs the studio's extra")

CUBE = """v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1
f 1 2 3\nf 1 3 4\nf 5 6 7\nf 5 7 8\nf 1 2 6\nf 1 6 5\n"""


def link(name: str, mesh: str = "") -> str:
    drawn = f'<visual><geometry><mesh filename="{mesh}" scale="0.1 0.1 0.1"/></geometry></visual>' if mesh else ""
    inertia = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
    return f'<link name="{name}"><inertial><mass value="1"/>{inertia}</inertial>{drawn}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute") -> str:
    limit = '<limit lower="-1" upper="1" effort="9" velocity="2"/>'
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}"><origin xyz="0 0 0.3"/>{ends}<axis xyz="0 1 0"/>{limit}</joint>'


GRIPPER = f"""<robot name="grip"><link name="base"/>
{link("upper", "package://somewhere/meshes/cube.obj")}{link("lower", "../meshes/lost.stl")}{link("left")}{link("right")}
<link name="tcp"/>{joint("a", "base", "upper")}{joint("b", "upper", "lower")}
{joint("l", "lower", "left")}{joint("r", "lower", "right")}{joint("t", "lower", "tcp", "fixed")}</robot>"""


def archive(**files: str) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return kept.getvalue()


PACKAGE = {"grip/urdf/grip.urdf": GRIPPER, "grip/meshes/cube.obj": CUBE, "grip/package.xml": "<package/>"}


def test_only_what_has_a_use_is_unpacked_and_nothing_outside_the_folder(tmp_path: Path) -> None:
    parent = tmp_path / "inner"
    parent.mkdir()
    hostile = {"../out.urdf": GRIPPER, "/abs.urdf": GRIPPER, "a/../../b.urdf": GRIPPER, "run.sh": "true"}
    hostile |= {"c:\\d.urdf": GRIPPER, "e/\x07.urdf": GRIPPER}
    with pytest.raises(InputError, match="holds no description"):
        own_arm.own_arm("x.zip", archive(**hostile), parent)
    kept = own_arm.own_arm("x.zip", archive(**hostile, **PACKAGE), parent)
    there = {str(file.relative_to(kept.folder)) for file in kept.folder.rglob("*") if file.is_file()}
    assert there == set(PACKAGE) and kept.files == ("grip/urdf/grip.urdf",)
    assert [file.name for file in tmp_path.rglob("*.urdf")] == ["grip.urdf"]
    link_out = zipfile.ZipInfo("grip/urdf/way.urdf")
    link_out.external_attr = 0o120777 << 16  # a symbolic link
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as packed:
        packed.writestr(link_out, "/etc/passwd")
    with pytest.raises(InputError, match="holds no description"):
        own_arm.own_arm("x.zip", raw.getvalue(), parent)


def test_archives_that_are_too_much_or_none_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (b"PK\x03\x04 and no more", b"no zip", archive(**PACKAGE)[:-30]):
        with pytest.raises(InputError, match="no zip that can be read"):
            own_arm.own_arm("x.zip", content, tmp_path)
    monkeypatch.setattr(own_arm, "MOST_UNPACKED", 100_000)
    with pytest.raises(InputError, match="unpacks to more than"):
        own_arm.own_arm("bomb.zip", archive(**{"a.stl": "0" * 10_000_000}), tmp_path)
    monkeypatch.setattr(own_arm, "MOST_ENTRIES", 2)
    with pytest.raises(InputError, match="3 files; at most 2"):
        own_arm.own_arm("x.zip", archive(**PACKAGE), tmp_path)
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


def test_meshes_are_found_by_the_end_of_their_path_and_drawn_where_the_link_is(tmp_path: Path) -> None:
    kept = own_arm.own_arm("grip.zip", archive(**PACKAGE), tmp_path)
    robot = aw.load(kept.path)
    (drawn,), missing = own_arm.drawn_meshes(robot, kept.path, kept.folder)
    assert missing == "1 of 2 meshes did not come with it"
    corners = np.frombuffer(base64.b64decode(drawn["corners"]), dtype="<f4").reshape(-1, 3, 3)
    assert (drawn["body"], drawn["link"], drawn["count"]) == (0, "upper", 6)
    assert corners.min() == 0.0 and corners.max() == pytest.approx(0.1)
    assert [file.suffix for file in kept.path.parent.iterdir()] == [".urdf"]  # what was written to draw is gone


def test_a_fine_mesh_is_thinned_to_what_looks_like_it() -> None:
    """A sphere of 40,000 triangles: fewer than asked for, its corners within a cell of it, its area nearly kept."""
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 201), np.linspace(0, np.pi, 101))
    points = np.stack([np.sin(v) * np.cos(u), np.sin(v) * np.sin(u), np.cos(v)], axis=-1).reshape(-1, 3)
    k = (np.arange(100)[:, None] * 201 + np.arange(200)).ravel()
    faces = np.concatenate([np.stack([k, k + 1, k + 202], 1), np.stack([k, k + 202, k + 201], 1)])
    (drawn,) = mesh_spec([LinkShape(0, "ball", points, faces)], most=3000)
    corners = np.frombuffer(base64.b64decode(drawn["corners"]), dtype="<f4").reshape(-1, 3, 3)
    assert 1000 < drawn["count"] <= 3000
    assert np.abs(np.linalg.norm(corners, axis=2) - 1.0).max() < 0.1
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
    assert area == pytest.approx(4 * np.pi, rel=0.05)


def arm_told(page: Page, tip: str | None) -> Any:
    """What the page was told, or will be, of an arm with this tip."""
    while True:
        for event in page.events:
            if event["event"] == "robot" and event["robot"]["own"]["tip"] == tip:
                return event["robot"]
        page.hear()


def test_the_link_of_the_tool_is_chosen_on_the_page() -> None:
    with running_studio() as running:
        page = Page(running)
        assert upload(running, "robot", "grip.zip", archive(**PACKAGE)) == (200, {"robot": "grip"})
        told = arm_told(page, None)
        assert told["own"]["tip"] is None and {"left", "right", "tcp"} <= set(told["own"]["links"])
        assert len(told["spec"]["joints"]) == 4 and len(told["spec"]["meshes"]) == 1
        assert page.ask("own", tip="tcp") == {"re": 2, "ok": {}}
        cut = arm_told(page, "tcp")
        assert [one["name"] for one in cut["spec"]["joints"]] == ["a", "b"] and cut["own"]["tip"] == "tcp"
        assert "cut from 'base' to 'tcp': locked beside the chain, mass kept: l, r" in cut["own"]["notes"]
        with pytest.warns(ArmwrightWarning, match="locked beside the chain"):
            assert running.studio.robot == aw.load(running.studio.own.path, tip="tcp")
        refused = page.ask("own", tip="nobody")
        assert "no link 'nobody'" in refused["error"] and str(running.studio.shelf.folder) not in refused["error"]
        assert "no file" in page.ask("own", file="../x.urdf")["error"]
        broken = upload(running, "robot", "grip.zip", archive(**PACKAGE | {"grip/urdf/grip.urdf": "<robot name='x'>"}))
        assert broken[1]["error"].startswith("grip/urdf/grip.urdf")
        assert len(list(running.studio.shelf.folder.iterdir())) == 1  # the arm that is shown; the broken one is gone
        page.close()


def test_a_log_of_another_program_opens_and_what_is_wrong_with_one_is_told() -> None:
    t = np.arange(400)[:, None] / 100.0
    q, current = np.sin(t * [1.0, 2.0]), np.cos(t * [1.0, 2.0])
    rows = np.hstack([t, q, t**0 * [1.0, 2.0] * np.cos(t * [1.0, 2.0]), current])
    text = io.StringIO()
    np.savetxt(text, rows, delimiter=";", header="time;q_1;q_2;qd_1;qd_2;current_1;current_2", comments="")
    with running_studio() as running:
        page = Page(running)
        status, said = upload(running, "recording", "their.csv", text.getvalue().encode())
        assert status == 200 and "100 Hz" in said["account"]
        seen = page.ask("signals", number=said["number"])["ok"]
        assert seen["robot"] == "planar2" and [s["name"] for s in seen["signals"]] == ["q", "qd", "current"]
        shown = page.ask("columns", number=said["number"], names=["current"])["ok"]
        assert np.allclose(shown["columns"]["current"], current.T, atol=1e-5)
        wrong = upload(running, "recording", "words.csv", b"a,b\nc,d\n")[1]["error"]
        assert "words.csv: no recording of ours" in wrong and "as a log" in wrong
        timeless = b"q_1,q_2,tau_1,tau_2\n" + b"".join(b"%f,0.2,1.5,0.5\n" % (0.01 * k) for k in range(50))
        assert "rows a second" in upload(running, "recording", "timeless.csv", timeless)[1]["error"]
        words = json.dumps({"rate": 100.0, "angles": "radians", "effort": "torque"})
        number = upload(running, "recording", "timeless.csv", timeless, **{"X-Log": words})[1]["number"]
        assert page.ask("signals", number=number)["ok"]["duration"] == pytest.approx(0.49)
        for bad in ('{"rate": -1}', '{"colour": "red"}', "no json"):
            assert "x-log" in upload(running, "recording", "timeless.csv", timeless, **{"X-Log": bad})[1]["error"]
        page.close()


@pytest.mark.parametrize("name", opened_log.SAMPLES)
def test_samples_are_simulated_with_the_arm_on_the_page(name: str) -> None:
    recording = opened_log.sample(aw.load("planar2"), name)
    assert recording.outcome == "end" and recording.robot is not None and recording.robot.name == "planar2"
    if name == "push":
        pushed = (recording.time > 0.6) & (recording.time < 0.9)
        felt = np.abs(recording["tau_ext"])
        assert felt[pushed].max() > 10.0 * max(felt[recording.time < 0.45].max(), 1e-3)


def test_a_sample_is_put_on_the_shelf() -> None:
    with running_studio() as running:
        page = Page(running)
        names = [row["name"] for row in page.ask("sample_recordings")["ok"]["samples"]]
        assert names == list(opened_log.SAMPLES)
        number = page.ask("sample_recording", name="fall")["ok"]["number"]
        assert page.ask("signals", number=number)["ok"]["shows"]
        page.close()
