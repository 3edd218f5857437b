# SPDX-License-Identifier: Apache-2.0
"""Files that users name: opened safely, written by whole pieces, and finished before an interrupt is delivered.

Reading: `open_regular` and `read_regular` take regular files of a stated size only; a pipe or a device may block or
never end. Refusals are `OSError`, as the system's own are: every reader turns both into its error with the place and
the rule. Writing: every file that a user names goes through `replacing` (or `write_file`): it is written as a private
draft next to its place, flushed, and takes its name when it is whole, so that a full disk, an error or Ctrl-C leaves an
older file as it was. `SafeFile` grows by whole pieces and takes back a piece that it could not write completely.
`Uninterrupted` lets Ctrl-C wait.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import mmap
import os
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, BinaryIO

from armwright.errors import WriteError

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
# a pipe without a writer opens at once instead of blocking; these mean nothing to a regular file
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


_read: dict[tuple[int, int], bool] | None = None
"""Files (device, inode) since `inputs_protected` began: True if read, False if written here; None outside of it."""


@contextmanager
def inputs_protected() -> Iterator[None]:
    """Within this context no file can be replaced that was read in it, unless it was written in it before.

    Commands run in it, so that no slip of an option overwrites a measurement, nor a file that belongs to it (a mesh, a
    description). In a program of the user's, reading a file and saving it again is nobody's business.
    """
    global _read
    before, _read = _read, {}
    try:
        yield
    finally:
        _read = before


@contextmanager
def results_looked_at() -> Iterator[None]:
    """Within this context files are read that may be replaced all the same: what an earlier run of ours left behind."""
    global _read
    before, _read = _read, None
    try:
        yield
    finally:
        _read = before


def open_regular(path: Path, most: int) -> BinaryIO:
    """Open a regular file of at most `most` bytes for reading; links are followed.

    Raises:
        OSError: `strerror` says what was found instead, or that the file is too large.
    """
    try:
        _check(os.stat(path), path, most)  # before opening, which some devices notice
    except ValueError as error:  # a name with a NUL, or one that this locale cannot write
        raise OSError(errno.ENOENT, "no file can have this name here", ascii(str(path))) from error
    handle = os.open(path, _FLAGS)
    try:
        found = os.fstat(handle)
        _check(found, path, most)  # and after it: the name may belong to another file by now
        if _read is not None:
            _read.setdefault((found.st_dev, found.st_ino), True)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most `most` bytes; errors as `open_regular`."""
    with open_regular(path, most) as file:
        content = file.read(most + 1)  # the file may be growing
    if len(content) > most:
        raise _too_large(len(content), path, most)
    return content


def _check(found: os.stat_result, path: Path, most: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, f"expected a regular file, found {_kind(found.st_mode)}", str(path))
    if found.st_size > most:
        raise _too_large(found.st_size, path, most)


def _kind(mode: int) -> str:
    return next((name for test, name in _KINDS if test(mode)), "something else")


def _too_large(size: int, path: Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"{size} bytes; at most {most} are read", str(path))


