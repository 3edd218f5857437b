# SPDX-License-Identifier: Apache-2.0
"""What the studio records is on disk as it comes, and nothing leaves the shelf unless somebody asks for it."""

from __future__ import annotations

import errno
import os
import stat
import time

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the studio needs armwright[studio]")
pytest.importorskip("uvicorn", reason="the studio needs armwright[studio]")
pytest.importorskip("websockets", reason="the studio needs armwright[studio]")

import armwright as aw
from armwright.errors import ArmwrightError, InputError
from armwright.recording import Recording, Signal
from armwright.recording.formats import csv_format, load
from armwright.simulation.pulled_link import posture
from armwright.studio import live_recording, recordings_folder
from armwright.studio.live_recording import LiveRecording
from armwright.studio.pulled_arm import Choice, PulledArm
from armwright.studio.recordings_folder import kept_in, new_name, remove_file
from armwright.studio.shelf import MOST_ITEMS, PlacesReserved, Shelf, ShelfItem
from support.patience import PATIENCE
from support.studio import Page, running_studio, started_studio, upload


def recording_page(running):
    page = Page(running)
    page.ask("watch", live=True)
    assert page.ask("record", on=True)["ok"] == {}
    return page


def simulated(page, seconds):
    """Wait until some time has been simulated."""
    begun = np.frombuffer(next_frame(page), "<f4")[0]
    while np.frombuffer(next_frame(page), "<f4")[0] < begun + seconds:
        pass


def next_frame(page):
    had = len(page.frames)
    page.send("drew", count=had)  # a page gets no more frames than it draws
    while len(page.frames) == had:
        page.hear()
    return page.frames[-1]


def rows_in(folder):
    """Return how many whole rows the only recording of a folder holds by now."""
    files = list(folder.glob("*.csv"))
    return max(0, files[0].read_bytes().count(b"\n") - 1) if files else 0


def files_of(page):
    return [item for item in page.ask("list")["ok"]["items"] if item["kind"] == "recording" and item["file"]]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "my recordings"
    place.mkdir()
    return place


def test_rows_are_on_disk_while_the_recording_runs(folder):
    with running_studio(recordings=folder) as running:
        page = recording_page(running)
        end = time.monotonic() + PATIENCE
        while rows_in(folder) < 60 and time.monotonic() < end:
            next_frame(page)
        assert rows_in(folder) >= 60 and page.ask("watch", live=True)["ok"]["live"]["recording"]
        page.close()


@pytest.mark.parametrize(
    ("order", "fields", "why"),
    [
        ("law", {"law": "free", "knows": True}, "the controller was changed"),
        ("robot", {"name": "planar3"}, "the arm was changed"),
    ],
)
def test_another_law_or_arm_ends_a_recording_and_keeps_it(folder, order, fields, why):
    with running_studio(recordings=folder) as running:
        page = recording_page(running)
        simulated(page, 0.1)
        page.send(order, **fields)
        kept = page.until("kept")
        assert kept["reason"] == why and not kept["error"]
        recording = running.studio.shelf.recording(kept["number"])
        assert len(recording) > 5 and recording["q"].shape[1] == 2 and recording.robot.name == "planar2"
        assert why in recording.outcome and [item["name"] for item in files_of(page)] == [kept["name"]]
        np.testing.assert_array_equal(load(folder / kept["name"])["q"], recording["q"])
        page.close()


def test_pressing_record_twice_keeps_the_first_recording(folder):
    with running_studio(recordings=folder) as running:
        page, other = recording_page(running), Page(running)
        simulated(page, 0.2)
        assert other.ask("record", on=True)["ok"] == {}
        simulated(page, 0.2)
        number = other.ask("record", on=False)["ok"]["number"]
        assert running.studio.shelf.recording(number).duration > 0.35 and len(list(folder.glob("*.csv"))) == 1
        assert other.ask("record", on=False)["ok"] == {}
        page.close()
        other.close()


def test_a_recording_that_is_as_long_as_one_may_be_is_kept_and_told(folder, monkeypatch):
    monkeypatch.setattr(live_recording, "MOST_LIVE_ROWS", 20)
    with running_studio(recordings=folder) as running:
        page = recording_page(running)
        kept = page.until("kept")
        assert "ten minutes" in kept["reason"] and not kept["error"]
        assert len(running.studio.shelf.recording(kept["number"])) == 20
        assert not page.ask("watch", live=True)["ok"]["live"]["recording"]
        page.close()


