# SPDX-License-Identifier: Apache-2.0
"""Optional packages, imported when first used, with an error that names what to install."""

from __future__ import annotations

import importlib
from typing import Any

from armwright.errors import NotSupportedError


def need(module: str, extra: str, purpose: str) -> Any:
    """Import `module`, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise NotSupportedError(f"{purpose} needs {package}: pip install 'armwright[{extra}]'") from error
