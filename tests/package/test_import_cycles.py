# SPDX-License-Identifier: Apache-2.0
"""Modules import one another in one direction: lazy imports and those for type checkers count as well.

One kind is left out: a thin method of a description (`robot.save(path)`, `recording.plot()`), which imports the module
that does the work and hands over to it in a single statement.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.places import ROOT
from support.syntax_trees import nodes

SOURCE = ROOT / "src" / "armwright"
UNDER_WAY = {"armwright.exploration"}  # runs and what they are made of know one another by type
RESULTS = {  # types of what thin methods return: `robot.tree`, `loop.session()`, `loop.live()`
    ("armwright.robot.model", "armwright.robot.tree"),
    ("armwright.simulation.control_loop", "armwright.simulation.live_loop"),
    ("armwright.simulation.control_loop", "armwright.simulation.session"),
}


def is_thin(node: ast.AST) -> bool:
    """Whether a function consists of imports and one more statement (after its docstring)."""
    if not isinstance(node, ast.FunctionDef):
        return False
    body = (
        node.body[1:]
        if isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        else node.body
    )
    rest = [part for part in body if not isinstance(part, ast.ImportFrom)]
    return len(rest) == 1 < len(body)


def imports(parts: Sequence[ast.AST], package: str, known: set[str]) -> set[str]:
    """Modules of `known` that a module in `package`, of these nodes, imports anywhere but in thin methods."""
    left_out = {
        id(line)
        for kind in parts
        if isinstance(kind, ast.ClassDef)
        for method in kind.body
        if is_thin(method)
        for line in method.body
    }
    found = set()
    for node in parts:
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            start = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            home = ".".join(part for part in (start, node.module) if part)
            found |= {f"{home}.{a.name}" if f"{home}.{a.name}" in known else home for a in node.names}
    return found & known


def graph_of(source: Path) -> dict[str, set[str]]:
    """Every module below `source` and the modules that it imports."""
    files = {}
    for path in sorted(source.rglob("*.py")):
        parts = (source.name, *path.relative_to(source).with_suffix("").parts)
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {
        name: imports(
            nodes(path),
            name if path.stem == "__init__" else name.rpartition(".")[0],
            set(files),
        )
        - {name}
        for name, path in files.items()
    }


def cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Sets of modules that all reach one another."""
    reach = {name: {name} for name in graph}
    changed = True
    while changed:
        changed = False
        for name, targets in graph.items():
            more = set().union(*(reach[target] for target in targets)) - reach[name] if targets else set()
            if more:
                reach[name] |= more
                changed = True
    groups = {frozenset(m for m in reach[name] if name in reach[m]) for name in graph}
    return sorted((set(group) for group in groups if len(group) > 1), key=min)


def test_no_module_imports_itself_through_others():
    graph = graph_of(SOURCE)
    for module, result in RESULTS:
        graph[module].remove(result)
    found = [group for group in cycles(graph) if not all(m.startswith(tuple(UNDER_WAY)) for m in group)]
    assert found == []


@pytest.mark.parametrize(
    "text, thin",
    [
        ("def f(self):\n    '''Doc.'''\n    from armwright.b import g\n\n    return g(self)", True),
        ("def f(self):\n    from armwright.b import g\n    x = g(self)\n    return x", False),
        ("def f(self):\n    return 1", False),
    ],
)
def test_a_thin_method_hands_over_in_one_statement(text, thin):
    assert is_thin(ast.parse(text).body[0]) is thin


def test_lazy_and_type_only_imports_count(tmp_path):
    package = tmp_path / "armwright"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "a.py").write_text("def f():\n    from armwright.b import g\n    return g()\n", encoding="utf-8")
    (package / "b.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import c\n", encoding="utf-8"
    )
    (package / "c.py").write_text("from .a import f\n", encoding="utf-8")
    (package / "d.py").write_text("from armwright.a import f\n", encoding="utf-8")
    assert cycles(graph_of(package)) == [{"armwright.a", "armwright.b", "armwright.c"}]
