# SPDX-License-Identifier: Apache-2.0
"""The one writer of files: whole or not at all, nobody else's links, and no other way to write in the package."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from armwright.errors import ArmwrightError
from armwright.files import free_name, inputs_protected, read_regular, replacing, take_place, write_file
from support.patience import PATIENCE
from support.places import ROOT

posix = pytest.mark.skipif(os.name != "posix", reason="links, users and permissions of POSIX")
WRITES = re.compile(
    r"\.write_text\(|\.write_bytes\(|\.savefig\((?!buffer|held|data|\")|\bopen\([^)]*[\"'][wax]b?[+\"']|np\.save"
)
WRITERS = {
    "files.py": "the writer itself",
    "graph/cache.py": "files that no user names, in a folder of this user alone",
    "recording/pictures/style.py": "into a draft",
    "recording/pictures/animation.py": "into a draft",
    "recording/formats/npz_format.py": "into a draft",
    "recording/formats/ros2_bag.py": "into a draft",
    "cli/output.py": "the null device",
    "campaigns/work.py": "the null device",
    "campaigns/campaign_files.py": "into a draft; links are replaced, not followed",
    "lab/experiment/evaluate.py": "into a draft",
    "lab/lab_export.py": "into a draft",
    "simulation/artefact/fmu_binaries.py": "sources for a compiler, in a temporary folder",
    "studio/own_arm.py": "uploads, in a folder of its own that is new",
    "studio/server.py": "uploads, in a folder of its own that is new",
    "studio/long_work.py": "uploads, in a folder of its own that is new",
}
"""Files of the package that write by other means, and why."""


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("no")])
@pytest.mark.parametrize("old", [None, "old"])
def test_what_fails_leaves_everything_as_it_was(tmp_path: Path, error: BaseException, old: str | None) -> None:
    file = tmp_path / "a.txt"
    if old is not None:
        file.write_text(old, encoding="utf-8")
    expected = ArmwrightError if isinstance(error, OSError) else type(error)

    def fail() -> None:
        with replacing(file) as draft:
            draft.write_text("half of the ne", encoding="utf-8")
            raise error

    with pytest.raises(expected, match="nothing was changed there" if expected is ArmwrightError else None):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ([] if old is None else ["a.txt"])
    assert old is None or file.read_text(encoding="utf-8") == old


def test_a_draft_is_private_and_has_the_name_of_its_file(tmp_path: Path) -> None:
    with replacing(tmp_path / "run.csv") as draft:
        draft.write_text("numbers", encoding="utf-8")
        draft.with_name("run.csv.meta").write_text("words", encoding="utf-8")
        assert draft.name == "run.csv" and draft.parent.parent == tmp_path
        assert os.name != "posix" or stat.S_IMODE(draft.parent.stat().st_mode) == 0o700
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        "run.csv": "numbers",
        "run.csv.meta": "words",
    }


@posix
def test_permissions_stay(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o640)
    write_file(file, "new")
    assert file.read_text(encoding="utf-8") == "new" and stat.S_IMODE(file.stat().st_mode) == 0o640


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everything")
def test_what_may_not_be_written_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o444)
    with pytest.raises(ArmwrightError, match="Permission denied"):
        write_file(file, "new")
    assert file.read_text(encoding="utf-8") == "old"


@posix
def test_own_links_lead_on_and_those_of_others_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    behind, link = tmp_path / "behind.txt", tmp_path / "link.txt"
    behind.write_text("old", encoding="utf-8")
    link.symlink_to(behind)
    write_file(link, "new")
    assert link.is_symlink() and behind.read_text(encoding="utf-8") == "new"
    if os.geteuid() == 0:
        os.lchown(link, 65534, 65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.lstat(link).st_uid + 1)
    with pytest.raises(ArmwrightError, match="a link that belongs to another user"):
        write_file(link, "stolen")
    assert behind.read_text(encoding="utf-8") == "new"


@posix
def test_pipes_and_devices_are_written_and_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[bytes] = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    listener.start()
    write_file(pipe, "through")
    listener.join(PATIENCE)
    assert heard == [b"through"] and stat.S_ISFIFO(pipe.stat().st_mode)
    write_file("/dev/null", "nothing")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ArmwrightError, match="expected a regular file, found a directory"):
        write_file(tmp_path, "x")


def test_free_names(tmp_path: Path) -> None:
    file = tmp_path / "run.mcap"
    assert free_name(file) == file
    file.touch()
    assert free_name(file).name == "run.partial.mcap"
    (tmp_path / "run.partial.mcap.meta").touch()
    assert free_name(file).name == "run.partial.mcap"
    assert free_name(file, (".meta",)).name == "run.partial-2.mcap"


def test_files_that_belong_together_move_together(tmp_path: Path) -> None:
    for name, text in {"a.csv": "old", "a.csv.meta": "old", "b.csv": "new", "b.csv.meta": "new"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    take_place(tmp_path / "b.csv", tmp_path / "a.csv", (".meta", ".partial"))
    found = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert found == {"a.csv": "new", "a.csv.meta": "new"}


def test_what_was_read_is_protected_and_what_was_written_is_not(tmp_path: Path) -> None:
    log, model = tmp_path / "log.csv", tmp_path / "model.json"
    log.write_text("measured", encoding="utf-8")
    with inputs_protected():
        read_regular(log, 100)
        with pytest.raises(ArmwrightError, match="this command reads that file; choose another name"):
            write_file(log, "model")
        write_file(model, "first")
        read_regular(model, 100)
        write_file(model, "second")
    assert (log.read_text(encoding="utf-8"), model.read_text(encoding="utf-8")) == ("measured", "second")
    write_file(log, "on purpose")  # in a program of the user's


@posix
def test_a_killed_writer_leaves_the_older_file(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old", encoding="utf-8")
    code = (
        "import os, signal, sys\nfrom armwright.files import replacing\n"
        "with replacing(sys.argv[1]) as draft:\n"
        "    draft.write_text('half', encoding='utf-8')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], timeout=PATIENCE)
    assert file.read_text(encoding="utf-8") == "old"


def test_the_package_has_one_writer() -> None:
    """Whoever writes by other means is in the list above, with the reason."""
    package = ROOT / "src" / "armwright"
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "bench" not in path.parts and WRITES.search(path.read_text(encoding="utf-8"))
    }
    assert found <= set(WRITERS), found - set(WRITERS)
