# SPDX-License-Identifier: Apache-2.0
"""Syntax trees of source files: several guards of the house look at all of them, and parsing takes seconds."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def syntax(path: Path) -> ast.Module:
    """Return the tree of a file, parsed once in a process; nobody may change it."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file in the order of `ast.walk`, which takes as long as parsing did."""
    return tuple(ast.walk(syntax(path)))
