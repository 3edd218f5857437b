# SPDX-License-Identifier: Apache-2.0
"""A program's tree becomes Python's syntax tree, and that a code object; never by way of text.

Every function is a generator: whatever waits is a ``yield``. Names are mangled (``v_`` variables, ``f_`` functions,
``b_`` functions of the language, ``h_`` what operators do), ``__builtins__`` is empty, and only the kinds of nodes that
stand here are made, so that nothing received reaches a name of Python. A node's line number is its place in
`CompiledScript.places`: a traceback tells line and column of the text.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from armwright.errors import ProgramError
from armwright.lab.script.script_calls import CallMatcher
from armwright.lab.script.script_faults import ScriptError, not_found
from armwright.lab.script.script_values import LARGEST_WHOLE
from armwright.syntax import program_tree as tree
from armwright.syntax.scanner import Token
from armwright.urscript import UrscriptParser, bind_names

if TYPE_CHECKING:
    from types import CodeType

    from armwright.syntax.program_tree import Block, Node, Routine
    from armwright.urscript import Builtin, ScriptModule

FILE = "<urscript>"
DEEPEST_EXPRESSION = 150  # operations inside one another: below what Python's own compiler takes
MOST_BRANCHES = 500  # of one if, for the same reason
STATEMENTS_AT_ONCE = 20  # between two looks at the budget
OPERATORS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "%": "remainder",
    "xor": "exclusive",
    "==": "equal",
    "<": "less",
    ">": "more",
    "<=": "at_most",
    ">=": "at_least",
}
TESTS = frozenset(("==", "!=", "<", ">", "<=", ">=", "and", "or", "xor", "not"))
MAIN = "f_"  # no function of a program has this name


class CompiledScript(NamedTuple):
    """A program that can be run.

    Attributes:
        name: of its ``def``; bare lines have none of their own.
        kind: "def", "sec" or "top" (bare lines).
        code: makes the functions; see `MAIN`.
        places: line, column and word of every node, by Python's line number.
        used: functions of the language that it calls.
    """

    name: str
    kind: str
    code: CodeType
    places: tuple[tuple[int, int, str], ...]
    used: frozenset[str]


def compile_script(text: str, version: tuple[int, ...]) -> CompiledScript:
    """Return a program that can be run; its text is one ``def`` or ``sec``, or bare lines.

    Raises:
        ScriptError: with the controller's words and the place.
    """
    return ScriptCompiler(read_script(text), version).compiled()


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


class ScriptCompiler:
    """Compiles one program."""

    def __init__(self, module: ScriptModule, version: tuple[int, ...]) -> None:
        """Take a tree without statements that were set aside, and the controller's version."""
        self.module = module
        self.places: list[tuple[int, int, str]] = [(1, 1, "")]  # Python's lines count from 1
        self.calls = CallMatcher(version)
        self.own: set[str] = set()
        self.shared: set[str] = set()
        self.depth = 0
        self.in_routine = ""
        self.program = self.main()
        self.program_names = self.names_of_program()

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

    def compiled(self) -> CompiledScript:
        """Return the whole program."""
        body: list[ast.stmt] = []
        main = self.program
        for key, routine in self.module.routines.items():
            body.append(self.routine(f"f_{key}" if routine is not main else MAIN, routine))
        if main is None:
            body.append(self.function(MAIN, [], self.module.top, None, set()))
        try:
            code = compile(ast.Module(body, []), FILE, "exec", dont_inherit=True, optimize=0)
        except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
            line, column, _ = self.places[min(getattr(error, "lineno", 0) or 0, len(self.places) - 1)]
            said = (
                "more than 20 loops inside one another" if isinstance(error, SyntaxError) else "too much in one place"
            )
            raise ScriptError(f"compile_error: {said}", line, column) from None
        name = main.at.text if main is not None else "unnamed"
        kind = main.kind if main is not None else "top"
        return CompiledScript(name, kind, code, tuple(self.places), frozenset(self.calls.used))

    def fail(self, words: str, at: Token) -> None:
        """Refuse the program."""
        raise ScriptError(words, at.line, at.column)

    # --- places and names ---------------------------------------------------------------------------------------------

    def at(self, token: Token) -> dict[str, Any]:
        """Return the line of a node that stands for a word."""
        self.places.append((token.line, token.column, token.text))
        line = len(self.places) - 1
        return {"lineno": line, "col_offset": 0, "end_lineno": line, "end_col_offset": 0}

    def helper(self, name: str, arguments: list[ast.expr], at: Token) -> ast.expr:
        """Return a call of what the machine does."""
        place = self.at(at)
        return ast.Call(ast.Name(f"h_{name}", ast.Load(), **place), arguments, [], **place)

    def constant(self, value: Any, at: Token) -> ast.expr:
        """Return a constant."""
        return ast.Constant(value, **self.at(at))

    def look(self, at: Token) -> ast.stmt:
        """Return a look at the budget: ``if h_spent(): yield h_busy``."""
        place = self.at(at)
        wait = ast.Expr(ast.Yield(ast.Name("h_busy", ast.Load(), **place), **place), **place)
        return ast.If(self.helper("spent", [], at), [wait], [], **place)

    # --- functions ----------------------------------------------------------------------------------------------------

    def routine(self, name: str, routine: Routine) -> ast.stmt:
        """Return a function or thread of the program."""
        self.own = self.module.bound.get(routine.at.key, set())
        self.in_routine = routine.at.key
        defaults = self.module.defaults.get(routine.at.key, {})
        if routine.kind == "thread" and routine.parameters:
            self.fail("compile_error: a thread takes no arguments", routine.parameters[0].at)
        made = self.function(name, [p.at for p in routine.parameters], routine.body, routine, set(defaults))
        self.own, self.in_routine = set(), ""
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
                self.helper("entered", [ast.Name("d", ast.Load(), **place)], begin),
                [ast.Expr(ast.Yield(ast.Name("h_busy", ast.Load(), **place), **place), **place)],
                [],
                **place,
            )
        ]
        for parameter in parameters:
            if parameter.key in optional and routine is not None:
                value = self.kept(self.module.defaults[routine.at.key][parameter.key])
                test = ast.Compare(
                    ast.Name(f"v_{parameter.key}", ast.Load(), **place),
                    [ast.Is()],
                    [ast.Name("h_missing", ast.Load(), **place)],
                    **place,
                )
                store = ast.Assign([ast.Name(f"v_{parameter.key}", ast.Store(), **place)], value, **place)
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
        for count, statement in enumerate(statements, start=1):
            made += self.statement(statement)
            if count % STATEMENTS_AT_ONCE == 0:
                made.append(self.look(statement.at))
        return made

    def body(self, statements: Block, at: Token) -> list[ast.stmt]:
        """Return statements that are at least one."""
        return self.block(statements) or [ast.Pass(**self.at(at))]

    def statement(self, node: Node) -> list[ast.stmt]:
        """Return one statement."""
        at = node.at
        place = self.at(at)
        if isinstance(node, tree.Assign):
            return [self.assignment(node)]
        if isinstance(node, tree.Declare):
            if node.value is None:
                return [ast.Pass(**place)]
            return [ast.Assign([self.stored(at)], self.kept(node.value), **place)]
        if isinstance(node, tree.Invoke):
            return [ast.Expr(self.invocation(node), **place)]
        if isinstance(node, tree.If):
            return [self.branches(node)]
        if isinstance(node, tree.While):
            return [ast.While(self.test(node.test), [self.look(at), *self.block(node.body)], [], **place)]
        if isinstance(node, tree.Switch):
            return self.choice(node)
        if isinstance(node, tree.Return):
            value = None if node.value is None else self.kept(node.value)
            return [ast.Return(value, **place)]
        if isinstance(node, tree.Leave) and node.what == "program":
            return [ast.Raise(ast.Name("h_halt", ast.Load(), **place), None, **place)]
        if isinstance(node, tree.Leave):
            return [ast.Break(**place) if node.what == "loop" else ast.Continue(**place)]
        raise ScriptError("syntax_error: this statement is not known", at.line, at.column)

    def assignment(self, node: tree.Assign) -> ast.stmt:
        """Return ``target = value``."""
        target, place = node.target, self.at(node.at)
        value = self.kept(node.value)
        if isinstance(target, tree.Name):
            return ast.Assign([self.stored(target.at)], value, **place)
        if isinstance(target, tree.Index):
            base, last = self.rooted(target)
            return ast.Expr(self.helper("set_item", [base, last, value], target.at), **place)
        name = ast.Constant(target.name, **place)
        return ast.Expr(self.helper("set_part", [self.expression(target.base), name, value], target.at), **place)

    def rooted(self, target: tree.Index) -> tuple[ast.expr, ast.expr]:
        """Return what holds an item, and the item's index."""
        base = self.expression(target.base)
        if not target.indices:
            self.fail("syntax_error: which item?", target.at)
        for index in target.indices[:-1]:
            base = self.helper("item", [base, self.expression(index)], target.at)
        return base, self.expression(target.indices[-1])

    def stored(self, at: Token) -> ast.expr:
        """Return a variable that gets a value."""
        if at.key in self.module.routines:
            self.fail(f"compile_error: {at.text} is a function", at)
        if at.key not in self.own:
            self.shared.add(at.key)
        return ast.Name(f"v_{at.key}", ast.Store(), **self.at(at))

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
        keep: ast.stmt = ast.Assign([ast.Name(name, ast.Store(), **place)], self.expression(node.subject), **place)
        otherwise = self.block(node.otherwise)
        for values, block in reversed(node.cases):
            subject = ast.Name(name, ast.Load(), **place)
            test = self.helper("equal", [subject, self.expression(values[0])], node.at)
            otherwise = [ast.If(test, self.body(block, node.at), otherwise, **place)]
        return [keep, *otherwise]

    # --- expressions --------------------------------------------------------------------------------------------------

    def test(self, node: Node) -> ast.expr:
        """Return a condition."""
        made = self.expression(node)
        if isinstance(node, tree.Binary | tree.Unary) and node.sign in TESTS:
            return made
        if isinstance(node, tree.Literal) and isinstance(node.value, bool):
            return made
        return self.helper("truth", [made], node.at)

    def kept(self, node: Node) -> ast.expr:
        """Return a value that somebody keeps: one that another has already is copied."""
        made = self.expression(node)
        return self.helper("own", [made], node.at) if isinstance(node, tree.Name | tree.Index | tree.Member) else made

    def expression(self, node: Node) -> ast.expr:
        """Return a value."""
        self.depth += 1
        if self.depth > DEEPEST_EXPRESSION:
            self.fail(f"compile_error: more than {DEEPEST_EXPRESSION} operations inside one another", node.at)
        made = self._expression(node)
        self.depth -= 1
        return made

    def _expression(self, node: Node) -> ast.expr:
        at = node.at
        if isinstance(node, tree.Literal):
            return self.constant(self.literal(node.value, at), at)
        if isinstance(node, tree.Name):
            return self.variable(at)
        if isinstance(node, tree.Unary):
            return self.unary(node)
        if isinstance(node, tree.Binary):
            return self.binary(node)
        if isinstance(node, tree.Index):
            base, last = self.rooted(node)
            return self.helper("item", [base, last], at)
        if isinstance(node, tree.Member):
            return self.helper("part", [self.expression(node.base), self.constant(node.name, at)], at)
        if isinstance(node, tree.ListOf):
            items = ast.List([self.kept(item) for item in node.items], ast.Load(), **self.at(at))
            return items if all(plain(item) for item in node.items) else self.helper("list_of", [items], at)
        if isinstance(node, tree.FunctionCall):
            return self.call(at, node.arguments)
        raise ScriptError("syntax_error: this value is not known", at.line, at.column)

    def literal(self, value: Any, at: Token) -> Any:
        """Return a number, text or truth value of the text."""
        if isinstance(value, int) and not isinstance(value, bool) and value > LARGEST_WHOLE - 1:
            return float(value)
        if isinstance(value, float) and not value < float("inf"):
            self.fail(f"syntax_error: no such number: {at.text[:40]}", at)
        return value

    def variable(self, at: Token) -> ast.expr:
        """Return the value of a variable."""
        key = at.key
        if key not in self.own and key not in self.program_names:
            raise not_found(at.text, at.line, at.column)
        return ast.Name(f"v_{key}", ast.Load(), **self.at(at))

    def unary(self, node: tree.Unary) -> ast.expr:
        """Return ``-x``, ``+x``, ``not x``."""
        if node.sign == "not":
            return ast.UnaryOp(ast.Not(), self.test(node.operand), **self.at(node.at))
        if node.sign == "-" and plain(node) and not isinstance(node.operand, tree.Unary):
            return self.constant(-self.literal(node.operand.value, node.at), node.at)
        name = "negative" if node.sign == "-" else "positive"
        return self.helper(name, [self.expression(node.operand)], node.at)

    def binary(self, node: tree.Binary) -> ast.expr:
        """Return ``left sign right``."""
        at = node.at
        if node.sign in ("and", "or"):
            both: list[ast.expr] = [self.test(node.left), self.test(node.right)]
            return ast.BoolOp(ast.And() if node.sign == "and" else ast.Or(), both, **self.at(at))
        left, right = self.expression(node.left), self.expression(node.right)
        if node.sign == "!=":
            return ast.UnaryOp(ast.Not(), self.helper("equal", [left, right], at), **self.at(at))
        if node.sign not in OPERATORS:
            self.fail(f"syntax_error: {node.sign} is no operator of the language", at)
        return self.helper(OPERATORS[node.sign], [left, right], at)

    # --- calls --------------------------------------------------------------------------------------------------------

    def invocation(self, node: tree.Invoke) -> ast.expr:
        """Return a call that stands alone."""
        at = node.at
        if at.key == "$":
            said = [a.value.value for a in node.arguments]
            number = next((n for n in said if isinstance(n, int)), 0)
            text = next((t for t in said if isinstance(t, str)), "")
            return self.helper("label", [self.constant(number, at), self.constant(text, at)], at)
        if at.key == "join":
            return self.waiting(self.helper("join", [self.expression(node.arguments[0].value)], at), at)
        if at.key == "kill":
            return self.helper("kill", [self.expression(node.arguments[0].value)], at)
        return self.call(at, node.arguments)

    def waiting(self, call: ast.expr, at: Token) -> ast.expr:
        """Return a call that may wait."""
        return ast.YieldFrom(call, **self.at(at))

    def call(self, at: Token, arguments: tuple[tree.Argument, ...]) -> ast.expr:
        """Return a call of a function of the program or of the language."""
        if at.key == "run":
            return self.started(arguments[0].at)
        if at.key == "p[":
            if len(arguments) != 6:
                self.fail(f"syntax_error: a pose has six numbers, not {len(arguments)}", at)
            return self.helper("pose_value", [self.expression(a.value) for a in arguments], at)
        if at.key == "struct":
            return self.structure(at, arguments)
        if at.key.startswith("."):
            return self.method(at, arguments)
        routine = self.module.routines.get(at.key)
        if routine is not None:
            return self.own_call(at, routine, arguments)
        row = self.calls.row(at)
        if at.key not in self.calls.used:  # known, but nobody has made it: refused where the program comes to it
            return self.helper("refused", [self.constant(at.text, at)], at)
        return self.builtin(at, row, arguments)

    def started(self, at: Token) -> ast.expr:
        """Return ``run thread()``."""
        routine = self.module.routines.get(at.key)
        if routine is None:
            raise not_found(at.text, at.line, at.column)
        if routine.kind != "thread":
            self.fail(f"compile_error: {at.text} is no thread", at)
        return self.helper("run", [ast.Name(f"f_{at.key}", ast.Load(), **self.at(at))], at)

    def own_call(self, at: Token, routine: Routine, arguments: tuple[tree.Argument, ...]) -> ast.expr:
        """Return a call of a function of the program."""
        if routine.kind != "def" or routine is self.program:
            self.fail(f"compile_error: {at.text} cannot be called", at)
        names = tuple(p.at.key for p in routine.parameters)
        optional = self.module.defaults.get(at.key, {})
        given = self.calls.matched(at, arguments, names, [name for name in names if name not in optional])
        place = self.at(at)
        deeper = ast.BinOp(ast.Name("d", ast.Load(), **place), ast.Add(), ast.Constant(1, **place), **place)
        missing = ast.Name("h_missing", ast.Load(), **place)
        values = [self.kept(given[name].value) if name in given else missing for name in names]
        made = ast.Call(ast.Name(f"f_{at.key}", ast.Load(), **place), [deeper, *values], [], **place)
        return self.waiting(made, at)

    def builtin(self, at: Token, row: Builtin, arguments: tuple[tree.Argument, ...]) -> ast.expr:
        """Return a call of a function of the language; what is left out is its default, or `h_missing`."""
        given = self.calls.matched(at, arguments, row.names, row.names[: row.fewest])
        place = self.at(at)
        values: list[ast.expr] = []
        for name in row.names:
            if name in given:
                values.append(self.expression(given[name].value))
            elif (default := row.default(name)) is None:
                values.append(ast.Name("h_missing", ast.Load(), **place))
            elif isinstance(default, list):
                items: list[ast.expr] = [ast.Constant(number, **place) for number in default]
                values.append(ast.List(items, ast.Load(), **place))
            else:
                values.append(ast.Constant(cast(Any, default), **place))
        made = ast.Call(ast.Name(f"b_{at.key}", ast.Load(), **place), values, [], **place)
        return self.waiting(made, at) if row.waits else made

    def structure(self, at: Token, arguments: tuple[tree.Argument, ...]) -> ast.expr:
        """Return ``struct(name = value, …)``."""
        if not all(a.name for a in arguments):
            self.fail("compile_error: the parts of a structure have names", at)
        values: list[ast.expr] = [self.constant(tuple(a.name for a in arguments), at)]
        return self.helper("struct", [*values, *(self.kept(a.value) for a in arguments)], at)

    def method(self, at: Token, arguments: tuple[tree.Argument, ...]) -> ast.expr:
        """Return ``value.method(…)``: lists know some, nothing else does."""
        if any(a.name for a in arguments):
            self.fail(f"compile_error: {at.text} takes no named arguments", at)
        base = self.expression(arguments[0].value)
        rest = [self.kept(a.value) for a in arguments[1:]]
        return self.helper("method", [self.constant(at.text, at), base, *rest], at)


def plain(node: Node) -> bool:
    """Return whether an expression is a number of the text, with or without a sign."""
    if isinstance(node, tree.Unary):
        return node.sign == "-" and plain(node.operand)
    return isinstance(node, tree.Literal) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
