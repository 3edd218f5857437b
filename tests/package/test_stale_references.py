# SPDX-License-Identifier: Apache-2.0
"""What texts name in backticks exists: files, modules, classes and their members, functions, options.

Read are the pages of the documentation and the docstrings and comments of the package. A word that could be anything (a
variable, a number, a line of a user's own code) is left alone; one that looks like ours must be.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import io
import re
import tokenize
from collections import defaultdict
from functools import cache

import pytest
import typer.main

import armwright
from armwright import choices
from armwright.cli.app import app
from support.places import ROOT
from support.syntax_trees import nodes, syntax

SOURCE = ROOT / "src" / "armwright"
SOURCES = sorted(SOURCE.rglob("*.py"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name != "moved.md"),  # it lists what is gone
]
ROOMS = {path.name for path in SOURCE.iterdir() if path.is_dir()}
FOLDERS = ROOMS | {"src", "tests", "docs", "examples", "tools", ".github"}
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FILE = re.compile(r"[\w.-]+(?:/[\w.-]+)*\.(?:py|pyi|md|ipynb|yml)|[\w.-]+(?:/[\w.-]+)+/?")
NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
FOREIGN = {"LagrangesMethod", "Offs", "RelTool", "RigidTransform", "read_parquet", "x_1", "x_2"}  # of other people
OTHERS_COLUMNS = {
    "Pinocchio",
    "Robotics Toolbox",
    "MuJoCo",
    "MATLAB",
}  # headings of tables: below them is no code of ours
OTHERS_OPTIONS = {"--cov", "--frozen", "--ignore-scripts"}  # of programs that are not ours


# ------------------------------------------------------------------------------------------------- what there is
@cache
def files() -> set[str]:
    """Return the ends of all paths of the checkout, of files with and without their suffix."""
    inside = [path for folder in ("src", "tests", "docs", "examples", "tools", ".github") for path in [ROOT / folder]]
    found = [path for folder in inside for path in [folder, *folder.rglob("*")]]
    ends = set()
    for path in [*found, *ROOT.glob("*.*"), ROOT / "Makefile"]:
        for parts in (path.relative_to(ROOT).parts, path.relative_to(ROOT).with_suffix("").parts):
            ends |= {"/".join(parts[k:]) for k in range(len(parts))}
    return ends


@cache
def classes() -> dict[str, set[str]]:
    """Return the members of every class: methods, fields, what is set on `self`, and what its bases have."""
    members, bases = defaultdict(set), defaultdict(set)
    for path in SOURCES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                bases[node.name] |= {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases}
                for part in ast.walk(node):
                    if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                        members[node.name].add(part.name)
                    elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                        members[node.name].add(part.attr)
                    elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        members[node.name].add(part.id)
                    elif isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.isidentifier():
                        members[node.name].add(part.value)  # slots, and fields given as text
    for _ in range(4):
        for name, above in bases.items():
            for base in above:
                members[name] |= members.get(base, set())
    return members


@cache
def words() -> set[str]:
    """Return every identifier of the package's code and every word in its strings, docstrings and comments apart."""
    found = {*dir(builtins), *FOREIGN}
    for path in SOURCES:
        docs = set()
        for node in nodes(path):
            found |= {
                word for part in ("id", "attr", "arg", "name") if isinstance(word := getattr(node, part, None), str)
            }
            if isinstance(node, ast.Expr):
                docs.add(id(node.value))  # comes before the text itself
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                found |= set(re.findall(r"\w+", node.value))
            elif isinstance(node, ast.ImportFrom):
                found |= set(re.findall(r"\w+", node.module or ""))
    defined = re.compile(r"^\s*(?:async )?(?:def|class) (\w+)", re.M)
    for path in [*(ROOT / "tests").rglob("*.py"), *(ROOT / "docs").glob("*.py"), *SOURCE.rglob("*.pyi")]:
        found |= set(defined.findall(path.read_text(encoding="utf-8")))
    return found | {path.stem for path in SOURCES}


@cache
def options() -> set[str]:
    """Return the options of all commands."""
    found, commands = {"--help", *OTHERS_OPTIONS}, [typer.main.get_command(app)]
    while commands:
        command = commands.pop()
        commands += getattr(command, "commands", {}).values()
        for parameter in command.params:
            found |= {*parameter.opts, *parameter.secondary_opts}
    return found


# ------------------------------------------------------------------------------------------------- what is named
def stale(span: str) -> str | None:
    """Return why a span in backticks names nothing, None if it does or if it is none of ours."""
    if re.search(r"[<>…*{}]", span.split("(")[0]):
        return None
    if FILE.fullmatch(span) and (span.split("/")[0] in FOLDERS or re.fullmatch(r"\w+\.pyi?", span)):
        return None if file_there(span) else "no such file"
    if re.fullmatch(r"--[\w-]+", span):
        return None if span in options() else "no such option"
    called = NAME.match(span)
    if called and (called.group() == span or span[called.end() :].startswith("(")):
        return stale_name(called.group(), call=called.group() != span)
    return None


