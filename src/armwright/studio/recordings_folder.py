# SPDX-License-Identifier: Apache-2.0
"""The folder of the user's in which the studio keeps what it records: where it is, new files in it, and what is there.

Recordings are CSV files with their description beside them (`armwright.recording.formats`): the one format that needs
no other package and can be written row by row. A file that is being written is locked where the system can do that, so
that another studio neither takes it for one that was cut short nor removes it.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from armwright.errors import ArmwrightError, InputError
from armwright.files import open_regular, read_regular
from armwright.recording.formats import MAX_BYTES
from armwright.recording.formats.csv_format import meta_file
from armwright.recording.formats.file_header import MAX_TEXT

FOLDER_VARIABLE = "ARMWRIGHT_STUDIO_RECORDINGS"
SUFFIX = ".csv"
END_BYTES = 1 << 16  # bytes at the end of a file that hold its last line: an arm of 24 joints has lines of 3 kB


def recordings_folder(given: str | Path | None = None) -> Path:
    """Return the folder: the one given, else ``$ARMWRIGHT_STUDIO_RECORDINGS``, else the platform's for data of users.

    It is made, for this user alone, if it is not there.

    Raises:
        ArmwrightError: it cannot be made or written; the message says how to choose another.
    """
    another = f"choose another with --recordings FOLDER or {FOLDER_VARIABLE}"
    try:
        folder = Path(given or os.environ.get(FOLDER_VARIABLE) or _data_folder())
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError("it cannot be written")
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArmwrightError(f"studio: the folder for recordings cannot be used ({reason}); {another}") from error
    return folder.absolute()


def _data_folder() -> Path:
    home = Path.home()
    if sys.platform == "win32":
        place = _absolute("LOCALAPPDATA", home / "AppData" / "Local")
    elif sys.platform == "darwin":
        place = home / "Library" / "Application Support"
    else:
        place = _absolute("XDG_DATA_HOME", home / ".local" / "share")
    return place / "armwright" / "studio-recordings"


def _absolute(variable: str, default: Path) -> Path:
    given = Path(os.environ.get(variable, ""))
    return given if given.is_absolute() else default


def new_name(folder: Path, robot: str) -> Path:
    """Return a path for a recording of an arm that nobody else has or will have: time, arm, and four random bytes."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    word = re.sub(r"[^A-Za-z0-9_.-]+", "-", robot)[:40].strip(".-") or "arm"
    return folder / f"{stamp}-{word}-{secrets.token_hex(4)}{SUFFIX}"


@dataclass(frozen=True)
class KeptFile:
    """A recording in the folder: its path, how long it is in words, and whether a crash or a kill has ended it."""

    path: Path
    note: str
    cut: bool


def kept_in(folder: Path) -> list[KeptFile]:
    """Return the recordings in a folder, oldest first; one that a crash or a kill has ended is said to be cut short.

    A file without any rows is left out: there is nothing to open.
    """
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX and meta_file(path).is_file())
    except OSError:
        return []
    return [kept for path in found if (kept := _kept(path)) is not None]


def _kept(path: Path) -> KeptFile | None:
    try:
        with open_regular(path, MAX_BYTES) as file:
            file.readline(END_BYTES)
            first = file.readline(END_BYTES)
            file.seek(max(0, os.fstat(file.fileno()).st_size - END_BYTES))
            last = file.read(END_BYTES).rsplit(b"\n", 2)[-2]
        whole = read_regular(meta_file(path), MAX_TEXT).count(b"\n") > 1
        seconds = float(last.split(b",")[0]) - float(first.split(b",")[0])
    except (OSError, ValueError, IndexError):
        return None
    if is_being_written(path):
        return KeptFile(path, f"{seconds:.1f} s so far: another studio is recording", cut=False)
    return KeptFile(path, f"{seconds:.1f} s", cut=not whole)


def remove_file(path: Path) -> None:
    """Remove a recording and its description from the disk.

    Raises:
        InputError: it is being written, or cannot be removed.
    """
    if is_being_written(path):
        raise InputError(f"remove: {path.name} is being recorded; stop that first")
    try:
        path.unlink(missing_ok=True)
        meta_file(path).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"remove: {path.name} could not be removed ({error.strerror or error})") from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Mark a file as being written, where the system has locks that others may look at."""
    try:
        import fcntl
    except ImportError:  # Windows: a file that is open cannot be removed anyway
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # file systems without locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def is_being_written(path: Path) -> bool:
    """Return whether some studio writes a file now."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False
