# SPDX-License-Identifier: Apache-2.0
"""Compiled objects on disk: keyed by graph, machine and versions, in a directory only the user can write.

A file is ``magic · digest · object code``. The digest is BLAKE2 of the file's name and the code under a secret, which
lies next to them and which only the user can read: code is run only if this user's Armwright put it there, under that
name, as it is. Links, and files that others own or may write, are not looked into. Anything that does not check out is
ignored and written again; a cache that cannot be used costs speed, never an answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import warnings
from pathlib import Path

from armwright.errors import ArmwrightWarning

MAGIC = b"armwright-2\n"
DIGEST = SECRET = 32  # bytes
SECRET_NAME = ".secret"
OTHERS_WRITE, OTHERS_ANY = stat.S_IWGRP | stat.S_IWOTH, stat.S_IRWXG | stat.S_IRWXO
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_told: set[str] = set()


def cache_directory() -> Path | None:
    """Return ``$ARMWRIGHT_CACHE_DIR``, else the platform's per-user cache directory; None if the user has none.

    A relative path is ignored: code would be run from whatever folder the process happens to be in.
    """
    if given := os.environ.get("ARMWRIGHT_CACHE_DIR"):
        if Path(given).is_absolute():
            return Path(given)
        _tell(f"ARMWRIGHT_CACHE_DIR={given!r} is ignored: it must be an absolute path")
    try:
        home = Path.home()
    except RuntimeError:  # neither $HOME nor an entry in the user database
        return None
    if sys.platform == "win32":
        place = _absolute("LOCALAPPDATA", home) / "armwright" / "cache"
    elif sys.platform == "darwin":
        place = home / "Library" / "Caches" / "armwright"
    else:
        place = _absolute("XDG_CACHE_HOME", home / ".cache") / "armwright"
    return place if place.is_absolute() else None


def _absolute(variable: str, default: Path) -> Path:
    given = Path(os.environ.get(variable, ""))
    return given if given.is_absolute() else default


def _tell(message: str) -> None:
    """Warn once per process."""
    if message not in _told:
        _told.add(message)
        warnings.warn(message, ArmwrightWarning, stacklevel=3)


def usable_directory() -> Path | None:
    """Return the directory, made for this user alone; None, said once, if it cannot be used."""
    directory = cache_directory()
    try:
        if directory is None:
            raise FileNotFoundError("this user has no home directory")
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _own(directory.stat(), OTHERS_WRITE):
            raise PermissionError("it can be written by other users")
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError("it cannot be written")
    except OSError as error:
        where = f"{directory}: " if directory else ""
        _tell(f"compiled code is not cached: {where}{error}; set ARMWRIGHT_CACHE_DIR to a directory of your own")
        return None
    return directory


def _own(status: os.stat_result, forbidden: int) -> bool:
    """Return whether a file belongs to this user and grants others none of the forbidden rights."""
    return os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & forbidden)


def _read(path: Path, forbidden: int) -> bytes | None:
    """Return the contents of a regular file of this user; None for links, pipes and what others may write."""
    try:
        handle = os.open(path, _OPEN)
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _own(status, forbidden):
            return None
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(handle)


def _write(path: Path, data: bytes) -> None:
    """Write a file that only the user can read, completely or not at all, whoever else is writing."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _secret(directory: Path) -> bytes | None:
    secret = _read(directory / SECRET_NAME, OTHERS_ANY)
    return secret if secret is not None and len(secret) == SECRET else None


def _digest(secret: bytes, key: str, body: bytes) -> bytes:
    bound = key.encode() + b"\n" + body
    return hashlib.blake2b(bound, key=secret, digest_size=DIGEST).digest()


def load(key: str) -> bytes | None:
    """Return the object stored under `key`, None if there is none or it is not as `store` left it."""
    directory = usable_directory()
    data = _read(directory / key, OTHERS_WRITE) if directory else None
    secret = _secret(directory) if directory and data else None
    if data is None or secret is None:
        return None
    body, start = data[len(MAGIC) + DIGEST :], len(MAGIC)
    good = data[:start] == MAGIC and data[start : start + DIGEST] == _digest(secret, key, body)
    return body if good else None


def store(key: str, body: bytes) -> None:
    """Keep `body` under `key`."""
    directory = usable_directory()
    if directory is None:
        return
    try:
        secret = _secret(directory)
        if secret is None:
            _write(directory / SECRET_NAME, os.urandom(SECRET))
            secret = _secret(directory)  # another process may have been quicker: all take what lies there
        if secret is not None:
            _write(directory / key, MAGIC + _digest(secret, key, body) + body)
    except OSError as error:
        _tell(f"compiled code is not cached: {error}")