class SafeFile:
    """Unbuffered writing of pieces; after an error or an interrupt the file ends with the last whole piece.

    What was written survives the death of the process at once (it is the system's), and a power cut up to the last
    `sync`: at most `sync_every` seconds, and at close.
    """

    def __init__(self, path: Path, sync_every: float | None = 1.0, *, fresh: bool = False) -> None:
        """Create or empty the file; `sync_every` None leaves all syncing to the system.

        A `fresh` file must not exist yet, not even as a link to somewhere, and can be read back with `mapped`.
        """
        self.path = path
        self.size = 0
        self._every = sync_every
        self._synced = time.monotonic()
        self._file = open(path, "x+b" if fresh else "wb", buffering=0)  # noqa: SIM115 - lives as long as the object

    def write(self, *parts: Any) -> None:
        """Append one piece, given in parts (bytes-like, contiguous)."""
        size = self.size
        try:
            for part in parts:
                view = memoryview(part).cast("B") if memoryview(part).nbytes else memoryview(b"")
                while view.nbytes:
                    done = self._file.write(view)
                    if not done:
                        raise OSError(f"nothing could be written to {self.path}")
                    view, size = view[done:], size + done
        except BaseException:  # Ctrl-C included: never leave half a piece behind
            with contextlib.suppress(OSError):
                self._file.truncate(self.size)
                self._file.seek(self.size)
            raise
        self.size = size
        if self._every is not None and time.monotonic() - self._synced >= self._every:
            self.sync()

    @classmethod
    def begin(cls, path: Path, sync_every: float | None, *parts: Any, fresh: bool = False) -> SafeFile:
        """Create the file with its first piece, or leave nothing open, and nothing that is new."""
        file = cls(path, sync_every, fresh=fresh)
        try:
            file.write(*parts)
        except BaseException:
            file.close()
            if fresh:
                path.unlink(missing_ok=True)
            raise
        return file

    def sync(self) -> None:
        """Ask the system to put everything on the disk."""
        with contextlib.suppress(OSError):  # pipes and /dev/full cannot
            os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def mapped(self) -> mmap.mmap:
        """Return the content of a `fresh` file, even if its name belongs to another file by now."""
        return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)

    def is_at(self, path: Path) -> bool:
        """Whether `path` still names this file."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), os.lstat(path))
        except OSError:
            return False

    def close(self) -> None:
        """Sync unless told not to, and close; safe to call twice."""
        if not self._file.closed:
            if self._every is not None:
                self.sync()
            self._file.close()

    def __enter__(self) -> SafeFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def draft_folder(target: Path) -> Iterator[Path]:
    """Make a temporary folder next to `target`: new, with a name nobody can foresee, open to this user alone.

    So no other thread or process writes the same draft, and nobody can put a link in its place. It is on the target's
    file system, so that what was written there can take the target's name at once.
    """
    with tempfile.TemporaryDirectory(".draft", f".{target.name}.", target.parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def place_of(target: Path, *, regular: bool = False) -> Path:
    """Return where writing to `target` ends: links of this user and of the system are followed.

    Raises:
        OSError: `target` is a folder, may not be written, is a link that another user has put there, or, where a
            `regular` file is wanted, a pipe or a device.
    """
    if target.is_symlink():
        owner = os.lstat(target).st_uid
        if owner not in (0, getattr(os, "geteuid", lambda: owner)()):
            raise OSError(errno.EPERM, "is a link that belongs to another user", str(target))
        target = Path(os.path.realpath(target))
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return target
    mode = found.st_mode
    if _read is not None and _read.get((found.st_dev, found.st_ino)):
        raise OSError(errno.EINVAL, "this command reads that file; choose another name", str(target))
    if stat.S_ISDIR(mode) or (regular and not stat.S_ISREG(mode)):
        raise OSError(errno.EINVAL, f"expected a regular file, found {_kind(mode)}", str(target))
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    return target


_PLACING = threading.Lock()
"""Held while files take their names: threads that write two files under one name must not mix them."""


@contextmanager
def replacing(target: str | Path) -> Iterator[Path]:
    """Give the path of a draft to write; it takes the name `target` when the block ends well, and not before.

    Other files that the block puts next to the draft take their places next to `target`. All are flushed to disk
    first, and an older file passes its permissions on. A pipe or a device is written directly: it holds nothing that
    could be lost.

    Raises:
        WriteError: the file could not be written; nothing has changed at its place.

    >>> with replacing("arm.json") as draft:
    ...     draft.write_text("{}")
    """
    file = Path(target)
    try:
        place = place_of(file)
        if place.exists() and not place.is_file():
            yield place
            return
        with draft_folder(place) as folder:
            yield folder / place.name
            drafts = sorted(folder.iterdir(), reverse=True)
            for draft in drafts:
                _finish(draft, place.with_name(draft.name))
            _take_places([(draft, place.with_name(draft.name)) for draft in drafts])
    except OSError as error:
        raise WriteError(str(file), str(error.strerror or error)) from error


def free_name(target: Path, beside: tuple[str, ...] = ()) -> Path:
    """Return `target` if nothing has that name, else ``run.partial.mcap``, ``run.partial-2.mcap``, … next to it.

    What grows piece by piece, or may turn out to be half of what was wanted, is written there: an older file stays
    until the new one is whole. `beside` are endings of files that would stand next to it; their names are free, too.

    >>> free_name(Path("run.mcap"))
    """
    names = itertools.chain(
        [target],
        (target.with_stem(f"{target.stem}.partial{number}") for number in ("", *map("-{}".format, range(2, 1000)))),
    )
    for name in names:
        if not any(os.path.lexists(f"{name}{ending}") for ending in ("", *beside)):
            return name
    raise OSError(errno.EEXIST, "a thousand unfinished files of that name are there already", str(target))


def take_place(draft: Path, target: Path, beside: tuple[str, ...] = ()) -> None:
    """Let a finished file, and those `beside` it that exist, take the name `target` at once; Ctrl-C waits."""
    names = [(Path(f"{draft}{ending}"), Path(f"{target}{ending}")) for ending in ("", *beside)]
    _take_places([(old, new) for old, new in names if old.exists()])


def write_file(target: str | Path, content: str | bytes) -> None:
    """Write a whole file, text as UTF-8; see `replacing`."""
    with replacing(target) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


def _take_places(names: list[tuple[Path, Path]]) -> None:
    """Rename files that are whole: all of them, or none, as far as Ctrl-C and other threads are concerned."""
    with _PLACING, Uninterrupted():
        for draft, place in names:
            found = os.stat(draft)
            os.replace(draft, place)
            if _read is not None:
                _read[found.st_dev, found.st_ino] = False
    for folder in {place.parent for _, place in names}:
        _flush(folder)


def _finish(draft: Path, place: Path) -> None:
    """Give a draft the permissions of the file that it replaces, and put it on the disk."""
    with contextlib.suppress(FileNotFoundError):
        os.chmod(draft, stat.S_IMODE(os.stat(place).st_mode))
    _flush(draft)


def _flush(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:  # Windows does not open folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Uninterrupted:
    """A context in which Ctrl-C (SIGINT) waits; leaving it passes the interrupt to the handler that was there before.

    Pressing a second time does not wait: the disk may hang. Outside the main thread, where Python delivers no signals,
    and where SIGINT is ignored or handled outside Python, nothing is changed.
    """

    def __init__(self) -> None:
        """Prepare; nothing changes yet."""
        self._handler: Any = None
        self._came: FrameType | None = None
        self._waiting = False

    def __enter__(self) -> Uninterrupted:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler  # set before our handler is installed, which needs it
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handler is None:
            return
        signal.signal(signal.SIGINT, self._handler)
        if self._waiting:
            self._handler(signal.SIGINT, self._came)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._waiting:
            self._handler(number, frame)
        self._waiting, self._came = True, frame
