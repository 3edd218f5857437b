"""Compiled objects on disk: keyed by graph, machine and versions, in a directory only the user can write.

A file is ``magic · BLAKE2 of the rest · object code``. Anything that does not check out is ignored and written anew;
a cache that cannot be used costs speed, never an answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import warnings
from functools import lru_cache
from pathlib import Path

from armwright.errors import ArmwrightWarning

MAGIC = b"armwright-1\n"
DIGEST = 32


def cache_directory() -> Path:
    """``$ARMWRIGHT_CACHE_DIR``, else the platform's per-user cache directory."""
    if given := os.environ.get("ARMWRIGHT_CACHE_DIR"):
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "armwright" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "armwright"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "armwright"


@lru_cache(maxsize=8)
def _usable(directory: Path) -> bool:
    """Create the directory for this user alone; say once why it cannot be used."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.name == "posix":
            status = directory.stat()
            if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise PermissionError("it can be written by other users")
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError("it cannot be written")
    except OSError as error:
        warnings.warn(
            f"compiled code is not cached: {directory}: {error}; set ARMWRIGHT_CACHE_DIR to a directory of your own",
            ArmwrightWarning, stacklevel=2,
        )  # fmt: skip
        return False
    return True


def load(key: str) -> bytes | None:
    """Return the object stored under `key`, None if there is none or it is damaged."""
    directory = cache_directory()
    if not _usable(directory):
        return None
    try:
        data = (directory / key).read_bytes()
    except OSError:
        return None
    head, body = data[: len(MAGIC)], data[len(MAGIC) + DIGEST :]
    stored = data[len(MAGIC) : len(MAGIC) + DIGEST]
    if head != MAGIC or hashlib.blake2b(body, digest_size=DIGEST).digest() != stored:
        with contextlib.suppress(OSError):
            (directory / key).unlink()
        return None
    return body


def store(key: str, body: bytes) -> None:
    """Keep `body` under `key`: complete or not at all, whoever else is writing."""
    directory = cache_directory()
    if not _usable(directory):
        return
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=".new-")
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + hashlib.blake2b(body, digest_size=DIGEST).digest() + body)
        os.replace(temporary, directory / key)
        temporary = None
    except OSError as error:
        warnings.warn(f"compiled code is not cached: {error}", ArmwrightWarning, stacklevel=2)
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