def test_a_full_disk_ends_the_recording_and_not_the_simulation(folder, monkeypatch):
    whole = csv_format.Sink.append

    def append(sink, time, blocks):
        if sink.samples >= 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        whole(sink, time, blocks)

    monkeypatch.setattr(csv_format.Sink, "append", append)
    with running_studio(recordings=folder) as running:
        page = recording_page(running)
        kept = page.until("kept")
        assert os.strerror(errno.ENOSPC) in kept["error"]
        simulated(page, 0.2)
        assert not page.ask("watch", live=True)["ok"]["live"]["recording"]
        assert [item["about"] for item in files_of(page)] == [{"cut": True}]
        assert len(running.studio.shelf.recording(kept["number"])) >= 20
        assert page.ask("record", on=True)["ok"] == {}  # another attempt is possible
        page.close()


def test_the_end_of_the_studio_ends_a_recording_whole(folder):
    with running_studio(recordings=folder) as running:
        page = recording_page(running)
        simulated(page, 0.2)
        page.close()
    (kept,) = kept_in(folder)
    recording = load(kept.path)
    assert not kept.cut and len(recording) > 15 and "the studio has ended" in recording.outcome


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_after_kill_9_the_next_studio_offers_the_recording(folder):
    with started_studio(folder) as (process, running):
        page = recording_page(running)
        end = time.monotonic() + PATIENCE
        while rows_in(folder) < 60 and time.monotonic() < end:
            next_frame(page)
        process.kill()
        process.wait(PATIENCE)
    on_disk = rows_in(folder)
    with running_studio(recordings=folder) as running:
        page = Page(running)
        (item,) = files_of(page)
        assert item["about"]["cut"] and item["note"].endswith(" s")
        said = page.ask("signals", number=item["number"])["ok"]
        assert (
            said["rows"] == on_disk >= 60 and said["robot"] == "planar2" and said["outcome"].startswith("interrupted")
        )
        assert page.ask("replay", kind="recording", number=item["number"])["ok"]["ticket"]
        assert page.ask("remove", number=item["number"])["ok"] == {}
        assert files_of(page) == [] and list(folder.iterdir()) == []
        page.close()


def test_a_recording_without_rows_leaves_nothing(folder):
    with running_studio(recordings=folder) as running:
        page = Page(running)  # it does not watch, so nothing is simulated
        assert page.ask("record", on=True)["ok"] == {}
        assert page.ask("record", on=False)["ok"] == {}
        assert files_of(page) == [] and list(folder.iterdir()) == []
        page.close()


def test_what_another_studio_records_is_neither_cut_short_nor_removed(folder):
    pytest.importorskip("fcntl")
    robot = aw.load("planar2")
    plant = PulledArm(robot, Choice(), posture(robot))
    running = LiveRecording(folder, plant, lambda kept: None)
    for _ in range(100):
        running.add(plant)
    end = time.monotonic() + PATIENCE
    while rows_in(folder) < 20 and time.monotonic() < end:
        time.sleep(0.01)
    (kept,) = kept_in(folder)
    assert not kept.cut and "another studio is recording" in kept.note
    with pytest.raises(InputError, match="is being recorded"):
        remove_file(kept.path)
    running.end("stopped")
    assert running.done.result(PATIENCE).rows == 20
    remove_file(kept.path)
    assert list(folder.iterdir()) == []


def test_names_are_new_and_inside_the_folder(folder):
    made = [new_name(folder, robot) for robot in ("ur5", "ur5", "../../etc/passwd", "ein Arm", "ur5")]
    assert len(set(made)) == 5 and all(file.parent == folder for file in made)


