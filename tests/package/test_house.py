# SPDX-License-Identifier: Apache-2.0
"""Laws of the house: what every file of the tree keeps, so that none has to remember them."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from importlib import import_module
from inspect import unwrap
from types import FunctionType

import pytest

from support.places import ROOT
from support.syntax_trees import nodes, syntax

FOLDERS = ("src", "tests", "examples", "docs")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py*") if path.suffix in (".py", ".pyi"))
SOURCES = [path for path in FILES if path.is_relative_to(ROOT / "src") and path.suffix == ".py"]
LONGEST = 480  # lines: a file holds one idea
TABLES = {"test_catalogue.py", "test_urdf_defects.py"}  # long lists of cases, one after the other


def name(path):
    return str(path.relative_to(ROOT))


def test_there_is_something_to_look_at():
    assert len(SOURCES) > 300 and len(FILES) > len(SOURCES) + 100


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_states_its_licence(folder):
    own = [path for path in FILES if path.is_relative_to(ROOT / folder)]
    mark = "# SPDX-License-Identifier: Apache-2.0\n"
    assert not [name(path) for path in own if not path.read_text(encoding="utf-8").startswith(mark)]


def test_the_formatter_is_not_overruled():
    mark = "fmt: " + "skip"
    assert not [name(path) for path in FILES if mark in path.read_text(encoding="utf-8")]


def test_no_text_is_read_or_written_in_the_encoding_of_the_machine():
    """LC_ALL=C means ASCII, and Windows its own page."""
    loose = re.compile(r"(read|write)_text\((?!.*encoding)")  # in one line; a call over several lines is looked at, too
    silent = [
        f"{name(path)}:{call.lineno}"
        for path in FILES
        if loose.search(path.read_text(encoding="utf-8"))
        for call in nodes(path)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("read_text", "write_text")
        and "encoding" not in {word.arg for word in call.keywords}
        and len(call.args) < (1 if call.func.attr == "read_text" else 2)
    ]
    assert not silent


def test_no_file_is_long():
    lines = {name(path): path.read_text(encoding="utf-8").count("\n") for path in FILES if path.name not in TABLES}
    assert not {path: count for path, count in lines.items() if count > LONGEST}


def test_every_source_file_says_what_it_is_for():
    silent = [name(path) for path in SOURCES if not ast.get_docstring(syntax(path))]
    assert not silent


ONCE = ("link_capsules", "segment_box", "segment_point", "segment_segment", "frozen_numbers")


def test_what_was_once_written_twice_is_written_once():
    """Geometry that two rooms had, each with its own tolerances, and others of the kind."""
    homes = {word: [] for word in ONCE}
    for path in SOURCES:
        for node in syntax(path).body:
            if isinstance(node, ast.FunctionDef) and node.name in homes:
                homes[node.name].append(name(path))
    assert all(len(found) == 1 for found in homes.values()), homes


def test_nothing_of_ours_is_evaluated_or_unpickled():
    """No eval, exec or pickle.loads in the package; numbers and names come through readers that check them."""
    found = []
    for path in SOURCES:
        for node in nodes(path):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in ("eval", "pickle.loads", "pickle.load", "yaml.load", "marshal.loads"):
                    found.append(f"{name(path)}:{node.lineno}: {called}")
    assert not found


def test_the_documentation_works_offline():
    """What pages load (styles, scripts, fonts, pictures) is ours; links that a reader follows may lead elsewhere."""
    loads = re.compile(r"""(?:src|href)=["']https?://[^"']+\.(?:js|css|woff2?|png|svg)|@import\s+url\(["']?https?:""")
    pages = [ROOT / "mkdocs.yml", ROOT / "README.md"]
    pages += [path for path in (ROOT / "docs").rglob("*") if path.suffix in (".md", ".html", ".css", ".js", ".yml")]
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not loads.search(text), name(path)
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    remote = re.findall(r"^\s*-\s*https?://\S+", settings, re.M)  # entries of extra_css and extra_javascript
    assert not remote and not re.search(r"cdn|googleapis|unpkg|jsdelivr", settings)


def test_files_of_tests_have_names_of_their_own():
    """Pytest imports them by name alone: of two with one name, the second is not run."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names)), sorted({name for name in names if names.count(name) > 1})


