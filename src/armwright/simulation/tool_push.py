# SPDX-License-Identifier: Apache-2.0
"""A force and a moment on the tool as inputs of a loop: what an importer of an exported arm pushes it with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armwright.types import Traced

PUSH_INPUT = {"push": (6,)}
"""Name and shape, for `Loop.inputs`."""
PUSH_UNIT, PUSH_MEANING = "N, N m", "force and moment of the world on the tool, base axes"


def tool_push(push: Traced) -> Traced:
    """Return the wrench (6,) at the tool [N, N m], base axes: the input itself."""
    return push