def test_the_folder_is_the_one_that_was_chosen(tmp_path, monkeypatch):
    for name in (recordings_folder.FOLDER_VARIABLE, "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    found = recordings_folder.recordings_folder()
    assert found.is_dir() and found.is_relative_to(tmp_path / "home") and found.name == "studio-recordings"
    if os.name != "nt":
        assert stat.S_IMODE(found.stat().st_mode) == 0o700
    monkeypatch.setenv(recordings_folder.FOLDER_VARIABLE, str(tmp_path / "b c"))
    assert recordings_folder.recordings_folder() == tmp_path / "b c"
    assert recordings_folder.recordings_folder(tmp_path / "given") == tmp_path / "given"
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with pytest.raises(ArmwrightError, match="--recordings"):
        recordings_folder.recordings_folder(tmp_path / "file")


def test_without_a_folder_everything_but_recording_works(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with pytest.raises(ArmwrightError, match="--recordings"), running_studio(recordings=tmp_path / "file"):
        pass
    monkeypatch.setenv(recordings_folder.FOLDER_VARIABLE, str(tmp_path / "file"))
    studio = aw.load("planar2").teach(browser=False)
    try:
        page = Page(studio)
        assert "--recordings" in page.ask("record", on=True)["error"]
        assert page.ask("look", q=[0.1, 0.2])["ok"] and not page.ask("watch", live=True)["ok"]["live"]["recording"]
        page.close()
    finally:
        studio.stop()


# ------------------------------------------------------------------------------------------------ the shelf


@pytest.fixture
def shelf():
    shelf = Shelf()
    yield shelf
    shelf.close()


def test_a_full_shelf_refuses_and_drops_nothing(shelf):
    numbers = [shelf.add(ShelfItem("exploration", f"run {k}", "page")) for k in range(MOST_ITEMS)]
    with pytest.raises(InputError, match=f"room for {MOST_ITEMS}.*remove"):
        shelf.add(ShelfItem("exploration", "one more", "page"))
    with pytest.raises(InputError, match="room for"):
        PlacesReserved(shelf, 1)
    assert [item["number"] for item in shelf.listing()] == numbers[::-1]
    shelf.remove(numbers[3])
    more = shelf.add(ShelfItem("exploration", "one more", "page"))
    assert shelf.get(more, "exploration").name == "one more"


def test_room_for_results_is_held_until_they_come(shelf):
    places = PlacesReserved(shelf, 8)
    for _ in range(MOST_ITEMS - 8):
        shelf.add(ShelfItem("exploration", "run", "page"))
    with pytest.raises(InputError):
        shelf.add(ShelfItem("exploration", "run", "page"))
    places.add(ShelfItem("exploration", "a result", "page"))
    places.give_back()
    places.give_back()  # a second time frees nothing more
    for _ in range(7):
        shelf.add(ShelfItem("exploration", "run", "page"))
    with pytest.raises(InputError):
        shelf.add(ShelfItem("exploration", "run", "page"))


def test_recordings_on_disk_are_all_listed(folder, shelf):
    t = np.linspace(0.0, 1.0, 5)
    for k in range(MOST_ITEMS + 6):
        Recording(t, {"q": Signal(np.outer(t, [1.0 + k]), "rad")}).save(folder / f"{k:03d}.csv")
    shelf.offer(kept_in(folder))
    listed = shelf.listing()
    assert [item["name"] for item in listed] == [f"{k:03d}.csv" for k in reversed(range(MOST_ITEMS + 6))]
    for item in listed[::10]:
        assert shelf.recording(item["number"])["q"][-1, 0] == 1.0 + int(item["name"][:3])
    shelf.add(ShelfItem("exploration", "run", "page"))  # and take no room from what is in memory


def test_a_program_keeps_its_last_run_and_takes_it_along(shelf):
    source = shelf.add(ShelfItem("program text", "weld.script", b"..."))
    runs = [shelf.put_run(source, ShelfItem("program", f"run {k}", "page", "", {"source": source})) for k in range(100)]
    assert [item["number"] for item in shelf.listing()] == [runs[-1], source]
    shelf.remove(source)
    assert shelf.listing() == []


def test_a_full_shelf_refuses_an_upload_and_says_what_to_do(tmp_path):
    t = np.linspace(0.0, 1.0, 5)
    file = Recording(t, {"q": Signal(np.outer(t, [1.0]), "rad")}).save(tmp_path / "run.npz")
    with running_studio() as running:
        page = Page(running)
        for k in range(MOST_ITEMS):
            running.studio.shelf.add(ShelfItem("exploration", f"run {k}", "page"))
        status, said = upload(running, "recording", "run.npz", file.read_bytes())
        assert status == 200 and "remove" in said["error"]
        refused = page.ask("explore", reactions=["stop"], observers=[], duration=5, world="pillars")
        assert "remove" in refused["error"]
        oldest = page.ask("list")["ok"]["items"][-1]
        assert oldest["name"] == "run 0" and page.ask("remove", number=oldest["number"])["ok"] == {}
        status, said = upload(running, "recording", "run.npz", file.read_bytes())
        assert status == 200 and said["number"]
        page.close()
