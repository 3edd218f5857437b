# SPDX-License-Identifier: Apache-2.0
"""Worlds by name, those that come with the package, or from a file."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from armwright.arguments import names_culprit
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.world.world import World

PACKAGE = "armwright.world"


def worlds() -> list[str]:
    """Return the names of the worlds that come with the package, sorted.

    >>> worlds()[0]  # 'bench'
    """
    folder = resources.files(PACKAGE) / "worlds"
    return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))


@names_culprit
def load_world(path: str | Path) -> World:
    """Read a world: the name of one that comes with the package (`worlds`), or a TOML file.

    Raises:
        DescriptionError: with file, line, dotted path and rule.

    >>> aw.load_world("shelf")
    """
    from armwright.world.world_file import read_world, world_from_text

    text = str(path)
    if isinstance(path, str) and not text.endswith(".toml"):
        if text not in worlds():
            raise InputError(f"no world {text!r}, and not a .toml file; the package has: {', '.join(worlds())}")
        content = (resources.files(PACKAGE) / "worlds" / f"{text}.toml").read_text(encoding="utf-8")
        return world_from_text(content, f"worlds/{text}.toml")
    return read_world(Path(text))
