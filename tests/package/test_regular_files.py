# SPDX-License-Identifier: Apache-2.0
"""Files that users name may be anything: only regular ones below a stated size are read, and no reader ever blocks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import armwright as aw
from armwright.cli.option_words import waypoints
from armwright.errors import ArmwrightError
from armwright.recording.recording import Recording
from armwright.world.mesh_distance import load_mesh
from armwright.world.world_catalogue import load_world

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and devices are files on POSIX only")

READERS: dict[str, Callable[[Path], Any]] = {
    "arm.toml": aw.load,
    "arm.urdf": aw.load,
    "world.toml": load_world,
    "way.toml": lambda path: waypoints(path, aw.load("planar2")),
    "way.json": lambda path: waypoints(path, aw.load("planar2")),
    "part.stl": load_mesh,
    "part.ply": load_mesh,
    "run.mcap": Recording.load,
    "run.parquet": Recording.load,
    "run.csv": Recording.load,
    "run.npz": Recording.load,
}


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Make pipes whose other end is opened and closed at once, so that a reader who does open one is not stuck."""
    made: list[tuple[Path, threading.Thread]] = []

    def make(name: str) -> Path:
        path = tmp_path / name
        os.mkfifo(path)
        other = threading.Thread(target=lambda: os.close(os.open(path, os.O_WRONLY)))
        other.start()
        made.append((path, other))
        return path

    yield make
    for path, other in made:
        while other.is_alive():  # nobody has opened it: let its other end go
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            other.join(0.01)


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_refused_and_never_opened(name: str, pipe: Callable[[str], Path]) -> None:
    path = pipe(name)
    with pytest.raises(ArmwrightError, match=r"expected a regular file, found a pipe \(FIFO\)") as caught:
        READERS[name](path)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", READERS)
def test_a_device_and_a_folder_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).symlink_to(os.devnull)
    with pytest.raises(ArmwrightError, match="expected a regular file, found a device"):
        READERS[name](tmp_path / name)
    folder = tmp_path / "folder"
    (folder / name).mkdir(parents=True)
    with pytest.raises(ArmwrightError, match="expected a regular file, found a directory"):
        READERS[name](folder / name)


@pytest.mark.parametrize("name", READERS)
def test_a_file_without_bounds_is_refused_by_its_size(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(2**40)  # a hole: takes no space
    with pytest.raises(ArmwrightError, match=f"{2**40} bytes; at most"):
        READERS[name](path)


def test_the_files_beside_a_file_are_regular_too(tmp_path: Path, pipe: Callable[[str], Path]) -> None:
    """What a sheet extends, the mesh of a world, the description of a CSV file."""
    (tmp_path / "arm.toml").write_text('name = "arm"\nextends = "base"\n', encoding="utf-8")
    pipe("base.toml")
    with pytest.raises(ArmwrightError, match="found a pipe"):
        aw.load(tmp_path / "arm.toml")
    (tmp_path / "world.toml").write_text(
        'name = "w"\n[shapes.part]\nkind = "mesh"\nfile = "part.stl"\nunit = "mm"\n', encoding="utf-8"
    )
    pipe("part.stl")
    with pytest.raises(ArmwrightError, match="found a pipe"):
        load_world(tmp_path / "world.toml")
    (tmp_path / "run.csv").write_text("t\n0.0\n", encoding="utf-8")
    pipe("run.csv.meta")
    with pytest.raises(ArmwrightError, match="found a pipe"):
        Recording.load(tmp_path / "run.csv")
