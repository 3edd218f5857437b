# SPDX-License-Identifier: Apache-2.0
"""Figures, films and reports: what must be in them, and that bad requests are refused. The eye has judged the rest."""

from __future__ import annotations

import html.parser
import re
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="armwright[plot] is not installed")

import armwright as aw
from armwright.errors import ArmwrightError, InputError, NotSupportedError
from armwright.recording.pictures.animation import draw_frames, ffmpeg
from armwright.recording.pictures.skeleton import Camera, band, camera_for, capsules, upright
from armwright.recording.recording import Recording
from armwright.recording.signals import RecordedEvent, Signal
from support.patience import PATIENCE
from support.recording import awkward, falling


def axes_of(figure: Any) -> list[Any]:
    return [axes for part in figure.subfigs for axes in part.get_axes()]


def test_panels_show_every_joint_with_its_reference_and_unit() -> None:
    rec = falling(seconds=1.0)
    figure = rec.plot("joints")
    axes = axes_of(figure)
    assert [a.get_title(loc="left") for a in axes] == list(rec.labels("q"))
    for i, panel in enumerate(axes):
        actual, reference = panel.get_lines()[:2]
        assert np.array_equal(actual.get_ydata(), rec["q"][:, i])
        assert np.array_equal(reference.get_ydata(), rec["q_ref"][:, i])
    assert figure.subfigs[0].get_supylabel() == "position [rad]"
    assert axes[-1].get_xlabel() == "time [s]"


def test_limits_are_drawn_where_the_run_comes_near_and_written_elsewhere() -> None:
    rec = falling(seconds=1.0)
    assert rec.robot is not None
    for i, panel in enumerate(axes_of(rec.plot("velocity"))):
        limit = rec.robot.joints[i].limits.velocity
        levels = {float(line.get_ydata()[0]) for line in panel.get_lines() if len(set(line.get_ydata())) == 1}
        low, high = rec["qd"][:, i].min(), rec["qd"][:, i].max()
        if high > limit:
            assert limit in levels
            assert panel.get_ylim()[1] >= high
        if low < -limit:
            assert -limit in levels
    written = [panel.get_title(loc="right") for panel in axes_of(rec.plot("torques"))]
    assert written[3] == "limit ±28 N·m"


def test_one_panel_has_a_legend_by_joint_name() -> None:
    rec = falling(seconds=1.0)
    (panel,) = axes_of(rec.plot("errors"))
    assert [text.get_text() for text in panel.get_legend().get_texts()] == list(rec.labels("error"))
    assert panel.get_ylabel() == "tracking error [rad]"
    assert any(text.get_text() == "reference ends" for text in panel.texts)


def test_lists_single_signals_and_files(tmp_path: Path) -> None:
    rec = falling(seconds=1.0)
    figure = rec.plot(["tool", "qdd", "energy"], tmp_path / "all.png", title="Fall")
    assert len(figure.subfigs) == 3
    assert (tmp_path / "all.png").read_bytes()[:4] == b"\x89PNG"
    rec.plot("energy", tmp_path / "energy.svg")
    assert "kinetic" in (tmp_path / "energy.svg").read_text(encoding="utf-8")
    with pytest.raises(ArmwrightError, match=r"x\.nothing: the figure could not be saved"):
        rec.plot("energy", tmp_path / "x.nothing")


def test_the_style_does_not_leak() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    falling(seconds=1.0).plot("energy")
    assert dict(matplotlib.rcParams) == before


def test_awkward_recordings_can_be_drawn() -> None:
    rec = awkward()
    rec.plot(["q", "pose", "one", "many"])
    Recording([0.0], {"q": Signal(np.zeros((1, 2)), "rad")}, aw.load("planar2")).plot(["joints", "tool"])
    Recording([0.0, 1.0], {"x": Signal([np.nan, np.nan])}).plot("x")
    free = Recording([0.0, 1.0], {"q": Signal(np.zeros((2, 3)), "rad")})
    assert [t.get_text() for t in axes_of(free.plot())[0].get_legend().get_texts()] == ["0", "1", "2"]


def test_bad_requests_are_refused(tmp_path: Path) -> None:
    rec = falling(seconds=1.0)
    with pytest.raises(InputError, match=r"cannot draw 'torque'; valid: joints, .*: q, qd"):
        rec.plot("torque")
    with pytest.raises(InputError, match="no samples"):
        rec.select(5.0).plot()
    with pytest.raises(InputError, match="no robot"):
        replace(rec, robot=None).animate(tmp_path / "a.gif")
    with pytest.raises(InputError, match=r"\.gif or \.mp4"):
        rec.animate(tmp_path / "a.avi")
    with pytest.raises(InputError, match="at most 6000: choose a larger speed"):
        rec.animate(tmp_path / "a.gif", speed=1e-4)
    with pytest.raises(InputError, match="50 pictures"):
        rec.animate(tmp_path / "a.gif", fps=60)
    q = rec["q"].copy()
    q[100:] = np.nan
    with pytest.raises(InputError, match=r"not finite at t = 0\.2 s"):
        rec.with_signals(q=Signal(q, "rad")).animate(tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["ur5", "puma560", "planar2", "rl15", "panda"])
def test_the_skeleton_is_one_piece_from_base_to_tool(name: str) -> None:
    """Every link capsule begins at the base or where another ends, and one ends at the tool."""
    arm = aw.load(name)
    shape = capsules(arm, np.linspace(-1.0, 1.0, arm.n))
    links = ~shape.joint
    reached = [shape.base]
    for a, b in zip(shape.start[links], shape.end[links], strict=True):
        assert min(np.linalg.norm(a - p) for p in reached) < 1e-9
        reached.append(b)
    assert min(np.linalg.norm(shape.tool[:3, 3] - p) for p in reached) < 1e-9
    turn = upright(arm)
    assert np.allclose(turn[:3, :3] @ arm.gravity, [0.0, 0.0, -np.linalg.norm(arm.gravity)])
    batch = capsules(arm, np.zeros((3, 2, arm.n)))
    assert batch.start.shape[:2] == (3, 2)


