# SPDX-License-Identifier: Apache-2.0
"""Where sheets live: the catalogue inside the package, and files beside the one that extends them."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from armwright.errors import DescriptionError
from armwright.regular_file import read_regular
from armwright.robot.sheet.text import MAX_BYTES

CATALOGUE = "armwright.catalogue"


def catalogue_names() -> list[str]:
    """Return the names of all sheets that come with the package, sorted."""
    return sorted(entry.name[:-5] for entry in resources.files(CATALOGUE).iterdir() if entry.name.endswith(".toml"))


def nearest(name: str) -> str:
    """Return the end of a message about an unknown name: the three nearest that there are, and where all are listed."""
    close = difflib.get_close_matches(name.lower()[:60], catalogue_names(), n=3, cutoff=0.0)
    return f"nearest: {', '.join(close)}; see armwright robots"


def catalogue_text(name: str) -> tuple[str, str]:
    """Return (text, file name for messages) of a catalogue sheet."""
    return (resources.files(CATALOGUE) / f"{name}.toml").read_text(encoding="utf-8"), f"catalogue/{name}.toml"


def file_text(path: Path) -> str:
    """Read a sheet; missing, oversize and non-UTF-8 files, pipes and devices are `DescriptionError`."""
    try:
        return read_regular(path, MAX_BYTES).decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise DescriptionError(f"not UTF-8 text: {error}", where=str(path), rule="encoding") from None
    except (OSError, ValueError) as error:
        rule = "size" if getattr(error, "errno", None) == errno.EFBIG else "file"
        reason = getattr(error, "strerror", None) or error
        raise DescriptionError(f"cannot read: {reason}", where=str(path), rule=rule) from None


def finder(directory: Path | None, skip: str = "") -> Callable[[str], tuple[str, str]]:
    """Return the function that resolves ``extends``: a sheet in `directory` first, then the catalogue.

    `skip` is the file that asks: one's own ``ur5.toml`` may extend the catalogue's ``ur5``.
    """

    def find(name: str) -> tuple[str, str]:
        stem = name.removesuffix(".toml")
        if not stem or "/" in stem or "\\" in stem or stem.startswith(".") or "\0" in stem:
            raise DescriptionError("extends names a sheet in the same directory or in the catalogue, not a path")
        own = f"{stem}.toml" == skip and stem in catalogue_names()
        if directory is not None and not own and (directory / f"{stem}.toml").exists():
            path = directory / f"{stem}.toml"
            return file_text(path), str(path)
        if stem.lower() in catalogue_names():
            return catalogue_text(stem.lower())
        raise DescriptionError(f"no such sheet beside this one or in the catalogue; {nearest(stem)}")

    return find
