# SPDX-License-Identifier: Apache-2.0
"""Files that users name: only regular ones of a stated size are opened; a pipe or a device may block or never end.

Refusals are `OSError`, as the system's own are: every reader turns both into its error with the place and the rule.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
# a pipe without a writer opens at once instead of blocking; these mean nothing to a regular file
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: Path, most: int) -> BinaryIO:
    """Open a regular file of at most `most` bytes for reading; links are followed.

    Raises:
        OSError: `strerror` says what was found instead, or that the file is too large.
    """
    _check(os.stat(path), path, most)  # before opening, which some devices notice
    handle = os.open(path, _FLAGS)
    try:
        _check(os.fstat(handle), path, most)  # and after it: the name may mean something else by now
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
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "something else")
        raise OSError(errno.EINVAL, f"expected a regular file, found {kind}", str(path))
    if found.st_size > most:
        raise _too_large(found.st_size, path, most)


def _too_large(size: int, path: Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"{size} bytes; at most {most} are read", str(path))