def test_the_camera_is_a_rotation_and_a_band_has_its_width() -> None:
    for camera in (Camera(), Camera(30.0, 89.0), camera_for(aw.load("planar2"))):
        assert np.allclose(camera.axes @ camera.axes.T, np.eye(3))
        assert np.linalg.det(camera.axes) == pytest.approx(1.0)
    outline = band(np.array([0.0, 0.0]), np.array([2.0, 0.0]), 0.5)
    assert np.allclose([outline.min(axis=0), outline.max(axis=0)], [[-0.5, -0.5], [2.5, 0.5]])


def test_a_film_shows_the_arm_moving(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="armwright[plot] is not installed")
    rec = falling(seconds=1.0)
    calls: list[tuple[int, int]] = []
    rec.animate(tmp_path / "a.gif", fps=10, size=(160, 120), progress=lambda k, n: calls.append((k, n)))
    with image.open(tmp_path / "a.gif") as film:
        assert (film.n_frames, film.size, film.info["duration"], film.info["loop"]) == (11, (160, 120), 100, 0)
        pictures = []
        for k in range(film.n_frames):
            film.seek(k)
            pictures.append(np.asarray(film.convert("RGB")).astype(int))
    assert calls[-1] == (11, 11)
    assert (np.abs(np.diff(pictures, axis=0)).max(axis=(1, 2, 3)) > 50).all()
    assert (pictures[0][2, 2] == 255).all()
    (first,) = draw_frames(rec, np.array([0.0]), size=(160, 120))
    assert first.shape == (120, 160, 3)


def test_mp4_needs_ffmpeg_and_hands_it_every_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rec = falling(seconds=1.0)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("armwright.recording.pictures.animation.find_spec", lambda name: None)
    with pytest.raises(NotSupportedError, match="needs the ffmpeg program"):
        rec.animate(tmp_path / "a.mp4")
    stand_in = tmp_path / "ffmpeg"
    stand_in.write_text('#!/bin/sh\nfor last; do :; done\n/bin/cat > "$last"\n', encoding="utf-8")
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
    rec.animate(tmp_path / "a.mp4", fps=4, size=(80, 64))
    assert (tmp_path / "a.mp4").stat().st_size == 5 * 80 * 64 * 3
    stand_in.write_text("#!/bin/sh\necho no such codec >&2\nexit 1\n", encoding="utf-8")
    with pytest.raises(ArmwrightError, match="ffmpeg failed: no such codec"):
        rec.animate(tmp_path / "a.mp4", fps=4, size=(80, 64))


def test_an_mp4_plays_what_was_drawn(tmp_path: Path) -> None:
    """Decoded again: as many pictures, each like the drawn one up to the loss of the codec."""
    program = ffmpeg()
    if program is None:
        pytest.skip("no ffmpeg program (pip install imageio-ffmpeg)")
    rec = falling(seconds=1.0)
    rec.animate(tmp_path / "a.mp4", fps=10, size=(160, 120))
    raw = subprocess.run(
        [program, "-loglevel", "error", "-i", tmp_path / "a.mp4", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
        capture_output=True,
        check=True,
        timeout=PATIENCE,
    ).stdout
    film = np.frombuffer(raw, np.uint8).reshape(-1, 120, 160, 3).astype(int)
    drawn = np.stack(list(draw_frames(rec, 0.1 * np.arange(11), size=(160, 120)))).astype(int)
    assert film.shape == drawn.shape
    unlike = np.abs(film[:, None] - drawn[None]).mean(axis=(2, 3, 4))  # of every decoded to every drawn picture
    assert np.array_equal(np.argmin(unlike, axis=1), np.arange(11))
    assert np.diag(unlike).max() < 3.0


class Page(html.parser.HTMLParser):
    """Collects tags and sources of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for key, value in attrs if key in ("src", "href")]
        if tag not in ("meta", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_is_one_page_without_anything_from_elsewhere(tmp_path: Path) -> None:
    rec = falling(seconds=1.0)
    evil = "<script>alert('x')</script>&\""
    names = tuple(f"{evil}{i}" for i in range(6))
    nasty = replace(
        rec.with_signals(q=Signal(rec["q"], "rad", names), tau=Signal(rec["tau"], evil, names)),
        outcome=evil,
        settings={"law": evil, evil: [evil]},
        events=(RecordedEvent(0.3, evil, {"x": evil}),),
        versions={evil: evil},
    )
    text = nasty.report(tmp_path / "run.html", views=["errors"]).read_text(encoding="utf-8")
    page = Page(text)
    assert not page.open
    assert page.tags.count("script") == 3  # the replay: its modules, its data, and what starts it
    assert text.count("&lt;script&gt;") > 10
    text = rec.report(tmp_path / "run.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags.count("img") == 6
    inside = ("data:image/png;base64,", "#section-")  # pictures, and links within the page
    assert all(source.startswith(inside) for source in page.sources)
    assert not re.search(r"https?://|@import|url\(", re.sub(r'base64,[^"]*', "", text))
    assert f"{max(rec.summary()['error_rms']):.3g}" in text
    for joint in rec.labels("q"):
        assert joint in text
    with pytest.raises(ArmwrightError, match="could not be written"):
        rec.report(tmp_path / "missing" / "run.html")


def test_a_report_of_almost_nothing(tmp_path: Path) -> None:
    text = Recording([], {}).report(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Recording" in text
    assert "<img" not in text
