# SPDX-License-Identifier: Apache-2.0
"""A program's tree becomes Python's syntax tree, and that a code object; never by way of text.

Every function is a generator: whatever waits is a ``yield``. Names are mangled (``v_`` variables, ``f_`` functions,
``b_`` functions of the language, ``h_`` what operators do), ``__builtins__`` is empty, and only the kinds of nodes that
stand here are made, so that nothing received reaches a name of Python. A node's line number is its place in
`CompiledScript.places`: a traceback tells line and column of the text.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from armwright.errors import ProgramError
from armwright.lab.script.script_expressions import LOAD, STORE, ExpressionCompiler, FunctionHead
from armwright.lab.script.script_faults import ScriptError
from armwright.syntax import program_tree as tree
from armwright.syntax.scanner import Token
from armwright.urscript import UrscriptParser, bind_names

if TYPE_CHECKING:
    from types import CodeType

    from armwright.syntax.program_tree import Block, Node, Routine
    from armwright.urscript import ScriptModule

FILE = "<urscript>"
MOST_FUNCTIONS = 1000  # functions and threads of a program: its start makes them, in one tick
MOST_VARIABLES = 10_000  # of a program as a whole: they are looked through when its memory is counted
MOST_BRANCHES = 500  # of one if, for the same reason
NODES_AT_ONCE = 200  # between two looks at the budget
MOST_NODES = 5000  # of one statement, which nothing interrupts: 1 ms
MAIN = "f_"  # no function of a program has this name


class CompiledScript(NamedTuple):
    """A program that can be run.

    Attributes:
        name: of its ``def``; bare lines have none of their own.
        kind: "def", "sec" or "top" (bare lines).
        code: makes the functions, each one of them; see `MAIN`.
        places: line, column and word of every node, by Python's line number.
        used: functions of the language that it calls.
        variables, heads: its variables and functions, for statements of interpreter mode.
    """

    name: str
    kind: str
    code: tuple[CodeType, ...]
    places: tuple[tuple[int, int, str], ...]
    used: frozenset[str]
    variables: frozenset[str]
    heads: dict[str, FunctionHead]


def compile_script(
    text: str, version: tuple[int, ...], known: CompiledScript | None = None, file: str = FILE
) -> CompiledScript:
    """Return a program that can be run.

    Args:
        text: one ``def`` or ``sec``, or bare lines.
        version: of the controller.
        known: a program that runs; the text is a statement of interpreter mode, which sees its variables and functions.
        file: name of the text, for tracebacks.

    Raises:
        ScriptError: with the controller's words and the place.
    """
    return ScriptCompiler(read_script(text), version, known).compiled(file)


def read_script(text: str) -> ScriptModule:
    """Return the tree of a text, every statement of it understood.

    Raises:
        ScriptError: with the place that does not fit.
    """
    try:
        parser = UrscriptParser(text, "")
        parser.module.top = parser.block()
    except ProgramError as error:
        raise ScriptError(f"syntax_error: {error.words}", max(error.line, 1), max(error.column, 1)) from None
    module = parser.module
    if module.set_aside:
        first = min(module.set_aside, key=lambda said: (said.at.line, said.at.column))
        raise ScriptError(f"syntax_error: {first.message}", first.at.line, first.at.column)
    bind_names(module)
    return module


class ScriptCompiler(ExpressionCompiler):
    """Compiles one program."""

    def __init__(self, module: ScriptModule, version: tuple[int, ...], known: CompiledScript | None) -> None:
        """Take a tree without statements that were set aside; see `compile_script`."""
        super().__init__(module, version)
        self.shared: set[str] = set()
        self.program = self.main() if known is None else None
        self.program_names = self.names_of_program()
        if known is not None:
            self.program_names |= known.variables
            self.heads = dict(known.heads)
        if len(module.routines) > MOST_FUNCTIONS:
            last = list(module.routines.values())[-1]
            self.fail(f"compile_error: more than {MOST_FUNCTIONS} functions", last.at)
        if len(self.program_names) > MOST_VARIABLES:
            raise ScriptError(f"compile_error: more than {MOST_VARIABLES} variables", 1, 1)
        for key, routine in module.routines.items():
            defaults = module.defaults.get(key, {})
            kind = "program" if routine is self.program else routine.kind
            names = tuple(p.at.key for p in routine.parameters)
            self.heads[key] = FunctionHead(kind, names, frozenset(defaults))

    def main(self) -> Routine | None:
        """Return the program's function; None where bare lines are the program."""
        module = self.module
        for at in module.doubled.values():
            self.fail(f"compile_error: {at.text} is defined twice", at)
        outer = [module.routines[key] for key in module.outer]
        if not outer or module.top:
            return None
        if len(outer) > 1:
            self.fail("compile_error: one program at a time", outer[-1].at)
        if outer[0].kind == "thread":
            self.fail("compile_error: a thread belongs into a program", outer[0].at)
        if outer[0].parameters:
            self.fail("compile_error: a program takes no arguments", outer[0].parameters[0].at)
        return outer[0]

    def names_of_program(self) -> set[str]:
        """Return the variables that belong to the program as a whole."""
        found: set[str] = set()
        for key, block in (("", self.module.top), *((k, r.body) for k, r in self.module.routines.items())):
            own = self.module.bound.get(key, set())
            for statement in tree.statements_in(block):
                if isinstance(statement, tree.Declare):
                    name = statement.at.key
                elif isinstance(statement, tree.Assign) and isinstance(statement.target, tree.Name):
                    name = statement.target.at.key
                else:
                    continue
                if name not in own:
                    found.add(name)
        return found

    def compiled(self, file: str) -> CompiledScript:
        """Return the whole program."""
        body: list[ast.stmt] = []
        main = self.program
        for key, routine in self.module.routines.items():
            body.append(self.routine(f"f_{key}" if routine is not main else MAIN, routine))
        if main is None:
            body.append(self.function(MAIN, [], self.module.top, None, set()))
        try:
            # one at a time: nothing else runs while Python compiles
            code = tuple(compile(ast.Module([one], []), file, "exec", dont_inherit=True, optimize=0) for one in body)
        except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
            line, column, _ = self.places[min(getattr(error, "lineno", 0) or 0, len(self.places) - 1)]
            said = (
                "more than 20 loops inside one another" if isinstance(error, SyntaxError) else "too much in one place"
            )
            raise ScriptError(f"compile_error: {said}", line, column) from None
        name = main.at.text if main is not None else "unnamed"
        kind = main.kind if main is not None else "top"
        names = frozenset(self.program_names)
        return CompiledScript(name, kind, code, tuple(self.places), frozenset(self.calls.used), names, self.heads)

    # --- functions ----------------------------------------------------------------------------------------------------

    def routine(self, name: str, routine: Routine) -> ast.stmt:
        """Return a function or thread of the program."""
        self.own = self.module.bound.get(routine.at.key, set())
        defaults = self.module.defaults.get(routine.at.key, {})
        if routine.kind == "thread" and routine.parameters:
            self.fail("compile_error: a thread takes no arguments", routine.parameters[0].at)
        made = self.function(name, [p.at for p in routine.parameters], routine.body, routine, set(defaults))
        self.own = set()
        return made

    def function(
        self, name: str, parameters: list[Token], block: Block, routine: Routine | None, optional: set[str]
    ) -> ast.stmt:
        """Return one generator: its depth of calls, then its parameters; those left out are `h_missing`."""
        begin = routine.at if routine is not None else self.first_word(block)
        place = self.at(begin)
        self.shared = set()
        if len({p.key for p in parameters}) < len(parameters):
            self.fail("compile_error: two parameters have one name", begin)
        inside: list[ast.stmt] = [
            ast.If(
                self.helper("entered", [ast.Name("d", LOAD, **place)], begin),
                [ast.Expr(ast.Yield(ast.Name("h_busy", LOAD, **place), **place), **place)],
                [],
                **place,
            )
        ]
        for parameter in parameters:
            if parameter.key in optional and routine is not None:
                value = self.kept(self.module.defaults[routine.at.key][parameter.key])
                test = ast.Compare(
                    ast.Name(f"v_{parameter.key}", LOAD, **place),
                    [ast.Is()],
                    [ast.Name("h_missing", LOAD, **place)],
                    **place,
                )
                store = ast.Assign([ast.Name(f"v_{parameter.key}", STORE, **place)], value, **place)
                inside.append(ast.If(test, [store], [], **place))
        inside += self.block(block)
        if self.shared:
            inside.insert(0, ast.Global(sorted(f"v_{key}" for key in self.shared), **place))
        arguments = [ast.arg(word, **place) for word in ("d", *(f"v_{p.key}" for p in parameters))]
        taken = ast.arguments([], arguments, None, [], [], None, [])
        return ast.FunctionDef(name, taken, inside, [], **place)

    def first_word(self, block: Block) -> Token:
        """Return where bare lines begin."""
        return block[0].at if block else Token("end", "", "", 1, 1)

    # --- statements ---------------------------------------------------------------------------------------------------

    def block(self, statements: Block) -> list[ast.stmt]:
        """Return statements, with looks at the budget in between."""
        made: list[ast.stmt] = []
        looked = len(self.places)
        for statement in statements:
            before = len(self.places)
            made += self.statement(statement)
            nodes = len(self.places) - before
            if nodes > MOST_NODES and not tree.blocks_of(statement):
                self.fail(f"compile_error: more than {MOST_NODES} operations in one statement", statement.at)
            if len(self.places) - looked > NODES_AT_ONCE:
                made.append(self.look(statement.at, len(self.places) - looked))
                looked = len(self.places)
        return made

    def body(self, statements: Block, at: Token) -> list[ast.stmt]:
        """Return statements that are at least one."""
        return self.block(statements) or [ast.Pass(**self.at(at))]

    def statement(self, node: Node) -> list[ast.stmt]:
        """Return one statement."""
        at = node.at
        place = self.at(at)
        if isinstance(node, tree.Assign):
            return self.assignment(node)
        if isinstance(node, tree.Declare):
            if node.value is None:
                return [ast.Pass(**place)]
            return [ast.Assign([self.stored(at)], self.kept(node.value), **place)]
        if isinstance(node, tree.Invoke):
            return [ast.Expr(self.invocation(node), **place)]
        if isinstance(node, tree.If):
            return [self.branches(node)]
        if isinstance(node, tree.While):
            before, test = len(self.places), self.test(node.test)
            self.loops += 1
            body = self.block(node.body)
            self.loops -= 1
            return [ast.While(test, [self.look(at, len(self.places) - before), *body], [], **place)]
        if isinstance(node, tree.Switch):
            return self.choice(node)
        if isinstance(node, tree.Return):
            value = None if node.value is None else self.kept(node.value)
            return [ast.Return(value, **place)]
        if isinstance(node, tree.Leave) and node.what == "program":
            return [ast.Raise(ast.Name("h_halt", LOAD, **place), None, **place)]
        if isinstance(node, tree.Leave):
            if not self.loops:
                self.fail(f"compile_error: {at.text} belongs into a loop", at)
            return [ast.Break(**place) if node.what == "loop" else ast.Continue(**place)]
        raise ScriptError("syntax_error: this statement is not known", at.line, at.column)

    def assignment(self, node: tree.Assign) -> list[ast.stmt]:
        """Return ``target = value``."""
        target, place = node.target, self.at(node.at)
        value = self.kept(node.value)
        if isinstance(target, tree.Name):
            if self.grows or isinstance(node.value, tree.Literal):
                return [ast.Assign([self.stored(target.at)], value, **place)]
            return self.refilled(target.at, value)
        if isinstance(target, tree.Index):
            base, last = self.rooted(target)
            return [ast.Expr(self.helper("set_item", [base, last, value], target.at), **place)]
        name = ast.Constant(target.name, **place)
        return [ast.Expr(self.helper("set_part", [self.expression(target.base), name, value], target.at), **place)]

    def refilled(self, at: Token, value: ast.expr) -> list[ast.stmt]:
        """Return the assignment to a variable whose list keeps its length, if it has one already."""
        place = self.at(at)
        name = f"s_{len(self.places)}"
        new, old = ast.Name(name, LOAD, **place), ast.Name(f"v_{at.key}", LOAD, **place)
        again: ast.stmt = ast.Assign([self.stored(at)], self.helper("fitted", [old, new], at), **place)
        first: ast.stmt = ast.Assign([self.stored(at)], new, **place)
        unset = ast.ExceptHandler(ast.Name("h_unset", LOAD, **place), None, [first], **place)
        keep: ast.stmt = ast.Assign([ast.Name(name, STORE, **place)], value, **place)
        return [keep, ast.Try([again], [unset], [], [], **place)]

    def stored(self, at: Token) -> ast.expr:
        """Return a variable that gets a value."""
        if at.key in self.heads:
            self.fail(f"compile_error: {at.text} is a function", at)
        if at.key not in self.own:
            self.shared.add(at.key)
        return ast.Name(f"v_{at.key}", STORE, **self.at(at))

    def branches(self, node: tree.If) -> ast.stmt:
        """Return ``if … elif … else``."""
        if len(node.branches) > MOST_BRANCHES:
            self.fail(f"compile_error: more than {MOST_BRANCHES} branches", node.at)
        otherwise = self.block(node.otherwise)
        for test, block in reversed(node.branches):
            made = ast.If(self.test(test), self.body(block, node.at), otherwise, **self.at(node.at))
            otherwise = [made]
        return otherwise[0]

    def choice(self, node: tree.Switch) -> list[ast.stmt]:
        """Return ``switch``: its subject is looked at once."""
        if len(node.cases) > MOST_BRANCHES:
            self.fail(f"compile_error: more than {MOST_BRANCHES} cases", node.at)
        place = self.at(node.at)
        name = f"s_{len(self.places)}"
        keep: ast.stmt = ast.Assign([ast.Name(name, STORE, **place)], self.expression(node.subject), **place)
        otherwise = self.block(node.otherwise)
        for values, block in reversed(node.cases):
            subject = ast.Name(name, LOAD, **place)
            test = self.helper("equal", [subject, self.expression(values[0])], node.at)
            otherwise = [ast.If(test, self.body(block, node.at), otherwise, **place)]
        return [keep, *otherwise]
