# SPDX-License-Identifier: Apache-2.0
"""A file that only ever grows by whole pieces: a piece that cannot be written completely is taken back."""

from __future__ import annotations

import contextlib
import mmap
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any


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
        """Create the file with its first piece, or leave nothing open."""
        file = cls(path, sync_every, fresh=fresh)
        try:
            file.write(*parts)
        except BaseException:
            file.close()
            raise
        return file

    def sync(self) -> None:
        """Have the system put everything on the disk."""
        with contextlib.suppress(OSError):  # pipes and /dev/full cannot
            os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def mapped(self) -> mmap.mmap:
        """Return the content of a `fresh` file, whatever its name means by now."""
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
