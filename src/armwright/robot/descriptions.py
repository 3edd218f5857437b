# SPDX-License-Identifier: Apache-2.0
"""Names of the `robot_descriptions` package, where that is installed; it fetches what is used for the first time."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import NamedTuple

from armwright.errors import DescriptionError

PACKAGE = "robot_descriptions"
ENDING = "_description"


class Described(NamedTuple):
    """Where a description lies: its file (URDF, MJCF or xacro) and the folders in which its meshes are."""

    path: Path
    roots: list[Path]


def is_described(name: str) -> bool:
    """Whether a name can be one of `robot_descriptions` and that package is installed; nothing is imported."""
    return name.endswith(ENDING) and name.isidentifier() and importlib.util.find_spec(PACKAGE) is not None


def find_described(name: str) -> Described:
    """Ask `robot_descriptions` for a description by name, e.g. "panda_description"; it may download it.

    Raises:
        DescriptionError: if it has no such description, or could not fetch it.
    """
    try:
        module = importlib.import_module(f"{PACKAGE}.{name}")
    except ModuleNotFoundError as error:
        raise DescriptionError(f"{PACKAGE} has no {name!r} ({error})", rule="name") from error
    except Exception as error:
        raise DescriptionError(f"{PACKAGE} could not fetch {name!r}: {error}", rule="name") from error
    for word in ("URDF_PATH", "MJCF_PATH", "XACRO_PATH"):
        if hasattr(module, word):
            roots = [getattr(module, label, None) for label in ("PACKAGE_PATH", "REPOSITORY_PATH")]
            found = [Path(root) for root in roots if root]
            return Described(Path(getattr(module, word)), [folder.parent for folder in found[:1]] + found)
    raise DescriptionError(f"{PACKAGE}: {name!r} names neither a URDF, an MJCF nor a xacro file", rule="name")
