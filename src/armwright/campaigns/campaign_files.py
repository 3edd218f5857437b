# SPDX-License-Identifier: Apache-2.0
"""Files of a campaign's folder, which others may have written: read as regular files, written without following links.

A file takes its name when it is whole and on the disk. It is drafted in a private folder next to its place, whose name
nobody can foresee; whatever has its name already, a link for example, is replaced and not written to. Folders of a
campaign (``rows``, ``set-aside``) must not be links: rows would go elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from pathlib import Path

from armwright.errors import InputError
from armwright.files import draft_folder, read_regular

HEAD, PREPARED = "campaign.json", "prepared.bin"
MOST_HEAD_BYTES = 16_000_000  # [bytes] of campaign.json: a plan's settings are short
MOST_DATA_BYTES = 1 << 30  # [bytes] of what was prepared, and of a chunk's file: both are held in memory
LEFT_BEHIND_SECONDS = 3600.0  # [s] after which a draft counts as left behind: writing one takes seconds at most
DRAFT = re.compile(r"\.([0-9]{9}-[0-9]{9}\.parquet|campaign\.json|prepared\.bin)\..+")


class StoreError(InputError):
    """A folder that is not the campaign it should be."""


def read_own(path: Path, most: int) -> bytes:
    """Return the content of a campaign's file of at most `most` bytes, or raise `StoreError` with what was found."""
    try:
        return read_regular(path, most)
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror or error})") from None


def write_own(path: Path, content: bytes) -> None:
    """Put a whole file into a campaign's folder: one flush of the file, and one of its folder.

    Raises:
        OSError: nothing has changed at its place.
    """
    with draft_folder(path) as folder:
        draft = folder / path.name
        with open(draft, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    with contextlib.suppress(OSError):  # Windows opens no folders, and some file systems flush none
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def own_folder(path: Path, *, make: bool = False) -> bool:
    """Whether a campaign has this folder; raise `StoreError` for something else in its place, a link above all."""
    try:
        if make:
            with contextlib.suppress(FileExistsError):
                path.mkdir()
        if not os.path.lexists(path):
            return False
    except OSError as error:
        raise StoreError(f"{path}: cannot be made ({error.strerror or error})") from None
    if path.is_symlink() or not path.is_dir():
        what = "a link" if path.is_symlink() else "no folder"
        raise StoreError(f"{path}: is {what}; a campaign needs a folder of its own there")
    return True


def remove_drafts(folder: Path) -> None:
    """Remove drafts that processes left behind when they were killed while writing.

    Several hosts may write into one folder, and no lock reaches all of them: what is younger than an hour stays.
    """
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if not DRAFT.fullmatch(entry.name):
                continue
            with contextlib.suppress(OSError):
                if time.time() - entry.stat(follow_symlinks=False).st_mtime < LEFT_BEHIND_SECONDS:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)