# ------------------------------------------------------------------------------------------------ one name, one thing
CHAPTERS = re.compile(r"studies/doc\d+_")  # every document has its own setting, kinematics, runs
STILL_TWICE: set[str] = set()  # classes that are about to become one
PER_FORMAT = {"Sink"}  # one for each format of recordings, found by the table of formats
MOST_PARAMETERS = 12
DOORS = {  # functions that a user calls with keywords: one keyword for each thing that can be chosen
    "simulation/simulation_run.py simulate",
    "detection/contact_study.py detection_study",
    "programs/outcome/program_execution.py run_program",
    "programs/program_plan.py plan_program",
    "programs/program_reader.py read_program",
    "kinematics/inverse.py ik",
    "motion/optimal_motion.py optimal_motion",
    "identify/excitation.py excite",
    "lab/stand.py __init__",
}
STILL_LONG = {  # may only shrink
    "contact/detectors/two_speed.py _detect",
    "contact/detectors/friction_band.py _detect",
    "contact/observers/geared_momentum.py _observe",
}
WITHOUT_QUANTITY = re.compile(
    "MOST|SAME|FAR|NEAR|STILL|LIMIT|START|AROUND|MANY|CLOSE|TINY|SMALL|LONG|SHORT|BEFORE|AFTER|BEHIND|BEYOND|AWAY|APART|"
    "AGAIN|AHEAD|ENOUGH|LEAST|FASTEST|SLOWEST|FAST|SLOW|LONGEST|SHORTEST|FEWEST|EVERY|FIRST|LAST|WITHIN|INSIDE|OUTSIDE|"
    "SURE|ROOM|DEEP|DEEPEST|FARTHEST|FINE|FINEST|COARSE|FLAT|SOFT|HARDEST|LOST|LOOK|OFF|THIN|THICK|TURN|WORTH|HALF|"
    "BIG|HUGE|LITTLE|MAX|MIN|MORE|LESS"
)
MOST_RECURRING = 90  # names of numeric constants that several files may share


def place(path):
    return path.relative_to(ROOT / "src" / "armwright").as_posix()


def test_every_file_has_a_name_of_its_own():
    homes = defaultdict(list)
    for path in SOURCES:
        if path.stem not in ("__init__", "__main__") and not CHAPTERS.match(place(path)):
            homes[path.name].append(place(path))
    assert not {file: found for file, found in homes.items() if len(found) > 1}


def classes_of_several_files():
    homes = defaultdict(set)
    for path in SOURCES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(place(path))
    return {word: sorted(found) for word, found in homes.items() if len(found) > 1 and word not in PER_FORMAT}


def test_one_class_name_has_one_meaning():
    found = classes_of_several_files()
    assert not {word: homes for word, homes in found.items() if word not in STILL_TWICE}
    assert found.keys() >= STILL_TWICE, f"written once by now: {sorted(STILL_TWICE - found.keys())}"


