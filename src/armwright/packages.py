# SPDX-License-Identifier: Apache-2.0
"""Names that are looked up when first used: optional packages, and former names of public objects."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from armwright.errors import NotSupportedError


def need(module: str, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise NotSupportedError(f"{purpose} needs {package}: pip install 'armwright[{extra}]'") from error


def former_names(room: str, names: Mapping[str, str], *, level: int = 2) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that still finds objects by their former names, with a `DeprecationWarning`.

    `names` maps a former name to where the object is now: ``name`` in the same room, or ``room.name`` from the package.
    `level` says how many calls lie between the user and the warning.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        home, _, new = names[name].rpartition(".")
        place = f"armwright.{home}" if home else room
        warnings.warn(f"{room}.{name} is now {place}.{new}", DeprecationWarning, stacklevel=level)
        return getattr(importlib.import_module(place), new)

    return find