GROUPS = {table.group for table in vars(choices).values() if isinstance(table, choices.Choices)}
"""Groups of entry points: they are named like modules."""


def file_there(span: str) -> bool:
    return span.rstrip("/") in files()


def stale_name(name: str, *, call: bool) -> str | None:
    first, *rest = name.split(".")
    if not rest:
        ours = first in words() or len(first) < 3
        shape = call or re.fullmatch(r"[A-Z][a-z]+[A-Za-z]*[a-z]|[a-z]+(_[a-z0-9]+)+|[A-Z]{3,}(_[A-Z0-9]+)*", first)
        return None if ours or not shape else "no such name in the package"
    if first in ("aw", "armwright"):
        if name in GROUPS:
            return None
        return None if resolves(armwright, rest) else "armwright has no such name"
    if first in classes():
        return None if rest[0] in classes()[first] else f"{first} has no such member"
    if first in ROOMS:
        room = importlib.import_module(f"armwright.{first}")
        variable = len(rest) == 1 and any(rest[0] in members for members in classes().values())  # `contact.wrench`
        return None if resolves(room, rest) or variable else f"{first} has no such name"
    return None


def resolves(value, names) -> bool:
    for name in names:
        if isinstance(value, type) and name in classes().get(value.__name__, ()):
            return True
        try:
            value = getattr(value, name)
        except AttributeError:
            try:
                value = importlib.import_module(f"{value.__name__}.{name}")
            except (ImportError, AttributeError):
                return False
    return True


def texts_of(path):
    """Yield docstrings and comments of a source file, each with its line."""
    text = path.read_text(encoding="utf-8")
    for node in nodes(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline) if re.search("#.*`", text) else ():
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def without_others(text: str) -> str:
    """Return a page without the columns of its tables that show other people's calls."""
    lines, theirs = [], None
    for line in text.splitlines():
        cells = line.split("|") if line.startswith("|") else []
        if cells and theirs is None:  # the heading of a table
            theirs = {k for k, cell in enumerate(cells) if cell.strip() in OTHERS_COLUMNS}
        theirs = theirs if cells else None
        lines.append("|".join(cell for k, cell in enumerate(cells) if k not in theirs) if theirs else line)
    return "\n".join(lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_name_what_exists(page):
    spans = set(SPAN.findall(without_others(without_blocks(page.read_text(encoding="utf-8")))))
    assert not {span: why for span in sorted(spans) if (why := stale(span))}


@pytest.mark.parametrize("room", ["", *sorted(ROOMS)])
def test_docstrings_and_comments_name_what_exists(room):
    found = []
    for path in SOURCES:
        parts = path.relative_to(SOURCE).parts
        if (parts[0] if len(parts) > 1 else "") == room:
            for line, text in texts_of(path):
                for span in SPAN.findall(text):
                    if why := stale(span):
                        found.append(f"{path.relative_to(ROOT)}:{line}: `{span}`: {why}")
    assert not found, "\n".join(found)


def test_functions_stand_in_the_files_that_the_architecture_names():
    """A path in backticks, and the names in backticks behind it: they are defined there."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    pairs = re.findall(r"`([\w/]+\.py)`((?:,? `[A-Za-z_.]+`(?![/\w]))+)", text)
    assert len(pairs) > 40
    wrong = []
    for file, names in pairs:
        tree = syntax(SOURCE / file)
        defined = {node.name: node for node in tree.body if hasattr(node, "name")}
        for name in re.findall(r"`([A-Za-z_.]+)`", names):
            owner, _, member = name.partition(".")
            inside = (
                {part.name for part in ast.walk(defined[owner]) if hasattr(part, "name")} if owner in defined else set()
            )
            if owner not in defined or (member and member not in inside):
                wrong.append(f"{file} has no {name}")
    assert not wrong


def test_columns_of_others_are_left_out():
    table = (
        "| | Armwright | MATLAB |\n|---|---|---|\n| a | `ours(q)` | `theirsToo(q)` |\n\n| b | `also(q)` | `last(q)` |"
    )
    assert SPAN.findall(without_others(table)) == ["ours(q)", "also(q)", "last(q)"]


@pytest.mark.parametrize(
    "span, known",
    [
        ("dynamics/newton_euler.py", True),
        ("dynamics/no_such_file.py", False),
        ("aw.inverse_dynamics(robot, q, qd, qdd)", True),
        ("aw.no_such_function(robot)", False),
        ("Robot.with_frame", True),
        ("Robot.with_wings", False),
        ("--seed", True),
        ("--no-such-option", False),
        ("frobnicated_loop", False),
        ("my.own.variable", True),
        ("x", True),
    ],
)
def test_what_counts_as_a_reference(span, known):
    assert (stale(span) is None) is known