def numeric(node):
    """Whether an expression is made of numbers alone."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return numeric(node.operand)
    if isinstance(node, ast.BinOp):
        return numeric(node.left) and numeric(node.right)
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(map(numeric, node.elts))
    if isinstance(node, ast.Call):
        arrays = ("np.array", "np.deg2rad", "np.radians", "math.radians", "float", "np.sqrt", "math.sqrt")
        return ast.unparse(node.func) in arrays and all(map(numeric, node.args))
    return False


def numeric_constants(path):
    for node in syntax(path).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and numeric(node.value):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from (word.id for word in names if isinstance(word, ast.Name))


def test_constants_say_their_quantity():
    """MOST of what, NEAR by how much? `MOST_ROWS` and `NEAR_EXTENTS` can be read where they are used."""
    assert not [(place(path), c) for path in SOURCES for c in numeric_constants(path) if WITHOUT_QUANTITY.fullmatch(c)]


def test_few_names_of_constants_recur():
    counts = Counter(constant for path in SOURCES for constant in set(numeric_constants(path)))
    assert sum(counts.values()) > 900, "the reader of constants finds none"
    recurring = sorted(constant for constant, count in counts.items() if count > 1)
    assert len(recurring) <= MOST_RECURRING, recurring


def long_signatures():
    found = set()
    for path in SOURCES:
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                words = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if sum(word.arg not in ("self", "cls") for word in words) > MOST_PARAMETERS:
                    found.add(f"{place(path)} {node.name}")
    return {entry for entry in found if not entry.startswith("cli/")}


def test_functions_inside_the_library_take_few_parameters():
    found = long_signatures()
    assert not found - DOORS - STILL_LONG
    assert found >= STILL_LONG | DOORS, f"no longer needed: {sorted((STILL_LONG | DOORS) - found)}"


def test_no_cycle_of_top_level_imports():
    """Imports at the top of files; `test_import_cycles` looks at those inside functions as well."""
    modules = {}
    for path in SOURCES:
        parts = ("armwright", *path.relative_to(ROOT / "src" / "armwright").with_suffix("").parts)
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {module: top_level_imports(module, path, modules) - {module} for module, path in modules.items()}
    assert sum(map(len, graph.values())) > 1000, "the reader of imports finds none"
    done = set()
    while ready := {module for module, needed in graph.items() if module not in done and needed <= done}:
        done |= ready
    assert not sorted(set(graph) - done)


def top_level_imports(module, path, modules):
    """Modules that the body of a file imports; a package counts only where names come from its own ``__init__``."""
    found = set()
    for node in syntax(path).body:
        if isinstance(node, ast.ImportFrom):
            package = module if path.stem == "__init__" else module.rpartition(".")[0]
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            home = ".".join([*above, node.module or ""]).rstrip(".") if node.level else node.module
            found |= {full if (full := f"{home}.{alias.name}") in modules else home for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & modules.keys()


# ------------------------------------------------------------------------------------------------ types written out
MOST_ANY = 160  # parameters and results of functions that say Any
ANY_OBJECT: set[str] = set()  # "file function parameter" where any object really is meant; may only shrink


def says_any(annotation):
    return isinstance(annotation, ast.Name) and annotation.id == "Any"


def bare_any(node):
    """Names of a function's parameters that are annotated by exactly ``Any``; ``->`` for what it returns."""
    words = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [word.arg for word in words if says_any(word.annotation)] + ["->"] * says_any(node.returns)


def functions(path):
    return (node for node in nodes(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_few_signatures_say_any():
    total = Counter({place(path): sum(len(bare_any(node)) for node in functions(path)) for path in SOURCES}).total()
    assert 0 < total <= MOST_ANY, f"{total} parameters and results say Any"


def public_functions():
    """Functions that the package and its rooms export, by file and name."""
    rooms = [path.parent.name for path in (ROOT / "src" / "armwright").glob("*/__init__.py")]
    for module in (import_module("armwright"), *(import_module(f"armwright.{room}") for room in sorted(rooms))):
        for word in dir(module) if module.__name__ == "armwright" else getattr(module, "__all__", ()):
            function = unwrap(value) if callable(value := getattr(module, word)) else None
            if isinstance(function, FunctionType) and function.__module__.startswith("armwright."):
                yield function


def test_public_functions_say_what_they_take_and_return():
    public = {(function.__code__.co_filename, function.__name__) for function in public_functions()}
    assert len(public) > 100, "the reader of public functions finds few"
    found = {
        f"{place(path)} {node.name} {word}"
        for path in SOURCES
        for node in syntax(path).body
        if isinstance(node, ast.FunctionDef) and (str(path), node.name) in public
        for word in bare_any(node)
    }
    assert found == ANY_OBJECT
